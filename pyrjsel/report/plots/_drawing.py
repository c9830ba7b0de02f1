"""Shared parts of plots: colours, axes, axis labels, and what can be drawn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import bad_value, check_bool, check_int

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Drawn = TypeVar("Drawn")
Parameters = ParamSpec("Parameters")
# matplotlib is not thread-safe, even for separate figures.
_drawing = threading.RLock()

# Blue and vermilion of Okabe and Ito, distinguishable with every kind of colour vision.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREY = "#8C8C8C"
FAINT = "#E6E6E6"
# Height in inches of the margins, of a row of text, and of a row if there are many.
FRAME = 1.3
ROW, TIGHT_ROW = 0.2, 0.15
MANY = 40
# Largest number that is drawn: margins beyond it, and differences, must not overflow.
HIGHEST = 1e300


def one_at_a_time(draw: Callable[Parameters, Drawn]) -> Callable[Parameters, Drawn]:
    """Decorate a function that uses matplotlib: only one such function runs at a time."""

    @wraps(draw)
    def wait(*args: Parameters.args, **named: Parameters.kwargs) -> Drawn:
        with _drawing:
            return draw(*args, **named)

    return wait


def pyplot() -> Any:
    """Return matplotlib.pyplot.

    Raises
    ------
    NotAvailableError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise NotAvailableError(
            "Plots need matplotlib, which is not installed. Install it with: pip install 'pyrjsel[plots]'"
        ) from error
    return plt


def row_axes(ax: Axes | None, *, width: float, rows: int) -> Axes:
    """Return `ax`, or axes in a new figure with room for `rows` rows of text."""
    row = ROW if rows <= MANY else TIGHT_ROW
    return _axes(ax, (width, max(2.4, FRAME + row * rows)))


def curve_axes(ax: Axes | None, size: tuple[float, float] = (6.4, 3.6)) -> Axes:
    """Return `ax`, or axes in a new figure without the upper and right lines."""
    shown = _axes(ax, size)
    if ax is None:
        shown.spines[["top", "right"]].set_visible(False)
    return shown


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or axes in a new figure, or raise :class:`ParameterError`."""
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    if not isinstance(ax, plt.Axes):
        raise bad_value("ax", "a matplotlib Axes or None", ax)
    return ax


def name_axis(ax: Any, names: Sequence[str]) -> None:
    """Put names on the vertical axis, the first on top, and remove the frame."""
    size = 9.0 if len(names) <= MANY else 7.5
    ax.set_yticks(np.arange(len(names)), [_short(name) for name in names], fontsize=size)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


def legend_above(ax: Any, **options: Any) -> None:
    """Put the legend above the axes: with many rows there is no free corner."""
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small", **options)


def row_order(probability: FloatArray, top: int | None, sort: bool) -> IntArray:
    """Return the rows to show: the `top` of highest probability, by probability or in their order."""
    highest = np.argsort(-probability, kind="stable")
    order = highest if check_bool(sort, "sort") else np.arange(probability.size)
    if top is None:
        return order
    return order[np.isin(order, highest[: check_int(top, "top", low=1)])]


def _short(name: str) -> str:
    """Return a label short enough to leave room for the plot, with mathematics escaped."""
    text = str(name)
    text = text if len(text) <= 36 else text[:20] + "…" + text[-15:]
    return text.replace("$", r"\$")


def drawn(values: ArrayLike | tuple[ArrayLike, ...], name: str, *, missing: bool = False) -> FloatArray:
    """Return `values` as floats, or raise an error unless all can be drawn; NaN can, if `missing`."""
    array = np.asarray(values, dtype=np.float64)
    if not np.all((np.abs(array) <= HIGHEST) | (missing & np.isnan(array))):
        or_nan = " or NaN" if missing else ""
        raise bad_value(name, f"finite numbers{or_nan}, none beyond {HIGHEST:g}", values)
    return array
