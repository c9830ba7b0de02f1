# A chain over models in continuous time, for loops that add their own moves.

from libc.stdint cimport int64_t, uint64_t

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.model_space._space cimport Space, model_t
from pyrjsel.model_space._trades cimport Trades

cdef enum:
    FLIP = 0                    # flips of replica 0
    SLOT = 1                    # swaps proposed, and those that changed the model
    FAMILY = 2                  # block updates, and those that changed the model
    TRADE = 3                   # trades proposed and accepted
    N_MOVES = 4
    PATTERNS = 128              # for the terms of a block

cdef struct replica_t:
    model_t m
    double* change              # (J) log mass of each neighbour minus that of the model
    double* rate                # (J) rates of the flips
    double total                # sum of the rates
    double log_mass             # log evidence + log prior of the model
    double power

cdef class Walk:
    cdef Space space
    cdef Trades path
    cdef list evidences, arrays
    cdef void** evidence        # borrowed references from the list
    cdef replica_t* replicas
    cdef int* place             # place[k]: the replica with temperature k
    cdef int n_replicas, n_terms, n_free
    cdef int n_families
    cdef double slots, exchanges, families, trades
    cdef const int* family_start  # (n_families + 1), CSR: block -> its terms, parents before children
    cdef const int* family_term
    cdef int64_t[:, ::1] moves, exchanged
    cdef double* inclusion      # (J) conditional probabilities at the model of temperature one
    cdef double* exclusion      # (J)
    cdef double* scratch        # (J)
    cdef double* kept           # (J)
    cdef double* mass           # (PATTERNS)
    cdef double* prior          # (PATTERNS) log prior of a pattern of a block
    cdef unsigned char* possible  # (PATTERNS) whether its model is feasible

    cdef void weigh(self, int a) noexcept nogil
    cdef void look(self, int a) noexcept nogil
    cdef void settle(self, int a) noexcept nogil
    cdef void measure(self, int a) noexcept nogil
    cdef int load(self, int a) noexcept nogil
    cdef int put(self, const unsigned char* gamma, const double* powers) noexcept nogil
    cdef int toggle(self, int a, int j) noexcept nogil
    cdef void flip(self, int a, double u) noexcept nogil
    cdef int draw_slot(self, int a, bitgen_t* rng) noexcept nogil
    cdef void slot(self, int a, bitgen_t* rng) noexcept nogil
    cdef bint move_evidence(self, int a, const int* terms, int n, int pattern, int* at) noexcept nogil
    cdef int lay(self, int a, const int* terms, int n, int pattern) noexcept nogil
    cdef void family(self, int a, bitgen_t* rng) noexcept nogil
    cdef int follow(self, int a, int done) noexcept nogil
    cdef void trade(self, int a, bitgen_t* rng) noexcept nogil
    cdef void spend(self, double weight, double* sums) noexcept nogil
    cdef void advance(self, int a, double time, bitgen_t* rng, double* sums) noexcept nogil
    cdef void exchange(self, int k, bitgen_t* rng) noexcept nogil
    cdef void period(self, double time, bitgen_t* rng, double* sums) noexcept nogil
    cdef void record(self, uint64_t* words, Py_ssize_t n_words) noexcept nogil
