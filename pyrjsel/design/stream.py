"""Designs from data in chunks: levels and transforms are learned first, then rows are reduced.

Levels and transforms must be known before columns can be computed. One pass is enough if the formula has
neither, or the levels are declared; otherwise a pass learns them (one more for transforms of transforms), and
the next computes the columns.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_choice
from pyrjsel.design.build import (
    DesignData,
    Response,
    code_layout,
    event_of,
    make_data,
    make_factor,
    make_response,
    make_variables,
    no_rows,
    report_missing,
)
from pyrjsel.design.categories import Categories, check_levels, level_codes, listed_levels
from pyrjsel.design.chunks import Chunks
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.frame import Table
from pyrjsel.design.layout import Layout
from pyrjsel.design.levels import make_classes
from pyrjsel.design.new_rows import conform
from pyrjsel.design.safety import stateful_calls
from pyrjsel.design.scan import Plan, Scan, States, check_scan, merge_scans, scan_chunk

# Sums over the same rows in two passes differ by less than this proportion of sums of absolute values.
ROUNDING = 1e-9
T = TypeVar("T")
Value = FloatArray | Categories


@dataclass(frozen=True, eq=False)
class Reduced(Generic[T]):
    """The rows of all chunks, reduced.

    Attributes
    ----------
    value : object
        The value of the reduction, merged over the chunks.
    n : int
        Number of complete rows.
    n_rows : int
        Number of all rows.
    missing : Series
        Number of missing values by column, where not 0.
    reader : RowReader
        Repeats the pass over the computed rows.
    """

    value: T
    n: int
    n_rows: int
    missing: pd.Series
    reader: "RowReader"

    @property
    def n_dropped(self) -> int:
        """Number of dropped rows."""
        return self.n_rows - self.n


@dataclass(frozen=True, eq=False)
class Work(Generic[T]):
    """A reduction of the complete rows of a chunk, and the merging of parts.

    `again` says whether later passes read the rows again, which must then be the same.
    """

    of: Callable[[DesignData], T]
    merge: Callable[[T, T], T]
    again: bool = True


@dataclass(frozen=True, eq=False)
class RowReader:
    """Passes over the rows of a learned formula.

    Attributes
    ----------
    plan : Plan
    chunks : Chunks
    left : Response
    layout : Layout
    n_rows, n_complete : int
        Numbers of all rows and of complete rows, the same in each pass.
    seconds : float
        Wall-clock time of a pass, for forecasts.
    sums : ndarray or None
        Sums over the complete rows, the same in each pass; None if there is only one.
    """

    plan: Plan
    chunks: Chunks
    left: Response
    layout: Layout
    n_rows: int
    n_complete: int
    seconds: float
    sums: FloatArray | None

    def reduce(self, work: Work[T]) -> T:
        """Return the complete rows of all chunks, reduced in one pass.

        Raises
        ------
        DataError
            If the rows cannot be read again, or are others.
        """
        return self.checked(_pass(self.plan, self.chunks, self.left, self.layout, work))

    def checked(self, part: "_Part[T]") -> T:
        """Return the value of a pass, or raise :class:`DataError` if its rows are not those of the first."""
        if (part.n_rows, part.n_complete) != (self.n_rows, self.n_complete):
            raise DataError(
                f"The data of {called()} have {self.n_rows} rows ({self.n_complete} complete) in the first "
                f"pass and {part.n_rows} ({part.n_complete}) in a later one: a function must return "
                "a new iterator over the same rows each time."
            )
        assert part.value is not None
        if part.sums is None or self.sums is None:
            return part.value
        # Sums of absolute values, which rounding errors are relative to, are at most these.
        square = self.sums[2]
        with np.errstate(over="ignore", invalid="ignore"):
            bound = np.sqrt(np.outer([self.n_complete, square[len(self.layout.column_names)]], square))
        if not np.allclose(part.sums[:2], self.sums[:2], rtol=0.0, atol=ROUNDING * bound, equal_nan=True):
            raise DataError(
                f"The data of {called()} have other values in a later pass than in the first: a function "
                "must return a new iterator over the same rows each time."
            )
        return part.value


@dataclass(frozen=True, eq=False)
class _Part(Generic[T]):
    n_rows: int
    n_complete: int
    value: T | None  # None where no row is complete
    sums: FloatArray | None = None


def _pass(plan: Plan, chunks: Chunks, left: Response, layout: Layout, work: Work[T]) -> _Part[T]:
    """Compute the complete rows of all chunks, and reduce them."""
    task = partial(_compute_chunk, plan=plan, left=left, layout=layout, work=work)
    return chunks.reduce(task, partial(_merge_parts, work=work), plan.columns)


def _sums(data: DesignData) -> FloatArray:
    """Return sums over rows that tell them from others, (3, D + k) for k columns besides those of the design.

    Sums of all columns, the response first among the k, of their products with the response, and of squares.
    """
    rows = np.vstack([data.y, *data.extras.values()])
    left = np.vstack([np.ones(data.n), data.y])
    with np.errstate(over="ignore", invalid="ignore"):
        squares = [np.einsum("ij,ij->j", part, part) for part in (data.X, rows.T)]
        return np.vstack([np.hstack([left @ data.X, left @ rows.T]), np.hstack(squares)])


def reduce_chunks(
    plan: Plan, chunks: Chunks, work_of: Callable[[Response], Work[T]], missing: str
) -> tuple[Response, Layout, Reduced[T]]:
    """Learn a formula from the rows of all chunks, and reduce the computed rows.

    Parameters
    ----------
    plan : Plan
        The formula and options.
    chunks : Chunks
        The data.
    work_of : callable
        Returns the reduction of the computed rows for the response.
    missing : {"drop", "raise"}
        Treatment of rows with missing values.

    Raises
    ------
    DataError
        If the chunks do not match each other or cannot be used, or if they can be read only once and the
        formula needs more passes.
    """
    check_choice(missing, "missing", ("drop", "raise"))
    start = [(None,) * len(stateful_calls(one.tree)) for one in plan.expressions]
    begun = time.perf_counter()
    done = _one_pass(plan, start, chunks, work_of)
    if done is None:
        scan, left, layout = _learn(plan, start, chunks, missing)
        begun = time.perf_counter()
        part = _pass(plan, chunks, left, layout, work_of(left))
    else:
        scan, left, layout, part = done
        _report(plan, scan, missing)
    for factor in {factor.expression.code: factor for factor in layout.factors if factor.levels}.values():
        check_levels(factor.levels or (), factor.expression, scan.n_complete)
    seconds = time.perf_counter() - begun
    reader = RowReader(plan, chunks, left, layout, scan.n_rows, scan.n_complete, seconds, part.sums)
    value = reader.checked(part) if done is None else part.value
    assert value is not None
    return left, layout, Reduced(value, scan.n_complete, scan.n_rows, _counts(plan, scan), reader)


# ---------------------------------------------------------------------- two passes and more


def _learn(
    plan: Plan,
    states: Sequence[States],
    chunks: Chunks,
    missing: str,
) -> tuple[Scan, Response, Layout]:
    """Return the scan of all rows, and the resulting layout."""
    passes = 0
    while True:
        scan = chunks.reduce(
            partial(scan_chunk, plan=plan, states=states), partial(merge_scans, plan=plan), plan.columns
        )
        passes += 1
        if passes == 1:
            _report(plan, scan, missing)
        check_scan(scan, plan)
        states = _concluded(plan, scan, states)
        values = _values(plan, scan, states)
        if values is not None:
            known = [tuple(state for state in one if state is not None) for one in states]
            return scan, *_code(plan, scan, values, known)


def _concluded(plan: Plan, scan: Scan, states: Sequence[States]) -> list[States]:
    """Return the states including those learned in this pass."""
    evaluator = Evaluator(scan.sample, 1, plan.functions)
    result = []
    for expression, found, known in zip(plan.expressions, scan.factors or (), states, strict=True):
        fresh = {slot: evaluator.conclude(expression, one) for slot, one in found.summaries.items()}
        result.append(tuple(fresh.get(slot, state) for slot, state in enumerate(known)))
    return result


def _values(plan: Plan, scan: Scan, states: Sequence[States]) -> list[Value] | None:
    """Return values that determine each expression, or None if another pass is needed."""
    evaluator = Evaluator(scan.sample, 1, plan.functions)
    values: list[Value] = []
    for expression, found, known in zip(plan.expressions, scan.factors or (), states, strict=True):
        kinds = {scan.columns[name].kind for name in expression.variables}
        value = found.value(kinds <= {"integer", "boolean"})
        if value is None:
            learned = [state for state in known if state is not None]
            if len(learned) < len(known):
                return None
            # One row determines the number of columns, but not the levels.
            value = evaluator.apply(expression, learned)
            if isinstance(value, Categories):
                return None
        values.append(value)
    return values


def _code(
    plan: Plan,
    scan: Scan,
    values: Sequence[Value],
    states: Sequence[tuple[Any, ...]],
) -> tuple[Response, Layout]:
    if plan.classes is None:
        response, value = plan.expressions[0], values[0]
        if plan.events and isinstance(value, Categories):
            event = event_of(response, value, plan.functions)
            if event is not None:
                response, value = event, np.empty((0, 1))
        left = make_response(response, value, states[0], scan.columns, plan.events)
    else:
        labels = values[0]
        assert isinstance(labels, Categories)  # the expression is a call of C()
        left = make_classes(plan.expressions[0], plan.classes, labels, states[0], scan.columns)
    made = [
        make_factor(expression, value, known, scan.columns)
        for expression, value, known in zip(plan.expressions[1:], values[1:], states[1:], strict=True)
    ]
    factors, specs = [factor for factor, _ in made], [spec for _, spec in made]
    layout = code_layout(plan.terms, factors, specs, scan.columns)
    return left, layout if plan.listed is None else layout.arrange(plan.listed)


# ---------------------------------------------------------------------- one pass


def _one_pass(
    plan: Plan,
    states: Sequence[States],
    chunks: Chunks,
    work_of: Callable[[Response], Work[T]],
) -> tuple[Scan, Response, Layout, _Part[T]] | None:
    """Do everything in one pass, or return None if that is impossible and the chunks can be read again."""
    frames = chunks.frames(plan.columns)
    if frames is None:
        return None
    scan: Scan | None = None
    part: _Part[T] | None = None
    code: tuple[Response, Layout, Work[T]] | None = None
    for number, frame in enumerate(frames, 1):
        seen = scan_chunk(frame, number, plan, states)
        scan = seen if scan is None else merge_scans(scan, seen, plan)
        if seen.n_complete and code is None:
            values = _declared(plan, seen, chunks.once)
            if values is None:
                return None
            left, layout = _code(plan, seen, values, [()] * len(values))
            code = left, layout, work_of(left)
        if code is not None:
            more = _compute_chunk(frame, number, plan, *code)
            part = more if part is None else _merge_parts(part, more, code[-1])
    if scan is None:
        raise no_rows()
    if code is None or part is None:
        # No row is complete, which the report says.
        _report(plan, scan, "raise")
        raise no_rows()
    check_scan(scan, plan)
    if not _all_used(plan, scan, chunks.once):
        return None
    left, layout, _ = code
    # A column may have other numbers than integers in later chunks.
    left = replace(left, variables=make_variables(scan.columns, list(left.variables)))
    layout = replace(layout, variables=make_variables(scan.columns, list(layout.variables)))
    return scan, left, layout, part


def _declared(plan: Plan, scan: Scan, once: bool) -> list[Value] | None:
    """Return values that determine each expression if no more rows are needed, else None."""
    values: list[Value] = []
    for expression, found in zip(plan.expressions, scan.factors or (), strict=True):
        reason = None
        if plan.events and len(found.levels or ()) > 2 and not values and not once:
            return None  # two of them may occur
        if found.summaries:
            reason = "transforms that learn from all rows"
        elif found.labels is not None and (found.levels is None or plan.merged_categories):
            reason = "levels that are unknown until all rows have been read"
        elif found.levels is not None:
            labels = np.empty(len(found.levels), dtype=object)
            labels[:] = found.levels
            values.append(Categories(labels, found.levels, found.contrast))
        else:
            assert found.width is not None
            values.append(np.empty((0, found.width)))
        if reason is not None and once:
            raise DataError(
                f"The data of {called()} can be read only once, and the term {expression.label!r} has "
                f"{reason}. Give a function that returns a new iterator each time (a list or a Parquet file "
                "also works), or declare the levels with a pandas.CategoricalDtype or C(x, levels=[...])."
            )
        if reason is not None:
            return None
    return values


def _all_used(plan: Plan, scan: Scan, once: bool) -> bool:
    """Whether all declared levels occur; raise :class:`DataError` if not and there is no further pass."""
    for expression, found in zip(plan.expressions, scan.factors or (), strict=True):
        unused = [level for level in found.levels or () if level not in (found.labels or {})]
        if unused and once:
            raise DataError(
                f"The levels {listed_levels(unused)} of the term {expression.label!r} of {called()} are "
                "declared but do not occur, and the data can be read only once. Leave them out of the "
                "categories, or give a function that returns a new iterator each time."
            )
        if unused:
            return False
    return True


# ---------------------------------------------------------------------- rows


def _compute_chunk(
    frame: pd.DataFrame, number: int, plan: Plan, left: Response, layout: Layout, work: Work[T]
) -> _Part[T]:
    """Compute the columns of the complete rows of a chunk, and reduce them."""
    with plan.chunk(number):
        table = Table(frame)
        rows = plan.rows(table)
        n = len(rows.positions)
        if not n:
            return _Part(rows.n_rows, 0, None)
        known = {**left.variables, **layout.variables}
        columns = {
            name: conform(column, known[name]) for name, column in rows.columns.items() if name in known
        }
        y = Evaluator(columns, n, plan.functions).apply(left.expression, left.states)
        if isinstance(y, Categories):
            y = level_codes(y, left.levels or (), left.expression).astype(np.float64)[:, None]
        X = layout.matrix(columns, n, plan.functions)
        data = make_data(y[:, 0], X, rows, table.index)
        return _Part(rows.n_rows, n, work.of(data), _sums(data) if work.again else None)


def _merge_parts(one: _Part[T], other: _Part[T], work: Work[T]) -> _Part[T]:
    value = other.value if one.value is None else one.value
    if one.value is not None and other.value is not None:
        value = work.merge(one.value, other.value)
    sums = other.sums if one.sums is None else one.sums
    if one.sums is not None and other.sums is not None:
        sums = one.sums + other.sums
    return _Part(one.n_rows + other.n_rows, one.n_complete + other.n_complete, value, sums)


def _counts(plan: Plan, scan: Scan) -> pd.Series:
    counts = {name: scan.missing[name] for name in plan.columns if name in scan.missing}
    return pd.Series(counts, dtype=np.int64, name="missing")


def _report(plan: Plan, scan: Scan, missing: str) -> None:
    if not scan.n_rows:
        raise no_rows()
    gone = scan.n_rows - scan.n_complete
    report_missing(_counts(plan, scan), gone, scan.n_rows, missing)
