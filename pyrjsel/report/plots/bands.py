"""Plot of a curve with bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

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
