"""Gram matrices that depend on sigma^2: weighted products of columns, plus a diagonal.

Weights and shifts are arrays that the caller changes in place.
"""

cimport cython
from libc.string cimport memcpy

from itertools import pairwise

import numpy as np

from pyrjsel._core._vecmath cimport dot, dot3


@cython.final
cdef class WeightedGram(ColumnGram):
    """F diag(weights) F' + diag(extra), with a cache of the rows used last, valid until the weights change.

    Not thread-safe.

    Parameters
    ----------
    columns : float64 array (D, r)
        F, with one row for each column of the design.
    weights : float64 array (r,)
        Non-negative weights; read again after `forget`.
    extra : float64 array (D,)
    capacity : int
        Number of rows in the cache, at least 1.
    """

    def __init__(self, const double[:, ::1] columns not None, const double[::1] weights not None,
                 const double[::1] extra not None, int capacity):
        if weights.shape[0] != columns.shape[1]:
            raise ValueError("columns and weights do not fit together")
        super().__init__(columns, extra, capacity)
        cdef double[::1] own = np.empty(self.n)
        self.arrays = (*self.arrays, weights, own)
        self.weights = &weights[0]
        self.own = &own[0]

    cdef void compute(self, int j, double* out) noexcept nogil:
        cdef const double* column = self.columns + <Py_ssize_t> j * self.n
        cdef int l
        for l in range(self.n):
            self.own[l] = column[l] * self.weights[l]
        for l in range(self.size):
            out[l] = dot(self.n, self.columns + <Py_ssize_t> l * self.n, self.own)
        out[j] += self.extra[j]

    cdef double entry(self, int j, int l) noexcept nogil:
        cdef double value = dot3(self.n, self.columns + <Py_ssize_t> j * self.n,
                                 self.columns + <Py_ssize_t> l * self.n, self.weights)
        return value + self.extra[j] if j == l else value

    cdef void forget(self) noexcept nogil:
        """Clear the cache after a change of the weights."""
        self.kept.clear()

    def blocks(self, const int[::1] start not None):
        """Return the diagonal blocks of groups of columns, concatenated row by row."""
        return _blocks(self, start)


@cython.final
cdef class ShiftedGram(Gram):
    """Another matrix plus a diagonal.

    Parameters
    ----------
    base : FullGram or ColumnGram
    shift : float64 array (D,)
    """

    def __init__(self, Gram base not None, const double[::1] shift not None):
        if shift.shape[0] != base.size:
            raise ValueError("base and shift do not fit together")
        cdef double[::1] out = np.empty(base.size + 1)
        self.size = base.size
        self.base = base
        self.arrays = (shift, out)
        self.shift = &shift[0] if base.size else NULL
        self.out = &out[0]

    cdef const double* row(self, int j) noexcept nogil:
        memcpy(self.out, self.base.row(j), self.size * sizeof(double))
        self.out[j] += self.shift[j]
        return self.out

    cdef double entry(self, int j, int l) noexcept nogil:
        cdef double value = self.base.entry(j, l)
        return value + self.shift[j] if j == l else value

    def blocks(self, const int[::1] start not None):
        """Return the diagonal blocks of groups of columns, concatenated row by row."""
        return _blocks(self, start)


cdef object _blocks(Gram gram, const int[::1] start):
    parts = [
        [gram.entry(a, b) for a in range(first, last) for b in range(first, last)]
        for first, last in pairwise(start)
    ]
    return np.array([value for part in parts for value in part], dtype=np.float64)
