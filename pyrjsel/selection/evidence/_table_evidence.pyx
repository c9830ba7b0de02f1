"""Marginal likelihoods from a table of all models, for tests of chains over models."""

cimport cython
from libc.math cimport INFINITY

import numpy as np

from pyrjsel.selection.evidence._evidence cimport Evidence


@cython.final
cdef class TableEvidence(Evidence):
    """Log marginal likelihoods of all models over a few terms, given as an array.

    Parameters
    ----------
    values : array_like of float, shape (2**J,)
        Entry ``sum(gamma[j] << j)`` belongs to model gamma; -inf without a coefficient prior.
    """

    cdef const double[::1] values
    cdef Py_ssize_t at

    def __init__(self, values):
        self.values = np.array(values, dtype=np.float64).reshape(-1)
        self.n_terms = max(0, self.values.shape[0].bit_length() - 1)
        if self.values.shape[0] != 1 << self.n_terms:
            raise ValueError("there must be a value for each of 2**J models")
        self.at = 0
        self.value = self.values[0]

    cdef int load(self, const unsigned char* gamma) noexcept nogil:
        cdef int j
        self.at = 0
        for j in range(self.n_terms):
            self.at |= <Py_ssize_t> gamma[j] << j
        self.value = self.values[self.at]
        return self.value == -INFINITY

    cdef double change(self, int j) noexcept nogil:
        return self.values[self.at ^ (<Py_ssize_t> 1 << j)] - self.value

    cdef int flip(self, int j) noexcept nogil:
        cdef Py_ssize_t there = self.at ^ (<Py_ssize_t> 1 << j)
        if self.values[there] == -INFINITY:
            return 1
        self.at = there
        self.value = self.values[there]
        return 0
