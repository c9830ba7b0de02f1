# A reversible-jump chain, for loops over several.

from libc.stdint cimport uint64_t

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.selection.samplers.reversible_jump._trades cimport Trades

cdef double draw_log_g(bitgen_t* rng, double shape, double power, double unit, double half_form,
                       double log_g) noexcept nogil

cdef class ReversibleJump(Trades):
    cdef void iterate(self, bitgen_t* rng) noexcept nogil
    cdef double record(self, uint64_t* words, Py_ssize_t n_words, double* coefficients,
                       double* sums) noexcept nogil
    cdef double log_target(self) noexcept nogil
