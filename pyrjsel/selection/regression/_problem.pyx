"""A regression problem as raw arrays, with the computations that compiled loops share."""

from libc.math cimport log
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core._linalg cimport cholesky, solve_lower
from pyrjsel._core._vecmath cimport GRAM_ROWS, axpy, dot, dot3, weighted_gram
from pyrjsel.families._family cimport WIDTH
from pyrjsel.families._family cimport Passes


# Densities of t decay at least as exp(t / 2) on the left, and posterior ones on the right of log n as
# exp(-t / 2): the grid to 80 has all but e^-20 of the mass.
cdef double LOWEST_G = -40.0


def grid_of_g():
    """Return the nodes of t, log g or that of its difference from the smallest g, (G_NODES,)."""
    return LOWEST_G + np.arange(G_NODES) / G_PER_UNIT


cdef double HALF_LOG_2PI = 0.9189385332046727418


cdef class Problem:
    """Raw pointers to the arrays of a regression problem, which are kept alive.

    Parameters
    ----------
    columns : float64 array (D + 1, n)
        The constants of the intercepts and the standardised design columns.
    wy, offset : float64 arrays (n,)
        Weight times response, and offset of the linear predictor.
    w : float64 array (n,) or longer, or None
        Weights, and further numbers that the passes need behind them; None if all weights are one.
    term_start : int32 array (J + 1,)
        Term j has the columns ``term_start[j]:term_start[j + 1]``.
    precision, shift, penalty : float64 arrays (D + 1, D + 1), (D + 1,), (D + 1,)
        The coefficient prior, as in ``_problem.pxd``.
    log_weights : float64 array (D + 1,) or None
        Contribution of each column to the log determinant of the precision; None if it must be factored.
    family : Passes
    flat : bool
        Whether intercepts have flat priors.
    rank_tol : float
    intercepts : float64 array
        Start of mode searches: one for each column before the first term.
    log_prior_g, log_g : float64 arrays (1 or D + 1, G_NODES) or None
        Log prior density of t at the nodes of the grid, and log g, under a mixture of g-priors; if it depends
        on the number of columns, one row for each.
    g_columns : float
        ``Mixture.narrow``.
    typical_g : float
        A typical log g.
    rule, rule_value : int and float
        How g is found where likelihoods are expanded at their maxima, as in ``_problem.pxd``.
    """

    def __init__(self, *, const double[:, ::1] columns, const double[::1] wy, const double[::1] w,
                 const double[::1] offset, const int[::1] term_start, const double[:, ::1] precision,
                 const double[::1] shift, const double[::1] penalty, Passes family not None, bint flat,
                 double rank_tol, const double[::1] intercepts, const double[::1] log_weights=None,
                 const double[:, ::1] log_prior_g=None, const double[:, ::1] log_g=None,
                 double g_columns=0.0, double typical_g=0.0, int rule=AT_MODES, double rule_value=0.0):
        cdef Py_ssize_t n = columns.shape[1], m = columns.shape[0]
        if n == 0 or m == 0 or wy.shape[0] != n or offset.shape[0] != n or precision.shape[0] != m \
                or precision.shape[1] != m or shift.shape[0] != m or penalty.shape[0] != m \
                or term_start[term_start.shape[0] - 1] != m or term_start[0] < 1 \
                or (family.between == NULL and term_start[0] > 1) or n % term_start[0] \
                or intercepts.shape[0] != term_start[0] or (w is not None and w.shape[0] < n) \
                or (log_weights is not None and log_weights.shape[0] != m) \
                or (log_prior_g is not None and (
                    log_g is None or log_prior_g.shape[0] not in (1, m) or log_prior_g.shape[1] != G_NODES
                    or log_g.shape[0] != log_prior_g.shape[0] or log_g.shape[1] != G_NODES)):
            raise ValueError("the arrays of a problem do not fit together")
        self.arrays = (columns, wy, w, offset, term_start, precision, shift, penalty, log_weights,
                       log_prior_g, log_g, intercepts)
        self.c.n = n
        self.c.n_columns = m
        self.c.n_terms = term_start.shape[0] - 1
        self.c.shifted, self.c.working, self.c.quadratic = family.shift, family.working, family.quadratic
        self.c.between = family.between
        self.c.pooled, self.c.width = family.pooled, 1 if family.pooled == NULL else WIDTH
        self.c.leading = term_start[0]
        self.c.flat = self.c.leading if flat else 0
        self.c.intercepts = &intercepts[0]
        self.c.log_weights = &log_weights[0] if log_weights is not None else NULL
        self.c.rank_tol = rank_tol
        self.c.columns = &columns[0, 0]
        self.c.wy = &wy[0]
        self.c.w = &w[0] if w is not None else NULL
        self.c.offset = &offset[0]
        self.c.precision = &precision[0, 0]
        self.c.shift = &shift[0]
        self.c.penalty = &penalty[0]
        self.c.term_start = &term_start[0]
        self.c.log_prior_g = &log_prior_g[0, 0] if log_prior_g is not None else NULL
        self.c.log_g = &log_g[0, 0] if log_prior_g is not None else NULL
        self.c.g_stride = G_NODES if log_prior_g is not None and log_prior_g.shape[0] > 1 else 0
        self.c.g_columns = g_columns
        self.c.typical_g = G_PER_UNIT * int(round(min(max(typical_g - LOWEST_G, 0.0), G_NODES // G_PER_UNIT)))
        self.c.rule, self.c.rule_value = rule, rule_value
        self.c.scale = 1.0
        self.c.log_constant = -HALF_LOG_2PI
        self.c.log_unit = 0.0


cdef int model_columns(const problem_t* p, const unsigned char* gamma, int* cols) noexcept nogil:
    """Write the columns of a model, intercepts first, terms in order; return their number."""
    cdef int d = p.leading, j, k
    for k in range(d):
        cols[k] = k
    for j in range(p.n_terms):
        if gamma[j]:
            for k in range(p.term_start[j], p.term_start[j + 1]):
                cols[d] = k
                d += 1
    return d


cdef void linear_predictor(const problem_t* p, int d, const int* cols, const double* b,
                           double* eta) noexcept nogil:
    """eta := offset + X b."""
    cdef int k
    cdef Py_ssize_t n = p.n // p.leading, first
    memcpy(eta, p.offset, p.n * sizeof(double))
    for k in range(d):
        first = (cols[k] % p.leading) * n
        axpy(n, b[k], p.columns + <Py_ssize_t> cols[k] * p.n + first, eta + first)


cdef void information(const problem_t* p, int d, const int* cols, const double* weight,
                      double* scratch, double* out) noexcept nogil:
    """out := minus the Hessian of the log-likelihood, (d, d), lower triangle.

    That is X' diag(weight) X for one linear predictor of an observation, if observations are independent.
    `scratch` has the size of :func:`gram_scratch`.
    """
    if p.between != NULL:
        information_between(p, d, cols, weight, scratch, out)
        return
    weighted_gram(p.n, d, p.columns, cols, weight, scratch, out, d)
    if p.pooled != NULL:
        add_pooled(p, d, cols, weight, scratch, out)


cdef void add_pooled(const problem_t* p, int d, const int* cols, const double* weight, double* scratch,
                     double* out) noexcept nogil:
    """Add the part of groups of observations to the information."""
    cdef double* part = scratch + <Py_ssize_t> 2 * d * GRAM_ROWS
    cdef double* groups = part + <Py_ssize_t> d * d
    cdef int* order = <int*> groups
    cdef Py_ssize_t rows
    cdef int k, l
    groups += d
    for k in range(d):
        order[k] = k
    rows = p.pooled(p.n, d, p.columns, cols, p.w, weight, groups)
    weighted_gram(rows, d, groups, order, groups + d * rows, scratch, part, d)
    for k in range(d):
        for l in range(k, d):
            out[l + <Py_ssize_t> k * d] += part[l + <Py_ssize_t> k * d]


cdef void information_between(const problem_t* p, int d, const int* cols, const double* weight,
                              double* scratch, double* out) noexcept nogil:
    """The same for L linear predictors, by blocks.

    Each of the d / L columns of the design occurs L times, with its values in the rows of one linear
    predictor and zeros in the others: products are of the columns of the first.
    """
    cdef int lead = p.leading, m = d // lead, a, b, k, l
    cdef Py_ssize_t n = p.n // lead
    cdef double* own = scratch
    cdef double* gram = own + n
    cdef double* rest = gram + <Py_ssize_t> m * m
    cdef int* first = <int*> (rest + 2 * <Py_ssize_t> GRAM_ROWS * m)
    cdef double value
    for k in range(m):
        # In units of n numbers.
        first[k] = cols[k * lead] * lead
    for a in range(lead):
        for b in range(a, lead):
            p.between(n, weight + a * n, weight + b * n, p.w, own)
            if m == 1:
                gram[0] = dot3(n, p.columns + first[0] * n, p.columns + first[0] * n, own)
            else:
                weighted_gram(n, m, p.columns, first, own, rest, gram, m)
            for k in range(m):
                for l in range(k, m):
                    value = gram[l + <Py_ssize_t> k * m]
                    out[l * lead + b + <Py_ssize_t> (k * lead + a) * d] = value
                    if l > k:
                        out[l * lead + a + <Py_ssize_t> (k * lead + b) * d] = value


cdef Py_ssize_t gram_scratch(const problem_t* p, int d) noexcept nogil:
    """Size of the scratch space for the information about d columns."""
    cdef Py_ssize_t m = d // p.leading
    if p.pooled != NULL:
        return (2 * <Py_ssize_t> GRAM_ROWS + d + 1) * d + <Py_ssize_t> (d + 1) * (p.n + 1)
    if p.between == NULL:
        return 2 * <Py_ssize_t> GRAM_ROWS * d
    return p.n // p.leading + m * m + 2 * GRAM_ROWS * m + m


cdef void add_precision(const problem_t* p, int d, const int* cols, double* h) noexcept nogil:
    """Add the prior precision of the columns to h (d, d), lower triangle."""
    cdef int k, l
    for k in range(d):
        for l in range(k, d):
            h[l + <Py_ssize_t> k * d] += (
                p.scale * p.precision[cols[k] * <Py_ssize_t> p.n_columns + cols[l]])


cdef double product(const problem_t* p, int column, const double* residual) noexcept nogil:
    """Dot product of a column, which is zero outside the rows of its linear predictor, with residuals."""
    cdef Py_ssize_t n = p.n // p.leading, first = (column % p.leading) * n
    return dot(n, p.columns + <Py_ssize_t> column * p.n + first, residual + first)


cdef void score(const problem_t* p, int d, const int* cols, const double* b, const double* residual,
                double* out) noexcept nogil:
    """out := the gradient of log-likelihood + log prior at b."""
    cdef int k, l
    cdef double value
    cdef const double* row
    for k in range(d):
        value = p.shift[cols[k]]
        row = p.precision + <Py_ssize_t> cols[k] * p.n_columns
        for l in range(d):
            value -= row[cols[l]] * b[l]
        out[k] = product(p, cols[k], residual) + p.scale * value


cdef double prior_exponent(const problem_t* p, int d, const int* cols, const double* b) noexcept nogil:
    """-b'K b / 2 + shift'b - sum(penalty) / 2, with K, shift and penalty of the prior."""
    cdef int k, l
    cdef double value = 0.0, inner
    cdef const double* row
    for k in range(d):
        row = p.precision + <Py_ssize_t> cols[k] * p.n_columns
        inner = 0.0
        for l in range(d):
            inner += row[cols[l]] * b[l]
        value += b[k] * (p.shift[cols[k]] - 0.5 * inner) - 0.5 * p.penalty[cols[k]]
    return p.scale * value


cdef int prior_dimension(const problem_t* p, int d) noexcept nogil:
    """Number of columns with a proper prior."""
    return d - p.flat


cdef int prior_factor(const problem_t* p, int d, const int* cols, double* factor, int ld,
                      double* slack) noexcept nogil:
    """Cholesky factor of the unscaled precision of the columns, without flat intercepts.

    Non-zero if the columns are linearly dependent under a g-prior: if the others leave at most rank_tol of
    the precision of a column. `slack` is a lower bound of the smallest proportion left of a column, exact
    below 1e-6; 1 if no model can be dependent. Overwrites the upper triangle too.
    """
    cdef int first = p.flat, m = d - first, k, l, info
    cdef double pivot
    slack[0] = 1.0
    if p.log_weights != NULL:
        return 0                # the factor is not needed
    for k in range(m):
        for l in range(k, m):
            factor[l + <Py_ssize_t> k * ld] = p.precision[
                cols[first + k] * <Py_ssize_t> p.n_columns + cols[first + l]]
    info = cholesky(m, factor, ld)
    if info != 0:
        return info
    if p.rank_tol <= 0.0:
        return 0
    # The determinant of the correlations is a lower bound of the proportion left of each column.
    for k in range(m):
        pivot = factor[k + <Py_ssize_t> k * ld]
        slack[0] *= pivot * pivot / p.precision[cols[first + k] * <Py_ssize_t> (p.n_columns + 1)]
    if slack[0] < 1e-6:
        slack[0] = least_share(p, m, cols + first, factor, ld)
    return 1 if slack[0] <= p.rank_tol else 0


cdef double least_share(const problem_t* p, int m, const int* cols, double* factor,
                        int ld) noexcept nogil:
    """Smallest proportion of the precision of a column left by all others: 1 / (K_kk (K^-1)_kk).

    The columns of L^-1 are computed one after the other in the last column of the upper triangle.
    """
    cdef int k, i, rest
    cdef double inverse, total, least = 1.0
    cdef double* v = factor + <Py_ssize_t> (m - 1) * ld
    for k in range(m):
        rest = m - k - 1
        inverse = 1.0 / factor[k + <Py_ssize_t> k * ld]
        total = inverse * inverse
        for i in range(rest):
            v[i] = -inverse * factor[k + 1 + i + <Py_ssize_t> k * ld]
        solve_lower(rest, factor + (k + 1) * <Py_ssize_t> (ld + 1), ld, v)
        for i in range(rest):
            total += v[i] * v[i]
        least = min(least, 1.0 / (total * p.precision[cols[k] * <Py_ssize_t> (p.n_columns + 1)]))
    return least


cdef double prior_log_det(const problem_t* p, int d, const int* cols, const double* factor,
                          int ld) noexcept nogil:
    """log det of the unscaled precision of the columns, from its factor if there is one."""
    cdef int k, first = p.flat
    cdef double total = 0.0
    if p.log_weights != NULL:
        for k in range(first, d):
            total += p.log_weights[cols[k]]
        return total
    for k in range(d - first):
        total += log(factor[k + <Py_ssize_t> k * ld])
    return 2.0 * total
