"""Plot of estimates with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel.report.plots._drawing import (
    BLUE,
    GREY,
    drawn,
    name_axis,
    one_at_a_time,
    row_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@one_at_a_time
def plot_intervals(
    names: Sequence[str],
    middle: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    inner: tuple[ArrayLike, ArrayLike] | None = None,
    symlog: bool = False,
    ax: Axes | None = None,
    label: str = "",
) -> Axes:
    """Plot estimates with intervals, one row each, with a line at 0.

    Parameters
    ----------
    names : sequence of str, length K
        Names of the quantities.
    middle, lower, upper : array_like of shape (K,)
        Estimates and ends of their intervals.
    inner : (lower, upper), optional
        Ends of a narrower interval, drawn thicker.
    symlog : bool, default False
        Whether the axis is logarithmic beyond -1 and 1.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that is high enough for all rows by default.
    label : str
        Label of the horizontal axis.

    Returns
    -------
    matplotlib Axes
        The axes, the first quantity on top.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If values cannot be drawn, or `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_intervals(["a", "b"], [0, 1], [-1, 0.5], [1, 2], ax=Figure().subplots(), label="Value")
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_yticklabels()]
    ('Value', ['a', 'b'])
    """
    points = drawn(middle, "middle")
    intervals = [((lower, upper), 1.0 if inner else 1.8), *([(inner, 3.0)] if inner else [])]
    ax = row_axes(ax, width=6.8, rows=len(names))
    y = np.arange(len(names))
    ax.axvline(0.0, color=GREY, linewidth=0.8, linestyle="--", zorder=1)
    for ends, linewidth in intervals:
        ax.hlines(y, *drawn(ends, "intervals"), color=BLUE, linewidth=linewidth, zorder=2)
    ax.scatter(points, y, s=20, color=BLUE, zorder=3)
    if symlog:
        ax.set_xscale("symlog", linthresh=1.0)
        ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel(label)
    name_axis(ax, names)
    return ax
