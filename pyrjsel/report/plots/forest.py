"""Plot of model-averaged coefficients with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel.report.plots._drawing import (
    BLUE,
    GREY,
    drawn,
    legend_above,
    name_axis,
    one_at_a_time,
    row_axes,
    row_order,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Areas of dots for inclusion probabilities 0 and 1, in points squared.
SMALLEST, LARGEST = 4.0, 40.0
# Distance between the two marks of a row, in rows.
APART = 0.26


@one_at_a_time
def plot_coefficients(
    names: Sequence[str],
    inclusion: ArrayLike,
    mean: ArrayLike,
    ci_lower: ArrayLike,
    ci_upper: ArrayLike,
    mean_included: ArrayLike,
    sd_included: ArrayLike,
    *,
    ax: Axes | None = None,
    top: int | None = None,
    sort: bool = True,
    label: str = "Coefficient",
) -> Axes:
    """Plot model-averaged coefficients and, below each, the coefficient given inclusion.

    Parameters
    ----------
    names : sequence of str, length K
        Columns of the design.
    inclusion : array_like of shape (K,)
        Inclusion probabilities; a dot's area grows with them.
    mean, ci_lower, ci_upper : array_like of shape (K,)
        Posterior mean over all models and the ends of the credible interval, drawn in blue.
    mean_included, sd_included : array_like of shape (K,)
        Mean and standard deviation given inclusion, drawn in grey with two standard deviations on either
        side; NaN for a column that was in no model, which gets no grey mark.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that is high enough for all rows by default.
    top : int, optional
        Show only the `top` columns of highest inclusion probability; the axis says so.
    sort : bool
        Whether columns are sorted by inclusion probability rather than kept in order.
    label : str
        Label of the horizontal axis.

    Returns
    -------
    matplotlib Axes
        The axes, one row per column of the design, the first on top.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If a mean or end is not finite (a mean given inclusion may be NaN), or `ax`, `top` or `sort` is not
        valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_coefficients(
    ...     ["age", "sex"], [0.2, 0.9], [0.1, -1], [0, -2], [1, 0], [0.5, -1.1], [0.3, 0.4],
    ...     ax=Figure().subplots(),
    ... )
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sex', 'age']
    """
    count, share = len(names), np.asarray(inclusion)
    middle, low, high = drawn(mean, "mean"), drawn(ci_lower, "ci_lower"), drawn(ci_upper, "ci_upper")
    inner = drawn(mean_included, "mean_included", missing=True)
    spread = 2 * drawn(sd_included, "sd_included", missing=True)
    order = row_order(share, top, sort)
    shown = order.size
    ax = row_axes(ax, width=6.8, rows=shown)
    y = np.arange(shown)
    ax.axvline(0.0, color=GREY, linewidth=0.8, linestyle="--", zorder=1)
    known = ~np.isnan(inner[order])
    row, below = order[known], y[known] + APART
    ax.hlines(below, inner[row] - spread[row], inner[row] + spread[row], color=GREY, linewidth=0.8, zorder=2)
    ax.scatter(
        inner[row],
        below,
        marker="|",
        s=18,
        color=GREY,
        linewidth=1.0,
        zorder=2,
        label="given inclusion, ± 2 sd",
    )
    ax.hlines(y, low[order], high[order], color=BLUE, linewidth=1.8, zorder=3)
    area = SMALLEST + (LARGEST - SMALLEST) * share[order]
    ax.scatter(
        middle[order], y, s=area, color=BLUE, zorder=4, label="all models, 95 % interval (area: inclusion)"
    )
    rest = "" if shown == count else f"\n(the {shown} most probable of {count} columns)"
    ax.set_xlabel(label + rest)
    name_axis(ax, [names[k] for k in order])
    legend_above(ax, ncols=2)
    return ax
