# Newton's method, Laplace values, and sums of them over g.

from pyrjsel.selection.regression._problem cimport Problem, problem_t

cdef enum:
    CONVERGED = 0
    RANK_DEFICIENT = 1          # the g-prior does not exist
    NOT_CONVERGED = 2
    NO_MAXIMUM = 3              # the likelihood has no finite maximum, and the prior needs it

cdef double log_g_of(const problem_t* p, int m, int at) noexcept nogil

cdef class ModeSearch:
    cdef Problem problem
    cdef problem_t own          # the problem, with the scale of the prior at one node of log g
    cdef problem_t* p
    cdef int capacity, d
    cdef object buffers
    cdef int* cols
    cdef double* b
    cdef double* trial
    cdef double* step
    cdef double* gradient
    cdef double* h
    cdef double* eta
    cdef double* eta_new
    cdef double* residual
    cdef double* weight
    cdef double* scratch
    cdef double* z
    cdef int n_nodes, stride, n_expansions
    cdef double log_det_prior
    cdef double[::1] observed   # information at the maximum of the likelihood, in the place of the prior's
    cdef int[::1] node          # positions in the grid, increasing
    cdef double[::1] of_node    # log posterior mass
    cdef int[::1] order         # expansions, by their nodes
    cdef int[::1] expanded      # their nodes
    cdef double[:, ::1] modes, linear, hessian      # of the log-likelihood: mode b, A b + gradient, and A
    cdef double[::1] constant, exact
    cdef readonly double log_likelihood, log_posterior, log_marginal
    cdef readonly int status

    cdef double rounding(self, double value) noexcept nogil
    cdef int newton(self, bint use_prior, double enough=*) noexcept nogil
    cdef int laplace(self) noexcept nogil
    cdef double with_volume(self, double log_posterior, double log_det) noexcept nogil
    cdef double log_prior_of(self, int at) noexcept nogil
    cdef int expand(self, int at) noexcept nogil
    cdef int keep_expansion(self, int e, double enough=*) noexcept nogil
    cdef int at_best_g(self) noexcept nogil
    cdef double at_scale(self, double t) noexcept nogil
    cdef double scan(self, double low) noexcept nogil
    cdef double climb(self, double low, double t, double high) noexcept nogil
    cdef int at_maximum(self) noexcept nogil
    cdef int expand_at_maximum(self) noexcept nogil
    cdef double in_closed_form(self, int at, double form) noexcept nogil
    cdef double sum_in_closed_form(self, double form) noexcept nogil
    cdef bint shrink(self, int e) noexcept nogil
    cdef double predict(self, int at, int e) noexcept nogil
    cdef int nearest(self, int at) noexcept nogil
    cdef double interpolate(self, int at) noexcept nogil
    cdef int sum_over_g(self) noexcept nogil
    cdef void return_to(self, int e) noexcept nogil
    cdef void go_to(self, int k) noexcept nogil
    cdef void fill_nodes(self, int low, int high) noexcept nogil
    cdef void quantiles(self, int* out) noexcept nogil
    cdef double exponent(self, const double* b) noexcept nogil
    cdef double density_of(self, int k, int m, double form) noexcept nogil
