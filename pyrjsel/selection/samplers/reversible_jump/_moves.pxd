# One chain over models and coefficients: its state, derived quantities, and moves.

from libc.stdint cimport int64_t

from pyrjsel._core.random cimport bitgen_t
from pyrjsel.selection.regression._problem cimport Problem, problem_t
from pyrjsel.model_space._space cimport Space, model_t, space_t

cdef enum:
    BIRTH = 0
    DEATH = 1
    SWAP = 2
    COEFFICIENTS = 3
    TRADE = 4
    FAMILY = 5
    N_MOVES = 6

cdef struct base_t:
    # The rest of the model, for a block's proposal and prior.
    const double* residual
    const double* weight
    int skip_from               # positions [skip_from, skip_to) of cols are excluded
    int skip_to

cdef class Moves:
    cdef Problem problem
    cdef Space space
    cdef problem_t own           # the problem, at the scale parameters of this chain
    cdef problem_t* p            # at `own`
    cdef space_t* s
    cdef model_t m
    cdef object buffers
    cdef bint fixed, working
    cdef int n_extra             # further numbers of the state; set first by subclasses
    cdef int capacity, d, n_free, n_swaps, wide
    cdef int* cols
    cdef int* others             # number of columns of the model without one term
    cdef int* place
    cdef int* free_terms
    cdef int* own_columns        # those of one term
    cdef double* b
    cdef double* factor          # prior precision, Cholesky factor in the order of cols
    cdef double* reduced         # the same without a term
    cdef double* h
    cdef double* small           # vectors of length capacity
    cdef double* block           # a block's cross, mean, delta, precision factor, Schur factor
    cdef double* image           # (wide, capacity) solved cross-precisions of a block
    cdef double* eta
    cdef double* eta_new
    cdef double* residual
    cdef double* residual_new
    cdef double* weight
    cdef double* weight_new
    cdef double* scratch
    cdef const double* fixed_mean
    cdef const double* fixed_factor
    cdef const double* raw_shift
    cdef double origin
    cdef double loglik, log_prior, log_model
    cdef double t, root_t        # the target is the posterior to the power t; sqrt(t)
    cdef double slack, slack_reduced, entering  # proportions of precision, 0 for dependent columns
    cdef int64_t proposed[N_MOVES]
    cdef int64_t accepted[N_MOVES]

    cdef int refresh(self) noexcept nogil
    cdef void gather(self, const double* full, double* compact) noexcept nogil
    cdef void need_working(self) noexcept nogil
    cdef void cross(self, int j, const base_t* base, double* out) noexcept nogil
    cdef int proposal(self, int j, const base_t* base, const double* cross, double* mean,
                      double* factor) noexcept nogil
    cdef int newton_block(self, int j, const base_t* base, const double* cross, double* mean,
                          double* factor) noexcept nogil
    cdef int newton_step(self, int size, double* mean, double* factor) noexcept nogil
    cdef double distance(self, int size, const double* delta, const double* mean,
                         const double* factor) noexcept nogil
    cdef double normal_logpdf(self, int size, const double* delta, const double* mean,
                              const double* factor) noexcept nogil
    cdef double student_logpdf(self, int size, const double* delta, const double* mean,
                               const double* factor) noexcept nogil
    cdef double exponent_gain(self, int j, const double* delta, const double* cross) noexcept nogil
    cdef double log_det_gain(self, int j, const double* factor, int d, const int* cols) noexcept nogil
    cdef bint dependent(self, double slack) noexcept nogil
    cdef void move_block(self, const double* source, int j, double sign, const double* delta,
                         double* target) noexcept nogil
    cdef double shift_block(self, const double* source, int j, const double* delta,
                            double* target) noexcept nogil
    cdef int without(self, int j, int* cols) noexcept nogil
    cdef int rebuild(self) noexcept nogil
    cdef double evaluate_birth(self, int j, bitgen_t* rng, const double* given) noexcept nogil
    cdef double evaluate_death(self, int j) noexcept nogil
    cdef double log_det_of(self, int j) noexcept nogil
    cdef double evaluate_swap(self, int j, int k, bitgen_t* rng, const double* given) noexcept nogil
    cdef double evaluate_coefficients(self, double reach, bitgen_t* rng,
                                      const double* given) noexcept nogil
    cdef int least_squares(self, double reach, const double* b, const double* residual,
                           const double* weight, double* mean) noexcept nogil
    cdef void draw_block(self, int size, bitgen_t* rng, const double* given, const double* mean,
                         const double* factor, bint heavy, double* out) noexcept nogil
    cdef double toggled(self, int j) noexcept nogil
    cdef void take(self, const double* values, bint working) noexcept nogil
    cdef bint decide(self, int move, double log_ratio, bitgen_t* rng) noexcept nogil
    cdef void flip(self, int j, bitgen_t* rng) noexcept nogil
    cdef void swap(self, bitgen_t* rng) noexcept nogil
    cdef int pick(self, unsigned char inside, int rank) noexcept nogil
    cdef void coefficients(self, bitgen_t* rng) noexcept nogil
