"""The update of theta of ``_size_jump.pyx`` in plain numpy, on the same random numbers.

One exponential for the level of the slice, uniform numbers for its first interval, the share of the steps to
the left, and each point.
"""

import numpy as np
from scipy import stats

WIDTH, MOST_STEPS = 1.0, 64


def log_density(rows, eta, t):
    """Log-likelihood of `rows`, a response and weights (n,), plus the log prior of ``t = log(theta)``."""
    y, w, mean, sd = rows
    size = w * np.exp(t)
    value = stats.nbinom.logpmf(np.round(w * y), size, 1 / (1 + np.exp(eta - t))).sum()
    return value + stats.norm.logpdf(t, mean, sd)


def update(rows, eta, theta, power, rng):
    """Return the next theta."""

    def height(t):
        return power * log_density(rows, eta, t)

    now = np.log(theta)
    level = height(now) - rng.standard_exponential()
    low = now - WIDTH * rng.random()
    high = low + WIDTH
    left = int(MOST_STEPS * rng.random())
    right = MOST_STEPS - 1 - left
    while left > 0 and height(low) > level:
        low, left = low - WIDTH, left - 1
    while right > 0 and height(high) > level:
        high, right = high + WIDTH, right - 1
    while True:
        t = low + (high - low) * rng.random()
        if height(t) > level:
            return float(np.exp(t))
        low, high = (t, high) if t < now else (low, t)
