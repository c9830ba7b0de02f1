"""Student proposals of importance sampling: radii, densities, and matching to weighted draws."""

from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.linalg import solve_triangular
from scipy.special import betaln, expit, fdtri, gammaln, logit

from pyrjsel._typing import FloatArray

# Nodes of a table of quantiles. fdtri takes some microseconds per value, as long as a likelihood of 500 rows.
NODES = 2049
# Weights are tempered until the effective sample size of the moments is this multiple of the number of
# columns.
DRAWS_A_COLUMN = 10


def radii(d: int, count: int, df: float, rng: np.random.Generator) -> FloatArray:
    """Return radii (count,) of a standard Student distribution in d dimensions, one per stratum."""
    strata = (np.arange(count) + rng.random(count)) / count
    return np.sqrt(d * quantiles(d, df, strata))


@lru_cache(maxsize=256)
def _table(d: int, df: float) -> tuple[float, CubicHermiteSpline]:
    """Return a table of log quantiles of F(d, df) by log odds of the probability, and its end first."""
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
    """Return quantiles of F(d, df) to ten digits; in the tails, beyond the table, from scipy."""
    end, table = _table(d, df)
    at = logit(p)
    out = np.exp(table(np.clip(at, -end, end)))
    tails = np.abs(at) > end
    out[tails] = fdtri(d, df, p[tails])
    return np.asarray(out)


def log_student(radius: FloatArray, d: int, df: float) -> FloatArray:
    """Return log densities of a standard Student distribution, minus that of the standard normal at 0."""
    peak = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(0.5 * df)
    return np.asarray(peak - 0.5 * (df + d) * np.log1p(radius**2 / df))


def log_det(factor: FloatArray) -> float:
    """Return the log determinant of a triangular matrix (d, d)."""
    return float(np.sum(np.log(np.diag(factor))))


def match(
    points: FloatArray, weights: FloatArray, mode: FloatArray, factor: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mean (d,) of weighted draws and a Cholesky factor (d, d) of their covariance.

    If few draws have nearly all the weight, weights are raised to a power below 1, so that the moments move
    only part of the way. Mode and inverse Hessian (`factor` is that of the Hessian) count as d draws, so the
    covariance is never singular.
    """
    d = mode.size
    power = 1.0
    while True:
        share = weights**power
        share /= share.sum()
        effective = 1.0 / float(share @ share)
        if effective >= DRAWS_A_COLUMN * d or power < 0.05:
            break
        power *= 0.8
    kept = effective / (effective + d)
    mean = share @ points
    away = points - mean
    half = solve_triangular(factor, np.eye(d), lower=True)
    covariance = kept * (away.T * share) @ away + (1.0 - kept) * half.T @ half
    return kept * mean + (1.0 - kept) * mode, np.linalg.cholesky(covariance)
