"""Results of a selection: tables and single models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pyrjsel._errors import NotAvailableError, PyrjselWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import bad_value, check_choice, check_int, check_real
from pyrjsel.report import Report, coefficient_table, kept_table, model_table, own_copy, results_html
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.checks import INTERCEPT
from pyrjsel.selection.describe import describe, sigma_table, tables
from pyrjsel.selection.dispersion import Dispersion, look_for_dispersion
from pyrjsel.selection.draws import Draws
from pyrjsel.selection.exports import Exports
from pyrjsel.selection.extending import Extending
from pyrjsel.selection.frontier import Frontier
from pyrjsel.selection.included import Included
from pyrjsel.selection.looks import Looks
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.predict import PREDICTION_DRAWS, WHICH, SingleModel, averaged_draws
from pyrjsel.selection.predictive import Predictive
from pyrjsel.selection.saving import Saving
from pyrjsel.selection.screen import screened
from pyrjsel.selection.separation import Separated, look_for_separation

if TYPE_CHECKING:
    from pyrjsel.selection.model import Selection

# Rows of the table of models.
TABLE_ROWS = 10_000


class SelectionResults(Included, Looks, Frontier, Predictive, Extending, Exports, Saving):
    """The posterior over models and coefficients; made by ``fit``.

    Parameters
    ----------
    model : Selection
        What was fitted.
    posterior : Posterior
        Full-precision arrays behind the tables.
    settings : FitSettings
        The parameters of ``fit``.
    separated : dict, optional
        As the attribute; None looks for it.
    options : object, optional
        Those of the sampler, where they are known.
    dispersion : Dispersion, optional
        As the attribute; looked for where `separated` is None.

    Attributes
    ----------
    sampler : str
        The sampler that was used.
    separated : dict of tuple of str to tuple of str
        The best models whose likelihood has no maximum, because they separate the classes (or, for
        counts, set rows without events apart), and the terms through which they do.
    dispersion : Dispersion or None
        Pearson's chi-square of the best model for counts, and for proportions of several trials: ``ratio``
        (to its degrees of freedom ``df``), ``statistic`` and ``p_value``.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> results = rj.logit("low ~ lwt + smoke + ht", births).fit(rng=1)
    >>> results.inclusion["posterior"].round(1).to_dict()
    {'lwt': 0.8, 'smoke': 0.5, 'ht': 0.7}
    """

    def __init__(
        self,
        model: Selection,
        posterior: Posterior,
        settings: FitSettings,
        separated: Separated | None = None,
        options: Any = None,
        dispersion: Dispersion | None = None,
    ) -> None:
        self.model = model
        self.posterior = posterior
        self.settings = settings
        self.options = options
        self.sampler = posterior.sampler
        if separated is None:
            separated = look_for_separation(model, posterior, self._marginal, 3)
            dispersion = look_for_dispersion(model, posterior, self._marginal, 3)
        self.separated = separated
        self.dispersion = dispersion

    # ------------------------------------------------------------------ pieces

    @kept_property
    def _marginal(self) -> SingleModel:
        return self.model._make_marginal(self.posterior)

    def _stream(self, label: bytes) -> np.random.Generator:
        """Return the random stream for one kind of draws after the fit; the same on every call."""
        key = int.from_bytes(self.posterior.entropy, "little") ^ int.from_bytes(label, "little")
        return np.random.Generator(np.random.Philox(key=key % 2**128))

    def _terms(self, gamma: ByteArray) -> tuple[str, ...]:
        return self.model.space.terms_of(gamma)

    # ------------------------------------------------------------------ tables

    @property
    @kept_table
    def models(self) -> pd.DataFrame:
        """The best models by rank, at most 10,000 (1,000 after sampling).

        Columns ``terms``, ``size``, ``cost``, ``posterior``, ``mcse``, ``odds`` (of the best model
        against this), ``odds_mcse``, ``log_marginal`` (log p(y | model) by importance sampling, with binomial
        coefficients and factorials of counts, and a density of one for a flat intercept) and ``deviance`` (at
        the maximum of the likelihood, from the saturated model, as in statsmodels). For gaussian models
        `log_marginal` is exact, log p(y | model)
        with densities of one for the intercept and log sigma^2, and `deviance` is -2 times the
        log-likelihood (``-2 * llf`` of statsmodels' OLS; of data in chunks, with fewer digits where columns
        are nearly dependent or fit the response to 1e-8 of its variance). ``integration`` says where
        `log_marginal` comes from: "exact", "importance", or "laplace", as that of models which hold less than
        1e-6 of the posterior together does after enumeration; these have no MCSE. `posterior` is the
        frequency of visits after sampling, and never renormalised over the rows of the table.
        """
        return self._model_rows(min(TABLE_ROWS, self.posterior.odds.size))

    @property
    def nobs(self) -> int:
        """Number of rows used."""
        return self.model.nobs

    def _model_rows(self, rows: int) -> pd.DataFrame:
        posterior, space = self.posterior, self.model.space
        gamma = posterior.packed[:rows]
        found = model_table(
            [self._terms(row) for row in gamma],
            gamma.sum(axis=1, dtype=np.int64),
            np.asarray(space.cost(gamma)) if self.model._priced else np.full(len(gamma), np.nan),
            posterior.probability[:rows],
            posterior.mcse[:rows],
            posterior.odds[:rows],
            posterior.odds_mcse[:rows],
            self._log_marginals(rows) + self.model.regression.log_constant,
            np.array([self._marginal.deviance(row) for row in gamma]),
        )
        found["integration"] = self._integration(rows)
        return found

    def _integration(self, rows: int) -> np.ndarray:
        """Return where the marginal likelihoods of the best models come from."""
        if self.model.regression.family.name == "gaussian":
            return np.full(rows, "exact", dtype=object)
        laplace = np.isnan(self.posterior.mcse[:rows]) & (self.posterior.draws is None)
        laplace |= getattr(self.options, "integration", None) == "laplace"
        return np.where(laplace, "laplace", "importance").astype(object)

    def _log_marginals(self, rows: int) -> FloatArray:
        """Return the log marginal likelihoods of the best models, without the constants of the family."""
        known = self.posterior.log_marginal
        return (
            known[:rows] if known is not None else self._marginal.log_marginals(self.posterior.packed[:rows])
        )

    @property
    def covered(self) -> float:
        """Posterior mass that the rows of `models` hold."""
        rows = min(TABLE_ROWS, self.posterior.odds.size)
        return float(min(self.posterior.probability[:rows].sum(), 1.0))

    @property
    @kept_table
    def coefficients(self) -> pd.DataFrame:
        """Model-averaged coefficients by column of the design, on the scale of the linear predictor.

        Columns ``mean``, ``sd``, ``ci_lower``, ``ci_upper`` (equal-tailed 95 % interval, with the mass
        at zero of the models that leave the column out), ``prob_positive``, ``mean_included``,
        ``sd_included``. The interval is that of :meth:`conf_int`, of draws after enumeration too; the other
        columns are sums over models, or over all iterations of a sampler.
        """
        moments = self.posterior.moments
        interval = self.conf_int()
        return coefficient_table(
            list(self._column_names),
            moments.mean,
            moments.sd,
            interval[0].to_numpy(),
            interval[1].to_numpy(),
            moments.prob_positive,
            moments.mean_included,
            moments.sd_included,
        )

    @property
    def _column_names(self) -> pd.Index:
        return pd.Index([INTERCEPT, *self.model.design.column_names], name="column", dtype=object)

    @property
    def params(self) -> pd.Series:
        """Model-averaged posterior means, by column of the design."""
        return pd.Series(self.posterior.moments.mean.copy(), index=self._column_names, name="mean")

    @property
    def bse(self) -> pd.Series:
        """Model-averaged posterior standard deviations, by column of the design."""
        return pd.Series(self.posterior.moments.sd.copy(), index=self._column_names, name="sd")

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return equal-tailed posterior intervals of the model-averaged coefficients.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            Columns 0 and 1, lower and upper ends, as in statsmodels.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1).

        Notes
        -----
        Ends are quantiles of draws: after enumeration of 4,000 independent ones, after sampling of fewer than
        8,000 of those kept. The end of a 95 % interval from 4,000 has a Monte Carlo standard error of 0.04
        standard deviations under a normal posterior, and of up to 0.2 where tails are long or the end lies
        between the mass at zero and the coefficient.
        """
        alpha = check_real(alpha, "alpha", "conf_int", low=0, high=1, open_low=True, open_high=True)
        ends = np.quantile(self._averaged[0], [alpha / 2, 1 - alpha / 2], axis=0)
        return pd.DataFrame(ends.T, index=self._column_names)

    @property
    @kept_table
    def sigma(self) -> pd.DataFrame:
        """Posterior of the error standard deviation and variance of a linear model, averaged over models.

        Rows ``sigma`` and ``sigma^2``, columns ``mean``, ``sd``, ``ci_lower`` and ``ci_upper`` (equal-tailed
        95 % interval): of draws, after enumeration of 4,000 independent ones.

        Raises
        ------
        NotAvailableError
            For families without an error variance.
        """
        variance = self._averaged[1]
        if variance is None:
            raise NotAvailableError(f"A {self.model.regression.family.name} model has no error variance.")
        return sigma_table(variance)

    @property
    def diagnostics(self) -> pd.DataFrame:
        """How the sampler did, by chain and over all.

        After sampling: acceptance rates by move (NaN where a move was never proposed), ESS and R-hat of
        size, cost and log posterior, draws, seconds by the clock and CPU seconds. After enumeration: models,
        how many of them were integrated by importance sampling, and these seconds, of all workers.
        """
        return own_copy(self.posterior.diagnostics)

    @property
    def audit(self) -> pd.DataFrame:
        """What a search found that no chain has visited, by term.

        For each term that no draw holds, the best feasible model with it is searched for: from the term alone
        (with the terms that heredity makes it need), adding what raises the posterior most and is affordable;
        and from the best visited model, where terms leave that cost least until the term fits, and others
        enter. For each free term that all draws hold, the best model without it is searched for in the same
        way. The search is greedy: it can miss models, and says nothing of models whose terms were all
        visited. It takes at most about a twentieth of the work of the fit; among thousands of terms the less
        promising ones get one flip alone. Nothing in it is random.

        Columns ``visited`` (whether chains visited the model), ``question`` ("with" the term or "without"
        it), ``model`` (terms of the best model found), ``log_odds`` (its log posterior odds against the best
        visited model, NaN where no model was found) and ``found_by``: "visits" (the best visited model; its
        odds are those of the visits where marginal likelihoods are not known), "search", "flip" (only the
        best visited model with this term changed was looked at) or "nothing". Odds of "search" and "flip"
        come from marginal likelihoods; for models that are not linear, those far below the best visited model
        come from a quadratic approximation to the log-likelihood.

        Where a model was missed that matters, ``fit`` begins anew or, with a number of draws, after two new
        runs, and in ``extend``, names it in a ConvergenceWarning: its posterior is within
        exp(-7) of that of the best visited model, and its probability, with that of its neighbours, is above
        0.02 or worth more than 20 visits in this run, and not in the inclusion probabilities already.

        Raises
        ------
        NotAvailableError
            After enumeration, which visits every model; if the results come from a file without it.
        """
        if self.posterior.audit is None:
            raise NotAvailableError(
                "Enumeration visits every model: there is nothing to audit."
                if self.posterior.draws is None
                else "These results come from a file without an audit. Extend them, or fit again."
            )
        return self.posterior.audit.table(self.model.space)

    @property
    def draws(self) -> Draws:
        """The draws of all chains.

        Raises
        ------
        NotAvailableError
            After enumeration, which draws nothing.
        """
        if self.posterior.draws is None:
            raise NotAvailableError(
                "Enumeration has no draws: it integrates every model. Fit with a sampler that draws, such as "
                "'collapsed' or 'rjmcmc'."
            )
        return self.posterior.draws

    # ------------------------------------------------------------------ single models

    @kept_property
    def _median(self) -> tuple[ByteArray, str | None]:
        """Median probability model and None, or the model closest to it and why that stands in for it."""
        posterior, space = self.posterior, self.model.space
        median = ((posterior.inclusion >= 0.5) | (space.free == 0)).astype(np.uint8)
        reason = space.why_infeasible(median)
        if reason is None:
            if self._marginal.exists(median):
                return median, None
            reason = "its columns are linearly dependent."
        # Closest in the sense in which the median model is optimal: the sum of squared differences from
        # the inclusion probabilities.
        found = posterior.packed[posterior.probability > 0]
        nearest = found[int(np.argmax(found @ (2 * posterior.inclusion - 1)))]
        return nearest, (
            f"The median probability model ({', '.join(self._terms(median))}) is not allowed: {reason} "
            f"The closest model that is stands in for it: {', '.join(self._terms(nearest)) or 'no terms'}."
        )

    @property
    def _median_problem(self) -> str | None:
        """Why the median probability model cannot be used, in words, or None if it can."""
        return self._median[1]

    def _model(self, which: str, stacklevel: int) -> ByteArray:
        if which == "hpm":
            return self.posterior.packed[0]
        median, problem = self._median
        if problem is not None:
            warnings.warn(problem, PyrjselWarning, stacklevel=stacklevel)
        return median

    def best(self, which: str = "hpm") -> tuple[str, ...]:
        """Return the terms of the best model.

        Parameters
        ----------
        which : {"hpm", "mpm"}
            The model of highest posterior probability, or the median probability model: all terms with
            inclusion probability 1/2 and more.

        Returns
        -------
        tuple of str
            In the order of the model's terms.

        Raises
        ------
        ParameterError
            If `which` is something else.

        Warns
        -----
        PyrjselWarning
            If the median probability model breaks a constraint or has linearly dependent columns; the
            model that is allowed and closest to its inclusion probabilities is returned then.
        """
        check_choice(which, "which", "best", WHICH[1:])
        return self._terms(self._model(which, 3))

    def screen(self, threshold: float = 0.30, *, others: Sequence[SelectionResults] = ()) -> Selection:
        """Return the model of the terms that matter, on the same rows, ready to fit again.

        The second stage of a selection among many terms: a term is dropped if its posterior inclusion
        probability is below `threshold` in all runs. Terms in `always` stay, and so do those that
        heredity asks for beside kept terms: all their lower-order terms if it is strong; if it is weak
        and none of those it asks for is kept, the one of highest inclusion probability.

        Parameters
        ----------
        threshold : float, default 0.30
            Least posterior inclusion probability, in (0, 1).
        others : sequence of SelectionResults, default ()
            More runs with the same data and terms; one that reaches the threshold keeps a term.

        Returns
        -------
        Selection
            Of the same class, with the rows of this fit, those left out included (missing values are
            not looked at again), the columns that the kept terms have there, weights, offset, priors and
            constraints. Probabilities and costs of single terms go with them; ``CostAdjusted`` keeps its
            baseline, so that its prior log odds stay what they were. A prior on the size of a model counts
            the kept terms. New rows need the variables of kept terms only.

        Raises
        ------
        ParameterError
            If `threshold` is not in (0, 1), no term reaches it, `others` are not results of the same
            data and terms, or an `expected_size` is too large for the terms that are kept.

        Warns
        -----
        RankWarning
            If columns of kept terms are linearly dependent.
        """
        if not isinstance(others, Sequence) or not all(isinstance(run, SelectionResults) for run in others):
            raise bad_value("others", "screen", "a sequence of SelectionResults", others)
        return screened((self, *others), threshold)

    @kept_property
    def _averaged(self) -> tuple[FloatArray, FloatArray | None]:
        return averaged_draws(self.posterior, self._marginal, PREDICTION_DRAWS, self._stream(b"averaged"))

    # ------------------------------------------------------------------ what people look at

    def summary(self, top: int = 10) -> Report:
        """Return the summary: what was fitted, how, inclusion, best models, warnings that matter.

        Parameters
        ----------
        top : int, default 10
            Models to list.

        Returns
        -------
        statsmodels Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.

        Raises
        ------
        ParameterError
            If `top` is not an int of at least 1.
        """
        top = check_int(top, "top", "summary", low=1)
        possible = np.flatnonzero(self.posterior.probability).size  # of posterior 0 none is shown
        rows = self._model_rows(min(top, possible, self.posterior.odds.size))
        if rows["integration"].nunique() < 2:
            rows = rows.drop(columns="integration")
        info, notes = describe(self)
        return Report(self.model.title, info, tables(self, rows), notes)

    _repr_html_ = results_html

    def __repr__(self) -> str:
        return (
            f"<SelectionResults of {self.sampler}: best model {' + '.join(self.best()) or '(no terms)'}, "
            f"posterior {self.posterior.probability[0]:.3f}>"
        )
