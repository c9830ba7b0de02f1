"""The plots of pattern results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from pyrjsel._errors import ParameterError
from pyrjsel._validate import bad_value, check_choice, check_int
from pyrjsel.patterns.describe import largest
from pyrjsel.patterns.draws import PatternDraws
from pyrjsel.report import plot_intervals, plot_lines, plot_trace

if TYPE_CHECKING:
    from pyrjsel.patterns.model import PatternLogit
    from pyrjsel.patterns.results import PatternResults

# Log scales that a trace shows unless asked for others.
TRACES = 3
SCORES = {"error_rate": "Error rate", "log_score": "Log score"}


class Plotted(Protocol):
    """The results that plots are drawn from."""

    model: PatternLogit

    @property
    def compression(self) -> pd.DataFrame:
        """Groups and patterns by order."""

    @property
    def coefficients(self) -> pd.DataFrame:
        """Sums by group and class."""

    @property
    def draws(self) -> PatternDraws:
        """The draws of all chains."""


class Looks:
    """The plot methods of :class:`PatternResults`."""

    def plot_compression(self: Plotted, ax: Any = None) -> Any:
        """Plot numbers of patterns and of groups by the largest order that is allowed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes; the vertical one is logarithmic.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` is not valid.
        """
        table = self.compression
        order = table.index.to_numpy()
        return plot_lines(
            {"patterns": (order, table["patterns"]), "groups": (order, table["groups"])},
            ax=ax,
            xlabel="Largest order",
            ylabel="Parameters of a class",
            log=True,
        )

    def plot_scores(
        self: Plotted,
        new: Any,
        others: Sequence[PatternResults] = (),
        *,
        measure: str = "log_score",
        ax: Any = None,
    ) -> Any:
        """Plot scores on new rows by order, over several fits.

        Parameters
        ----------
        new : DataFrame
            Rows with the variables of all fits and the response.
        others : sequence of PatternResults, default ()
            Fits of other orders or priors; one line for each prior.
        measure : {"log_score", "error_rate"}
            Mean log probability of the true classes (higher is better), or the share of the rows whose most
            probable class is another.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes; bars are two standard errors over rows to either side. As the rows are the same for all
            fits, differences between fits are known better than that.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `measure` is something else, `others` are no results, two fits have the same prior, order and
            compression, or `ax` is not valid.
        UnknownNameError, DataError
            As for :meth:`PatternResults.score`.
        """
        owner = "plot_scores"
        check_choice(measure, "measure", owner, SCORES)
        if not isinstance(others, Sequence) or not all(isinstance(each, type(self)) for each in others):
            raise bad_value("others", owner, "a sequence of PatternResults", others)
        points: dict[str, dict[int, tuple[float, float]]] = {}
        for fit in (self, *others):
            label = fit.model.prior.family.capitalize()
            if not fit.model.compression.compressed:
                label += ", not compressed"
            line = points.setdefault(label, {})
            if fit.model.order in line:
                raise ParameterError(
                    f"The fits of {owner} must differ in prior, order or compression. Two are {label} of "
                    f"order {fit.model.order}."
                )
            score = fit.score(new).loc[measure]  # type: ignore[attr-defined]
            line[fit.model.order] = (float(score["value"]), float(score["se"]))
        series = {}
        for label, line in points.items():
            orders = sorted(line)
            series[label] = (orders, *np.transpose([line[order] for order in orders]))
        return plot_lines(series, ax=ax, xlabel="Largest order", ylabel=SCORES[measure])

    def plot_coefficients(self: Plotted, ax: Any = None, *, top: int = 20) -> Any:
        """Plot medians of the largest sums of coefficients, with central intervals of 50 and 95 %.

        The axis is logarithmic beyond -1 and 1 for Cauchy coefficients, whose tails are long.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure that is high enough for all rows by default.
        top : int, default 20
            Sums to show, those of the largest medians in absolute value.

        Returns
        -------
        matplotlib Axes
            The axes, one row a group (and class), named by a pattern of its lowest order and how many more
            patterns it has.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If `ax` or `top` is not valid.
        """
        table = largest(self.coefficients, check_int(top, "top", "plot_coefficients", low=1))
        classes = self.model.classes
        names = []
        for (_, name), pattern, patterns in zip(
            table.index, table["pattern"], table["patterns"], strict=True
        ):
            label = str(pattern) if patterns == 1 else f"{pattern} +{patterns - 1}"
            names.append(label if len(classes) == 2 else f"{label} → {name}")
        what = f" for {classes[1]}" if len(classes) == 2 else ""
        return plot_intervals(
            names,
            table["median"],
            table["ci_lower"],
            table["ci_upper"],
            inner=(table["q25"], table["q75"]),
            symlog=self.model.prior.family == "cauchy",
            ax=ax,
            label=f"Sum of coefficients{what}: median, 50 and 95 % intervals\n(the {len(table)} largest of "
            f"{len(self.coefficients):,})",
        )

    def plot_trace(self: Plotted, ax: Any = None, *, orders: Sequence[int] | None = None) -> Any:
        """Plot the draws of log scales and of the log posterior.

        Parameters
        ----------
        ax : array_like of matplotlib Axes, shape (len(orders) + 1, 2), optional
            Where to draw; a new figure by default.
        orders : sequence of int, optional
            Orders whose log sigma is shown; at most three, evenly spaced, by default.

        Returns
        -------
        ndarray of matplotlib Axes
            Of the shape of `ax`: on the left the traces, a line a chain, on the right the shares of values.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed.
        ParameterError
            If an order is not between 1 and that of the model, or `ax` is not valid.
        """
        owner, most = "plot_trace", self.model.order
        if orders is None:
            orders = sorted({int(o) for o in np.linspace(1, most, min(TRACES, most)).round()})
        if not isinstance(orders, Sequence | np.ndarray):
            raise bad_value("orders", owner, "a sequence of orders", orders)
        shown = [check_int(order, "orders", owner, low=1, high=most) for order in orders]
        panels = {f"log σ of order {order}": self.draws.log_sigma[:, :, order - 1] for order in shown}
        panels["Log posterior"] = self.draws.log_posterior
        return plot_trace(panels, continuous=list(panels), ax=ax)
