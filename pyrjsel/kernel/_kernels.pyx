"""Values of kernels between points, and sums of their products."""

from libc.math cimport exp, fmin, sqrt

import numpy as np

cdef enum:                      # kinds, in the order of KINDS in kernels.py
    GAUSSIAN
    MATERN32
    MATERN52
    LAPLACE


cdef double kernel_value(
    int kind, double width, const double* x, const double* centre, Py_ssize_t d
) noexcept nogil:
    """The kernel between two points of d inputs."""
    cdef double square = 0.0, step, r
    cdef Py_ssize_t i
    for i in range(d):
        step = (x[i] - centre[i]) / width
        square += step * step
    if kind == GAUSSIAN:
        return exp(-0.5 * square)
    if kind == LAPLACE:
        return exp(-sqrt(square))
    # Beyond 1000 the kernel is 0, and infinity times 0 must not be met.
    r = fmin(sqrt(3.0 * square) if kind == MATERN32 else sqrt(5.0 * square), 1000.0)
    if kind == MATERN32:
        return (1.0 + r) * exp(-r)
    return (1.0 + r + r * r / 3.0) * exp(-r)


def kernel_matrix(int kind, double width, const double[:, ::1] x, const double[:, ::1] centres):
    """The kernel between n points `x` (n, d) and m `centres` (m, d): (n, m)."""
    cdef Py_ssize_t n = x.shape[0], m = centres.shape[0], d = x.shape[1], i, j
    out = np.empty((n, m))
    cdef double[:, ::1] values = out
    with nogil:
        for i in range(n):
            for j in range(m):
                values[i, j] = kernel_value(kind, width, &x[i, 0], &centres[j, 0], d)
    return out


def add_products(double[:, ::1] gram, const double[::1] values):
    """Add ``values values'`` to the first m rows and columns of `gram`, m the number of values."""
    cdef Py_ssize_t m = values.shape[0], i, j
    cdef double value
    cdef double* row
    if min(gram.shape[0], gram.shape[1]) < m:
        raise ValueError("gram must have a row and a column for each value")
    with nogil:
        for i in range(m):
            row = &gram[i, 0]
            value = values[i]
            for j in range(m):
                row[j] += value * values[j]
