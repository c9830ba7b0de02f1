"""Plots of inclusion probabilities under several priors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._validate import check_int
from pyrjsel.report.plots._drawing import BLUE, GREY, VERMILION, curve_axes, one_at_a_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, distinguishable with every kind of colour vision, without yellow, which is too
# faint.
COLOURS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")
MARKS = ("o", "s", "^", "D")
# Total length of the names of priors beyond which they do not fit side by side.
WIDE = 50


@one_at_a_time
def plot_sensitivity(
    names: Sequence[str],
    inclusion: ArrayLike,
    priors: Sequence[str],
    places: ArrayLike | None = None,
    label: str = "Prior",
    *,
    ax: Axes | None = None,
    top: int = 8,
) -> Axes:
    """Plot inclusion probabilities against priors, one line per term.

    Parameters
    ----------
    names : sequence of str, length J
        Terms.
    inclusion : array_like of shape (J, m)
        Inclusion probabilities.
    priors : sequence of str, length m
        Names of the priors.
    places : array_like of shape (m,), optional
        Positive values of a parameter, drawn on a logarithmic axis; by default the priors are drawn by name.
    label : str
        Label of the horizontal axis.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    top : int
        Number of terms with a colour and a label, those with the highest inclusion probability under any
        prior.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    ParameterError
        If `ax` or `top` is not valid.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> shares = [[0.5, 0.9], [0.2, 0.1]]
    >>> axes = Figure().subplots()
    >>> ax = plot_sensitivity(["age", "sex"], shares, ["g=1", "g=9"], [1, 9], "g", ax=axes)
    >>> ax.get_xscale()
    'log'
    """
    values = np.asarray(inclusion, dtype=float)
    top = check_int(top, "top", low=1)
    ax = curve_axes(ax, (7.5, 4.1))
    if places is None:
        x = np.arange(len(priors), dtype=float)
        turned = sum(map(len, priors)) > WIDE
        text = [name.replace("$", r"\$") for name in priors]
        ax.set_xticks(x, text, rotation=30 if turned else 0, ha="right" if turned else "center")
        ax.set_xlabel(label)
    else:
        x = np.asarray(places, dtype=float)
        ax.set_xscale("log")
        ax.set_xlabel(f"{label} (logarithmic)")
    order = np.argsort(x, kind="stable")
    shown = np.argsort(-values.max(axis=1, initial=0.0), kind="stable")
    for rank, term in enumerate(sorted(shown[:top].tolist())):
        turn = rank // len(COLOURS)
        ax.plot(
            x[order],
            values[term, order],
            color=COLOURS[rank % len(COLOURS)],
            linestyle=STYLES[turn % len(STYLES)],
            marker=MARKS[turn % len(MARKS)],
            markersize=4,
            label=names[term].replace("$", r"\$"),
            zorder=2,
        )
    rest = values[np.sort(shown[top:])][:, order]
    for place, line in enumerate(rest):
        name = f"{len(rest)} more" if place == len(rest) - 1 else None
        ax.plot(x[order], line, color=GREY, linewidth=0.7, alpha=0.6, zorder=1, label=name)
    ax.set_ylim(-0.02, 1.02)
    ax.set_ylabel("Posterior inclusion probability")
    if len(names):
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return ax
