"""The interface of marginal likelihoods for chains over models; see ``_evidence.pxd``."""

from libc.math cimport INFINITY


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
