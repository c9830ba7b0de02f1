"""The plots of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import check_bool
from pyrjsel.report import ModelLooks, plot_coefficients, plot_sizes, plot_trace
from pyrjsel.selection.results.tables import PosteriorTables


class Plots(PosteriorTables, ModelLooks):
    """The plot methods of :class:`SelectionResults`."""

    def _best_models(self, top: int) -> tuple[Sequence[str], ByteArray, FloatArray]:
        posterior = self.posterior
        return self.model.term_names, posterior.packed[:top], posterior.probability[:top]

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
        regression = self.model.regression
        per_sd = check_bool(standardize, "standardize", "plot_coefficients")
        table = self.coefficients.iloc[1:]
        if per_sd:
            table = table.mul(regression.scale, axis=0)
        return plot_coefficients(
            list(table.index),
            np.repeat(self.posterior.inclusion, np.diff(regression.term_start)),
            table["mean"],
            table["ci_lower"],
            table["ci_upper"],
            table["mean_included"],
            table["sd_included"],
            ax=ax,
            top=top,
            sort=sort,
            label=f"Coefficient per {'standard deviation' if per_sd else 'unit'} of the column",
        )

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
        draws = self.draws
        panels = {"Size (terms)": draws.size}
        if self.model._priced:
            panels["Cost"] = draws.cost
        panels |= {"Log posterior": draws.log_posterior, "Terms changed": draws.changes}
        return plot_trace(panels, continuous=["Log posterior"], ax=ax)
