"""Plot of a curve with bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._validate import bad_value
from pyrjsel.report.plots._drawing import (
    BLUE,
    GREY,
    HIGHEST,
    VERMILION,
    curve_axes,
    drawable,
    legend_above,
    numbers,
    one_at_a_time,
    vector,
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
        If values cannot be drawn, differ in length, or `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_band([0, 1], [2, 3], {"95 %": ([1, 2], [3, 4])}, ax=Figure().subplots(), xlabel="x")
    >>> ax.get_xlabel()
    'x'
    """
    place = numbers(x)
    if place is None or place.ndim != 1 or not drawable(place) or np.any(np.diff(place) < 0):
        raise bad_value("x", f"a vector of increasing numbers up to {HIGHEST:g}", x)

    def series(values: ArrayLike, name: str, length: int) -> np.ndarray:
        found = vector(values, name, length)
        if not drawable(found):
            raise bad_value(name, f"finite numbers up to {HIGHEST:g}", values)
        return found

    line = series(curve, "curve", place.size)
    ends = {
        label: [series(end, f"bands[{label!r}]", place.size) for end in pair] for label, pair in bands.items()
    }
    shown = curve_axes(ax)
    for depth, (label, (lower, upper)) in enumerate(ends.items(), start=1):
        alpha = 0.35 * depth / len(ends)
        shown.fill_between(place, lower, upper, color=BLUE, alpha=alpha, linewidth=0.0, label=label)
    if points is not None:
        size = np.size(points[0])
        shown.scatter(
            series(points[0], "points", size),
            series(points[1], "points", size),
            s=10,
            color=GREY,
            zorder=3,
        )
    shown.plot(place, line, color=BLUE, linewidth=1.6, zorder=4)
    if ticks is not None:
        size = np.size(ticks[0])
        strength = np.clip(series(ticks[1], "ticks", size), 0.0, 1.0)
        foot = shown.get_xaxis_transform()
        for where, strong in zip(series(ticks[0], "ticks", size), strength, strict=True):
            shown.plot(
                [where, where],
                [0.0, 0.06],
                color=VERMILION,
                alpha=float(strong),
                transform=foot,
                linewidth=2.0,
            )
    shown.set_xlabel(xlabel)
    shown.set_ylabel(ylabel)
    if ends:
        legend_above(shown, ncols=min(len(ends), 3))
    return shown
