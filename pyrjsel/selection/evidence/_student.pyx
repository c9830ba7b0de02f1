"""Student's distribution functions for fixed degrees of freedom and many arguments."""

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
    df : float or float64 array (m,)
        Degrees of freedom, at least 1; of variables 0, 1, ..., and of those after the last one.
    """

    def __init__(self, df):
        self.step = STEP
        self.df = np.atleast_1d(np.asarray(df, dtype=float))
        self.n_df = self.df.shape[0]
        self.root = np.sqrt(self.df)
        tables = [self.table(each) for each in self.df]
        self.first = np.cumsum([0, *(len(value) for value, _ in tables)]).astype(np.intc)
        self.value = np.concatenate([value for value, _ in tables])
        self.slope = np.concatenate([slope for _, slope in tables])

    @staticmethod
    def table(df):
        """Return values of the distribution function at multiples of the step, and slopes."""
        root = np.sqrt(df)
        # cosh(x)^-df = exp(-DEPTH); written so that small x = z / root do not lose digits.
        end = root * np.arccosh(1.0 + np.expm1(DEPTH / df)) if DEPTH / df < 700 else root * (DEPTH / df + 0.7)
        z = STEP * np.arange(int(end / STEP) + 2)
        log_ratio = special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df)
        constant = np.exp(log_ratio) / np.sqrt(np.pi * df)
        value = special.stdtr(df, root * np.sinh(z / root))
        return value, STEP * constant * np.exp(-df * log_cosh(z / root))

    cdef double at(self, int k, double t) noexcept nogil:
        """P(T <= t) for variable k."""
        cdef int own = min(k, self.n_df - 1), j = self.first[own]
        cdef double x = self.root[own] * asinh(fabs(t) / self.root[own]) / self.step, u, v, p
        if not x < self.first[own + 1] - j - 1:
            p = 1.0
        else:
            j += <int> x
            u = x - <int> x
            v = 1.0 - u
            p = (self.value[j] * v * v * (1.0 + 2.0 * u) + self.value[j + 1] * u * u * (1.0 + 2.0 * v)
                 + u * v * (self.slope[j] * v - self.slope[j + 1] * u))
        return p if t >= 0.0 else 1.0 - p

    def cdf(self, const double[::1] t not None, int k=0):
        """Return P(T <= t) for an array and variable k."""
        out = np.empty(t.shape[0])
        cdef double[::1] view = out
        cdef Py_ssize_t i
        for i in range(t.shape[0]):
            view[i] = self.at(k, t[i])
        return out


def log_cosh(x):
    """Return log(cosh(x)) without overflow, and without cancellation near 0."""
    near = np.log1p(2.0 * np.sinh(0.5 * np.minimum(x, 0.5)) ** 2)
    return np.where(x < 0.5, near, x + np.log1p(np.exp(-2.0 * x)) - np.log(2.0))
