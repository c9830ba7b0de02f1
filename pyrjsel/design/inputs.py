"""Designs of numeric inputs and a label, both of which may be missing."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError, FormulaError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import bad_value, check_choice, counted
from pyrjsel.design.algebra import parse_terms
from pyrjsel.design.arrays import join_columns, new_table
from pyrjsel.design.build import check_finite, check_shadowing, make_variables, no_rows, report_missing
from pyrjsel.design.categories import Categories
from pyrjsel.design.evaluate import Evaluator
from pyrjsel.design.frame import Level, Table, array_series, as_frame, complete, placed, plain_level
from pyrjsel.design.labels import LabelDesign
from pyrjsel.design.layout import Factor, Variable
from pyrjsel.design.levels import learn_levels
from pyrjsel.design.new_rows import check_columns, conform, valid_rows
from pyrjsel.design.safety import Expression, check_functions, column_expression
from pyrjsel.design.terms import Term, make_terms

Function = Callable[..., object]


@dataclass(frozen=True, eq=False)
class InputRows:
    """The rows that a design of inputs was made from.

    Attributes
    ----------
    y : ndarray of int64, shape (n,)
        Position of the label among the classes, -1 if it is missing.
    X : ndarray of float64, shape (n, p)
        The inputs, NaN where missing.
    index : Index
        Labels of the n rows.
    n_rows : int
        Number of rows of the data, including dropped rows.
    missing : Series
        Number of missing values by column of the inputs, where not 0.
    positions : ndarray of int64, shape (n,)
        Positions of the rows in the data.
    """

    y: IntArray
    X: FloatArray
    index: pd.Index
    n_rows: int
    missing: pd.Series
    positions: IntArray

    @property
    def n(self) -> int:
        """Number of rows used."""
        return len(self.y)

    @property
    def n_dropped(self) -> int:
        """Number of dropped rows."""
        return self.n_rows - self.n

    @property
    def n_unlabelled(self) -> int:
        """Number of rows without a label."""
        return int((self.y < 0).sum())

    def take(self, rows: IntArray | BoolArray) -> "InputRows":
        """Return some of the rows, by position or by a mask."""
        return replace(
            self, y=self.y[rows], X=self.X[rows], index=self.index[rows], positions=self.positions[rows]
        )

    def restrict(self, keep: Sequence[int]) -> "InputRows":
        """Return the same rows with a subset of the inputs, by position."""
        return replace(self, X=np.ascontiguousarray(self.X[:, list(keep)]))


@dataclass(frozen=True, eq=False, repr=False)
class InputDesign:
    """A design with a categorical response and numeric inputs; holds no data.

    Made by :meth:`from_formula` or :meth:`from_arrays`.

    Attributes
    ----------
    formula : str
        The formula as given; empty for a design from arrays.
    labels : LabelDesign
        The response.
    dtype : dtype or None
        Dtype of the response, used for returned labels, if it is an extension dtype of pandas such as
        categories; None if the classes determine it.
    inputs : tuple of p Factor
        The inputs.
    variables : mapping of str to Variable
        The columns of the data that the inputs use.
    functions : mapping of str to callable
        The user's functions that the inputs call.

    Examples
    --------
    >>> import pandas as pd
    >>> from pyrjsel.design import InputDesign
    >>> frame = pd.DataFrame({"y": ["b", "a", None], "size": [1.0, None, 4.0], "age": [30, 40, 50]})
    >>> design, rows = InputDesign.from_formula("y ~ np.log(size) + age", frame)
    >>> design.classes, rows.y.tolist()
    (('a', 'b'), [1, 0, -1])
    >>> rows.X.round(2)
    array([[ 0.  , 30.  ],
           [  nan, 40.  ],
           [ 1.39, 50.  ]])
    """

    formula: str
    labels: LabelDesign
    dtype: Any
    inputs: tuple[Factor, ...]
    variables: Mapping[str, Variable]
    functions: Mapping[str, Function]

    @property
    def response(self) -> str:
        """Name of the response as in the formula."""
        return self.labels.response

    @property
    def classes(self) -> tuple[Level, ...]:
        """The labels, in order."""
        return self.labels.classes

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the p inputs."""
        return tuple(one.expression.label for one in self.inputs)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The inputs as terms of a model space, one column each."""
        members = [(position,) for position in range(len(self.inputs))]
        return make_terms(members, [1] * len(members), self.names, [one.expression for one in self.inputs])

    def __repr__(self) -> str:
        return f"<InputDesign {self.formula or 'from arrays'!r}: {counted(len(self.inputs), 'input')}>"

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: pd.DataFrame | Mapping[str, Any],
        *,
        classes: Sequence[Any] | None = None,
        missing: str = "impute",
        functions: Mapping[str, Function] | None = None,
    ) -> tuple["InputDesign", InputRows]:
        """Make a design from a formula whose right-hand side is a sum of inputs.

        Parameters
        ----------
        formula : str
            Formula such as ``"y ~ a + np.log(b)"``; ``.`` means all columns of the data that the response
            does not use. An input is one numeric or boolean column; a product stands inside ``I()``.
        data : DataFrame or mapping of columns
            The rows.
        classes : sequence of labels, optional
            The classes in order, some of which may not occur; None means those that occur, at least two.
        missing : {"impute", "drop", "raise"}
            Treatment of rows with a missing input. ``"impute"`` keeps them. Rows without a label are always
            kept.
        functions : mapping of str to callable, optional
            Additional functions for the formula, by name.

        Returns
        -------
        design : InputDesign
            The design, which computes the inputs of new rows.
        rows : InputRows
            The rows.

        Raises
        ------
        FormulaError
            If the formula cannot be parsed, has products of inputs, or has its response as an input.
        UnknownNameError
            If a name is not a column.
        DataError
            If the data have no row, infinite values, labels as inputs, or fewer than two classes.
        ParameterError
            If another parameter is invalid.

        Warns
        -----
        MissingDataWarning
            If rows were dropped; it counts them by column.
        """
        own = check_functions(functions)
        table = Table(as_frame(data))

        def others(response: Expression) -> list[str]:
            names = [name for name in table.names if name not in response.variables]
            table.check_unique(names)
            return names

        parsed = parse_terms(formula, others, tuple(own))
        if any(len(term) > 1 for term in parsed.terms):
            raise FormulaError(
                f"The formula {formula!r} of {called()} must be a sum of inputs, without interactions. "
                "Write a product of numbers inside I(), as in I(a * b)."
            )
        expressions = [parsed.factors[term[0]] for term in parsed.terms]
        if parsed.response.label in (one.label for one in expressions):
            raise FormulaError(
                f"The formula {formula!r} of {called()} has its response {parsed.response.label!r} on the "
                "right-hand side. Leave it out."
            )
        used = dict.fromkeys(name for one in (parsed.response, *expressions) for name in one.variables)
        check_shadowing(own, dict.fromkeys(used, ""))
        kept = {name: own[name] for one in (parsed.response, *expressions) for name in one.functions}
        return _make(formula, parsed.response, expressions, table, kept, classes, missing)

    @classmethod
    def from_arrays(
        cls,
        endog: Any,
        exog: Any,
        *,
        classes: Sequence[Any] | None = None,
        missing: str = "impute",
    ) -> tuple["InputDesign", InputRows]:
        """Make a design with one input for each column of a matrix or data frame.

        Parameters
        ----------
        endog : array-like, shape (n_rows,)
            The response. Its name is that of the Series, or ``"y"``.
        exog : DataFrame or array-like, shape (n_rows, p)
            The inputs; those of an array are named x1, x2, ...
        classes, missing
            As in :meth:`from_formula`.

        Returns
        -------
        design : InputDesign
            The design, which computes the inputs of new rows.
        rows : InputRows
            The rows.

        Raises
        ------
        DataError
            If shapes or indexes do not match, or the data cannot be used.
        """
        response, names, frame = join_columns(endog, exog)
        expressions = [column_expression(name) for name in names]
        table = Table(frame)
        return _make("", column_expression(response), expressions, table, {}, classes, missing)

    def restrict(self, keep: Sequence[int]) -> "InputDesign":
        """Return the design of a subset of the inputs, by position, which needs only their variables."""
        inputs = tuple(self.inputs[position] for position in keep)
        names = dict.fromkeys(name for one in inputs for name in one.expression.variables)
        return replace(self, inputs=inputs, variables={name: self.variables[name] for name in names})

    def transform(self, new: Any) -> tuple[FloatArray, pd.Index]:
        """Compute the inputs of new rows.

        Parameters
        ----------
        new : DataFrame or mapping of columns
            m rows, with the columns that the inputs use; others are ignored. For a design from arrays also a
            matrix with the same columns.

        Returns
        -------
        X : ndarray of float64, shape (m, p)
            The inputs, NaN where missing.
        index : Index
            Index of `new`.

        Raises
        ------
        UnknownNameError
            If a column is missing.
        DataError
            If a column holds another kind of values than in the fit, or a value is infinite.
        """
        X, _, index = self.valid_rows(new, None)
        return X, index

    def valid_rows(
        self, new: Any, invalid: str | None, used: BoolArray | None = None
    ) -> tuple[FloatArray, IntArray, pd.Index]:
        """Compute the inputs of the new rows that can be used.

        Parameters
        ----------
        new
            As for :meth:`transform`.
        invalid : {"raise", "nan"}, or None
            Whether rows with infinite values or inputs that are not finite are an error or left out; None is
            an error that does not name this choice.
        used : ndarray of bool, shape (p,), optional
            The inputs that are computed, of whose variables alone columns are needed; others are NaN.

        Returns
        -------
        X : ndarray of float64, shape (k, p)
            The inputs, NaN where missing.
        rows : ndarray of int64, shape (k,)
            Positions of the rows in `new`.
        index : Index
            Index of `new`, m rows.
        """
        table = new_table(new, None if self.formula else self.variables)
        places = range(len(self.inputs)) if used is None else np.flatnonzero(used).tolist()
        chosen = [self.inputs[j].expression for j in places]
        by_variable = {name: one.label for one in reversed(chosen) for name in one.variables}
        needed = [name for name in self.variables if name in by_variable]
        check_columns(needed, table, self.variables, by_variable)
        return *valid_rows(partial(self._compute, places=places), table, invalid), table.index

    def variables_of(self, used: BoolArray) -> list[str]:
        """Return the columns of the data that some of the inputs, a mask (p,), use."""
        chosen = [self.inputs[j].expression for j in np.flatnonzero(used)]
        return [name for name in self.variables if any(name in one.variables for one in chosen)]

    def _compute(self, table: Table, places: Iterable[int]) -> FloatArray:
        X = np.full((len(table), len(self.inputs)), np.nan)
        for j in places:
            one = self.inputs[j]
            columns = {
                name: conform(table.column(name, one.expression.label), self.variables[name])
                for name in one.expression.variables
            }
            check_finite(tuple(columns.values()))
            columns, rows = complete(columns, len(table))
            if len(rows):
                evaluator = Evaluator(columns, len(rows), self.functions)
                with placed(rows, len(table)):
                    value = evaluator.apply(one.expression, one.states)
                X[rows, j] = _one_column(value, one.expression)
        return X

    def decode(self, codes: IntArray, index: pd.Index) -> pd.Series:
        """Return the labels at positions among the classes, in the dtype of the response."""
        values = pd.Series(pd.Index(self.classes)[codes], index=index, name=self.response)
        return values if self.dtype is None else values.astype(self.dtype)


def _make(
    formula: str,
    response: Expression,
    expressions: Sequence[Expression],
    table: Table,
    functions: Mapping[str, Function],
    classes: Sequence[Any] | None,
    missing: str,
) -> tuple[InputDesign, InputRows]:
    check_choice(missing, "missing", ("impute", "drop", "raise"))
    if len(table) == 0:
        raise no_rows()
    if not expressions:
        raise DataError(f"{called()} needs at least one input; the formula has none.")
    labels, y, dtype = _learn_response(response, table, functions, classes)
    names = {name: one.label for one in expressions for name in one.variables}
    columns = {name: table.column(name, term) for name, term in names.items()}
    check_finite(tuple(columns.values()))
    inputs = []
    X = np.full((len(table), len(expressions)), np.nan)
    for j, expression in enumerate(expressions):
        present, rows = complete({name: columns[name] for name in expression.variables}, len(table))
        states: tuple[Any, ...] = ()
        if len(rows):
            value, states = Evaluator(present, len(rows), functions).learn(expression)
            X[rows, j] = _one_column(value, expression)
        inputs.append(Factor(expression, states, 1, None))
    counts = {name: int(column.missing.sum()) for name, column in columns.items() if column.missing.any()}
    series = pd.Series(counts, dtype=np.int64, name="missing")
    data = InputRows(y, X, table.index, len(table), series, np.arange(len(table), dtype=np.int64))
    if missing != "impute":
        gone = np.isnan(X).any(axis=1)
        report_missing(series, int(gone.sum()), len(table), missing)
        data = data.take(~gone)
    design = InputDesign(
        formula, labels, dtype, tuple(inputs), make_variables(columns, list(names)), functions
    )
    return design, data


def _learn_response(
    response: Expression,
    table: Table,
    functions: Mapping[str, Function],
    classes: Sequence[Any] | None,
) -> tuple[LabelDesign, IntArray, Any]:
    """Return the response, its positions among the classes, and the dtype of returned labels."""
    columns = {name: table.column(name, response.label) for name in response.variables}
    check_finite(tuple(columns.values()))
    levels = None if classes is None else _check_classes(classes)
    plain = response.label in response.variables
    dtype = table.dtype(response.label) if plain else None
    dtype = dtype if isinstance(dtype, pd.api.extensions.ExtensionDtype) else None
    if levels is not None and isinstance(dtype, pd.CategoricalDtype):
        strange = [level for level in levels if level not in dtype.categories]
        if strange:
            raise bad_value("classes", f"categories of the column {response.label!r}", classes)
    y = np.full(len(table), -1, dtype=np.int64)
    rows = complete(columns, len(table))[1]
    if not len(rows):
        if levels is None or not plain:
            raise DataError(
                f"The response {response.label!r} of {called()} is missing in every row. Name the "
                "classes with the 'classes' parameter."
            )
        return LabelDesign.of_columns(response.label, levels, (), ()), y, dtype
    left, _, y = learn_levels(response, columns, len(table), functions, "response", levels, False)
    y[y == len(left.levels or ())] = -1
    labels = LabelDesign("", "", None, left, (), make_variables(columns, list(columns)), functions)
    return labels, y, dtype


def _check_classes(classes: Sequence[Any]) -> tuple[Level, ...]:
    """Return the classes as plain labels, or raise :class:`ParameterError`."""
    must = "a sequence of two or more different labels"
    # Sets have no order.
    if (
        isinstance(classes, (str, bytes, Set))
        or not isinstance(classes, Iterable)
        or (isinstance(classes, np.ndarray) and not classes.ndim)
    ):
        raise bad_value("classes", must, classes)
    given = list(classes)
    kinds = (str, bool, int, float, np.bool_, np.integer, np.floating)
    if not all(isinstance(item, kinds) and not isinstance(item, np.timedelta64) for item in given):
        raise bad_value("classes", must, classes)
    levels = tuple(plain_level(item) for item in given)
    if any(level != level for level in levels) or len(set(levels)) != len(levels) or len(levels) < 2:
        raise bad_value("classes", must, classes)
    return levels


def _one_column(value: FloatArray | Categories, expression: Expression) -> FloatArray:
    """Return the values of an input, or raise :class:`DataError` for labels and for several columns."""
    label = expression.label
    if isinstance(value, Categories):
        one = expression.variables
        code = column_expression(one[0]).code if len(one) == 1 else expression.code
        level = plain_level(array_series(value.values).dropna().iloc[0])
        raise DataError(
            f"The input {label!r} of {called()} must be numeric or boolean. Got labels instead: factors "
            f"are not supported as inputs. Use an indicator such as I({code} == {level!r}), or leave it out."
        )
    if value.shape[1] != 1:
        raise DataError(
            f"The input {label!r} of {called()} must be one column. Got {value.shape[1]} instead."
        )
    return value[:, 0]
