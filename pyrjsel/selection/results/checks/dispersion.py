"""Overdispersion of counts and of proportions, by the best model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrjsel._core import special
from pyrjsel._errors import DispersionWarning
from pyrjsel._validate import beyond
from pyrjsel._warnings import warn
from pyrjsel.design import DesignData
from pyrjsel.families import Family
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SelectionModel, SingleModel
from pyrjsel.selection.regression.glm import Regression

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
    def of(cls, squares: np.ndarray, excess: np.ndarray, columns: int) -> Dispersion | None:
        """Return the test of squared standardised residuals (n,), None if no degree of freedom is left.

        `excess` (n,) is their variance minus 2, the variance of the square of a normal residual.
        """
        df = len(squares) - columns
        if df < 1:
            return None
        scale = float(np.mean(2.0 + excess)) / 2.0
        statistic = float(squares.sum())
        return cls(statistic, df, float(special.chdtrc(df / scale, statistic / scale)))


def look_for_dispersion(
    model: SelectionModel, posterior: Posterior, single: SingleModel
) -> Dispersion | None:
    """Return Pearson's chi-square of the best model; None if it is not informative.

    It is informative for counts, and for proportions if rows have more than one trial.

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
    assert isinstance(single, MarginalLikelihood)
    integral = single.approximate(posterior.packed[0])
    b = integral.moments[0] / regression.units[integral.columns]
    eta = b[0] + data.X[:, integral.columns[1:] - 1] @ b[1:]
    if "offset" in data.extras:
        eta = eta + data.extras["offset"]
    mean = family.mean(eta)
    variance = weights * family.variance(mean)
    rows = np.isfinite(variance) & (variance > LEAST_VARIANCE)
    gap = weights[rows] * (data.y[rows] - mean[rows])
    excess = family.excess(mean[rows]) / weights[rows]
    return Dispersion.of(gap**2 / variance[rows], excess, integral.columns.size)
