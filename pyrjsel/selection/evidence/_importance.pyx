"""Averages over pairs of importance draws, radii from a table of quantiles, and skewed axes; see
``importance.py``.
"""

from libc.math cimport INFINITY, log, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._vecmath cimport dot, exponentials, logs

# Third derivative along an axis, in standard deviations, below which it counts as symmetric; the change
# (1 - cosine) in an iteration at which an axis is found.
cdef double SYMMETRIC = 0.1, FOUND = 1e-3

cdef enum:
    STARTS = 3                  # coordinates from which an axis is looked for
    ITERATIONS = 20


cdef double controls(Py_ssize_t n, const double* log_c, double* out) noexcept nogil:
    """out := c relative to the largest, whose logarithm is returned."""
    cdef Py_ssize_t i
    cdef double top = -INFINITY
    for i in range(n):
        top = max(top, log_c[i])
    for i in range(n):
        out[i] = log_c[i] - top
    exponentials(n, out, out)
    return top


def interpolated(const double[:, ::1] table not None, double end, const double[::1] p not None):
    """Return exponentials of a function of log odds, interpolated with slopes at evenly spaced nodes.

    Parameters
    ----------
    table : float64 array (2, nodes)
        Values at the nodes, and changes over a step at the slope there.
    end : float
        Log odds of the last node, minus those of the first. Beyond, the function is as there.
    p : float64 array (n,)
        Probabilities.

    Returns
    -------
    value, odds : ndarray (n,)
        The exponentials, and the log odds.
    """
    cdef Py_ssize_t n = p.shape[0], last = table.shape[1] - 1, i, node
    cdef double at, share, rise, bend, rest, scale = last / (2.0 * end)
    value, odds = np.empty(n), np.empty(n)
    if n == 0:
        return value, odds
    cdef double[::1] out = value, logit = odds
    with nogil:
        for i in range(n):
            out[i] = min(max(p[i] / (1.0 - p[i]), 1e-300), 1e300)
        logs(n, &out[0], &logit[0])
        for i in range(n):
            at = (min(max(logit[i], -end), end) + end) * scale
            node = min(<Py_ssize_t> at, last - 1)
            share, rise = at - node, table[0, node + 1] - table[0, node]
            # The cubic with the values and slopes of both ends of the step.
            bend = 3.0 * rise - 2.0 * table[1, node] - table[1, node + 1]
            rest = table[1, node] + table[1, node + 1] - 2.0 * rise
            out[i] = table[0, node] + share * (table[1, node] + share * (bend + share * rest))
        exponentials(n, &out[0], &out[0])
    return value, odds


def controlled(const double[::1] weights not None, const double[::1] radius not None,
               const double[::1] log_c not None):
    """Return the logarithm of the mean weight of draws, and its relative variance.

    The mean is estimated by ``mean(w) / mean(c)``: weights of a nearly normal posterior are nearly
    proportional to c, and errors of the radii cancel. The ratio has a bias of the order of the variance of
    mean(c) with the stratified radii: with 16 pairs 4e-4 in up to 10 dimensions, 3e-3 in 100 and 0.015 in
    300, and less by the cube of their number for more; it vanishes where w is proportional to c. The variance
    is that of the residuals ``w - c mean(w) / mean(c)``, from differences between neighbouring strata.

    Parameters
    ----------
    weights : float64 array (2 P,)
        Importance weights, those of a pair side by side.
    radius : float64 array (P,)
        Radii of the pairs, increasing over one set of strata, or over several in turn.
    log_c : float64 array (P,)
        Logarithms of c.
    """
    cdef Py_ssize_t n = radius.shape[0], i, steps = 0
    if n < 2 or weights.shape[0] != 2 * n or log_c.shape[0] != n:
        raise ValueError("weights must have two numbers a pair, of two pairs or more")
    cdef double[::1] control = np.empty(n)
    cdef double top, total = 0.0, of_c = 0.0, ratio, rest, before, square = 0.0
    with nogil:
        top = controls(n, &log_c[0], &control[0])
        for i in range(n):
            total += weights[2 * i] + weights[2 * i + 1]
            of_c += control[i]
        # mathematics: selection-importance
        ratio = total / of_c
        before = weights[0] + weights[1] - ratio * control[0]
        for i in range(1, n):
            rest = weights[2 * i] + weights[2 * i + 1] - ratio * control[i]
            if radius[i] > radius[i - 1]:
                square += (rest - before) * (rest - before)
                steps += 1
            before = rest
    # mathematics: selection-importance-variance
    return log(0.5 * ratio) - top, 0.5 * n * square / steps / (total * total)


