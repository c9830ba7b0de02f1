# Passes over n observations; `w` may be NULL where every weight is one. See vecmath.c.

cdef double logit_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                        const double* wy, const double* w, double* out) noexcept nogil
cdef double logit_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                          double* residual, double* weight) noexcept nogil
cdef void axpy(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil
cdef double dot(Py_ssize_t n, const double* x, const double* r) noexcept nogil
cdef double dot3(Py_ssize_t n, const double* x, const double* z, const double* weight) noexcept nogil
cdef void mul(Py_ssize_t n, const double* x, const double* y, double* out) noexcept nogil
cdef void sqrt_all(Py_ssize_t n, const double* x, double* out) noexcept nogil
