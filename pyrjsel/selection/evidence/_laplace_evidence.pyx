"""Laplace values of single models as an evidence, for chains whose quadratic surrogate does not fit."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.string cimport memset

import numpy as np

from pyrjsel.selection.evidence._evidence cimport Evidence


@cython.final
cdef class LaplaceEvidence(Evidence):
    """Values of a function of models, each computed once.

    Parameters
    ----------
    n_terms : int
    find : callable
        Returns the value of packed models, the bytes of ``pack``; -inf without a coefficient prior.
    known : dict of bytes to float
        Values that have been computed, shared between evidences.
    """

    cdef object find, failure
    cdef dict known
    cdef object words           # the current model
    cdef uint64_t* bits
    cdef Py_ssize_t size            # bytes of a model

    def __init__(self, int n_terms, find, dict known not None):
        cdef uint64_t[::1] words = np.zeros(max(1, (n_terms + 63) // 64), dtype=np.uint64)
        self.n_terms, self.find, self.known, self.words = n_terms, find, known, words
        self.bits, self.size, self.value = &words[0], words.shape[0] * sizeof(uint64_t), -INFINITY

    cdef double present(self) noexcept:
        """The value of the model of the words; an error of the function is raised by `check_memory`."""
        cdef bytes key = PyBytes_FromStringAndSize(<char*> self.bits, self.size)
        found = self.known.get(key)
        if found is None:
            try:
                found = self.known[key] = self.find(key)
            except BaseException as error:
                self.failure = error
                return -INFINITY
        return found

    cdef inline void toggle(self, int j) noexcept nogil:
        self.bits[j // 64] ^= (<uint64_t> 1) << (j % 64)

    cdef int load(self, const unsigned char* gamma) noexcept nogil:
        cdef int j
        memset(self.bits, 0, self.size)
        for j in range(self.n_terms):
            if gamma[j]:
                self.toggle(j)
        with gil:
            self.value = self.present()
        return self.value == -INFINITY

    cdef double change(self, int j) noexcept nogil:
        cdef double there
        self.toggle(j)
        with gil:
            there = self.present()
        self.toggle(j)
        return there - self.value

    cdef void changes(self, double* out) noexcept nogil:
        cdef int j
        with gil:
            for j in range(self.n_terms):
                self.toggle(j)
                out[j] = self.present() - self.value
                self.toggle(j)

    cdef int flip(self, int j) noexcept nogil:
        cdef double there
        self.toggle(j)
        with gil:
            there = self.present()
        if there == -INFINITY:
            self.toggle(j)
            return 1
        self.value = there
        return 0

    def check_memory(self):
        """Raise the error of the function, if there was one."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
