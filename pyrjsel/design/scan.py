"""The state of a formula learned from a part of the rows, and the merging of parts.

A scan of a chunk is plain data: the kinds of its columns, the missing values, and the levels, width and
transforms of each factor. It can be made where the chunk is stored.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pyrjsel._called import called, named
from pyrjsel._errors import DataError, UnknownNameError
from pyrjsel._validate import bad_value, missing_column
from pyrjsel.design.algebra import parse_terms
from pyrjsel.design.build import Complete, check_finite, check_shadowing, complete_rows, needed_columns
from pyrjsel.design.categories import Categories, Contrast, check_asked, listed_levels
from pyrjsel.design.chunks import Chunks
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.extras import unknown_column
from pyrjsel.design.frame import Column, Kind, Level, Table
from pyrjsel.design.levels import as_labels, labelled
from pyrjsel.design.safety import Expression
from pyrjsel.design.transforms import State, Summary

States = tuple[State | None, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """The formula and options for reading chunks.

    Attributes
    ----------
    expressions : tuple of Expression
        The response, then the factors.
    terms : tuple of tuples of int
        The factors of each term, by position.
    needed : mapping of str to str
        The columns of the expressions, and the expression that needs each.
    extras : mapping of str to str
        Names and columns of weights, offset and the like.
    functions : mapping of str to callable
        The user's functions.
    merged_categories : bool
        Whether the categories of a column are the union over the chunks.
    caller : str
        What the user called, for messages: chunks may be read by other processes.
    listed : tuple of str or None
        Names of the terms in the order of an earlier design; None for the order of the formula.
    classes : Expression or None
        The response as in the formula, if it is of classes: that among `expressions` is one of labels.
    events : bool
        Whether a response of two labels is a comparison with the second.
    """

    expressions: tuple[Expression, ...]
    terms: tuple[tuple[int, ...], ...]
    needed: Mapping[str, str]
    extras: Mapping[str, str]
    functions: Mapping[str, Callable[..., object]]
    merged_categories: bool
    caller: str
    listed: tuple[str, ...] | None = None
    classes: Expression | None = None
    events: bool = False

    @classmethod
    def make(
        cls,
        formula: str,
        extras: Mapping[str, object],
        functions: Mapping[str, Callable[..., object]],
        chunks: Chunks,
        listed: Sequence[str] | None = None,
        events: bool = False,
        classes: bool = False,
    ) -> "Plan":
        """Return the plan of a formula.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed.
        ParameterError
            If one of the extras is an array.
        UnknownNameError
            If a column is missing.
        """

        def others(response: Expression) -> list[str]:
            left_out = {*response.variables, *(item for item in extras.values() if isinstance(item, str))}
            return [name for name in chunks.names if name not in left_out]

        parsed = parse_terms(formula, others, tuple(functions))
        needed = needed_columns(parsed.response, parsed.factors)
        check_shadowing(functions, needed)
        for name, term in needed.items():
            if name not in chunks.names:
                error = missing_column(name, chunks.names)
                raise error if term == name else UnknownNameError(f"{error} The term {term!r} needs it.")
        columns = {}
        for key, value in extras.items():
            if not isinstance(value, str):
                must = "None or the name of a column, since the data come in chunks"
                raise bad_value(key, must, value)
            if value not in chunks.names:
                raise unknown_column(key, value, chunks.names)
            columns[key] = value
        response = labelled(parsed.response) if classes else parsed.response
        expressions = (response, *parsed.factors)
        used = {name for expression in expressions for name in expression.functions}
        own = {name: function for name, function in functions.items() if name in used}
        order = None if listed is None else tuple(listed)
        return cls(
            expressions,
            parsed.terms,
            needed,
            columns,
            own,
            chunks.merged_categories,
            called(),
            order,
            parsed.response if classes else None,
            events,
        )

    @property
    def columns(self) -> list[str]:
        """The columns of the data that are used."""
        return list(dict.fromkeys([*self.needed, *self.extras.values()]))

    def chunk(self, number: int) -> AbstractContextManager[None]:
        """Return a context in which messages name a chunk by its number."""
        return named(f"{self.caller} (chunk {number})")

    def rows(self, table: Table) -> Complete:
        """Return the used columns of a chunk on the complete rows."""
        rows = complete_rows(table, self.needed, self.extras)
        check_finite((*rows.columns.values(), *rows.extras.values()))
        return rows


@dataclass(frozen=True)
class Seen:
    """A column over the chunks read so far.

    Attributes
    ----------
    kind : {"real", "integer", "boolean", "text"}
        Kind of its values or categories.
    levels : tuple or None
        The categories of a categorical column.
    blank : bool
        Whether all values so far are missing, so that `kind` is a guess.
    chunk : int
        The first chunk that has values.
    """

    kind: Kind
    levels: tuple[Level, ...] | None
    blank: bool
    chunk: int

    @property
    def categorical(self) -> bool:
        """Whether the column is a pandas categorical."""
        return self.levels is not None

    def merge(self, other: "Seen", name: str, plan: Plan) -> "Seen":
        """Return the column over both parts, or raise :class:`DataError` if they are inconsistent."""
        if self.blank or other.blank:
            kept = other if self.blank else self
            blank = self if self.blank else other
            # A chunk of floats, even if all are missing, turns integers into floats.
            turned = kept.kind == "integer" and not kept.categorical and blank.kind == "real"
            return replace(kept, kind="real") if turned else kept
        kinds = {self.kind, other.kind}
        if self.categorical == other.categorical and self.categorical:
            return replace(self, levels=self._categories(other, name, plan))
        if self.categorical != other.categorical or (len(kinds) > 1 and kinds != {"integer", "real"}):
            raise DataError(
                f"The column {name!r} of {called()} must have the same type in all chunks. Got "
                f"{self._what()} in chunk {self.chunk} and {other._what()} in chunk {other.chunk}."
            )
        return self if len(kinds) == 1 else replace(self, kind="real")

    def _categories(self, other: "Seen", name: str, plan: Plan) -> tuple[Level, ...]:
        mine, others = self.levels or (), other.levels or ()
        if set(mine) == set(others):
            return mine
        if plan.merged_categories:
            return tuple(dict.fromkeys((*mine, *others)))
        raise DataError(
            f"The categories of the column {name!r} of {called()} must be the same in all chunks. Got "
            f"{listed_levels(mine)} in chunk {self.chunk} and {listed_levels(others)} in chunk "
            f"{other.chunk}. Use one pandas.CategoricalDtype in every chunk, or leave the column as text."
        )

    def _what(self) -> str:
        return f"categories ({self.kind})" if self.categorical else f"{self.kind} values"


@dataclass(frozen=True, eq=False)
class Found:
    """A factor over a part of the rows.

    Attributes
    ----------
    summaries : mapping of int to Summary
        Summaries for transforms without a state, by position; the factor has no value until these are
        learned.
    width : int or None
        Number of columns of a numeric factor.
    labels : mapping or None
        The labels of a categorical factor, as keys.
    levels : tuple or None
        The levels in order, if an order is given.
    contrast : Contrast or None
        The contrast given in C().
    asked : tuple of (level, mapping)
        The labels in comparisons, and the values compared with them, as keys.
    """

    summaries: Mapping[int, Summary]
    width: int | None
    labels: Mapping[Level, None] | None
    levels: tuple[Level, ...] | None
    contrast: Contrast | None
    asked: tuple[tuple[Level, Mapping[Level, None]], ...]

    @classmethod
    def of(cls, expression: Expression, states: States, evaluator: Evaluator) -> "Found":
        """Return the factor over the rows of an evaluator."""
        known = tuple(state for state in states if state is not None)
        if len(known) < len(states):
            summaries, asked = evaluator.summarise(expression, states)
            questions = tuple((one.label, one.known()) for one in asked)
            return cls(summaries, None, None, None, None, questions)
        value, asked = evaluator.look(expression, known)
        questions = tuple((one.label, one.known()) for one in asked)
        if isinstance(value, Categories):
            labels = dict.fromkeys(pd.unique(value.values).tolist())
            return cls({}, None, labels, value.levels, value.contrast, questions)
        return cls({}, value.shape[1], None, None, None, questions)

    def merge(self, other: "Found", expression: Expression) -> "Found":
        """Return the factor over both sets of rows."""
        if (self.labels is None) != (other.labels is None) or self.width != other.width:
            raise DataError(
                f"{called()} computed the term {expression.label!r} with different numbers of columns, "
                "or with labels in one chunk and numbers in another."
            )
        labels = None if self.labels is None else {**self.labels, **(other.labels or {})}
        levels = None if self.levels is None else tuple(dict.fromkeys((*self.levels, *(other.levels or ()))))
        return Found(
            {slot: self.summaries[slot].merge(other.summaries[slot]) for slot in self.summaries},
            self.width,
            labels,
            levels,
            self.contrast,
            tuple(
                (label, {**known, **more})
                for (label, known), (_, more) in zip(self.asked, other.asked, strict=True)
            ),
        )

    def value(self, integers: bool) -> Categories | np.ndarray | None:
        """Return a value that determines the factor, or None if it is unknown.

        Parameters
        ----------
        integers : bool
            Whether the columns that the factor uses hold integers in all chunks.
        """
        if self.labels is not None:
            labels = list(self.labels)
            if self.levels is None and _mixed(labels, integers):
                labels = [float(label) for label in labels]
            numbers = all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in labels)
            # Numbers as a float array: `used_levels` sorts the distinct ones.
            array = (
                np.array(labels) if numbers and self.levels is None else np.empty(len(labels), dtype=object)
            )
            array[:] = labels
            return Categories(array, self.levels, self.contrast)
        return None if self.width is None else np.empty((0, self.width))


def _mixed(labels: Sequence[Level], integers: bool) -> bool:
    """Whether numeric labels are floats over all rows."""
    numbers = all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in labels)
    return numbers and not (integers and all(isinstance(label, int) for label in labels))


@dataclass(frozen=True, eq=False)
class Scan:
    """The factors and columns over some of the chunks.

    Attributes
    ----------
    n_rows, n_complete : int
        Numbers of rows and of complete rows.
    missing : mapping of str to int
        Number of missing values by column, where not 0.
    columns : mapping of str to Seen
        The columns of the plan.
    factors : tuple of Found, or None
        Factors by expression; None if no row is complete.
    sample : mapping of str to Column
        The columns on one complete row.
    """

    n_rows: int
    n_complete: int
    missing: Mapping[str, int]
    columns: Mapping[str, Seen]
    factors: tuple[Found, ...] | None
    sample: Mapping[str, Column]


def scan_chunk(frame: pd.DataFrame, number: int, plan: Plan, states: Sequence[States]) -> Scan:
    """Return the scan of a chunk.

    Parameters
    ----------
    frame : DataFrame
        The chunk.
    number : int
        Number of the chunk, from 1.
    plan : Plan
        The formula and options.
    states : sequence of tuples of (dict or None)
        Learned states of the transforms, by expression.

    Raises
    ------
    DataError
        If a column has values that cannot be used.
    """
    with plan.chunk(number):
        table = Table(frame)
        rows = plan.rows(table)
        columns = {}
        for name in plan.needed:
            column = table.column(name)
            blank = column.empty or bool(column.missing.all())
            columns[name] = Seen(column.kind, column.levels, blank, number)
        n_complete = len(rows.positions)
        factors: tuple[Found, ...] | None = None
        if n_complete:
            evaluator = Evaluator(rows.columns, n_complete, plan.functions)
            evaluator.checking = number == 1
            factors = tuple(
                Found.of(expression, known, evaluator)
                for expression, known in zip(plan.expressions, states, strict=True)
            )
            labels = factors[0].value(integers=True)
            if plan.classes is not None and isinstance(labels, Categories):
                # Real numbers are refused before all of them are collected.
                as_labels(labels, plan.classes is plan.expressions[0], plan.classes.label)
        sample = {name: column.take(np.arange(min(n_complete, 1))) for name, column in rows.columns.items()}
        missing = {str(name): int(count) for name, count in rows.missing.items()}
        return Scan(rows.n_rows, n_complete, missing, columns, factors, sample)


def merge_scans(one: Scan, other: Scan, plan: Plan) -> Scan:
    """Return the scan of the chunks of both, those of `one` before those of `other`.

    Raises
    ------
    DataError
        If a column has different types in different chunks.
    """
    counts = dict(one.missing)
    for name, count in other.missing.items():
        counts[name] = counts.get(name, 0) + count
    factors = one.factors if other.factors is None else other.factors
    with named(plan.caller):
        columns = {name: seen.merge(other.columns[name], name, plan) for name, seen in one.columns.items()}
        if one.factors is not None and other.factors is not None:
            factors = tuple(
                left.merge(right, expression)
                for left, right, expression in zip(one.factors, other.factors, plan.expressions, strict=True)
            )
    sample = one.sample if one.n_complete else other.sample
    return Scan(
        one.n_rows + other.n_rows, one.n_complete + other.n_complete, counts, columns, factors, sample
    )


def check_scan(scan: Scan, plan: Plan) -> None:
    """Raise :class:`DataError` if a label in a comparison does not occur."""
    for expression, found in zip(plan.expressions, scan.factors or (), strict=True):
        for label, known in found.asked:
            check_asked(label, known, expression)
