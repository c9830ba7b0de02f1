"""Posterior draws of coefficients for prediction, and predictions with their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.families import Family
from pyrjsel.selection.marginal import MarginalLikelihood, resample
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.single import SingleModels
from pyrjsel.selection.summed import SummedRows

if TYPE_CHECKING:
    from pyrjsel.selection.model import Selection

# What answers questions about single models.
SingleModel = MarginalLikelihood | SingleModels

# Coefficient vectors that predictions and intervals are made of.
PREDICTION_DRAWS = 4000
# Numbers that a block of rows times draws may take.
BLOCK = 4_000_000


def averaged_draws(
    posterior: Posterior, single: SingleModel, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Return draws from the model-averaged posterior, in units of the design's columns.

    Coefficients (m, D + 1), and the error variances (m,) that go with them in families that have one.
    """
    if posterior.draws is not None:
        flat = posterior.draws.coefficients.reshape(-1, posterior.draws.coefficients.shape[2])
        step = max(1, len(flat) // PREDICTION_DRAWS)
        variance = posterior.draws.variance
        return flat[::step], None if variance is None else variance.reshape(-1)[::step]
    models, counts = np.unique(resample(posterior.probability, PREDICTION_DRAWS, rng), return_counts=True)
    parts = [
        single.sample_with_variance(posterior.gamma[model], int(count), rng)
        for model, count in zip(models, counts, strict=True)
    ]
    variances = [variance for _, variance in parts if variance is not None]
    coefficients = single.regression.to_raw(np.concatenate([drawn for drawn, _ in parts]))
    return coefficients, np.concatenate(variances) if variances else None


def prediction_rows(
    model: Selection, new: Any, offset: ArrayLike | None, owner: str
) -> tuple[FloatArray, FloatArray, pd.Index]:
    """Return columns (rows, D), offset (rows,) and labels of new rows, or of those of the fit.

    Raises
    ------
    UnknownNameError, DataError
        If the rows cannot be used, or their offset is missing.
    NotAvailableError
        If the rows of the fit were not kept.
    """
    if new is None:
        if offset is not None:
            raise DataError(
                f"The 'offset' parameter of {owner} goes with new rows, and none are given: the rows of the "
                "fit have their own."
            )
        if isinstance(model.data, SummedRows):
            raise NotAvailableError(
                f"{owner} needs rows: the data of the fit came in chunks, of which only sums were kept."
            )
        offset = model.data.extras.get("offset")
        return model.data.X, np.zeros(model.nobs) if offset is None else offset, model.data.index
    given = {"offset": offset} if offset is not None else {}
    rows = model.design.transform(new, extras={"weights": None, **given}, owner=owner)
    if "offset" not in model.design.extra_columns and offset is None:
        return rows.X, np.zeros(len(rows.index)), rows.index
    found = rows.extras.get("offset")
    if found is None:
        raise DataError(f"The fit had an array as offset: {owner} needs 'offset' for new rows.")
    return rows.X, found, rows.index


@dataclass(frozen=True)
class Prediction:
    """Predictions for rows, from posterior draws of their coefficients.

    Attributes
    ----------
    x : ndarray (rows, D)
        Columns of the design; rows with missing inputs are NaN.
    offset : ndarray (rows,)
    index : Index
        Labels of the rows.
    coefficients : ndarray (m, D + 1)
        Posterior draws in units of the columns, intercept first.
    family : Family
    name : str
        Name of the response.
    variance : ndarray (m,) or None
        Draws of the error variance that go with the coefficients, in families that have one.
    """

    x: FloatArray
    offset: FloatArray
    index: pd.Index
    coefficients: FloatArray
    family: Family
    name: str
    variance: FloatArray | None = None

    def _complete(self) -> np.ndarray:
        return ~(np.isnan(self.x).any(axis=1) | np.isnan(self.offset))

    def _blocks(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, FloatArray]]:
        """Yield positions of rows and their means, (rows, m), a block at a time."""
        step = max(1, BLOCK // len(self.coefficients))
        for begin in range(0, rows.size, step):
            part = rows[begin : begin + step]
            eta = self.x[part] @ self.coefficients[:, 1:].T
            eta += self.coefficients[:, 0] + self.offset[part, None]
            yield part, self.family.mean(eta)

    def mean(self) -> pd.Series:
        """Return the posterior mean of each row's expected response; NaN for rows with missing inputs."""
        out = np.full(len(self.index), np.nan)
        for part, means in self._blocks(np.flatnonzero(self._complete())):
            out[part] = means.mean(axis=1)
        return pd.Series(out, index=self.index, name=self.name)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return predictions with intervals.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            By row: ``mean`` and ``mean_se``, posterior mean and standard deviation of the expected
            response (a success probability, or a count); ``mean_ci_lower`` and ``mean_ci_upper``, its
            equal-tailed interval; ``obs_ci_lower`` and ``obs_ci_upper``, quantiles of a single new
            response (a number, 0 or 1, or a count) of weight one under its posterior predictive
            distribution. Rows with missing inputs are NaN.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1).
        """
        alpha = check_real(alpha, "alpha", "summary_frame", low=0, high=1, open_low=True, open_high=True)
        columns = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]
        out = np.full((len(self.index), 6), np.nan)
        for part, means in self._blocks(np.flatnonzero(self._complete())):
            # Expected counts far outside the data may be infinite, and their spread is NaN then.
            with np.errstate(over="ignore", invalid="ignore"):
                out[part, 0] = means.mean(axis=1)
                out[part, 1] = means.std(axis=1, ddof=1) if means.shape[1] > 1 else np.nan
                out[part, 2:4] = np.quantile(means, [alpha / 2, 1 - alpha / 2], axis=1).T
            out[part, 4:] = self.family.interval(means, alpha, self.variance)
        return pd.DataFrame(out, index=self.index, columns=columns)
