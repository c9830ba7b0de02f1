# Trades of one term, with the terms that it requires, for as many others as a limit requires.

cimport cython

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.selection.samplers.reversible_jump._blocks cimport Blocks

cdef class Trades(Blocks):
    cdef double log_bayes(self, int j, const double* residual, const double* weight,
                          bint inside) noexcept nogil

    # Final: subclasses have names of their own for the heights of slices.
    @cython.final
    cdef double level(self) noexcept nogil
    cdef double weigh_additions(self, int j, bint first) noexcept nogil
    cdef double add_path(self, int j, bitgen_t* rng, const int* given, int n, int* into,
                         int* n_into) noexcept nogil
    cdef double evict_path(self, int j, const double* weight, bitgen_t* rng, const int* given, int n,
                           int* into, int* n_into) noexcept nogil
    cdef double log_entry(self, int j) noexcept nogil
    cdef int draw_entry(self, bitgen_t* rng) noexcept nogil
    cdef double evaluate_in(self, int j, int pattern, const int* path, int n, bitgen_t* rng,
                            const double* given) noexcept nogil
    cdef double evaluate_out(self, int j, int pattern, const int* path, int n, bitgen_t* rng,
                             const double* given) noexcept nogil
    cdef void trade(self, bitgen_t* rng) noexcept nogil
