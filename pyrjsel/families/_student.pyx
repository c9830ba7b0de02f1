"""The log-likelihood of responses with Student-t errors, without constants.

Its parameters follow the n weights of the passes, which are not used: ``w[n]`` is df, and ``w[n + 1]`` is
``df sigma^2``.
"""

from libc.math cimport log

from pyrjsel.families._family cimport passes

# A product of factors 1 + r^2 / (df sigma^2) up to this, squared, does not overflow.
cdef double MOST = 1e150
# Steps with the weights of the EM algorithm ascend if less than twice as long: here 1.5 times at most.
cdef double LEAST = 2.0 / 3.0


cdef double student_shift(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                          const double* w, double* out) noexcept nogil:
    cdef Py_ssize_t i
    cdef double r, factor, product = 1.0, total = 0.0, share = 1.0 / w[n + 1]
    for i in range(n):
        out[i] = eta[i] + delta * x[i]
        r = wy[i] - out[i]
        factor = 1.0 + r * r * share
        # One logarithm for many rows.
        if product > MOST or factor > MOST:
            total += log(product)
            product = 1.0
        product *= factor
    return -0.5 * (w[n] + 1.0) * (total + log(product))


cdef double student_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                            double* residual, double* weight) noexcept nogil:
    """The weights are those of the EM algorithm, times (df + 1) / (df + 3) or at least two thirds.

    The mean of the former is the information of a row; minus the second derivatives can be negative.
    """
    cdef Py_ssize_t i
    cdef double r, each, factor, product = 1.0, total = 0.0, share = 1.0 / w[n + 1]
    cdef double reduced = max((w[n] + 1.0) / (w[n] + 3.0), LEAST)
    for i in range(n):
        r = wy[i] - eta[i]
        factor = 1.0 + r * r * share
        each = (w[n] + 1.0) * share / factor
        residual[i] = each * r
        weight[i] = reduced * each
        if product > MOST or factor > MOST:
            total += log(product)
            product = 1.0
        product *= factor
    return -0.5 * (w[n] + 1.0) * (total + log(product))


STUDENT = passes(student_shift, student_working)
