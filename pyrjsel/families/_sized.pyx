"""Log-likelihoods of families with a size, given its logarithm too, without terms of the size alone."""

from libc.math cimport exp, expm1

from pyrjsel._core._vecmath cimport exponentials, logit_shift
from pyrjsel.families._family cimport joint_pass

cdef enum:
    AT_ONCE = 256

# Up to this shape e^a - 1 - a may be computed by subtraction, with an error of 1e-16 times the shape.
cdef double SUBTRACT = 1e4


cdef double negbin_joint(Py_ssize_t n, const double* eta, const double* x, double delta, const double* y,
                         const double* w, const double* t) noexcept nogil:
    """That of y successes out of y + theta trials, with the offset -t."""
    cdef double[AT_ONCE] away, wy, trials
    cdef double value = 0.0, theta = exp(t[0])
    cdef Py_ssize_t first = 0, i, m
    while first < n:
        m = min(<Py_ssize_t> AT_ONCE, n - first)
        for i in range(m):
            away[i] = eta[first + i] + delta * x[first + i] - t[0]
            wy[i] = w[first + i] * y[first + i]
            trials[i] = wy[i] + theta * w[first + i]
        value += logit_shift(m, away, wy, 0.0, wy, trials, away)
        first += m
    return value


cdef double gamma_joint(Py_ssize_t n, const double* eta, const double* x, double delta, const double* y,
                        const double* w, const double* t) noexcept nogil:
    """``w shape (a - (e^a - 1))``, where `y` has the logarithms of responses and a is y less eta."""
    cdef double[AT_ONCE] away, power
    cdef double value = 0.0, shape = exp(t[0])
    cdef Py_ssize_t first = 0, i, m
    while first < n:
        m = min(<Py_ssize_t> AT_ONCE, n - first)
        for i in range(m):
            away[i] = y[first + i] - (eta[first + i] + delta * x[first + i])
        if shape < SUBTRACT:
            exponentials(m, away, power)
            for i in range(m):
                power[i] -= 1.0
        else:
            for i in range(m):
                power[i] = expm1(away[i])
        for i in range(m):
            # Responses of rows without weight may be anything.
            value += w[first + i] * (away[i] - power[i]) if w[first + i] > 0.0 else 0.0
        first += m
    return shape * value


NEGBIN = joint_pass(negbin_joint)
GAMMA = joint_pass(gamma_joint)
