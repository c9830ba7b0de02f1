"""The log marginal likelihood of a gaussian model as a function of sufficient statistics.

With A = P + X'WX over the columns of a model, c = X'Wy + P m and pen = m'P m, it depends on the model through

    log_det = (log det P - log det A) / 2,   fit = c'A^-1 c - pen   (least-squares fit under a g-prior)

and the number d of columns. Up to constants, with S = y'Wy + 2 b - fit and nu = N + 2 a,

    log m = log_det + fit / 2                                 sigma^2 = 1
    log m = log_det - nu/2 log S                              sigma^2 ~ IG(a, b)
    log m = -d/2 log(1 + g) - nu/2 log(y'Wy + 2 b - g / (1 + g) fit)
    log m = -nu/2 log(y'Wy + 2 b) + log B(d, R^2)             R^2 = fit / (y'Wy + 2 b)

with B of ``shrinkage.py``, or the third with the g that maximises it. A prior creates its score by one of the
static methods of :class:`GaussianScore`.
"""

cimport cython
from libc.math cimport INFINITY, log, log1p
from libc.stdlib cimport calloc, free

import numpy as np

cdef extern from "score.h" nogil:
    void score_residual(Py_ssize_t n, double constant, double half_nu, double total, double shrink,
                        const double* log_det, const double* fit, double* out)
    void score_best_g(Py_ssize_t n, double d, double nu, double total, double log_total, const double* fit,
                      double* out)
    void score_mixture(Py_ssize_t n, double half_nu, double total, double log_total, double centre,
                       double length, int count, int stride, int powers, const double* coefficients,
                       const double* fit, double* out)

# As in shrinkage.py: 1 - R^2 below which a fit is perfect.
cdef double PERFECT = 1e-13


