"""Stateful transforms, with their states as plain numbers and arrays.

A state is a dict of arrays and numbers that can be saved; new rows depend on it alone. Rows may come in
parts: each part has a summary, summaries are merged, and the state is computed from the merged one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel.design.formula import SPLINE_STATE, apply_spline, learn_spline
from pyrjsel.design.safety import SPLINES

State = dict[str, object]


class OutsideKnotsError(DataError):
    """Values lie outside the boundary knots of a spline."""


MAX_DEGREE = 20  # of a B-spline
_PARAMETERS = ("x", "df", "knots")  # the first ones of bs, cr and cc


@dataclass(frozen=True, eq=False)
class Moments:
    """The state of ``center`` and ``standardize``: number of rows, means and sums of squares about them."""

    name: str
    n: int
    mean: FloatArray
    squares: FloatArray
    rescale: bool
    ddof: int

    def merge(self, other: "Summary") -> "Moments":
        """Return the moments of both sets of rows (Chan, Golub and LeVeque 1983, eq. 2.1)."""
        assert isinstance(other, Moments)
        n = self.n + other.n
        apart = other.mean - self.mean
        mean = self.mean + other.n / n * apart
        squares = self.squares + other.squares + self.n * (other.n / n) * apart**2
        return Moments(self.name, n, mean, squares, self.rescale, self.ddof)

    def state(self) -> State:
        """Return the state, or raise ``ValueError`` if there is none."""
        if self.name == "center":
            return {"mean": self.mean}
        if not self.rescale:
            return {"mean": self.mean, "sd": np.ones_like(self.mean)}
        if self.n <= self.ddof:
            raise ValueError(f"ddof={self.ddof} needs more than {self.n} rows")
        sd = np.sqrt(self.squares / (self.n - self.ddof))
        if not (sd > 0.0).all():
            raise ValueError("a constant column cannot be standardised")
        return {"mean": self.mean, "sd": sd}


@dataclass(frozen=True, eq=False)
class Arguments:
    """The state of a spline: its arguments, for exact quantiles; only their range if knots are given."""

    name: str
    parts: tuple[tuple[Sequence[object], Mapping[str, object]], ...]

    def merge(self, other: "Summary") -> "Arguments":
        """Return the arguments on both sets of rows."""
        assert isinstance(other, Arguments)
        return Arguments(self.name, self.parts + other.parts)

    def state(self) -> State:
        """Return the state, or raise ``ValueError`` or ``TypeError`` if the arguments are invalid."""
        args, named = self.parts[0]
        if len(self.parts) > 1:
            args = [self._joined([part[0][i] for part in self.parts]) for i in range(len(args))]
            named = {key: self._joined([part[1][key] for part in self.parts]) for key in named}
        if self.name != "te":
            _check_size(self.name, args, named)
        return learn_spline(self.name, args, named)

    @staticmethod
    def _joined(values: list[Any]) -> object:
        return np.concatenate(values) if isinstance(values[0], np.ndarray) else values[0]


Summary = Moments | Arguments


def summarise_transform(name: str, args: Sequence[object], named: Mapping[str, object]) -> Summary:
    """Return the summary of the arguments of transform `name` on some rows.

    Raises
    ------
    ValueError, TypeError
        If the arguments are invalid for the transform.
    """
    if name in SPLINES:
        return Arguments(name, (_ends(name, args, named),))
    if name == "center":
        x, rescale, ddof = _center(*args, **named), False, 0
    else:
        x, _, rescale, ddof = _standardize(*args, **named)
    mean = _mean(x)
    squares = np.atleast_1d(np.sum((np.atleast_1d(x) - mean) ** 2, axis=0))
    return Moments(name, len(x), mean, squares, rescale, ddof)


def learn_transform(name: str, args: Sequence[object], named: Mapping[str, object]) -> State:
    """Return the state that the transform `name` learns from its arguments.

    Raises
    ------
    ValueError, TypeError
        If the arguments are invalid for the transform.
    """
    return summarise_transform(name, args, named).state()


def apply_transform(
    name: str, state: Mapping[str, object], args: Sequence[object], named: Mapping[str, object]
) -> FloatArray:
    """Return the transform of its arguments with a learned state.

    Raises
    ------
    OutsideKnotsError
        If a value lies outside the boundary knots of ``bs``.
    """
    if name in SPLINES:
        if name == "bs":
            _check_bounds(state, args, named)
        return apply_spline(name, state, args, named)
    mean = np.asarray(state["mean"], dtype=np.float64)
    if name == "center":
        x = _center(*args, **named)
        return x - (mean if x.ndim == 2 else mean[0])
    x, center, rescale, _ = _standardize(*args, **named)
    sd = np.asarray(state["sd"], dtype=np.float64)
    if x.ndim == 1:
        mean, sd = mean[0], sd[0]
    if center:
        x = x - mean
    return x / sd if rescale else x


def check_state(name: str, state: object) -> State:
    """Return the state of a transform read from a saved design, or raise :class:`DataError`."""
    names: tuple[str, ...] = ("mean",) if name == "center" else ("mean", "sd")
    if name in SPLINES:
        names = SPLINE_STATE[name]
    if not isinstance(state, Mapping) or set(state) != set(names):
        must = f"it must hold {', '.join(names)}"
        raise DataError(f"The saved design of {called()} has a bad state of {name}(): {must}.")
    checked: State = {}
    for key in names:
        value = state[key]
        if value is None and key == "constraints":
            checked[key] = None
        elif key == "degree" and type(value) is int and 0 <= value <= MAX_DEGREE:
            checked[key] = value
        elif key != "degree" and isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size:
            if value.ndim != (2 if key == "constraints" else 1) or not np.isfinite(value).all():
                raise DataError(f"The saved design of {called()} has a bad {key} of {name}().")
            checked[key] = np.array(value)
        else:
            raise DataError(f"The saved design of {called()} has a bad {key} of {name}().")
    return checked


def _center(x: object) -> FloatArray:
    return _floats(x)


def _standardize(
    x: object, center: object = True, rescale: object = True, ddof: object = 0
) -> tuple[FloatArray, bool, bool, int]:
    if not isinstance(ddof, int) or ddof < 0:
        raise ValueError("ddof must be an int of at least 0")
    return _floats(x), bool(center), bool(rescale), ddof


def _floats(x: object) -> FloatArray:
    array = np.asarray(x, dtype=np.float64)
    if array.ndim not in (1, 2):
        raise ValueError("its argument must be a column")
    return array


def _ends(
    name: str, args: Sequence[object], named: Mapping[str, object]
) -> tuple[Sequence[object], Mapping[str, object]]:
    """Return the arguments of a spline, reduced to the range of its column if the knots are given."""
    given = dict(zip(_PARAMETERS, args, strict=False)) | dict(named) if name in ("cr", "cc", "bs") else {}
    constraints = args[5] if name != "bs" and len(args) > 5 else named.get("constraints")
    x = given.get("x")
    if given.get("knots") is None or given.get("df") is not None or constraints is not None:
        return args, named
    if not isinstance(x, np.ndarray) or x.ndim != 1:
        return args, named
    ends = np.array([x.min(), x.max()])
    return ([ends, *args[1:]], named) if args else (args, {**named, "x": ends})


def _check_size(name: str, args: Sequence[object], named: Mapping[str, object]) -> None:
    """Refuse more columns than rows and very high degrees, which would take too long to compute."""
    rows = np.asarray(args[0] if args else named.get("x")).size
    df = args[1] if len(args) > 1 else named.get("df")
    degree = args[3] if len(args) > 3 else named.get("degree")
    if name == "cr" and isinstance(df, (int, float)) and df < 2:
        raise ValueError(f"df={df} must be at least 2; a straight line is the column itself")
    if isinstance(df, (int, float)) and df > rows:
        raise ValueError(f"df={df} is larger than the number of rows, {rows}")
    if isinstance(degree, (int, float)) and degree > MAX_DEGREE:
        raise ValueError(f"degree={degree} is larger than {MAX_DEGREE}")


def _mean(x: FloatArray) -> FloatArray:
    return np.atleast_1d(x.mean(axis=0))


def _check_bounds(state: Mapping[str, object], args: Sequence[object], named: Mapping[str, object]) -> None:
    x = np.asarray(args[0] if args else named.get("x"), dtype=np.float64)
    knots = np.asarray(state["knots"], dtype=np.float64)
    rows = np.asarray((x < knots.min()) | (x > knots.max()))
    outside = int(rows.sum())
    if outside:
        raise OutsideKnotsError.of_rows(
            f"A B-spline bs() has {outside} value(s) outside its boundary knots "
            f"[{knots.min():g}, {knots.max():g}]. Widen them with lower_bound= and upper_bound=, or use "
            "cr().",
            rows,
        )
