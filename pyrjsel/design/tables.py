"""Tables and columns of other packages than pandas, made pandas' own on the way in."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pyrjsel._errors import DataError, NotAvailableError

# What a user may give as rows; tables of other packages have no common type.
TableLike = pd.DataFrame | Mapping[str, Any] | Any
# Packages whose tables are taken, through narwhals.
PACKAGES = ("polars", "pyarrow", "modin", "cudf", "narwhals")
# The nullable dtypes of pandas by the names of arrow's types. By default integers with missing values would
# become floats, of which the labels are others and which do not hold those beyond 2**53.
NULLABLE = {
    "int8": pd.Int8Dtype(),
    "int16": pd.Int16Dtype(),
    "int32": pd.Int32Dtype(),
    "int64": pd.Int64Dtype(),
    "uint8": pd.UInt8Dtype(),
    "uint16": pd.UInt16Dtype(),
    "uint32": pd.UInt32Dtype(),
    "uint64": pd.UInt64Dtype(),
    "bool": pd.BooleanDtype(),
}


def as_pandas(data: Any) -> Any:
    """Return a table or column of polars, pyarrow and the like as a DataFrame or Series of pandas.

    Dictionaries of arrow and ``Enum`` of polars become categoricals with the same order. ``Categorical`` of
    polars becomes text: it has no order but that in which its values have appeared, here or elsewhere.

    Parameters
    ----------
    data : object
        What a user gave.

    Returns
    -------
    DataFrame, Series or object
        With a RangeIndex, unless arrow's table remembers that of pandas; what is no such table is returned as
        it is.

    Raises
    ------
    NotAvailableError
        If narwhals is not installed.
    DataError
        If two columns have the same name.

    Examples
    --------
    >>> import pyarrow
    >>> as_pandas(pyarrow.table({"dose": [1, None], "sex": ["f", "m"]})).dtypes["dose"]
    Int64Dtype()
    """
    if type(data).__module__.split(".")[0] not in PACKAGES:
        return data
    try:
        import narwhals.stable.v1 as nw
        from narwhals.exceptions import DuplicateError
    except ImportError as error:
        raise NotAvailableError(
            f"A {type(data).__module__.split('.')[0]} {type(data).__name__} needs narwhals, which is "
            "not installed. Install it with: pip install 'pyrjsel[tables]'"
        ) from error
    try:
        found = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    except DuplicateError as error:
        raise DataError(f"The names of the columns of a table must be different: {error}") from error
    if isinstance(found, nw.Series):
        name = found.name or None
        frame = as_pandas(found.alias("values").to_frame().to_native())
        return frame["values"].rename(name)
    if not isinstance(found, nw.DataFrame):
        return data  # not a table, or a lazy one
    if found.implementation.is_pandas_like():
        return found.to_pandas()
    if found.implementation.is_polars():
        text = [name for name, dtype in found.schema.items() if dtype == nw.Categorical]
        found = found.with_columns(nw.col(*text).cast(nw.String)) if text else found
    table = found.to_arrow()
    lacking = {str(column.type) for column in table.columns if column.null_count}
    nullable = {name: dtype for name, dtype in NULLABLE.items() if name in lacking}
    return table.to_pandas(types_mapper=lambda kind: nullable.get(str(kind)))
