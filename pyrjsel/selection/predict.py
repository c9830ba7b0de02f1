"""Posterior draws of coefficients for prediction, and predictions with their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.families import Family
from pyrjsel.selection.marginal import MarginalLikelihood, resample
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.single import SingleModels

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
    """
    if new is None:
        if offset is not None:
            raise DataError(
                f"The 'offset' parameter of {owner} goes with new rows, and none are given: the rows of the "
                "fit have their own."
            )
        offset = model.data.extras.get("offset")
        return model.data.X, np.zeros(model.nobs) if offset is None else offset, model.data.index
    given = {"offset": offset} if offset is not None else {}
    rows = model.design.transform(new, extras={"weights": None, **given}, owner=owner)
    if "offset" not in model.data.extras and offset is None:
        return rows.X, np.zeros(len(rows.index)), rows.index
    found = rows.extras.get("offset")
    if found is None:
        raise DataError(f"The fit had an array as offset: {owner} needs 'offset' for new rows.")
    return rows.X, found, rows.index


def prediction_weights(
    model: Selection, new: Any, weights: ArrayLike | None, rows: int, owner: str
) -> FloatArray:
    """Return the weights (rows,) of new rows, or of those of the fit; ones where the fit had none.

    Raises
    ------
    UnknownNameError, DataError
        If the weights of new rows are missing or negative, or weights come without new rows.
    """
    if new is None:
        if weights is not None:
            raise DataError(
                f"The 'weights' parameter of {owner} goes with new rows, and none are given: the rows of the "
                "fit have their own."
            )
        return model.data.extras.get("weights", np.ones(rows))
    if "weights" not in model.data.extras and weights is None:
        return np.ones(rows)
    given = {"weights": weights} if weights is not None else {}
    found = model.design.extras_of(new, {"offset": None, **given}, owner=owner).get("weights")
    if found is None:
        raise DataError(f"The fit had an array as weights: {owner} needs 'weights' for new rows.")
    if np.any(found < 0):
        raise DataError(f"The 'weights' of {owner} must be non-negative. Got {np.nanmin(found):g}.")
    return found


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

    @property
    def complete(self) -> np.ndarray:
        """Which rows have all inputs, bool (rows,)."""
        return ~(np.isnan(self.x).any(axis=1) | np.isnan(self.offset))

    def _eta(self, rows: np.ndarray, draws: np.ndarray | slice) -> FloatArray:
        """Return linear predictors (rows, draws)."""
        coefficients = self.coefficients[draws]
        eta = self.x[rows] @ coefficients[:, 1:].T
        eta += coefficients[:, 0] + self.offset[rows, None]
        return np.asarray(eta)

    def _blocks(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, FloatArray]]:
        """Yield positions of rows and their means, (rows, m), a block at a time."""
        step = max(1, BLOCK // len(self.coefficients))
        for begin in range(0, rows.size, step):
            part = rows[begin : begin + step]
            yield part, self.family.mean(self._eta(part, slice(None)))

    def simulate(
        self, rows: np.ndarray, weights: FloatArray, draws: int, rng: np.random.Generator
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield blocks of `draws` simulated responses of some complete rows, and their expectations.

        Every coefficient vector serves as often as any other, or once more. `weights` are those of `rows`,
        positive. A block is the places of its draws, expectations and responses, both (rows, places).
        """
        chosen = resample(np.ones(len(self.coefficients)), draws, rng)
        step = max(1, BLOCK // max(rows.size, 1))
        for begin in range(0, draws, step):
            part = chosen[begin : begin + step]
            mean = self.family.mean(self._eta(rows, part))
            variance = None if self.variance is None else self.variance[part]
            response = self.family.simulate(mean, weights, variance, rng)
            yield slice(begin, begin + part.size), mean, response

    def log_density(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Return log posterior predictive densities of responses `y` of all rows, which are complete.

        A density is averaged over the draws before its logarithm is taken. Shapes (rows,), `weights`
        positive.
        """
        out = np.empty(y.size)
        step = max(1, BLOCK // len(self.coefficients))
        for begin in range(0, y.size, step):
            part = np.arange(begin, min(begin + step, y.size))
            each = self.family.log_density(
                y[part], self._eta(part, slice(None)), weights[part], self.variance
            )
            out[part] = logsumexp(each, axis=1) - np.log(each.shape[1])
        return out

    def mean(self) -> pd.Series:
        """Return the posterior mean of each row's expected response; NaN for rows with missing inputs."""
        out = np.full(len(self.index), np.nan)
        for part, means in self._blocks(np.flatnonzero(self.complete)):
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
        for part, means in self._blocks(np.flatnonzero(self.complete)):
            # Expected counts far outside the data may be infinite, and their spread is NaN then.
            with np.errstate(over="ignore", invalid="ignore"):
                out[part, 0] = means.mean(axis=1)
                out[part, 1] = means.std(axis=1, ddof=1) if means.shape[1] > 1 else np.nan
                out[part, 2:4] = np.quantile(means, [alpha / 2, 1 - alpha / 2], axis=1).T
            out[part, 4:] = self.family.interval(means, alpha, self.variance)
        return pd.DataFrame(out, index=self.index, columns=columns)
