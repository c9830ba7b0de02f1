"""Results of a selection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._validate import bad_value, check_bool
from pyrjsel.report import plot_sizes, to_arviz
from pyrjsel.results import Description, RecordedRun
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.frontier import draw_frontier, frontier_table
from pyrjsel.selection.results.plots import plot_columns, plot_draws
from pyrjsel.selection.results.posterior_predictive import Predictive
from pyrjsel.selection.results.sampled import arviz_groups, recorded_run
from pyrjsel.selection.results.saving import KIND, SCHEMA, content_of
from pyrjsel.selection.results.screening import screened
from pyrjsel.selection.results.summary import describe
from pyrjsel.storage import Plain

# Text for the placeholders of inherited docstrings.
TEXTS = {
    "top": "Models to list.",
    "rows in files": """\
Whether the rows of the fit are in it: response, columns of the design, weights, offset, labels.
Without them all tables, draws and predictions of new rows can be had after loading, and what
needs the rows themselves takes ``rj.load(path, data=...)``.""",
    "in every file": """\
Marginal likelihoods and deviances of the models in the table `models` are worked out for it.
Functions that the formula calls are kept by name alone.""",
    "accuracy": """\
Go on until inclusion probabilities have Monte Carlo errors of at most this; None is what was
asked for in the fit, or 0.005. Models that the audit finds are a warning: chains go on, and
do not begin anew.""",
    "not in one run": """\
What is drawn when a run has ended, the coefficients of ``"collapsed"`` and of ``"gibbs"`` where
these are integrated out, is drawn anew. After an interrupted run that was planned for more draws,
coefficients are of as few draws as it had kept.""",
    "without chains": "After enumeration, which has all models.",
    "inclusion": """\
Prior probabilities are those over the models that have a coefficient prior; their error is that of
`prior_inclusion`. After enumeration `mcse` is the integration error (NaN for Laplace values) and `ess` and
`r_hat` are NaN; so are all three, and the Bayes factor, for a term that never moved in any chain. The
samplers ``collapsed`` and ``gibbs`` of linear models average probabilities of terms given all others, and
know `posterior`, `mcse` and Bayes factor of terms that never moved, too. Their `ess`, and that of
``collapsed`` for other models, is that of independent draws of the same error, and can exceed the
number of draws. Errors speak of the models that chains visited and those next to them:
of a mode that no chain has found, neither `mcse` nor `r_hat` knows, however small.""",
    "models": """\
