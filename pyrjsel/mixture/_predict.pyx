"""Densities of new rows under draws of a mixture classifier, the compiled loop.

A row costs O(D s) a draw, with s selected inputs. Those that the row misses drop out of the product over
inputs: kernels are diagonal.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, exp, fmax, isnan, log

import numpy as np

cdef double LOG_2PI = 1.8378770664093454836


cdef void _kernels(const double[:, ::1] z, const double[:, ::1] mean, const double[:, ::1] variance,
                   int[::1] inside, double[:, :, ::1] table, double[:, ::1] out) noexcept nogil:
    """out[n, d] := log density of row n under kernel d of one draw."""
    cdef Py_ssize_t D = mean.shape[0], p = mean.shape[1], n, d, i, s = 0, a
    cdef double value, x
    for i in range(p):
        if not isnan(mean[0, i]):
            inside[s] = <int> i
            s += 1
    for d in range(D):
        for a in range(s):
            i = inside[a]
            table[d, a, 0] = mean[d, i]
            table[d, a, 1] = 0.5 / variance[d, i]
            table[d, a, 2] = -0.5 * (LOG_2PI + log(variance[d, i]))
    for n in range(z.shape[0]):
        for d in range(D):
            value = 0.0
            for a in range(s):
                x = z[n, inside[a]]
                if not isnan(x):
                    x -= table[d, a, 0]
                    value += table[d, a, 2] - table[d, a, 1] * x * x
            out[n, d] = value


cdef void _classes(const double[:, ::1] log_kernel, const double[:, ::1] weight, Py_ssize_t n,
                   double* share, double* top) noexcept nogil:
    """share[k] := density of row n in class k over exp(top)."""
    cdef Py_ssize_t d, k
    cdef double value
    top[0] = -INFINITY
    for d in range(weight.shape[1]):
        top[0] = fmax(top[0], log_kernel[n, d])
    for k in range(weight.shape[0]):
        share[k] = 0.0
    for d in range(weight.shape[1]):
        value = exp(log_kernel[n, d] - top[0])
        for k in range(weight.shape[0]):
            share[k] += weight[k, d] * value


cdef _check(z, mean, variance, weight):
    p, D, K = z.shape[1], mean.shape[1], weight.shape[1]
    T = len(mean)
    if mean.shape != (T, D, p) or variance.shape != (T, D, p) or weight.shape != (T, K, D):
        raise ValueError("the arrays do not fit together")


def class_log_density(const double[:, ::1] z, const double[:, :, ::1] mean, const double[:, :, ::1] variance,
                      const double[:, :, ::1] weight):
    """Return the log density of rows in each class, under each draw.

    Parameters
    ----------
    z : float64 array (M, p)
        Rows in range units, NaN where missing.
    mean, variance : float64 arrays (draws, D, p)
        Kernels; NaN for inputs that are not selected.
    weight : float64 array (draws, K, D)

    Returns
    -------
    ndarray (draws, M, K)
        Of the selected inputs that the row has, in range units.
    """
    _check(np.asarray(z), np.asarray(mean), np.asarray(variance), np.asarray(weight))
    cdef Py_ssize_t T = mean.shape[0], M = z.shape[0], K = weight.shape[1], D = mean.shape[1], t, n, k
    cdef double[:, :, ::1] out = np.empty((T, M, K))
    cdef double[:, ::1] log_kernel = np.empty((M, D))
    cdef double[:, :, ::1] table = np.empty((D, z.shape[1], 3))
    cdef int[::1] inside = np.empty(z.shape[1], dtype=np.intc)
    cdef double[::1] share = np.empty(K)
    cdef double top
    for t in range(T):
        with nogil:
            _kernels(z, mean[t], variance[t], inside, table, log_kernel)
            for n in range(M):
                _classes(log_kernel, weight[t], n, &share[0], &top)
                for k in range(K):
                    out[t, n, k] = top + log(share[k])
        PyErr_CheckSignals()
    return np.asarray(out)


def class_probabilities(const double[:, ::1] z, const double[:, :, ::1] mean,
                        const double[:, :, ::1] variance, const double[:, :, ::1] weight,
                        const double[:, ::1] prior):
    """Return the class probabilities of rows, averaged over draws.

    Parameters
    ----------
    z : float64 array (M, p)
        Rows in range units, NaN where missing.
    mean, variance : float64 arrays (draws, D, p)
        Kernels; NaN for inputs that are not selected.
    weight : float64 array (draws, K, D)
    prior : float64 array (draws, K)
        Class probabilities.

    Returns
    -------
    ndarray (M, K)
        Given the selected inputs that the row has.
    """
    _check(np.asarray(z), np.asarray(mean), np.asarray(variance), np.asarray(weight))
    cdef Py_ssize_t T = mean.shape[0], M = z.shape[0], K = weight.shape[1], D = mean.shape[1], t, n, k
    if T == 0 or prior.shape[0] != T or prior.shape[1] != K:
        raise ValueError("the arrays do not fit together")
    cdef double[:, ::1] out = np.zeros((M, K))
    cdef double[:, ::1] log_kernel = np.empty((M, D))
    cdef double[:, :, ::1] table = np.empty((D, z.shape[1], 3))
    cdef int[::1] inside = np.empty(z.shape[1], dtype=np.intc)
    cdef double[::1] share = np.empty(K)
    cdef double top, total
    for t in range(T):
        with nogil:
            _kernels(z, mean[t], variance[t], inside, table, log_kernel)
            for n in range(M):
                _classes(log_kernel, weight[t], n, &share[0], &top)
                total = 0.0
                for k in range(K):
                    share[k] *= prior[t, k]
                    total += share[k]
                for k in range(K):
                    out[n, k] += share[k] / (total * T)
        PyErr_CheckSignals()
    return np.asarray(out)