@cython.final
cdef class GaussianScore:
    """Log marginal likelihood of a gaussian model from its sums.

    Parameters
    ----------
    formula : int
        Number of the formula above, from 0.
    nu : float
        N + 2 a.
    total : float
        ``y'Wy + 2 b``.
    g : float
        Value of g for a g-prior.
    shrinkage : Shrinkage, optional
        Integrals over g for a mixture of g-priors.
    saturated : int
        Number of columns with which every fit is perfect if b = 0: there B = 1. 0 for none.
    most : int
        Largest number of columns of a model, for a mixture.
    """

    @staticmethod
    def known():
        """Return the score for sigma^2 = 1."""
        return GaussianScore(KNOWN, 0.0, 1.0)

    @staticmethod
    def conjugate(double nu, double total):
        """Return the score of a normal prior scaled by sigma."""
        return GaussianScore(CONJUGATE, nu, total)

    @staticmethod
    def g_prior(double nu, double total, double g):
        """Return the score of a g-prior."""
        return GaussianScore(GPRIOR, nu, total, g=g)

    @staticmethod
    def penalised(double nu, double total, double penalty):
        """Return the score of the largest likelihood with a penalty for each column."""
        cdef GaussianScore out = GaussianScore(GPRIOR, nu, total)
        out.shrink, out.log_growth = 1.0, 2.0 * penalty
        return out

    @staticmethod
    def best_g(double nu, double total):
        """Return the score of a g-prior with the g that maximises it, for each model."""
        return GaussianScore(BEST_G, nu, total)

    @staticmethod
    def mixture(double nu, double total, shrinkage, int saturated=0, int most=0):
        """Return the score of a mixture of g-priors."""
        return GaussianScore(MIXTURE, nu, total, shrinkage=shrinkage, saturated=saturated, most=most)

    def __init__(self, int formula, double nu, double total, *, double g=1.0, shrinkage=None,
                 int saturated=0, int most=0):
        self.formula = formula
        self.nu = nu
        self.half_nu = 0.5 * nu
        self.total = total
        self.log_total = log(total)
        self.shrink = g / (1.0 + g)
        self.log_growth = log1p(g)
        self.saturated = saturated
        self.with_det = formula == KNOWN or formula == CONJUGATE
        self.shrinkage = shrinkage
        self.held = []
        self.n_tables = most + 1
        free(self.tables)
        self.tables = <panels_t*> calloc(self.n_tables, sizeof(panels_t))
        if self.tables == NULL:
            raise MemoryError("no memory for the interpolants of a mixture of g-priors")

    def __dealloc__(self):
        free(self.tables)

    cdef const panels_t* table(self, int d) noexcept nogil:
        """The interpolants for d columns, made at their first use."""
        if self.tables[d].coefficients == NULL:
            with gil:
                self.make(d)
        return &self.tables[d]

    def make(self, int d):
        """Make the interpolants for models of `d` columns."""
        cdef const double[:, :, ::1] view
        panels = self.shrinkage.panels(d)
        view = panels.coefficients
        if view.shape[1] != 3 or view.shape[2] != POWERS:
            raise ValueError("panels must have three rows of powers")
        self.held.append(view)
        self.tables[d].centre = panels.centre
        self.tables[d].length = panels.length
        self.tables[d].count = view.shape[0]
        self.tables[d].coefficients = &view[0, 0, 0]

    cdef double factor(self, int d, double r2, int which) noexcept nogil:
        """Interpolant number `which` at R^2 < 1 - PERFECT."""
        cdef const panels_t* t = self.table(d)
        cdef double u = log1p(self.half_nu * r2 / ((1.0 - r2) * t.centre)) / t.length
        cdef int k = <int> u, i
        cdef const double* c
        cdef double x, value
        if k >= t.count:
            k = t.count - 1     # rounding at the very end
        x = 2.0 * (u - k) - 1.0
        c = t.coefficients + (3 * k + which) * POWERS
        value = c[POWERS - 1]
        for i in range(POWERS - 2, -1, -1):
            value = value * x + c[i]
        return value

    cdef double of(self, int d, double log_det, double fit) noexcept nogil:
        """The log marginal likelihood; inf for a perfect fit under a mixture."""
        # mathematics: selection-linear-g
        cdef double r2, shrink
        if self.formula == CONJUGATE:
            return log_det - self.half_nu * log(self.total - fit)
        if self.formula == GPRIOR:
            return -0.5 * d * self.log_growth - self.half_nu * log(self.total - self.shrink * fit)
        if self.formula == KNOWN:
            return log_det + 0.5 * fit
        r2 = fit / self.total
        if d == 0 or d == self.saturated:
            return -self.half_nu * log(self.total)
        if self.formula == BEST_G:
            shrink = self.best_shrink(d, r2)
            return 0.5 * d * log1p(-shrink) - self.half_nu * log(self.total * (1.0 - shrink * r2))
        if r2 < 0.0:
            r2 = 0.0            # rounding of a response that the columns do not explain
        if 1.0 - r2 <= PERFECT:
            return INFINITY
        return self.factor(d, r2, 0) - self.half_nu * (log(self.total) + log1p(-r2))

    cdef double best_shrink(self, int d, double r2) noexcept nogil:
        """The shrinkage factor that maximises the marginal likelihood; below 1 even for a perfect fit."""
        cdef double growth
        if d >= self.nu or r2 <= 0.0:
            return 0.0
        growth = (self.nu - d) / d * r2 / max(1.0 - r2, PERFECT)
        return 1.0 - 1.0 / growth if growth > 1.0 else 0.0

    cdef void of_many(self, int d, Py_ssize_t n, const double* log_det, const double* fit,
                      double* out) noexcept nogil:
        """Vectorised `of` for n models of d columns: out[i] := of(d, log_det[i], fit[i]).

        NaN instead for fits that are NaN, perfect, or lost to rounding. `log_det` is NULL unless `with_det`.
        """
        cdef Py_ssize_t i
        cdef double constant = -0.5 * d * self.log_growth
        cdef const panels_t* t
        if self.formula == KNOWN:
            for i in range(n):
                out[i] = log_det[i] + 0.5 * fit[i]
        elif self.formula == CONJUGATE:
            score_residual(n, 0.0, self.half_nu, self.total, 1.0, log_det, fit, out)
        elif self.formula == GPRIOR:
            score_residual(n, constant, self.half_nu, self.total, self.shrink, NULL, fit, out)
        elif d == 0 or d == self.saturated:
            for i in range(n):
                out[i] = self.of(d, 0.0, fit[i])
        elif self.formula == BEST_G:
            score_best_g(n, d, self.nu, self.total, self.log_total, fit, out)
        else:
            t = self.table(d)
            score_mixture(n, self.half_nu, self.total, self.log_total, t.centre, t.length, t.count,
                          3 * POWERS, POWERS, t.coefficients, fit, out)

    cdef posterior_t posterior(self, int d, double fit) noexcept nogil:
        """Moments of the shrinkage factor delta and of S = total - delta fit.

        Given g, sigma^2 ~ IG(nu/2, S/2) and coefficients have mean delta V c and variance
        delta sigma^2 V; delta is 1 without a g-prior.
        """
        cdef posterior_t out
        cdef double r2, left, left_square
        if self.formula == KNOWN:
            out.mean = out.square = out.inner = out.residual = 1.0
        elif self.formula == CONJUGATE or d == 0:
            out.mean = out.square = 1.0
            out.inner = out.residual = self.total - fit
        elif self.formula == BEST_G:
            out.mean = self.best_shrink(d, fit / self.total)
            out.square = out.mean * out.mean
            out.residual = self.total - out.mean * fit
            out.inner = out.mean * out.residual
        elif self.formula == GPRIOR:
            out.mean = self.shrink
            out.square = self.shrink * self.shrink
            out.residual = self.total - self.shrink * fit
            out.inner = self.shrink * out.residual
        else:
            r2 = min(max(fit / self.total, 0.0), 1.0 - PERFECT)
            left = self.factor(d, r2, 1)
            left_square = self.factor(d, r2, 2)
            out.mean = 1.0 - left
            out.square = 1.0 - 2.0 * left + left_square
            out.residual = self.total * ((1.0 - r2) + r2 * left)
            # delta (1 - delta R^2) = (1 - R^2) delta + R^2 delta (1 - delta).
            out.inner = self.total * ((1.0 - r2) * out.mean + r2 * (left - left_square))
        return out

    def value(self, int d, double log_det, double fit):
        """Return the log marginal likelihood for given sums, for tests."""
        return self.of(d, log_det, fit)

    def moments(self, int d, double fit):
        """Return E[delta], E[delta^2], E[delta S] and E[S] for given sums."""
        cdef posterior_t found = self.posterior(d, fit)
        return np.array([found.mean, found.square, found.inner, found.residual])
