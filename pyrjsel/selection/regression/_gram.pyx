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
        capacity = min(capacity, size)
        cdef double[:, ::1] cache = np.empty((capacity, size))
        cdef int[::1] places = np.full(size + capacity, -1, dtype=np.intc)
        cdef long long[::1] stamps = np.zeros(capacity, dtype=np.longlong)
        self.size = size
        self.n = columns.shape[1]
        self.capacity = capacity
        self.arrays = (columns, extra, cache, places, stamps)
        self.columns = &columns[0, 0]
        self.extra = &extra[0]
        self.cache = &cache[0, 0]
        self.slot = &places[0]
        self.owner = self.slot + size
        self.stamp = &stamps[0]

    cdef void compute(self, int j, double* out) noexcept nogil:
        """Compute a row from the columns."""
        cdef const double* own = self.columns + <Py_ssize_t> j * self.n
        cdef int l
        for l in range(self.size):
            out[l] = dot(self.n, self.columns + <Py_ssize_t> l * self.n, own)
        out[j] += self.extra[j]

    cdef const double* row(self, int j) noexcept nogil:
        cdef int k = self.slot[j], l
        self.clock += 1
        if k < 0:
            if self.used < self.capacity:
                k = self.used
                self.used += 1
            else:
                k = 0
                for l in range(1, self.capacity):
                    if self.stamp[l] < self.stamp[k]:
                        k = l
                self.slot[self.owner[k]] = -1
            self.slot[j] = k
            self.owner[k] = j
            self.compute(j, self.cache + <Py_ssize_t> k * self.size)
        self.stamp[k] = self.clock
        return self.cache + <Py_ssize_t> k * self.size

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
