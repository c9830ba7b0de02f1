"""Columns of a matrix in a type of its own, and rows of their cross-products.

A row of X'WX is one pass over the matrix as it is given (``typed.c``); one column at a time is float64.
Rows are kept in a bounded store that chains in several threads share.
"""

cimport cython

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from cpython.pythread cimport (
    WAIT_LOCK,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
)

import numpy as np

KINDS = {
    "int8": TYPED_I8, "bool": TYPED_U8, "uint8": TYPED_U8, "int16": TYPED_I16, "int32": TYPED_I32,
    "float32": TYPED_F32, "float64": TYPED_F64,
}


@cython.final
cdef class TypedColumns:
    """Columns of a matrix, centred and scaled when they are used.

    Parameters
    ----------
    x : ndarray (n, p), or (nnz,) with `rows` and `first`
        The matrix in one of the types KINDS, with contiguous rows or columns; or the values of its sparse
        columns.
    mean : float64 array (p,)
        Means of all columns.
    scale : float64 array (D,)
        Standard deviations of the columns `kept`.
    kept : int64 array (D,)
        Numbers of these columns, increasing.
    n : int
        Number of rows.
    weight : float64 array (n,) or None
        Weights; None if all are one.
    rows, first : int32 array (nnz,) and int64 array (p + 1,), optional
        Rows of the values of sparse columns, and the first value of each column.
    """

    def __init__(self, x not None, const double[::1] mean not None, const double[::1] scale not None,
                 const int64_t[::1] kept not None, int n, *, const double[::1] weight=None,
                 const int32_t[::1] rows=None, const int64_t[::1] first=None):
        cdef Py_ssize_t p = mean.shape[0]
        cdef size_t address = x.__array_interface__["data"][0]
        cdef Py_ssize_t item = x.dtype.itemsize
        if x.dtype.name not in KINDS or scale.shape[0] != kept.shape[0] or kept.shape[0] == 0 or n < 1:
            raise ValueError("the arrays of a matrix do not fit together")
        if weight is not None and weight.shape[0] != n:
            raise ValueError("weight must have one value a row")
        if np.min(kept) < 0 or np.max(kept) >= p or np.any(np.diff(kept) <= 0):
            raise ValueError("kept must be numbers of columns, increasing")
        self.m.rows, self.m.first = NULL, NULL
        if first is None:
            if x.shape != (n, p) or item not in map(abs, x.strides):
                raise ValueError("a matrix must have contiguous rows or columns")
            self.m.row, self.m.column = x.strides[0] // item, x.strides[1] // item
            if self.m.column != 1 and self.m.row != 1:
                raise ValueError("a matrix must have contiguous rows or columns")
        else:
            if rows is None or first.shape[0] != p + 1 or first[0] != 0 or rows.shape[0] != x.shape[0] \
                    or first[p] != x.shape[0] or not x.flags.c_contiguous or np.any(np.diff(first) < 0) \
                    or (rows.shape[0] and not 0 <= np.min(rows) <= np.max(rows) < n):
                raise ValueError("the arrays of a sparse matrix do not fit together")
            self.m.row = self.m.column = 0
            self.m.rows = &rows[0] if rows.shape[0] else <const int32_t*> &first[0]
            self.m.first = &first[0]
        self.m.kind = KINDS[x.dtype.name]
        self.m.n, self.m.size, self.m.x = n, p, <const void*> address
        self.size = kept.shape[0]
        self.arrays = (x, mean, scale, kept, weight, rows, first)
        self.mean, self.scale, self.kept = &mean[0], &scale[0], &kept[0]
        self.weight = &weight[0] if weight is not None else NULL

    cdef void load(self, int j, double* out) noexcept nogil:
        """out := standardised column j."""
        cdef Py_ssize_t i
        cdef double mean = self.mean[self.kept[j]], scale = self.scale[j]
        typed_column(&self.m, self.kept[j], out)
        for i in range(self.m.n):
            out[i] = (out[i] - mean) / scale

    cdef void products_of(self, const double* v, double* scratch, double* out) noexcept nogil:
        """out := products of all standardised columns with v; `scratch`, of all columns, may be `out`."""
        cdef int k
        typed_products(&self.m, self.mean, v, scratch)
        for k in range(self.size):
            out[k] = scratch[self.kept[k]] / self.scale[k]

    def products(self, const double[::1] v not None):
        """Return the products (D,) of the standardised columns with a vector (n,), in one pass."""
        if v.shape[0] != self.m.n:
            raise ValueError("v must have one value a row")
        out = np.empty(self.m.size)
        cdef double[::1] view = out
        with nogil:
            self.products_of(&v[0], &view[0], &view[0])
        return out[: self.size]

    def take(self, which):
        """Return standardised columns, (d, n)."""
        cdef const int64_t[::1] chosen = np.array(which, dtype=np.int64)
        cdef Py_ssize_t k
        out = np.empty((chosen.shape[0], self.m.n))
        cdef double[:, ::1] view = out
        if chosen.shape[0] and not 0 <= np.min(chosen) <= np.max(chosen) < self.size:
            raise ValueError(f"columns must be below {self.size}")
        with nogil:
            for k in range(chosen.shape[0]):
                self.load(chosen[k], &view[k, 0])
        return out


