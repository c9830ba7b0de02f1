"""Designs whose columns are labels: each feature and the response as positions among their levels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel._validate import bad_value, check_choice, counted
from pyrjsel.design.arrays import join_columns, new_table
from pyrjsel.design.build import Complete, check_finite, check_shadowing, make_variables, needed_columns
from pyrjsel.design.calls import parse_call
from pyrjsel.design.frame import Column, Level, Table, as_frame
from pyrjsel.design.layout import Factor, Variable
from pyrjsel.design.levels import find_levels, kind_of, labelled, learn_levels, read_labelled
from pyrjsel.design.new_rows import conform
from pyrjsel.design.safety import Expression, check_functions, column_expression

Function = Callable[..., object]
MISSING = ("drop", "raise", "level")

# Codes of a row with a missing value, where these are no levels.
MISSING_ROW = -2


@dataclass(frozen=True, eq=False)
class LabelRows:
    """The rows that a design of labels was made from, without those that are dropped for missing values.

    Attributes
    ----------
    y : ndarray of int64, shape (n,)
        Position of the response among its levels.
    codes : ndarray of int64, shape (n, p)
        Positions of the features among theirs.
    index : Index
        Labels of the n rows.
    n_rows : int
        Rows of the data, those that were dropped included.
    missing : Series
        Number of rows in which each column is missing, for the columns whose missing rows were dropped.
    positions : ndarray of int64, shape (n,), or None
        Where the n rows are in the data; None if they are all of them.
    """

    y: IntArray
    codes: IntArray
    index: pd.Index
    n_rows: int
    missing: pd.Series
    positions: IntArray | None = None

    @property
    def n_dropped(self) -> int:
        """Rows left out."""
        return self.n_rows - len(self.y)


@dataclass(frozen=True, eq=False, repr=False)
class LabelDesign:
    """A response and features that are labels, with their levels; no rows of data.

    Made by :meth:`from_formula`, :meth:`from_arrays` or :meth:`of_columns`.

    Attributes
    ----------
    formula : str
        The formula as it was given; empty for a design from arrays.
    call : str
        What the right-hand side of the formula calls; empty for a design from arrays.
    order : int or None
        What it gives as ``order=``.
    left : Factor
        The response.
    factors : tuple of p Factor
        The features.
    variables : mapping of str to Variable
        The columns of the data that are used.
    functions : mapping of str to callable
        The user's functions that the formula calls.
    gaps : tuple of p bool, or None
        Whether each feature has no value in some row of the fit, which is its last level then; None where
        missing values are not levels.

    Examples
    --------
    >>> import pandas as pd
    >>> from pyrjsel.design import LabelDesign
    >>> frame = pd.DataFrame({"y": ["no", "yes", "no"], "a": [1, 2, 2], "b": [True, False, True]})
    >>> design, rows = LabelDesign.from_formula("y ~ interactions(a, b)", frame, ("interactions",))
    >>> design.names, design.levels, design.classes
    (('a', 'b'), ((1, 2), (False, True)), ('no', 'yes'))
    >>> rows.codes.tolist()
    [[0, 1], [1, 0], [1, 1]]
    """

    formula: str
    call: str
    order: int | None
    left: Factor
    factors: tuple[Factor, ...]
    variables: Mapping[str, Variable]
    functions: Mapping[str, Function]
    gaps: tuple[bool, ...] | None = None

    @property
    def response(self) -> str:
        """Name of the response, as the formula has it."""
        return self.left.expression.label

    @property
    def classes(self) -> tuple[Level, ...]:
        """The levels of the response."""
        return self.left.levels or ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the p features."""
        return tuple(factor.expression.label for factor in self.factors)

    @property
    def levels(self) -> tuple[tuple[Level | None, ...], ...]:
        """The levels of each feature; None is that of missing values, the last."""
        gaps = self.gaps or (False,) * len(self.factors)
        return tuple(
            (*(factor.levels or ()), *((None,) if gap else ()))
            for factor, gap in zip(self.factors, gaps, strict=True)
        )

    def __repr__(self) -> str:
        return f"<LabelDesign {self.formula or 'from arrays'!r}: {counted(len(self.factors), 'feature')}>"

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: pd.DataFrame | Mapping[str, Any],
        calls: Sequence[str],
        *,
        missing: str = "drop",
        functions: Mapping[str, Function] | None = None,
    ) -> tuple["LabelDesign", LabelRows]:
        """Make a design from a formula whose right-hand side is one call of features.

        Parameters
        ----------
        formula : str
            Such as ``"y ~ interactions(a, C(dose), order=2)"``; ``.`` among the features stands for all
            columns of the data that the response does not use. A feature or the response may be any
            expression of labels: text, categories, booleans, whole numbers, or ``C()`` of other numbers.
        data : DataFrame or mapping of columns
            The rows.
        calls : sequence of str
            What the right-hand side may call.
        missing : {"drop", "raise", "level"}
            What to do with rows where a column that is used has no value. Where it is a level, a feature
            has it in the rows where a column that the feature uses has no value, and rows without a
            response are dropped.
        functions : mapping of str to callable, optional
            More functions for the formula, by name.

        Returns
        -------
        design : LabelDesign
            What is needed for new rows.
        rows : LabelRows
            The rows used.

        Raises
        ------
        FormulaError
            If the formula cannot be read, or has another right-hand side.
        UnknownNameError
            If a name is not a column.
        DataError
            If the data have no complete row, values that are no labels, or a column of one level.
        ParameterError
            If another parameter has a value that it must not have.

        Warns
        -----
        MissingDataWarning
            If rows were dropped; it counts them by column.
        """
        check_choice(missing, "missing", MISSING)
        own = check_functions(functions)
        if own.keys() & set(calls):
            must = f"a mapping with names other than the formula's own ({', '.join(calls)})"
            raise bad_value("functions", must, functions)
        table = Table(as_frame(data))

        def others(response: Expression) -> list[str]:
            names = [name for name in table.names if name not in response.variables]
            table.check_unique(names)
            return names

        parsed = parse_call(formula, calls, others, tuple(own))
        needed = needed_columns(parsed.response, parsed.factors)
        check_shadowing(own, needed)
        rows = read_labelled(table, parsed.response, parsed.factors, missing)
        kept = {name: own[name] for one in (parsed.response, *parsed.factors) for name in one.functions}
        left, factors, gaps, made = _learn(parsed.response, parsed.factors, rows, table.index, kept)
        variables = make_variables(rows.columns, list(needed))
        known = gaps if missing == "level" else None
        return cls(formula, parsed.name, parsed.order, left, factors, variables, kept, known), made

    @classmethod
    def from_arrays(
        cls,
        endog: Any,
        exog: Any,
        *,
        missing: str = "drop",
    ) -> tuple["LabelDesign", LabelRows]:
        """Make a design with one feature for each column of a matrix or data frame.

        Parameters
        ----------
        endog : array-like, shape (n_rows,)
            The response. A Series gives it its name; without one it is ``"y"``.
        exog : DataFrame or array-like, shape (n_rows, p)
            The features; those of an array are named x1, x2, ...
        missing
            As in :meth:`from_formula`.

        Returns
        -------
        design : LabelDesign
            What is needed for new rows.
        rows : LabelRows
            The rows used.

        Raises
        ------
        DataError
            If shapes or indexes do not match, or the data cannot be used.
        """
        check_choice(missing, "missing", MISSING)
        response, names, frame = join_columns(endog, exog)
        if not names:
            raise DataError(f"The 'exog' of {called()} must have at least one column. Got none.")
        first, *others = (column_expression(name) for name in (response, *names))
        rows = read_labelled(Table(frame), first, others, missing)
        left, factors, gaps, made = _learn(first, others, rows, frame.index, {})
        variables = make_variables(rows.columns, [response, *names])
        return cls("", "", None, left, factors, variables, {}, gaps if missing == "level" else None), made

    @classmethod
    def of_columns(
        cls,
        response: str,
        classes: Sequence[Level],
        names: Sequence[str],
        levels: Sequence[Sequence[Level | None]],
        missing_levels: bool = False,
    ) -> "LabelDesign":
        """Return the design of columns whose levels are known.

        Parameters
        ----------
        response : str
            Name of the response.
        classes : sequence of (str, int, float or bool)
            Its levels.
        names : sequence of p str
            Names of the features.
        levels : sequence of p sequences of (str, int, float, bool or None)
            Their levels; None, the last, is that of missing values.
        missing_levels : bool, default False
            Whether missing values are levels: unseen ones, of features without None.

        Returns
        -------
        LabelDesign
        """
        values = [tuple(level for level in known if level is not None) for known in levels]
        columns = list(zip((response, *names), (tuple(classes), *values), strict=True))
        left, *factors = (Factor(labelled(column_expression(name)), (), 1, known) for name, known in columns)
        variables = {name: Variable(name, kind_of(known), False) for name, known in columns}
        gaps = tuple(None in known for known in levels) if missing_levels else None
        return cls("", "", None, left, tuple(factors), variables, {}, gaps)

    def encode(self, new: Any, *, unseen: str = "raise", missing: str = "raise") -> IntArray:
        """Return the positions of the features of new rows among their levels.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m rows, with the columns that the features use; others are ignored. For a design from arrays
            also a matrix with the same columns.
        unseen : {"raise", "prior"}
            Whether a level that no row of the fit has is an error, or -1. A missing value is such a level
            where missing values are levels.
        missing : {"raise", "mark"}
            Whether a missing value is an error, or its row is -2 throughout, where they are no levels.

        Returns
        -------
        ndarray of int64, shape (m, p)

        Raises
        ------
        UnknownNameError
            If a column is not there.
        DataError
            If a value is missing, a column holds another kind of values than in the fit, or a level is
            unseen and an error.
        """
        check_choice(unseen, "unseen", ("raise", "prior"))
        table = new_table(new, None if self.formula else self.names)
        columns = self._columns((factor.expression for factor in self.factors), table)
        if self.gaps is None and missing == "raise":
            _check_present(columns)
        codes = np.empty((len(table), len(self.factors)), dtype=np.int64)
        for j, factor in enumerate(self.factors):
            gaps = self.gaps is None or self.gaps[j]
            codes[:, j] = find_levels(factor, columns, len(table), self.functions, unseen=unseen, gaps=gaps)
        if self.gaps is None:
            for column in columns.values():
                codes[column.missing] = MISSING_ROW
        return codes

    def encode_response(self, new: Any) -> IntArray:
        """Return the positions of the response of new rows among its levels.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m rows, with the columns that the response uses.

        Returns
        -------
        ndarray of int64, shape (m,)

        Raises
        ------
        UnknownNameError
            If a column is not there.
        DataError
            If a value is missing or of a class that the fit does not have.
        """
        table = Table(as_frame(new, "new"))
        columns = self._columns((self.left.expression,), table)
        _check_present(columns)
        return find_levels(self.left, columns, len(table), self.functions)

    def encode_classes(self, labels: Any) -> IntArray:
        """Return the positions of classes, which a computed response has as its values, among its levels.

        Parameters
        ----------
        labels : array-like, shape (m,)
            Classes.

        Returns
        -------
        ndarray of int64, shape (m,)

        Raises
        ------
        DataError
            If one is missing or of a class that the fit does not have.
        """
        column = self.response in self.left.expression.variables
        design = self if column else self.of_columns(self.response, self.classes, (), ())
        return design.encode_response({self.response: labels})

    def _columns(self, expressions: Iterable[Expression], table: Table) -> dict[str, Column]:
        """Return the columns that expressions use, as they were in the fit."""
        needed = needed_columns(None, list(expressions))
        columns = {
            name: conform(table.column(name, needed_by=term), self.variables[name])
            for name, term in needed.items()
        }
        check_finite(tuple(columns.values()))
        return columns


