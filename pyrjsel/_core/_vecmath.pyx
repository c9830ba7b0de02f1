"""Vectorised exponentials, log-likelihoods and weighted sums over observations.

Implemented in ``vecmath.c``; other extensions cimport the functions of ``_vecmath.pxd``. The functions below
wrap them for numpy arrays, for tests and uncompiled code.
"""

import numpy as np

cdef extern from "vecmath.h" nogil:
    void vm_exp_neg(Py_ssize_t n, const double* x, double* out)
    void vm_exp_any(Py_ssize_t n, const double* x, double* out)
    void vm_logistic(Py_ssize_t n, const double* x, double* out)
    void vm_moments(Py_ssize_t n, const double* x, double* out)
    void vm_extremes(Py_ssize_t n, const double* x, double* out)
    Py_ssize_t vm_beyond(Py_ssize_t n, const double* x, double sign, double bound, double* kept)
    double vm_polynomial_sum(Py_ssize_t n, const double* x, double middle, double rate, int degree,
                             const double* coefficients)
    void vm_rates(Py_ssize_t n, const double* change, double power, double* rate)
    void vm_conditionals(Py_ssize_t n, const double* change, const unsigned char* inside, double* rate,
                         double* inclusion, double* exclusion)
    void vm_log1p_unit(Py_ssize_t n, const double* z, double* out)
    double vm_logit_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                          const double* wy, const double* w, double* out)
    double vm_logit_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                            double* residual, double* weight)
    double vm_poisson_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                            const double* wy, const double* w, double* out)
    double vm_poisson_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                              double* residual, double* weight)
    double vm_normal_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                           const double* wy, const double* w, double* out)
    double vm_normal_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                             double* residual, double* weight)
    double vm_softplus_sum(Py_ssize_t n, const double* x, double delta, const double* w)
    double vm_softplus_parts(Py_ssize_t n, const double* x, double delta, Py_ssize_t m, const double* w)
    double vm_cauchy_scales(Py_ssize_t n, const double* rest, const double* count, double unit,
                            const double* square)
    double vm_normal_scales(Py_ssize_t n, const double* rest, const double* count, double unit,
                            const double* square, double copies)
    void vm_logs(Py_ssize_t n, const double* x, double* out)
    void vm_log_sum_exp(Py_ssize_t n, int rows, int without, const double* x, double* out, double* share)
    double vm_class_odds(Py_ssize_t n, int kernels, int classes, const int* start,
                         const double* log_kernel, double* top, double* density, const double* weight,
                         const double* share)
    double vm_kernel_odds(Py_ssize_t n, int kernels, int classes, const int* start, const double* z,
                          const double* seen, const double* change, const double* log_kernel,
                          const double* top, const double* other_own, const double* other_every,
                          const double* weight, double share, double* new_log_kernel, double* density,
                          double* range)
    void vm_axpy(Py_ssize_t n, double a, const double* x, double* y)
    double vm_dot(Py_ssize_t n, const double* x, const double* r)
    double vm_dot3(Py_ssize_t n, const double* x, const double* z, const double* weight)
    double vm_dots(Py_ssize_t n, const double* x, const double* r, const double* weight,
                   double* square)
    void vm_gram(Py_ssize_t n, int d, const double* columns, const int* cols, const double* weight,
                 double* scratch, double* out, int ld)
    int VM_GRAM_ROWS, VM_PART


cdef void exp_minus(Py_ssize_t n, const double* x, double* out) noexcept nogil:
    """out = exp(-abs(x)), at least 3e-308."""
    vm_exp_neg(n, x, out)


cdef void exponentials(Py_ssize_t n, const double* x, double* out) noexcept nogil:
    """out = exp(x), at least 3e-308, and infinite for x > 709."""
    vm_exp_any(n, x, out)


cdef void moments(Py_ssize_t n, const double* x, double* out) noexcept nogil:
    """out[:4] = mean, sum of squared differences from it, minimum and maximum of x, n > 0."""
    vm_moments(n, x, out)


cdef void extremes(Py_ssize_t n, const double* x, double* out) noexcept nogil:
    """out[:2] = minimum and maximum of x, n > 0."""
    vm_extremes(n, x, out)


