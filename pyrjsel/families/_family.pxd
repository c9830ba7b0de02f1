# Passes over the observations for each family, which loops access through the problem.

# out := eta + delta x; the log-likelihood at out.
ctypedef double (*shift_t)(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                           const double* w, double* out) noexcept nogil
# The log-likelihood at eta, with its gradient and minus its second derivative in eta.
ctypedef double (*working_t)(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                             double* residual, double* weight) noexcept nogil

cdef class Passes:
    cdef shift_t shift
    cdef working_t working
    cdef readonly bint quadratic

cdef Passes passes(shift_t shift, working_t working, bint quadratic=*)
