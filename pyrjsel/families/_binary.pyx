"""Log-likelihoods of binary responses under other links than the logit, from ``binary.c``."""

from pyrjsel.families._family cimport WIDTH, Passes, passes

import numpy as np

cdef extern from "binary.h" nogil:
    double probit_shift(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                        const double* w, double* out)
    double probit_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                          double* residual, double* weight)
    double cloglog_shift(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                         const double* w, double* out)
    double cloglog_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                           double* residual, double* weight)


cdef double probit_shifted(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                           const double* w, double* out) noexcept nogil:
    return probit_shift(n, eta, x, delta, wy, w, out)


cdef double probit_scored(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                          double* residual, double* weight) noexcept nogil:
    return probit_working(n, eta, wy, w, residual, weight)


cdef double cloglog_shifted(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                            const double* w, double* out) noexcept nogil:
    return cloglog_shift(n, eta, x, delta, wy, w, out)


cdef double cloglog_scored(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                           double* residual, double* weight) noexcept nogil:
    return cloglog_working(n, eta, wy, w, residual, weight)


PROBIT = passes(probit_shifted, probit_scored)
CLOGLOG = passes(cloglog_shifted, cloglog_scored)


def evaluated(Passes family not None, const double[::1] eta, const double[::1] wy,
              const double[::1] w=None):
    """Return the log-likelihood by both passes, its gradient and its weights, for tests."""
    cdef Py_ssize_t n = eta.shape[0]
    if n == 0 or wy.shape[0] != n or (w is not None and w.shape[0] < n):
        raise ValueError("eta, wy and w must have the same length")
    residual, weight, out = np.empty(n), np.empty(n if family.pooled == NULL else WIDTH * n), np.empty(n)
    cdef double[::1] r = residual, v = weight, o = out
    cdef const double* weights = &w[0] if w is not None else NULL
    cdef double shifted = family.shift(n, &eta[0], &eta[0], 0.0, &wy[0], weights, &o[0])
    return shifted, family.working(n, &eta[0], &wy[0], weights, &r[0], &v[0]), residual, weight[:n]
