"""Construction of a design: columns, missing values, levels and transforms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pandas as pd

from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, FormulaError, MissingDataWarning, ParameterError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import check_choice, counted
from pyrjsel.design.categories import (
    Categories,
    are_numbers,
    check_levels,
    level_codes,
    listed_levels,
    no_numbers,
    used_levels,
)
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.extras import extra_names, read_extra
from pyrjsel.design.formula import CodingFactor, Subterm, code_terms
from pyrjsel.design.frame import Column, Kind, Level, Table
from pyrjsel.design.layout import Factor, Layout, Variable, split_levels, width
from pyrjsel.design.safety import Expression, is_boolean, read_expression
from pyrjsel.design.terms import make_terms, sort_terms
from pyrjsel.design.transforms import State

Function = Callable[..., object]

# With more labels a response is taken for numbers or names, and not for classes.
MOST_CLASSES = 20


class Held(Protocol):
    """A column of the data: kind and levels."""

    @property
    def kind(self) -> Kind:
        """Kind of its values or categories."""

    @property
    def categorical(self) -> bool:
        """Whether it is a pandas categorical."""


@dataclass(frozen=True, eq=False)
class DesignData:
    """The complete rows that a design was made from.

    Attributes
    ----------
    y : ndarray, shape (n,)
        The response, float64.
    X : ndarray, shape (n, D)
        The columns of the design, float64 in Fortran order, without an intercept.
    extras : dict of str to ndarray, shape (n,)
        Weights, offset and the like, float64, by name.
    index : Index
        Labels of the n rows.
    positions : ndarray of int64, shape (n,)
        Positions of the n rows in the data.
    n_rows : int
        Number of rows of the data, including those with missing values.
    missing : Series
        Number of missing values by column, where not 0.
    n_dropped : int
        Number of dropped rows: ``n_rows - n``.
    """

    y: FloatArray
    X: FloatArray
    extras: dict[str, FloatArray]
    index: pd.Index
    positions: IntArray
    n_rows: int
    missing: pd.Series
    n_dropped: int

    @property
    def n(self) -> int:
        """Number of rows used."""
        return int(self.y.size)

    def restrict(self, inside: BoolArray) -> "DesignData":
        """Return the same rows with the columns `inside` (D,)."""
        return replace(self, X=np.asfortranarray(self.X[:, inside]))


@dataclass(frozen=True, eq=False)
class Response:
    """The left-hand side, the states of its transforms, the columns that it uses, and its classes if any."""

    expression: Expression
    states: tuple[State, ...]
    variables: Mapping[str, Variable]
    levels: tuple[Level, ...] | None = None


# Learns the response from its expression, the columns, the number of rows and functions.
Learner = Callable[
    [Expression, Mapping[str, Column], int, Mapping[str, Function]],
    tuple[Response, FloatArray],
]


@dataclass(frozen=True, eq=False)
class Complete:
    """The rows without missing values."""

    columns: Mapping[str, Column]
    extras: Mapping[str, Column]
    positions: IntArray
    missing: pd.Series
    n_rows: int


def read_rows(table: Table, names: Mapping[str, str], extras: object, missing: str) -> Complete:
    """Return the used columns on the complete rows.

    Parameters
    ----------
    table : Table
        The data.
    names : mapping of str to str
        The needed columns, and the term that needs each.
    extras : mapping or None
        Weights, offset and the like.
    missing : {"drop", "raise"}
        Treatment of rows with missing values.

    Raises
    ------
    DataError
        If there are no rows, none is complete, a value is infinite, or values are missing with
        ``missing="raise"``.
    """
    check_choice(missing, "missing", ("drop", "raise"))
    wanted = extra_names(extras)
    if len(table) == 0:
        raise no_rows()
    rows = complete_rows(table, names, wanted)
    report_missing(rows.missing, len(table) - len(rows.positions), len(table), missing)
    check_finite((*rows.columns.values(), *rows.extras.values()))
    return rows


def complete_rows(table: Table, names: Mapping[str, str], extras: Mapping[str, object]) -> Complete:
    """Return the columns and the extras on the complete rows.

    Parameters
    ----------
    table : Table
        The data.
    names : mapping of str to str
        The needed columns, and the term that needs each.
    extras : mapping
        Weights, offset and the like.
    """
    columns = {name: table.column(name, needed_by=term) for name, term in names.items()}
    others = {key: read_extra(key, value, table) for key, value in extras.items()}
    counted = dict(columns)
    for key, column in others.items():
        # An array given as 'weights' is counted under another name than a column of that name.
        taken = counted.setdefault(column.name, column) is not column
        if taken:
            counted[f"{key}="] = column
    gone: BoolArray = np.zeros(len(table), dtype=bool)
    counts: dict[str, int] = {}
    for name, column in counted.items():
        if column.missing.any():
            gone |= column.missing
            counts[name] = int(column.missing.sum())
    positions = np.flatnonzero(~gone).astype(np.int64)
    if counts:
        columns = {name: column.take(positions) for name, column in columns.items()}
        others = {key: column.take(positions) for key, column in others.items()}
    series = pd.Series(counts, dtype=np.int64, name="missing")
    return Complete(columns, others, positions, series, len(table))


def no_rows() -> DataError:
    """Return the error for data without rows."""
    return DataError(f"The data of {called()} have no rows.")


def report_missing(counts: pd.Series, n_gone: int, n_rows: int, missing: str) -> None:
    """Warn or raise :class:`DataError` if rows have missing values; `counts` are by column."""
    if not len(counts):
        return
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{name}: {count}" for name, count in ordered[:10])
    if len(ordered) > 10:
        listed += f", ... {len(ordered)} columns in all"
    what = f"{n_gone} of {n_rows} rows have missing values ({listed})"
    if n_gone == n_rows:
        raise DataError(f"The data of {called()} have no complete row: {what}.")
    if missing == "raise":
        raise DataError(f"{what} in the data of {called()}. Use missing='drop' to drop them.")
    text = f"{what} and were dropped from the data of {called()}."
    warn(text, MissingDataWarning)


def check_finite(columns: Sequence[Column]) -> None:
    """Raise :class:`DataError` that names the columns with infinite values."""
    infinite = {column.name: rows for column in columns if (rows := column.infinite()) is not None}
    if infinite:
        names = ", ".join(map(repr, list(infinite)[:10]))
        text = f"The data of {called()} have infinite values in the column(s) {names}."
        raise DataError.of_rows(text, np.logical_or.reduce(list(infinite.values())), list(infinite))


def make_variables(columns: Mapping[str, Held], names: Sequence[str]) -> dict[str, Variable]:
    """Return the variables of the columns `names`."""
    return {name: Variable(name, columns[name].kind, columns[name].categorical) for name in names}


def learn_response(
    expression: Expression,
    columns: Mapping[str, Column],
    n_rows: int,
    functions: Mapping[str, Function],
    events: bool = False,
) -> tuple[Response, FloatArray]:
    """Return the response and its values, shape (n,).

    With `events`, labels with two levels are replaced by a comparison with the second.

    Raises
    ------
    DataError
        If it is not one numeric or boolean column.
    """
    evaluator = Evaluator(columns, n_rows, functions)
    value, states = evaluator.learn(expression)
    if events and isinstance(value, Categories):
        event = event_of(expression, value, functions)
        if event is not None:
            expression = event
            value, states = evaluator.learn(expression)
    response = make_response(expression, value, states, columns, events)
    assert not isinstance(value, Categories)
    return response, np.array(value[:, 0])


def event_of(
    expression: Expression, value: Categories, functions: Mapping[str, Function]
) -> Expression | None:
    """Return the comparison of labels with the second of their levels; None if there are not two."""
    levels = used_levels(value, expression.label, "response")
    if len(levels) != 2:
        return None
    return read_expression(f"I({expression.code} == {levels[1]!r})", tuple(functions))


def make_response(
    expression: Expression,
    value: FloatArray | Categories,
    states: tuple[State, ...],
    columns: Mapping[str, Held],
    events: bool = False,
) -> Response:
    """Return the response, or raise :class:`DataError` if it is not one numeric column."""
    label = expression.label
    if isinstance(value, Categories):
        levels = pd.unique(value.values).tolist()
        raise DataError(
            f"The response {label!r} of {called()} must be numeric or boolean. Got "
            f"{counted(len(levels), 'label')} instead{_labels_hint(expression, value, levels, events)}."
        )
    if value.shape[1] != 1:
        raise DataError(
            f"The response {label!r} of {called()} must be one column. Got {value.shape[1]} instead."
        )
    return Response(expression, states, make_variables(columns, expression.variables))


def _labels_hint(expression: Expression, value: Categories, levels: list[Level], events: bool) -> str:
    """Return what to write for a response of labels where numbers are modelled."""
    strange = no_numbers(levels)
    if strange:
        return f", all numbers but {listed_levels(strange)}"
    if are_numbers(levels):
        return "; make them numbers in the data first, with pandas.to_numeric"
    if len(levels) == 1:
        return f", {levels[0]!r} in all rows"
    if len(levels) > MOST_CLASSES:
        return "; make it numeric in the data first"
    if events:
        event = f"I({expression.code} == {levels[-1]!r})"
        return f"; write the event as a comparison, as in {event}, or model all classes with rj.multinomial"
    if len(levels) > 2:
        return "; use rj.multinomial for classes"
    first, second = used_levels(value, expression.label, "response")
    other = f"I({expression.code} == {first!r})"
    return f"; use rj.logit, for the probability of {second!r}, or of {first!r} with the response {other}"


def learn_factors(
    expressions: Sequence[Expression],
    columns: Mapping[str, Column],
    n_rows: int,
    functions: Mapping[str, Function],
) -> tuple[list[Factor], list[FloatArray | IntArray], list[CodingFactor]]:
    """Compute the factors, and learn their levels and transforms.

    Returns
    -------
    factors : list of Factor
        The factors with their levels and states.
    values : list of ndarray
        float64 (n, k) for a numeric factor, int64 (n,) positions of levels for a categorical one.
    specs : list of CodingFactor
        Their properties for the coding.
    """
    evaluator = Evaluator(columns, n_rows, functions)
    factors: list[Factor] = []
    values: list[FloatArray | IntArray] = []
    specs: list[CodingFactor] = []
    for expression in expressions:
        value, states = evaluator.learn(expression)
        factor, spec = make_factor(expression, value, states, columns)
        factors.append(factor)
        specs.append(spec)
        if isinstance(value, Categories):
            assert factor.levels is not None
            check_levels(factor.levels, expression, n_rows)
            values.append(level_codes(value, factor.levels, expression))
        else:
            values.append(value)
    return factors, values, specs


def make_factor(
    expression: Expression,
    value: FloatArray | Categories,
    states: tuple[State, ...],
    columns: Mapping[str, Held],
) -> tuple[Factor, CodingFactor]:
    """Return a factor and its properties for the coding."""
    if isinstance(value, Categories):
        levels = used_levels(value, expression.label)
        spec = CodingFactor(expression.label, 1, levels, value.contrast)
        return Factor(expression, states, 1, levels), spec
    width = value.shape[1]
    flags = [name for name in expression.variables if columns[name].kind == "boolean"]
    spec = CodingFactor(expression.label, width, boolean=is_boolean(expression.tree, flags))
    return Factor(expression, states, width, None), spec


def make_layout(
    terms: Sequence[tuple[int, ...]],
    coded: Sequence[tuple[Subterm, ...]],
    names: Sequence[str],
    factors: Sequence[Factor],
    columns: Mapping[str, Held],
) -> Layout:
    """Combine terms, codings and factors, and check that names are unique.

    Raises
    ------
    FormulaError
        If a term has no column, or two terms or two columns have one name.
    """
    widths = [sum(width(subterm, factors) for subterm in subterms) for subterms in coded]
    expressions = [factor.expression for factor in factors]
    made = make_terms(terms, widths, names, expressions)
    for term in made:
        if term.start == term.stop:
            raise FormulaError(f"The term {term.name!r} of {called()} adds no column to the terms before it.")
    for what, listed in (("terms", [term.name for term in made]), ("columns", list(names))):
        if len(set(listed)) < len(listed):
            twice = next(name for name in listed if listed.count(name) > 1)
            raise FormulaError(
                f"The formula of {called()} gives two {what} the name {twice!r}. Rename a column of the data."
            )
    used = dict.fromkeys(name for expression in expressions for name in expression.variables)
    return Layout(
        terms=made,
        members=tuple(terms),
        subterms=tuple(coded),
        factors=tuple(factors),
        variables=make_variables(columns, list(used)),
        column_names=tuple(names),
    )


def needed_columns(response: Expression | None, expressions: Sequence[Expression]) -> dict[str, str]:
    """Return the columns of a formula, and the first factor that needs each."""
    needed: dict[str, str] = {}
    for expression in ([response] if response is not None else []) + list(expressions):
        for name in expression.variables:
            needed.setdefault(name, expression.label)
    return needed


def check_shadowing(functions: Mapping[str, Function], names: Mapping[str, str]) -> None:
    """Raise :class:`ParameterError` if a function has the name of a column that the formula uses."""
    both = [name for name in functions if name in names]
    if both:
        raise ParameterError(
            f"The 'functions' parameter of {called()} has {', '.join(map(repr, both))}, which the formula "
            "uses as a column. Rename the function."
        )


def build_formula(
    response: Expression,
    expressions: Sequence[Expression],
    terms: Sequence[tuple[int, ...]],
    rows: Complete,
    index: pd.Index,
    functions: Mapping[str, Function],
    learn: Learner = learn_response,
) -> tuple[Response, Layout, DesignData]:
    """Make the layout of a formula, and compute it on the complete rows."""
    n_rows = len(rows.positions)
    kept, y = learn(response, rows.columns, n_rows, functions)
    factors, values, specs = learn_factors(expressions, rows.columns, n_rows, functions)
    layout = code_layout(terms, factors, specs, rows.columns)
    codes = [expression.code for expression in expressions]
    X = layout.assemble(dict(zip(codes, values, strict=True)), n_rows)
    return kept, layout, make_data(y, X, rows, index)


def code_layout(
    terms: Sequence[tuple[int, ...]],
    factors: Sequence[Factor],
    specs: Sequence[CodingFactor],
    columns: Mapping[str, Held],
) -> Layout:
    """Code the factors of a formula, and make its layout in the order of :func:`sort_terms`."""
    coded, names = code_terms(terms, specs)
    merging = {place for place, spec in enumerate(specs) if getattr(spec.contrast, "merge", False)}
    if merging:
        terms, coded, names, factors = split_levels(terms, coded, names, factors, merging)
    order = sort_terms(terms, [factor.expression for factor in factors])
    return make_layout(
        [terms[place] for place in order],
        [coded[place] for place in order],
        [name for place in order for name in names[place]],
        factors,
        columns,
    )


def make_data(y: FloatArray, X: FloatArray, rows: Complete, index: pd.Index) -> DesignData:
    """Combine the computed columns with the facts on their rows."""
    return DesignData(
        y=y,
        X=X,
        extras={key: column.values.astype(np.float64) for key, column in rows.extras.items()},
        index=index if len(rows.positions) == rows.n_rows else index[rows.positions],
        positions=rows.positions,
        n_rows=rows.n_rows,
        missing=rows.missing,
        n_dropped=rows.n_rows - len(rows.positions),
    )
