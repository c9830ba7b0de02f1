"""Weights, offsets and other values, one per row, that accompany a design."""

import re
from collections.abc import Mapping, Sequence

import pandas as pd

from pyrjsel._called import called
from pyrjsel._errors import DataError, UnknownNameError
from pyrjsel._validate import bad_value, show, unknown_name
from pyrjsel.design.frame import Column, Table, as_array, as_pandas, read_array, read_column


def extra_names(extras: object) -> dict[str, object]:
    """Return the extras that are not None, or raise :class:`ParameterError`."""
    if extras is None:
        return {}
    if not isinstance(extras, Mapping) or not all(isinstance(key, str) for key in extras):
        raise bad_value("extras", "a mapping of names to columns or arrays", extras)
    return {key: value for key, value in extras.items() if value is not None}


def read_extra(key: str, value: object, table: Table) -> Column:
    """Return an extra as a numeric column with one value per row of the data.

    Parameters
    ----------
    key : str
        Name of the extra, such as ``"weights"``.
    value : str, Series or array-like, shape (n,)
        A column of the data, or one value for each row. A Series is aligned by its index.
    table : Table
        The data, n rows.

    Returns
    -------
    Column
        Named by the column of the data, or by `key` for an array.

    Raises
    ------
    UnknownNameError
        If a str is not a column.
    DataError
        If it is not numeric, or does not have one value for each row.
    """
    given = as_pandas(value)
    if given is not value and len(given) == len(table):
        value = given.set_axis(table.index)  # it has no index
    if isinstance(value, str):
        if value not in table:
            raise unknown_column(key, value, table.names)
        column = table.column(value)
    elif isinstance(value, pd.Series):
        column = read_column(_aligned(key, value, table), key)
    else:
        column = _read_array(key, value)
    if len(column.values) != len(table):
        raise DataError(
            f"The {key!r} parameter of {called()} must have one value for each of the {len(table)} rows. "
            f"Got {len(column.values)} instead."
        )
    if not column.numeric and not column.empty:
        raise DataError(
            f"The {key!r} parameter of {called()} must be numeric. Got {column.kind} values instead"
            f"{_comparison(key, value, column)}."
        )
    return column


def unknown_column(key: str, name: str, known: Sequence[str]) -> UnknownNameError:
    """Return the error for a parameter that names no column; an expression must be computed."""
    if re.search(r"[-+*/()=<>]", name):
        return UnknownNameError(
            f"The {key!r} parameter of {called()} must be a column or an array. Got {show(name)}, no "
            "column; pass the computed values, as in np.log(data['x'])."
        )
    return unknown_name(name, "column", known, f"as {key!r}")


def _comparison(key: str, value: object, column: Column) -> str:
    """Return how to write events that are given as labels."""
    labels = sorted({label for label in (*column.values, *(column.levels or ())) if isinstance(label, str)})
    if key != "event" or not labels:
        return ""
    given = f"data[{value!r}]" if isinstance(value, str) else "event"
    return f"; write the events as a comparison, such as event={given} == {labels[-1]!r}"


def _read_array(key: str, value: object) -> Column:
    try:
        array = as_array(value)
    except ValueError as error:
        raise DataError(f"The {key!r} parameter of {called()} must be one-dimensional: {error}.") from error
    if array.ndim != 1:
        raise DataError(
            f"The {key!r} parameter of {called()} must be the name of a column or one-dimensional. "
            f"Got shape {array.shape} instead."
        )
    return read_array(array, key)


def _aligned(key: str, value: pd.Series, table: Table) -> pd.Series:
    if len(value) != len(table) or value.index.equals(table.index):
        return value  # a wrong length has its own message
    if value.index.is_unique and table.index.is_unique and table.index.isin(value.index).all():
        return value.loc[table.index]
    raise DataError(
        f"The {key!r} parameter of {called()} is a Series whose index does not match that of the data. "
        "Give it the same index, or pass .to_numpy() if its order matches the rows."
    )
