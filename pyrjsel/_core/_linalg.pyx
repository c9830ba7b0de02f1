"""Small dense linear algebra for compiled loops; the one file that binds to scipy's BLAS and LAPACK.

Matrices are column-major, symmetric ones are stored in their lower triangle, and dimensions are ints.
"""

from libc.math cimport log

import numpy as np
from scipy.linalg.cython_blas cimport dgemm, dtrsv
from scipy.linalg.cython_lapack cimport dpotrf


cdef int cholesky(int d, double* a, int lda) noexcept nogil:
    """Factor a = L L' in place; 0, or the order of the first minor that is not positive."""
    cdef int info = 0
    if d > 0:
        dpotrf(b"L", &d, a, &lda, &info)
    return info


cdef void solve_lower(int d, const double* factor, int lda, double* b) noexcept nogil:
    """b := L^{-1} b."""
    cdef int one = 1
    if d > 0:
        dtrsv(b"L", b"N", b"N", &d, <double*> factor, &lda, b, &one)


cdef void solve_lower_t(int d, const double* factor, int lda, double* b) noexcept nogil:
    """b := L'^{-1} b."""
    cdef int one = 1
    if d > 0:
        dtrsv(b"L", b"T", b"N", &d, <double*> factor, &lda, b, &one)


cdef double log_det_factor(int d, const double* factor, int lda) noexcept nogil:
    """log det (L L')."""
    cdef int k
    cdef double total = 0.0
    for k in range(d):
        total += log(factor[k + <Py_ssize_t> k * lda])
    return 2.0 * total


cdef void matmat_n(int n, int d, int m, const double* z, int ldz, const double* b,
                   double* out) noexcept nogil:
    """out := z b for z (n, d), in columns of ldz numbers, and b (d, m), all column-major."""
    cdef double one = 1.0, zero = 0.0
    dgemm(b"N", b"N", &n, &m, &d, &one, <double*> z, &ldz, <double*> b, &d, &zero, out, &n)


def factor_and_solve(const double[:, ::1] a, const double[::1] b):
    """Return L^{-1} b, L'^{-1} L^{-1} b and log det a for a positive definite `a`, or raise.

    The functions of ``_linalg.pxd`` for numpy arrays, for tests.
    """
    cdef int d = a.shape[0]
    if a.shape[1] != d or b.shape[0] != d:
        raise ValueError("a must be square and b as long")
    factor = np.array(a)
    half = np.array(b)
    cdef double[:, ::1] f = factor
    cdef double[::1] h = half
    if d == 0:
        return half, half.copy(), 0.0
    if cholesky(d, &f[0, 0], d) != 0:
        raise ValueError("a is not positive definite")
    solve_lower(d, &f[0, 0], d, &h[0])
    full = half.copy()
    cdef double[::1] g = full
    solve_lower_t(d, &f[0, 0], d, &g[0])
    return half, full, log_det_factor(d, &f[0, 0], d)
