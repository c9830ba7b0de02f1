"""Log-likelihoods of the families as single passes over the observations.

Each family has its passes, created by ``passes``.
"""

cimport cython

import numpy as np

from pyrjsel._core._vecmath cimport (
    logit_shift, logit_working, normal_shift, normal_working, poisson_shift, poisson_working,
)


@cython.final
cdef class Passes:
    """The compiled passes of a family, by their addresses.

    Attributes
    ----------
    quadratic : bool
        Whether the log-likelihood is quadratic in the linear predictor: one Newton step finds its maximum.
    """

    def __reduce__(self):
        raise TypeError("compiled passes have addresses, and cannot be pickled")


cdef Passes passes(shift_t shift, working_t working, bint quadratic=False, between_t between=NULL,
                   pooled_t pooled=NULL):
    """Return the passes of a family."""
    cdef Passes made = Passes.__new__(Passes)
    made.shift, made.working, made.quadratic = shift, working, quadratic
    made.between, made.pooled = between, pooled
    return made


@cython.final
cdef class JointPass:
    """The compiled pass of a family given nuisance parameters, by its address."""

    def __reduce__(self):
        raise TypeError("compiled passes have addresses, and cannot be pickled")


cdef JointPass joint_pass(joint_t value):
    """Return the pass of a family given nuisance parameters."""
    cdef JointPass made = JointPass.__new__(JointPass)
    made.value = value
    return made


cdef enum:
    AT_ONCE = 256


cdef double positive_shift(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                           const double* w, double* out) noexcept nogil:
    """``-w eta - wy exp(-eta)``: Poisson counts w of weight wy at minus the linear predictor."""
    # Passes may read and write eta alone in place: the direction is another array, times 0.
    cdef Py_ssize_t i
    cdef double value
    for i in range(n):
        out[i] = -(eta[i] + delta * x[i])
    value = poisson_shift(n, out, w, 0.0, w, wy, out)
    for i in range(n):
        out[i] = -out[i]
    return value


cdef double positive_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                             double* residual, double* weight) noexcept nogil:
    # Passes do not work in place.
    cdef double minus[AT_ONCE]
    cdef double value = 0.0
    cdef Py_ssize_t first = 0, i, m
    while first < n:
        m = min(<Py_ssize_t> AT_ONCE, n - first)
        for i in range(m):
            minus[i] = -eta[first + i]
        value += poisson_working(m, minus, w + first, wy + first, residual + first, weight + first)
        for i in range(first, first + m):
            residual[i] = -residual[i]
        first += m
    return value


LOGIT = passes(logit_shift, logit_working)
LOG = passes(poisson_shift, poisson_working)
POSITIVE = passes(positive_shift, positive_working)
NORMAL = passes(normal_shift, normal_working, True)


def log_likelihoods(Passes passes not None, const double[:, ::1] eta not None, const double[::1] wy not None,
                    const double[::1] base not None, const double[::1] slope not None,
                    const double[::1] factor not None):
    """Return log-likelihoods (m,) at linear predictors `eta` (m, n), with weights ``base + factor slope``.

    `wy` is (n,), and so are `base` and `slope` if passes need nothing behind the weights; `factor` is (m,).
    """
    cdef Py_ssize_t m = eta.shape[0], n = eta.shape[1], size = base.shape[0], k, i
    if factor.shape[0] != m or wy.shape[0] != n or size < n or slope.shape[0] != size or n == 0:
        raise ValueError("the arrays of log-likelihoods do not fit together")
    cdef double[::1] rows = np.empty(size + n)
    cdef double* w = &rows[0]
    cdef double* out = w + size
    found = np.empty(m)
    cdef double[::1] values = found
    with nogil:
        for k in range(m):
            for i in range(size):
                w[i] = base[i] + factor[k] * slope[i]
            values[k] = passes.shift(n, &eta[k, 0], &eta[k, 0], 0.0, &wy[0], w, out)
    return found


def derivatives(Passes passes not None, const double[:, ::1] eta not None, const double[::1] wy not None,
                const double[::1] base not None, const double[::1] slope not None,
                const double[::1] factor not None):
    """Return log-likelihoods (m,), gradients and weights (m, n) in eta; see :func:`log_likelihoods`."""
    cdef Py_ssize_t m = eta.shape[0], n = eta.shape[1], size = base.shape[0], k, i
    if (factor.shape[0] != m or wy.shape[0] != n or size < n or slope.shape[0] != size or n == 0
            or passes.pooled != NULL):
        raise ValueError("the arrays of derivatives do not fit together")
    cdef double[::1] w = np.empty(size)
    found, residual, weight = np.empty(m), np.empty((m, n)), np.empty((m, n))
    cdef double[::1] values = found
    cdef double[:, ::1] r = residual, v = weight
    with nogil:
        for k in range(m):
            for i in range(size):
                w[i] = base[i] + factor[k] * slope[i]
            values[k] = passes.working(n, &eta[k, 0], &wy[0], &w[0], &r[k, 0], &v[k, 0])
    return found, residual, weight


def pair_values(JointPass joint not None, const double[::1] eta not None,
                const double[:, ::1] images not None, const double[::1] radius not None,
                const double[::1] y not None, const double[::1] w not None, const double[:, ::1] t not None):
    """Return log-likelihoods (2 P,) at ``eta + radius images`` and ``eta - radius images``, by turns.

    `eta` and `y` are (n,), `images` is (P, n), `radius` (P,) and `t` (2 P, parameters).
    """
    cdef Py_ssize_t n = eta.shape[0], count = radius.shape[0], i
    if (images.shape[0] != count or images.shape[1] != n or y.shape[0] != n or t.shape[0] != 2 * count
            or t.shape[1] == 0 or n == 0 or w.shape[0] == 0):
        raise ValueError("the arrays of pairs do not fit together")
    found = np.empty(2 * count)
    cdef double[::1] values = found
    with nogil:
        for i in range(count):
            values[2 * i] = joint.value(n, &eta[0], &images[i, 0], radius[i], &y[0], &w[0], &t[2 * i, 0])
            values[2 * i + 1] = joint.value(
                n, &eta[0], &images[i, 0], -radius[i], &y[0], &w[0], &t[2 * i + 1, 0])
    return found
