"""The log partial likelihood, of rows in decreasing order of time; events come last among rows of a time.

Behind the n weights, which are ones, are the number of distinct times with events, 1 for Efron's ties or 0
for Breslow's, the precision of the mean linear predictor, and, for each of these times, the number of rows up
to its last event and the number of its events.

The risk set of an event has all rows up to the last one of its time. Its denominator D is the sum of exp(eta)
over these rows; with Efron's ties, the l-th of d events at one time has l / d of the sum over the d events
less (l = 0, 1, ...). `working` leaves the n weights, exp(eta - mean eta), and 1 / D of each event.

The partial likelihood does not depend on the mean of eta. The passes add the log density of a normal mean
with variance 1 / precision, without its constant: it is that of the intercept, the only column that is not
centred.
"""

from libc.math cimport INFINITY, log, sqrt

from pyrjsel._core._vecmath cimport dot, exponentials
from pyrjsel.families._family cimport passes

# Products of denominators within these bounds, times one of them, neither overflow nor underflow.
cdef double MOST = 1e150, LEAST = 1e-150
# Denominators below this, whose inverses may overflow, are taken for impossible: all rows at risk are
# exp(690) times less likely than the mean row.
cdef double SMALLEST = 1e-300

cdef enum:
    AT_ONCE = 256
    HEAD = 3                    # numbers behind the weights before those of times
    LANES = 4                   # sums that do not wait for each other


cdef double mean_of(Py_ssize_t n, const double* x) noexcept nogil:
    cdef double[LANES] part
    cdef double rest = 0.0
    cdef Py_ssize_t i = 0
    cdef int k
    for k in range(LANES):
        part[k] = 0.0
    while i + LANES <= n:
        for k in range(LANES):
            part[k] += x[i + k]
        i += LANES
    while i < n:
        rest += x[i]
        i += 1
    return ((part[0] + part[1]) + (part[2] + part[3]) + rest) / n


cdef double partial(Py_ssize_t n, const double* eta, const double* wy, const double* w, double* e,
                    double* inverse) noexcept nogil:
    """The value. Unless NULL, `e` (n,) becomes exp(eta - mean eta), and `inverse` 1 / D of each event."""
    cdef double[AT_ONCE] away, kept
    cdef double* now = kept
    cdef const double* until = w + n + HEAD
    cdef Py_ssize_t groups = <Py_ssize_t> w[n], g = 0, first = 0, i, m, end = <Py_ssize_t> until[0]
    cdef double efron = w[n + 1], mean = mean_of(n, eta), risk = 0.0, tied = 0.0, count = 0.0
    cdef double each, less, smallest = 1.0, product = 1.0, total = 0.0
    cdef int d, l
    while g < groups:
        m = min(<Py_ssize_t> AT_ONCE, n - first)
        if e != NULL:
            now = e + first
        for i in range(m):
            away[i] = eta[first + i] - mean
        exponentials(m, away, now)
        i = 0
        while True:
            while i < m and first + i < end:
                risk += now[i]
                tied += wy[first + i] * now[i]
                i += 1
            if first + i < end:
                break
            d = <int> until[groups + g]
            less = efron * tied / d
            for l in range(d):
                each = risk - l * less
                smallest = min(smallest, each)
                # One logarithm for many events.
                if product > MOST or product < LEAST or each > MOST or each < LEAST:
                    total += log(product)
                    product = 1.0
                product *= each
                if inverse != NULL:
                    inverse[0] = 1.0 / each
                    inverse += 1
            count += d
            tied = 0.0
            g += 1
            if g == groups:
                break
            end = <Py_ssize_t> until[g]
        first += m
    total += log(product)
    if smallest < SMALLEST or not total < INFINITY:
        return -INFINITY        # exp(eta) underflows or overflows
    return dot(n, wy, eta) - count * mean - total - 0.5 * w[n + 2] * mean * mean


cdef double cox_shift(Py_ssize_t n, const double* eta, const double* x, double delta, const double* wy,
                      const double* w, double* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = eta[i] + delta * x[i]
    return partial(n, out, wy, w, NULL, NULL)


cdef double cox_working(Py_ssize_t n, const double* eta, const double* wy, const double* w, double* residual,
                        double* weight) noexcept nogil:
    cdef double* e = weight + n
    cdef double* inverse = e + n
    cdef const double* until = w + n + HEAD
    cdef Py_ssize_t groups = <Py_ssize_t> w[n], g, i, first, end = n, m = 0
    cdef double value = partial(n, eta, wy, w, e, inverse), efron = w[n + 1], hazard = 0.0, own, here
    cdef double pull = w[n + 2] * mean_of(n, eta) / n
    cdef int d, l
    for g in range(groups):
        m += <Py_ssize_t> until[groups + g]
    i = <Py_ssize_t> until[groups - 1]
    while end > i:
        end -= 1
        weight[end] = 0.0
    # Cumulative hazards, from the first time to the last.
    for g in range(groups - 1, -1, -1):
        d = <int> until[groups + g]
        first = <Py_ssize_t> until[g - 1] if g else 0
        own = hazard            # of an event at this time, which leaves the risk set by and by
        for l in range(d):
            m -= 1
            here = inverse[m]
            hazard += here
            own += (1.0 - efron * (d - 1 - l) / d) * here
        for i in range(first, end - d):
            weight[i] = hazard * e[i]
        for i in range(end - d, end):
            weight[i] = own * e[i]
        end = first
    for i in range(n):
        residual[i] = wy[i] - weight[i] - pull
    return value


cdef Py_ssize_t cox_pooled(Py_ssize_t n, int d, const double* columns, const int* cols, const double* w,
                           const double* weight, double* out) noexcept nogil:
    """Means over the risk set of each event, which information has less; first those of all rows."""
    cdef const double* e = weight + n
    cdef const double* inverse = e + n
    cdef const double* until = w + n + HEAD
    cdef Py_ssize_t groups = <Py_ssize_t> w[n], g, i, m, end, rows = 1
    cdef const double* x[LANES]
    cdef double* to[LANES]
    cdef double[LANES] risk, tied
    cdef double efron = w[n + 1], root = sqrt(w[n + 2])
    cdef int k, c, l, events
    for g in range(groups):
        rows += <Py_ssize_t> until[groups + g]
    k = 0
    while k < d:
        for c in range(LANES):
            # The last columns are repeated if they are not a multiple of LANES.
            x[c] = columns + cols[min(k + c, d - 1)] * n
            to[c] = out + min(k + c, d - 1) * rows
            to[c][0] = root * mean_of(n, x[c])
            risk[c] = 0.0
        i = 0
        m = 1
        for g in range(groups):
            end = <Py_ssize_t> until[g]
            events = <int> until[groups + g]
            if events == 1:
                while i < end:
                    for c in range(LANES):
                        risk[c] += e[i] * x[c][i]
                    i += 1
                for c in range(LANES):
                    to[c][m] = risk[c] * inverse[m - 1]
                m += 1
                continue
            for c in range(LANES):
                tied[c] = 0.0
            while i < end:
                for c in range(LANES):
                    risk[c] += e[i] * x[c][i]
                    if i >= end - events:
                        tied[c] += e[i] * x[c][i]
                i += 1
            for l in range(events):
                for c in range(LANES):
                    to[c][m] = (risk[c] - efron * l / events * tied[c]) * inverse[m - 1]
                m += 1
        k += LANES
    out[d * rows] = 1.0
    for i in range(1, rows):
        out[d * rows + i] = -1.0
    return rows


COX = passes(cox_shift, cox_working, False, NULL, cox_pooled)
