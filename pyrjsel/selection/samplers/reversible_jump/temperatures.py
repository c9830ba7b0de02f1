"""Inverse temperatures of auxiliary chains: distributions, grids, and normalising constants."""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from pyrjsel._core import special
from pyrjsel._typing import FloatArray

# Number of grid points of one chain.
POINTS = 60
# Target acceptance rate of exchanges, as in the publication.
EXCHANGE_RATE = 0.20
# Tuning steps: gain / sqrt(step number) times the error of the rate.
GAIN = 2.0
# Bounds of the mean of a hot distribution, and of the mean excess over 1 of a cold one.
HOT_BOUNDS = (0.05, 0.98)
COLD_BOUNDS = (0.02, 10.0)
# Bounds of the parameters of a distribution: with smaller ones nearly all probability is in poles beyond the
# ends of the grid, with larger ones it is within one cell.
PARAMETER_BOUNDS = (0.1, 1000.0)
# Range of the grid of a cold distribution: this multiple of its mean excess, or a fixed one if that is more.
# Posteriors of few coefficients need means of 3 to 5 for an acceptance rate of a fifth.
GROWTH = 10.0
COLD_ROOM = 0.5


@dataclass(frozen=True)
class Law:
    """The distribution h of one inverse temperature t.

    Attributes
    ----------
    kind : {"hot", "cold"}
        ``hot``: (t - least) / (1 - least) ~ Beta(a, b). ``cold``: t - 1 ~ Gamma(a, rate b).
    a, b : float
    least : float, default 0
        Lower end of hot distributions: powers of the posterior up to it are not integrable.
    """

    kind: str
    a: float
    b: float
    least: float = 0.0

    @property
    def mean(self) -> float:
        """Mean of t for a hot distribution, of t - 1 for a cold one."""
        return self.least + (1 - self.least) * self._share if self.kind == "hot" else self.a / self.b

    @property
    def _share(self) -> float:
        return self.a / (self.a + self.b)

    def above(self, least: float) -> "Law":
        """Return the distribution, if hot with temperatures rescaled to (`least`, 1)."""
        return replace(self, least=least) if self.kind == "hot" else self

    def grid(self) -> FloatArray:
        """Return the grid of temperatures of a chain with this distribution, increasing, (POINTS,)."""
        middle = (np.arange(POINTS) + 0.5) / POINTS
        if self.kind == "hot":
            return self.least + (1 - self.least) * middle
        # The grid covers 99 % of a distribution tuned to its bounds; cubes leave enough points for
        # distributions close to t = 1.
        rate = self.a / max(self.mean, COLD_ROOM)
        top = GROWTH * float(special.gdtrix(rate, self.a, 0.99))
        return 1.0 + top * middle**3

    def bounds(self, *, fixed: bool = False) -> tuple[float, float]:
        """Return the bounds of the mean in tuning (for a hot distribution, before rescaling).

        They are within the grid, unless `fixed`.
        """
        if self.kind == "hot":
            return HOT_BOUNDS
        low, high = COLD_BOUNDS
        return low, high if fixed else min(GROWTH * max(self.mean, COLD_ROOM), high)

    def logpdf(self, grid: FloatArray) -> FloatArray:
        """Return the log weights of the points of `grid`, up to a constant, including the widths of cells."""
        cells = np.log(np.gradient(grid))
        if self.kind == "hot":
            return special.xlogy(self.a - 1, grid - self.least) + special.xlogy(self.b - 1, 1 - grid) + cells
        return special.xlogy(self.a - 1, grid - 1) - self.b * (grid - 1) + cells

    def moved(self, rate: float, step: int, bounds: tuple[float, float]) -> "Law":
        """Return the distribution after one tuning step: too many exchanges move it away from t = 1.

        Parameters
        ----------
        rate : float
            Acceptance rate of exchanges since the last step.
        step : int
            Number of the step, from 1.
        bounds : tuple of float
            Bounds of the mean: the `bounds` of the initial distribution, which has the same grid.

        Returns
        -------
        Law
        """
        push = GAIN / np.sqrt(step) * (rate - EXCHANGE_RATE)
        if self.kind == "hot":
            size = self.a + self.b
            odds = self._share / (1 - self._share) * np.exp(-push)
            share = float(np.clip(odds / (1 + odds), *bounds))
            return replace(self, a=size * share, b=size * (1 - share))
        mean = float(np.clip(self.mean * np.exp(push), *bounds))
        return replace(self, b=self.a / mean)


def log_constants(
    grid: FloatArray, sums: FloatArray, visits: FloatArray, columns: float, start: float
) -> FloatArray:
    """Estimate log Z(t), up to a constant, on a grid of temperatures: thermodynamic integration.

    d log Z / dt is the mean of log pi at t, which increases with t; for a temperature that was not visited it
    is extrapolated from the nearest visited one, with the slope of a normal posterior with that many columns.

    Parameters
    ----------
    grid : ndarray (G,)
        Temperatures in increasing order.
    sums, visits : ndarray (G,)
        Sums of log pi over the visits of each temperature, and their numbers.
    columns : float
        Typical number of coefficients of a model.
    start : float
        log pi at a typical state, used if nothing was visited.

    Returns
    -------
    ndarray (G,)
    """
    bend = -0.5 * columns * (1.0 / grid - 1.0)
    seen = np.flatnonzero(visits > 0)
    means = start + bend
    if seen.size:
        found = scipy.optimize.isotonic_regression(sums[seen] / visits[seen], weights=visits[seen]).x
        means = bend + np.interp(grid, grid[seen], found - bend[seen])
    steps = 0.5 * (means[1:] + means[:-1]) * np.diff(grid)
    return np.concatenate([[0.0], np.cumsum(steps)])
