# A regression problem as raw arrays, with the computations that samplers share.
#
# Columns are standardised; the leading ones are the constants of intercepts, one for each linear predictor of
# an observation. With L of them, column k belongs to the linear predictor of intercept k modulo L, whose
# n / L rows follow those of the ones before it; the column is zero in all others, and term_start are
# multiples of L. All coefficient priors have the same form: with K = precision restricted to the model's
# columns,
#     log f(b) = (log det K - d log 2 pi - b'K b) / 2 + shift'b - sum(penalty) / 2,
# where flat intercepts (precision 0) are excluded from d and from the determinant. Loops that draw scale
# parameters multiply K, shift and penalty by `scale`, and use densities of coefficients in a given unit.

from pyrjsel.families._family cimport between_t, pooled_t, shift_t, working_t


cdef enum:
    G_PER_UNIT = 16              # nodes of log g per unit, from LOWEST_G
    G_NODES = 1921

cdef double LOWEST_G

# Rules for g: all but the last expand likelihoods at their maxima, and the g-prior has the information there.
cdef enum:
    AT_MODES = 0                 # they are not: the prior does not depend on the response
    KNOWN_G = 1
    UNKNOWN_G = 2                # with the density log_prior_g
    BEST_G = 3                   # that of the largest marginal likelihood of each model
    PENALTY = 4                  # a flat prior, and a penalty for each coefficient
    BEST_AT_MODES = 5            # as BEST_G, by Laplace's approximation, with the precision of the problem

cdef struct problem_t:
    int n
    int n_columns                # with the intercepts
    int leading                  # number of intercepts, in every model
    int n_terms
    shift_t shifted              # passes of the family over the observations
    working_t working
    between_t between            # NULL with one linear predictor of an observation
    pooled_t pooled              # NULL if observations are independent
    int width                    # numbers that `working` leaves as weights, in n
    bint quadratic               # the log-likelihood is quadratic in the linear predictor
    int flat                     # number of leading columns with a flat prior: all intercepts, or 0
    double rank_tol              # smallest proportion of a column's precision that others may leave
    const double* columns        # (n_columns, n), one column after the other
    const double* wy
    const double* w              # NULL if all weights are one
    const double* offset
    const double* precision      # (n_columns, n_columns)
    const double* shift          # (n_columns)
    const double* log_weights    # (n_columns): log det K is their sum; NULL if K must be factored
    const double* intercepts     # (leading): start of mode searches
    const double* penalty        # (n_columns)
    const int* term_start        # (n_terms + 1): columns of term j
    const double* log_prior_g    # (1 or n_columns, G_NODES): log density of t at the grid; NULL if g is known
    const double* log_g          # the same: log g there
    int g_stride                 # G_NODES if rows are for numbers of columns, 0 for one row
    double g_columns             # the prior of g is as narrow as that of g given data on so many columns
    int typical_g                # node of a typical log g, a multiple of G_PER_UNIT
    int rule                     # for g, as above
    double rule_value            # log g of KNOWN_G, or the penalty for a coefficient
    double scale                 # factor of precision, shift and penalty; 1
    double log_constant          # constant of log f per column; -log(2 pi) / 2
    double log_unit              # logarithm of the unit of coefficients in densities; 0

cdef class Problem:
    cdef problem_t c
    cdef object arrays

cdef int model_columns(const problem_t* p, const unsigned char* gamma, int* cols) noexcept nogil
cdef void linear_predictor(const problem_t* p, int d, const int* cols, const double* b,
                           double* eta) noexcept nogil
cdef Py_ssize_t gram_scratch(const problem_t* p, int d) noexcept nogil
cdef void information(const problem_t* p, int d, const int* cols, const double* weight,
                      double* scratch, double* out) noexcept nogil
cdef void add_precision(const problem_t* p, int d, const int* cols, double* h) noexcept nogil
cdef double product(const problem_t* p, int column, const double* residual) noexcept nogil
cdef void score(const problem_t* p, int d, const int* cols, const double* b, const double* residual,
                double* out) noexcept nogil
cdef double prior_exponent(const problem_t* p, int d, const int* cols, const double* b) noexcept nogil
cdef int prior_factor(const problem_t* p, int d, const int* cols, double* factor, int ld,
                      double* slack) noexcept nogil
cdef double least_share(const problem_t* p, int m, const int* cols, double* factor,
                        int ld) noexcept nogil
cdef double prior_log_det(const problem_t* p, int d, const int* cols, const double* factor,
                          int ld) noexcept nogil
cdef int prior_dimension(const problem_t* p, int d) noexcept nogil
