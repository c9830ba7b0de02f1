"""Quantiles of mixtures of normal distributions.

The distribution function of a component is a polynomial: Taylor's at the middle of the mixture if its
components are close to each other, in vector instructions, else a cubic at the nearest of many points in a
table. Both are exact to 1e-9 of the density, and several times as fast as an exponential and an error
function for each component.
"""

from libc.math cimport M_PI, erfc, exp, fabs, fmax, fmin, sqrt

from pyrjsel._core._vecmath cimport moments

import numpy as np
from pyrjsel._core import special

cdef extern from "mixtures.h" nogil:
    double mixture_near(Py_ssize_t n, const double* mean, const double* rate, const double* weight, double x,
                        double centre, int degree, const double* coefficients, double* slope)

cdef enum:
    PER = 256                   # points of the table for each standard deviation
    FAR = 16                    # standard deviations in the table on either side
    DEGREE = 16                 # of polynomials at the middle: beyond, the table is faster
# Newton steps, with bisection as a safeguard.
cdef int MOST_STEPS = 60

# Error of a polynomial at the middle, in units of the density there.
cdef double EXACT = 1e-12

# Largest normal score of a quantile for which the table is exact to 1e-9 of the density.
LARGEST_SCORE = 12.0


cdef struct mixture_t:
    Py_ssize_t size
    const double* mean
    const double* rate          # 1 / scale
    const double* weight
    const double* table
    double middle, spread       # of the means: no mean is further from the middle than the spread
    double typical, most, range  # of the rates: between their ends, the largest, half their range


cdef double[:, ::1] table = None


cdef void fill_table():
    """Compute the table: Taylor coefficients from the middle of each cell."""
    global table
    if table is not None:
        return
    x = (np.arange(2 * FAR * PER + 1) + 0.5) / PER - FAR
    density = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi) / PER
    square, cube = -x * density / (2 * PER), (x * x - 1) * density / (6 * PER**2)
    table = np.column_stack([special.ndtr(x), density, square, cube])


cdef int degree_near(double centre, double radius) noexcept nogil:
    """Return the degree of the polynomial at `centre` that is exact up to `radius`; DEGREE + 1 if none is.

    By Cramer's inequality for Hermite polynomials, ``abs(He_k(x)) <= 1.09 sqrt(k!) exp(x**2 / 4)``.
    """
    cdef int k
    cdef double bound = 1.09 * exp(0.25 * centre * centre) * radius
    for k in range(1, DEGREE + 1):
        bound *= radius / sqrt(k)
        if bound <= EXACT * (k + 1):
            return k
    return DEGREE + 1


cdef void expand(double centre, int degree, double* coefficients) noexcept nogil:
    """Write the coefficients of Taylor's polynomial of the normal distribution function at `centre`."""
    cdef double before = 0.0, hermite = 1.0, scale = exp(-0.5 * centre * centre) / sqrt(2.0 * M_PI)
    cdef int k
    coefficients[0] = 0.5 * erfc(-centre * sqrt(0.5))
    for k in range(1, degree + 1):
        scale /= k
        coefficients[k] = scale * hermite
        scale = -scale
        before, hermite = hermite, centre * hermite - (k - 1) * before


cdef double distribution(const mixture_t* mix, double x, double* slope) noexcept nogil:
    """Return the distribution function at x, and its derivative in `slope`."""
    cdef double value = 0.0, at, away
    cdef double centre = (x - mix.middle) * mix.typical
    cdef int degree = degree_near(centre, fabs(x - mix.middle) * mix.range + mix.spread * mix.most)
    cdef double coefficients[DEGREE + 1]
    cdef Py_ssize_t i, cell
    cdef const double* c
    if degree <= DEGREE:
        expand(centre, degree, coefficients)
        return mixture_near(mix.size, mix.mean, mix.rate, mix.weight, x, centre, degree, coefficients, slope)
    slope[0] = 0.0
    for i in range(mix.size):
        at = (x - mix.mean[i]) * mix.rate[i] * PER + FAR * PER
        at = 0.0 if at < 0.0 else at if at < 2 * FAR * PER else 2 * FAR * PER
        cell = <Py_ssize_t> at
        away = at - (cell + 0.5)
        c = mix.table + 4 * cell
        value += mix.weight[i] * (c[0] + away * (c[1] + away * (c[2] + away * c[3])))
        slope[0] += mix.weight[i] * mix.rate[i] * (c[1] + away * (2.0 * c[2] + away * 3.0 * c[3]))
    slope[0] *= PER
    return value


