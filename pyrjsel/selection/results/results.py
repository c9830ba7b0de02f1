"""Results of a selection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError, ParameterError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import bad_value, check_bool, check_choice, check_int, unknown_name
from pyrjsel.families import Values
from pyrjsel.report import Plot, plot_sizes, to_arviz
from pyrjsel.results import Description, RecordedRun
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.frontier import draw_frontier, frontier_table
from pyrjsel.selection.results.measured.needs import average_note
from pyrjsel.selection.results.plots import (
    DRAWN,
    plot_column_densities,
    plot_columns,
    plot_draws,
    refuse_spikes,
)
from pyrjsel.selection.results.posterior_predictive import Predictive
from pyrjsel.selection.results.prediction import WHICH, prediction_rows
from pyrjsel.selection.results.sampled import arviz_groups, arviz_of_models, recorded_run
from pyrjsel.selection.results.saving import KIND, content_of
from pyrjsel.selection.results.screening import screened
from pyrjsel.selection.results.single import SingleModelResults
from pyrjsel.selection.results.summary import describe
from pyrjsel.storage import Plain

# Most numbers of a group of log densities: almost a gigabyte.
MOST_DENSITIES = 10**8
# Most terms in the plots of a page: more would be unreadable.
MOST_TERMS = 40

# Text for the placeholders of inherited docstrings.
TEXTS = {
    "top": "Models to list.",
    "rows in files": """\
Whether to save the training data (response, columns of the design, weights, offset, labels); None
is False. Without them, all tables, draws and predictions of new rows are available after loading; methods
that need the training data require ``rj.load(path, data=...)``.""",
    "in every file": """\
Marginal likelihoods and deviances of the models in the table `models` are computed for the
file. Functions that the formula calls are saved by name only.""",
    "accuracy": """\
Target Monte Carlo error of inclusion probabilities; None is that of the fit, or 0.005. If the
audit finds missed models, there is a warning, but chains do not restart.""",
    "not in one run": """\
Coefficients that are drawn at the end of a run (for ``"collapsed"``, and for ``"gibbs"`` if
they are integrated out) are drawn again. After an interrupted run that was planned for more
draws, coefficients are thinned as in that run.""",
    "without chains": "After enumeration, which has all models.",
    "inclusion": """\
Prior probabilities are over the models that have a coefficient prior; for their error see
`prior_inclusion`. After enumeration, `mcse` is the integration error (NaN for Laplace values)
and `ess` and `r_hat` are NaN. For a term that never moved in any chain, these three and the
Bayes factor are NaN, except for the samplers ``collapsed`` and ``gibbs`` of linear models,
which average conditional inclusion probabilities and therefore give `posterior`, `mcse` and
Bayes factor of such terms, too. Their `ess`, and that of ``collapsed`` for other models, is the
number of independent draws with the same error, and can exceed the number of draws. Errors
refer to the visited models and their neighbours: `mcse` and `r_hat`, however small, do not
include modes that no chain has found.""",
    "models": """\
