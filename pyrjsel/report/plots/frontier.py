"""Plot of the best model under each budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel.report.plots._drawing import (
    BLUE,
    GREY,
    curve_axes,
    drawn,
    legend_above,
    one_at_a_time,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Areas of dots for probabilities 0 and 1, in points squared.
SMALLEST, LARGEST = 8.0, 120.0


@one_at_a_time
def plot_frontier(
    budget: ArrayLike,
    deviance: ArrayLike,
    posterior: ArrayLike,
    *,
    ax: Axes | None = None,
    xlabel: str = "Budget",
    ylabel: str = "Deviance",
) -> Axes:
    """Plot the deviance against the budget as steps, with a dot for each.

    Parameters
    ----------
    budget, deviance : array_like of shape (m,)
        Budgets in increasing order, and the deviance of the best model under each.
    posterior : array_like of shape (m,)
        Probability of that model; a dot's area grows with it.
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
        If a budget or deviance cannot be drawn, or `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_frontier([0, 2], [90.0, 70.0], [1.0, 0.6], ax=Figure().subplots())
    >>> ax.get_xlabel()
    'Budget'
    """
    x, y, share = drawn(budget, "budget"), drawn(deviance, "deviance"), np.asarray(posterior)
    shown = curve_axes(ax)
    shown.step(x, y, where="post", color=GREY, linewidth=1.2, zorder=1)
    area = SMALLEST + (LARGEST - SMALLEST) * share
    shown.scatter(x, y, s=area, color=BLUE, zorder=3)
    for probability in (0.1, 0.5, 1.0):
        size = SMALLEST + (LARGEST - SMALLEST) * probability
        shown.scatter([], [], s=size, color=BLUE, label=f"{probability:g}")
    legend_above(shown, ncols=3, title="Posterior given the budget", title_fontsize="small")
    shown.set_xlabel(xlabel)
    shown.set_ylabel(ylabel)
    return shown
