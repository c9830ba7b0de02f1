"""Rows of X'X + diag: from a stored matrix, or products of columns with a bounded cache."""

cimport cython

from itertools import pairwise

import numpy as np

from pyrjsel._core._vecmath cimport dot


cdef class Gram:
    """A symmetric matrix, row by row."""

    cdef const double* row(self, int j) noexcept nogil:
        return NULL

    cdef double entry(self, int j, int l) noexcept nogil:
        """A single entry."""
        return self.row(j)[l]

    def rows(self, which):
        """Return rows of the matrix, (m, size), for tests."""
        cdef Py_ssize_t k
        cdef int l
        cdef const double* source
        out = np.empty((len(which), self.size))
        cdef double[:, ::1] view = out
        for k in range(view.shape[0]):
            source = self.row(which[k])
            for l in range(self.size):
                view[k, l] = source[l]
        return out


@cython.final
cdef class FullGram(Gram):
    """A stored matrix.

    Parameters
    ----------
    matrix : float64 array (D, D)
        Symmetric matrix.
    """

    def __init__(self, const double[:, ::1] matrix not None):
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError("matrix must be square")
        self.size = matrix.shape[0]
        self.arrays = matrix
        self.matrix = &matrix[0, 0] if self.size else NULL

    cdef const double* row(self, int j) noexcept nogil:
        return self.matrix + <Py_ssize_t> j * self.size

    def blocks(self, const int[::1] start not None):
        """Return the diagonal blocks of groups of columns, concatenated row by row."""
        matrix = np.asarray(self.arrays)
        parts = [matrix[a:b, a:b].ravel() for a, b in pairwise(start)]
        return np.concatenate(parts) if parts else np.empty(0)


@cython.final
cdef class KeptRows:
    """The rows of a square matrix used last.

    Parameters
    ----------
    size : int
        Length of a row, and number of rows of the matrix.
    capacity : int
        Number of rows that are kept, at least 1.
    """

    def __init__(self, int size, int capacity):
        if size < 1 or capacity < 1:
            raise ValueError("size and capacity must be positive")
        capacity = min(capacity, size)
        cdef double[:, ::1] rows = np.empty((capacity, size))
        cdef int[::1] places = np.full(size + capacity, -1, dtype=np.intc)
        cdef long long[::1] stamps = np.zeros(capacity, dtype=np.longlong)
        self.size, self.capacity, self.used, self.clock = size, capacity, 0, 0
        self.arrays = (rows, places, stamps)
        self.rows = &rows[0, 0]
        self.slot, self.owner, self.stamp = &places[0], &places[size], &stamps[0]

    def __contains__(self, int j):
        return self.slot[j] >= 0

    cdef double* find(self, int j) noexcept nogil:
        """Row j, or NULL if it is not kept."""
        cdef int k = self.slot[j]
        if k < 0:
            return NULL
        self.clock += 1
        self.stamp[k] = self.clock
        return self.rows + <Py_ssize_t> k * self.size

    cdef double* claim(self, int j) noexcept nogil:
        """Memory for row j, which is not kept, in place of the row used longest ago."""
        cdef int k = 0, l
        if self.used < self.capacity:
            k = self.used
            self.used += 1
        else:
            for l in range(1, self.capacity):
                if self.stamp[l] < self.stamp[k]:
                    k = l
            self.slot[self.owner[k]] = -1
        self.slot[j], self.owner[k] = k, j
        return self.find(j)

    cdef void clear(self) noexcept nogil:
        """Keep nothing."""
        cdef int k
        for k in range(self.used):
            self.slot[self.owner[k]] = -1
        self.used = 0


cdef class ColumnGram(Gram):
    """X'X + diag(extra) for columns X, with a cache of the rows used last.

    A row takes one pass over all columns; the cache holds `capacity` rows. Not thread-safe.

    Parameters
    ----------
    columns : float64 array (D, n)
        The columns, one after the other.
    extra : float64 array (D,)
        Added to the diagonal.
    capacity : int
        Number of rows in the cache, at least 1.
    """

    def __init__(self, const double[:, ::1] columns not None, const double[::1] extra not None,
                 int capacity):
        cdef int size = columns.shape[0]
        if extra.shape[0] != size or columns.shape[1] == 0 or size == 0 or capacity < 1:
            raise ValueError("columns, extra and capacity do not fit together")
        self.kept = KeptRows(size, capacity)
        self.size = size
        self.n = columns.shape[1]
        self.arrays = (columns, extra)
        self.columns = &columns[0, 0]
        self.extra = &extra[0]

    cdef void compute(self, int j, double* out) noexcept nogil:
        """Compute a row from the columns."""
        cdef const double* own = self.columns + <Py_ssize_t> j * self.n
        cdef int l
        for l in range(self.size):
            out[l] = dot(self.n, self.columns + <Py_ssize_t> l * self.n, own)
        out[j] += self.extra[j]

    cdef const double* row(self, int j) noexcept nogil:
        cdef double* found = self.kept.find(j)
        if found == NULL:
            found = self.kept.claim(j)
            self.compute(j, found)
        return found

    cdef double entry(self, int j, int l) noexcept nogil:
        cdef double value = dot(self.n, self.columns + <Py_ssize_t> j * self.n,
                                self.columns + <Py_ssize_t> l * self.n)
        return value + self.extra[j] if j == l else value

    def blocks(self, const int[::1] start not None):
        """Return the diagonal blocks of groups of columns, concatenated row by row."""
        columns, extra = np.asarray(self.arrays[0]), np.asarray(self.arrays[1])
        parts = []
        for a, b in pairwise(start):
            parts.append((columns[a:b] @ columns[a:b].T + np.diag(extra[a:b])).ravel())
        return np.concatenate(parts)


@cython.final
cdef class SummedGram(ColumnGram):
    """X'X + K for columns X, with all rows that were used.

    Parameters
    ----------
    columns : float64 array (D, n)
        The columns, one after the other.
    added : float64 array (D, D)
        The symmetric matrix K.
    """

    def __init__(self, const double[:, ::1] columns not None, const double[:, ::1] added not None):
        cdef int size = columns.shape[0]
        if added.shape[0] != size or added.shape[1] != size:
            raise ValueError("added must have a row and a column for each of columns")
        ColumnGram.__init__(self, columns, np.zeros(size), size)
        self.more = added
        self.added = &added[0, 0]

    cdef void compute(self, int j, double* out) noexcept nogil:
        cdef int l
        ColumnGram.compute(self, j, out)
        for l in range(self.size):
            out[l] += self.added[<Py_ssize_t> j * self.size + l]

    cdef double entry(self, int j, int l) noexcept nogil:
        return ColumnGram.entry(self, j, l) + self.added[<Py_ssize_t> j * self.size + l]

    def blocks(self, const int[::1] start not None):
        """Return the diagonal blocks of groups of columns, concatenated row by row."""
        columns, added = np.asarray(self.arrays[0]), np.asarray(self.more)
        if np.all(np.diff(start) == 1):
            return np.einsum("ij,ij->i", columns, columns) + np.diag(added)
        parts = [(columns[a:b] @ columns[a:b].T + added[a:b, a:b]).ravel() for a, b in pairwise(start)]
        return np.concatenate(parts)
