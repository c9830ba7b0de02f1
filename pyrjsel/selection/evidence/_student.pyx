"""Student's distribution function for fixed degrees of freedom and many arguments."""

cimport cython
from libc.math cimport asinh, fabs

import numpy as np

from pyrjsel._core import special

# In z = sqrt(df) asinh(t / sqrt(df)) the density is c cosh(z / sqrt(df))^-df, as smooth as a normal one for
# every df. Cubic Hermite polynomials with this step err by step^4 / 384 * max |f'''| < 2e-11.
cdef double STEP = 0.01
# Log density relative to its maximum below which the tail is 0 up to rounding.
cdef double DEPTH = 42.0


@cython.final
cdef class StudentCdf:
    """P(T <= t) for a Student variable T, to 2e-11.

    Parameters
    ----------
    df : float
        Degrees of freedom, at least 1.
    """

    def __init__(self, double df):
        cdef double[::1] value, slope
        root = np.sqrt(df)
        # cosh(x)^-df = exp(-DEPTH); written so that small x = z / root do not lose digits.
        end = root * np.arccosh(1.0 + np.expm1(DEPTH / df)) if DEPTH / df < 700 else root * (DEPTH / df + 0.7)
        z = STEP * np.arange(int(end / STEP) + 2)
        log_ratio = special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df)
        constant = np.exp(log_ratio) / np.sqrt(np.pi * df)
        value = special.stdtr(df, root * np.sinh(z / root))
        slope = STEP * constant * np.exp(-df * log_cosh(z / root))
        self.df = df
        self.root = root
        self.step = STEP
        self.count = value.shape[0]
        self.arrays = (value, slope)
        self.value = &value[0]
        self.slope = &slope[0]

    cdef double at(self, double t) noexcept nogil:
        cdef double x = self.root * asinh(fabs(t) / self.root) / self.step, u, v, p
        cdef int k
        if not x < self.count - 1:
            p = 1.0
        else:
            k = <int> x
            u = x - k
            v = 1.0 - u
            p = (self.value[k] * v * v * (1.0 + 2.0 * u) + self.value[k + 1] * u * u * (1.0 + 2.0 * v)
                 + u * v * (self.slope[k] * v - self.slope[k + 1] * u))
        return p if t >= 0.0 else 1.0 - p

    def cdf(self, const double[::1] t not None):
        """Return P(T <= t) for an array."""
        out = np.empty(t.shape[0])
        cdef double[::1] view = out
        cdef Py_ssize_t k
        for k in range(t.shape[0]):
            view[k] = self.at(t[k])
        return out


def log_cosh(x):
    """Return log(cosh(x)) without overflow, and without cancellation near 0."""
    near = np.log1p(2.0 * np.sinh(0.5 * np.minimum(x, 0.5)) ** 2)
    return np.where(x < 0.5, near, x + np.log1p(np.exp(-2.0 * x)) - np.log(2.0))
