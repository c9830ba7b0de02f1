"""Student's distribution functions for fixed degrees of freedom and many arguments."""

cimport cython
from libc.math cimport asinh, fabs

from functools import lru_cache

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
        cdef const double[::1] freedom = np.array(df, dtype=float, ndmin=1), root = np.sqrt(freedom)
        tables = [table_of(each) for each in freedom]
        cdef const int[::1] first = np.cumsum([0, *map(len, tables)]).astype(np.intc)
        cdef const double[::1] table = np.concatenate(tables).ravel()
        self.step, self.n_df, self.arrays = STEP, freedom.shape[0], (freedom, root, first, table)
        self.df, self.root, self.first, self.table = &freedom[0], &root[0], &first[0], &table[0]

    cdef double at(self, int k, double t) noexcept nogil:
        """P(T <= t) for variable k."""
        cdef int own = min(k, self.n_df - 1), j = self.first[own]
        cdef double x = self.root[own] * asinh(fabs(t) / self.root[own]) / self.step, u, v, p
        cdef const double* at
        if not x < self.first[own + 1] - j - 1:
            p = 1.0
        else:
            at = self.table + 2 * (j + <int> x)
            u = x - <int> x
            v = 1.0 - u
            p = (at[0] * v * v * (1.0 + 2.0 * u) + at[2] * u * u * (1.0 + 2.0 * v)
                 + u * v * (at[1] * v - at[3] * u))
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


@lru_cache(maxsize=256)     # parts of a fit use the same
def table_of(df):
    """Return values of the distribution function at multiples of the step, and slopes, (m, 2)."""
    root = np.sqrt(df)
    # cosh(x)^-df = exp(-DEPTH); written so that small x = z / root do not lose digits.
    end = root * np.arccosh(1.0 + np.expm1(DEPTH / df)) if DEPTH / df < 700 else root * (DEPTH / df + 0.7)
    z = STEP * np.arange(int(end / STEP) + 2)
    log_ratio = special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df)
    constant = np.exp(log_ratio) / np.sqrt(np.pi * df)
    value = special.stdtr(df, root * np.sinh(z / root))
    return np.column_stack([value, STEP * constant * np.exp(-df * log_cosh(z / root))])
