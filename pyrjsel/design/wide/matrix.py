"""Matrices of many columns that stay in the type and the place in which they are given.

A matrix of small numbers, a memory map or scipy's compressed sparse columns with more columns than rows is
not converted: columns become float64 a few at a time.
"""

import hashlib
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel.design.arrays import checked_sparse
from pyrjsel.storage import Content, Plain

# Matrices with at most this many columns, or no more columns than rows, are converted to float64.
NARROW = 1024
# Types of values that stay as they are; float64 only in memory maps and sparse columns.
SMALL = ("bool", "int8", "uint8", "int16", "int32", "float32")
TYPES = (*SMALL, "float64")
# Numbers that are converted to float64 at a time.
NUMBERS = 2**18


def is_narrow(columns: int, rows: int) -> bool:
    """Return whether a matrix is small enough to be converted to float64."""
    return columns <= max(NARROW, rows)


@dataclass(frozen=True, eq=False)
class WideMatrix:
    """Some columns of a matrix, as it is given.

    Attributes
    ----------
    values : ndarray (n, p), or (nnz,) for sparse columns
    n : int
        Number of rows.
    kept : int64 array (D,)
        Numbers of the columns.
    rows : int32 array (nnz,) or None
        Row of each value of sparse columns.
    first : int64 array (p + 1,) or None
        First value of each sparse column.
    """

    values: np.ndarray
    n: int
    kept: IntArray
    rows: np.ndarray | None = None
    first: np.ndarray | None = None

    @property
    def n_columns(self) -> int:
        """Number p of columns of the matrix, including those that are left out."""
        return self.values.shape[1] if self.first is None else self.first.size - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns D."""
        return self.n, self.kept.size

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix."""
        return sum(array.nbytes for array in (self.values, self.rows, self.first) if array is not None)

    def dense(self, columns: Any = slice(None)) -> FloatArray:
        """Return some of the columns as float64, (n, d)."""
        which = self.kept[columns]
        if self.first is None:
            return self.values[:, which].astype(np.float64, order="F")
        first, out = self.first, np.zeros((self.n, which.size), order="F")
        for place, column in enumerate(which.tolist()):
            own = slice(first[column], first[column + 1])
            out[self.rows[own], place] = self.values[own]  # type: ignore[index]
        return out

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield all columns as float64, a block (n, d) at a time, with their positions."""
        step = max(1, NUMBERS // self.n)
        for at in range(0, self.kept.size, step):
            part = slice(at, min(at + step, self.kept.size))
            yield part, self.dense(part)

    def restrict(self, inside: BoolArray) -> "WideMatrix | FloatArray":
        """Return the columns `inside` (D,), as float64 if they are few."""
        found = replace(self, kept=self.kept[inside])
        return found.dense() if is_narrow(found.kept.size, self.n) else found

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest value of each column, (D,); NaN if a value is missing."""
        if self.first is None:
            ends = [np.asarray(find(axis=0), dtype=np.float64) for find in (self.values.min, self.values.max)]
        else:
            matrix = scipy.sparse.csc_array(
                (self.values, self.rows, self.first), shape=(self.n, self.n_columns)
            )
            ends = [find(axis=0).toarray().ravel().astype(np.float64) for find in (matrix.min, matrix.max)]
        return ends[0][self.kept], ends[1][self.kept]

    def digest(self) -> str:
        """Return hexadecimal digits that identify the matrix, however it is stored, and its type."""
        _check_mapped(self.values, "exog")
        found = hashlib.blake2b(f"{self.values.dtype.name}{self.shape}".encode(), digest_size=16)
        step = max(1, NUMBERS // max(1, self.n_columns))
        found.update(self.kept.data)
        if self.first is not None:
            for array in (self.values, self.rows, self.first):
                found.update(np.ascontiguousarray(array).data)
            return found.hexdigest()
        for at in range(0, self.n, step):
            found.update(np.ascontiguousarray(self.values[at : at + step]).data)
        return found.hexdigest()

    def to_plain(self) -> Plain:
        """Return the matrix as plain data."""
        sparsely = {} if self.first is None else {"rows": self.rows, "first": self.first}
        return {"values": np.asarray(self.values), **sparsely}

    @classmethod
    def from_plain(cls, content: Content, n: int, kept: IntArray, size: int) -> "WideMatrix":
        """Return the matrix of `n` rows and `size` columns, of which some are kept, from plain data.

        Raises
        ------
        StoreError
            If the content is no such matrix.
        """
        known = content.plain("values")
        if not isinstance(known, np.ndarray) or known.dtype.name not in TYPES or not np.isfinite(known).all():
            raise content.wrong("values", f"finite numbers of type {', '.join(TYPES)}")
        values = content.array("values", known.dtype, (None,) if "first" in content else (n, size))
        if "first" not in content:
            return cls(values, n, kept)
        first, rows = (
            content.array("first", np.int64, (size + 1,)),
            content.array("rows", np.int32, values.shape),
        )
        if first[0] != 0 or first[-1] != values.size or (np.diff(first) < 0).any():
            raise content.wrong("first", f"from 0 to {values.size}, rising")
        if rows.size and not 0 <= rows.min() <= rows.max() < n:
            raise content.wrong("rows", f"rows below {n}")
        return cls(values, n, kept, rows, first)


def as_wide(exog: Any, what: str = "exog") -> WideMatrix | None:
    """Return a matrix that stays as it is given, or None if it is to be converted to float64.

    Raises
    ------
    DataError
        If sparse columns or a memory map are of another format or type, or damaged.
    """
    if scipy.sparse.issparse(exog):
        few = exog.ndim != 2 or not exog.shape[0] or is_narrow(exog.shape[1], exog.shape[0])
        return None if few else _sparse(exog, what)
    if not isinstance(exog, np.ndarray) or isinstance(exog, np.ma.MaskedArray) or exog.ndim != 2:
        return None
    mapped, few = isinstance(exog, np.memmap), not len(exog) or is_narrow(exog.shape[1], exog.shape[0])
    if few or not (mapped or exog.dtype.name in SMALL):
        return None
    _check_type(exog.dtype, what)
    _check_mapped(exog, what)
    return WideMatrix(own_values(exog), exog.shape[0], np.arange(exog.shape[1]))


def _check_type(dtype: np.dtype[Any], what: str) -> None:
    if dtype.name not in TYPES or not dtype.isnative:
        raise DataError(
            f"The {what!r} of {called()} must have values of type {', '.join(TYPES)} in the byte order of "
            f"this machine, if it has more columns than rows and is a memory map or sparse. Got {dtype} "
            "instead."
        )


def own_values(values: np.ndarray) -> np.ndarray:
    """Return an array whose rows or columns are contiguous; a copy in its own type only if they are not."""
    values = np.asarray(values)
    good = values.itemsize in values.strides and min(values.strides) > 0 and values.flags.aligned
    values = values if good else np.ascontiguousarray(values)
    return values.view(np.uint8) if values.dtype == bool else values


def _check_mapped(values: np.ndarray, what: str) -> None:
    """Raise :class:`DataError` if the file of a memory map has been cut: reading it would end the process."""
    base: Any = values
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and base.size() < len(base):
        raise DataError(
            f"The {what!r} of {called()} is a memory map of a file that now has {base.size():,} bytes, fewer "
            f"than the {len(base):,} that were mapped."
        )


def _sparse(exog: Any, what: str) -> WideMatrix:
    if exog.format != "csc":
        raise DataError(
            f"The {what!r} of {called()} must be in compressed sparse columns. Got format {exog.format!r} "
            "instead: call its .tocsc()."
        )
    made = checked_sparse(exog, what)
    if not made.has_canonical_format:
        made = made.copy()
        made.sum_duplicates()
    _check_type(made.dtype, what)
    n, size = made.shape
    # Compiled loops rely on rows and places, which nobody else must be able to change.
    return WideMatrix(
        own_values(made.data), n, np.arange(size), made.indices.astype(np.int32), made.indptr.astype(np.int64)
    )
