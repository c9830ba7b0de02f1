"""Plots of curves: with bands, from row to row, and series against whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel.report.plots._drawing import (
    BLUE,
    GREY,
    VERMILION,
    curve_axes,
    drawn,
    legend_above,
    one_at_a_time,
)
from pyrjsel.report.plots.traces import CHAIN_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@one_at_a_time
def plot_band(
    x: ArrayLike,
    curve: ArrayLike,
    bands: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    points: tuple[ArrayLike, ArrayLike] | None = None,
    ticks: tuple[ArrayLike, ArrayLike] | None = None,
    ax: Axes | None = None,
    xlabel: str = "",
    ylabel: str = "",
) -> Axes:
    """Plot a curve with bands, points, and ticks along the horizontal axis.

    Parameters
    ----------
    x, curve : array_like of shape (K,)
        The curve, `x` increasing.
    bands : mapping of str to (lower, upper)
        Lower and upper curve of each band, shape (K,), by label; later bands are drawn darker.
    points : (x, y), optional
        Points, such as data.
    ticks : (x, strength), optional
        Positions on the horizontal axis and the opacity of each tick, from 0 to 1.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    xlabel, ylabel : str
        Axis labels.

    Returns
    -------
    matplotlib Axes
        The axes, with a legend of the bands.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If values cannot be drawn, or `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_band([0, 1], [2, 3], {"95 %": ([1, 2], [3, 4])}, ax=Figure().subplots(), xlabel="x")
    >>> ax.get_xlabel()
    'x'
    """
    place, line = drawn(x, "x"), drawn(curve, "curve")
    ends = {label: drawn(pair, f"bands[{label!r}]") for label, pair in bands.items()}
    shown = curve_axes(ax)
    for depth, (label, (lower, upper)) in enumerate(ends.items(), start=1):
        alpha = 0.35 * depth / len(ends)
        shown.fill_between(place, lower, upper, color=BLUE, alpha=alpha, linewidth=0.0, label=label)
    if points is not None:
        across, up = drawn(points, "points")
        shown.scatter(across, up, s=10, color=GREY, zorder=3)
    shown.plot(place, line, color=BLUE, linewidth=1.6, zorder=4)
    if ticks is not None:
        foot = shown.get_xaxis_transform()
        for where, strong in drawn(ticks, "ticks").T:
            shown.plot(
                [where, where],
                [0.0, 0.06],
                color=VERMILION,
                alpha=float(np.clip(strong, 0.0, 1.0)),
                transform=foot,
                linewidth=2.0,
            )
    shown.set_xlabel(xlabel)
    shown.set_ylabel(ylabel)
    if ends:
        legend_above(shown, ncols=min(len(ends), 3))
    return shown


@one_at_a_time
def plot_path(
    values: ArrayLike,
    *,
    marks: ArrayLike | None = None,
    level: float | None = None,
    ax: Axes | None = None,
    xlabel: str = "",
    ylabel: str = "",
) -> Axes:
    """Plot a quantity after each row.

    Parameters
    ----------
    values : array_like of shape (t,)
        The quantity after rows 1 to t.
    marks : array_like of bool, shape (t,), optional
        Rows marked on the line.
    level : float, optional
        Height of a horizontal line.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    xlabel, ylabel : str
        Axis labels.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `values` cannot be drawn, or `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_path([3.0, 2.0, 2.5], ax=Figure().subplots(), xlabel="Row")
    >>> ax.get_xlabel()
    'Row'
    """
    path = drawn(values, "values")
    shown = curve_axes(ax)
    rows = np.arange(1, path.size + 1)
    if level is not None:
        shown.axhline(level, color=GREY, linewidth=0.8, linestyle="--", zorder=1)
    shown.plot(rows, path, color=BLUE, linewidth=1.2, zorder=2)
    if marks is not None:
        marked = np.asarray(marks)
        shown.scatter(rows[marked], path[marked], s=10, color=VERMILION, zorder=3)
    shown.set_xlabel(xlabel)
    shown.set_ylabel(ylabel)
    shown.set_ylim(bottom=0.0)
    return shown


MARKERS = "os^Dv"
# Horizontal distance between markers, so that error bars at equal points do not overlap.
APART = 0.08


@one_at_a_time
def plot_lines(
    series: Mapping[str, tuple[ArrayLike, ...]],
    *,
    ax: Axes | None = None,
    xlabel: str = "",
    ylabel: str = "",
    log: bool = False,
) -> Axes:
    """Plot series against whole numbers, such as orders, with two standard errors on either side.

    Parameters
    ----------
    series : mapping of str to (x, y) or (x, y, error)
        Vectors of equal length, by label.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    xlabel, ylabel : str
        Axis labels.
    log : bool, default False
        Whether the vertical axis is logarithmic.

    Returns
    -------
    matplotlib Axes
        The axes, with a legend if there is more than one series.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `series` has values that cannot be drawn, or `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_lines({"groups": ([1, 2], [3, 7])}, ax=Figure().subplots(), xlabel="Order")
    >>> ax.get_xlabel()
    'Order'
    """
    shown: Any = curve_axes(ax, (5.2, 3.4))
    middle = (len(series) - 1) / 2
    for k, ((label, given), colour, marker) in enumerate(
        zip(series.items(), cycle(CHAIN_COLOURS), cycle(MARKERS), strict=False)
    ):
        vectors = drawn(given, f"series[{label!r}]")
        x = vectors[0] + (APART * (k - middle) if len(vectors) == 3 else 0.0)
        error = 2 * vectors[2] if len(vectors) == 3 else None
        shown.errorbar(
            x, vectors[1], error, color=colour, marker=marker, markersize=4, linewidth=1.2, label=label
        )
    from matplotlib.ticker import MaxNLocator

    shown.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    if log:
        shown.set_yscale("log")
    shown.set_xlabel(xlabel)
    shown.set_ylabel(ylabel)
    if len(series) > 1:
        legend_above(shown, ncols=min(len(series), 3))
    return shown
