"""Designs whose columns are labels: each feature and the response as positions among their levels."""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._errors import DataError, FormulaError
from pyrjsel._typing import IntArray
from pyrjsel._validate import bad_value, check_choice
from pyrjsel.design.arrays import array_frame, join_columns
from pyrjsel.design.build import (
    Complete,
    check_finite,
    check_shadowing,
    make_variables,
    needed_columns,
    read_rows,
)
from pyrjsel.design.calls import parse_call
from pyrjsel.design.categories import Categories, level_codes, level_positions, used_levels
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.frame import Column, Kind, Level, Table, as_frame
from pyrjsel.design.layout import Factor, Variable
from pyrjsel.design.predict import conform
from pyrjsel.design.safety import MAX_INTEGER, Expression, check_functions, column_expression
from pyrjsel.design.tables import as_pandas

Function = Callable[..., object]


@dataclass(frozen=True, eq=False)
class LabelRows:
    """The rows that a design of labels was made from, without those that have missing values.

    Attributes
    ----------
    y : ndarray of int64, shape (n,)
        Position of the response among its levels.
    codes : ndarray of int64, shape (n, p)
        Positions of the features among theirs.
    index : Index
        Labels of the n rows.
    n_rows : int
        Rows of the data, those with missing values included.
    missing : Series
        Number of rows in which each column is missing, for the columns where that is not 0.
    """

    y: IntArray
    codes: IntArray
    index: pd.Index
    n_rows: int
    missing: pd.Series

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
    def levels(self) -> tuple[tuple[Level, ...], ...]:
        """The levels of each feature."""
        return tuple(factor.levels or () for factor in self.factors)

    def __repr__(self) -> str:
        return f"<LabelDesign {self.formula or 'from arrays'!r}: {len(self.factors)} features>"

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: pd.DataFrame | Mapping[str, Any],
        calls: Sequence[str],
        *,
        missing: str = "drop",
        functions: Mapping[str, Function] | None = None,
        owner: str = "LabelDesign.from_formula",
        stacklevel: int = 2,
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
        missing : {"drop", "raise"}
            What to do with rows where a column that is used has no value.
        functions : mapping of str to callable, optional
            More functions for the formula, by name.
        owner : str
            Who is asking, for messages.
        stacklevel : int
            Of the warning about missing values: 2 is the caller of this method.

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
        own = check_functions(functions, owner)
        if own.keys() & set(calls):
            must = f"a mapping with names other than the formula's own ({', '.join(calls)})"
            raise bad_value("functions", owner, must, functions)
        table = Table(as_frame(data, owner), owner)

        def others(response: Expression) -> list[str]:
            names = [name for name in table.names if name not in response.variables]
            table.check_unique(names)
            return names

        parsed = parse_call(formula, calls, others, tuple(own), owner)
        needed = needed_columns(parsed.response, parsed.factors)
        check_shadowing(own, needed, owner)
        rows = read_rows(table, needed, None, missing, owner, stacklevel + 1)
        kept = {name: own[name] for one in (parsed.response, *parsed.factors) for name in one.functions}
        left, factors, made = _learn(parsed.response, parsed.factors, rows, table.index, kept, owner)
        variables = make_variables(rows.columns, list(needed))
        return cls(formula, parsed.name, parsed.order, left, factors, variables, kept), made

    @classmethod
    def from_arrays(
        cls,
        endog: Any,
        exog: Any,
        *,
        missing: str = "drop",
        owner: str = "LabelDesign.from_arrays",
        stacklevel: int = 2,
    ) -> tuple["LabelDesign", LabelRows]:
        """Make a design with one feature for each column of a matrix or data frame.

        Parameters
        ----------
        endog : array-like, shape (n_rows,)
            The response. A Series gives it its name; without one it is ``"y"``.
        exog : DataFrame or array-like, shape (n_rows, p)
            The features; those of an array are named x1, x2, ...
        missing, owner, stacklevel
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
        response, names, frame = join_columns(endog, exog, owner)
        needed = {name: name for name in (response, *names)}
        rows = read_rows(Table(frame, owner), needed, None, missing, owner, stacklevel + 1)
        expressions = [column_expression(name) for name in names]
        left, factors, made = _learn(column_expression(response), expressions, rows, frame.index, {}, owner)
        return cls("", "", None, left, factors, make_variables(rows.columns, list(needed)), {}), made

    @classmethod
    def of_columns(
        cls,
        response: str,
        classes: Sequence[Level],
        names: Sequence[str],
        levels: Sequence[Sequence[Level]],
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
        levels : sequence of p sequences of (str, int, float or bool)
            Their levels.

        Returns
        -------
        LabelDesign
        """
        left, *factors = (
            Factor(_labelled(column_expression(name)), (), 1, tuple(known))
            for name, known in zip((response, *names), (classes, *levels), strict=True)
        )
        variables = {
            name: Variable(name, _kind(known), False)
            for name, known in zip((response, *names), (classes, *levels), strict=True)
        }
        return cls("", "", None, left, tuple(factors), variables, {})

    def encode(self, new: Any, *, unseen: str = "raise", owner: str = "LabelDesign.encode") -> IntArray:
        """Return the positions of the features of new rows among their levels.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m rows, with the columns that the features use; others are ignored. For a design from arrays
            also a matrix with the same columns.
        unseen : {"raise", "prior"}
            Whether a level that no row of the fit has is an error, or -1.
        owner : str
            Who is asking, for messages.

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
        check_choice(unseen, "unseen", owner, ("raise", "prior"))
        new = as_pandas(new)
        if not isinstance(new, (pd.DataFrame, Mapping)) and not self.formula:
            new = array_frame(new, list(self.names), owner, "new")
        table = Table(as_frame(new, owner, "new"), owner)
        columns = self._columns((factor.expression for factor in self.factors), table, owner)
        evaluator = Evaluator(columns, len(table), self.functions, owner)
        codes = np.empty((len(table), len(self.factors)), dtype=np.int64)
        for j, factor in enumerate(self.factors):
            value, levels = _apply(evaluator, factor), factor.levels or ()
            if unseen == "raise":
                codes[:, j] = level_codes(value, levels, factor.expression, owner)
            else:
                codes[:, j] = level_positions(value.values, levels)
        return codes

    def encode_response(self, new: Any, *, owner: str = "LabelDesign.encode_response") -> IntArray:
        """Return the positions of the response of new rows among its levels.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m rows, with the columns that the response uses.
        owner : str
            Who is asking, for messages.

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
        table = Table(as_frame(new, owner, "new"), owner)
        columns = self._columns((self.left.expression,), table, owner)
        value = _apply(Evaluator(columns, len(table), self.functions, owner), self.left)
        return level_codes(value, self.classes, self.left.expression, owner)

    def encode_classes(self, labels: Any, *, owner: str = "LabelDesign.encode_classes") -> IntArray:
        """Return the positions of classes, which a computed response has as its values, among its levels.

        Parameters
        ----------
        labels : array-like, shape (m,)
            Classes.
        owner : str
            Who is asking, for messages.

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
        return design.encode_response({self.response: labels}, owner=owner)

    def _columns(self, expressions: Iterable[Expression], table: Table, owner: str) -> dict[str, Column]:
        """Return the columns that expressions use, none of them with a missing value."""
        needed = needed_columns(None, list(expressions))
        columns = {
            name: conform(table.column(name, needed_by=term), self.variables[name], owner)
            for name, term in needed.items()
        }
        check_finite(tuple(columns.values()), owner)
        gaps = [f"{name}: {int(one.missing.sum())}" for name, one in columns.items() if one.missing.any()]
        if gaps:
            raise DataError(
                f"The new data of {owner} must have no missing values. Got some in {', '.join(gaps)} rows."
            )
        return columns


def read_labels(values: pd.Series, name: str, owner: str) -> tuple[tuple[Level, ...], IntArray]:
    """Return the levels of labels (n,) without missing values, and the position of each among them.

    Raises
    ------
    DataError
        If they are no labels, or fewer than two different ones.
    """
    table = Table(pd.DataFrame({name: values}), owner)
    rows = read_rows(table, {name: name}, None, "raise", owner, 2)
    left, _, made = _learn(column_expression(name), (), rows, table.index, {}, owner)
    return left.levels or (), made.y


def _learn(
    response: Expression,
    expressions: Sequence[Expression],
    rows: Complete,
    index: pd.Index,
    functions: Mapping[str, Function],
    owner: str,
) -> tuple[Factor, tuple[Factor, ...], LabelRows]:
    """Return response and features with their levels, and their codes on the complete rows."""
    n = len(rows.positions)
    evaluator = Evaluator(rows.columns, n, functions, owner)
    codes = np.empty((n, len(expressions) + 1), dtype=np.int64)
    made = []
    for position, expression in enumerate((response, *expressions)):
        given = _labelled(expression)
        value, states = evaluator.learn(given)
        assert isinstance(value, Categories)
        if value.contrast is not None:
            raise FormulaError(
                f"The formula of {owner} gives {expression.label!r} a contrast, which labels do not have."
            )
        value = _whole(value, given is expression, expression.label, owner)
        levels = used_levels(value, expression.label, owner, "feature" if position else "response")
        codes[:, position] = level_codes(value, levels, expression, owner)
        made.append(Factor(given, states, 1, levels))
    kept = index if n == rows.n_rows else index[rows.positions]
    data = LabelRows(codes[:, 0].copy(), codes[:, 1:], kept, rows.n_rows, rows.missing)
    return made[0], tuple(made[1:]), data


def _labelled(expression: Expression) -> Expression:
    """Return an expression as labels: inside ``C()``, if it is not."""
    tree = expression.tree
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C":
        return expression
    return replace(expression, tree=ast.Call(ast.Name("C", ast.Load()), [tree], []))


def _whole(value: Categories, asked: bool, label: str, owner: str) -> Categories:
    """Return labels that are numbers as whole ones if they are, or raise :class:`DataError` unless asked."""
    if value.values.dtype.kind != "f" or value.levels is not None:
        return value
    if (value.values == np.floor(value.values)).all() and (np.abs(value.values) <= MAX_INTEGER).all():
        return replace(value, values=value.values.astype(np.int64))
    if not asked:
        raise DataError(
            f"The values of {label!r} of {owner} must be labels: text, categories, booleans or whole numbers."
            f" Got real numbers instead; C({label}) takes each distinct one as a label, and np.floor() or "
            "pandas.cut makes classes."
        )
    return value


def _apply(evaluator: Evaluator, factor: Factor) -> Categories:
    value = evaluator.apply(factor.expression, factor.states)
    assert isinstance(value, Categories)  # the expression is a call of C()
    return value


def _kind(levels: Sequence[Level]) -> Kind:
    """Return the kind of column that holds some levels."""
    if all(isinstance(level, bool) for level in levels):
        return "boolean"
    if all(isinstance(level, int) for level in levels):
        return "integer"
    return "text" if all(isinstance(level, str) for level in levels) else "real"
