"""Importance sampling with pairs of draws from Student distributions, its control variate and its integrals.

Pairs are ``centre +- r L direction`` with stratified radii r. The normal distribution with the same centre
and scale has c times the density of the proposal; c depends on r alone and has the mean 1.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.linalg import lapack, solve_triangular

from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel.selection.evidence._importance import interpolated

# Nodes of a table of quantiles, evenly spaced over END log odds on both sides. fdtri takes some microseconds
# per value, as long as a likelihood of 500 rows.
NODES, END = 2049, 6.0
# Moments use the control variate if it leaves less than this proportion of the squared weights, which is the
# variance of weighted averages.
CLOSE = 0.25
# Weights are tempered until the effective sample size of the moments is this multiple of the number of
# columns.
DRAWS_A_COLUMN = 10
# Two-piece scales fit log densities down to this below the mode; at the first distance, whatever it is there.
DEEPEST, SHALLOWEST = 6.0, 1e-3
# Smallest and largest such scale.
SCALES = 0.4, 8.0


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
        - special.log_beta(0.5 * d, 0.5 * df)
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


@dataclass(frozen=True)
class TwoPiece:
    """A Student distribution with another scale on each side of its mode along each axis (Geweke 1989).

    Attributes
    ----------
    axes : ndarray (d, d)
        One axis a row, of the length of one standard deviation.
    scales : ndarray (2, d)
        Factors of the lengths for positive and for negative coordinates.
    """

    axes: FloatArray
    scales: FloatArray

    @classmethod
    def along(cls, axes: FloatArray, radius: FloatArray, heights: FloatArray) -> "TwoPiece":
        """Return the proposal with the smallest scales that cover log densities, relative to the mode.

        Parameters
        ----------
        axes : ndarray (d, d)
        radius : ndarray (r,)
            Increasing distances from the mode, in standard deviations.
        heights : ndarray (r, d, 2)
            Log densities there, on the positive and on the negative side.
        """
        scale = radius[:, None, None] / np.sqrt(2.0 * np.maximum(-heights, SHALLOWEST))
        scale[1:][heights[1:] < -DEEPEST] = 0.0
        return cls(axes, np.clip(scale.max(axis=0).T, *SCALES))

    def draw(
        self, radius: FloatArray, direction: FloatArray, uniform: FloatArray, df: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return draws (2 P, d), relative to the mode, and log densities (P,), relative to the normal one.

        Parameters
        ----------
        radius : ndarray (P,)
        direction : ndarray (P, d)
            Standard normal variates; signs do not matter.
        uniform : ndarray (P, d)
            Standard uniform variates, which choose the sides. A pair has u and 1 - u.
        df : float
        """
        total = self.scales.sum(axis=0)
        away = np.abs(direction) * (radius / np.sqrt(np.sum(direction**2, axis=1)))[:, None]
        above = np.stack([uniform, 1.0 - uniform], axis=1) < self.scales[0] / total
        z = away[:, None] * np.where(above, self.scales[0], -self.scales[1])
        log_density = log_student(radius, len(total), df) - np.sum(np.log(0.5 * total))
        return z.reshape(-1, len(total)) @ self.axes, log_density


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


def inverse(factor: FloatArray) -> FloatArray:
    """Return the inverse of a lower triangular matrix (d, d) with a positive diagonal."""
    found: FloatArray = lapack.dtrtri(factor, lower=1)[0] if factor.size else factor
    return found


def resample(weights: FloatArray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return `size` indices drawn systematically with the given weights, in random order."""
    edges = np.cumsum(weights)
    points = (np.arange(size) + rng.random()) / size * edges[-1]
    picked = np.minimum(np.searchsorted(edges, points, side="right"), weights.size - 1)
    return rng.permutation(picked)


# Largest number of shared integrals, of about 1 kB each, and numbers in all their weighted draws.
MOST, NUMBERS = 2**15, 2**23
# Largest number of shared Laplace values, of about 150 bytes each.
MOST_MODES = 2**18


@dataclass(frozen=True)
class Integral:
    """The marginal likelihood of one model by importance sampling.

    Attributes
    ----------
    log_marginal : float
        Log marginal likelihood, without constants of the family; -inf if the prior does not exist.
    variance : float
        Relative variance of the marginal likelihood; NaN if not estimated.
    columns : ndarray (d,)
        Columns of the model, the intercept (0) first.
    moments : ndarray (3, d)
        Posterior mean and mean square of each internal coefficient (the intercept: that of the
        design's own columns), and the probability that it is positive.
    samples, weights : ndarray (m, d + nuisance) and (m,), or None
        Draws of internal coefficients, followed by coordinates of nuisance parameters, and their importance
        weights.
    largest : float
        Largest importance weight as a proportion of their sum; NaN without weights.
    stages : int
        Number of proposals; the estimate is that of the last.
    effective : float
        Effective number of weighted draws; NaN without draws.
    draws : int
        Number of draws.
    nuisance : ndarray (nuisance,), optional
        Posterior means of the coordinates of nuisance parameters.
    """

    log_marginal: float
    variance: float
    columns: np.ndarray
    moments: FloatArray
    samples: FloatArray | None
    weights: FloatArray | None
    largest: float = np.nan
    stages: int = 1
    effective: float = np.nan
    draws: int = 0
    nuisance: FloatArray | None = None


class SharedIntegrals:
    """Integrals of models, with weighted draws while there is room.

    An integral depends on the seed of the fit and on the model alone: results are the same whoever computes
    it. A copy in another process is empty.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, Integral] = {}
        self._room = NUMBERS
        # Laplace values of packed models.
        self.modes: dict[bytes, float] = {}

    def make_room(self) -> None:
        """Forget the Laplace values if there are too many."""
        if len(self.modes) > MOST_MODES:
            self.modes.clear()

    def get(self, key: Hashable, compute: Callable[[], Integral], draws: bool) -> Integral:
        """Return the integral of a key, with its weighted draws or without them; compute it if it is new.

        Parameters
        ----------
        key : hashable
            What the integral depends on.
        compute : callable
            Returns it with its draws.
        draws : bool
            Whether weighted draws are needed.
        """
        found = self._found.get(key)
        if found is None or (draws and found.samples is None):
            found = compute()
            self._keep(key, found)
        return found if draws else replace(found, samples=None, weights=None)

    def _keep(self, key: Hashable, found: Integral) -> None:
        if len(self._found) >= MOST:
            self._found, self._room = {}, NUMBERS
        size = 0 if found.samples is None else found.samples.size + found.draws
        if size > self._room:
            found = replace(found, samples=None, weights=None)
        else:
            self._room -= size
        self._found[key] = found

    def __reduce__(self) -> "tuple[type[SharedIntegrals], tuple[()]]":
        return SharedIntegrals, ()
