"""Results over the models of a space: inclusion, the best models, their odds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import check_bool, check_choice, check_int, listed
from pyrjsel.model_space import PriorInclusion
from pyrjsel.report import (
    MEASURES,
    IndicatorStats,
    covered_caption,
    inclusion_of,
    jointness_errors,
    jointness_table,
    kept_table,
    model_table,
    plot_inclusion,
    plot_jointness,
    plot_models,
    shown_inclusion,
    without_errors,
)
from pyrjsel.results.base import ModelOverSpace, ModelPosterior
from pyrjsel.results.sampled import SampledResults

SpaceModel = TypeVar("SpaceModel", bound=ModelOverSpace)

# Most rows of the table of models.
TABLE_ROWS = 10_000


class ModelSpaceResults(SampledResults[SpaceModel]):
    """Results over the models of a space."""

    posterior: ModelPosterior

    @abstractmethod
    def _inclusion_parts(self) -> tuple[PriorInclusion, IndicatorStats, FloatArray]:
        """Return prior and posterior inclusion, and posterior probabilities of exclusion (J,)."""

    @property
    @abstractmethod
    def _visits(self) -> IntArray | None:
        """Model of each draw (chains, draws), as a row of the posterior; None after enumeration."""

    def _check_priced(self) -> None:
        """Raise :class:`NotAvailableError` if the model has no costs."""
        if not self.model._priced:
            raise NotAvailableError(f"{called()} needs costs: the model was made without any.")

    def _price(self, terms: BoolArray) -> float:
        """Return what some terms (J,) cost, where the model has costs."""
        self._check_priced()
        return float(self.model.space.cost(terms.astype(np.uint8)))

    @property
    def _found(self) -> str:
        """How the models were found, for the caption of their table."""
        return "visited"

    @property
    def _n_found(self) -> int:
        """Number of models found, of which the posterior may have only the best."""
        return len(self.posterior.packed)

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion by term.

        Columns ``prior`` (under the constraints), ``posterior``, ``mcse``, ``ess``, ``r_hat``,
        ``bayes_factor`` (posterior over prior odds of inclusion; NaN if the prior odds have a relative error
        above 30 %), ``cost``, and ``columns`` (how many the term has).

        <inclusion>
        """
        return without_errors(self._inclusion)

    @property
    @kept_table
    def _inclusion(self) -> pd.DataFrame:
        """The inclusion table with the errors of prior inclusion probabilities and Bayes factors."""
        prior, stats, excluded = self._inclusion_parts()
        return inclusion_of(self.model.space, prior, stats, excluded, self.model._priced)

    @property
    @kept_table
    def models(self) -> pd.DataFrame:
        """The best models, by rank.

        Columns ``terms``, ``size``, ``cost``, ``posterior`` (never renormalised over the rows of the table),
        ``mcse``, ``odds`` (of the best model against this one) and ``odds_mcse``.

        <models>
        """
        return self._model_rows(self._n_listed)

    @property
    def _n_listed(self) -> int:
        return min(TABLE_ROWS, self.posterior.odds.size)

    def _model_rows(self, rows: int) -> pd.DataFrame:
        """Return the `rows` best models; models of posterior probability 0 only if there are no others."""
        posterior, space = self.posterior, self.model.space
        gamma = posterior.packed[:rows]
        return model_table(
            [space.terms_of(row) for row in gamma],
            gamma.sum(axis=1, dtype=np.int64),
            np.asarray(space.cost(gamma)) if self.model._priced else np.full(len(gamma), np.nan),
            posterior.probability[:rows],
            posterior.mcse[:rows],
            posterior.odds[:rows],
            posterior.odds_mcse[:rows],
            *self._evidence(rows),
        )

    def _evidence(self, rows: int) -> tuple[FloatArray, ...]:
        """Return log marginal likelihoods and deviances of the best models, if known."""
        return ()

    @property
    def covered(self) -> float:
        """Posterior mass of the models listed in `models`."""
        return float(min(self.posterior.probability[: self._n_listed].sum(), 1.0))

    def jointness(self, measure: str = "yule", *, mcse: bool = False) -> pd.DataFrame:
        """Return whether pairs of terms are in the same models more often than not.

        Terms that stand for each other, such as two measurements of one thing, are disjoint: one of them is
        enough. Their inclusion probabilities can then be small, although nearly every model has one of them.
        Complements are in the same models.

        Parameters
        ----------
        measure : {"yule", "doppelhofer-weeks", "ley-steel", "joint"}
            With the posterior probabilities a of models with both terms, b and c of those with the first or
            the second alone, and d of those with none, ``"yule"`` is Yule's Q, (ad - bc) / (ad + bc), from -1
            (never together) to 1 [3]_; ``"doppelhofer-weeks"`` is log(ad / bc), above 1 for complements and
            below -1 for substitutes [2]_; ``"ley-steel"`` is a / (a + b + c), the
            probability of both given one or both [1]_; ``"joint"`` is a, the joint inclusion probability.
        mcse : bool, default False
            Whether to return the Monte Carlo standard errors of the measure instead: by batch means, as for
            inclusion probabilities, and the delta method.

        Returns
        -------
        DataFrame
            Term by term, symmetric. The diagonal is NaN, or has the inclusion probabilities for ``"joint"``.
            Where a cell has no mass a measure can be infinite, 1 or -1, and NaN for a term that is in all
            models or in none. After sampling, probabilities are frequencies of visits.

        Raises
        ------
        ParameterError
            If `measure` or `mcse` is not valid.
        NotAvailableError
            If errors are requested after enumeration, which has no draws.

        References
        ----------
        .. [1] Ley, E. and Steel, M. F. J. (2007). Jointness in Bayesian variable selection with applications
           to growth regression. Journal of Macroeconomics 29, 476-493.
        .. [2] Doppelhofer, G. and Weeks, M. (2009). Jointness of growth determinants. Journal of Applied
           Econometrics 24, 209-244.
        .. [3] Hofmarcher, P., Crespo Cuaresma, J., Gruen, B., Humer, S. and Moser, M. (2018). Bivariate
           jointness measures in Bayesian model averaging: Solving the conundrum. Journal of Macroeconomics
           57, 150-165.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> hald = rj.datasets.hald().data
        >>> table = rj.linear("y ~ x1 + x2 + x3 + x4", hald).fit().jointness("joint")
        >>> round(float(table.loc["x1", "x2"]), 3)
        0.619
        """
        check_choice(measure, "measure", tuple(MEASURES))
        names, posterior = list(self.model.term_names), self.posterior
        if not check_bool(mcse, "mcse"):
            return jointness_table(names, posterior.packed, posterior.probability, measure)
        visits = self._visits
        if visits is None:
            raise NotAvailableError("Enumeration has no draws, and joint probabilities no Monte Carlo error.")
        return jointness_errors(names, posterior.packed, visits, measure)

    def plot_jointness(self, measure: str = "yule", ax: Any = None, *, top: int = 15) -> Any:
        """Plot which terms go together and which replace each other, as a coloured matrix.

        Parameters
        ----------
        measure : {"yule", "doppelhofer-weeks", "ley-steel", "joint"}
            As for :meth:`jointness`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        top : int, default 15
            Show only the `top` terms with inclusion probabilities closest to a half: those in nearly all
            models, or in nearly none, say little about others.

        Returns
        -------
        matplotlib Axes
            The axes, with one row and one column per term.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `measure`, `ax` or `top` is not valid.
        """
        table = self.jointness(measure)
        return plot_jointness(table, self._inclusion_parts()[1].mean, measure, ax=ax, top=top)

    def _tables(self, top: int) -> list[tuple[Any, ...]]:
        probability = self.posterior.probability
        possible = int(np.count_nonzero(probability))  # of posterior 0 none is shown
        rows = self._model_rows(min(top, possible, self.posterior.odds.size))
        caption = covered_caption(
            pd.DataFrame({"posterior": probability}), len(rows), self._found, self._n_found
        )
        return [shown_inclusion(self._inclusion), (caption, rows)]

    def plot_inclusion(self, ax: Any = None, *, top: int | None = None, sort: bool = True) -> Any:
        """Plot prior and posterior inclusion probabilities, with two Monte Carlo errors on either side.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure that is high enough for all terms by default.
        top : int, optional
            Show only the `top` terms of highest posterior probability.
        sort : bool, default True
            Whether to sort terms by posterior probability rather than keep their order.

        Returns
        -------
        matplotlib Axes
            The axes, with one row per term.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax`, `top` or `sort` is not valid.
        """
        table = self.inclusion
        return plot_inclusion(
            list(table.index), table["prior"], table["posterior"], table["mcse"], ax=ax, top=top, sort=sort
        )

    def plot_models(self, ax: Any = None, *, top: int = 20) -> Any:
        """Plot which terms the best models include; a column is as wide as the model's posterior probability.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure that is high enough for all terms by default.
        top : int, default 20
            Number of models.

        Returns
        -------
        matplotlib Axes
            The axes, with one row per term; with more than 40 terms, those in none of the models are omitted.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` or `top` is not valid.
        """
        top = check_int(top, "top", low=1)
        posterior, names = self.posterior, list(self.model.term_names)
        return plot_models(names, posterior.packed[:top], posterior.probability[:top], ax=ax)


def stuck_notes(names: Sequence[str], stuck: BoolArray, inclusion: FloatArray, mcse: FloatArray) -> list[str]:
    """Return notes on terms (J,) that never moved in any chain, given inclusion probabilities and errors.

    An error is known only where chains differ.
    """
    unknown = stuck & np.isnan(mcse)
    kinds = (
        (
            "Included in every draw of all chains, so the Monte Carlo error is unknown",
            unknown & (inclusion > 0.5),
        ),
        (
            "Included in no draw of all chains, so the Monte Carlo error is unknown",
            unknown & (inclusion <= 0.5),
        ),
        ("Included in every draw of some chains and in no draw of the others", stuck & ~unknown),
    )
    return [
        f"{said}: {listed([name for name, here in zip(names, terms, strict=True) if here])}."
        for said, terms in kinds
        if terms.any()
    ]
