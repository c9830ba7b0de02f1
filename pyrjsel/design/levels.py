"""Features and responses as levels, learned from the training data and looked up for new rows."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError, FormulaError
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.design.build import (
    Complete,
    Held,
    Learner,
    Response,
    check_finite,
    learn_response,
    make_variables,
    needed_columns,
    read_rows,
)
from pyrjsel.design.categories import (
    Categories,
    check_known,
    check_levels,
    level_codes,
    level_positions,
    used_levels,
)
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.frame import Column, Kind, Level, Table, complete, placed
from pyrjsel.design.layout import Factor
from pyrjsel.design.safety import MAX_INTEGER, Expression
from pyrjsel.design.transforms import State

Function = Callable[..., object]

# Numeric features with more distinct whole numbers than this become labels only on request.
MOST_WHOLE = 20


def read_labelled(
    table: Table,
    response: Expression,
    features: Sequence[Expression],
    missing: str,
) -> Complete:
    """Return the columns of the response and the features on the rows used.

    With ``missing="level"`` these are the rows with a response, otherwise the complete rows.
    """
    if missing != "level":
        return read_rows(table, needed_columns(response, features), None, missing)
    rows = read_rows(table, needed_columns(response, ()), None, "drop")
    others = {
        name: table.column(name, needed_by=term).take(rows.positions)
        for name, term in needed_columns(None, features).items()
    }
    check_finite(tuple(others.values()))
    return replace(rows, columns={**others, **rows.columns})


def learn_levels(
    expression: Expression,
    columns: Mapping[str, Column],
    n_rows: int,
    functions: Mapping[str, Function],
    what: str,
    levels: tuple[Level, ...] | None = None,
    gap_counts: bool = True,
) -> tuple[Factor, bool, IntArray]:
    """Return the levels of a feature or of the response, and the codes of the training data.

    Parameters
    ----------
    expression : Expression
        Its expression.
    columns : mapping of str to Column
        The columns of the data; those that the expression uses may have missing values.
    n_rows : int
        Number n of rows.
    functions : mapping of str to callable
        The user's functions.
    what : str
        Its kind, for messages.
    levels : tuple of (str, int, float or bool), optional
        Its levels, if known; by default those that occur.
    gap_counts : bool, default True
        Whether a missing value counts as a level when at least two are required.

    Returns
    -------
    factor : Factor
        The factor, with its levels and the states of its transforms.
    gaps : bool
        Whether a value is missing.
    codes : ndarray of int64, shape (n,)
        Positions among the levels; one beyond them for a missing value.

    Raises
    ------
    DataError
        If there are no values, values are not labels, or all are equal; if a feature has more than 20
        distinct whole numbers and they are not marked as labels.
    """
    used, rows = complete({name: columns[name] for name in expression.variables}, n_rows)
    if not len(rows):
        raise DataError(f"The {what} {expression.label!r} of {called()} has no value in the rows used.")
    given = labelled(expression)
    value, states = Evaluator(used, len(rows), functions).learn(given)
    assert isinstance(value, Categories)
    value = as_labels(value, given is expression, expression.label)
    gaps = len(rows) < n_rows
    if levels is None:
        levels = used_levels(value, expression.label, what, least=1 if gaps and gap_counts else 2)
    else:
        check_known(pd.unique(value.values).tolist(), levels, expression.label, "classes")
    numeric = value.values.dtype.kind in "iu" and value.levels is None and given is not expression
    if what == "feature" and numeric and len(levels) > MOST_WHOLE:
        raise DataError(
            f"The feature {expression.label!r} of {called()} must have at most {MOST_WHOLE} distinct whole "
            f"numbers to be taken as labels without being marked. Got {len(levels)}. Bin them, for instance "
            f"with pandas.cut, or mark them as labels: C({expression.label}) in a formula, or a column of "
            "text or categories."
        )
    check_levels(levels, expression, len(rows), what)
    codes = np.full(n_rows, len(levels), dtype=np.int64)
    codes[rows] = level_codes(value, levels, expression)
    return Factor(given, states, 1, levels), gaps, codes


def learn_classes(
    expression: Expression,
    columns: Mapping[str, Column],
    n_rows: int,
    functions: Mapping[str, Function],
) -> tuple[Response, FloatArray]:
    """Return a response of labels with its classes, and their positions, shape (n,)."""
    left, _, codes = learn_levels(expression, columns, n_rows, functions, "response")
    variables = make_variables(columns, expression.variables)
    return Response(left.expression, left.states, variables, left.levels), codes.astype(np.float64)


def make_classes(
    given: Expression,
    expression: Expression,
    value: Categories,
    states: tuple[State, ...],
    columns: Mapping[str, Held],
) -> Response:
    """Return a response of labels, from the `expression` as in the formula and that of labels, `given`."""
    value = as_labels(value, given is expression, expression.label)
    levels = used_levels(value, expression.label, "response")
    return Response(given, states, make_variables(columns, given.variables), levels)


def learner(events: bool, classes: bool) -> Learner:
    """Return the function that learns the response, of numbers, of events or of classes."""
    return learn_classes if classes else partial(learn_response, events=events)


def find_levels(
    factor: Factor,
    columns: Mapping[str, Column],
    n_rows: int,
    functions: Mapping[str, Function],
    *,
    unseen: str = "raise",
    gaps: bool = False,
) -> IntArray:
    """Return the codes of new rows.

    Parameters
    ----------
    factor : Factor
        The feature or the response.
    columns, n_rows, functions
        As for :func:`learn_levels`, of m new rows.
    unseen : {"raise", "mark"}
        Whether a level that does not occur in the training data is an error, or coded -1.
    gaps : bool
        Whether missing values are a level of the fit.

    Returns
    -------
    ndarray of int64, shape (m,)
        Positions among the levels; one beyond them for a missing value, if that is a level.

    Raises
    ------
    DataError
        If a level is unseen and ``unseen="raise"``.
    """
    expression, levels = factor.expression, factor.levels or ()
    used, rows = complete({name: columns[name] for name in expression.variables}, n_rows)
    if unseen == "raise" and len(rows) < n_rows and not gaps:
        lacking = np.ones(n_rows, dtype=bool)
        lacking[rows] = False
        raise DataError.of_rows(
            f"{called()} got missing values of the term {expression.label!r} in {n_rows - len(rows)} rows. "
            "No row of the fit has a missing value, so this is an unseen level.",
            lacking,
        )
    codes = np.full(n_rows, len(levels) if gaps else -1, dtype=np.int64)
    if len(rows):
        with placed(rows, n_rows):
            value = Evaluator(used, len(rows), functions).apply(expression, factor.states)
            if not isinstance(value, Categories):
                raise DataError(
                    f"The values of {expression.label!r} of {called()} must be labels, as in the fit. Got "
                    "numbers instead."
                )
            if unseen == "raise":
                codes[rows] = level_codes(value, levels, expression)
            else:
                codes[rows] = level_positions(value.values, levels)
    return codes


def labelled(expression: Expression) -> Expression:
    """Return an expression as labels: inside ``C()``, if it is not."""
    if expression.call == "C":
        return expression
    return replace(expression, tree=ast.Call(ast.Name("C", ast.Load()), [expression.tree], []))


def as_labels(value: Categories, asked: bool, label: str) -> Categories:
    """Return numeric labels as whole numbers if they are, or raise :class:`DataError` unless asked for."""
    if value.contrast is not None:
        raise FormulaError(
            f"The formula of {called()} gives {label!r} a contrast, but labels cannot have one."
        )
    if value.values.dtype.kind != "f" or value.levels is not None:
        return value
    if (value.values == np.floor(value.values)).all() and (np.abs(value.values) <= MAX_INTEGER).all():
        return replace(value, values=value.values.astype(np.int64))
    if not asked:
        raise DataError(
            f"The values of {label!r} of {called()} must be labels: text, categories, booleans or whole "
            "numbers. Got real numbers instead; bin them with np.floor() or pandas.cut, or write "
            f"C({label}) in a formula to take each distinct number as a label."
        )
    return value


def kind_of(levels: Sequence[Level]) -> Kind:
    """Return the kind of a column with these levels."""
    if all(isinstance(level, bool) for level in levels):
        return "boolean"
    if all(isinstance(level, int) for level in levels):
        return "integer"
    return "text" if all(isinstance(level, str) for level in levels) else "real"
