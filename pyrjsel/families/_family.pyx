"""Log-likelihoods of the families as single passes over the observations."""

from libc.math cimport NAN

from pyrjsel._core._vecmath cimport (
    logit_shift, logit_working, normal_shift, normal_working, poisson_shift, poisson_working,
)


cdef double family_shift(int family, Py_ssize_t n, const double* eta, const double* x, double delta,
                         const double* wy, const double* w, double* out) noexcept nogil:
    """out := eta + delta x; the log-likelihood at out."""
    if family == 0:
        return logit_shift(n, eta, x, delta, wy, w, out)
    if family == 1:
        return poisson_shift(n, eta, x, delta, wy, w, out)
    if family == 2:
        return normal_shift(n, eta, x, delta, wy, w, out)
    return NAN


cdef double family_working(int family, Py_ssize_t n, const double* eta, const double* wy,
                           const double* w, double* residual, double* weight) noexcept nogil:
    """The log-likelihood at eta, with its gradient and minus its second derivative in eta."""
    if family == 0:
        return logit_working(n, eta, wy, w, residual, weight)
    if family == 1:
        return poisson_working(n, eta, wy, w, residual, weight)
    if family == 2:
        return normal_working(n, eta, wy, w, residual, weight)
    return NAN
