"""Plot of a quantity from row to row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel.report.plots._drawing import (
    BLUE,
    GREY,
    VERMILION,
    curve_axes,
    drawn,
    one_at_a_time,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
