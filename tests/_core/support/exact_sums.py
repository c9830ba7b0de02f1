"""Units in the last place, and bounds of the rounding of sums."""

import mpmath
import numpy as np

EPS = 2.0**-52
LANES = 64  # partial sums
SMALLEST = 5e-324
mp = mpmath.mp.clone()
mp.prec = 120


def ulps(found, exact):
    """Distances of doubles from exact values in units in the last place of the exact ones."""
    out = np.empty(len(exact))
    for i, (value, want) in enumerate(zip(found.tolist(), exact, strict=True)):
        out[i] = float(abs(mp.mpf(value) - want) / mp.mpf(float(np.spacing(abs(float(want))))))
    return out


def sums_bound(n, terms, lanes=LANES):
    """Rounding of a sum in parts: each term goes through at most n / 64 + 9 additions (with 64 lanes)."""
    return (n / lanes + 12) * EPS * np.abs(terms).sum()
