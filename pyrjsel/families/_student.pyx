"""The log-likelihood of responses with Student-t errors, without constants.

Its parameters follow the n weights of the passes, which are not used: ``w[n]`` is df, and ``w[n + 1]`` is
``df sigma^2``.
"""

from libc.math cimport exp, lgamma, log, log1p

from pyrjsel._core._vecmath cimport logs
from pyrjsel.families._family cimport joint_pass, passes
from pyrjsel.families.tails import LEAST_DF as _LEAST

cdef enum:
    LANES = 8
    ROWS = 16

# A product of factors 1 + r^2 / (df sigma^2) up to this, squared, does not overflow.
cdef double MOST = 1e150
# Steps with the weights of the EM algorithm ascend if less than twice as long: here 1.5 times at most.
cdef double LEAST = 2.0 / 3.0
# Products of ROWS factors below this do not overflow.
cdef double SAFE = 1e19
# The smallest unknown degrees of freedom.
cdef double LEAST_DF = _LEAST
# Beyond the latter the series of the density at 0 is exact; see ``tails.py``.
cdef double HALF_LOG_2PI = 0.9189385332046727418, PI = 3.14159265358979323846, LARGE = 200.0


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


cdef double student_joint(Py_ssize_t n, const double* eta, const double* x, double delta, const double* y,
                          const double* w, const double* t) noexcept nogil:
    """The same given log sigma, where ``w[0]`` is df; 0 if ``t[1]`` is their coordinate, see ``tails.py``."""
    cdef double[LANES] product, part
    cdef double df = w[0] if w[0] > 0.0 else LEAST_DF + exp(t[1])
    cdef double r, factor, total = 0.0, largest, share = exp(-2.0 * t[0]) / df
    cdef Py_ssize_t first = 0, _, k
    while first < n:
        largest = 1.0
        for k in range(LANES):
            product[k] = 1.0
        # One logarithm for ROWS rows, side by side.
        for _ in range(min(<Py_ssize_t> ROWS, (n - first) // LANES)):
            for k in range(LANES):
                r = y[first + k] - (eta[first + k] + delta * x[first + k])
                factor = 1.0 + r * r * share
                largest = factor if factor > largest else largest
                product[k] *= factor
            first += LANES
        if n - first < LANES:
            while first < n:
                r = y[first] - (eta[first] + delta * x[first])
                total += log1p(r * r * share)
                first += 1
        if not largest < SAFE:
            return exact_joint(n, eta, x, delta, y, share, df)
        logs(LANES, product, part)
        for k in range(LANES):
            total += part[k]
    return -0.5 * (df + 1.0) * total


cdef double exact_joint(Py_ssize_t n, const double* eta, const double* x, double delta, const double* y,
                        double share, double df) noexcept nogil:
    """The same where products overflow."""
    cdef double r, total = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        r = y[i] - (eta[i] + delta * x[i])
        total += log1p(r * r * share)
    return -0.5 * (df + 1.0) * total


cdef double log_at_zero(double df) noexcept nogil:
    """The log density of the t distribution at 0; see ``tails.py``."""
    cdef double inverse = 1.0 / df
    if df > LARGE:
        return -HALF_LOG_2PI - inverse * (0.25 - inverse * inverse * (1.0 / 24.0 - inverse * inverse / 20.0))
    return lgamma(0.5 * (df + 1.0)) - lgamma(0.5 * df) - 0.5 * log(PI * df)


STUDENT = passes(student_shift, student_working)
STUDENT_JOINT = joint_pass(student_joint)
