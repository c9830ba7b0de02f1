# Reversible jumps over the inputs that a mixture classifier uses.

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.mixture._gibbs cimport Gibbs


cdef class Jumps(Gibbs):
    cdef void move(self, bitgen_t* rng) noexcept nogil

    # Its own.
    cdef void fit(self, int i) noexcept nogil
    cdef double log_prior_share(self, int i, const double* precision, const double* part) noexcept nogil
    cdef bint draw(self, int i, bitgen_t* rng) noexcept nogil
    cdef double ratio(self, int out, int into, bitgen_t* rng) noexcept nogil
