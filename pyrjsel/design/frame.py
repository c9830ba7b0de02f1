"""Tables of any package as pandas data frames, and their columns as plain arrays with missing masks.

pandas has many representations of numbers, text and missing values (numpy, nullable, pyarrow-backed, object,
categorical). Here each column becomes one of four kinds with a float64, bool or object array and a mask.
Objects of :class:`decimal.Decimal` become float64.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types

from pyrjsel._called import called
from pyrjsel._errors import DataError, NotAvailableError, ParameterError, UnknownNameError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel._validate import check_unicode, missing_column, show, unmasked
from pyrjsel.design.safety import MAX_INTEGER

Kind = Literal["real", "integer", "boolean", "text"]
Level = str | int | float | bool

_OBJECT_KINDS: dict[str, Kind | Literal["empty"]] = {
    "string": "text",
    "boolean": "boolean",
    "integer": "integer",
    "floating": "real",
    "mixed-integer-float": "real",
    "decimal": "real",
    "empty": "empty",
}
# Functions of pandas that read files, by file extension.
READERS = {
    **dict.fromkeys(("csv", "tsv", "tab", "txt", "dat", "data"), "read_csv"),
    **dict.fromkeys(("xls", "xlsx", "ods"), "read_excel"),
    **dict.fromkeys(("feather", "arrow"), "read_feather"),
    **dict.fromkeys(("parquet", "pq"), "read_parquet"),
    "dta": "read_stata",
    "sas7bdat": "read_sas",
    "sav": "read_spss",  # codespell:ignore sav
}
# Tables that users may pass; those of other packages have no common type.
TableLike = pd.DataFrame | Mapping[str, Any] | Any
# Least number of columns of a data frame that are read from a matrix, if they are one.
MANY = 256
# An integer of 64 bits beyond all that are accepted.
MANY_BITS = 2**62
# Packages whose tables are accepted, through narwhals.
PACKAGES = ("polars", "pyarrow", "modin", "cudf", "narwhals")
# Nullable dtypes of pandas by the names of arrow types. By default integers with missing values would become
# floats, which have other labels and are inexact beyond 2**53.
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
    """Convert a table or column of polars, pyarrow and the like to a pandas DataFrame or Series.

    Dictionaries of arrow and ``Enum`` of polars become categoricals with the same order. ``Categorical`` of
    polars becomes text: its order is only that of first appearance, here or elsewhere.

    Parameters
    ----------
    data : object
        The user's data.

    Returns
    -------
    DataFrame, Series or object
        With a RangeIndex, unless an arrow table stores a pandas index; other objects are returned unchanged.

    Raises
    ------
    NotAvailableError
        If narwhals is not installed.
    DataError
        If two columns have the same name, or values have a type that pandas does not have.

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
        raise DataError(f"A table must have different column names: {error}") from error
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
    try:
        # Arrow has no integers of 128 bits; those that become 2**62 are refused like all beyond 2**53.
        for kind, least in ((nw.Int128, -MANY_BITS), (nw.UInt128, 0)):
            wide = [name for name, dtype in found.schema.items() if dtype == kind]
            if wide:
                found = found.with_columns(nw.col(*wide).clip(least, MANY_BITS).cast(nw.Int64))
        table = found.to_arrow()
        lacking = {str(column.type) for column in table.columns if column.null_count}
        nullable = {name: dtype for name, dtype in NULLABLE.items() if name in lacking}
        return table.to_pandas(types_mapper=lambda kind: nullable.get(str(kind)))
    except (ValueError, TypeError, RuntimeError) as error:
        raise DataError(
            f"A table of {called()} cannot be converted to pandas: {' '.join(str(error).split())}"
        ) from error


@contextmanager
def placed(positions: IntArray, n_rows: int) -> Iterator[None]:
    """Name the rows of a :class:`DataError` among all `n_rows`, of which a part is at `positions`."""
    try:
        yield
    except DataError as error:
        if error.rows is not None:
            rows = np.zeros(n_rows, dtype=bool)
            rows[positions[error.rows]] = True
            error.rows = rows
        raise


