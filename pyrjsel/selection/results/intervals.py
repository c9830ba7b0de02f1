"""Posterior intervals from draws."""

import numpy as np
import pandas as pd

from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_choice, check_real

KINDS = ("equal-tailed", "highest-density")


def highest_density(draws: FloatArray, mass: float) -> FloatArray:
    """Return the shortest intervals (k, 2) with a share `mass` of the draws (m, k) of each quantity."""
    ordered = np.sort(draws, axis=0)
    m = len(ordered)
    inside = min(max(int(np.ceil(mass * m)), 1), m)
    width = ordered[inside - 1 :] - ordered[: m - inside + 1]
    first = np.argmin(width, axis=0)
    column = np.arange(ordered.shape[1])
    return np.column_stack([ordered[first, column], ordered[first + inside - 1, column]])


def interval_table(draws: FloatArray, alpha: float, kind: str, names: pd.Index) -> pd.DataFrame:
    """Return posterior intervals of coefficients from draws (m, k), one row each."""
    alpha = check_real(alpha, "alpha", low=0, high=1, open_low=True, open_high=True)
    check_choice(kind, "kind", KINDS)
    if kind == "equal-tailed":
        return pd.DataFrame(np.quantile(draws, [alpha / 2, 1 - alpha / 2], axis=0).T, index=names)
    return pd.DataFrame(highest_density(draws, 1.0 - alpha), index=names)
