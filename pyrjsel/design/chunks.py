"""Data in chunks: iterators of data frames, Parquet files, Dask data frames.

A source of chunks knows its columns, and reduces a function over all chunks. It handles the selection of
columns, the order of the chunks and repeated reading, independently of the meaning of the rows.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from pyrjsel._called import called, named
from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._validate import bad_value
from pyrjsel.design.frame import as_frame, check_no_path

T = TypeVar("T")
# Accepted data; Parquet files, datasets and Dask data frames have no importable types.
RowSource = (
    pd.DataFrame
    | Mapping[str, Any]
    | Iterable[pd.DataFrame]
    | Callable[[], Iterable[pd.DataFrame]]
    | str
    | os.PathLike[str]
    | Any
)

# Numbers per chunk of a file: 32 MB of floats.
BLOCK = 2**22


class Chunks(Protocol):
    """Data in chunks.

    Attributes
    ----------
    names : list of str
        The columns.
    once : bool
        Whether the rows can be read only once.
    merged_categories : bool
        Whether chunks may have different categories; those of the column are their union in order of
        appearance.
    """

    names: list[str]
    once: bool
    merged_categories: bool

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame] | None:
        """Return the chunks with the requested columns, or None if they are not sequential."""

    def reduce(
        self, work: Callable[[pd.DataFrame, int], T], merge: Callable[[T, T], T], columns: Sequence[str]
    ) -> T:
        """Return ``work(chunk, number)`` for all chunks, numbered from 1, merged in order."""


class _InTurn:
    """Sequential chunks."""

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Return the chunks with at least the requested columns."""
        raise NotImplementedError

    def reduce(
        self, work: Callable[[pd.DataFrame, int], T], merge: Callable[[T, T], T], columns: Sequence[str]
    ) -> T:
        """Return ``work(chunk, number)`` for all chunks, merged in order, with one in memory at a time."""
        total: T | None = None
        for number, frame in enumerate(self.frames(columns), 1):
            part = work(frame, number)
            total = part if total is None else merge(total, part)
        if total is None:
            raise no_chunks()
        return total


