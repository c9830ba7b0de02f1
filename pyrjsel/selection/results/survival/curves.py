"""Predictions of proportional hazards: relative hazards and survival curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.design.frame import as_array, read_array
from pyrjsel.families.cox import Cox, RiskSets, nearest_times
from pyrjsel.selection.results.prediction import Prediction

# Numbers in a block of rows of the fit times draws.
BLOCK = 1_000_000


@dataclass(frozen=True)
class SurvivalPrediction(Prediction):
    """Predictions of a Cox model for rows, from posterior draws of the coefficients.

    Attributes
    ----------
    x, offset, index, coefficients, family, name, nuisance, means, tell
        As of :class:`~pyrjsel.selection.results.prediction.Prediction`; expected responses are
        hazards relative to the mean of the columns and the offset.
    fit : callable
        Returns response, columns and offset of the rows of the fit.
    rng : Generator
        Stream of the baseline hazards.
    """

    fit: Callable[[], tuple[FloatArray, FloatArray, FloatArray]] | None = field(default=None, repr=False)
    rng: np.random.Generator | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        made: Prediction,
        fit: Callable[[], tuple[FloatArray, FloatArray, FloatArray]],
        rng: np.random.Generator,
    ) -> SurvivalPrediction:
        """Return predictions with the rows of the fit, which survival curves need."""
        own: dict[str, Any] = {item.name: getattr(made, item.name) for item in fields(Prediction)}
        return cls(**own, fit=fit, rng=rng)

    def _eta(self, rows: np.ndarray, draws: np.ndarray | slice) -> FloatArray:
        """Return linear predictors (rows, draws), less the mean offset of the fit."""
        assert isinstance(self.family, Cox)
        return super()._eta(rows, draws) - self.family.centre

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return relative hazards with intervals.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            By row: ``linear``, the posterior mean of the linear predictor less that at the mean of the
            columns and the offset; ``mean`` and ``mean_se``, posterior mean and standard deviation of its
            exponential, the hazard relative to that there, and its ``median``; ``mean_ci_lower`` and
            ``mean_ci_upper``, the equal-tailed interval of the latter. Rows with missing inputs are NaN.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1).

        Warns
        -----
        ConvergenceWarning
            As for :meth:`~pyrjsel.selection.results.prediction.Prediction.summary_frame`.
        """
        alpha = check_real(alpha, "alpha", low=0, high=1, open_low=True, open_high=True)
        names = ["linear", "mean", "mean_se", "median", "mean_ci_lower", "mean_ci_upper"]
        out = np.full((len(self.index), len(names)), np.nan)
        endless = np.zeros(len(out), bool)
        for part, eta in self._predictors(np.flatnonzero(self.complete)):
            hazards = self._means(eta)
            out[part, 0], out[part, 3] = eta.mean(axis=1), np.median(hazards, axis=1)
            out[part[:, None], [1, 2, 4, 5]] = _summaries(hazards, alpha)
            endless[part] = self._endless(eta, out[part, 1])
        out[endless, 1:3] = np.nan
        self.tell(endless)
        return pd.DataFrame(out, index=self.index.copy(), columns=names)

    def survival(self, times: ArrayLike, alpha: float = 0.05) -> pd.DataFrame:
        """Return probabilities of survival beyond given times, with intervals.

        Parameters
        ----------
        times : array_like of float
            Times, at least 0. Those that differ from a time of the fit by rounding alone are that time.
        alpha : float, default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            By row and time: ``mean`` and ``mean_se``, posterior mean and standard deviation of the survival
            probability, and its equal-tailed interval from ``mean_ci_lower`` to ``mean_ci_upper``. NaN for
            rows with missing inputs, and for times after the last one of the fit, of which the data say
            nothing.

        Raises
        ------
        DataError
            If `times` are not numbers of at least 0.
        ParameterError
            If `alpha` is not in (0, 1).
        NotAvailableError
            If the results were loaded without training data, see :func:`pyrjsel.load`.

        Notes
        -----
        Intervals include the uncertainty of the baseline hazard. Given the coefficients, its steps at the
        times of events are drawn from their posterior under the limit of gamma process priors without
        precision, where events contribute their intensities and the partial likelihood is the marginal one
        (Sinha, Ibrahim and Chen 2003): exponential variables whose means are the steps of Breslow's estimate,
        or of Efron's with ``ties="efron"``.
        """
        alpha = check_real(alpha, "alpha", low=0, high=1, open_low=True, open_high=True)
        at = _times(times)
        seen, known = self._baseline(at)
        rows = np.flatnonzero(self.complete)
        out = np.full((len(self.index), at.size, 4), np.nan)
        for row in rows:
            hazard = self.family.mean(self._eta(np.array([row]), slice(None)))[0]
            out[row, seen] = _summaries(np.exp(-hazard * known[seen]), alpha)
        index = pd.MultiIndex.from_product([self.index, at], names=[self.index.name, "time"])
        names = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"]
        return pd.DataFrame(out.reshape(-1, 4), index=index, columns=names)

    def _baseline(self, at: FloatArray) -> tuple[np.ndarray, FloatArray]:
        """Return the places of times until the last of the fit, and draws (times, m) of cumulative hazards.

        They are those of the baseline.
        """
        assert self.fit is not None
        assert self.rng is not None
        assert isinstance(self.family, Cox)
        y, x, offset = self.fit()
        at = nearest_times(at, np.abs(y))
        sets = RiskSets.of(y, self.family.ties == "efron")
        place = np.searchsorted(-np.abs(y[sets.order][sets.last]), -at)  # the first event until each time
        rows = replace(self, x=x[sets.order], offset=offset[sets.order])
        rng = np.random.Generator(type(self.rng.bit_generator)())
        rng.bit_generator.state = self.rng.bit_generator.state  # the same at each call
        out = np.zeros((at.size, len(self.coefficients)))
        step = max(1, BLOCK // y.size)
        for begin in range(0, out.shape[1], step):
            part = np.arange(begin, min(begin + step, out.shape[1]))
            logs = sets.log_sums(rows._eta(np.arange(y.size), part))
            # mathematics: selection-hazard
            steps = rng.standard_exponential(logs.shape) * np.exp(-logs)
            # Sums of later events, which come first.
            total = np.cumsum(steps[::-1], axis=0)[::-1]
            total = np.concatenate([total, np.zeros((1, part.size))])
            out[:, part] = total[place]
        return np.flatnonzero(at <= np.max(np.abs(y))), out


def _summaries(values: FloatArray, alpha: float) -> FloatArray:
    """Return mean, standard deviation and interval of values (rows, m), shape (rows, 4)."""
    with np.errstate(over="ignore", invalid="ignore"):  # hazards far outside the data may be infinite
        spread = values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.full(len(values), np.nan)
        ends = np.quantile(values, [alpha / 2, 1 - alpha / 2], axis=1)
        return np.column_stack([values.mean(axis=1), spread, *ends])


def _times(times: ArrayLike) -> FloatArray:
    """Return times as an array (k,).

    Raises
    ------
    DataError
        If they are not numbers of at least 0.
    """
    try:
        column = read_array(np.atleast_1d(as_array(times)).ravel(), "times")
    except ValueError as error:
        raise DataError(f"The 'times' of {called()} must be numbers of at least 0: {error}.") from error
    if not column.numeric:
        raise DataError(f"The 'times' of {called()} must be numbers of at least 0. Got {column.kind} values.")
    at = np.where(column.missing, np.nan, column.values)
    if np.ndim(times) > 1 or not at.size or not np.all(at >= 0) or not np.all(np.isfinite(at)):
        raise DataError(f"The 'times' of {called()} must be numbers of at least 0. Got {times!r}.")
    return at
