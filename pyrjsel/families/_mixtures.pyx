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
                        double centre, int degree, const double* coefficients, const double* rise,
                        double* slope)
    double mixture_third(Py_ssize_t n, const double* mean, const double* weight, const double* square,
                         double middle)

cdef enum:
    PER = 256                   # points of the table for each standard deviation
    FAR = 16                    # standard deviations in the table on either side
    DEGREE = 16                 # of polynomials at the middle: beyond, the table is faster
    RISE = 9                    # coefficients of that of the density, of half the degree
# Newton steps, with bisection as a safeguard.
cdef int MOST_STEPS = 60

# Error of a polynomial at the middle, in units of the density there: a tenth of that of quantiles.
cdef double EXACT = 1e-10

# Largest normal score of a quantile for which the table is exact to 1e-9 of the density.
LARGEST_SCORE = 12.0


cdef struct mixture_t:
    Py_ssize_t size
    const double* mean
    const double* rate          # 1 / scale
    const double* weight
    const double* table
    double middle, spread, sd   # of the means: no mean is further from the middle than the spread
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


cdef int degree_near(double centre, double radius, double typical) noexcept nogil:
    """Return the degree of the polynomial at `centre` that is exact up to `radius`; DEGREE + 1 if none is.

    By Cramer's inequality for Hermite polynomials, ``abs(He_k(x)) <= 1.09 sqrt(k!) exp(x**2 / 4)``. Powers
    are averages over points with root mean square `typical`.
    """
    cdef int k
    cdef double bound = 1.09 * exp(0.25 * centre * centre) * typical
    for k in range(1, DEGREE + 1):
        # Two factors are `typical`, the first of them above.
        bound *= (typical if k == 1 else radius) / sqrt(k)
        if bound <= EXACT * (k + 1):
            return k
    return DEGREE + 1


cdef double error_near(double centre, double radius, double typical, int degree) noexcept nogil:
    """Return the relative error of the density by a polynomial of this degree, as in :func:`degree_near`."""
    cdef int k
    cdef double bound = 1.09 * exp(0.25 * centre * centre)
    for k in range(1, degree + 2):
        bound *= (typical if k <= 2 else radius) / sqrt(k)
    return bound


cdef void expand(double centre, int degree, double* coefficients, double* rise) noexcept nogil:
    """Write the coefficients of Taylor's polynomials of the normal distribution function at `centre`.

    And those of its derivative, up to half the degree.
    """
    cdef double before = 0.0, hermite = 1.0, scale = exp(-0.5 * centre * centre) / sqrt(2.0 * M_PI)
    cdef int k
    for k in range(DEGREE + 1):
        coefficients[k] = 0.0
    for k in range(RISE):
        rise[k] = 0.0
    coefficients[0] = 0.5 * erfc(-centre * sqrt(0.5))
    for k in range(1, degree + 1):
        scale /= k
        coefficients[k] = scale * hermite
        scale = -scale
        before, hermite = hermite, centre * hermite - (k - 1) * before
        if k - 1 <= degree // 2:
            rise[k - 1] = k * coefficients[k]


