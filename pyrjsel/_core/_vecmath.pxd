# Passes over n observations; `w` may be NULL if all weights are one. See vecmath.c.

cdef void exp_minus(Py_ssize_t n, const double* x, double* out) noexcept nogil
cdef void exponentials(Py_ssize_t n, const double* x, double* out) noexcept nogil
cdef void moments(Py_ssize_t n, const double* x, double* out) noexcept nogil
cdef void extremes(Py_ssize_t n, const double* x, double* out) noexcept nogil
cdef Py_ssize_t beyond(Py_ssize_t n, const double* x, double sign, double bound, double* kept) noexcept nogil
cdef double polynomial_sum(Py_ssize_t n, const double* x, double middle, double rate, int degree,
                           const double* coefficients) noexcept nogil
cdef void flip_rates(Py_ssize_t n, const double* change, double power, double* rate) noexcept nogil
cdef void conditionals(Py_ssize_t n, const double* change, const unsigned char* inside, double* rate,
                       double* inclusion, double* exclusion) noexcept nogil
cdef double logit_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                        const double* wy, const double* w, double* out) noexcept nogil
cdef double logit_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                          double* residual, double* weight) noexcept nogil
cdef double poisson_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                          const double* wy, const double* w, double* out) noexcept nogil
cdef double poisson_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                            double* residual, double* weight) noexcept nogil
cdef double normal_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                         const double* wy, const double* w, double* out) noexcept nogil
cdef double normal_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                           double* residual, double* weight) noexcept nogil
cdef double softplus_sum(Py_ssize_t n, const double* x, double delta, const double* w) noexcept nogil
cdef double softplus_parts(Py_ssize_t n, const double* x, double delta, Py_ssize_t m,
                           const double* w) noexcept nogil
cdef double cauchy_scales(Py_ssize_t n, const double* rest, const double* count, double unit,
                          const double* square) noexcept nogil
cdef double normal_scales(Py_ssize_t n, const double* rest, const double* count, double unit,
                          const double* square, double copies) noexcept nogil
cdef void logs(Py_ssize_t n, const double* x, double* out) noexcept nogil
cdef void log_sum_exp(Py_ssize_t n, int rows, int without, const double* x, double* out) noexcept nogil
cdef void log_sum_shares(Py_ssize_t n, int rows, const double* x, double* out, double* share) noexcept nogil
cdef double class_odds(Py_ssize_t n, int kernels, int classes, const int* start, const double* log_kernel,
                       double* top, double* density, const double* weight, const double* share) noexcept nogil
cdef double kernel_odds(Py_ssize_t n, int kernels, int classes, const int* start, const double* z,
                        const double* seen, const double* change, const double* log_kernel,
                        const double* top, const double* other_own, const double* other_every,
                        const double* weight, double share, double* new_log_kernel, double* density,
                        double* range) noexcept nogil
cdef void axpy(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil
cdef double dot(Py_ssize_t n, const double* x, const double* r) noexcept nogil
cdef double dot3(Py_ssize_t n, const double* x, const double* z, const double* weight) noexcept nogil
cdef double dots(Py_ssize_t n, const double* x, const double* r, const double* weight,
                 double* square) noexcept nogil
cdef void weighted_gram(Py_ssize_t n, int d, const double* columns, const int* cols,
                        const double* weight, double* scratch, double* out, int ld) noexcept nogil

cdef enum:
    PART = 8                    # lengths in softplus_parts are multiples of it
    DEGREE = 16                 # largest degree in polynomial_sum
    GRAM_ROWS = 256             # weighted_gram needs 2 * d * GRAM_ROWS numbers of scratch