At most 10,000, and 1,000 after sampling. Further columns are ``log_marginal`` (log p(y | model) by importance
sampling, with binomial coefficients and factorials of counts, and a density of one for a flat intercept) and
``deviance`` (at the maximum of the likelihood, from the saturated model, as in statsmodels). For gaussian
models `log_marginal` is exact, log p(y | model) with densities of one for the intercept and log sigma^2, and
`deviance` is -2 times the log-likelihood (``-2 * llf`` of statsmodels' OLS; of data in chunks, with fewer
digits where columns are nearly dependent or fit the response to 1e-8 of its variance). ``integration`` says
where `log_marginal` comes from: "exact", "importance", or "laplace", as that of models which hold less than
1e-6 of the posterior together does after enumeration; these have no MCSE. `posterior` is the
frequency of visits after sampling.""",
}


class SelectionResults(Predictive):
    """The posterior over models and coefficients; made by ``fit``.

    Parameters
    ----------
    model : SelectionModel
        What was fitted.
    posterior : Posterior
        Full-precision arrays behind the tables.
    settings : FitSettings
        The parameters of ``fit``.
    options : object, optional
        Those of the sampler, where they are known.
    known : Known, optional
        What a file knows that is worked out from rows otherwise.

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

    Chains that go on have the draws of one longer run.

    >>> model = rj.logit("low ~ lwt + smoke + ht", births)
    >>> longer = model.fit(sampler="rjmcmc", draws=600, burn_in=100, rng=1).extend(400)
    >>> once = model.fit(sampler="rjmcmc", draws=1000, burn_in=100, rng=1)
    >>> longer.inclusion.equals(once.inclusion)
    True
    """

    _texts = TEXTS
    _file = (KIND, SCHEMA)

    def screen(self, threshold: float = 0.30, *, others: Sequence[SelectionResults] = ()) -> SelectionModel:
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
            raise bad_value("others", "a sequence of SelectionResults", others)
        return screened((self, *others), threshold)

    # ------------------------------------------------------------------ summary, files, more draws

    def _describe(self) -> Description:
        return describe(self)

    def _tables(self, top: int) -> list[tuple[Any, ...]]:
        inclusion, (caption, rows) = super()._tables(top)
        if rows["integration"].nunique() < 2:
            rows = rows.drop(columns="integration")
        return [inclusion, (caption, rows)]

    def _content(self, with_rows: bool) -> Plain:
        return content_of(self, with_rows)

    def _recorded_run(self) -> RecordedRun[Self]:
        results_of = partial(type(self), self.model, options=self.options)
        return recorded_run(self.model, self.posterior, self.settings, self.options, results_of)

    def _arviz(self) -> Any:
        return arviz_groups(self.model, self.draws, self._column_names)

    def to_arviz(self, *, coefficients: bool = True) -> Any:
        """Return the draws as ArviZ's container.

        Parameters
        ----------
        coefficients : bool, default True
            Whether the coefficients come along. Those of long runs of many columns are kept of every so
            manyth draw (``draws.coefficients_every``), and the other variables are then those of the same
            draws; without coefficients they are of all draws.

        Returns
        -------
        InferenceData or DataTree
            ``posterior`` with ``included`` (0 or 1, by ``term``), ``size``, ``cost`` of a model with costs,
            ``coefficients`` (by ``coefficient``: the intercept, then the columns of the design; 0 outside the
            model) and ``sigma`` of a linear model; ``sample_stats`` with ``lp``, the log posterior, and
            ``model``, the row of ``draws.models``; ``observed_data`` with the response by ``row``, unless the
            rows were not kept. InferenceData is that of ArviZ 0.x, DataTree that of ArviZ 1.x and of
            arviz-base.

        Raises
        ------
        NotAvailableError
            After enumeration, which draws nothing, or if neither ArviZ nor arviz-base is installed.
        ParameterError
            If `coefficients` is not a bool.

        Notes
        -----
        The draws of ``included`` are visits. The samplers that average probabilities of inclusion given all
        other terms have smaller errors in :attr:`inclusion` than these draws have.

        A DataTree goes into ``summary`` of arviz-stats and ``plot_trace`` of arviz-plots. The last
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
        return to_arviz(*arviz_groups(self.model, self.draws, self._column_names if whole else None))

    # ------------------------------------------------------------------ costs and budgets

    def frontier(
        self, budgets: ArrayLike | None = None, *, others: Sequence[SelectionResults] = ()
    ) -> pd.DataFrame:
        """Return the best model under each budget, and its posterior probability given that budget.

        A budget takes the models that cost more out of the space and leaves the odds of the others as they
        are: what is known under one budget is known under every smaller one, without another fit.

        Parameters
        ----------
        budgets : array_like of float, optional
            The budgets, at most that of the fit; None is every cost at which another model becomes the best.
        others : sequence of SelectionResults, default ()
            More runs with the same data, terms and priors and other budgets. A budget is looked up in an
            enumeration if one has it, otherwise in the run with the smallest budget that has it: the draws
            of a run under a large budget seldom cost little.

        Returns
        -------
        DataFrame
            A row a budget, in rising order: ``budget``; ``terms``, ``size``, ``cost`` and ``deviance`` of the
            best model that it allows (the deviance is that of :attr:`models`); ``posterior``, the
            probability of that model given the budget, with ``mcse``; ``mass``, the probability that the run
            gave to all models within the budget. ``attrs["note"]`` says where the figures come from.

            After enumeration they are exact, up to the integration error in `mcse`. After sampling they are
            of the draws that cost at most the budget: `posterior` is the share of visits, the best model is
            the most visited one, and a better one may not have been visited. Without any such draw the row
            is NaN, and `terms` None.

        Raises
        ------
        NotAvailableError
            If the model has no costs, or the rows of the fit are needed and not there.
        ParameterError
            If a budget is less than the terms in `always` cost or more than every run's, or `others` are not
            such results.

        Warns
        -----
        ConvergenceWarning
            If fewer than 100 draws cost at most a budget.

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

        A dot for each row of :meth:`frontier`, the larger the more probable its model is given the budget.

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
            The axes; the horizontal one says so where the figures come from draws.

        Raises
        ------
        NotAvailableError
            As for :meth:`frontier`, or if matplotlib is not installed.
        ParameterError
            As for :meth:`frontier`, or if `ax` is not valid.

        Warns
        -----
        ConvergenceWarning
            As :meth:`frontier` does.
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
            The axes; posterior probabilities are bars with two Monte Carlo errors to either side.

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
    ) -> Any:
        """Plot the coefficients with their intervals, averaged over all models and given inclusion.

        In blue the posterior mean over all models (0 where a column is out) with its equal-tailed 95 %
        interval, the dot larger the more probable the inclusion; in grey the mean given inclusion with two
        standard deviations to either side. The intercept is left out.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure that is high enough for all columns by default.
        top : int, optional
            Show only the `top` columns of the design of highest inclusion probability.
        sort : bool, default True
            Whether columns are sorted by inclusion probability rather than kept in order.
        standardize : bool, default True
            Whether coefficients are per (weighted) standard deviation of their column, which makes them
            comparable, rather than per unit as in the table of coefficients. The axis says which.

        Returns
        -------
        matplotlib Axes
            The axes, one row a column of the design.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax`, `top`, `sort` or `standardize` is not valid.
        """
        per_sd = check_bool(standardize, "standardize")
        return plot_columns(self, ax, top, sort, per_sd)

    def plot_trace(self, ax: Any = None) -> Any:
        """Plot the draws of size, cost and log posterior, and how many terms change from draw to draw.

        Parameters
        ----------
        ax : array_like of matplotlib Axes, shape (4, 2), optional
            Where to draw, shape (3, 2) for a model without costs; a new figure by default.

        Returns
        -------
        ndarray of matplotlib Axes
            Of the shape of `ax`. On the left the traces, a line a chain, of at most 500 draws of each (the
            axis says which); on the right the share of all draws with each value, by bars for all chains
            together and dots or outlines for each. The panel of costs is left out where there are none.

        Raises
        ------
        NotAvailableError
            After enumeration, which draws nothing, or if matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        return plot_draws(self.draws, self.model._priced, ax)

    def __repr__(self) -> str:
        return (
            f"<SelectionResults of {self.sampler}: best model {' + '.join(self.best()) or '(no terms)'}, "
            f"posterior {self.posterior.probability[0]:.3f}>"
        )
