"""The plots that results over models have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pandas as pd

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import check_int
from pyrjsel.report.plots import plot_inclusion, plot_models


class Listed(Protocol):
    """The results that plots are drawn from."""

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion by term."""

    def _best_models(self, top: int) -> tuple[Sequence[str], ByteArray, FloatArray]:
        """Return names of terms (J,), the `top` best models (m, J) and their probabilities (m,)."""


class ModelLooks:
    """Methods that plot inclusion and models."""

    def plot_inclusion(self: Listed, ax: Any = None, *, top: int | None = None, sort: bool = True) -> Any:
        """Plot prior and posterior inclusion probabilities, with two Monte Carlo errors to either side.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure that is high enough for all terms by default.
        top : int, optional
            Show only the `top` terms of highest posterior probability.
        sort : bool, default True
            Whether terms are sorted by posterior probability rather than kept in order.

        Returns
        -------
        matplotlib Axes
            The axes, one row a term.

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

    def plot_models(self: Listed, ax: Any = None, *, top: int = 20) -> Any:
        """Plot which terms are in the best models, each as wide as its posterior probability.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure that is high enough for all terms by default.
        top : int, default 20
            Models to show.

        Returns
        -------
        matplotlib Axes
            The axes, one row a term; of more than 40 terms, those that are in none of the models have none.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` or `top` is not valid.
        """
        top = check_int(top, "top", "plot_models", low=1)
        names, gamma, probability = self._best_models(top)
        return plot_models(list(names), gamma, probability, ax=ax)
