"""The plot of the jointness of pairs of terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_int
from pyrjsel.report.jointness import MEASURES
from pyrjsel.report.plots._drawing import BLUE, VERMILION, name_axis, one_at_a_time, row_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With at most this many terms, the plot has the numbers.
WRITTEN = 12


@one_at_a_time
def plot_jointness(
    table: pd.DataFrame, inclusion: FloatArray, measure: str, *, ax: Axes | None = None, top: int = 15
) -> Axes:
    """Plot a measure of jointness as a coloured matrix.

    Parameters
    ----------
    table : DataFrame (J, J)
        As from :func:`~pyrjsel.report.jointness.jointness_table`.
    inclusion : ndarray (J,)
        Inclusion probabilities, which decide on the terms that are shown.
    measure : str
        The measure, for the scale and the label of the colours.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    top : int
        Number of terms, those with inclusion probabilities closest to a half, in their order.

    Returns
    -------
    matplotlib Axes
        The axes, one row and one column per term; up to 12 terms with the numbers.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `ax` or `top` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame([[np.nan, -0.8], [-0.8, np.nan]], ["age", "sex"], ["age", "sex"])
    >>> ax = plot_jointness(table, np.array([0.9, 0.2]), "yule", ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['-0.80', '-0.80']
    """
    top = check_int(top, "top", low=1)
    chosen = MEASURES[measure]
    kept = np.sort(np.argsort(np.abs(inclusion - 0.5), kind="stable")[:top])
    values = table.to_numpy()[np.ix_(kept, kept)]
    names = [str(table.index[place]) for place in kept]
    ax = row_axes(ax, width=max(4.0, 2.4 + 0.28 * len(names)), rows=max(len(names), 6))
    from matplotlib.colors import LinearSegmentedColormap

    finite = np.abs(values[np.isfinite(values)])
    limit = chosen.range if np.isfinite(chosen.range) else max(float(finite.max(initial=0.0)), 1.0)
    colours = [VERMILION, "#FFFFFF", BLUE] if chosen.signed else ["#FFFFFF", BLUE]
    places = np.arange(len(names))
    edges = np.arange(len(names) + 1) - 0.5
    mesh = ax.pcolormesh(
        edges,
        edges,
        np.ma.masked_invalid(np.clip(values, -limit, limit)),
        cmap=LinearSegmentedColormap.from_list(measure, colours),
        vmin=-limit if chosen.signed else 0.0,
        vmax=limit,
        edgecolors="white",
        linewidth=0.8,
    )
    name_axis(ax, names)
    ax.set_xticks(places, [label.get_text() for label in ax.get_yticklabels()], rotation=90)
    ax.tick_params(axis="x", length=0, labelsize="small")
    ax.spines["bottom"].set_visible(False)
    ax.set_aspect("equal")
    if len(names) <= WRITTEN:
        for row, column in np.argwhere(~np.isnan(values)).tolist():
            value = values[row, column]
            colour = "white" if abs(value) > 0.6 * limit else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", size="x-small", color=colour)
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.8)
    bar.outline.set_visible(False)
    rest = f"\n({len(names)} of {len(table)} terms)" if len(names) < len(table) else ""
    bar.set_label(chosen.label + rest)
    return ax
