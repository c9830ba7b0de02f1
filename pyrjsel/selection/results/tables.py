"""Tables of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._called import warn
from pyrjsel._errors import NotAvailableError, PyrjselWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel._validate import check_choice
from pyrjsel.design import WideRows
from pyrjsel.families import Values
from pyrjsel.model_space import PriorInclusion, PriorSizes, prior_inclusion_of, sizes_of
from pyrjsel.report import (
    IndicatorStats,
    coefficient_table,
    kept_table,
    model_stats,
    own_copy,
)
from pyrjsel.results import ModelSpaceResults
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.posterior import Draws, Posterior
from pyrjsel.selection.protocols import SelectionModel, SingleModel
from pyrjsel.selection.regression.checks import INTERCEPT
from pyrjsel.selection.regression.wide import rest
from pyrjsel.selection.results.checks.dispersion import Dispersion, look_for_dispersion
from pyrjsel.selection.results.checks.separation import Separated, look_for_separation
from pyrjsel.selection.results.intervals import interval_table
from pyrjsel.selection.results.prediction import (
    PREDICTION_DRAWS,
    WHICH,
    averaged_draws,
    moments_of,
    rows_of_fit,
)

Presented = TypeVar("Presented", pd.Series, pd.DataFrame)


@dataclass(frozen=True, eq=False)
class Known:
    """Values read from a file that would otherwise be computed from the data; None if computed on request.

    Attributes
    ----------
    separated, dispersion
        As for :class:`SelectionResults`; a dispersion of None is known if `separated` is.
    median : tuple of (ndarray (J,), str or None)
        The median probability model, or its replacement and the reason.
    averaged : tuple of (ndarray, mapping of str to ndarray)
        Draws of coefficients and of the error variance.
    prior_inclusion : PriorInclusion
    prior_sizes : PriorSizes
    single : KnownModels
        Saved values of single models.
    """

    separated: Separated | None = None
    dispersion: Dispersion | None = None
    median: tuple[ByteArray, str | None] | None = None
    averaged: tuple[FloatArray, Values] | None = None
    prior_inclusion: PriorInclusion | None = None
    prior_sizes: PriorSizes | None = None
    single: Any = None


class PosteriorTables(ModelSpaceResults[SelectionModel]):
    """Tables of a posterior over models: models, coefficients, diagnostics, single models."""

    posterior: Posterior

    def __init__(
        self,
        model: SelectionModel,
        posterior: Posterior,
        settings: FitSettings,
        options: Any = None,
        known: Known | None = None,
    ) -> None:
        super().__init__(model, posterior.entropy)
        self.posterior = posterior
        self.settings = settings
        self.options = options
        self.sampler = posterior.sampler
        self._known = known = Known() if known is None else known
        if known.separated is None:
            self.separated = look_for_separation(model, posterior, self._marginal)
            self.dispersion = look_for_dispersion(model, posterior, self._marginal)
        else:
            self.separated, self.dispersion = known.separated, known.dispersion

    # ------------------------------------------------------------------ parts

    @kept_property
    def _marginal(self) -> SingleModel:
        known = self._known.single
        return self.model._make_marginal(self.posterior) if known is None else known

    def _terms(self, gamma: ByteArray) -> tuple[str, ...]:
        return self.model.space.terms_of(gamma)

    # ------------------------------------------------------------------ tables

    @kept_property
    def prior_inclusion(self) -> PriorInclusion:
        """Prior inclusion probabilities under the constraints, over the models that have a coefficient prior.

        Models with linearly dependent columns have none under a g-prior. After enumeration these are known
        exactly.
        """
        model, posterior = self.model, self.posterior
        if self._known.prior_inclusion is not None:
            return self._known.prior_inclusion
        if not model._lacks_models or posterior.draws is not None or posterior.log_marginal is None:
            found = model.prior_inclusion
            rest(model.regression)  # used for checks of existence
            return found
        exist = np.isfinite(posterior.log_marginal)
        return prior_inclusion_of(model.space, posterior.packed.words[exist])

    @kept_property
    def _prior_sizes(self) -> PriorSizes:
        """The prior over the number of terms, over the same models."""
        model, posterior = self.model, self.posterior
        if self._known.prior_sizes is not None:
            return self._known.prior_sizes
        if not model._lacks_models or posterior.draws is not None or posterior.log_marginal is None:
            return model._prior_sizes
        exist = np.isfinite(posterior.log_marginal)
        log_prior = np.concatenate([model.space.log_prior(block) for block in posterior.packed.blocks()])
        return sizes_of(model.space, posterior.packed.sizes()[exist], log_prior[exist])

    @property
    @kept_table
    def sizes(self) -> pd.DataFrame:
        """Number of terms of the model, including terms that are always in.

        Columns ``prior`` (under the constraints; see ``model.prior_sizes()`` for its error), ``posterior``
        and ``mcse``, its Monte Carlo standard error, NaN for a size that all draws have or none.
        """
        return sizes_table(self._prior_sizes, self.posterior, self.model.space.n_terms)

    def _inclusion_parts(self) -> tuple[PriorInclusion, IndicatorStats, FloatArray]:
        posterior = self.posterior
        stats = IndicatorStats(
            posterior.inclusion,
            posterior.inclusion_mcse,
            posterior.ess,
            posterior.r_hat,
            posterior.stuck,
            posterior.disagree,
        )
        excluded = posterior.excluded
        if excluded is None:
            excluded = np.array([posterior.probability[column == 0].sum() for column in posterior.gamma.T])
        return self.prior_inclusion, stats, excluded

    @property
    def _visits(self) -> IntArray | None:
        return None if self.posterior.draws is None else self.posterior.draws.model

    @property
    def _found(self) -> str:
        return "enumerated" if self.posterior.draws is None else "visited"

    @property
    def _n_found(self) -> int:
        if self.posterior.draws is not None:
            return super()._n_found
        enumerated = self.posterior.diagnostics.get("models")
        return super()._n_found if enumerated is None else int(enumerated.iloc[0])

    def _model_rows(self, rows: int) -> pd.DataFrame:
        found = super()._model_rows(rows)
        found["integration"] = self._integration(rows)
        return found

    def _evidence(self, rows: int) -> tuple[FloatArray, ...]:
        deviances = [self._marginal.deviance(row) for row in self.posterior.packed[:rows]]
        return self._log_marginals(rows) + self.model.regression.log_constant, np.array(deviances)

    def _integration(self, rows: int) -> np.ndarray:
        """Return the source of the marginal likelihoods of the best models."""
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
    @kept_table
    def coefficients(self) -> pd.DataFrame:
        """Model-averaged coefficients by column of the design, on the scale of the linear predictor.

        Columns ``mean``, ``sd``, ``ci_lower``, ``ci_upper`` (equal-tailed 95 % interval, with the mass at
        zero of the models that leave the column out), ``prob_positive``, ``mean_included``, ``sd_included``.
        The interval is that of :meth:`conf_int`, from draws also after enumeration; the other columns are
        sums over models, or over all iterations of a sampler.
        """
        return self._presented(self._coefficient_table())

    def _coefficient_table(self) -> pd.DataFrame:
        """Return the same in the order of the columns of the regression."""
        moments = self.posterior.moments
        interval = self._intervals(0.05, "equal-tailed")
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

    def _presented(self, table: Presented) -> Presented:
        """Return a table by column of the regression as users see it."""
        # An intercept that the likelihood lacks is not there.
        return table.iloc[int(not self.model._family.has_intercept) :]

    @property
    def _column_names(self) -> pd.Index:
        """Names of the columns of the regression, intercepts first."""
        return pd.Index([INTERCEPT, *self.model.design.column_names], name="column", dtype=object)

    @property
    def params(self) -> pd.Series:
        """Model-averaged posterior means, by column of the design."""
        return self._presented(
            pd.Series(self.posterior.moments.mean.copy(), index=self._column_names, name="mean")
        )

    @property
    def bse(self) -> pd.Series:
        """Model-averaged posterior standard deviations, by column of the design."""
        return self._presented(
            pd.Series(self.posterior.moments.sd.copy(), index=self._column_names, name="sd")
        )

    def conf_int(self, alpha: float = 0.05, *, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return posterior intervals of the model-averaged coefficients.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.
        kind : {"equal-tailed", "highest-density"}
            Quantiles, or the shortest interval; that is the point 0 alone for a column that is left out with
            at least the probability of the interval.

        Returns
        -------
        DataFrame
            Columns 0 and 1, lower and upper ends, as in statsmodels.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1), or `kind` is not one of the two.

        Notes
        -----
        Ends are those of draws: of 4,000 independent draws after enumeration, and of fewer than 8,000
        kept draws after sampling. With 4,000 draws, the end of a 95 % interval has a Monte Carlo standard
        error of 0.04 standard deviations for a normal posterior, and of up to 0.2 if tails are heavy or the
        end lies between the point mass at zero and the other values.
        """
        return self._presented(self._intervals(alpha, kind))

    @property
    @kept_table
    def sigma(self) -> pd.DataFrame:
        """Posterior of the error standard deviation and variance of a linear model, averaged over models.

        Rows ``sigma`` and ``sigma^2``, columns ``mean``, ``sd``, ``ci_lower`` and ``ci_upper`` (equal-tailed
        95 % interval), from draws; after enumeration from 4,000 independent ones.

        Raises
        ------
        NotAvailableError
            For families without an error variance.
        """
        variance = self._averaged[1].get("variance")
        if variance is None:
            raise NotAvailableError(f"A {self.model.regression.family.name} model has no error variance.")
        return _quantities({"sigma": np.sqrt(variance), "sigma^2": variance})

    @property
    @kept_table
    def nuisance(self) -> pd.DataFrame:
        """Posterior of the parameters of the likelihood besides coefficients, averaged over models.

        Rows by name, such as ``theta`` of a negative binomial model or the error ``variance`` of a linear
        one; columns as of :attr:`sigma`.

        Raises
        ------
        NotAvailableError
            For families without such a parameter, and if it is known.
        """
        draws = self._averaged[1]
        if not draws:
            name = self.model.regression.family.name
            raise NotAvailableError(f"This {name} model has no unknown parameters besides coefficients.")
        return _quantities(draws)

    @property
    def diagnostics(self) -> pd.DataFrame:
        """Performance of the sampler, by chain and overall.

        After sampling: acceptance rates by move (NaN for moves that were never proposed), ESS and R-hat of
        size, cost and log posterior, draws, elapsed seconds and CPU seconds. After enumeration: models,
        number of models integrated by importance sampling, and seconds of all workers.
        """
        return own_copy(self.posterior.diagnostics)

    @property
    def audit(self) -> pd.DataFrame:
        """For each term, the best model with it (or without it) found by a search.

        For each term that is in no draw, the best feasible model with it is searched for in two ways: from
        the term alone (with the terms that heredity requires), by adding the terms within the budget that
        increase the posterior most; and from the best visited model, by removing the terms whose loss is
        smallest until the term can be added, and adding others. For each free term that is in all draws, the
        best model without it is searched for in the same way. The search is greedy: it can miss models, and
        does not cover models whose terms were all visited. It takes at most about a twentieth of the work of
        the fit; among hundreds of terms and more, the less promising ones get a single flip. Terms that do
        much together with one other, even if nothing alone, are among the first that are searched, if there
        are at most 2,048. It is deterministic.

        Columns ``visited`` (whether chains visited the model), ``question`` ("with" the term or "without"
        it), ``model`` (terms of the best model found), ``log_odds`` (its log posterior odds against the best
        visited model, NaN where no model was found) and ``found_by``: "visits" (the best visited model; its
        odds are relative frequencies if marginal likelihoods are unknown), "search", "flip" (only the best
        visited model with this term flipped was evaluated) or "nothing". Odds of "search" and "flip" come
        from marginal likelihoods; for models that are not linear, those far below the best visited model come
        from a quadratic approximation to the log-likelihood.

        A missed model is relevant if its posterior is within a factor exp(-7) of that of the best visited
        model, and its probability, with that of its neighbours, is above 0.02 or worth more than 20 visits in
        this run, and not already part of the inclusion probabilities. If there is one, ``fit`` restarts; with
        a fixed number of draws, after two restarts, and in ``extend``, there is a ConvergenceWarning instead.

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
            After enumeration, which has no draws.
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
        """Median probability model and None, or the closest feasible model and the reason."""
        if self._known.median is not None:
            return self._known.median
        posterior, space = self.posterior, self.model.space
        median = ((posterior.inclusion >= 0.5) | (space.free == 0)).astype(np.uint8)
        reason = space.why_infeasible(median)
        if reason is None:
            if self._marginal.exists(median):
                return median, None
            reason = "its columns are linearly dependent."
        # Closest by the criterion that the median model minimises: the sum of squared differences from the
        # inclusion probabilities.
        found = posterior.packed[posterior.probability > 0]
        nearest = found[int(np.argmax(found @ (2 * posterior.inclusion - 1)))]
        return nearest, (
            f"The median probability model ({', '.join(self._terms(median))}) is not allowed: {reason} "
            f"The closest allowed model is used instead: {', '.join(self._terms(nearest)) or 'no terms'}."
        )

    @property
    def _median_problem(self) -> str | None:
        """Reason why the median probability model cannot be used, or None."""
        return self._median[1]

    @kept_property
    def _best_predictive(self) -> ByteArray:
        """The model of the table whose linear predictors are nearest to their averages over all models."""
        posterior, data = self.posterior, rows_of_fit(self.model)
        weights = data.extras.get("weights", np.ones(data.y.size))
        used = self._visited_columns if self.model.design.wide else slice(None)
        x = data.X.dense(used[1:] - 1) if isinstance(data, WideRows) else data.X
        centre = np.average(x, axis=0, weights=weights)
        # The form of sum w (x'b - x'b_bma)^2, with the intercept at the mean of the columns.
        away = x - centre
        gram = (away * weights[:, None]).T @ away
        known = posterior.packed[: len(self.models)]
        known = known[posterior.probability[: len(known)] > 0]
        distance = np.empty(len(known))
        # That of several linear predictors is the same for every base class.
        across = self.model._family.across(data.y, weights, False)
        for k, gamma in enumerate(known):
            gap = (moments_of(self._marginal, gamma, quick=True)[0] - posterior.moments.mean)[used]
            gap = gap.reshape(-1, len(across))
            middle = gap[0] + centre @ gap[1:]
            form = gap[1:].T @ gram @ gap[1:] + weights.sum() * np.outer(middle, middle)
            distance[k] = np.sum(across * form)
        return known[int(np.argmin(distance))]

    def _model(self, which: str) -> ByteArray:
        if which == "hpm":
            return self.posterior.packed[0]
        if which == "bpm":
            return self._best_predictive
        median, problem = self._median
        if problem is not None:
            warn(problem, PyrjselWarning)
        return median

    def best(self, which: str = "hpm") -> tuple[str, ...]:
        """Return the terms of the best model.

        Parameters
        ----------
        which : {"hpm", "mpm", "bpm"}
            The model of highest posterior probability; the median probability model: all terms with an
            inclusion probability of at least 1/2; or the best predictive model: that of the table `models`
            whose linear predictors of the rows, at the posterior means of its coefficients, are nearest in
            (weighted) squares to those averaged over all models.

        Returns
        -------
        tuple of str
            Terms, in the order of the model.

        Raises
        ------
        ParameterError
            If `which` is invalid.
        NotAvailableError
            If ``"bpm"`` needs rows that are not available.

        Warns
        -----
        PyrjselWarning
            If the median probability model violates a constraint or has linearly dependent columns; the
            feasible model closest to the inclusion probabilities is then returned.
        """
        check_choice(which, "which", WHICH[1:])
        return self._terms(self._model(which))

    @kept_property
    def _averaged(self) -> tuple[FloatArray, Values]:
        if self._known.averaged is not None:
            return self._known.averaged
        columns = self._visited_columns if self.model.design.wide else None
        stream = self._stream(b"averaged")
        return averaged_draws(self.posterior, self._marginal, PREDICTION_DRAWS, stream, columns)

    @kept_property
    def _visited_columns(self) -> np.ndarray:
        """Columns of the regression, intercept first, that some visited model has."""
        return np.asarray(self.model.regression.model_columns(self.posterior.packed.ever()))

    def _intervals(self, alpha: float, kind: str) -> pd.DataFrame:
        """Return posterior intervals of all columns of the regression."""
        names = self._column_names
        if not self.model.design.wide:
            return interval_table(self._averaged[0], alpha, kind, names)
        found = interval_table(self._averaged[0], alpha, kind, names[self._visited_columns])
        whole = np.zeros((len(names), 2))
        whole[self._visited_columns] = found.to_numpy()
        return pd.DataFrame(whole, index=names)


def posterior_sizes(posterior: Posterior, n_terms: int) -> tuple[FloatArray, FloatArray]:
    """Return the posterior probabilities of 0 to `n_terms` terms, and their Monte Carlo errors.

    After enumeration these are bounds from the integration errors: root sums of squares over the models of a
    size, and over all others.
    """
    probability, mcse = np.zeros(n_terms + 1), np.full(n_terms + 1, np.nan)
    if posterior.draws is None:
        sizes = posterior.packed.sizes()
        probability += np.bincount(sizes, weights=posterior.probability, minlength=n_terms + 1)
        square = np.nan_to_num(posterior.mcse) ** 2
        inside = np.bincount(sizes, weights=square, minlength=n_terms + 1)
        return probability, np.sqrt(np.minimum(inside, np.maximum(square.sum() - inside, 0.0)))
    drawn = posterior.draws.size
    seen = np.unique(drawn)
    stats = model_stats(drawn, seen)
    probability[seen], mcse[seen] = stats.probability, stats.mcse
    return probability, mcse


def sizes_table(prior: PriorSizes, posterior: Posterior, n_terms: int) -> pd.DataFrame:
    """Return prior and posterior probabilities by number of terms, over all possible numbers."""
    probability, mcse = posterior_sizes(posterior, n_terms)
    table = pd.DataFrame({"prior": prior.probability, "posterior": probability, "mcse": mcse})
    table.index.name = "size"
    possible = np.flatnonzero((table["prior"] != 0) | (table["posterior"] > 0))
    return table.iloc[possible.min() : possible.max() + 1]


def _quantities(draws: Values) -> pd.DataFrame:
    """Return means, deviations and 95 % intervals of quantities from their draws (m,), by name."""
    rows = {name: [x.mean(), x.std(), *np.quantile(x, [0.025, 0.975])] for name, x in draws.items()}
    table = pd.DataFrame(list(rows.values()), list(rows), ["mean", "sd", "ci_lower", "ci_upper"], dtype=float)
    return table.rename_axis("quantity")
