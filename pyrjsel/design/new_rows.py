"""New data: columns of the design for new rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError, PyrjselWarning
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._warnings import warn
from pyrjsel.design.build import Response, check_finite
from pyrjsel.design.categories import Categories
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.extras import extra_names, read_extra
from pyrjsel.design.frame import Column, Table, complete
from pyrjsel.design.layout import Factor, Layout, Variable
from pyrjsel.design.levels import find_levels
from pyrjsel.design.transforms import OutsideKnotsError

Function = Callable[..., object]


@dataclass(frozen=True, eq=False)
class DesignRows:
    """The columns of a design for new rows.

    Attributes
    ----------
    X : ndarray, shape (n, D), or WideMatrix
        float64 in Fortran order, without an intercept; a row with a missing input is NaN throughout.
    index : Index
        Labels of the n rows, in the order of the new data.
    extras : dict of str to (ndarray, shape (n,), or None)
        Weights, offset and the like, NaN where missing; None for one that was an array in the fit and is not
        given.
    """

    X: Any
    index: pd.Index
    extras: dict[str, FloatArray | None]


def compute_rows(layout: Layout, table: Table, functions: Mapping[str, Function]) -> FloatArray:
    """Return the columns of a design for all rows of a table.

    Rows with a missing input, or outside the boundary knots of a B-spline, are NaN.

    Warns
    -----
    PyrjselWarning
        If rows are outside boundary knots; it gives their number.
    """
    needed: dict[str, str] = {}
    for term in layout.terms:
        for name in term.variables:
            needed.setdefault(name, term.name)
    columns, positions = _complete(layout.variables.values(), needed, table)
    X, outside, reason = None, 0, ""
    while X is None and len(positions):
        try:
            X = layout.matrix(columns, len(positions), functions)
        except OutsideKnotsError as error:
            # One spline after another: rows outside the knots of one are not computed for the next.
            kept = np.flatnonzero(~error.rows)
            outside, reason = outside + len(positions) - len(kept), reason or str(error)
            positions = positions[kept]
            columns = {name: column.take(kept) for name, column in columns.items()}
    if outside:
        text = f"{outside} of {len(table)} rows are outside the boundary knots, so their predictions are NaN"
        warn(f"{text}. {reason}", PyrjselWarning)
    if X is not None and len(positions) == len(table):
        return X
    full = np.full((len(table), len(layout.column_names)), np.nan, order="F")
    if X is not None:
        full[positions] = X
    return full


def compute_response(response: Response, table: Table, functions: Mapping[str, Function]) -> FloatArray:
    """Return the response for all rows of a table, shape (n,), NaN where an input is missing.

    Positions among the classes, if it has any.
    """
    label = response.expression.label
    needed = dict.fromkeys(response.variables, label)
    columns, positions = _complete(response.variables.values(), needed, table)
    y = np.full(len(table), np.nan)
    if len(positions) and response.levels is not None:
        left = Factor(response.expression, response.states, 1, response.levels)
        y[positions] = find_levels(left, columns, len(positions), functions)
    elif len(positions):
        evaluator = Evaluator(columns, len(positions), functions)
        value = evaluator.apply(response.expression, response.states)
        if isinstance(value, Categories) or value.shape[1] != 1:
            raise DataError(
                f"The response {label!r} of {called()} must be one numeric column, as in the fit."
            )
        y[positions] = value[:, 0]
    return y


def compute_extras(
    known: Mapping[str, str | None], given: object, table: Table
) -> dict[str, FloatArray | None]:
    """Return the extras of new rows: those given, else the columns of the fit, else None."""
    extra_names(given)  # checks the type; None means that the extra is not used
    chosen: dict[str, object] = dict(known)
    if isinstance(given, Mapping):
        chosen.update(given)
    result: dict[str, FloatArray | None] = {}
    for key, value in chosen.items():
        if value is None:
            result[key] = None
            continue
        column = read_extra(key, value, table)
        check_finite((column,))
        numbers = np.full(len(table), np.nan)
        numbers[~column.missing] = column.values[~column.missing].astype(np.float64)
        result[key] = numbers
    return result


def _complete(
    variables: Iterable[Variable], needed: Mapping[str, str], table: Table
) -> tuple[dict[str, Column], IntArray]:
    """Return the columns on the complete rows, and the positions of these rows."""
    columns = {
        variable.name: conform(table.column(variable.name, needed_by=needed[variable.name]), variable)
        for variable in variables
    }
    check_finite(tuple(columns.values()))
    return complete(columns, len(table))


def conform(column: Column, variable: Variable) -> Column:
    """Return a column of new data in its kind of the fit, or raise :class:`DataError`.

    Numbers may have any numeric or boolean dtype, booleans may be 0 and 1, text may be categories of text and
    vice versa, and categories of numbers may be numbers and vice versa.
    """
    # Only that it is categorical matters here: the factors keep their own levels.
    levels = () if variable.categorical else None
    if column.empty or column.missing.all():  # no value determines its kind
        kind = "boolean" if variable.kind == "boolean" and not variable.categorical else "real"
        empty = np.zeros(len(column.values), dtype=bool if kind == "boolean" else np.float64)
        if variable.kind == "text" or variable.categorical:
            empty = np.full(len(column.values), None, dtype=object)
        return Column(column.name, variable.kind, empty, column.missing, levels)
    text = variable.kind == "text"
    if text != (column.kind == "text"):
        raise _other_kind(column, variable)
    if text or variable.categorical:
        return Column(column.name, variable.kind, column.values.astype(object), column.missing, levels)
    values = column.values
    if column.categorical:
        values = np.where(column.missing, np.nan, values).astype(np.float64)
    if variable.kind == "boolean":
        present = values[~column.missing]
        if not ((present == 0) | (present == 1)).all():
            raise DataError(
                f"The column {column.name!r} of the new data of {called()} was boolean in the fit and "
                "must hold 0 and 1 or False and True."
            )
        return Column(column.name, "boolean", (values == 1) & ~column.missing, column.missing)
    return Column(column.name, column.kind, values.astype(np.float64, copy=False), column.missing)


def _other_kind(column: Column, variable: Variable) -> DataError:
    def described(kind: str, categorical: bool) -> str:
        return f"categories of kind {kind}" if categorical else f"{kind} values"

    return DataError(
        f"The column {column.name!r} of the new data of {called()} must hold "
        f"{described(variable.kind, variable.categorical)}, as in the fit. "
        f"Got {described(column.kind, column.categorical)} instead."
    )
