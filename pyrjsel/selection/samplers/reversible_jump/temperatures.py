"""The temperatures of auxiliary chains: their laws, grids, and normalising constants."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import gdtrix, xlogy

from pyrjsel._typing import FloatArray

# Points of the grid of one chain.
POINTS = 60
# Share of acceptances that exchanges are tuned to (papers' own aim).
EXCHANGE_RATE = 0.20
# Steps of the tuning: gain / sqrt(number of the step) times what the rate is off.
GAIN = 2.0
# The mean of a hot law stays within these bounds, the mean excess of a cold law over 1 within those.
HOT_BOUNDS = (0.05, 0.98)
COLD_BOUNDS = (0.02, 10.0)
# Parameters of a law that a grid can hold: with less nearly all of it is in poles beyond the ends of the
# grid, with more it is narrower than a cell.
PARAMETER_BOUNDS = (0.1, 1000.0)
# The grid of a cold law has room for laws of so many times its mean excess, or of so many times the room if
# that is more: posteriors of few coefficients need means of 3 to 5 for a fifth of exchanges to be accepted.
GROWTH = 10.0
COLD_ROOM = 0.5


@dataclass(frozen=True)
class Law:
    """The law h of one inverse temperature t.

    Attributes
    ----------
    kind : {"hot", "cold"}
        ``hot``: (t - least) / (1 - least) ~ Beta(a, b). ``cold``: t - 1 ~ Gamma(a, rate b).
    a, b : float
    least : float, default 0
        Where hot laws begin: no power of the posterior up to it has an integral.
    """

    kind: str
    a: float
    b: float
    least: float = 0.0

    @property
    def mean(self) -> float:
        """Mean of t for a hot law, of t - 1 for a cold one."""
        return self.least + (1 - self.least) * self._share if self.kind == "hot" else self.a / self.b

    @property
    def _share(self) -> float:
        return self.a / (self.a + self.b)

    def above(self, least: float) -> "Law":
        """Return the law with a hot one's temperatures squeezed into (`least`, 1)."""
        return replace(self, least=least) if self.kind == "hot" else self

    def grid(self) -> FloatArray:
        """Return the temperatures that a chain with this law may have, rising, (POINTS,)."""
        middle = (np.arange(POINTS) + 0.5) / POINTS
        if self.kind == "hot":
            return self.least + (1 - self.least) * middle
        # 99 % of a law that tuning has moved as far as its bounds are within its grid; cubes leave enough
        # points for laws close to t = 1.
        rate = self.a / max(self.mean, COLD_ROOM)
        top = GROWTH * float(gdtrix(rate, self.a, 0.99))
        return 1.0 + top * middle**3

    def bounds(self, *, fixed: bool = False) -> tuple[float, float]:
        """Return what tuning keeps the mean of this law within (of a hot one as if it began at 0).

        That is within its grid, unless `fixed`.
        """
        if self.kind == "hot":
            return HOT_BOUNDS
        low, high = COLD_BOUNDS
        return low, high if fixed else min(GROWTH * max(self.mean, COLD_ROOM), high)

    def logpdf(self, grid: FloatArray) -> FloatArray:
        """Return the log weights of the points of `grid`, up to a constant, cells allowed for."""
        cells = np.log(np.gradient(grid))
        if self.kind == "hot":
            return xlogy(self.a - 1, grid - self.least) + xlogy(self.b - 1, 1 - grid) + cells
        return xlogy(self.a - 1, grid - 1) - self.b * (grid - 1) + cells

    def moved(self, rate: float, step: int, bounds: tuple[float, float]) -> "Law":
        """Return the law after one step of tuning: too many exchanges send it away from t = 1.

        Parameters
        ----------
        rate : float
            Share of exchanges that were accepted since the last step.
        step : int
            Number of the step, from 1.
        bounds : tuple of float
            What the mean stays within: the `bounds` of the law that tuning began with, whose grid it has.

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

    d log Z / dt is the mean of log pi at t, which rises with t; where a temperature was not visited it
    is taken from the nearest one that was, with the slope of a normal posterior of that many columns.

    Parameters
    ----------
    grid : ndarray (G,)
        Temperatures, rising.
    sums, visits : ndarray (G,)
        Sums of log pi over the visits of each temperature, and their numbers.
    columns : float
        Typical number of coefficients of a model.
    start : float
        log pi at a likely state of the posterior, used where nothing was visited.

    Returns
    -------
    ndarray (G,)
    """
    bend = -0.5 * columns * (1.0 / grid - 1.0)
    seen = np.flatnonzero(visits > 0)
    means = start + bend
    if seen.size:
        found = isotonic_regression(sums[seen] / visits[seen], weights=visits[seen]).x
        means = bend + np.interp(grid, grid[seen], found - bend[seen])
    steps = 0.5 * (means[1:] + means[:-1]) * np.diff(grid)
    return np.concatenate([[0.0], np.cumsum(steps)])
