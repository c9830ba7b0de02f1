"""Overdispersion of counts and of proportions, by the best model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrjsel._called import warn
from pyrjsel._core import special
from pyrjsel._errors import DispersionWarning
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import beyond
from pyrjsel.design import DesignData
from pyrjsel.families import Family, Poisson
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SelectionModel, SingleModel
from pyrjsel.selection.regression.glm import Regression, equal_rows

# Limits of Pearson's chi-square over its degrees of freedom, and of its p-value, for a warning.
RATIO, LEVEL = 1.5, 1e-3
# Rows with a smaller fitted variance are omitted: a single one could dominate the statistic.
LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class Dispersion:
    """Pearson's chi-square of the best model, at its posterior mode.

    Attributes
    ----------
    statistic : float
        Sum over rows of squared residuals divided by their variances.
    df : int
        Number of rows minus number of columns of the model.
    p_value : float
        Probability of a larger statistic under a gamma distribution with the mean and variance of the
        statistic if the family is correct; for rows with many events, the chi-square distribution.
    """

    statistic: float
    df: int
    p_value: float

    @property
    def ratio(self) -> float:
        """The statistic divided by its degrees of freedom."""
        return self.statistic / self.df

    @property
    def over(self) -> bool:
        """Whether the responses are overdispersed."""
        return self.ratio > RATIO and self.p_value < LEVEL

    @classmethod
    def of(
        cls, squares: np.ndarray, excess: np.ndarray, columns: int, times: np.ndarray | None = None
    ) -> Dispersion | None:
        """Return the test of squared standardised residuals (n,), None if no degree of freedom is left.

        `excess` (n,) is their variance minus 2, the variance of the square of a normal residual, and `times`
        (n,) is how often each is there.
        """
        times = np.ones(len(squares)) if times is None else times
        df = int(times.sum()) - columns
        if df < 1:
            return None
        scale = float(np.average(2.0 + excess, weights=times)) / 2.0
        statistic = float(times @ squares)
        return cls(statistic, df, float(special.chdtrc(df / scale, statistic / scale)))


def look_for_dispersion(
    model: SelectionModel, posterior: Posterior, single: SingleModel
) -> Dispersion | None:
    """Return Pearson's chi-square of the best model; None if it is not informative.

    It is informative for counts, and for proportions if rows have more than one trial. Where all responses of
    a weight above 1 are whole numbers, such as 0 and 1, weights say how often rows were observed: residuals
    of counts are those of all these rows, and binary responses are proportions in cells of equal columns and
    offset, if they are a table of frequencies (:func:`_cells`).

    Warns
    -----
    DispersionWarning
        If the responses are overdispersed.
    """
    found = _dispersion(model, posterior, single)
    if found is not None and found.over:
        warn(text(found, model.regression.family), DispersionWarning)
    return found


def text(found: Dispersion, family: Family) -> str:
    """Return the warning about overdispersed responses."""
    return (
        f"The responses are overdispersed: Pearson's chi-square of the best model is "
        f"{beyond(found.ratio, RATIO)} times its {found.df:,} degrees of freedom (p < {LEVEL:g}). Inclusion "
        f"probabilities are then too extreme and intervals too narrow.{family.remedy}"
    )


def _dispersion(model: SelectionModel, posterior: Posterior, single: SingleModel) -> Dispersion | None:
    regression, data = model.regression, model.data
    if not isinstance(regression, Regression) or not isinstance(data, DesignData):
        return None
    family = regression.family
    weights = data.extras.get("weights", np.ones(data.n))
    if not family.tells_dispersion(weights):
        return None
    x, y, offset = data.X, data.y, data.extras.get("offset", np.zeros(data.n))
    repeated, times = _are_frequencies(family, y, weights), None
    if repeated and family.events:
        cells = _cells(x, y, weights, offset)
        if cells is None:
            return None
        first, y, weights = cells
        x, offset = x[first], offset[first]
    elif repeated:
        times, weights = weights, np.ones(data.n)
    assert isinstance(single, MarginalLikelihood)
    integral = single.approximate(posterior.packed[0])
    b = integral.moments[0] / regression.units[integral.columns]
    mean = family.mean(b[0] + x[:, integral.columns[1:] - 1] @ b[1:] + offset)
    variance = weights * family.variance(mean)
    rows = np.isfinite(variance) & (variance > LEAST_VARIANCE)
    gap = weights[rows] * (y[rows] - mean[rows])
    excess = family.excess(mean[rows]) / weights[rows]
    return Dispersion.of(
        gap**2 / variance[rows], excess, integral.columns.size, None if times is None else times[rows]
    )


def _are_frequencies(family: Family, y: FloatArray, weights: FloatArray) -> bool:
    """Return whether weights above 1 are numbers of equal responses, and not of those behind a mean."""
    heavy = weights > 1
    discrete = family.events or isinstance(family, Poisson)
    return discrete and bool(heavy.any() and np.all(y[heavy] == np.floor(y[heavy])))


def _cells(
    x: FloatArray, y: FloatArray, weights: FloatArray, offset: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray] | None:
    """Return the first row, the proportion and the total weight of cells of equal columns and offset.

    None if the rows are no table of frequencies of binary responses, in which no row is there twice and half
    of the cells have both responses: of weights of other kinds, such as those of a bootstrap, cells with one
    response tell nothing.
    """
    used = np.flatnonzero(weights > 0)
    x, y, weights, offset = x[used], y[used], weights[used], offset[used]
    cells = equal_rows(x, offset, 1.0)
    rows = equal_rows(np.column_stack([x, y]), offset, 1.0)
    if cells is None or rows is None or rows.first.size < y.size or y.size < 1.5 * cells.first.size:
        return None
    return used[cells.first], *cells.merge(y, weights)