At most 10,000 models, and 1,000 after sampling. Further columns are ``log_marginal`` (log p(y |
model) by importance sampling, including binomial coefficients and factorials of counts, with a
density of one for a flat intercept) and ``deviance`` (at the maximum of the likelihood,
relative to the saturated model, as in statsmodels). For gaussian models `log_marginal` is
exact, with densities of one for the intercept and log sigma^2, and `deviance` is -2 times the
log-likelihood (``-2 * llf`` of statsmodels' OLS; less accurate for data in chunks if columns
are nearly dependent or fit the response to 1e-8 of its variance). ``integration`` is the source
of `log_marginal`: "exact", "importance" or "laplace". After enumeration, models with a total
posterior probability below 1e-6 have Laplace values without MCSE. After sampling, `posterior`
is the frequency of visits.""",
}


class SelectionResults(Predictive):
    """The posterior over models and coefficients, returned by ``fit``.

    Parameters
    ----------
    model : SelectionModel
        The fitted model.
    posterior : Posterior
        Full-precision arrays behind the tables.
    settings : FitSettings
        The parameters of ``fit``.
    options : object, optional
        Options of the sampler, if known.
    known : Known, optional
        Values from a file that otherwise need the training data.

    Attributes
    ----------
    sampler : str
        Name of the sampler.
    separated : dict of tuple of str to tuple of str
        The best models whose likelihood has no maximum because they separate the classes (or, for counts, the
        rows without events), and the terms that cause the separation.
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

    Chains that go on have the draws of one longer run.

    >>> model = rj.logit("low ~ lwt + smoke + ht", births)
    >>> longer = model.fit(sampler="rjmcmc", draws=600, burn_in=100, rng=1).extend(400)
    >>> once = model.fit(sampler="rjmcmc", draws=1000, burn_in=100, rng=1)
    >>> longer.inclusion.equals(once.inclusion)
    True
    """

    _texts = TEXTS
    _file = KIND
    # Class of the results of one model.
    _single_kind: ClassVar[type[SingleModelResults]] = SingleModelResults

    def screen(self, threshold: float = 0.30, *, others: Sequence[SelectionResults] = ()) -> SelectionModel:
        """Return the model restricted to the relevant terms, on the same rows, ready to fit.

        For a selection in two stages: a term is dropped if its posterior inclusion probability is below
        `threshold` in all runs. Terms in `always` are kept, and so are those that heredity requires: under
        strong heredity, all lower-order terms of kept terms; under weak heredity, if no parent of a kept term
        is kept, the parent with the highest inclusion probability.

        Parameters
        ----------
        threshold : float, default 0.30
            Smallest posterior inclusion probability of a kept term, in (0, 1).
        others : sequence of SelectionResults, default ()
            Further runs with the same data and terms; a term is kept if it reaches the threshold in any run.

        Returns
        -------
        Selection
            Model of the same class, with the rows used in this fit (rows dropped for missing values remain
            dropped), the columns of the kept terms, weights, offset, priors and constraints. Probabilities
            and costs of single terms are kept; ``CostAdjusted`` keeps its baseline, so that its prior log
            odds do not change. A prior on the size of a model refers to the kept terms. New rows need only
            the variables of kept terms.

        Raises
        ------
        ParameterError
            If `threshold` is not in (0, 1), no term reaches it, `others` are not results of the same data and
            terms, or an `expected_size` is too large for the kept terms.

        Warns
        -----
        RankWarning
            If columns of kept terms are linearly dependent.
        """
        if not isinstance(others, Sequence) or not all(isinstance(run, SelectionResults) for run in others):
            raise bad_value("others", "a sequence of SelectionResults", others)
        return screened((self, *others), threshold)

    def single_model(self, which: int | str | Sequence[str] = "hpm") -> SingleModelResults:
        """Return the results of one model: its coefficients, intervals, fitted values and residuals.

        Parameters
        ----------
        which : int, str or sequence of str
            The rank in the table `models`, from 1; ``"hpm"``, ``"mpm"`` or ``"bpm"``, as for :meth:`best`; or
            the terms of the model, which need not be among those visited.

        Returns
        -------
        SingleModelResults
            The model, as if it had been the only one.

        Raises
        ------
        ParameterError
            If `which` is none of these, or the model violates a constraint.
        UnknownNameError
            If a term is unknown.
        DataError
            If the model has no coefficient prior, since its columns are linearly dependent.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> results = rj.linear("bwt ~ lwt + smoke + ht", births).fit()
        >>> results.single_model(1)
        <SingleModelResults: lwt + smoke + ht>
        >>> round(results.single_model(["smoke"]).rsquared, 3)
        0.036
        """
        return self._single_kind(self, self._asked(which))

    def _asked(self, which: int | str | Sequence[str]) -> ByteArray:
        """Return the model (J,) that a user means."""
        if isinstance(which, str) and which in WHICH[1:]:
            return self._model(which)
        space = self.model.space
        if isinstance(which, (int, np.integer)) and not isinstance(which, bool):
            rank = check_int(which, "which", low=1, high=len(self.posterior.packed))
            return np.asarray(self.posterior.packed[rank - 1])
        if isinstance(which, str) or not isinstance(which, Sequence):
            must = "a rank, 'hpm', 'mpm', 'bpm', or the terms of a model"
            raise bad_value("which", must, which)
        gamma = np.zeros(space.n_terms, dtype=np.uint8)
        for term in which:
            if term not in space.names:
                raise unknown_name(term, "term", space.names, "in 'which'")
            gamma[space.names.index(term)] = 1
        reason = space.why_infeasible(gamma)
        if reason is not None:
            raise ParameterError(f"The model {', '.join(which) or 'without terms'} is not allowed: {reason}")
        return gamma

    # ------------------------------------------------------------------ summary, files, more draws

    def _describe(self) -> Description:
        return describe(self)

    def _tables(self, top: int) -> list[tuple[Any, ...]]:
        inclusion, (caption, rows) = super()._tables(top)
        if rows["integration"].nunique() < 2:
            rows = rows.drop(columns="integration")
        return [inclusion, (caption, rows)]

    def _content(self, with_rows: bool | None) -> Plain:
        return content_of(self, bool(with_rows))

    def _recorded_run(self) -> RecordedRun[Self]:
        results_of = partial(type(self), self.model, options=self.options)
        return recorded_run(self.model, self.posterior, self.settings, self.options, results_of)

    def _arviz(self) -> Any:
        return arviz_groups(self.model, self.draws, self._column_names)

    def to_arviz(self, *, coefficients: bool = True, log_likelihood: bool = False) -> Any:
        """Return the draws as ArviZ's container.

        Parameters
        ----------
        coefficients : bool, default True
            Whether to include the coefficients. In long runs with many columns they are kept only for every
            k-th draw (``draws.coefficients_every``), and the other variables are then restricted to the same
            draws; without coefficients they include all draws.
        log_likelihood : bool, default False
            Whether to include log densities of the responses given each draw, as ``arviz.loo`` and
            ``arviz.waic`` need: one number for each row and draw.

        Returns
        -------
        InferenceData or DataTree
            ``posterior`` with ``included`` (0 or 1, by ``term``), ``size``, ``cost`` (if there are costs),
            ``coefficients`` (by ``coefficient``: the intercept, then the columns of the design; 0 for
            excluded columns) and ``sigma`` (linear models); ``sample_stats`` with ``lp``, the log posterior,
            and ``model``, the row of ``draws.models``; ``log_likelihood`` by ``row``; ``observed_data`` with
            the response by ``row``, if the data are available. InferenceData with ArviZ 0.x, DataTree with
            ArviZ 1.x or arviz-base.

        Raises
        ------
        NotAvailableError
            If neither ArviZ nor arviz-base is installed, or `log_likelihood` needs training data that are
            missing; after enumeration of models with a spike and slab, whose draws do not tell which terms
            are included.
        ParameterError
            If `coefficients` or `log_likelihood` is not a bool, or log densities are asked for without
            coefficients or are more than 10**8.

        Notes
        -----
        The draws of ``included`` are visits. For samplers that average conditional inclusion probabilities,
        the estimates in :attr:`inclusion` have smaller errors than averages of these draws. After enumeration
        there are four chains of 1,000 independent draws of models and coefficients, without ``sample_stats``.
        A DataTree can be used with ``summary`` of arviz-stats and ``plot_trace`` of arviz-plots. The last
        arviz-plots for Python 3.11, 0.8, needs a matplotlib before 3.11, and its ``plot_trace_dist`` an older
        xarray too.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> model = rj.logit("low ~ lwt + smoke + ht", rj.datasets.birthwt().data)
        >>> results = model.fit(sampler="rjmcmc", draws=500, rng=1)
        >>> found = results.to_arviz()
        >>> found.posterior["included"].sel(term="smoke").shape
        (4, 500)
        """
        whole = check_bool(coefficients, "coefficients")
        density = self._log_densities if check_bool(log_likelihood, "log_likelihood") else None
        if density is not None:
            self._refuse_wide("log densities")
        if density is not None and not whole:
            raise bad_value(
                "coefficients", "True with log_likelihood=True, which is given them", coefficients
            )
        if self.posterior.draws is not None:
            columns = self._column_names if whole else None
            return to_arviz(*arviz_groups(self.model, self.draws, columns, density))
        refuse_spikes(self.model.regression, "which terms a draw includes is unknown")
        drawn, nuisance = self._coefficient_draws(None, DRAWN)
        # They come sorted by model.
        order = self._stream(b"arviz").permutation(len(drawn))
        nuisance = {name: values[order] for name, values in nuisance.items()}
        return to_arviz(*arviz_of_models(self.model, drawn[order], nuisance, self._column_names, density))

    def _refuse_wide(self, what: str) -> None:
        """Raise :class:`NotAvailableError` if there are too many columns for draws of all of them."""
        if self.model.design.wide:
            columns = f"{len(self.model.design.column_names):,} columns"
            raise NotAvailableError(
                f"{called()} cannot give {what} for {columns}: screen() the results and fit again."
            )

    def _log_densities(self, coefficients: FloatArray, nuisance: Values) -> FloatArray:
        """Return log densities (n, m) of the responses given draws of coefficients."""
        rows = prediction_rows(self.model, None, {"offset": None, "weights": None})
        x, given, index = rows.x, rows.extras, rows.index
        if len(x) * len(coefficients) > MOST_DENSITIES:
            raise ParameterError(
                f"The 'log_likelihood' parameter of {called()} must be False for {len(x):,} rows and "
                f"{len(coefficients):,} draws: {MOST_DENSITIES:,} numbers at most. Thin the draws."
            )
        family, data = self.model.regression.family, self.model.data
        made = self._prediction_kind(
            x, given["offset"], index, coefficients, family, self.model.design.response, nuisance
        )
        return made.log_densities(np.asarray(self.model._response(data)), given["weights"])

    # ------------------------------------------------------------------ costs and budgets

    def frontier(
        self, budgets: ArrayLike | None = None, *, others: Sequence[SelectionResults] = ()
    ) -> pd.DataFrame:
        """Return the best model under each budget, with its posterior probability given that budget.

        A budget excludes the models that cost more and leaves the odds of the others unchanged, so a fit
        under one budget also gives the results for every smaller one.

        Parameters
        ----------
        budgets : array_like of float, optional
            Budgets, at most that of the fit; None means all costs at which another model becomes the best.
        others : sequence of SelectionResults, default ()
            Further runs with the same data, terms and priors and other budgets. Results for a budget come
            from an enumeration that covers it, or else from the run with the smallest budget that covers it,
            since draws under a large budget are seldom cheap.

        Returns
        -------
        DataFrame
            One row per budget, in increasing order: ``budget``; ``terms``, ``size``, ``cost`` and
            ``deviance`` of the best model within the budget (the deviance as in :attr:`models`);
            ``posterior``, its probability given the budget, with ``mcse``; ``mass``, the total probability of
            the models within the budget in that run. ``attrs["note"]`` describes the source of the figures,
            and says what the variables of an average over all models cost beside those of the best model.
            After enumeration they are exact, up to the integration error in `mcse`. After sampling they use
            the draws within the budget: `posterior` is the proportion of visits, and the best model is the
            most visited one; a better one may not have been visited. Without any such draw the row is NaN,
            and `terms` None.

        Raises
        ------
        NotAvailableError
            If the model has no costs, or the training data are needed but missing.
        ParameterError
            If a budget is below the cost of the terms in `always` or above that of every run, or `others` are
            not such results.

        Warns
        -----
        ConvergenceWarning
            If fewer than 100 draws are within a budget.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> minutes = {"lwt": 1, "smoke": 2, "ht": 5}
        >>> results = rj.logit("low ~ lwt + smoke + ht", births, costs=minutes).fit(rng=1)
        >>> results.frontier([2, 8])[["budget", "terms", "cost"]]
           budget             terms  cost
        0     2.0                ()   0.0
        1     8.0  (lwt, smoke, ht)   8.0
        """
        return frontier_table(self, budgets, others)

    def plot_frontier(
        self,
        ax: Any = None,
        *,
        budgets: ArrayLike | None = None,
        others: Sequence[SelectionResults] = (),
    ) -> Any:
        """Plot the deviance of the best model against the budget.

        One dot per row of :meth:`frontier`; larger dots mean more probable models given the budget.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        budgets : array_like of float, optional
            As for :meth:`frontier`.
        others : sequence of SelectionResults, default ()
            As for :meth:`frontier`.

        Returns
        -------
        matplotlib Axes
            The axes; the label of the horizontal axis says if the figures come from draws.

        Raises
        ------
        NotAvailableError
            As for :meth:`frontier`, or if matplotlib is not installed.
        ParameterError
            As for :meth:`frontier`, or if `ax` is not valid.

        Warns
        -----
        ConvergenceWarning
            As for :meth:`frontier`.
        """
        return draw_frontier(frontier_table(self, budgets, others), ax)

    # ------------------------------------------------------------------ plots

    def plot_sizes(self, ax: Any = None) -> Any:
        """Plot prior and posterior probabilities of the number of terms.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes; posterior probabilities are bars with two Monte Carlo errors on either side.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        table = self.sizes
        return plot_sizes(table.index, table["prior"], table["posterior"], table["mcse"], ax=ax)

    def plot_coefficients(
        self,
        ax: Any = None,
        *,
        top: int | None = None,
        sort: bool = True,
        standardize: bool = True,
        kind: str = "intervals",
    ) -> Any:
        """Plot the coefficients, averaged over all models and given inclusion, or their densities.

        Intervals: in blue, the posterior mean over all models (0 for excluded columns) with an equal-tailed
        95 % interval; larger dots mean higher inclusion probabilities. In grey, the mean given inclusion with
        two standard deviations on either side. The intercept is omitted.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure that is high enough for all columns by default. For densities, an
            array of as many Axes as there are panels.
        top : int, optional
            Show only the `top` columns of the design of highest inclusion probability; for densities, at most
            12 by default.
        sort : bool, default True
            Whether columns are sorted by inclusion probability rather than kept in order.
        standardize : bool, default True
            Whether coefficients are per (weighted) standard deviation of their column, which makes them
            comparable, rather than per unit as in the table of coefficients. The axis says which.
        kind : {"intervals", "density"}
            ``"density"`` has a panel for each column: the posterior density given inclusion, whose maximum is
            drawn at the inclusion probability, and a spike at zero of the probability of exclusion.

        Returns
        -------
        matplotlib Axes or ndarray of matplotlib Axes
            The axes, one row per column of the design; an array of panels for densities.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed; for densities, if the training data are needed but missing, or
            the prior is a spike and slab, whose coefficients are never 0.
        ParameterError
            If `ax`, `top`, `sort`, `standardize` or `kind` is not valid.
        """
        per_sd = check_bool(standardize, "standardize")
        if check_choice(kind, "kind", ("intervals", "density")) == "density":
            self._refuse_wide("densities of all columns")
            return plot_column_densities(self, self._coefficient_draws(None, DRAWN)[0], ax, top, sort, per_sd)
        return plot_columns(self, ax, top, sort, per_sd)

    def plot_trace(self, ax: Any = None) -> Any:
        """Plot traces of size, cost, log posterior and number of terms that change from draw to draw.

        Parameters
        ----------
        ax : array_like of matplotlib Axes, shape (4, 2), optional
            Where to draw, shape (3, 2) for a model without costs; a new figure by default.

        Returns
        -------
        ndarray of matplotlib Axes
            The axes, of the shape of `ax`. On the left the traces, one line per chain, of at most 500 draws
            each (the axis says which); on the right the proportion of draws with each value, as bars for all
            chains together and dots or outlines for each. Without costs their panel is omitted.

        Raises
        ------
        NotAvailableError
            After enumeration, which has no draws, or if matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        return plot_draws(self.draws, self.model._priced, ax)

    def _plots(self) -> list[Plot]:
        many = MOST_TERMS if len(self.inclusion) > MOST_TERMS else None
        plots = [
            Plot(
                "Inclusion",
                "Prior and posterior inclusion probabilities, with bars of two Monte Carlo errors.",
                lambda: self.plot_inclusion(top=many),
            ),
            Plot(
                "Models",
                "Terms of the best models; the width of a column is the posterior probability of its model.",
                self.plot_models,
            ),
            Plot(
                "Coefficients",
                "Coefficients per standard deviation of their columns: averaged over all models with 95 % "
                "intervals in blue, given inclusion with bars of two standard deviations in grey.",
                lambda: self.plot_coefficients(top=many),
            ),
        ]
        if self.model._priced:
            text = "Deviance of the best model under each budget; larger dots are more probable."
            text = " ".join([text, *filter(None, [average_note(self)])])
            plots.append(Plot("Frontier", text, self.plot_frontier))
        if self.posterior.draws is not None:
            text = "Traces and histograms of size, cost, log posterior and number of changed terms, by chain."
            plots.append(Plot("Trace", text, self.plot_trace))
        return plots

    def _more_tables(self) -> list[tuple[str, pd.DataFrame]]:
        return [("Coefficients, averaged over models and given inclusion", self.coefficients)]

    def _frontier(self) -> pd.DataFrame | None:
        return self.frontier() if self.model._priced else None

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self.sampler}: "
            f"best model {' + '.join(self.best()) or '(no terms)'}, "
            f"posterior {self.posterior.probability[0]:.3f}>"
        )