cdef Py_ssize_t beyond(Py_ssize_t n, const double* x, double sign, double bound, double* kept) noexcept nogil:
    """Write the values of ``sign * x`` below `bound` to `kept`, with room for n + 1; return their number."""
    return vm_beyond(n, x, sign, bound, kept)


cdef double polynomial_sum(Py_ssize_t n, const double* x, double middle, double rate, int degree,
                           const double* coefficients) noexcept nogil:
    """Sum of a polynomial at ``(x - middle) * rate``, of a degree up to DEGREE; see ``vecmath.h``."""
    return vm_polynomial_sum(n, x, middle, rate, degree, coefficients)


cdef void flip_rates(Py_ssize_t n, const double* change, double power, double* rate) noexcept nogil:
    vm_rates(n, change, power, rate)


cdef void conditionals(Py_ssize_t n, const double* change, const unsigned char* inside, double* rate,
                       double* inclusion, double* exclusion) noexcept nogil:
    vm_conditionals(n, change, inside, rate, inclusion, exclusion)


cdef double logit_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                        const double* wy, const double* w, double* out) noexcept nogil:
    return vm_logit_shift(n, eta, x, delta, wy, w, out)


cdef double logit_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                          double* residual, double* weight) noexcept nogil:
    return vm_logit_working(n, eta, wy, w, residual, weight)


cdef double poisson_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                          const double* wy, const double* w, double* out) noexcept nogil:
    return vm_poisson_shift(n, eta, x, delta, wy, w, out)


cdef double poisson_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                            double* residual, double* weight) noexcept nogil:
    return vm_poisson_working(n, eta, wy, w, residual, weight)


cdef double normal_shift(Py_ssize_t n, const double* eta, const double* x, double delta,
                         const double* wy, const double* w, double* out) noexcept nogil:
    return vm_normal_shift(n, eta, x, delta, wy, w, out)


cdef double normal_working(Py_ssize_t n, const double* eta, const double* wy, const double* w,
                           double* residual, double* weight) noexcept nogil:
    return vm_normal_working(n, eta, wy, w, residual, weight)


cdef double softplus_sum(Py_ssize_t n, const double* x, double delta, const double* w) noexcept nogil:
    return vm_softplus_sum(n, x, delta, w)


cdef double softplus_parts(Py_ssize_t n, const double* x, double delta, Py_ssize_t m,
                           const double* w) noexcept nogil:
    return vm_softplus_parts(n, x, delta, m, w)


cdef double cauchy_scales(Py_ssize_t n, const double* rest, const double* count, double unit,
                          const double* square) noexcept nogil:
    return vm_cauchy_scales(n, rest, count, unit, square)


cdef double normal_scales(Py_ssize_t n, const double* rest, const double* count, double unit,
                          const double* square, double copies) noexcept nogil:
    return vm_normal_scales(n, rest, count, unit, square, copies)


cdef void logs(Py_ssize_t n, const double* x, double* out) noexcept nogil:
    vm_logs(n, x, out)


cdef void log_sum_exp(Py_ssize_t n, int rows, int without, const double* x, double* out) noexcept nogil:
    vm_log_sum_exp(n, rows, without, x, out, NULL)


cdef void log_sum_shares(Py_ssize_t n, int rows, const double* x, double* out, double* share) noexcept nogil:
    """log_sum_exp of all rows, and their shares in the sums, (rows, n)."""
    vm_log_sum_exp(n, rows, -1, x, out, share)


cdef double class_odds(Py_ssize_t n, int kernels, int classes, const int* start, const double* log_kernel,
                       double* top, double* density, const double* weight,
                       const double* share) noexcept nogil:
    """Log odds of labels in all rows; see ``vecmath.h``."""
    return vm_class_odds(n, kernels, classes, start, log_kernel, top, density, weight, share)


cdef double kernel_odds(Py_ssize_t n, int kernels, int classes, const int* start, const double* z,
                        const double* seen, const double* change, const double* log_kernel,
                        const double* top, const double* other_own, const double* other_every,
                        const double* weight, double share, double* new_log_kernel, double* density,
                        double* range) noexcept nogil:
    """The same where one kernel changes."""
    return vm_kernel_odds(n, kernels, classes, start, z, seen, change, log_kernel, top, other_own,
                          other_every, weight, share, new_log_kernel, density, range)


