"""The interface of marginal likelihoods for chains over models; see ``_evidence.pxd``."""

from libc.math cimport INFINITY, NAN

import numpy as np


cdef class Evidence:
    """The marginal likelihood of a current model."""

    cdef int load(self, const unsigned char* gamma) noexcept nogil:
        return 1

    cdef void changes(self, double* out) noexcept nogil:
        cdef int j
        for j in range(self.n_terms):
            out[j] = self.change(j)

    cdef double change(self, int j) noexcept nogil:
        return -INFINITY

    cdef int flip(self, int j) noexcept nogil:
        return 1

    cdef int patterns(self, const int* terms, int n, const unsigned char* wanted,
                      double* values) noexcept nogil:
        return 1

    def check_memory(self):
        """Raise MemoryError if a loop ran out of memory, which invalidates its state."""

    # ------------------------------------------------------------------ Python interface

    def patterns_of(self, const int[::1] terms not None):
        """Return the values (2^n,) of the models by the terms (n,) that are in; None if that takes flips."""
        cdef int n = terms.shape[0]
        if not 1 <= n <= 7:
            raise ValueError("one to seven terms")
        cdef unsigned char[::1] wanted = np.ones(1 << n, dtype=np.uint8)
        out = np.empty(1 << n)
        cdef double[::1] view = out
        return out if self.patterns(&terms[0], n, &wanted[0], &view[0]) == 0 else None

    def values(self, const unsigned char[:, ::1] models not None):
        """Return log marginal likelihoods (m,) of models (m, J), from scratch; -inf without a prior."""
        out = np.empty(models.shape[0])
        cdef double[::1] view = out
        cdef Py_ssize_t row
        self.check(models.shape[1])
        with nogil:
            for row in range(models.shape[0]):
                view[row] = self.value if self.load(&models[row, 0]) == 0 else -INFINITY
        self.check_state()
        return out

    def changes_at(self, const unsigned char[::1] gamma not None):
        """Load a model and return the changes (J,) by a flip of each term."""
        out = np.empty(self.n_terms)
        cdef double[::1] view = out
        self.check(gamma.shape[0])
        if self.load(&gamma[0]) != 0:
            raise ValueError("the model has no coefficient prior")
        if self.n_terms:
            self.changes(&view[0])
        self.check_state()
        return out

    def walk(self, const int[::1] flips not None):
        """Flip terms of the current model one after the other; return the values (m,), NaN if refused."""
        out = np.empty(flips.shape[0])
        cdef double[::1] view = out
        cdef Py_ssize_t step
        with nogil:
            for step in range(flips.shape[0]):
                view[step] = self.value if self.flip(flips[step]) == 0 else NAN
        self.check_state()
        return out

    def neighbours(self):
        """Return the changes (J,) by a flip of each term of the current model."""
        out = np.empty(self.n_terms)
        cdef double[::1] view = out
        if self.n_terms:
            self.changes(&view[0])
        return out

    def check(self, Py_ssize_t terms):
        """Raise ValueError unless models have the terms of the design and there is at least one."""
        if terms != self.n_terms or terms == 0:
            raise ValueError(f"models must have {self.n_terms} terms, and at least one")

    def check_state(self):
        """Raise if a loop has left an invalid state."""
        self.check_memory()
