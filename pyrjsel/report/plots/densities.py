"""Plot of posterior densities of coefficients, with the probability of exclusion as a spike at zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value
from pyrjsel.report.plots._drawing import (
    BLUE,
    VERMILION,
    drawn,
    one_at_a_time,
    pyplot,
    row_order,
)

# Fewer draws other than 0 have no curve.
FEWEST = 50
# Curves are drawn, and smoothed, over this central share of the draws: heavy tails would flatten them.
CENTRAL = 0.99
POINTS = 200
ACROSS = 3


@one_at_a_time
def plot_densities(
    names: Sequence[str],
    inclusion: ArrayLike,
    draws: ArrayLike,
    *,
    ax: ArrayLike | None = None,
    top: int | None = None,
    sort: bool = True,
    label: str = "Coefficient",
) -> NDArray[Any]:
    """Plot the posterior density of each coefficient given inclusion, and a spike at zero.

    The spike has the height of the probability of exclusion, and the maximum of the curve is the inclusion
    probability, so that panels can be compared.

    Parameters
    ----------
    names : sequence of str, length K
        Columns of the design.
    inclusion : array_like of shape (K,)
        Inclusion probabilities.
    draws : array_like of shape (m, K)
        Draws of the coefficients, 0 where a column is excluded.
    ax : array_like of matplotlib Axes, optional
        Where to draw, one for each panel; a new figure by default.
    top : int, optional
        Show only the `top` columns of highest inclusion probability.
    sort : bool
        Whether columns are sorted by inclusion probability rather than kept in order.
    label : str
        Label of the horizontal axes.

    Returns
    -------
    ndarray of matplotlib Axes
        One panel per column. A column with fewer than 50 draws other than 0 has no curve.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If draws cannot be drawn, or `ax`, `top` or `sort` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> draws = np.random.default_rng(1).normal(1.0, 0.1, size=(200, 1))
    >>> axes = plot_densities(["age"], [0.9], draws, ax=[Figure().subplots()])
    >>> axes[0].get_title()
    'age'
    """
    share, values = np.asarray(inclusion), drawn(draws, "draws")
    order = row_order(share, top, sort)
    axes = _panels(ax, order.size)
    for each, k in zip(axes, order, strict=True):
        points, density = _curve(values[:, k])
        height = share[k] * density
        each.fill_between(points, height, color=BLUE, alpha=0.25, linewidth=0)
        each.plot(points, height, color=BLUE, linewidth=1.2)
        if share[k] < 1:
            each.vlines(0.0, 0.0, 1.0 - share[k], color=VERMILION, linewidth=2.5)
        each.set_ylim(0.0, 1.05)
        each.set_title(names[k].replace("$", r"\$"), fontsize="medium")
        each.spines[["top", "right"]].set_visible(False)
        each.set_xlabel(label, fontsize="small")
    return axes


def _panels(ax: ArrayLike | None, count: int) -> NDArray[Any]:
    """Return `ax` as a vector of axes, or those of a new figure."""
    plt = pyplot()
    if ax is None:
        across = min(ACROSS, max(count, 1))
        down = -(-max(count, 1) // across)
        _, made = plt.subplots(
            down, across, squeeze=False, figsize=(2.8 * across, 0.4 + 1.9 * down), layout="constrained"
        )
        for spare in made.flat[count:]:
            spare.set_visible(False)
        return np.asarray(made.flat[:count])
    axes = np.asarray(ax, dtype=object).ravel()
    if axes.shape != (count,) or not all(isinstance(each, plt.Axes) for each in axes):
        raise bad_value("ax", f"{count} matplotlib Axes, or None", ax)
    return axes


def _curve(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return points and the density there, with a maximum of 1; nothing for few draws or equal ones."""
    inside = draws[draws != 0]
    if inside.size < FEWEST or np.ptp(inside) == 0:
        return np.empty(0), np.empty(0)
    low, high = np.quantile(inside, [0.5 - CENTRAL / 2, 0.5 + CENTRAL / 2])
    middle = inside[(inside >= low) & (inside <= high)]
    margin = 0.1 * (high - low)
    points = np.linspace(low - margin, high + margin, POINTS)
    density = scipy.stats.gaussian_kde(middle)(points)
    return points, density / density.max()
