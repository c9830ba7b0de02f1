"""Designs of labels: features and response as positions among their levels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from pyrjsel.design.new_rows import check_columns, conform, valid_rows
from pyrjsel.design.safety import Expression, check_functions, column_expression

Function = Callable[..., object]
MISSING = ("drop", "raise", "level")

# Codes of a row with a missing value, if missing values are not levels.
MISSING_ROW = -2


@dataclass(frozen=True, eq=False)
class LabelRows:
    """The rows that a design of labels was made from, without dropped rows.

    Attributes
    ----------
    y : ndarray of int64, shape (n,)
        Position of the response among its levels.
    codes : ndarray of int64, shape (n, p)
        Positions of the features among theirs.
    index : Index
        Labels of the n rows.
    n_rows : int
        Number of rows of the data, including dropped rows.
    missing : Series
        Number of missing values by column, for columns whose missing values led to dropped rows.
    positions : ndarray of int64, shape (n,), or None
        Positions of the n rows in the data; None if all are used.
    """

    y: IntArray
    codes: IntArray
    index: pd.Index
    n_rows: int
    missing: pd.Series
    positions: IntArray | None = None

    @property
    def n_dropped(self) -> int:
        """Number of dropped rows."""
        return self.n_rows - len(self.y)


@dataclass(frozen=True, eq=False, repr=False)
class LabelDesign:
    """A design with categorical response and features, with their levels; holds no data.

    Made by :meth:`from_formula`, :meth:`from_arrays` or :meth:`of_columns`.

    Attributes
    ----------
    formula : str
        The formula as given; empty for a design from arrays.
    call : str
        Name called on the right-hand side of the formula; empty for a design from arrays.
    order : int or None
        Its value of ``order=``.
    left : Factor
        The response.
    factors : tuple of p Factor
        The features.
    variables : mapping of str to Variable
        The columns of the data that are used.
    functions : mapping of str to callable
        The user's functions that the formula calls.
    gaps : tuple of p bool, or None
        Whether each feature has missing values in the training data, which are then its last level; None if
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
        """Name of the response as in the formula."""
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
        """The levels of each feature; a last level None is that of missing values."""
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
            Formula such as ``"y ~ interactions(a, C(dose), order=2)"``; ``.`` among the features means all
            columns of the data that the response does not use. A feature or the response may be any
            expression of labels: text, categories, booleans, whole numbers, or ``C()`` of other numbers.
        data : DataFrame or mapping of columns
            The rows.
        calls : sequence of str
            Names that the right-hand side may call.
        missing : {"drop", "raise", "level"}
            Treatment of rows with missing values. With ``"level"``, missing is a level of each feature with
            missing values in a column that it uses, and rows without a response are dropped.
        functions : mapping of str to callable, optional
            Additional functions for the formula, by name.

        Returns
        -------
        design : LabelDesign
            The design, which computes the codes of new rows.
        rows : LabelRows
            The rows used.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed, or has another right-hand side.
        UnknownNameError
            If a name is not a column.
        DataError
            If the data have no complete row, values that are not labels, or a column with one level.
        ParameterError
            If another parameter is invalid.

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
            The response. Its name is that of the Series, or ``"y"``.
        exog : DataFrame or array-like, shape (n_rows, p)
            The features; those of an array are named x1, x2, ...
        missing
            As in :meth:`from_formula`.

        Returns
        -------
        design : LabelDesign
            The design, which computes the codes of new rows.
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
        """Return the design of columns with known levels.

        Parameters
        ----------
        response : str
            Name of the response.
        classes : sequence of (str, int, float or bool)
            Levels of the response.
        names : sequence of p str
            Names of the features.
        levels : sequence of p sequences of (str, int, float, bool or None)
            Levels of the features; a last level None is that of missing values.
        missing_levels : bool, default False
            Whether missing values are levels; for features without None they are unseen levels.

        Returns
        -------
        LabelDesign
        """
        values = [tuple(level for level in known if level is not None) for known in levels]
        columns = list(zip((response, *names), (tuple(classes), *values), strict=True))
        left, *factors = (Factor(labelled(column_expression(name)), (), 1, known) for name, known in columns)
        # Features may come as categories or not: their levels are known either way.
        variables = {name: Variable(name, kind_of(known), name != response) for name, known in columns}
        gaps = tuple(None in known for known in levels) if missing_levels else None
        return cls("", "", None, left, tuple(factors), variables, {}, gaps)

    def encode(
        self, new: Any, *, unseen: str = "raise", missing: str = "raise", invalid: str | None = None
    ) -> IntArray:
        """Return the positions of the features of new rows among their levels.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m rows, with the columns that the features use; others are ignored. For a design from arrays
            also a matrix with the same columns.
        unseen : {"raise", "mark"}
            Whether a level that does not occur in the training data is an error, or coded -1. This includes
            missing values if these are levels.
        missing : {"raise", "mark"}
            Whether a missing value is an error, or its row is coded -2, if missing values are not levels.
        invalid : {"raise", "nan"}, optional
            Whether unseen levels (with ``unseen="raise"``), infinite values and terms that are not finite are
            an error, or their rows are coded -2; None is an error that does not name this choice.

        Returns
        -------
        ndarray of int64, shape (m, p)

        Raises
        ------
        UnknownNameError
            If a column is missing.
        DataError
            If a value is missing, a column holds another kind of values than in the fit, or a level is unseen
            and ``unseen="raise"``.
        """
        check_choice(unseen, "unseen", ("raise", "mark"))
        table = new_table(new, None if self.formula else self.names)
        variables = [name for factor in self.factors for name in factor.expression.variables]
        check_columns(variables, table, variables)
        codes = np.full((len(table), len(self.factors)), MISSING_ROW, dtype=np.int64)
        found, rows = valid_rows(partial(self._codes, unseen=unseen, missing=missing), table, invalid)
        codes[rows] = found
        return codes

    def _codes(self, table: Table, unseen: str, missing: str) -> IntArray:
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
            If a column is missing.
        DataError
            If a value is missing or is not a class of the fit.
        """
        table = Table(as_frame(new, "new"))
        columns = self._columns((self.left.expression,), table)
        _check_present(columns)
        return find_levels(self.left, columns, len(table), self.functions)

    def encode_classes(self, labels: Any) -> IntArray:
        """Return the positions of classes, given as values of the response, among its levels.

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
            If one is missing or is not a class of the fit.
        """
        column = self.response in self.left.expression.variables
        design = self if column else self.of_columns(self.response, self.classes, (), ())
        return design.encode_response({self.response: labels})

    def _columns(self, expressions: Iterable[Expression], table: Table) -> dict[str, Column]:
        """Return the columns of expressions, in their kind of the fit."""
        needed = needed_columns(None, list(expressions))
        columns = {
            name: conform(table.column(name, needed_by=term), self.variables[name])
            for name, term in needed.items()
        }
        check_finite(tuple(columns.values()))
        return columns


def read_labels(values: pd.Series, name: str) -> tuple[tuple[Level, ...], IntArray]:
    """Return the levels of labels (n,) without missing values, and their positions.

    Raises
    ------
    DataError
        If they are not labels, or fewer than two are distinct.
    """
    table, expression = Table(pd.DataFrame({name: values})), column_expression(name)
    rows = read_labelled(table, expression, (), "raise")
    left, _, codes = learn_levels(expression, rows.columns, len(table), {}, "response")
    return left.levels or (), codes


def _check_present(columns: Mapping[str, Column]) -> None:
    """Raise :class:`DataError` with counts if new rows have missing values."""
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
    """Return response and features with levels, whether features have missing values, and the codes."""
    n = len(rows.positions)
    left, _, y = learn_levels(response, rows.columns, n, functions, "response")
    features = [learn_levels(one, rows.columns, n, functions, "feature") for one in expressions]
    codes = np.column_stack([found for _, _, found in features])
    kept = index if n == rows.n_rows else index[rows.positions]
    data = LabelRows(y, codes, kept, rows.n_rows, rows.missing, rows.positions)
    return left, tuple(factor for factor, _, _ in features), tuple(gap for _, gap, _ in features), data
