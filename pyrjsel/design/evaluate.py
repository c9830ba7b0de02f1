"""Evaluation of a factor of a formula on its checked syntax tree.

Names in value position are columns only; names in call position are allowed functions only. So a formula
cannot reach a module, an attribute or a builtin.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError, FormulaError, ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import show
from pyrjsel.design.categories import Asked, Categories, Contrast, check_asked
from pyrjsel.design.frame import Column, array_series, as_array, plain_level
from pyrjsel.design.safety import ARRAY_FUNCTIONS, MAX_INTEGER, SPLINES, STATEFUL, Expression, stateful_calls
from pyrjsel.design.transforms import OutsideKnotsError, State, Summary, apply_transform, summarise_transform

Function = Callable[..., object]
_T = TypeVar("_T")

# Relative difference of the values of a function on all rows and on a part that is due to rounding.
SAME = 1e-9

_OPERATORS: dict[type[ast.operator], Function] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: np.logical_and,
    ast.BitOr: np.logical_or,
    ast.BitXor: np.logical_xor,
}
_LOGIC = (ast.BitAnd, ast.BitOr, ast.BitXor)
# What is meant by an operator between values that are not True or False.
_CONDITION = ("np.where()", "write a condition, as in np.where(x > 1, x, 1)")
_SIGNS: dict[type[ast.operator | ast.unaryop], tuple[str, str]] = {
    ast.BitAnd: ("&", "write conditions as in I((a > 1) & (b > 1)), and interactions as a:b"),
    ast.BitOr: (
        "|",
        (
            "write conditions as in I((a > 1) | (b > 1)); random effects are not available, and "
            "C(g) includes groups as a factor"
        ),
    ),
    ast.BitXor: ("^", "write powers as **, inside I()"),
    ast.Invert: ("~", "write a condition, as in ~(x == 0)"),
}
_COMPARISONS: dict[type[ast.cmpop], Function] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Evaluator:
    """Evaluates factors on the rows of some columns.

    Parameters
    ----------
    columns : mapping of str to Column
        Columns of n rows each, none of them missing.
    n_rows : int
        Number n of rows.
    functions : mapping of str to callable
        The user's functions.
    """

    def __init__(self, columns: Mapping[str, Column], n_rows: int, functions: Mapping[str, Function]) -> None:
        self._columns = columns
        self._n_rows = n_rows
        self._functions = functions
        self._expression: Expression
        self._states: list[State | None] = []
        self._slots: dict[int, int] = {}
        self._learning = False
        self._asked: list[Asked] = []
        self.checking = False  # whether the user's functions are tried on parts of the rows

    def learn(self, expression: Expression) -> tuple[FloatArray | Categories, tuple[State, ...]]:
        """Return the value of a factor, and the learned states of its transforms, outer ones first."""
        self._prepare(expression)
        self._learning = self.checking = True
        value = self._finish(self._value(expression.tree))
        for asked in self._asked:
            check_asked(asked.label, asked.known(), expression)
        return value, tuple(state for state in self._states if state is not None)

    def summarise(
        self, expression: Expression, states: Sequence[State | None]
    ) -> tuple[dict[int, Summary], list[Asked]]:
        """Summarise a part of the rows for the stateful transforms of a factor.

        Parameters
        ----------
        expression : Expression
            The factor.
        states : sequence of (dict or None)
            Learned states of its transforms; None for the others.

        Returns
        -------
        summaries : dict of int to Summary
            Summaries by position, for transforms without a state whose arguments can be computed.
        asked : list of Asked
            The labels in comparisons.
        """
        calls = self._prepare(expression, states)
        found: dict[int, Summary] = {}
        for slot, call in enumerate(calls):
            inside = [self._slots[id(inner)] for inner in stateful_calls(call)[1:]]
            if states[slot] is None and all(states[inner] is not None for inner in inside):
                name, args, named = self._arguments(call)
                found[slot] = self._summary(name, args, named)
        return found, self._asked

    def conclude(self, expression: Expression, summary: Summary) -> State:
        """Return the state of a transform of a factor, learned from all rows."""
        self._expression = expression
        return self._guarded(summary.name, summary.state)

    def apply(self, expression: Expression, states: Sequence[State]) -> FloatArray | Categories:
        """Return the value of a factor with learned transforms."""
        return self.look(expression, states)[0]

    def look(
        self, expression: Expression, states: Sequence[State]
    ) -> tuple[FloatArray | Categories, list[Asked]]:
        """Return the value of :meth:`apply`, and the labels in comparisons."""
        calls = self._prepare(expression, states)
        if len(calls) != len(states):
            raise DataError(f"{called()} has {len(states)} states for the term {expression.label!r}.")
        return self._finish(self._value(expression.tree)), self._asked

    def _prepare(self, expression: Expression, states: Sequence[State | None] = ()) -> list[ast.Call]:
        self._expression = expression
        calls = [] if isinstance(expression.tree, ast.Name) else stateful_calls(expression.tree)
        self._slots = {id(call): slot for slot, call in enumerate(calls)}
        self._states, self._learning, self._asked = list(states or [None] * len(calls)), False, []
        return calls

    # -- nodes

    def _value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._column(node.id)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._value(item) for item in node.elts]
        raise self._refusal(f"has a {type(node).__name__}")

    def _column(self, name: str) -> object:
        column = self._columns[name]
        if not column.numeric:
            return Categories(column.values, column.levels)
        view = column.values.view()
        view.flags.writeable = False  # a user's function must not change the data
        return view

    def _call(self, node: ast.Call) -> object:
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            args = [self._value(item) for item in node.args]
            if name == "where":
                args = [self._truth(args[0]), *args[1:]]
            args = [self._number(item, f"np.{name}()", text=True) for item in args]
            return self._guarded(f"np.{name}", lambda: ARRAY_FUNCTIONS[name].function(*args))
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "I":
            return self._value(node.args[0])
        if name == "C":
            return self._categorical(node)
        if name in STATEFUL:
            return self._stateful(node)
        args = [self._value(item) for item in node.args]
        named = {item.arg: self._value(item.value) for item in node.keywords if item.arg is not None}
        args = [item.values if isinstance(item, Categories) else item for item in args]
        named = {key: item.values if isinstance(item, Categories) else item for key, item in named.items()}
        found = self._shaped(self._functions[name](*args, **named), f"{name}()")
        if self.checking and self._n_rows > 1:
            self._check_by_row(name, args, named, found)
        return found

    def _check_by_row(
        self, name: str, args: list[object], named: dict[str, object], found: np.ndarray
    ) -> None:
        """Raise :class:`ParameterError` if a function gives other values for rows on their own."""
        for part in (slice(0, None, 2), slice(1, None, 2)):

            def some(value: Any, part: slice = part) -> Any:
                rows = isinstance(value, np.ndarray) and value.ndim and len(value) == self._n_rows
                return value[part] if rows else value

            try:
                others = {key: some(value) for key, value in named.items()}
                again = as_array(self._functions[name](*map(some, args), **others))
                same = again.shape == found[part].shape and _equal(again, found[part])
                reason = "it gives other values"
            except (ValueError, TypeError, IndexError, KeyError, ArithmeticError) as error:
                same, reason = False, f"it says {error}"
            if not same:
                raise ParameterError(
                    f"The 'functions' parameter of {called()} has {name!r}, which does not work row by row: "
                    f"for every second row alone {reason}, so that predictions would depend on the other new "
                    "rows. Compute the column in the data, or use center(), standardize() or a spline, which "
                    "keep what they learn."
                )

    def _stateful(self, node: ast.Call) -> object:
        name, args, named = self._arguments(node)
        slot = self._slots[id(node)]
        if self._learning:
            summary = self._summary(name, args, named)
            self._states[slot] = self._guarded(name, summary.state)
        elif name in SPLINES:
            for item in (*args, *named.values()):
                if isinstance(item, np.ndarray) and item.shape == (self._n_rows,) and item.dtype.kind == "f":
                    self._check_finite(item[:, None])
        state = self._states[slot]
        assert state is not None
        return self._guarded(name, lambda: apply_transform(name, state, args, named))

    def _arguments(self, node: ast.Call) -> tuple[str, list[object], dict[str, object]]:
        """Return the name and the arguments of a stateful transform."""
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        args = [self._number(self._value(item), f"{name}()", text=True) for item in node.args]
        named = {item.arg: self._value(item.value) for item in node.keywords if item.arg is not None}
        if not any(isinstance(item, np.ndarray) for item in (*args, *named.values())):
            raise self._refusal(f"calls {name}() without a column")
        if self._expression.centred and node is self._expression.tree and (name == "te" or len(args) < 6):
            named = {"constraints": "center", **named}
        return name, args, named

    def _summary(self, name: str, args: list[object], named: dict[str, object]) -> Summary:
        return self._guarded(name, lambda: summarise_transform(name, args, named))

    def _categorical(self, node: ast.Call) -> Categories:
        value = self._value(node.args[0])
        named = {item.arg: item.value for item in node.keywords}
        contrast = node.args[1] if len(node.args) > 1 else named.get("contrast")
        levels = node.args[2] if len(node.args) > 2 else named.get("levels")
        if not isinstance(value, Categories):
            array = self._shaped(value, "C()")
            if array.ndim != 1:
                raise self._refusal("calls C() with more than one column")
            value = Categories(self._labels(array, node.args[0]))
        if levels is not None:
            written = ast.literal_eval(levels)
            if (
                not isinstance(written, (list, tuple))
                or not all(isinstance(item, (str, int, float)) for item in written)
                or len(set(map(str, written))) != len(written)
            ):
                raise self._refusal("has a levels= that is not a list of distinct numbers or strings")
            value = replace(value, levels=tuple(plain_level(item) for item in written))
        read = None if contrast is None else _read_contrast(contrast)
        merge = named.get("merge")
        if isinstance(merge, ast.Constant) and merge.value:
            read = replace(read or Contrast("Treatment"), merge=True)
        return value if read is None else replace(value, contrast=read)

    def _labels(self, array: np.ndarray, node: ast.expr) -> np.ndarray:
        """Return numbers as labels, integers if the columns hold integers, for names without ``.0``."""
        if array.dtype.kind in "fiu":
            names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
            kinds = {self._columns[name].kind for name in names if name in self._columns}
            if kinds <= {"integer", "boolean"} and np.array_equal(array, np.floor(array)):
                return array.astype(np.int64)
        return array

    def _binary(self, node: ast.BinOp) -> object:
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(node.op, _LOGIC):
            sides = [self._truth(left, node.op), self._truth(right, node.op)]
        else:
            sides = [self._number(left, "arithmetic"), self._number(right, "arithmetic")]
        self._check_shapes(sides)
        whole = all(isinstance(side, int) for side in sides)
        if not any(isinstance(side, np.ndarray) for side in sides):
            sides = [float(side) for side in sides]  # so that 9**9**9 overflows at once
        result = self._guarded("arithmetic", lambda: _OPERATORS[type(node.op)](*sides))
        if whole and isinstance(result, float) and result.is_integer() and abs(result) <= MAX_INTEGER:
            return int(result)
        return result

    def _unary(self, node: ast.UnaryOp) -> object:
        value = self._value(node.operand)
        if isinstance(node.op, ast.Invert):
            return np.logical_not(self._truth(value, node.op))
        number = self._number(value, "arithmetic")
        return -number if isinstance(node.op, ast.USub) else number

    def _compare(self, node: ast.Compare) -> object:
        sides = [self._value(item) for item in (node.left, *node.comparators)]
        parts = [self._compare_two(op, sides[i], sides[i + 1]) for i, op in enumerate(node.ops)]
        result: Any = parts[0]
        for part in parts[1:]:  # a < x < b: both comparisons hold
            result = np.logical_and(result, part)
        return result

    def _compare_two(self, op: ast.cmpop, left: object, right: object) -> Any:
        function = _COMPARISONS[type(op)]
        if isinstance(left, Categories) or isinstance(right, Categories):
            if not isinstance(op, (ast.Eq, ast.NotEq)):
                raise self._refusal("compares the order of values in a column that is not numeric")
            self._ask(left, right)
            sides = [side.values if isinstance(side, Categories) else side for side in (left, right)]
            if not all(isinstance(side, (np.ndarray, str, bool, int, float)) for side in sides):
                raise self._refusal("compares a column with something that is not a single value")
            return np.asarray(function(*sides), dtype=bool)
        sides = [self._number(side, "a comparison") for side in (left, right)]
        self._check_shapes(sides)
        for side in sides:
            if isinstance(side, np.ndarray) and side.ndim and side.dtype.kind == "f":
                # No comparison with NaN holds, and what is not known would be False.
                self._check_finite(np.where(np.isnan(side), side, 0.0).reshape(self._n_rows, -1))
        return function(*sides)

    def _ask(self, left: object, right: object) -> None:
        """Record a label that is compared with values."""
        column, label = (left, right) if isinstance(left, Categories) else (right, left)
        if isinstance(column, Categories) and isinstance(label, (str, bool, int, float)):
            self._asked.append(Asked(label, column.values))

    # -- checks

    def _number(self, value: object, where: str, text: bool = False) -> Any:
        """Return a numeric value; booleans of rows become 0 and 1."""
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "fiub":
                # numpy's sum of two booleans is a boolean, and their difference an error.
                return value.astype(np.float64, copy=False)
            if text and value.dtype.kind in "OSUT":
                return value
            raise self._refusal(f"has an array of {value.dtype} in {where}")
        if isinstance(value, (np.generic, int, float)) or (
            text and (value is None or isinstance(value, (str, list)))
        ):
            return value
        if isinstance(value, Categories):
            raise DataError(
                f"{called()} cannot compute {self._expression.label!r}: a column of text or "
                f"categories is used in {where}. Compare it, as in I(x == 'a'), or make it numeric in "
                "the data."
            )
        raise self._refusal(f"has {show(value)} in {where}")

    def _truth(self, value: object, sign: ast.operator | ast.unaryop | None = None) -> Any:
        if isinstance(value, bool) or (isinstance(value, np.ndarray) and value.dtype == bool):
            return value
        name, cure = _SIGNS[type(sign)] if sign else _CONDITION
        raise self._refusal(f"uses {name} on values that are not True or False ({cure})")

    def _check_shapes(self, sides: list[object]) -> None:
        shapes = {side.shape for side in sides if isinstance(side, np.ndarray) and side.ndim}
        if len(shapes) > 1:
            # numpy would silently broadcast (n,) against (n, n).
            raise self._refusal(f"combines arrays of shapes {' and '.join(map(str, sorted(shapes)))}")

    def _shaped(self, value: object, where: str) -> np.ndarray:
        try:
            array = as_array(value)
        except ValueError as error:
            raise self._refusal(f"gives {where} a shape that is not a matrix: {error}") from error
        if array.ndim not in (1, 2) or array.shape[0] != self._n_rows:
            raise self._refusal(f"gives {where} shape {array.shape}, but it must have {self._n_rows} rows")
        return array

    def _finish(self, value: object) -> FloatArray | Categories:
        """Return the value of a whole factor as float64 (n, k) or as labels, or raise."""
        if not isinstance(value, Categories):
            array = self._shaped(value, "a value of")
            if array.dtype.kind in "OSUT":
                flat = array_series(array) if array.ndim == 1 else None
                if flat is None or flat.isna().any():
                    raise DataError(
                        f"{called()} computed {self._expression.label!r}, which must be numbers or text "
                        "without missing values."
                    )
                inferred = pd.api.types.infer_dtype(flat, skipna=True)
                if inferred == "string":
                    value = Categories(flat.to_numpy(dtype=object))
                elif inferred not in ("integer", "floating", "mixed-integer-float", "boolean", "decimal"):
                    raise DataError(
                        f"{called()} computed {self._expression.label!r} of mixed kind: {inferred}."
                    )
            elif array.dtype.kind not in "fiub":
                raise DataError(
                    f"{called()} computed {self._expression.label!r} of dtype {array.dtype}, not numbers."
                )
        if isinstance(value, Categories):
            if value.values.dtype.kind == "f":
                self._check_finite(value.values[:, None])
            return value
        try:
            numbers = array.astype(np.float64, copy=False)
        except OverflowError as error:
            raise DataError(
                f"{called()} computed integers too large for floats in {self._expression.label!r}."
            ) from error
        numbers = numbers[:, None] if numbers.ndim == 1 else numbers
        self._check_finite(numbers)
        return numbers

    def _check_finite(self, numbers: FloatArray) -> None:
        bad = ~np.isfinite(numbers).all(axis=1)
        if bad.any():
            what = "NaN" if np.isnan(numbers).any() else "infinite values"
            raise DataError.of_rows(
                f"{called()} computed {what} for the term {self._expression.label!r} in {int(bad.sum())} "
                f"of {self._n_rows} rows that have no missing value. Check its arguments.",
                np.asarray(bad),
                self._expression.variables,
            )

    def _guarded(self, what: str, compute: Callable[[], _T]) -> _T:
        try:
            # NaN and infinity are detected in the result, where the message can name the term.
            with np.errstate(all="ignore"):
                return compute()
        except (
            TypeError,
            ValueError,
            ArithmeticError,
            NotImplementedError,
            IndexError,
            AssertionError,
        ) as error:
            start = f"{called()} cannot compute {self._expression.label!r}: "
            if isinstance(error, OutsideKnotsError) and error.rows is not None:
                names = self._expression.variables
                raise OutsideKnotsError.of_rows(f"{start}{error}", error.rows, names) from error
            if isinstance(error, DataError):
                raise DataError(f"{start}{error}") from error
            said = error.args[-1] if error.args else type(error).__name__
            raise FormulaError(f"{start}{what} says {said}.") from error

    def _refusal(self, reason: str) -> FormulaError:
        return FormulaError(f"The formula of {called()} {reason}, in {show(self._expression.label)}.")


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether arrays of one shape are equal, numbers up to rounding."""
    if one.dtype.kind in "fiub" and other.dtype.kind in "fiub":
        size = np.abs(other[np.isfinite(other)]).max(initial=0)
        return bool(np.allclose(one, other, rtol=SAME, atol=SAME * size, equal_nan=True))
    return bool((pd.isna(one) == pd.isna(other)).all() and (pd.isna(one) | (one == other)).all())


def _read_contrast(node: ast.expr) -> Contrast | None:
    if isinstance(node, ast.Name):
        return Contrast(node.id)
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        args = tuple(ast.literal_eval(item) for item in node.args)
        named = tuple((item.arg, ast.literal_eval(item.value)) for item in node.keywords if item.arg)
        return Contrast(node.func.id, args, named)
    rows = ast.literal_eval(node)
    return None if rows is None else Contrast(None, (rows,))
