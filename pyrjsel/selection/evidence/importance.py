"""Importance sampling with pairs of draws from Student distributions, and its control variate.

Pairs are ``centre +- r L direction`` with stratified radii r. The normal distribution with the same centre
and scale has c times the density of the proposal; c depends on r alone and has the mean 1.
"""

from functools import lru_cache

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel.selection.evidence._importance import interpolated

# Nodes of a table of quantiles, evenly spaced over END log odds on both sides. fdtri takes some microseconds
# per value, as long as a likelihood of 500 rows.
NODES, END = 2049, 6.0
# Moments use the control variate if it leaves less than this proportion of the squared weights, which is the
# variance of weighted averages.
CLOSE = 0.25


def radii(d: int, count: int, df: float, rng: np.random.Generator) -> FloatArray:
    """Return radii (count,) of a standard Student distribution in d dimensions, one per stratum."""
    return np.sqrt(d * quantiles(d, df, strata(count, rng)))


def strata(count: int, rng: np.random.Generator) -> FloatArray:
    """Return increasing standard uniform variates (count,), one per stratum."""
    return (np.arange(count) + rng.random(count)) / count


@lru_cache(maxsize=256)
def _table(d: int, df: float) -> FloatArray:
    """Return log quantiles of F(d, df) at the nodes of log odds, and their changes over a step (2, NODES)."""
    p = special.expit(np.linspace(-END, END, NODES))
    values = special.fdtri(d, df, p)
    log_density = (
        0.5 * d * np.log(d / df)
        - special.betaln(0.5 * d, 0.5 * df)
        + 0.5 * d * np.log(values)
        - 0.5 * (d + df) * np.log1p(d * values / df)
    )
    # d log F / d log odds, of which log_density is that of log F.
    slopes = np.exp(np.log(p) + np.log1p(-p) - log_density)
    return np.stack([np.log(values), slopes * 2.0 * END / (NODES - 1)])


def quantiles(d: int, df: float, p: FloatArray) -> FloatArray:
    """Return quantiles of F(d, df) to ten digits; in the tails, beyond the table, from scipy."""
    out, odds = interpolated(_table(d, df), END, p)
    tails = np.abs(odds) > END
    if tails.any():
        out[tails] = special.fdtri(d, df, p[tails])
    return out


def log_student(radius: FloatArray, d: int, df: float) -> FloatArray:
    """Return log densities of a standard Student distribution, minus that of the standard normal at 0."""
    peak = special.gammaln(0.5 * (df + d)) - special.gammaln(0.5 * df) - 0.5 * d * np.log(0.5 * df)
    return np.asarray(peak - 0.5 * (df + d) * np.log1p(radius**2 / df))


def log_control(radius: FloatArray, d: int, df: float) -> FloatArray:
    """Return the logarithms of c."""
    return np.asarray(-0.5 * radius**2 - log_student(radius, d, df))


def normal_moments(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return means, mean squares and probabilities of being positive of normal variates, (3, ...)."""
    return np.stack([mean, mean**2 + variance, special.ndtr(mean / np.sqrt(variance))])
