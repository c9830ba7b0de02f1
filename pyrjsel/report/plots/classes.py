"""Plots for classification: observations in a plane with ellipses, and calibration of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.report.plots._drawing import (
    BLUE,
    GREY,
    curve_axes,
    drawn,
    legend_above,
    one_at_a_time,
)
from pyrjsel.report.plots.traces import CHAIN_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "os^Dv<>p"


@dataclass(frozen=True, eq=False)
class Ellipses:
    """Ellipses with axes parallel to those of the plane.

    Attributes
    ----------
    centre, radius : ndarray, shape (e, 2)
        Centre and radius of each ellipse along both axes.
    group : ndarray of int, shape (e,)
        Class whose colour each ellipse has.
    strength : ndarray, shape (e,)
        Opacity of each ellipse, from 0 to 1.
    """

    centre: FloatArray
    radius: FloatArray
    group: IntArray
    strength: FloatArray


@one_at_a_time
def plot_plane(
    points: ArrayLike,
    group: ArrayLike,
    names: Sequence[str],
    ellipses: Ellipses,
    *,
    ax: Axes | None = None,
    xlabel: str = "",
    ylabel: str = "",
) -> Axes:
    """Plot points of several classes in a plane, with ellipses.

    Parameters
    ----------
    points : array_like of shape (n, 2)
        Coordinates; points with a NaN are not shown.
    group : array_like of int, shape (n,)
        Class of each point, -1 for none.
    names : sequence of str, length K
        Names of the classes.
    ellipses : Ellipses
        Drawn below the points; they do not change the limits of the axes.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    xlabel, ylabel : str
        Axis labels.

    Returns
    -------
    matplotlib Axes
        The axes, with a legend of the classes.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If points cannot be drawn, or `ax` is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> one = Ellipses(np.zeros((1, 2)), np.ones((1, 2)), np.array([0]), np.ones(1))
    >>> ax = plot_plane([[0, 1], [2, 0]], [0, 1], ["a", "b"], one, ax=Figure().subplots(), xlabel="x")
    >>> ax.get_xlabel(), len(ax.collections)
    ('x', 3)
    """
    place, of = drawn(points, "points", missing=True), np.asarray(group)
    shown = curve_axes(ax, (5.6, 4.4))
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import to_rgba

    colours = [CHAIN_COLOURS[k % len(CHAIN_COLOURS)] for k in range(len(names))]
    edges = [
        to_rgba(colours[k], 0.08 + 0.42 * strength)
        for k, strength in zip(ellipses.group.tolist(), ellipses.strength.tolist(), strict=True)
    ]
    shown.add_collection(
        EllipseCollection(
            2 * ellipses.radius[:, 0],
            2 * ellipses.radius[:, 1],
            np.zeros(len(edges)),
            units="xy",
            offsets=ellipses.centre,
            offset_transform=shown.transData,
            facecolors="none",
            edgecolors=edges,
            linewidths=0.8,
            zorder=1,
        ),
        autolim=False,
    )
    for k in range(-1, len(names)):
        rows = of == k
        if rows.any() or k >= 0:
            shown.scatter(
                place[rows, 0],
                place[rows, 1],
                s=14 if k >= 0 else 9,
                marker=MARKERS[k % len(MARKERS)] if k >= 0 else "o",
                facecolors="none" if k >= 0 else GREY,
                edgecolors=colours[k] if k >= 0 else "none",
                linewidths=0.9,
                label=names[k] if k >= 0 else "no label",
                zorder=3 if k >= 0 else 2,
            )
    shown.set_xlabel(xlabel.replace("$", r"\$"))
    shown.set_ylabel(ylabel.replace("$", r"\$"))
    legend_above(shown, ncols=min(len(names) + 1, 5))
    return shown


@one_at_a_time
def plot_calibration(table: pd.DataFrame, what: str, *, ax: Axes | None = None) -> Axes:
    """Plot observed proportions of an event against predicted probabilities.

    Parameters
    ----------
    table : DataFrame
        Calibration table, as from :func:`calibration_table`.
    what : str
        Name of the event.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes: one point per bin, with an area that grows with its number of observations, and two standard
        errors on either side of the diagonal.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `ax` is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from pyrjsel.report import calibration_table
    >>> table = calibration_table(np.array([0.1, 0.3, 0.8]), np.array([0, 1, 1]), 2)
    >>> plot_calibration(table, "rain", ax=Figure().subplots()).get_xlabel()
    'Predicted probability of rain'
    """
    shown = curve_axes(ax, (4.6, 4.2))
    predicted = table["predicted"].to_numpy()
    low, high = np.clip([predicted - 2 * table["se"], predicted + 2 * table["se"]], 0, 1)
    shown.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--", zorder=1)
    shown.vlines(predicted, low, high, color=GREY, linewidth=1.2, zorder=2, label="expected ± 2 SE")
    area = 12 + 130 * table["rows"] / table["rows"].max()
    shown.scatter(predicted, table["observed"], s=area, color=BLUE, zorder=3, label="observed")
    shown.set_xlim(-0.03, 1.03)
    shown.set_ylim(-0.03, 1.03)
    shown.set_xlabel(f"Predicted probability of {what}")
    shown.set_ylabel("Observed share")
    legend_above(shown, ncols=2)
    return shown
