# Reversible jumps over the inputs that a mixture classifier uses.

from libc.stdint cimport int64_t

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.mixture._gibbs cimport Gibbs


cdef class Jumps(Gibbs):
    cdef int64_t proposed[3]
    cdef int64_t accepted[3]

    cdef void move(self, bitgen_t* rng) noexcept nogil

    # Its own.
    cdef void fit(self, int i) noexcept nogil
    cdef double log_prior_share(self, int i, const double* precision, const double* part) noexcept nogil
    cdef bint draw(self, int i, bitgen_t* rng) noexcept nogil
    cdef int kinds(self, int size, int* kind) noexcept nogil
    cdef double log_choice(self, int size) noexcept nogil
    cdef int pick(self, unsigned char inside, int rank) noexcept nogil
    cdef double flipped(self, int j, int k) noexcept nogil
    cdef void flip_back(self, int j, int k) noexcept nogil
    cdef double ratio(self, int out, int into, bitgen_t* rng) noexcept nogil