cdef double distribution(const mixture_t* mix, double x, double* slope, double* error) noexcept nogil:
    """Return the distribution function at x, its derivative in `slope`, and the relative error of that."""
    cdef double value = 0.0, at, away
    cdef double centre = (x - mix.middle) * mix.typical, off = fabs(x - mix.middle) * mix.range
    cdef double radius = off + mix.spread * mix.most, typical = off + mix.sd * mix.most
    cdef int degree = degree_near(centre, radius, typical)
    cdef double coefficients[DEGREE + 1]
    cdef double rise[RISE]
    cdef Py_ssize_t i, cell
    cdef const double* c
    error[0] = 0.0
    if degree <= DEGREE:
        expand(centre, degree, coefficients, rise)
        error[0] = 2.0 * error_near(centre, radius, typical, degree // 2)
        return mixture_near(mix.size, mix.mean, mix.rate, mix.weight, x, centre, degree, coefficients, rise,
                            slope)
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

    Newton's method in a bracket that narrows at every step, with the second derivative of a normal density
    at the middle. `bend` bounds that of the distribution function over the first, and so the error of a step.
    """
    cdef double value, slope, step, new, moved, error, tilt, bent
    cdef int _
    cdef bint quick
    for _ in range(MOST_STEPS):
        value = distribution(mix, x, &slope, &error) - p
        if value < 0:
            low = x
        else:
            high = x
        step = -value / slope if slope > 0 else low - x
        # Of a component minus the derivative of the log density is rate**2 * (x - mean).
        tilt = (x - mix.middle) * mix.typical * mix.typical
        bent = 2.0 * fabs(x - mix.middle) * mix.range * mix.most + mix.spread * mix.most * mix.most
        if bent >= bend or bend * fabs(step) > 0.1:
            tilt, bent = 0.0, bend
        new = x + step + 0.5 * tilt * step * step
        quick = low < new < high
        if not quick:
            new = 0.5 * (low + high)
        moved = fabs(new - x)
        x = new
        error = moved * (error + moved * (bent + moved * (bend + mix.most) * (bend + mix.most)))
        if moved <= tolerance or (quick and error <= tolerance):
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
    cdef double[::1] rate = np.empty(m), squares = np.empty(m)
    cdef double row[4]
    cdef double least = 0.0, most = 0.0, square = 0.0, low, high, far, start, fourth = 0.0, sixth = 0.0
    cdef double heaviest = 0.0, variance, skew, tail, bulk, z2
    cdef const double* sd
    cdef mixture_t mix
    mix.size, mix.rate, mix.weight, mix.table = m, &rate[0], &weights[0], &table[0, 0]
    with nogil:
        for i in range(n):
            if i == 0 or not same:
                sd = &scale[i, 0]
                least, most, square, fourth, sixth, heaviest = sd[0], sd[0], 0.0, 0.0, 0.0, 0.0
                for j in range(m):
                    rate[j] = 1.0 / sd[j]
                    variance = sd[j] * sd[j]
                    squares[j] = weights[j] * variance
                    square += squares[j]
                    fourth += weights[j] * variance * variance
                    sixth += weights[j] * variance * variance * variance
                    heaviest = fmax(heaviest, weights[j])
                    least, most = fmin(least, sd[j]), fmax(most, sd[j])
                mix.most, mix.range = 1.0 / least, 0.5 * (1.0 / least - 1.0 / most)
                mix.typical = mix.most - mix.range
            mix.mean = &means[i, 0]
            moments(m, mix.mean, row)
            mix.middle, mix.spread = row[0], fmax(row[3] - row[0], row[0] - row[2])
            mix.sd = fmin(sqrt(heaviest * row[1]), mix.spread)
            variance = row[1] / m + square
            skew = mixture_third(m, mix.mean, mix.weight, &squares[0], row[0]) / (variance * sqrt(variance))
            # Cumulants in units of the standard deviation, for Cornish and Fisher's expansion: those of
            # fourth and sixth order from the scales alone.
            tail = 3.0 * (fourth - square * square) / (variance * variance)
            bulk = 15.0 * (sixth - 3.0 * square * fourth + 2.0 * square**3) / variance**3
            for j in range(p.shape[0]):
                low = row[2] + fmin(z[j] * least, z[j] * most)
                high = row[3] + fmax(z[j] * least, z[j] * most)
                # No component is further from a point of the bracket, in its own standard deviations.
                far = fmax(high - row[2], row[3] - low) * mix.most
                z2 = z[j] * z[j]
                start = 1.0 + tail / 24.0 * (z2 - 3.0) + bulk / 720.0 * ((z2 - 10.0) * z2 + 15.0)
                start -= tail * tail / 384.0 * ((3.0 * z2 - 24.0) * z2 + 29.0)
                start = z[j] * start + skew / 6.0 * (z2 - 1.0)
                start = fmin(fmax(row[0] + start * sqrt(variance), low), high)
                found[i, j] = root(&mix, p[j], start, low, high, far * mix.most, tolerance)
    return out
