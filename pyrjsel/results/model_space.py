"""Results over the models of a space: inclusion, the best models, their odds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel._validate import check_int, listed
from pyrjsel.model_space import PriorInclusion
from pyrjsel.report import (
    IndicatorStats,
    covered_caption,
    inclusion_of,
    kept_table,
    model_table,
    plot_inclusion,
    plot_models,
    shown_inclusion,
    without_errors,
)
from pyrjsel.results.protocols import ModelOverSpace, ModelPosterior
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
    def _found(self) -> str:
        """How the models were found, for the caption of their table."""
        return "visited"

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion by term.

        Columns ``prior`` (under the constraints), ``posterior``, ``mcse``, ``ess``, ``r_hat``,
        ``bayes_factor`` (posterior over prior odds of inclusion; NaN if the prior odds have a relative error
        above 30 %) and ``cost``.

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

    def _tables(self, top: int) -> list[tuple[Any, ...]]:
        probability = self.posterior.probability
        possible = int(np.count_nonzero(probability))  # of posterior 0 none is shown
        rows = self._model_rows(min(top, possible, self.posterior.odds.size))
        caption = covered_caption(pd.DataFrame({"posterior": probability}), len(rows), self._found)
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
