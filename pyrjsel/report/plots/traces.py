"""Trace plots of chains, with the distribution of the draws."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value
from pyrjsel.report.plots._drawing import (
    BLUE,
    FAINT,
    HIGHEST,
    VERMILION,
    legend_above,
    one_at_a_time,
    pyplot,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours without yellow, which is too light for a line; recycled for later chains.
CHAIN_COLOURS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F3C8D")
# Most points of a chain in a trace; for longer chains every k-th draw is shown.
MOST_POINTS = 500
# A quantity with at most this many values gets a bar for each.
MOST_LEVELS = 40
# Limits of the number of bins of a histogram, the square root of the draws of a chain.
FEWEST_BINS, MOST_BINS = 10, 40
# Most chains that are listed in a legend.
MOST_NAMED = 8
# Draws are marked individually up to this many per chain.
FEW_DRAWS = 40


@one_at_a_time
def plot_trace(
    panels: Mapping[str, ArrayLike], *, continuous: Collection[str] = (), ax: ArrayLike | None = None
) -> NDArray[Any]:
    """Plot traces of quantities and, beside each, the distribution of its values.

    Parameters
    ----------
    panels : mapping of str to array_like, shape (chains, draws)
        The draws of each quantity, by the label of its axis. A quantity with fewer draws than another (such
        as differences) has no value for the first draws.
    continuous : collection of str
        Labels of quantities that get a histogram even if they have few values.
    ax : array_like of matplotlib Axes, shape (panels, 2), optional
        Where to draw; a new figure by default.

    Returns
    -------
    ndarray of matplotlib Axes, shape (panels, 2)
        One row per quantity: on the left the trace, one line per chain; on the right the proportion of draws
        with each value (or in each bin), as bars for all chains together and dots (or outlines) for each.
        Traces show at most 500 draws per chain, as the axis says; the proportions use all draws.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `ax` has the wrong shape.
    DataError
        If a value is not finite, or beyond 1e300.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = plot_trace({"Size": [[1, 2, 2, 3], [2, 2, 1, 2]]}, ax=Figure().subplots(1, 2, squeeze=False))
    >>> axes[0, 0].get_ylabel(), axes[0, 1].get_xlabel()
    ('Size', 'Share of draws')
    """
    values = {label: _matrix(label, draws) for label, draws in panels.items()}
    longest = max(draws.shape[1] for draws in values.values())
    axes = _grid(ax, len(values))
    from matplotlib.ticker import MaxNLocator

    step = -(-longest // MOST_POINTS)
    for (left, right), (label, draws) in zip(axes, values.items(), strict=True):
        levels = None if label in continuous else _levels(draws)
        _trace(left, draws, longest, step, stepped=levels is not None)
        if draws.size:
            _shares(right, draws, levels)
            lowest, highest = _limits(draws, levels)
            left.set_ylim(lowest, highest)
            right.set_ylim(lowest, highest)
            if np.all(draws == np.round(draws)):
                left.yaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        left.set_xlim(0.5 - 0.01 * longest, longest + 0.5 + 0.01 * longest)
        left.set_ylabel(label)
    for side in ("top", "right"):
        for each in axes.flat:
            each.spines[side].set_visible(False)
    shown = "" if step == 1 else f" (1 in {step} shown)"
    axes[-1, 0].set_xlabel(f"Draw{shown}")
    axes[-1, 1].set_xlabel("Share of draws")
    chains = next(iter(values.values())).shape[0]
    if 1 < chains <= MOST_NAMED:
        legend_above(axes[0, 0], ncols=min(chains, 4))
    return axes


def _matrix(label: str, draws: ArrayLike) -> FloatArray:
    matrix = np.asarray(draws, dtype=np.float64)
    if not np.all(np.abs(matrix) <= HIGHEST):
        raise DataError(
            f"The panel {label!r} of {called()} must be finite. It has NaN, infinite values, or values "
            f"beyond {HIGHEST:g}."
        )
    return matrix


def _grid(ax: ArrayLike | None, rows: int) -> NDArray[Any]:
    """Return `ax` as an array of axes, or the axes of a new figure."""
    plt = pyplot()
    if ax is None:
        size = (8.5, 1.0 + 1.6 * rows)
        _, new = plt.subplots(
            rows, 2, sharey="row", squeeze=False, figsize=size, width_ratios=(3, 1), layout="constrained"
        )
        for each in new[:-1, 0]:
            each.sharex(new[-1, 0])
            each.tick_params(axis="x", labelbottom=False)
        return np.asarray(new)
    axes = np.asarray(ax, dtype=object)
    if axes.shape != (rows, 2) or not all(isinstance(each, plt.Axes) for each in axes.flat):
        raise bad_value("ax", f"an array of matplotlib Axes of shape ({rows}, 2), or None", ax)
    return axes


def _levels(draws: FloatArray) -> FloatArray | None:
    """Return the distinct values of a quantity if they are few, or None.

    Sums of costs that differ only by rounding count as one value.
    """
    found = np.unique(draws)
    if found.size > 1:
        least = max(1e-9 * (found[-1] - found[0]), _rounding(found))
        found = found[np.concatenate([[True], np.diff(found) > least])]
    return found if found.size <= MOST_LEVELS else None


def _trace(ax: Axes, draws: FloatArray, longest: int, step: int, *, stepped: bool) -> None:
    """Draw every `step`-th draw of each chain."""
    number = np.arange(longest - draws.shape[1], longest, step) + 1
    drawstyle = "steps-mid" if stepped else "default"
    marker = "." if draws.shape[1] <= FEW_DRAWS else ""
    for chain, (line, colour) in enumerate(zip(draws, cycle(CHAIN_COLOURS), strict=False)):
        ax.plot(
            number,
            line[::step],
            color=colour,
            linewidth=0.7,
            alpha=0.8,
            drawstyle=drawstyle,
            marker=marker,
            label=f"chain {chain}",
        )


def _shares(ax: Axes, draws: FloatArray, levels: FloatArray | None) -> None:
    """Draw the proportion of draws with each value: bars for all chains, dots or outlines for each."""
    if levels is None:
        bins = min(max(int(np.sqrt(draws.shape[1])), FEWEST_BINS), MOST_BINS)
        edges = np.histogram_bin_edges(draws, bins=bins, range=_ends(draws))
        inner = edges[1:-1]
    else:
        inner = (levels[:-1] + levels[1:]) / 2
    places = np.searchsorted(inner, draws, side="right")
    shares = np.stack([np.bincount(row, minlength=inner.size + 1) / row.size for row in places])
    if levels is None:
        ax.stairs(shares.mean(axis=0), edges, orientation="horizontal", color=FAINT, fill=True)
    else:
        ax.barh(levels, shares.mean(axis=0), height=0.8 * _gap(levels), color=FAINT)
    if len(draws) > 1:
        for share, colour in zip(shares, cycle(CHAIN_COLOURS), strict=False):
            if levels is None:
                ax.stairs(share, edges, orientation="horizontal", color=colour, linewidth=0.8)
            else:
                ax.scatter(share, levels, s=7, color=colour, zorder=3)
    ax.set_xlim(left=0.0)


def _gap(levels: FloatArray) -> float:
    return float(np.diff(levels).min()) if levels.size > 1 else 1.0


def _rounding(draws: FloatArray) -> float:
    """Return the largest distance between values that is attributed to rounding."""
    return 4 * MOST_BINS * float(np.spacing(np.abs(draws).max()))


def _ends(draws: FloatArray) -> tuple[float, float]:
    """Return the lowest and the highest value, moved apart if they are equal up to rounding."""
    low, high, rounding = float(draws.min()), float(draws.max()), _rounding(draws)
    apart = 0.0 if high - low > rounding else max(1.0, rounding)
    return low - apart, high + apart


def _limits(draws: FloatArray, levels: FloatArray | None) -> tuple[float, float]:
    low, high = _ends(draws)
    if low < draws.min():
        return low, high
    margin = 0.04 * (high - low) if levels is None else 0.6 * _gap(levels)
    return low - margin, high + margin
