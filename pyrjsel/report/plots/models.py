"""Plots of model spaces: inclusion probabilities, their jointness, the best models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_int
from pyrjsel.report.jointness import MEASURES
from pyrjsel.report.plots._drawing import (
    BLUE,
    FAINT,
    GREY,
    VERMILION,
    curve_axes,
    legend_above,
    name_axis,
    one_at_a_time,
    row_axes,
    row_order,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Narrowest column of the model plot, as a proportion of its width, that is labelled with its rank.
LEAST_LABELLED = 0.035
# Sizes at both ends with smaller probabilities are not drawn.
LEAST_SHOWN = 0.001
# With more terms than this, the model plot shows only those in at least one of the models.
MOST_ROWS = 40


@one_at_a_time
def plot_inclusion(
    names: Sequence[str],
    prior: ArrayLike,
    posterior: ArrayLike,
    mcse: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    top: int | None = None,
    sort: bool = True,
) -> Axes:
    """Plot posterior inclusion probabilities with two Monte Carlo errors on either side.

    Parameters
    ----------
    names : sequence of str, length J
        Terms.
    prior, posterior : array_like of shape (J,)
        Inclusion probabilities; the prior is a tick, the posterior a dot.
    mcse : array_like of shape (J,), optional
        Monte Carlo standard errors; where NaN, no whisker is drawn. Whiskers end at 0 and 1.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that is high enough for all rows by default.
    top : int, optional
        Show only the `top` terms of highest posterior probability; the axis says so.
    sort : bool
        Whether the terms are sorted by posterior probability rather than kept in order.

    Returns
    -------
    matplotlib Axes
        The axes, one row per term, the first on top.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `ax`, `top` or `sort` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_inclusion(["age", "sex"], [0.5, 0.5], [0.9, 0.2], [0.02, 0.01], ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age', 'sex']
    """
    count, before, after = len(names), np.asarray(prior), np.asarray(posterior)
    errors = np.full(count, np.nan) if mcse is None else np.asarray(mcse)
    order = row_order(after, top, sort)
    shown = order.size
    ax = row_axes(ax, width=6.4, rows=shown)
    y = np.arange(shown)
    ax.hlines(y, 0, after[order], color=FAINT, linewidth=3, zorder=1)
    ax.axvline(0.5, color=GREY, linewidth=0.8, linestyle="--", zorder=1.5)
    ax.scatter(before[order], y, marker="|", s=70, color=VERMILION, linewidth=1.5, zorder=2, label="prior")
    whisker = 2 * np.nan_to_num(errors[order])
    low, high = np.clip([after[order] - whisker, after[order] + whisker], 0, 1)
    known = ~np.isnan(errors[order])
    ax.hlines(y[known], low[known], high[known], color=BLUE, linewidth=1.5, zorder=3)
    label = "posterior ± 2 MCSE" if known.any() else "posterior"
    ax.scatter(after[order], y, s=20, color=BLUE, zorder=4, label=label)
    ax.set_xlim(-0.02, 1.02)
    rest = "" if shown == count else f" (the {shown} highest of {count} terms)"
    ax.set_xlabel(f"Inclusion probability{rest}")
    name_axis(ax, [names[j] for j in order.tolist()])
    legend_above(ax, ncols=2)
    return ax


@one_at_a_time
def plot_sizes(
    sizes: ArrayLike,
    prior: ArrayLike,
    posterior: ArrayLike,
    mcse: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot prior and posterior probabilities of the number of terms.

    Sizes at both ends whose probabilities are all below 0.001 are left out.

    Parameters
    ----------
    sizes : array_like of int, shape (m,)
        Numbers of terms.
    prior, posterior : array_like of shape (m,)
        Their probabilities; the posterior is a bar, the prior a line. Where NaN, nothing is drawn.
    mcse : array_like of shape (m,), optional
        Monte Carlo standard errors of the posterior; where NaN, no whisker is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_sizes([0, 1, 2], [0.4, 0.3, 0.3], [0.1, 0.6, 0.3], ax=Figure().subplots())
    >>> len(ax.patches)
    3
    """
    at, before, after = np.asarray(sizes), np.asarray(prior), np.asarray(posterior)
    errors = np.full(at.size, np.nan) if mcse is None else np.asarray(mcse)
    matters = np.flatnonzero((np.nan_to_num(before) >= LEAST_SHOWN) | (after >= LEAST_SHOWN))
    shown = slice(matters.min(), matters.max() + 1) if matters.size else slice(None)
    at, before, after, errors = at[shown], before[shown], after[shown], errors[shown]
    ax = curve_axes(ax)
    known = ~np.isnan(errors)
    ax.bar(
        at,
        after,
        width=0.8,
        color=BLUE,
        alpha=0.75,
        label="posterior ± 2 MCSE" if known.any() else "posterior",
    )
    low, high = np.clip([after - 2 * errors, after + 2 * errors], 0, 1)
    ax.vlines(at[known], low[known], high[known], color="black", linewidth=1.2, zorder=3)
    ax.plot(at, before, marker="o", markersize=4, color=VERMILION, linewidth=1.2, zorder=4, label="prior")
    ax.set_xlabel("Number of terms")
    ax.set_ylabel("Probability")
    ax.set_ylim(bottom=0)
    ax.locator_params(axis="x", integer=True)
    legend_above(ax, ncols=2)
    return ax


@one_at_a_time
def plot_models(
    names: Sequence[str],
    gamma: ArrayLike,
    posterior: ArrayLike,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot which terms are in the best models: a column per model, as wide as its probability.

    Parameters
    ----------
    names : sequence of str, length J
        Terms.
    gamma : array_like of shape (m, J)
        1 or True where a model includes a term, best model first.
    posterior : array_like of shape (m,)
        Posterior probability of each model.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that is high enough for all rows by default.

    Returns
    -------
    matplotlib Axes
        The axes; the lower horizontal axis is the cumulative posterior mass, the upper one has the ranks of
        the models that are wide enough for a label. With more than 40 terms, those in none of the models are
        omitted; the lower axis says how many.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `ax` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_models(["age", "sex"], [[1, 0], [1, 1]], [0.6, 0.3], ax=Figure().subplots())
    >>> ax.get_xlabel()
    'Cumulative posterior mass (2 models with 0.900 in all)'
    """
    count, inside, mass = len(names), np.asarray(gamma, dtype=np.float64), np.asarray(posterior)
    used, left_out = np.flatnonzero(inside.any(axis=0)), ""
    if count > MOST_ROWS and 0 < used.size < count:
        left_out = f"\n({_counted(count - used.size, 'term')} in none of them left out)"
        names, inside, count = [names[j] for j in used.tolist()], inside[:, used], used.size
    edges = np.concatenate([[0.0], np.cumsum(mass)])
    ax = row_axes(ax, width=7.5, rows=count)
    from matplotlib.colors import ListedColormap

    ax.pcolormesh(
        edges,
        np.arange(count + 1) - 0.5,
        inside.T,
        cmap=ListedColormap([FAINT, BLUE]),
        vmin=0,
        vmax=1,
        rasterized=inside.size > 20_000,
    )
    ax.hlines(np.arange(count + 1) - 0.5, 0, edges[-1], color="white", linewidth=1.0)
    wide = mass / edges[-1] > 0.012  # lines between narrower columns would hide them
    ax.vlines(edges[1:][wide], -0.5, count - 0.5, color="white", linewidth=0.8)
    ax.set_xlim(0, edges[-1])
    shown = _counted(mass.size, "model")
    ax.set_xlabel(f"Cumulative posterior mass ({shown} with {edges[-1]:.3f} in all){left_out}")
    name_axis(ax, names)
    labelled = mass / edges[-1] >= LEAST_LABELLED
    upper = ax.secondary_xaxis("top")
    middles = (edges[:-1] + edges[1:]) / 2
    upper.set_xticks(middles[labelled], [str(rank) for rank in np.flatnonzero(labelled) + 1])
    upper.tick_params(length=0, labelsize="small")
    upper.spines["top"].set_visible(False)
    upper.set_xlabel("Model rank")
    return ax


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


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
