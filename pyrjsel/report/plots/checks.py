"""Plots of posterior predictive checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._typing import FloatArray
from pyrjsel.report.plots._drawing import (
    BLUE,
    VERMILION,
    curve_axes,
    drawn,
    legend_above,
    one_at_a_time,
    pyplot,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Up to this many distinct values get a bar each; otherwise this is the number of bars.
BARS = 30


@one_at_a_time
def plot_check(
    name: str, replicated: ArrayLike, observed: ArrayLike, p_value: float, *, ax: Axes | None = None
) -> Axes:
    """Plot the histogram of a statistic of simulated responses and its value for the data.

    Parameters
    ----------
    name : str
        Name of the statistic.
    replicated : array_like of shape (m,)
        The statistic of simulated responses.
    observed : array_like of shape (m,)
        The statistic of the data: a line if it is the same for all draws, otherwise a second histogram.
    p_value : float
        Shown in the legend.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If values cannot be drawn, or `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_check("zeros", [0.2, 0.3, 0.25], [0.5, 0.5, 0.5], 0.0, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'zeros'
    """
    simulated, seen = drawn(replicated, "replicated"), drawn(observed, "observed")
    ax = curve_axes(ax, (6.4, 3.3))
    label = f"data (p = {p_value:.3f})"
    if np.ptp(seen) == 0:
        ax.hist(simulated, bins=bar_edges(simulated), color=BLUE, alpha=0.75, label="simulated")
        ax.axvline(seen[0], color=VERMILION, linewidth=2, label=label)
    else:
        edges = bar_edges(np.concatenate([simulated, seen]))
        ax.hist(simulated, bins=edges, color=BLUE, alpha=0.75, label="simulated")
        ax.hist(seen, bins=edges, histtype="step", color=VERMILION, linewidth=2, label=label)
    ax.set_xlabel(name.replace("$", r"\$"))
    ax.set_ylabel("Draws")
    legend_above(ax, ncols=2)
    return ax


@one_at_a_time
def plot_checks(found: Sequence[tuple[str, ArrayLike, ArrayLike, float]]) -> np.ndarray:
    """Plot several statistics as :func:`plot_check` does, one per panel of a new figure.

    Parameters
    ----------
    found : sequence of (name, replicated, observed, p_value)
        As for :func:`plot_check`.

    Returns
    -------
    ndarray of matplotlib Axes
        One for each statistic.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    """
    columns = min(len(found), 2)
    rows = -(-len(found) // columns)
    size = (4.6 * columns, 2.9 * rows)
    figure, axes = pyplot().subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for ax in axes.flat[len(found) :]:
        figure.delaxes(ax)
    panels: np.ndarray = axes.ravel()[: len(found)]
    for ax, (name, replicated, observed, p_value) in zip(panels, found, strict=True):
        ax.spines[["top", "right"]].set_visible(False)
        plot_check(name, replicated, observed, p_value, ax=ax)
    return panels


def bar_edges(values: FloatArray) -> list[float]:
    """Return the edges of bars: around each value if there are few, otherwise of equal width."""
    levels = np.unique(values)
    if levels.size == 1:
        half = 0.5 * max(abs(float(levels[0])), 1.0)
        return [levels[0] - half, levels[0] + half]
    if levels.size > BARS:
        return np.histogram_bin_edges(values, BARS).tolist()
    middles = 0.5 * (levels[1:] + levels[:-1])
    first, last = levels[0] - (middles[0] - levels[0]), levels[-1] + (levels[-1] - middles[-1])
    return [first, *middles.tolist(), last]
