"""Plot of series against whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from pyrjsel.report.plots._drawing import curve_axes, drawn, legend_above, one_at_a_time
from pyrjsel.report.plots.traces import CHAIN_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
