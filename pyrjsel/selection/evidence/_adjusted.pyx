"""An evidence with a quadratic function of the indicators of terms added, for corrected surrogates."""

cimport cython
from libc.string cimport memcpy

import numpy as np

from pyrjsel.selection.evidence._evidence cimport Evidence


@cython.final
cdef class AdjustedEvidence(Evidence):
    """The values of another evidence, plus the sum of ``pairs[i, j]`` over the pairs of terms of the model.

    Parameters
    ----------
    inner : Evidence
    pairs : float64 array (J, J)
        Symmetric, zero on the diagonal.
    """

    cdef Evidence inner
    cdef const double[:, ::1] pairs
    cdef object arrays
    cdef unsigned char* gamma   # the current model
    cdef double* field          # (J) change of the sum if a term enters

    def __init__(self, Evidence inner not None, pairs):
        cdef int n = inner.n_terms, width = max(1, inner.n_terms)
        cdef unsigned char[::1] gamma = np.zeros(width, dtype=np.uint8)
        cdef double[::1] field = np.zeros(width)
        self.n_terms, self.inner, self.arrays = n, inner, (gamma, field)
        self.pairs = np.array(pairs, dtype=np.float64, order="C")
        if self.pairs.shape[0] != n or self.pairs.shape[1] != n:
            raise ValueError("pairs must have a row and a column for each term")
        self.gamma, self.field = &gamma[0], &field[0]

    cdef int load(self, const unsigned char* gamma) noexcept nogil:
        cdef int i, j
        cdef double total = 0.0
        memcpy(self.gamma, gamma, self.n_terms)
        for j in range(self.n_terms):
            self.field[j] = 0.0
        for i in range(self.n_terms):
            if gamma[i]:
                total += self.field[i]
                for j in range(self.n_terms):
                    self.field[j] += self.pairs[i, j]
        if self.inner.load(gamma) != 0:
            return 1
        self.value = self.inner.value + total
        return 0

    cdef double shift(self, int j) noexcept nogil:
        """Change of the sum by flipping a term."""
        return -self.field[j] if self.gamma[j] else self.field[j]

    cdef void changes(self, double* out) noexcept nogil:
        cdef int j
        self.inner.changes(out)
        for j in range(self.n_terms):
            out[j] += self.shift(j)

    cdef double change(self, int j) noexcept nogil:
        return self.inner.change(j) + self.shift(j)

    cdef int flip(self, int j) noexcept nogil:
        cdef int i
        cdef double total = self.value - self.inner.value + self.shift(j)
        cdef double sign = -1.0 if self.gamma[j] else 1.0
        if self.inner.flip(j) != 0:
            return 1
        self.gamma[j] ^= 1
        for i in range(self.n_terms):
            self.field[i] += sign * self.pairs[j, i]
        self.value = self.inner.value + total
        return 0

    cdef int patterns(self, const int* terms, int n, const unsigned char* wanted,
                      double* values) noexcept nogil:
        cdef int pattern, a, b
        cdef double total, base
        if self.inner.patterns(terms, n, wanted, values) != 0:
            return 1
        base = self.value - self.inner.value
        for a in range(n):  # without the terms
            if self.gamma[terms[a]]:
                base -= self.field[terms[a]]
                for b in range(a):
                    if self.gamma[terms[b]]:
                        base += self.pairs[terms[a], terms[b]]
        for pattern in range(1 << n):
            if not wanted[pattern]:
                continue
            total = base
            for a in range(n):
                if pattern >> a & 1:
                    total += self.field[terms[a]]
                    for b in range(n):
                        if b < a and pattern >> b & 1:
                            total += self.pairs[terms[a], terms[b]]
                        if self.gamma[terms[b]]:
                            total -= self.pairs[terms[a], terms[b]]
            values[pattern] += total
        return 0

    def check_memory(self):
        """Raise the error of the other evidence, if there was one."""
        self.inner.check_memory()
