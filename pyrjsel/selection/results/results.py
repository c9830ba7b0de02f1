"""Results of a selection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyrjsel._validate import bad_value, check_int
from pyrjsel.report import Report, results_html
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.frontier import Frontier
from pyrjsel.selection.results.plots import Plots
from pyrjsel.selection.results.posterior_predictive import Predictive
from pyrjsel.selection.results.sampled import SampledPosterior
from pyrjsel.selection.results.saving import Saving
from pyrjsel.selection.results.screening import screened
from pyrjsel.selection.results.summary import describe, tables


class SelectionResults(Plots, Frontier, Predictive, SampledPosterior, Saving):
    """The posterior over models and coefficients; made by ``fit``.

    Parameters
    ----------
    model : SelectionModel
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
            raise bad_value("others", "screen", "a sequence of SelectionResults", others)
        return screened((self, *others), threshold)

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
