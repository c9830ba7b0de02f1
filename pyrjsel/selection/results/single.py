"""One model of a selection: coefficients, fitted values and residuals as from a fit of that model alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel import report
from pyrjsel._errors import NotAvailableError
from pyrjsel._once import kept_property
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import pack
from pyrjsel.report import repr_short
from pyrjsel.results import row_facts
from pyrjsel.selection.regression.summed_rows import SufficientStatistics, SummedRows
from pyrjsel.selection.regression.wide import check_unchanged
from pyrjsel.selection.results.intervals import interval_table
from pyrjsel.selection.results.posterior_predictive import Predictive
from pyrjsel.selection.results.prediction import (
    PREDICTION_DRAWS,
    Prediction,
    mean_of,
    moments_of,
    rows_of_fit,
)

if TYPE_CHECKING:
    from pyrjsel.report import Report


class SingleModelResults:
    """One model of a selection, returned by :meth:`SelectionResults.single_model`.

    Parameters
    ----------
    results : SelectionResults
        The results of the selection.
    gamma : ndarray (J,)
        The model.

    Attributes
    ----------
    terms : tuple of str
        Terms of the model.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> one = rj.logit("low ~ lwt + smoke + ht", births).fit(rng=1).single_model(["lwt", "ht"])
    >>> one.params[1:].round(2).to_dict()
    {'lwt': -0.02, 'ht': 1.92}
    """

    def __init__(self, results: Predictive, gamma: ByteArray) -> None:
        check_unchanged(results.model.data)
        self._results, self._gamma = results, gamma
        self.terms: tuple[str, ...] = results.model.space.terms_of(gamma)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' + '.join(self.terms) or 'no terms'}>"

    # ------------------------------------------------------------------ coefficients

    @kept_property
    def _columns(self) -> np.ndarray:
        """Columns of the model among those of the regression, intercepts first."""
        return np.asarray(self._results.model.regression.model_columns(self._gamma))

    @kept_property
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        mean, sd, positive = moments_of(self._results._marginal, self._gamma)
        return mean[self._columns], sd[self._columns], positive[self._columns]

    @kept_property
    def _draws(self) -> FloatArray:
        found = self._results._coefficient_draws(self._gamma, PREDICTION_DRAWS)[0]
        return found if self._results.model.design.wide else found[:, self._columns]

    @property
    def _names(self) -> pd.Index:
        return self._results._column_names[self._columns]

    @property
    def params(self) -> pd.Series:
        """Posterior means, by column of the design."""
        return self._results._presented(pd.Series(self._moments[0].copy(), index=self._names, name="mean"))

    @property
    def bse(self) -> pd.Series:
        """Posterior standard deviations, by column of the design."""
        return self._results._presented(pd.Series(self._moments[1].copy(), index=self._names, name="sd"))

    def conf_int(self, alpha: float = 0.05, *, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return posterior intervals of the coefficients, from 4,000 independent draws.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.
        kind : {"equal-tailed", "highest-density"}
            Quantiles, or the shortest interval.

        Returns
        -------
        DataFrame
            Columns 0 and 1, lower and upper ends, as in statsmodels.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1), or `kind` is not one of the two.
        """
        return self._results._presented(interval_table(self._draws, alpha, kind, self._names))

    @property
    def coefficients(self) -> pd.DataFrame:
        """Columns ``mean``, ``sd``, ``ci_lower``, ``ci_upper`` (equal-tailed 95 %) and ``prob_positive``."""
        interval = interval_table(self._draws, 0.05, "equal-tailed", self._names)
        mean, sd, positive = self._moments
        table = pd.DataFrame(
            {
                "mean": mean,
                "sd": sd,
                "ci_lower": interval[0],
                "ci_upper": interval[1],
                "prob_positive": positive,
            },
            index=self._names,
        )
        return self._results._presented(table)

    @property
    def _shown(self) -> pd.DataFrame:
        """The same as in the summary."""
        return self.coefficients

    # ------------------------------------------------------------------ the model among all

    @property
    def posterior(self) -> float:
        """Posterior probability of the model among all; 0 if no draw was there."""
        posterior = self._results.posterior
        same = np.all(posterior.packed.words == pack(self._gamma[None]), axis=1)
        return float(posterior.probability[same].sum())

    @property
    def log_marginal(self) -> float:
        """Log marginal likelihood, with the constants of the family."""
        single, regression = self._results._marginal, self._results.model.regression
        return float(single.log_marginals(self._gamma[None])[0]) + regression.log_constant

    @property
    def deviance(self) -> float:
        """Deviance at the maximum of the likelihood, as in the table `models`."""
        return float(self._results._marginal.deviance(self._gamma))

    # ------------------------------------------------------------------ rows

    @property
    def nobs(self) -> int:
        """Number of observations."""
        return self._results.model.nobs

    @kept_property
    def fittedvalues(self) -> pd.Series:
        """Expected responses of the rows of the fit, averaged over the posterior of the coefficients."""
        return self.predict()

    @property
    def resid(self) -> pd.Series:
        """Responses minus :attr:`fittedvalues`.

        Raises
        ------
        NotAvailableError
            For Cox models, whose fitted values are relative hazards.
        """
        data, name = rows_of_fit(self._results.model), self._results.model.design.response
        if not self._results.model._family.independent:
            raise NotAvailableError(
                f"A {self._results.model._family.name} model has no expected responses, and no residuals."
            )
        return (pd.Series(data.y, index=data.index) - self.fittedvalues).rename(name)

    @property
    def rsquared(self) -> float:
        """Proportion of the weighted sum of squares of the response that fitted values explain.

        Raises
        ------
        NotAvailableError
            For other than linear models, which have :attr:`prsquared`.
        """
        model = self._results.model
        if model.regression.family.link != "identity":
            raise NotAvailableError("The R-squared of other than linear models is prsquared, of deviances.")
        if isinstance(model.data, SummedRows):
            return self._rsquared_of_sums(model.data.sums.statistics)
        data = rows_of_fit(model)
        weights = data.extras.get("weights", np.ones(data.y.size))
        y = data.y - data.extras.get("offset", np.zeros(data.y.size))
        away = y - np.average(y, weights=weights)
        return float(1.0 - weights @ self.resid.to_numpy() ** 2 / (weights @ away**2))

    def _rsquared_of_sums(self, sums: SufficientStatistics) -> float:
        """Return the R-squared at posterior means, for rows of which sums were kept."""
        mean, weights = self._moments[0], np.zeros(sums.mean.size)
        weights[-1], weights[self._columns[1:] - 1] = 1.0, -mean[1:]
        away = float(weights @ sums.mean) - mean[0]
        left = float(weights @ sums.products @ weights) + sums.weight * away**2
        return float(1.0 - left / sums.products[-1, -1])

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R-squared, one minus the ratio of log-likelihoods to that of the null model.

        The saturated model has a log-likelihood of 0 here: for 0/1 responses it is that of statsmodels.
        NaN for gamma models with an unknown shape, whose saturated model has no largest likelihood.

        Raises
        ------
        NotAvailableError
            For linear models, which have :attr:`rsquared`.
        """
        model = self._results.model
        if model.regression.family.link == "identity":
            raise NotAvailableError("Linear models have rsquared.")
        if model.regression.family.expanded and model.regression.saturated == 0.0:
            return float("nan")
        null = self._results._marginal.deviance(np.zeros_like(self._gamma))
        return 1.0 - self.deviance / float(null)

    def predict(
        self,
        new: Any = None,
        *,
        draws: int = PREDICTION_DRAWS,
        offset: ArrayLike | None = None,
        to: str | os.PathLike[str] | None = None,
        invalid: str = "raise",
    ) -> pd.Series | Any:
        """Predict expected responses, as :meth:`SelectionResults.predict` does.

        Parameters
        ----------
        new : DataFrame, or data in chunks, optional
            Data with the columns that the model uses; None means the training data.
        draws : int, default 4000
            Number of posterior draws, which other than linear models need.
        offset : array_like, optional
            Offset of the new rows, if that of the fit was an array; for chunks the name of a column.
        to : path, optional
            A Parquet file for the predictions of data in chunks.
        invalid : {"raise", "nan"}
            Treatment of rows that cannot be used, as for :meth:`SelectionResults.get_prediction`.

        Returns
        -------
        Series, iterator of Series, Dask series or None
            Expected responses, in the order and with the index of `new`.
        """
        found = self._results._predict_new(
            new, self._gamma, offset, draws, spread=False, invalid=invalid, alone=True
        )
        return mean_of(found, to)

    def get_prediction(
        self,
        new: Any = None,
        *,
        draws: int = PREDICTION_DRAWS,
        offset: ArrayLike | None = None,
        invalid: str = "raise",
    ) -> Prediction | Any:
        """Predict rows, with intervals, as :meth:`SelectionResults.get_prediction` does.

        Parameters
        ----------
        new : DataFrame, or data in chunks, optional
            Data with the columns that the model uses; None means the training data.
        draws : int, default 4000
            Number of posterior draws of the coefficients.
        offset : array_like, optional
            Offset of the new rows, if that of the fit was an array; for chunks the name of a column.
        invalid : {"raise", "nan"}
            Treatment of rows that cannot be used, as for :meth:`SelectionResults.get_prediction`.

        Returns
        -------
        Prediction or ChunkedPrediction
            Predictions, with a method ``summary_frame(alpha)``.
        """
        return self._results._predict_new(new, self._gamma, offset, draws, invalid=invalid, alone=True)

    def summary(self) -> Report:
        """Return the summary: the model among all, its fit and its coefficients.

        Returns
        -------
        statsmodels Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.
        """
        model = self._results.model
        linear = model.regression.family.link == "identity"
        share = ("R-squared", self.rsquared) if linear else ("Pseudo R-squared", self.prsquared)
        facts = [
            *row_facts(model.design.response, model.nobs, 0),
            ("Terms", ", ".join(self.terms) or "none"),
            ("Coefficient prior", repr_short(model.coef_prior)),
            ("Posterior probability", f"{self.posterior:.4f}"),
            ("Log marg. likelihood", f"{self.log_marginal:,.2f}"),
            ("Deviance", f"{self.deviance:,.2f}"),
            (share[0], f"{share[1]:.3f}"),
        ]
        notes = ["Posterior of the coefficients given this model; intervals are equal-tailed, of 95 %."]
        return report.Report(f"{model.title}: one model", facts, [("Coefficients", self._shown)], notes)
