# Small dense linear algebra on column-major arrays, through scipy's BLAS and LAPACK.
# Symmetric matrices are stored in their lower triangle.

cdef int cholesky(int d, double* a, int lda) noexcept nogil
cdef void solve_lower(int d, const double* factor, int lda, double* b) noexcept nogil
cdef void solve_lower_t(int d, const double* factor, int lda, double* b) noexcept nogil
cdef double log_det_factor(int d, const double* factor, int lda) noexcept nogil
cdef void matmat_n(int n, int d, int m, const double* z, int ldz, const double* b,
                   double* out) noexcept nogil
