"""Radii of Student proposals, by quantiles of F distributions from tables."""

from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.special import betaln, expit, fdtri, logit

from pyrjsel._typing import FloatArray

# Nodes of a table of quantiles. fdtri takes some microseconds a value, as long as a likelihood of 500 rows.
NODES = 2049


def radii(d: int, count: int, df: float, rng: np.random.Generator) -> FloatArray:
    """Return the radii (count,) of a standard Student distribution in d dimensions, one a stratum."""
    strata = (np.arange(count) + rng.random(count)) / count
    return np.sqrt(d * quantiles(d, df, strata))


@lru_cache(maxsize=256)
def _table(d: int, df: float) -> tuple[float, CubicHermiteSpline]:
    """Return the end of a table of log quantiles of F(d, df), and the table by log odds of probability."""
    end = 6.0
    at = np.linspace(-end, end, NODES)
    p = expit(at)
    values = fdtri(d, df, p)
    log_density = (
        0.5 * d * np.log(d / df)
        - betaln(0.5 * d, 0.5 * df)
        + 0.5 * d * np.log(values)
        - 0.5 * (d + df) * np.log1p(d * values / df)
    )
    # d log F / d log odds, of which log_density is that of log F.
    slopes = np.exp(np.log(p) + np.log1p(-p) - log_density)
    return end, CubicHermiteSpline(at, np.log(values), slopes)


def quantiles(d: int, df: float, p: FloatArray) -> FloatArray:
    """Return quantiles of F(d, df), to ten digits; in the tails, beyond the table, as scipy has them."""
    end, table = _table(d, df)
    at = logit(p)
    out = np.exp(table(np.clip(at, -end, end)))
    tails = np.abs(at) > end
    out[tails] = fdtri(d, df, p[tails])
    return np.asarray(out)