cdef double root(const mixture_t* mix, double p, double x, double low, double high, double bend,
                 double tolerance) noexcept nogil:
    """Return the p-quantile, which is in ``[low, high]``, from x.

    Newton's method in a bracket that narrows at every step. `bend` bounds the second derivative of the
    distribution function over the first, and so the error of a step.
    """
    cdef double value, slope, new, moved
    cdef int _
    cdef bint quick
    for _ in range(MOST_STEPS):
        value = distribution(mix, x, &slope) - p
        if value < 0:
            low = x
        else:
            high = x
        new = x - value / slope if slope > 0 else low
        quick = low < new < high
        if not quick:
            new = 0.5 * (low + high)
        moved = fabs(new - x)
        x = new
        if moved <= tolerance or (quick and bend * moved * moved <= tolerance):
            break
    return x


def normal_quantiles(const double[:, ::1] means not None, const double[:, ::1] scale not None,
                     const double[::1] p not None, const double[::1] weights not None, double tolerance):
    """Return quantiles of mixtures of normal distributions; shape (rows, k).

    Parameters
    ----------
    means : contiguous float64 array of shape (rows, m)
    scale : contiguous float64 array of shape (rows, m) or (1, m)
        Standard deviations, positive.
    p : float64 array of shape (k,)
        With normal scores of at most `LARGEST_SCORE`.
    weights : contiguous float64 array of shape (m,)
        They sum to one.
    tolerance : float
    """
    cdef Py_ssize_t n = means.shape[0], m = means.shape[1], i, j
    cdef bint same = scale.shape[0] == 1
    cdef const double[::1] z = special.ndtri(p)
    if weights.shape[0] != m or scale.shape[1] != m or m == 0 or not (same or scale.shape[0] == n):
        raise ValueError("means, scale and weights must have as many components, at least one")
    if not np.all(np.abs(z) <= LARGEST_SCORE):
        raise ValueError("p must not be so close to 0 or 1")
    fill_table()
    out = np.empty((n, p.shape[0]))
    cdef double[:, ::1] found = out
    cdef double[::1] rate = np.empty(m)
    cdef double row[4]
    cdef double least = 0.0, most = 0.0, square = 0.0, low, high, far, start
    cdef const double* sd
    cdef mixture_t mix
    mix.size, mix.rate, mix.weight, mix.table = m, &rate[0], &weights[0], &table[0, 0]
    with nogil:
        for i in range(n):
            if i == 0 or not same:
                sd = &scale[i, 0]
                least, most, square = sd[0], sd[0], 0.0
                for j in range(m):
                    rate[j] = 1.0 / sd[j]
                    square += weights[j] * sd[j] * sd[j]
                    least, most = fmin(least, sd[j]), fmax(most, sd[j])
                mix.most, mix.range = 1.0 / least, 0.5 * (1.0 / least - 1.0 / most)
                mix.typical = mix.most - mix.range
            mix.mean = &means[i, 0]
            moments(m, mix.mean, row)
            mix.middle, mix.spread = row[0], fmax(row[3] - row[0], row[0] - row[2])
            for j in range(p.shape[0]):
                low = row[2] + fmin(z[j] * least, z[j] * most)
                high = row[3] + fmax(z[j] * least, z[j] * most)
                # No component is further from a point of the bracket, in its own standard deviations.
                far = fmax(high - row[2], row[3] - low) * mix.most
                start = fmin(fmax(row[0] + z[j] * sqrt(row[1] / m + square), low), high)
                found[i, j] = root(&mix, p[j], start, low, high, far * mix.most, tolerance)
    return out
