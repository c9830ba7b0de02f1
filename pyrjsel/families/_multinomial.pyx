"""The log-likelihood of classes, from the linear predictors of all but the base class.

All rows of the first of the L linear predictors come before those of the second, and so on: the n numbers of
the passes are L times as many as observations. L follows the n weights, ``w[n]``. The weights that `working`
leaves are expected numbers of observations in each class.
"""

from pyrjsel._core._vecmath cimport exponentials, logs
from pyrjsel.families._family cimport passes

cdef enum:
    AT_ONCE = 256


cdef double normalise(Py_ssize_t m, Py_ssize_t rows, int lead, const double* eta, const double* wy,
                      const double* w, double* share) noexcept nogil:
    """The log-likelihood of m rows at eta.

    Numbers of linear predictors are `rows` apart. Unless NULL, `share` becomes the probabilities.
    """
    cdef double[AT_ONCE] top, total, part
    cdef double value = 0.0
    cdef const double* e
    cdef const double* y
    cdef double* spare = part
    cdef double* out
    cdef int l
    cdef Py_ssize_t i
    for i in range(m):
        top[i] = 0.0
    for l in range(lead):
        e = eta + l * rows
        y = wy + l * rows
        for i in range(m):
            value += y[i] * e[i]
            top[i] = e[i] if e[i] > top[i] else top[i]
    for i in range(m):
        part[i] = -top[i]
    exponentials(m, part, total)
    for l in range(lead):
        e = eta + l * rows
        out = spare if share == NULL else share + l * rows
        for i in range(m):
            part[i] = e[i] - top[i]
        exponentials(m, part, out)
        for i in range(m):
            total[i] += out[i]
    if share != NULL:
        for l in range(lead):
            out = share + l * rows
            for i in range(m):
                out[i] /= total[i]
    logs(m, total, total)
    for i in range(m):
        value -= w[i] * (top[i] + total[i])
    return value


cdef double multinomial_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                              const double* wy, const double* w, double* out) noexcept nogil:
    cdef int lead = <int> w[n]
    cdef Py_ssize_t rows = n // lead, first = 0, i, m
    cdef double value = 0.0
    for i in range(n):
        out[i] = eta[i] + delta * x[i]
    while first < rows:
        m = min(<Py_ssize_t> AT_ONCE, rows - first)
        value += normalise(m, rows, lead, out + first, wy + first, w + first, NULL)
        first += m
    return value


cdef double multinomial_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                                double* residual, double* weight) noexcept nogil:
    cdef int lead = <int> w[n], l
    cdef Py_ssize_t rows = n // lead, first = 0, i, m, at
    cdef double value = 0.0
    while first < rows:
        m = min(<Py_ssize_t> AT_ONCE, rows - first)
        value += normalise(m, rows, lead, eta + first, wy + first, w + first, weight + first)
        for l in range(lead):
            at = l * rows + first
            for i in range(m):
                weight[at + i] *= w[first + i]
                residual[at + i] = wy[at + i] - weight[at + i]
        first += m
    return value


cdef void multinomial_between(Py_ssize_t n, const double* a, const double* b, const double* w,
                              double* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = -a[i] * b[i] / w[i] if w[i] > 0.0 else 0.0
    if a == b:
        for i in range(n):
            out[i] += a[i]


MULTINOMIAL = passes(multinomial_shift, multinomial_working, False, multinomial_between)
