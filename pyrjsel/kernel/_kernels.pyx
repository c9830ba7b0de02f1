"""Values of kernels between points, and sums of their products."""

from libc.math cimport fmin, sqrt

import numpy as np

from pyrjsel._core._vecmath cimport axpy, exp_minus

cdef enum:                      # kinds, in the order of KINDS in kernels.py
    GAUSSIAN
    MATERN32
    MATERN52
    LAPLACE


cdef enum:
    BLOCK = 256                 # points of a call of the exponential
cdef double FARTHEST = 708.0    # where the kernel counts as 0


cdef void kernel_values(int kind, double width, Py_ssize_t n, const double* x, const double* centre,
                        Py_ssize_t d, double* out) noexcept nogil:
    """The kernel between n <= BLOCK points of d inputs and a centre."""
    cdef double square, step, r, value
    cdef double scale = 5.0 if kind == MATERN52 else 3.0 if kind == MATERN32 else 1.0
    cdef double power[BLOCK]
    cdef Py_ssize_t i, j
    for i in range(n):
        square = 0.0
        for j in range(d):
            step = (x[i * d + j] - centre[j]) / width
            square += step * step
        # An infinite square must not meet a 0.
        power[i] = fmin(0.5 * square if kind == GAUSSIAN else sqrt(scale * square), 2.0 * FARTHEST)
    exp_minus(n, power, out)
    for i in range(n):
        r = power[i]
        value = 0.0 if r > FARTHEST else out[i]
        if kind == MATERN32:
            value *= 1.0 + r
        elif kind == MATERN52:
            value *= 1.0 + r + r * r / 3.0
        out[i] = value


def kernel_matrix(int kind, double width, const double[:, ::1] x, const double[:, ::1] centres):
    """The kernel between n points `x` (n, d) and m `centres` (m, d): (n, m), a centre's values together."""
    cdef Py_ssize_t n = x.shape[0], m = centres.shape[0], d = x.shape[1], low, j
    out = np.empty((m, n))
    cdef double[:, ::1] values = out
    with nogil:
        for j in range(m):
            low = 0
            while low < n:
                kernel_values(kind, width, min(n - low, BLOCK), &x[low, 0], &centres[j, 0], d,
                              &values[j, low])
                low += BLOCK
    return out.T


def add_products(double[:, ::1] gram, const double[::1] values):
    """Add ``values values'`` to the first m rows and columns of `gram`, m the number of values."""
    cdef Py_ssize_t m = values.shape[0], i
    if min(gram.shape[0], gram.shape[1]) < m:
        raise ValueError("gram must have a row and a column for each value")
    with nogil:
        for i in range(m):
            axpy(m, values[i], &values[0], &gram[i, 0])