def read_labels(values: pd.Series, name: str) -> tuple[tuple[Level, ...], IntArray]:
    """Return the levels of labels (n,) without missing values, and the position of each among them.

    Raises
    ------
    DataError
        If they are no labels, or fewer than two different ones.
    """
    table, expression = Table(pd.DataFrame({name: values})), column_expression(name)
    rows = read_labelled(table, expression, (), "raise")
    left, _, codes = learn_levels(expression, rows.columns, len(table), {}, "response")
    return left.levels or (), codes


def _check_present(columns: Mapping[str, Column]) -> None:
    """Raise :class:`DataError` that counts the missing values of new rows, if there are any."""
    gaps = [f"{name}: {int(one.missing.sum())}" for name, one in columns.items() if one.missing.any()]
    if gaps:
        raise DataError(
            f"The new data of {called()} must have no missing values. Got some in {', '.join(gaps)} rows."
        )


def _learn(
    response: Expression,
    expressions: Sequence[Expression],
    rows: Complete,
    index: pd.Index,
    functions: Mapping[str, Function],
) -> tuple[Factor, tuple[Factor, ...], tuple[bool, ...], LabelRows]:
    """Return response and features with their levels, which features have gaps, and the codes of the rows."""
    n = len(rows.positions)
    left, _, y = learn_levels(response, rows.columns, n, functions, "response")
    features = [learn_levels(one, rows.columns, n, functions, "feature") for one in expressions]
    codes = np.column_stack([found for _, _, found in features])
    kept = index if n == rows.n_rows else index[rows.positions]
    data = LabelRows(y, codes, kept, rows.n_rows, rows.missing, rows.positions)
    return left, tuple(factor for factor, _, _ in features), tuple(gap for _, gap, _ in features), data
