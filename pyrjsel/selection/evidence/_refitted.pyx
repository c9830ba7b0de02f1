"""Marginal likelihoods from sums of squares, and from the rows where these have lost their digits."""

cimport cython
from libc.math cimport INFINITY
from libc.string cimport memcpy

import numpy as np

from pyrjsel.selection.evidence._conjugate cimport ConjugateEvidence
from pyrjsel.selection.evidence._evidence cimport Evidence


@cython.final
cdef class RefittedEvidence(Evidence):
    """The evidence of sums of squares, and a function of the models that it refuses.

    Parameters
    ----------
    n_terms : int
        Number J of terms.
    inner : ConjugateEvidence
        Marginal likelihoods of the other models.
    find : callable
        Returns the value of a model, uint8 (J,); -inf without a coefficient prior.
    known : dict of bytes to float
        Values of the function that have been computed, shared between evidences.
    """

    cdef ConjugateEvidence inner
    cdef object find, failure, model
    cdef dict known
    cdef unsigned char* gamma
    cdef bint refused               # whether the current model is one that the function gives

    def __init__(self, int n_terms, ConjugateEvidence inner not None, find, dict known not None):
        cdef unsigned char[::1] model = np.zeros(n_terms + 1, dtype=np.uint8)
        self.n_terms, self.inner, self.find, self.known, self.model = n_terms, inner, find, known, model
        self.gamma, self.value, self.refused = &model[0], -INFINITY, True

    cdef double refit(self, int j) noexcept nogil:
        """The value of the current model with term j flipped; of itself for j = J.

        An error of the function is raised by `check_memory`.
        """
        cdef double value = -INFINITY
        self.gamma[j] ^= 1
        with gil:
            model = np.asarray(self.model)[: self.n_terms]
            key = model.tobytes()
            found = self.known.get(key)
            if found is None:
                try:
                    found = self.known[key] = self.find(model.copy())
                except BaseException as error:
                    self.failure = error
                    found = -INFINITY
            value = found
        self.gamma[j] ^= 1
        return value

    cdef int load(self, const unsigned char* gamma) noexcept nogil:
        memcpy(self.gamma, gamma, self.n_terms)
        self.refused = self.inner.load(gamma) != 0
        self.value = self.refit(self.n_terms) if self.refused else self.inner.value
        return self.value == -INFINITY

    cdef double change(self, int j) noexcept nogil:
        cdef double change = -INFINITY if self.refused else self.inner.change(j)
        return self.refit(j) - self.value if change == -INFINITY else change

    cdef void changes(self, double* out) noexcept nogil:
        cdef int j
        if not self.refused:
            self.inner.changes(out)
        for j in range(self.n_terms):
            if self.refused or out[j] == -INFINITY:
                out[j] = self.refit(j) - self.value

    cdef int flip(self, int j) noexcept nogil:
        cdef double value
        if not self.refused and self.inner.flip(j) == 0:
            self.gamma[j] ^= 1
            self.value = self.inner.value
            return 0
        value = self.refit(j)
        if value == -INFINITY:
            return 1
        self.gamma[j] ^= 1
        self.refused = self.inner.load(self.gamma) != 0
        self.value = value if self.refused else self.inner.value
        return 0

    cdef int patterns(self, const int* terms, int n, const unsigned char* wanted,
                      double* values) noexcept nogil:
        return 1 if self.refused else self.inner.patterns(terms, n, wanted, values)

    def check_memory(self):
        """Raise an error of the function or of the evidence, if there was one."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        self.inner.check_state()