@dataclass(frozen=True, eq=False)
class Column:
    """One column as plain arrays.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"real", "integer", "boolean", "text"}
        Kind of its values, or of the categories of a categorical.
    values : ndarray, shape (n,)
        float64 for numbers, bool for booleans, object for text and categoricals. Values where `missing` is
        true are arbitrary.
    missing : ndarray of bool, shape (n,)
        Where the column has no value.
    levels : tuple or None
        All categories of a categorical, in order; None for other columns.
    empty : bool
        Whether all values are missing, so that `kind` is a guess.
    """

    name: str
    kind: Kind
    values: np.ndarray
    missing: BoolArray
    levels: tuple[Level, ...] | None = None
    empty: bool = False

    @property
    def categorical(self) -> bool:
        """Whether the column is a pandas categorical."""
        return self.levels is not None

    @property
    def numeric(self) -> bool:
        """Whether the column is numeric: numbers or booleans, but not categories."""
        return self.kind != "text" and self.levels is None

    def take(self, positions: IntArray) -> "Column":
        """Return the rows at `positions`."""
        rows = (self.values[positions], self.missing[positions])
        return Column(self.name, self.kind, *rows, self.levels, self.empty)

    def infinite(self) -> BoolArray | None:
        """Rows whose value is infinite, bool (n,); None if there are none."""
        if self.values.dtype != np.float64 or np.isfinite(self.values).all():
            return None
        rows: BoolArray = np.isinf(self.values) & ~self.missing
        return rows if rows.any() else None


class Table:
    """The columns of a data frame by name, read on demand and cached.

    Parameters
    ----------
    data : DataFrame
        n rows.
    """

    def __init__(self, data: pd.DataFrame) -> None:
        self._data = data
        self._columns: dict[str, Column] = {}
        self._positions: dict[str, int] = {}
        self._doubled: set[str] = set()
        self._by_label = data.columns.nlevels == 1 and data.columns.is_unique
        self.names: list[str] = []
        for position, label in enumerate(data.columns):
            name = str(label)
            self.names.append(name)
            if self._positions.setdefault(name, position) != position:
                self._doubled.add(name)

        check_unicode(self.names, "names of columns")
        # The position of its first column, and a matrix that shares the memory of many columns.
        self._first, self._matrix = shared_matrix(data)

    def __len__(self) -> int:
        return len(self._data)

    @property
    def index(self) -> pd.Index:
        """The index of the rows."""
        return self._data.index

    def __contains__(self, name: str) -> bool:
        return name in self._positions

    def column(self, name: str, needed_by: str | None = None) -> Column:
        """Return a column, or raise an error that names it and the term that needs it."""
        if name not in self._columns:
            if name not in self._positions:
                error = missing_column(name, self.names)
                if needed_by not in (None, name):
                    raise UnknownNameError(f"{error} The term {needed_by!r} needs it.")
                raise error
            self.check_unique((name,))
            place = self._positions[name] - self._first
            if self._matrix is not None and 0 <= place < self._matrix.shape[1]:
                self._columns[name] = read_array(self._matrix[:, place], name)
            else:
                self._columns[name] = read_column(self._series(name), name)
        return self._columns[name]

    def take(self, positions: IntArray) -> "Table":
        """Return the rows at `positions`."""
        return Table(self._data.iloc[positions])

    def dtype(self, name: str) -> Any:
        """Return the dtype of a column in the data frame."""
        return self._series(name).dtype

    def _series(self, name: str) -> pd.Series:
        if self._by_label and name in self._data.columns:
            series = self._data[name]  # a third of the time of iloc, which matters for wide data
        else:
            series = self._data.iloc[:, self._positions[name]]
        dtype: Any = series.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            dtype = dtype.categories.dtype
        if isinstance(dtype, pd.IntervalDtype):  # of pandas.cut: ordered labels
            series = series.astype("category").cat.rename_categories(str)
        return series

    def check_unique(self, names: Iterable[str]) -> None:
        """Raise :class:`DataError` if one of `names` is the name of several columns."""
        doubled = [name for name in dict.fromkeys(names) if name in self._doubled]
        if doubled:
            raise DataError(
                f"The data of {called()} have more than one column named {', '.join(map(repr, doubled))} "
                "(names that are not strings are compared as text)."
            )


def shared_matrix(data: pd.DataFrame) -> tuple[int, np.ndarray | None]:
    """Return the numbers of a data frame of many columns as one matrix, if pandas has them as one.

    A column of a matrix takes a tenth of the time of one of a data frame. The first or the last column, often
    the response, may be apart. The position of the first column of the matrix comes with it.
    """
    if data.shape[1] >= MANY:
        for part in (slice(1, None), slice(0, -1)):
            some = data.iloc[:, part]
            if len(set(some.dtypes)) == 1 and isinstance(some.dtypes.iloc[0], np.dtype):
                values = some.to_numpy()
                if values.dtype.kind in "fiub" and np.may_share_memory(values, some.iloc[:, 0].to_numpy()):
                    return part.start, values
    return 0, None


