"""Designs without a formula: a response and a matrix or data frame with one term per column."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel.design.build import (
    DesignData,
    Learner,
    Response,
    learn_factors,
    learn_response,
    make_data,
    make_layout,
    read_rows,
)
from pyrjsel.design.extras import extra_names
from pyrjsel.design.formula import Subterm
from pyrjsel.design.frame import Column, Table, array_series, as_array, as_frame, as_pandas
from pyrjsel.design.layout import Layout, assemble
from pyrjsel.design.safety import column_expression


def build_arrays(
    endog: object,
    exog: object,
    extras: object,
    missing: str,
    learn: Learner = learn_response,
) -> tuple[Response, Layout, DesignData]:
    """Make the layout of a design with one term for each column of `exog`, in its order.

    See :meth:`pyrjsel.design.Design.from_arrays`.
    """
    response, columns, whole = join_columns(endog, exog)
    aside = {value for value in extra_names(extras).values() if isinstance(value, str)}
    names = [name for name in columns if name not in aside]

    table = Table(whole)
    left = column_expression(response)
    needed = {response: response} | {name: name for name in names}
    rows = read_rows(table, needed, extras, missing)
    n_rows = len(rows.positions)
    _check_ones(rows.columns, names)
    kept, y = learn(left, rows.columns, n_rows, {})
    expressions = [column_expression(name) for name in names]
    factors, blocks, _ = learn_factors(expressions, rows.columns, n_rows, {})

    coded: list[tuple[Subterm, ...]] = []
    labels: list[str] = []
    for position, factor in enumerate(factors):
        name = factor.expression.label
        if factor.levels is None:
            coded.append((Subterm((position,), (None,)),))
            labels.append(name)
        else:
            # Treatment contrasts: the first level is the reference.
            coded.append((Subterm((position,), (np.eye(len(factor.levels))[:, 1:],)),))
            labels += [f"{name}[T.{level}]" for level in factor.levels[1:]]
    terms = [(position,) for position in range(len(factors))]
    layout = make_layout(terms, coded, labels, factors, rows.columns)
    X = assemble(coded, blocks, n_rows, labels)
    return kept, layout, make_data(y, X, rows, whole.index)


def join_columns(endog: object, exog: object) -> tuple[str, list[str], pd.DataFrame]:
    """Join a response and columns in one data frame.

    Parameters
    ----------
    endog : array-like, shape (n,)
        The response. Its name is that of the Series, or ``"y"``.
    exog : DataFrame, Series or array-like, shape (n, p)
        The columns; those of an array are named x1, x2, ...

    Returns
    -------
    response : str
        Name of the response.
    names : list of p str
        Names of the columns.
    frame : DataFrame
        The response and the columns.

    Raises
    ------
    DataError
        If shapes or indexes do not match, or a name occurs twice.
    """
    exog = as_pandas(exog)
    frame = _columns(exog)
    response, values = response_of(endog, frame, isinstance(exog, (pd.DataFrame, pd.Series)))
    if isinstance(values, pd.Series) and not isinstance(exog, (pd.DataFrame, pd.Series)):
        frame.index = values.index
    table = Table(frame)
    table.check_unique(table.names)
    if response in table:
        raise DataError(
            f"The 'exog' of {called()} has a column {response!r}, which is also the name of the response. "
            "Leave it out, or rename endog."
        )
    whole = frame.copy(deep=False)
    whole.columns = pd.Index(table.names, dtype=object)
    whole.insert(
        0, response, array_series(values).set_axis(whole.index) if isinstance(values, np.ndarray) else values
    )
    return response, table.names, whole


def _columns(exog: object) -> pd.DataFrame:
    """Return `exog` as a data frame that can be changed without side effects."""
    if isinstance(exog, pd.DataFrame):
        return exog.copy(deep=False)
    if isinstance(exog, pd.Series):
        return exog.to_frame(exog.name if exog.name is not None else "x1")
    if isinstance(exog, Mapping) and not scipy.sparse.issparse(exog):
        raise DataError(f"The 'exog' of {called()} must be a DataFrame or an array. Got a mapping instead.")
    return array_frame(exog, None, "exog")


def array_frame(values: object, names: list[str] | None, what: str) -> pd.DataFrame:
    """Return a matrix as a data frame with the given names, or x1, x2, ... for None.

    Raises
    ------
    DataError
        If it is not two-dimensional, or has another number of columns than names.
    """
    if scipy.sparse.issparse(values):
        values = checked_sparse(values, what).toarray()
    try:
        array = as_array(values)
    except ValueError as error:
        raise DataError(f"The {what!r} of {called()} must be a matrix: {error}.") from error
    if array.ndim == 1 and (names is None or len(names) == 1):
        array = array[:, None]
    if array.ndim != 2 or (names is not None and array.shape[1] != len(names)):
        must = "a matrix" if names is None else f"a matrix of {len(names)} columns"
        raise DataError(
            f"The {what!r} of {called()} must be a DataFrame or {must}. Got shape {array.shape} instead."
        )
    if names is None:
        names = [f"x{number}" for number in range(1, array.shape[1] + 1)]
    # Text stays as it is: pandas strings cannot hold all of it.
    return pd.DataFrame(array, columns=names, dtype=object if array.dtype.kind == "U" else None)


def checked_sparse(matrix: Any, what: str) -> Any:
    """Return a sparse matrix whose indices are known to be inside, with the same values.

    Raises
    ------
    DataError
        If it is not two-dimensional, or damaged: scipy's loops would write outside of its arrays.
    """
    if matrix.ndim != 2:
        raise DataError(f"The {what!r} of {called()} must be a matrix. Got shape {matrix.shape} instead.")
    names = [name for name in ("indices", "indptr", "row", "col") if hasattr(matrix, name)]
    try:
        places = [np.asarray(getattr(matrix, name)) for name in names]
        if any(place.dtype.kind not in "iu" for place in places):
            raise ValueError("indices must be integers")
        if matrix.format in ("csc", "csr", "bsr"):
            # A new one: whether indices are sorted and unique is remembered from before they were changed.
            made = type(matrix)((matrix.data, *places), shape=matrix.shape)
            made.check_format(full_check=True)
            return made
        # The constructor compares the indices of this format with the shape.
        found = matrix.tocoo()
        return type(found)((found.data, (found.row, found.col)), shape=found.shape)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(f"The {what!r} of {called()} is a damaged sparse matrix: {error}.") from error


def new_table(new: object, names: Iterable[str] | None) -> Table:
    """Return new data as a table; also a matrix, if the design is from arrays with columns `names`.

    Raises
    ------
    DataError
        If the data have another type, or a matrix has another number of columns.
    """
    new = as_pandas(new)
    mapping = isinstance(new, Mapping) and not scipy.sparse.issparse(new)
    if mapping or isinstance(new, pd.DataFrame) or names is None:
        return Table(as_frame(new, "new"))
    if isinstance(new, pd.Series):
        raise DataError(f"The 'new' of {called()} must be a DataFrame or a matrix. Got a Series instead.")
    return Table(array_frame(new, list(names), "new"))


def response_of(endog: object, exog: pd.DataFrame, indexed: bool) -> tuple[str, np.ndarray | pd.Series]:
    """Return the name of the response and its values, one per row of `exog`."""
    table = as_pandas(endog)
    if table is not endog and len(table) == len(exog):
        endog = table.set_axis(exog.index)  # it has no index
    if isinstance(endog, (pd.Categorical, pd.CategoricalIndex)):
        own = exog.index if len(endog) == len(exog) else None
        endog = pd.Series(endog, index=own)  # an array would lose the order of its levels
    if isinstance(endog, pd.DataFrame):
        if endog.shape[1] != 1:
            raise DataError(f"The 'endog' of {called()} must be one column. Got {endog.shape[1]} instead.")
        endog = endog.iloc[:, 0]
    if isinstance(endog, pd.Series):
        name = "y" if endog.name is None else str(endog.name)
        values: np.ndarray | pd.Series = endog
        length = len(endog)
    else:
        name = "y"
        try:
            array = as_array(endog)
        except ValueError as error:
            raise DataError(f"The 'endog' of {called()} must be one column: {error}.") from error
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise DataError(f"The 'endog' of {called()} must be one column. Got shape {array.shape} instead.")
        values, length = array, len(array)
    if length != len(exog):
        raise DataError(
            f"The 'endog' of {called()} has {length} rows, but its 'exog' {len(exog)}; they must match."
        )
    if isinstance(values, pd.Series) and indexed and not values.index.equals(exog.index):
        raise DataError(
            f"The 'endog' and 'exog' of {called()} must have the same index. Reindex one of them, or pass "
            ".to_numpy() if their rows are in the same order."
        )
    return name, values


def _check_ones(columns: Mapping[str, Column], names: list[str]) -> None:
    ones = [name for name in names if columns[name].numeric and (columns[name].values == 1.0).all()]
    if ones:
        raise DataError(
            f"The 'exog' of {called()} has the constant column(s) {', '.join(map(repr, ones))} of ones. "
            "The intercept is always included; leave them out."
        )
