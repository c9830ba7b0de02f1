# Passes over the observations for each family, which loops access through the problem.

# out := eta + delta x; the log-likelihood at out.
ctypedef double (*shift_t)(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                           const double* w, double* out) noexcept nogil
# The log-likelihood at eta, with its gradient and minus its second derivative in eta.
ctypedef double (*working_t)(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                             double* residual, double* weight) noexcept nogil
# For families with several linear predictors of a row, all those of the first before those of the second: out
# (n,) := minus the mixed second derivatives in those numbered a < b, given the n weights that `working` left
# for each; NULL for others. For a == b, minus the second derivatives.
ctypedef void (*between_t)(Py_ssize_t n, const double* a, const double* b, const double* w, double* out) \
    noexcept nogil

cdef class Passes:
    cdef shift_t shift
    cdef working_t working
    cdef between_t between
    cdef readonly bint quadratic

cdef Passes passes(shift_t shift, working_t working, bint quadratic=*, between_t between=*)
