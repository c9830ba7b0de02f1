# One pass over the observations, by family code (the `code` of the family's description).

cdef double family_shift(int family, Py_ssize_t n, const double* eta, const double* x, double delta,
                         const double* wy, const double* w, double* out) noexcept nogil
cdef double family_working(int family, Py_ssize_t n, const double* eta, const double* wy,
                           const double* w, double* residual, double* weight) noexcept nogil