def weighted_moments(const double[:, ::1] points not None, const double[::1] weights not None,
                     const double[::1] log_c not None, const double[:, :] shift not None,
                     double close, normal=None):
    """Return weighted means, mean squares and probabilities of being positive of coefficients, (3, k).

    If weights are nearly proportional to c, those of draws weighted by c are subtracted, and the exact ones
    of the normal distribution added; for means both are the same, by symmetry.

    Parameters
    ----------
    points : float64 array (2 P, k)
        Draws.
    weights, log_c
        As of :func:`controlled`.
    shift : float64 array (k, L)
        What is subtracted from each of the first L coefficients for a unit of each coefficient.
    close : float
        Largest proportion of the sum of squared weights that c may leave of it.
    normal : ndarray (3, k), optional
        Moments under the normal distribution.
    """
    cdef Py_ssize_t n = points.shape[0], lead = shift.shape[1], s
    cdef int d = points.shape[1], k, l
    if weights.shape[0] != n or 2 * log_c.shape[0] != n or shift.shape[0] != d or lead > d or n == 0:
        raise ValueError("weights and controls must fit the draws")
    found, by_control = np.zeros((3, d)), np.zeros((3, d))
    cdef double[:, ::1] of_w = found, of_c = by_control
    cdef double[::1] control = np.empty(log_c.shape[0])
    cdef double w, c, value, sum_w = 0.0, sum_c = 0.0, w_w = 0.0, w_c = 0.0, c_c = 0.0
    cdef bint wanted = normal is not None
    with nogil:
        controls(log_c.shape[0], &log_c[0], &control[0])
        for s in range(n):
            w, c = weights[s], control[s // 2]
            sum_w += w
            sum_c += c
            w_w += w * w
            w_c += w * c
            c_c += c * c
            for k in range(d):
                value = points[s, k]
                if k < lead:
                    for l in range(d):
                        value -= shift[l, k] * points[s, l]
                of_w[0, k] += w * value
                of_w[1, k] += w * value * value
                of_w[2, k] += w * (value > 0)
                if wanted:
                    of_c[1, k] += c * value * value
                    of_c[2, k] += c * (value > 0)
    found /= sum_w
    left = w_w / (sum_w * sum_w) - 2.0 * w_c / (sum_w * sum_c) + c_c / (sum_c * sum_c)
    if wanted and left < close * w_w / (sum_w * sum_w):
        found[1:] += normal[1:] - by_control[1:] / sum_c
        np.clip(found[2], 0.0, 1.0, out=found[2])
    return found


cdef double project(int d, int known, const double* axes, double* u) noexcept nogil:
    """Make u orthogonal to the known axes, and of length 1; the length that it had then."""
    cdef int k, i
    cdef double part, length
    for k in range(known):
        part = dot(d, axes + k * d, u)
        for i in range(d):
            u[i] -= part * axes[k * d + i]
    length = sqrt(dot(d, u, u))
    for i in range(d):
        u[i] /= max(length, 1e-300)
    return length


cdef double power(int d, const double* third, int known, const double* axes, double* u,
                  double* image) noexcept nogil:
    """Move u by powers of the tensor to an axis orthogonal to those known; the third derivative along it."""
    cdef int a, b, _
    cdef double size = 0.0, cosine
    for _ in range(ITERATIONS):
        for a in range(d):
            image[a] = 0.0
            for b in range(d):
                image[a] += u[b] * dot(d, third + (<Py_ssize_t> a * d + b) * d, u)
        size = project(d, known, axes, image)
        if size < SYMMETRIC:
            break
        cosine = dot(d, image, u)
        memcpy(u, image, d * sizeof(double))
        if cosine > 1.0 - FOUND:
            break
    return size


def skewed_axes(const double[:, :, ::1] third not None):
    """Return orthonormal axes (d, d), one a row, the most skewed ones first as far as they are found.

    Where rows with walls, such as those of levels without events, have predictors that are orthogonal in the
    metric of the curvature, these are the axes: powers of the tensor converge to them, one after the other
    [Anandkumar et al. 2014]. Axes without skewness complete them.

    Parameters
    ----------
    third : float64 array (d, d, d)
        Third derivatives of a log density along coordinates in which its second ones are -1 at the mode.
    """
    cdef int d = third.shape[0], known = 0, a, s, k
    if third.shape[1] != d or third.shape[2] != d or d == 0:
        raise ValueError("third must be a cube")
    cdef long[::1] order = np.argsort(-np.abs(np.einsum("kkk->k", third)), kind="stable").astype(np.int_)
    out = np.zeros((d, d))
    cdef double[:, ::1] axes = out
    cdef double[::1] work = np.zeros(2 * d)
    cdef double* u = &work[0]
    cdef double value, most
    with nogil:
        for a in range(d):
            most, k = 0.0, 0
            for s in range(d):
                if k == STARTS:
                    break
                memset(u, 0, d * sizeof(double))
                u[order[s]] = 1.0
                if project(d, known, &axes[0, 0], u) < 0.5:
                    continue
                k += 1
                value = power(d, &third[0, 0, 0], known, &axes[0, 0], u, u + d)
                if value > most:
                    most = value
                    memcpy(&axes[a, 0], u, d * sizeof(double))
            if most < SYMMETRIC:
                break
            known += 1
        for a in range(known, d):
            most = -1.0
            for s in range(d):
                memset(u, 0, d * sizeof(double))
                u[s] = 1.0
                value = project(d, a, &axes[0, 0], u)
                if value > most:
                    most = value
                    memcpy(&axes[a, 0], u, d * sizeof(double))
            project(d, a, &axes[0, 0], &axes[a, 0])
    return out
