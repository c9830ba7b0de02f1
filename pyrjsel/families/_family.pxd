# Passes over the observations for each family, which loops access through the problem.

# out := eta + delta x; the log-likelihood at out.
ctypedef double (*shift_t)(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                           const double* w, double* out) noexcept nogil
# The log-likelihood at eta, with its gradient and minus its second derivative in eta.
ctypedef double (*working_t)(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                             double* residual, double* weight) noexcept nogil
# The log-likelihood at eta + delta x given coordinates t of nuisance parameters, without terms of t alone.
ctypedef double (*joint_t)(Py_ssize_t n, const double* eta, const double* x, double delta, const double* y,
                           const double* w, const double* t) noexcept nogil
# For families with several linear predictors of a row, all those of the first before those of the second: out
# (n,) := minus the mixed second derivatives in those numbered a < b, given the n weights that `working` left
# for each; NULL for others. For a == b, minus the second derivatives.
ctypedef void (*between_t)(Py_ssize_t n, const double* a, const double* b, const double* w, double* out) \
    noexcept nogil
# For families whose information on coefficients is X' diag(weight) X + M' diag(sign) M with rows of M for
# groups of observations: the d columns of M, and behind them sign; return the number of their rows, at most n
# + 1. `weight` is what `working` left, in WIDTH n numbers. NULL for families of independent observations.
ctypedef Py_ssize_t (*pooled_t)(Py_ssize_t n, int d, const double* columns, const int* cols, const double* w,
                                const double* weight, double* out) noexcept nogil

cdef enum:
    WIDTH = 3

cdef class Passes:
    cdef shift_t shift
    cdef working_t working
    cdef between_t between
    cdef pooled_t pooled
    cdef readonly bint quadratic

cdef class JointPass:
    cdef joint_t value

cdef JointPass joint_pass(joint_t value)
cdef Passes passes(shift_t shift, working_t working, bint quadratic=*, between_t between=*, pooled_t pooled=*)
