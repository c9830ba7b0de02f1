"""New data: columns of the design for new rows."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, PyrjselWarning, UnknownNameError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import check_choice, counted, missing_column
from pyrjsel.design.build import Response, check_finite
from pyrjsel.design.categories import Categories, listed_levels
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.extras import extra_names, read_extra
from pyrjsel.design.frame import Column, Table, complete, placed
from pyrjsel.design.layout import Factor, Layout, Variable
from pyrjsel.design.levels import find_levels
from pyrjsel.design.transforms import OutsideKnotsError

Function = Callable[..., object]
T = TypeVar("T")

# Rows and values that are named in messages, and columns that are missing.
SHOWN, MOST_COLUMNS = 5, 10


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
    observed : ndarray of bool, shape (n, J), or None
        Whether the inputs of each term are there; None where rows with missing inputs are NaN.
    """

    X: Any
    index: pd.Index
    extras: dict[str, FloatArray | None]
    observed: BoolArray | None = None


class MissingColumnsError(UnknownNameError):
    """New rows lack columns that a prediction needs.

    Parameters
    ----------
    text : str
    lacking : list of str
        The columns.
    names : sequence of str
        The columns of the new rows.
    """

    def __init__(self, text: str, lacking: list[str], names: Sequence[str]) -> None:
        super().__init__(text)
        self.lacking, self.names = lacking, names

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.lacking, self.names)


def check_columns(
    needed: Iterable[str], table: Table, own: Container[str], terms: Mapping[str, str] | None = None
) -> None:
    """Raise :class:`MissingColumnsError` if new rows lack columns that are `needed`.

    Names that are the design's `own` are not misspelt. `terms` are those that need a column, by its name.
    """
    lacking = [name for name in dict.fromkeys(needed) if name not in table]
    if not lacking:
        return
    if len(lacking) == 1:
        text = str(missing_column(lacking[0], [name for name in table.names if name not in own]))
        text = text.removesuffix(" Known: none.")
        term = (terms or {}).get(lacking[0], lacking[0])
        if term != lacking[0]:
            text += f" The term {term!r} needs it."
    else:
        text = f"{called()} needs {counted(len(lacking), 'column')} that the data do not have: "
        text += f"{', '.join(repr(name) for name in lacking[:MOST_COLUMNS])}"
        text += f" and {len(lacking) - MOST_COLUMNS} more." if len(lacking) > MOST_COLUMNS else "."
    raise MissingColumnsError(text, lacking, table.names)


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
            with placed(positions, len(table)):
                X = layout.matrix(columns, len(positions), functions)
        except OutsideKnotsError as error:
            # One spline after another: rows outside the knots of one are not computed for the next.
            kept = np.flatnonzero(~np.asarray(error.rows)[positions])
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


def compute_observed(
    layout: Layout, table: Table, functions: Mapping[str, Function]
) -> tuple[FloatArray, BoolArray]:
    """Return the columns of a design term by term, and which terms have all their inputs, by row.

    The columns (n, D) of a term are NaN where it lacks inputs, which are those that are not in the table too.
    """
    X = np.full((len(table), len(layout.column_names)), np.nan, order="F")
    observed = np.zeros((len(table), len(layout.terms)), dtype=bool)
    missing = {name: table.column(name).missing for name in layout.variables if name in table}
    for j, term in enumerate(layout.terms):
        if all(name in missing for name in term.variables):
            observed[:, j] = True
            for name in term.variables:
                observed[missing[name], j] = False
            X[:, term.start : term.stop] = compute_rows(layout.restrict([j]), table, functions)
    return X, observed


def valid_rows(compute: Callable[[Table], T], table: Table, invalid: str | None) -> tuple[T, IntArray]:
    """Return what is computed of the rows of a table that can be used, and their positions.

    Parameters
    ----------
    compute : callable
        Raises :class:`DataError` with rows for those with infinite values, unseen levels, or terms that are
        not finite.
    table : Table
        The rows.
    invalid : {"raise", "nan"}, or None
        Whether such rows are an error or left out; None is an error where users cannot choose.

    Warns
    -----
    PyrjselWarning
        If rows are left out; it gives their number and the reason.
    """
    if invalid is not None:
        check_choice(invalid, "invalid", ("raise", "nan"))
    positions, whole = np.arange(len(table)), len(table)
    reasons: list[str] = []
    while True:
        try:
            found = compute(table)
            break
        except DataError as error:
            if error.rows is None:
                raise
            others = f"Of the other {len(table)} rows: " if reasons else ""
            reasons.append(f"{others}{error} {_rows_of(error.rows, error.names, table)}")
            if invalid != "nan":
                raise refusal(reasons[0], invalid) from error
            kept = np.flatnonzero(~error.rows)
            positions, table = positions[kept], table.take(kept)
    if reasons:
        text = f"{whole - len(positions)} of {whole} rows cannot be used, so their predictions are NaN."
        warn(" ".join([text, *reasons]), PyrjselWarning)
    return found, positions


def refusal(text: str, invalid: str | None) -> DataError:
    """Return an error that names the option of :func:`valid_rows`, where users have it."""
    return DataError(f"{text} With invalid='nan', predictions of such rows are NaN." if invalid else text)


def _rows_of(rows: BoolArray, names: Iterable[str], table: Table) -> str:
    """Return a sentence with the labels of invalid rows, and their values."""
    places = np.flatnonzero(rows)
    values = [
        f"{name} = {listed_levels(table.column(name).values[places].tolist(), SHOWN)}"
        for name in names
        if name in table
    ]
    which = f"Row{'s' if len(places) > 1 else ''} {listed_levels(table.index[places].tolist(), SHOWN)}"
    return f"{which}: {'; '.join(values)}." if values else f"{which}."


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
    known: Mapping[str, str | None], given: object, table: Table, invalid: str | None = None
) -> dict[str, FloatArray | None]:
    """Return the extras of new rows: those given, else the columns of the fit, else None.

    Infinite values are an error, or NaN with ``invalid="nan"``, of which a warning says how many there are.
    """
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
        rows = column.infinite()
        if rows is not None:
            labels = listed_levels(table.index[rows].tolist(), SHOWN)
            what = key if column.name == key else f"{key} {column.name!r}"
            text = (
                f"The {what} of {called()} is infinite in {int(rows.sum())} of {len(table)} rows: {labels}."
            )
            if invalid != "nan":
                raise refusal(text, invalid)
            warn(f"{text} Their predictions are NaN.", PyrjselWarning)
        numbers = np.full(len(table), np.nan)
        used = ~column.missing if rows is None else ~column.missing & ~rows
        numbers[used] = column.values[used].astype(np.float64)
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
