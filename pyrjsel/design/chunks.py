"""Data in chunks: iterators of data frames, Parquet files, Dask data frames.

A source of chunks knows its columns, and reduces a function over all chunks. It handles the selection of
columns, the order of the chunks and repeated reading, independently of the meaning of the rows.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from pyrjsel._called import called, named
from pyrjsel._errors import DataError, NotAvailableError, PyrjselError, WorkerError
from pyrjsel._validate import bad_value, check_file, check_path
from pyrjsel.design.frame import as_frame, check_no_path
from pyrjsel.storage import replace_by

T = TypeVar("T")
Table = pd.Series | pd.DataFrame
Path = str | os.PathLike[str]
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

    def map(
        self, work: Callable[[pd.DataFrame, int], Table], columns: Sequence[str], to: Path | None = None
    ) -> Any:
        """Return ``work(chunk, number)`` for all chunks, with the labels of their rows, as they are used.

        An iterator over series or data frames; of a Dask data frame, a Dask series or data frame. With `to`
        they are written to that Parquet file, and None is returned. `work` must take chunks without rows: it
        is applied to one, numbered 0, before anything is read.
        """


class _InTurn:
    """Sequential chunks.

    Attributes
    ----------
    files : list of str
        The files that are read, where known.
    """

    names: list[str]
    files: Sequence[str] = ()

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

    def map(
        self, work: Callable[[pd.DataFrame, int], Table], columns: Sequence[str], to: Path | None = None
    ) -> Iterator[Table] | None:
        """Return an iterator over ``work(chunk, number)``, or write these."""
        path = None if to is None else check_file(to, "to", write=True)
        if path is not None and any(os.path.realpath(file) == os.path.realpath(path) for file in self.files):
            raise bad_value("to", "another file than that of the rows", to)
        work(pd.DataFrame(columns=self.names, dtype=object), 0)
        found = (work(frame, number) for number, frame in enumerate(self.labelled(columns), 1))
        if path is None:
            return found
        write_parquet(found, path)
        return None

    def labelled(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Return the chunks with the labels of their rows."""
        return self.frames(columns)


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
    parameter : str
        Name of the user's parameter.
    """

    once = False
    merged_categories = True  # each row group has its own dictionary

    def __init__(self, data: Any, parameter: str = "data") -> None:
        self._what = f"{parameter!r} of {called()}"  # chunks are read in other calls, and by iterators
        try:
            from pyarrow.dataset import HivePartitioning, dataset
            from pyarrow.lib import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise no_pyarrow() from error
        # Errors for files that are damaged or gone, and for labels that pandas cannot read.
        self._broken = (ArrowException, OSError, ValueError, TypeError, LookupError, AttributeError)
        path = check_path(data, parameter) if isinstance(data, (str, os.PathLike)) else None

        def opened() -> Any:
            if path is None:
                return data
            if os.path.isdir(path):  # as pandas reads a folder: names of partitions are categories
                names = HivePartitioning.discover(infer_dictionary=True)
                return dataset(path, format="parquet", partitioning=names)
            if os.path.exists(path) and not os.path.isfile(path):  # to open it would wait for its other end
                raise bad_value(parameter, "the path of a file or folder, not of a pipe or a device", data)
            return ParquetFile(path)

        self._open = opened
        self._path = path
        with self._read("as a Parquet file"):
            source = self._open()
            self.files = self._listed(source)
            self._known = self._stamps(source)
            schema = source.schema_arrow if hasattr(source, "schema_arrow") else source.schema
            known = (schema.pandas_metadata or {}).get("index_columns", ())
            self._index = [name for name in known if type(name) is str]
            self.names = [name for name in schema.names if name not in self._index]

    @contextmanager
    def _read(self, how: str) -> Iterator[None]:
        """Context manager: errors of what reads the files name the parameter."""
        try:
            yield
        except PyrjselError:
            raise
        except self._broken as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise DataError(f"The {self._what} cannot be read {how}: {reason}.") from error

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Return the chunks with the requested columns."""
        known = list(dict.fromkeys(columns))
        options = {"columns": known, "batch_size": max(1, BLOCK // max(len(known), 1))}
        with self._read("to their end"):
            source = self._open()
            self._check_same(source)
            groups = _row_groups if hasattr(source, "iter_batches") else _fragments
            for batch in groups(source, options):
                batch.validate(full=True)
                yield batch.to_pandas()
            self._check_same(source)

    def _listed(self, source: Any) -> Sequence[str]:
        """Return the files of an opened source, where known."""
        return getattr(source, "files", () if self._path is None else [self._path])

    def _stamps(self, source: Any) -> list[tuple[Any, ...] | None]:
        """Return what tells a file from another one under its name, None for those that are not here."""
        found: list[tuple[Any, ...] | None] = []
        for file in self._listed(source):
            seen = os.stat(file) if os.path.exists(file) else None
            found.append(seen and (file, seen.st_size, seen.st_mtime_ns, seen.st_ino, seen.st_dev))
        return found

    def _check_same(self, source: Any) -> None:
        """Raise :class:`DataError` if files have been written, replaced, added or removed since."""
        if self._stamps(source) != self._known:
            raise DataError(
                f"The files of the {self._what} have changed since they were first read, so that passes "
                "would mix their rows. Leave them as they are, and begin again."
            )

    def labelled(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Return the chunks with the index of the file, or numbers from 0."""
        start = 0
        for frame in self.frames([*columns, *self._index]):
            if not self._index:
                frame.index = pd.RangeIndex(start, start + len(frame))
                start += len(frame)
            yield frame


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
        chosen = self._chosen(columns)
        parts = [once(part, number) for number, part in enumerate(chosen.to_delayed(), 1)]
        while len(parts) > 1:
            pairs = [parts[at : at + 2] for at in range(0, len(parts), 2)]
            parts = [twice(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        killed = getattr(sys.modules.get("distributed"), "KilledWorker", ())
        try:
            result: T = parts[0].compute()
        except killed as error:  # Dask has begun it again some times
            raise WorkerError(
                f"Workers died of one partition of the data of {called()}, several times. If they lacked "
                "memory, use smaller partitions, or fewer threads for each worker. "
                f"Dask says: {error}"
            ) from error
        return result

    def map(
        self, work: Callable[[pd.DataFrame, int], Table], columns: Sequence[str], to: Path | None = None
    ) -> Any:
        """Return ``work(partition, number)`` as a Dask series or data frame with the same partitions."""
        if to is not None:
            raise bad_value("to", "None for a Dask data frame: call to_parquet() of the result", to)
        from dask.dataframe import from_delayed
        from dask.delayed import delayed

        like = work(self._data._meta, 0)
        chosen, once = self._chosen(columns), delayed(work)
        parts = [once(part, number) for number, part in enumerate(chosen.to_delayed(), 1)]
        return from_delayed(parts, meta=like, divisions=chosen.divisions, verify_meta=False)

    def _chosen(self, columns: Sequence[str]) -> Any:
        return self._data[[self._labels[name] for name in dict.fromkeys(columns)]]


def as_chunks(data: Any, parameter: str = "data") -> Chunks | None:
    """Return `data` as chunks, or None if it is a data frame, a mapping or not data.

    Parameters
    ----------
    data : object
        The user's data.
    parameter : str
        Name of the user's parameter.
    """
    if isinstance(data, (pd.DataFrame, pd.Series, np.ndarray, Mapping, bytes)):
        return None
    check_no_path(data, parameter, parquet=True)
    package = type(data).__module__.split(".")[0]
    if package in ("dask", "dask_expr") and hasattr(data, "to_delayed"):
        return DaskChunks(data)
    if isinstance(data, (str, os.PathLike)) or (
        package == "pyarrow" and (hasattr(data, "iter_batches") or hasattr(data, "count_rows"))
    ):
        return ParquetChunks(data, parameter)
    if callable(data) or isinstance(data, Iterable):
        return FrameChunks(data)
    return None


def write_parquet(tables: Iterable[Table], path: str) -> None:
    """Write tables to a Parquet file, one row group each; an error leaves an existing file unchanged.

    Labels of rows are kept if those of the first table are more than positions.
    """
    try:
        from pyarrow import ArrowInvalid, ArrowTypeError
        from pyarrow import Table as ArrowTable
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise no_pyarrow() from error

    def other_labels(number: int) -> DataError:
        return DataError(
            f"The rows of chunk {number} of {called()} must have labels of one type, the same in all chunks, "
            "to be written to a Parquet file. Reset the index of the chunks, or make it text."
        )

    def write(file: BinaryIO) -> None:
        with ExitStack() as stack:
            writer, labels = None, False
            for number, table in enumerate(tables, 1):
                frame = table.to_frame() if isinstance(table, pd.Series) else table
                if writer is None:
                    labels = not isinstance(frame.index, pd.RangeIndex)
                try:
                    rows = ArrowTable.from_pandas(frame, preserve_index=labels)
                except (ArrowInvalid, ArrowTypeError) as error:
                    raise other_labels(number) from error
                if writer is None:
                    writer = stack.enter_context(ParquetWriter(file, rows.schema))
                if not rows.schema.equals(writer.schema):
                    raise other_labels(number)
                writer.write_table(rows)
            if writer is None:
                raise no_chunks()

    replace_by(path, write)


def no_pyarrow() -> NotAvailableError:
    """Return the error for a missing pyarrow."""
    return NotAvailableError(
        "Parquet files need pyarrow, which is not installed. Install it with: pip install 'pyrjsel[tables]'"
    )


def no_chunks() -> DataError:
    """Return the error for data without chunks."""
    return DataError(f"The data of {called()} have no rows: no chunk has a column.")