cdef void axpy(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil:
    vm_axpy(n, a, x, y)


cdef double dot(Py_ssize_t n, const double* x, const double* r) noexcept nogil:
    return vm_dot(n, x, r)


cdef double dot3(Py_ssize_t n, const double* x, const double* z, const double* weight) noexcept nogil:
    return vm_dot3(n, x, z, weight)


cdef double dots(Py_ssize_t n, const double* x, const double* r, const double* weight,
                 double* square) noexcept nogil:
    return vm_dots(n, x, r, weight, square)


cdef void weighted_gram(Py_ssize_t n, int d, const double* columns, const int* cols,
                        const double* weight, double* scratch, double* out, int ld) noexcept nogil:
    vm_gram(n, d, columns, cols, weight, scratch, out, ld)


def exp_neg(const double[::1] x):
    """Return ``exp(-abs(x))``, at least 3e-308, to 2 ulp; shape (n,)."""
    out = np.empty(x.shape[0])
    cdef double[::1] view = out
    if x.shape[0]:
        with nogil:
            vm_exp_neg(x.shape[0], &x[0], &view[0])
    return out


def exp_any(const double[::1] x):
    """Return ``exp(x)`` to 2 ulp, at least 3e-308 and infinite for x > 709; shape (n,)."""
    out = np.empty(x.shape[0])
    cdef double[::1] view = out
    if x.shape[0]:
        with nogil:
            vm_exp_any(x.shape[0], &x[0], &view[0])
    return out


def logistic(x):
    """Return ``1 / (1 + exp(-x))``, to 2 ulp, of the shape of x; 0 below -709."""
    out = np.array(x, dtype=float, order="C")
    cdef double[::1] view = out.reshape(-1)
    if view.shape[0]:
        with nogil:
            vm_logistic(view.shape[0], &view[0], &view[0])
    return out


def log1p_unit(const double[::1] z):
    """Return ``log(1 + z)`` for z in [0, 1], to 2 ulp; shape (n,)."""
    out = np.empty(z.shape[0])
    cdef double[::1] view = out
    if z.shape[0]:
        with nogil:
            vm_log1p_unit(z.shape[0], &z[0], &view[0])
    return out


def log_positive(const double[::1] x):
    """Return ``log(x)`` of positive normal numbers, to 2 ulp or 2e-16, whichever is more; shape (n,)."""
    out = np.empty(x.shape[0])
    cdef double[::1] view = out
    if x.shape[0]:
        with nogil:
            vm_logs(x.shape[0], &x[0], &view[0])
    return out


ctypedef double (*shift_t)(Py_ssize_t, const double*, const double*, double, const double*,
                           const double*, double*) noexcept nogil
ctypedef double (*working_t)(Py_ssize_t, const double*, const double*, const double*, double*,
                             double*) noexcept nogil


cdef shifted(shift_t pass_over, const double[::1] eta, const double[::1] wy, const double[::1] w,
             const double[::1] x, double delta):
    cdef Py_ssize_t n = eta.shape[0]
    if x is None:
        x = eta
    if wy.shape[0] != n or x.shape[0] != n or (w is not None and w.shape[0] != n):
        raise ValueError("eta, wy, w and x must have the same length")
    out = np.empty(n)
    cdef double[::1] view = out
    cdef double value = 0.0
    if n:
        with nogil:
            value = pass_over(n, &eta[0], &x[0], delta, &wy[0], &w[0] if w is not None else NULL,
                              &view[0])
    return value, out


cdef scored(working_t pass_over, const double[::1] eta, const double[::1] wy, const double[::1] w):
    cdef Py_ssize_t n = eta.shape[0]
    if wy.shape[0] != n or (w is not None and w.shape[0] != n):
        raise ValueError("eta, wy and w must have the same length")
    residual = np.empty(n)
    weight = np.empty(n)
    cdef double[::1] r = residual, v = weight
    cdef double value = 0.0
    if n:
        with nogil:
            value = pass_over(n, &eta[0], &wy[0], &w[0] if w is not None else NULL, &r[0], &v[0])
    return value, residual, weight


def logit_loglik(const double[::1] eta, const double[::1] wy, const double[::1] w=None, *,
                 const double[::1] x=None, double delta=0.0):
    """Return the logistic log-likelihood at ``eta + delta x``, and ``eta + delta x``.

    Parameters
    ----------
    eta, wy, w, x : contiguous float64 arrays of shape (n,)
        Linear predictor, weight times response, weights (None: all one), direction (None: `eta`).
    delta : float
        Step along `x`.

    Returns
    -------
    tuple of (float, ndarray of shape (n,))
    """
    return shifted(vm_logit_shift, eta, wy, w, x, delta)


def logit_score(const double[::1] eta, const double[::1] wy, const double[::1] w=None):
    """Return the log-likelihood, the residual ``wy - w mu`` and the weight ``w mu (1 - mu)``."""
    return scored(vm_logit_working, eta, wy, w)


def poisson_loglik(const double[::1] eta, const double[::1] wy, const double[::1] w=None, *,
                   const double[::1] x=None, double delta=0.0):
    """Return the log-likelihood of counts, ``wy eta - w exp(eta)``, as :func:`logit_loglik` does."""
    return shifted(vm_poisson_shift, eta, wy, w, x, delta)


def poisson_score(const double[::1] eta, const double[::1] wy, const double[::1] w=None):
    """Return the log-likelihood of counts, the residual ``wy - w mu`` and the weight ``w mu``."""
    return scored(vm_poisson_working, eta, wy, w)


def normal_loglik(const double[::1] eta, const double[::1] wy, const double[::1] w=None, *,
                  const double[::1] x=None, double delta=0.0):
    """Return the normal log-likelihood, ``wy eta - w eta**2 / 2``, as :func:`logit_loglik` does."""
    return shifted(vm_normal_shift, eta, wy, w, x, delta)


def normal_score(const double[::1] eta, const double[::1] wy, const double[::1] w=None):
    """Return the normal log-likelihood, the residual ``wy - w eta`` and the weight w."""
    return scored(vm_normal_working, eta, wy, w)


def softplus_total(const double[::1] x, const double[::1] w=None, *, double delta=0.0):
    """Return ``sum(w * log(1 + exp(x + delta)))``; `w` None is all one."""
    if w is not None and w.shape[0] != x.shape[0]:
        raise ValueError("x and w must have the same length")
    if x.shape[0] == 0:
        return 0.0
    return vm_softplus_sum(x.shape[0], &x[0], delta, &w[0] if w is not None else NULL)


def softplus_of_parts(const double[::1] x, const double[::1] w, *, double delta=0.0):
    """Return the sum of ``log(1 + exp(x + delta))`` with weights 1, and `w` for the last numbers of x.

    The numbers of both parts must be multiples of ``PART``.
    """
    cdef Py_ssize_t m = w.shape[0], n = x.shape[0] - m
    if n < 0 or n % VM_PART or m % VM_PART:
        raise ValueError(f"both parts must have a multiple of {VM_PART} numbers")
    if n + m == 0:
        return 0.0
    return vm_softplus_parts(n, &x[0], delta, m, &w[0] if m else NULL)


def scale_totals(const double[::1] rest, const double[::1] count, const double[::1] square, double unit,
                 double copies=1.0):
    """Return ``sum(log(v + square / v))`` and ``sum(copies * log(v) + square / v)``.

    Here ``v = rest + count * unit``, which must be positive and normal.
    """
    cdef Py_ssize_t n = rest.shape[0]
    if count.shape[0] != n or square.shape[0] != n:
        raise ValueError("rest, count and square must have the same length")
    if n == 0:
        return 0.0, 0.0
    return (vm_cauchy_scales(n, &rest[0], &count[0], unit, &square[0]),
            vm_normal_scales(n, &rest[0], &count[0], unit, &square[0], copies))


def log_sums(const double[:, ::1] x, int without=-1):
    """Return ``log(sum(exp(x), axis=0))`` over the rows of x except `without`; shape (n,)."""
    cdef Py_ssize_t n = x.shape[1]
    if not -1 <= without < x.shape[0] or x.shape[0] == (without >= 0):
        raise ValueError("x must have a row besides `without`")
    out = np.empty(n)
    cdef double[::1] view = out
    if n:
        with nogil:
            vm_log_sum_exp(n, x.shape[0], without, &x[0, 0], &view[0], NULL)
    return out


def log_sums_and_shares(const double[:, ::1] x):
    """Return :func:`log_sums` of all rows, and ``exp(x)`` over its sum in each column, of the shape of x."""
    cdef Py_ssize_t n = x.shape[1]
    if not x.shape[0]:
        raise ValueError("x must have a row")
    out, shares = np.empty(n), np.empty((x.shape[0], n))
    cdef double[::1] view = out
    cdef double[:, ::1] parts = shares
    if n:
        with nogil:
            vm_log_sum_exp(n, x.shape[0], -1, &x[0, 0], &view[0], &parts[0, 0])
    return out, shares


def label_log_odds(const double[:, ::1] x not None, const int[::1] start not None,
                   const double[:, ::1] weight not None, const double[::1] share not None, *, bint logs=True):
    """Return the log odds of labels given (log) densities, largest of each row, and densities over it."""
    cdef Py_ssize_t n = x.shape[1]
    cdef int D = x.shape[0], K = start.shape[0] - 1
    if not (n == start[K] and weight.shape[0] == K and weight.shape[1] == share.shape[0] == D):
        raise ValueError("the arrays do not fit together")
    top, density = np.zeros(n), np.array(x)
    cdef double[::1] t = top
    cdef double[:, ::1] e = density
    value = vm_class_odds(n, D, K, &start[0], &x[0, 0] if logs else NULL, &t[0], &e[0, 0], &weight[0, 0],
                          &share[0])
    return value, top, density


def changed_log_odds(int d, const double[:, ::1] rows not None, const double[::1] change not None,
                     const int[::1] start not None, const double[:, ::1] weight not None, double share):
    """Return the log odds if kernel d changes, its log densities, its densities, and the range of sums.

    Rows are z, seen, log densities, their largest, and sums of all other kernels in and over the classes.
    """
    cdef Py_ssize_t n = rows.shape[1]
    cdef double[2] bounds
    if not (rows.shape[0] == 6 and change.shape[0] == 5 and weight.shape[0] == start.shape[0] - 1
            and n == start[start.shape[0] - 1] and 0 <= d < weight.shape[1]):
        raise ValueError("the arrays do not fit together")
    found = np.empty((2, n))
    cdef double[:, ::1] out = found
    value = vm_kernel_odds(n, weight.shape[1], weight.shape[0], &start[0], &rows[0, 0], &rows[1, 0],
                           &change[0], &rows[2, 0], &rows[3, 0], &rows[4, 0], &rows[5, 0], &weight[0, d],
                           share, &out[0, 0], &out[1, 0], bounds)
    return value, found[0], found[1], (bounds[0], bounds[1])


def weighted_dot(const double[::1] x, const double[::1] z, const double[::1] weight=None):
    """Return ``sum(x * z)`` or ``sum(x * z * weight)``."""
    if z.shape[0] != x.shape[0] or (weight is not None and weight.shape[0] != x.shape[0]):
        raise ValueError("x, z and weight must have the same length")
    if x.shape[0] == 0:
        return 0.0
    if weight is None:
        return vm_dot(x.shape[0], &x[0], &z[0])
    return vm_dot3(x.shape[0], &x[0], &z[0], &weight[0])


def weighted_dots(const double[::1] x, const double[::1] r, const double[::1] weight):
    """Return ``sum(x * r)`` and ``sum(x**2 * weight)``, from one reading of x."""
    cdef double square = 0.0, first = 0.0
    if r.shape[0] != x.shape[0] or weight.shape[0] != x.shape[0]:
        raise ValueError("x, r and weight must have the same length")
    if x.shape[0]:
        first = vm_dots(x.shape[0], &x[0], &r[0], &weight[0], &square)
    return first, square


def gram_matrix(const double[:, ::1] columns, const double[::1] weight, const int[::1] cols):
    """Return ``X' diag(weight) X``, (d, d), lower triangle, for rows `cols` of `columns` (k, n)."""
    cdef int d = cols.shape[0], k
    if weight.shape[0] != columns.shape[1]:
        raise ValueError("weight must have one entry a row of the design")
    for k in range(d):
        if not 0 <= cols[k] < columns.shape[0]:
            raise ValueError("cols must be rows of columns")
    out = np.zeros((d, d))
    if d == 0 or columns.shape[1] == 0:
        return out
    cdef double[:, ::1] view = out
    cdef double[::1] scratch = np.empty(2 * d * VM_GRAM_ROWS)
    with nogil:
        vm_gram(columns.shape[1], d, &columns[0, 0], &cols[0], &weight[0], &scratch[0], &view[0, 0], d)
    return np.tril(out.T)
