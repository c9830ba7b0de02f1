# One chain of a mixture classifier, whatever its target: subset, kernels, weights, and what is recorded.

from libc.stdint cimport int64_t, uint64_t

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.model_space._space cimport Space, model_t

cdef enum:                      # moves, in the order of MOVES
    ADD = 0
    REMOVE = 1
    EXCHANGE = 2


cdef class Chain:
    cdef Space space
    cdef object held, step_array
    cdef int n_steps
    cdef model_t m
    cdef int n, p, n_kernels, n_classes, n_free, cap
    cdef double t                   # the power of what `tempered` returns
    cdef double exchange            # weight of an exchange among moves, at most 1; others have 1
    cdef bint adapting              # whether steps are adapted
    cdef int* free_terms
    cdef double* beta
    cdef double* precision          # (p, D)
    cdef double* mean
    cdef double* weight             # (K, D)
    cdef double* prior              # (K)
    cdef double* steps
    cdef int64_t proposed[3]
    cdef int64_t accepted[3]

    cdef hold(self, Space space, int n, gamma, beta, precision, mean, weight, prior, steps, double power)
    cdef double kinds(self, int size, int* kind) noexcept nogil
    cdef int kind(self, int size, bitgen_t* rng) noexcept nogil
    cdef double log_choice(self, int size) noexcept nogil
    cdef int pick(self, unsigned char inside, int rank) noexcept nogil
    cdef double flipped(self, int j, int k) noexcept nogil
    cdef void flip_back(self, int j, int k) noexcept nogil
    cdef void write_words(self, uint64_t* words, Py_ssize_t n_words) noexcept nogil
    cdef void write_kernels(self, double* mean, double* variance) noexcept nogil

    cdef double log_weights(self, double concentration) noexcept nogil

    # Defined by the target.
    cdef void sweep(self, int moves, bitgen_t* rng) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef double tempered(self) noexcept nogil
    cdef double log_likelihood(self) noexcept nogil
    cdef double log_parameters(self) noexcept nogil
    cdef int n_occupied(self) noexcept nogil