def as_frame(data: object, name: str = "data") -> pd.DataFrame:
    """Return `data`, a table or a mapping of columns, as a DataFrame."""
    data = as_pandas(data)
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, Mapping):
        try:
            return pd.DataFrame({key: _column_of(values) for key, values in data.items()})
        except (ValueError, TypeError, NotImplementedError) as error:
            raise DataError(
                f"The {name!r} of {called()} cannot be made into a data frame: {error}."
            ) from error
    check_no_path(data, name)
    hint = " Call collect() to make it a DataFrame." if hasattr(data, "collect") else ""
    raise DataError(
        f"The {name!r} of {called()} must be a DataFrame or a mapping of columns. "
        f"Got {type(data).__name__} instead.{hint}"
    )


def _column_of(values: Any) -> Any:
    """Return a column as pandas takes it, without an index if it had none."""
    found = as_pandas(values)
    if found is not values and isinstance(found, pd.Series):
        return found.array
    return as_array(values) if isinstance(values, np.ndarray) else values


def check_no_path(data: object, name: str = "data", parquet: bool = False) -> None:
    """Raise a helpful error if `data` is the path of a file, or the formula by mistake.

    Parameters
    ----------
    data : object
        The user's data.
    name : str
        Name of the parameter.
    parquet : bool
        Whether paths of Parquet files, and of folders of them, are accepted.
    """
    if not isinstance(data, (str, os.PathLike)):
        return
    path = os.fspath(data)
    if isinstance(data, str) and "~" in data and name == "data":
        raise ParameterError(
            f"The parameters 'formula' and 'data' of {called()} seem to be swapped: 'data' is the text "
            f"{show(data)}. The formula comes first."
        )
    end = re.sub(r"[.](gz|bz2|xz|zip|zst)$", "", str(path).lower()).rpartition(".")[2]
    reader = READERS.get(end)
    if (parquet and reader == "read_parquet") or (reader is None and (parquet or isinstance(data, str))):
        return
    raise DataError(
        f"The {name!r} of {called()} must be a table, not the path of a file. Got {show(path, 200)} instead; "
        f"read the file first, for example with pandas.{reader or 'read_csv'}()."
    )


def read_column(series: pd.Series, name: str) -> Column:
    """Return a column of a data frame as plain arrays.

    Parameters
    ----------
    series : Series, shape (n,)
        The column.
    name : str
        Its name, for messages.

    Returns
    -------
    Column

    Raises
    ------
    DataError
        If the column holds dates, complex numbers, objects, mixed types, or integers beyond 2**53.
    """
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _read_categorical(series, name)
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return _read_numbers(series.to_numpy(), name)
    if dtype.kind == "V":
        raise DataError(_unusable(series, name))
    missing = np.asarray(series.isna(), dtype=bool)
    kind: Kind | Literal["empty"] | None
    if types.is_bool_dtype(dtype):
        kind = "boolean"
    elif dtype.kind in "OSU":
        # Text of all backends, and other values stored as objects: pyarrow's dates and lists, decimals.
        kind = _OBJECT_KINDS.get(types.infer_dtype(series[~missing].to_numpy(dtype=object), skipna=False))
    elif types.is_complex_dtype(dtype) or not types.is_numeric_dtype(dtype):
        kind = None
    else:
        kind = "integer" if types.is_integer_dtype(dtype) else "real"
    if kind is None:
        raise DataError(_unusable(series, name))
    if kind == "empty":
        return Column(name, "real", np.full(len(series), np.nan), missing, empty=True)
    if kind == "text":
        return Column(name, "text", _objects(series, missing), missing)
    if kind == "boolean":
        flags = np.zeros(len(series), dtype=bool)
        flags[~missing] = series[~missing].to_numpy(dtype=bool)
        return Column(name, "boolean", flags, missing)
    numbers = np.full(len(series), np.nan)
    present = series[~missing]
    if kind == "integer":
        _check_integers(present.to_numpy(dtype=object), name)
    numbers[~missing] = present.to_numpy(dtype=np.float64)
    return Column(name, kind, numbers, missing | np.isnan(numbers))