@cython.final
cdef class RowStore:
    """The rows of a square matrix used last, shared by threads; takes the parameters of :class:`KeptRows`."""

    def __init__(self, int size, int capacity):
        self.kept = KeptRows(size, capacity)
        if self.lock == NULL:
            self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError("no lock for the rows of a Gram matrix")

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    cdef bint fetch(self, int j, double* out) noexcept nogil:
        """Copy row j to `out` if it is kept."""
        cdef const double* found
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        found = self.kept.find(j)
        if found != NULL:
            memcpy(out, found, self.kept.size * sizeof(double))
        PyThread_release_lock(self.lock)
        return found != NULL

    cdef void put(self, int j, const double* row) noexcept nogil:
        """Keep row j, unless another thread has done so."""
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        if self.kept.find(j) == NULL:
            memcpy(self.kept.claim(j), row, self.kept.size * sizeof(double))
        PyThread_release_lock(self.lock)


@cython.final
cdef class TypedGram(Gram):
    """X'WX + diag(extra) for standardised columns X. Not thread-safe, but its store is.

    Parameters
    ----------
    columns : TypedColumns
    extra : float64 array (D,)
        Added to the diagonal.
    total : float
        Sum of the weights, the diagonal without `extra`.
    store : RowStore
        Rows without `extra`.
    """

    def __init__(self, TypedColumns columns not None, const double[::1] extra not None, double total,
                 RowStore store not None):
        cdef double[::1] numbers = np.empty(columns.m.size + columns.m.n)
        if extra.shape[0] != columns.size or store.kept.size != columns.size:
            raise ValueError("columns, extra and store do not fit together")
        self.size = columns.size
        self.columns, self.store, self.total, self.at = columns, store, total, -1
        self.arrays = (extra, numbers)
        self.extra = &extra[0]
        self.out = &numbers[0]
        self.own = self.out + columns.m.size

    cdef const double* row(self, int j) noexcept nogil:
        cdef Py_ssize_t i
        if self.at == j:
            return self.out
        if not self.store.fetch(j, self.out):
            self.columns.load(j, self.own)
            if self.columns.weight != NULL:
                for i in range(self.columns.m.n):
                    self.own[i] *= self.columns.weight[i]
            self.columns.products_of(self.own, self.out, self.out)
            self.store.put(j, self.out)
        self.out[j] += self.extra[j]
        self.at = j
        return self.out

    def blocks(self, const int[::1] start not None):
        """Return the diagonal, for groups of one column each."""
        if start.shape[0] != self.size + 1:
            raise ValueError("every group must have one column")
        return self.total + np.asarray(self.arrays[0])
