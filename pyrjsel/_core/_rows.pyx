"""Means, standard deviations, quantiles and ranges of rows, such as posterior draws by observation."""

from libc.math cimport INFINITY, NAN, isfinite, nextafter, sqrt

from pyrjsel._core._vecmath cimport DEGREE, beyond, extremes, moments, polynomial_sum

import numpy as np
import scipy

# Quantiles are searched among the values beyond a bound that leaves this share more than is needed, and so
# many of their standard deviations, if rows are normal.
cdef double MORE = 1.25
cdef double SPARE = 4.0


cdef Py_ssize_t below_to_front(double* x, Py_ssize_t low, Py_ssize_t high, double bound) noexcept nogil:
    """Move numbers below `bound` among ``x[low:high]`` to the front, without branches; return their end."""
    cdef Py_ssize_t i
    cdef double value
    for i in range(low, high):
        value = x[i]
        x[i], x[low] = x[low], value
        low += value < bound
    return low


cdef double ordered(double* x, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """Return the k-th smallest of n numbers, which are rearranged: no smaller one is behind it."""
    cdef Py_ssize_t low = 0, high = n, middle
    cdef double pivot
    while low < high - 1:
        pivot = x[(low + high) // 2]
        middle = below_to_front(x, low, high, pivot)
        if k < middle:
            high = middle
            continue
        # Those that are equal to the pivot, at least one, come next.
        middle = below_to_front(x, middle, high, nextafter(pivot, INFINITY))
        if k < middle:
            return pivot
        low = middle
    return x[k]


def summaries(const double[:, ::1] values not None, probabilities):
    """Return means, standard deviations and quantiles of rows, as numpy's functions with ``ddof=1`` do.

    Parameters
    ----------
    values : contiguous float64 array of shape (rows, m)
        At least one column.
    probabilities : sequence of k floats
        Of the quantiles, which interpolate linearly between ordered values.

    Returns
    -------
    tuple of (ndarray (rows,), ndarray (rows,), ndarray (rows, k))
        Standard deviations of a single column are NaN.
    """
    cdef Py_ssize_t n = values.shape[0], m = values.shape[1], k = len(probabilities), i, j, count
    if m == 0:
        raise ValueError("rows must have values")
    mean, sd, quantiles = np.empty(n), np.empty(n), np.empty((n, k))
    if n == 0:
        return mean, sd, quantiles
    at = np.asarray(probabilities, dtype=float) * (m - 1)
    below = np.minimum(np.floor(at), max(m - 2, 0))
    upper = at > 0.5 * (m - 1)
    # Ranks of the two values around each quantile, from its end of the row, the nearer one first.
    near = np.where(upper, m - 2 - below, below).astype(np.intp)
    share = (near + 2.0) / m
    share = np.minimum(MORE * share + SPARE * np.sqrt(share / m), 0.6)
    cdef double[::1] means = mean, sds = sd
    cdef double[:, ::1] out = quantiles
    cdef const double[::1] position = at - below, score = scipy.special.ndtri(share)
    cdef const Py_ssize_t[::1] rank = near
    cdef const double[::1] sign = np.where(upper, -1.0, 1.0)
    cdef double[::1] kept = np.empty(m + 1)
    cdef double found[4]
    cdef double first, second, low, high
    with nogil:
        for i in range(n):
            moments(m, &values[i, 0], found)
            means[i] = found[0]
            sds[i] = sqrt(found[1] / (m - 1)) if m > 1 else NAN
            if not isfinite(found[1]):
                continue
            for j in range(k):
                count = beyond(m, &values[i, 0], sign[j], sign[j] * means[i] + score[j] * sds[i], &kept[0])
                if count < rank[j] + 2:
                    count = beyond(m, &values[i, 0], sign[j], INFINITY, &kept[0])
                first = second = ordered(&kept[0], count, rank[j])
                if rank[j] + 1 < count:
                    extremes(count - rank[j] - 1, &kept[rank[j] + 1], found)
                    second = found[0]
                low, high = (first, second) if sign[j] > 0 else (-second, -first)
                out[i, j] = low + position[j] * (high - low)
    for row in np.flatnonzero(~np.isfinite(sd) & (m > 1)):
        line = np.sort(np.asarray(values)[row])
        with np.errstate(invalid="ignore"):
            least = line[below.astype(int)]
            quantiles[row] = least + (at - below) * (line[below.astype(int) + 1] - least)
    return mean, sd, quantiles


def ranges(const double[:, ::1] values not None):
    """Return the smallest and the largest value of each row, (rows, 2).

    Parameters
    ----------
    values : contiguous float64 array of shape (rows, m)
        At least one column.
    """
    if values.shape[1] == 0:
        raise ValueError("rows must have values")
    out = np.empty((values.shape[0], 2))
    cdef double[:, ::1] found = out
    cdef Py_ssize_t i
    with nogil:
        for i in range(values.shape[0]):
            extremes(values.shape[1], &values[i, 0], &found[i, 0])
    return out


def polynomial_averages(const double[:, ::1] values not None, const double[::1] middle not None,
                        const double[::1] rate not None, const int[::1] degree not None,
                        const double[:, ::1] coefficients not None):
    """Return the average over each row of ``P((value - middle) * rate)``, with a polynomial P for each.

    Parameters
    ----------
    values : contiguous float64 array of shape (rows, m)
    middle, rate : float64 arrays of shape (rows,)
    degree : int32 array of shape (rows,)
        From 0 to 16.
    coefficients : contiguous float64 array of shape (rows, 17)
        Of powers from 0 on; those beyond `degree` are 0.

    Returns
    -------
    ndarray of shape (rows,)
    """
    cdef Py_ssize_t n = values.shape[0], m = values.shape[1], i
    if not middle.shape[0] == rate.shape[0] == degree.shape[0] == coefficients.shape[0] == n or m == 0:
        raise ValueError("each row must have values and a polynomial")
    at = np.asarray(degree)
    if coefficients.shape[1] != DEGREE + 1 or np.any((at < 0) | (at > DEGREE)):
        raise ValueError(f"polynomials must have {DEGREE + 1} coefficients, and degrees below that")
    out = np.empty(n)
    cdef double[::1] found = out
    with nogil:
        for i in range(n):
            found[i] = polynomial_sum(m, &values[i, 0], middle[i], rate[i], degree[i], &coefficients[i, 0])
            found[i] /= m
    return out