class FrameChunks(_InTurn):
    """Chunks from an iterable of data frames, or from a function that returns one.

    Parameters
    ----------
    data : iterable of DataFrames, or callable that returns one
        An iterator is read once; a list or the result of a function is read as often as needed.
    """

    merged_categories = False

    def __init__(self, data: Any) -> None:
        self._data = data
        self.once = not callable(data) and iter(data) is data
        self._rest = self._iterate()
        # Read for the names of its columns; it is also the first chunk of the first pass.
        self._first: list[pd.DataFrame] = [next(self._rest, pd.DataFrame())]
        self.names = [str(label) for label in self._first[0].columns]
        if not self.names:
            raise no_chunks()

    def _iterate(self) -> Iterator[pd.DataFrame]:
        chunks = self._data() if callable(self._data) else self._data
        if not isinstance(chunks, Iterable):
            raise bad_value("data", "a function that returns an iterable of DataFrames", self._data)
        for number, chunk in enumerate(chunks, 1):
            if isinstance(chunk, Mapping) and chunk and not any(map(is_list_like, chunk.values())):
                raise DataError(
                    f"The 'data' of {called()} must be a DataFrame, a mapping of columns, or chunks of "
                    f"them. Item {number} is a row, a mapping of single values: convert a list of rows "
                    "with pandas.DataFrame(data)."
                )
            with named(f"{called()}, chunk {number},"):
                frame = as_frame(chunk)
            yield frame

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Return the chunks with all columns."""
        if self._first:
            chunks = chain([self._first.pop()], self._rest)
        elif self.once:
            raise DataError(f"The data of {called()} come from an iterator, which can be read only once.")
        else:
            chunks = chain(self._iterate())
        known = set(self.names)
        for number, chunk in enumerate(chunks, 1):
            here = {str(label) for label in chunk.columns}
            if here != known:
                lacks, more = sorted(known - here), sorted(here - known)
                said = [f"lacks {', '.join(map(repr, lacks[:8]))}"] if lacks else []
                said += [f"has the additional {', '.join(map(repr, more[:8]))}"] if more else []
                raise DataError(
                    f"All chunks of the data of {called()} must have the same columns as the first. Chunk "
                    f"{number} {' and '.join(said)}."
                )
            yield chunk


class ParquetChunks(_InTurn):
    """Chunks from a Parquet file or a pyarrow dataset, each a part of a row group.

    Parameters
    ----------
    data : path, ``pyarrow.parquet.ParquetFile`` or ``pyarrow.dataset.Dataset``
        A path to a folder is a dataset of the Parquet files in it.
    """

    once = False
    merged_categories = True  # each row group has its own dictionary

    def __init__(self, data: Any) -> None:
        try:
            from pyarrow import ArrowInvalid
            from pyarrow.dataset import HivePartitioning, dataset
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise NotAvailableError(
                "Parquet files need pyarrow, which is not installed. Install it with: pip install "
                "'pyrjsel[tables]'"
            ) from error
        self._open: Callable[[], Any] = lambda: data
        if isinstance(data, (str, os.PathLike)):
            path = os.fspath(data)
            # As pandas reads a folder: names of partitions are categories.
            folder = {"format": "parquet", "partitioning": HivePartitioning.discover(infer_dictionary=True)}
            self._open = lambda: dataset(path, **folder) if os.path.isdir(path) else ParquetFile(path)
        try:
            source = self._open()
        except (OSError, ArrowInvalid) as error:
            raise DataError(f"The 'data' of {called()} cannot be read as a Parquet file: {error}") from error
        schema = source.schema_arrow if hasattr(source, "schema_arrow") else source.schema
        index = {
            name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if type(name) is str
        }
        self.names = [name for name in schema.names if name not in index]

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Return the chunks with the requested columns."""
        source = self._open()
        known = list(dict.fromkeys(columns))
        options = {"columns": known, "batch_size": max(1, BLOCK // max(len(known), 1))}
        groups = _row_groups if hasattr(source, "iter_batches") else _fragments
        try:
            for batch in groups(source, options):
                yield batch.to_pandas()
        except OSError as error:  # a damaged page, or a file that was replaced meanwhile
            raise DataError(f"The 'data' of {called()} cannot be read to their end: {error}") from error


def _row_groups(file: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Yield the batches of a ``ParquetFile``.

    One row group at a time: a reader of all groups keeps them in memory.
    """
    for number in range(file.num_row_groups):
        yield from file.iter_batches(row_groups=[number], **options)


def _fragments(data: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Yield the batches of a ``Dataset`` in the same way."""
    # By default many batches are read ahead.
    options = {**options, "batch_readahead": 1, "fragment_readahead": 1}
    try:
        fragments = data.get_fragments()
    except ValueError:  # of a dataset with a filter, which has no fragments itself
        yield from data.to_batches(**options)
        return
    for fragment in fragments:
        parts = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]
        for part in parts:
            yield from part.to_batches(schema=data.schema, **options)


class DaskChunks:
    """The partitions of a Dask data frame, processed by its workers.

    Parameters
    ----------
    data : dask.dataframe.DataFrame
        The rows. They are computed once for each pass, unless they have been persisted.
    """

    once = False
    merged_categories = True  # unknown categories differ between partitions

    def __init__(self, data: Any) -> None:
        self._data = data
        self.names = [str(label) for label in data.columns]
        self._labels = dict(zip(self.names, data.columns, strict=True))

    def frames(self, columns: Sequence[str]) -> None:
        """Return None: partitions stay with their workers."""
        return

    def reduce(
        self, work: Callable[[pd.DataFrame, int], T], merge: Callable[[T, T], T], columns: Sequence[str]
    ) -> T:
        """Return ``work(partition, number)`` for all partitions, merged as a tree of neighbours."""
        from dask.delayed import delayed

        once, twice = delayed(work), delayed(merge)
        chosen = self._data[[self._labels[name] for name in dict.fromkeys(columns)]]
        parts = [once(part, number) for number, part in enumerate(chosen.to_delayed(), 1)]
        while len(parts) > 1:
            pairs = [parts[at : at + 2] for at in range(0, len(parts), 2)]
            parts = [twice(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        result: T = parts[0].compute()
        return result


def as_chunks(data: Any) -> Chunks | None:
    """Return `data` as chunks, or None if it is a data frame, a mapping or not data.

    Parameters
    ----------
    data : object
        The user's data.
    """
    if isinstance(data, (pd.DataFrame, pd.Series, np.ndarray, Mapping, bytes)):
        return None
    check_no_path(data, parquet=True)
    package = type(data).__module__.split(".")[0]
    if package in ("dask", "dask_expr") and hasattr(data, "to_delayed"):
        return DaskChunks(data)
    if isinstance(data, (str, os.PathLike)) or (
        package == "pyarrow" and (hasattr(data, "iter_batches") or hasattr(data, "count_rows"))
    ):
        return ParquetChunks(data)
    if callable(data) or isinstance(data, Iterable):
        return FrameChunks(data)
    return None


def no_chunks() -> DataError:
    """Return the error for data without chunks."""
    return DataError(f"The data of {called()} have no rows: no chunk has a column.")