def read_array(values: np.ndarray, name: str) -> Column:
    """Return one column of a numpy array as a :class:`Column`."""
    if values.dtype.kind in "fiub":
        return _read_numbers(values, name)
    return read_column(array_series(values), name)


def as_array(values: object, dtype: Any = None) -> np.ndarray:
    """Return values as an array, of a type if one is given; masked ones are missing.

    Raises
    ------
    ValueError
        If they are lists of different lengths.
    DataError
        If they are records, which pandas does not take or cannot compare.
    """
    array = np.asarray(unmasked(as_pandas(values)), dtype=dtype)
    if array.dtype.kind == "V":
        raise DataError(
            f"The arrays of {called()} must hold numbers, booleans or text. Got dtype {array.dtype} instead."
        )
    return array


def array_series(values: np.ndarray) -> pd.Series:
    """Return an array as a Series; text remains Python strings, since pandas strings cannot hold all text."""
    return pd.Series(values, dtype=object if values.dtype.kind in "OU" else None)


def _read_numbers(values: np.ndarray, name: str) -> Column:
    if values.dtype.kind == "b":
        return Column(name, "boolean", values, np.zeros(len(values), dtype=bool))
    if values.dtype.kind in "iu":
        if values.dtype.itemsize > 4:
            _check_integers(values, name)
        return Column(name, "integer", values.astype(np.float64), np.zeros(len(values), dtype=bool))
    numbers: FloatArray = values.astype(np.float64, copy=False)
    return Column(name, "real", numbers, np.isnan(numbers))


def _check_integers(values: np.ndarray, name: str) -> None:
    if len(values) and (values.max() > MAX_INTEGER or values.min() < -MAX_INTEGER):
        raise DataError(
            f"The column {name!r} of {called()} has integers beyond 2**53, which float64 cannot hold "
            "exactly. Convert it to floats, or to strings if it is a label."
        )


def _read_categorical(series: pd.Series, name: str) -> Column:
    categories = series.cat.categories
    kind = _OBJECT_KINDS.get(types.infer_dtype(categories, skipna=True)) if len(categories) else "text"
    if kind is None:
        found = types.infer_dtype(categories, skipna=True)
        raise DataError(
            f"The categories of the column {name!r} of {called()} must be text, numbers or booleans. "
            f"Got {found} instead; convert them with data[{name!r}].cat.rename_categories(str)."
        )
    levels = tuple(plain_level(value) for value in categories.tolist())
    codes = series.cat.codes.to_numpy()
    table = np.empty(len(levels) + 1, dtype=object)
    table[:-1] = levels
    table[-1] = None
    checked: Kind = "text" if kind == "empty" else kind
    return Column(name, checked, table[codes], codes < 0, levels, empty=not levels)


def complete(columns: Mapping[str, Column], n_rows: int) -> tuple[dict[str, Column], IntArray]:
    """Return columns of `n_rows` rows on the complete rows, and the positions of these rows."""
    gone: BoolArray = np.zeros(n_rows, dtype=bool)
    for column in columns.values():
        gone |= column.missing
    rows = np.flatnonzero(~gone).astype(np.int64)
    if len(rows) == n_rows:
        return dict(columns), rows
    return {name: column.take(rows) for name, column in columns.items()}, rows


def plain_level(value: object) -> Level:
    """Return a level of a factor as a str, bool, int or float of Python."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, str):
        return str(value)
    return float(value)  # type: ignore[arg-type]


def _objects(series: pd.Series, missing: BoolArray) -> np.ndarray:
    values = np.empty(len(series), dtype=object)
    values[~missing] = series[~missing].to_numpy(dtype=object)
    return values


def _unusable(series: pd.Series, name: str) -> str:
    dtype = series.dtype
    what = f"dtype {dtype}"
    if dtype.kind == "O":
        what += f" holding {types.infer_dtype(series, skipna=True)} values such as {_sample(series)}"
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        way = "Convert it to a number, such as days since a date"
    elif types.is_complex_dtype(dtype):
        way = "Split it into columns for its real and imaginary parts"
    else:
        way = "Convert it to numbers, or to text with astype(str)"
    return (
        f"The column {name!r} of {called()} must hold numbers, booleans, text or categories. "
        f"Got {what} instead. {way}, or leave it out of the formula."
    )


def _sample(series: pd.Series) -> str:
    present = series[~series.isna()]
    kinds = present.map(type)
    return " and ".join(show(value, 30) for value in present[~kinds.duplicated()].head(2))
