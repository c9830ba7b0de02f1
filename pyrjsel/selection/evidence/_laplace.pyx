"""Posterior modes, Laplace values and importance-sampled marginal likelihoods of single models.

A Newton step with d columns takes one pass of exponentials over the n rows, d dot products for the score and
n d (d + 1) / 2 multiplications for the weighted Gram matrix, which dominate. A pair of importance draws takes
n d multiplications for its direction and two passes of exponentials.
"""

from libc.math cimport INFINITY, exp, fabs, isfinite, lgamma, log, log1p, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._linalg cimport cholesky, log_det_factor, matmat_n, solve_lower, solve_lower_t
from pyrjsel._core._vecmath cimport GRAM_ROWS, dot
from pyrjsel.selection.regression._problem cimport (
    Problem, add_precision, information, linear_predictor, model_columns, prior_dimension, prior_exponent,
    prior_factor, prior_log_det, problem_t, score,
)

cdef double LOG_2PI = 1.8378770664093454836
cdef double LOG_PI = 1.1447298858494001741

cdef enum:
    CONVERGED = 0
    RANK_DEFICIENT = 1          # the g-prior does not exist
    NOT_CONVERGED = 2
    MAX_NEWTON = 100
    MAX_HALVINGS = 40
    DIRECTIONS = 32             # importance directions in one matrix product

# Newton decrement (twice the expected gain of the log posterior) below which one more step reaches the mode:
# its error is of the order of the squared decrement.
cdef double DECREMENT = 1e-10
# Maximum likelihood stops when the log-likelihood increases by less than this: a separated model has no
# maximum, and its deviance is the limit to this accuracy.
cdef double ML_GAIN = 1e-9


cdef class ModeFinder:
    """Modes and integrals of models of one problem; owns the scratch space.

    Parameters
    ----------
    problem : Problem
    max_columns : int
        Largest number of columns of a model, including the intercept.
    raw_shift : float64 array (D + 1,)
        The intercept on the design's own scale is ``b[0] - raw_shift @ b``.
    """

    cdef Problem problem
    cdef problem_t* p
    cdef const double[::1] raw_shift
    cdef int capacity, d
    cdef object buffers
    cdef int* cols
    cdef double* b
    cdef double* trial
    cdef double* step
    cdef double* gradient
    cdef double* h
    cdef double* eta
    cdef double* eta_new
    cdef double* residual
    cdef double* weight
    cdef double* scratch
    cdef double* z
    cdef readonly double log_likelihood, log_posterior, log_marginal
    cdef readonly int status

    def __init__(self, Problem problem not None, int max_columns,
                 const double[::1] raw_shift not None):
        cdef int n = problem.c.n, k = min(max_columns, problem.c.n_columns)
        cdef double[::1] small = np.zeros(4 * k + k * k)
        cdef double[::1] rows = np.zeros(4 * n)
        cdef double[::1] chunk = np.zeros(2 * GRAM_ROWS * k)
        cdef double[::1] table = np.zeros(<Py_ssize_t> n * k)
        cdef int[::1] cols = np.zeros(problem.c.n_columns, dtype=np.intc)
        if raw_shift.shape[0] != problem.c.n_columns:
            raise ValueError("raw_shift must have one entry a column")
        self.problem = problem
        self.p = &problem.c
        self.raw_shift = raw_shift
        self.capacity = k
        self.buffers = (small, rows, chunk, table, cols)
        self.cols = &cols[0]
        self.b = &small[0]
        self.trial = self.b + k
        self.step = self.trial + k
        self.gradient = self.step + k
        self.h = self.gradient + k
        self.eta = &rows[0]
        self.eta_new = self.eta + n
        self.residual = self.eta_new + n
        self.weight = self.residual + n
        self.scratch = &chunk[0]
        self.z = &table[0]

    cdef int newton(self, bint use_prior) noexcept nogil:
        """Maximise from self.b; sets b, eta, h (its Cholesky factor) and the values there."""
        cdef const problem_t* p = self.p
        cdef int d = self.d, _, k, halvings, info
        cdef double value, decrement, gain, previous = -INFINITY, scale
        linear_predictor(p, d, self.cols, self.b, self.eta)
        for _ in range(MAX_NEWTON):
            value = p.working(p.n, self.eta, p.wy, p.w, self.residual, self.weight)
            self.log_likelihood = value
            if use_prior:
                value += prior_exponent(p, d, self.cols, self.b)
            if not isfinite(value) or value < previous - 1e-9 * (1.0 + fabs(previous)):
                # The step is too long: halve it.
                halvings = 0
                while halvings < MAX_HALVINGS:
                    halvings += 1
                    for k in range(d):
                        self.step[k] *= 0.5
                        self.b[k] = self.trial[k] + self.step[k]
                    linear_predictor(p, d, self.cols, self.b, self.eta)
                    value = p.working(p.n, self.eta, p.wy, p.w, self.residual, self.weight)
                    self.log_likelihood = value
                    if use_prior:
                        value += prior_exponent(p, d, self.cols, self.b)
                    if isfinite(value) and value >= previous - 1e-9 * (1.0 + fabs(previous)):
                        break
                else:
                    return NOT_CONVERGED
            self.log_posterior = value
            information(p, d, self.cols, self.weight, self.scratch, self.h)
            if use_prior:
                add_precision(p, d, self.cols, self.h)
                score(p, d, self.cols, self.b, self.residual, self.gradient)
            else:
                if value - previous < ML_GAIN:
                    return CONVERGED
                # Dependent columns and separation make the matrix singular; a small ridge changes the step
                # but not the maximum.
                for k in range(d):
                    scale = self.h[k + <Py_ssize_t> k * d]
                    self.h[k + <Py_ssize_t> k * d] = scale * (1.0 + 1e-8) + 1e-12
                for k in range(d):
                    self.gradient[k] = dot(p.n, p.columns + <Py_ssize_t> self.cols[k] * p.n,
                                           self.residual)
            info = cholesky(d, self.h, d)
            if info != 0:
                return NOT_CONVERGED
            memcpy(self.step, self.gradient, d * sizeof(double))
            solve_lower(d, self.h, d, self.step)
            decrement = 0.0
            for k in range(d):
                decrement += self.step[k] * self.step[k]
            solve_lower_t(d, self.h, d, self.step)
            memcpy(self.trial, self.b, d * sizeof(double))
            for k in range(d):
                self.b[k] += self.step[k]
            previous = value
            if use_prior and decrement < DECREMENT:
                # Quadratic gain of the last step; eta must correspond to the final b.
                gain = 0.5 * decrement
                self.log_posterior += gain
                linear_predictor(p, d, self.cols, self.b, self.eta)
                return CONVERGED
            linear_predictor(p, d, self.cols, self.b, self.eta)
        return NOT_CONVERGED

    cdef int laplace(self) noexcept nogil:
        """Mode and Laplace value of the model in self.cols from the start in self.b."""
        cdef const problem_t* p = self.p
        cdef int d = self.d, info
        cdef double log_det, slack
        if d > self.capacity or prior_factor(p, d, self.cols, self.h, d, &slack) != 0:
            self.log_marginal = -INFINITY
            return RANK_DEFICIENT
        log_det = prior_log_det(p, d, self.cols, self.h, d)
        info = self.newton(True)
        self.log_marginal = (
            self.log_posterior + 0.5 * log_det - 0.5 * prior_dimension(p, d) * LOG_2PI
            + 0.5 * d * LOG_2PI - 0.5 * log_det_factor(d, self.h, d)
        )
        return info

    def _load(self, const unsigned char[::1] gamma, start):
        cdef int k
        cdef double[::1] full
        if gamma.shape[0] != self.p.n_terms:
            raise ValueError("gamma must have one entry a term")
        self.d = model_columns(self.p, &gamma[0] if gamma.shape[0] else NULL, self.cols)
        if self.d > self.capacity:
            return False
        memset(self.b, 0, self.d * sizeof(double))
        self.b[0] = self.p.intercept
        if start is not None:
            full = start
            for k in range(self.d):
                self.b[k] = full[self.cols[k]]
        return True

    def mode(self, const unsigned char[::1] gamma not None, start=None):
        """Return the posterior mode of a model, zero outside it, shape (D + 1,).

        `status` is 0 at a mode, 1 for a model without a prior, 2 if Newton's method failed; `log_marginal` is
        the Laplace value, `log_posterior` the log-likelihood plus the prior's exponent, without its constant,
        at the mode.
        """
        cdef int k
        if not self._load(gamma, start):
            self.status = RANK_DEFICIENT
            self.log_marginal = -INFINITY
            return np.zeros(self.p.n_columns)
        with nogil:
            self.status = self.laplace()
        out = np.zeros(self.p.n_columns)
        cdef double[::1] view = out
        if self.status != RANK_DEFICIENT:
            for k in range(self.d):
                view[self.cols[k]] = self.b[k]
        return out

    def laplace_values(self, const unsigned char[:, ::1] gammas not None):
        """Return Laplace log marginal likelihoods and statuses of models, shapes (m,).

        Each search starts at the mode of the longest available prefix (in term order) of the model, so that
        lists in depth-first order need the fewest steps.
        """
        cdef Py_ssize_t m = gammas.shape[0], i
        cdef int j, k, depth, common, levels
        values = np.empty(m)
        status = np.empty(m, dtype=np.intc)
        if m == 0:
            return values, status
        cdef int width = gammas.shape[1]
        if width != self.p.n_terms:
            raise ValueError("gammas must have one column a term")
        cdef int most = int(np.asarray(gammas).sum(axis=1).max()) if width else 0
        cdef double[::1] out = values
        cdef int[::1] codes = status
        cdef int[::1] stack_terms = np.zeros(most + 1, dtype=np.intc)
        cdef int[::1] stack_valid = np.zeros(most + 2, dtype=np.intc)
        cdef double[:, ::1] stack_b = np.zeros((most + 2, self.p.n_columns))
        cdef int[::1] terms = np.zeros(most + 1, dtype=np.intc)
        levels = 0
        with nogil:
            for i in range(m):
                depth = 0
                for j in range(width):
                    if gammas[i, j]:
                        terms[depth] = j
                        depth += 1
                common = 0
                while common < depth and common < levels and terms[common] == stack_terms[common]:
                    common += 1
                for k in range(common + 1, depth + 1):
                    stack_valid[k] = 0
                for k in range(depth):
                    stack_terms[k] = terms[k]
                levels = depth
                self.d = model_columns(self.p, &gammas[i, 0] if width else NULL, self.cols)
                if self.d > self.capacity:
                    out[i] = -INFINITY
                    codes[i] = RANK_DEFICIENT
                    continue
                memset(self.b, 0, self.d * sizeof(double))
                self.b[0] = self.p.intercept
                k = common
                while k > 0 and not stack_valid[k]:
                    k -= 1
                if stack_valid[k]:
                    for j in range(self.d):
                        self.b[j] = stack_b[k, self.cols[j]]
                codes[i] = self.laplace()
                out[i] = self.log_marginal
                if codes[i] == CONVERGED:
                    stack_valid[depth] = 1
                    memset(&stack_b[depth, 0], 0, self.p.n_columns * sizeof(double))
                    for j in range(self.d):
                        stack_b[depth, self.cols[j]] = self.b[j]
        return values, status

    def maximum_likelihood(self, const unsigned char[::1] gamma not None):
        """Return the largest log-likelihood of a model, smallest and largest linear predictor there.

        Separated models approach their supremum: one of the predictors is then large in absolute value (20 or
        more).
        """
        cdef double smallest = INFINITY, largest = -INFINITY
        cdef int i
        if not self._load(gamma, None):
            return np.nan, -np.inf, np.inf
        with nogil:
            self.status = self.newton(False)
            for i in range(self.p.n):
                smallest = min(smallest, self.eta[i])
                largest = max(largest, self.eta[i])
        return self.log_likelihood, smallest, largest

    def integrate(self, const unsigned char[::1] gamma not None, const double[::1] radius not None,
                  const double[:, ::1] direction not None, double df, start=None, bint draws=False):
        """Importance-sampling correction of the Laplace value of a model.

        Parameters
        ----------
        gamma : uint8 array (J,)
        radius : float64 array (P,)
            Radii of the Student proposal, radius**2 / d distributed as F(d, df), stratified in order.
        direction : float64 array (P, d)
            Standard normal variates that give the directions; each is used with both signs.
        df : float
            Degrees of freedom of the proposal.
        start : float64 array (D + 1,), optional
            Start of the search for the mode.
        draws : bool
            Return the draws and their weights as well.

        Returns
        -------
        log_ratio, variance : float
            Logarithm of the mean weight relative to the Laplace value, and the relative variance of
            that mean (differences of neighbouring strata).
        moments : ndarray (3, d)
            Weighted first and second moments of the model's coefficients, and probabilities that they are
            positive; the intercept is on the design's own scale.
        samples : None or tuple of ndarrays (2 P, d) and (2 P,)
            Draws, all on the internal scale, and weights, of which the largest is 1.
        """
        if not self._load(gamma, start):
            raise ValueError("the model has more columns than this finder was made for")
        self._check_pairs(radius, direction)
        with nogil:
            self.status = self.laplace()
        if self.status != CONVERGED:
            return np.nan, np.nan, None, None
        return self._student(radius, direction, df, draws)

    def integrate_at(self, const unsigned char[::1] gamma not None, const double[::1] mode not None,
                     const double[:, ::1] factor not None, double log_posterior,
                     const double[::1] radius not None, const double[:, ::1] direction not None,
                     double df):
        """Importance sampling of a model whose mode is known, with the draws; see :meth:`integrate`.

        Parameters
        ----------
        gamma : uint8 array (J,)
        mode : float64 array (d,)
            Attribute `at` at the model's mode.
        factor : float64 array (d, d)
            Attribute `factor` there.
        log_posterior : float
            Attribute `log_posterior` there.
        radius, direction, df
            As for :meth:`integrate`.

        Returns
        -------
        log_ratio, variance, moments, samples
            As for :meth:`integrate`.
        """
        cdef int k, l
        if not self._load(gamma, None):
            raise ValueError("the model has more columns than this finder was made for")
        self._check_pairs(radius, direction)
        if mode.shape[0] != self.d or factor.shape[0] != self.d or factor.shape[1] != self.d:
            raise ValueError("mode and factor must fit the model")
        for k in range(self.d):
            self.b[k] = mode[k]
            for l in range(k, self.d):
                self.h[l + <Py_ssize_t> k * self.d] = factor[l, k]
        self.log_posterior = log_posterior
        self.status = CONVERGED
        linear_predictor(self.p, self.d, self.cols, self.b, self.eta)
        return self._student(radius, direction, df, True)

    def _check_pairs(self, const double[::1] radius, const double[:, ::1] direction):
        cdef Py_ssize_t count = radius.shape[0]
        if direction.shape[0] != count or direction.shape[1] != self.d or count < 2 or count % 2:
            raise ValueError("radius and direction must have one row a pair, an even number of them")

    cdef _student(self, const double[::1] radius, const double[:, ::1] direction, double nu, bint draws):
        """Draws from a Student distribution at the mode, with the inverse Hessian as its scale."""
        cdef int d = self.d, k, i, count = radius.shape[0]
        cdef double constant, norm
        cdef double[:, ::1] rays = np.array(direction)
        cdef double[::1] log_density = np.empty(count)
        constant = (lgamma(0.5 * (nu + d)) - lgamma(0.5 * nu) - 0.5 * d * (log(nu) + LOG_PI)
                    + 0.5 * d * LOG_2PI)
        with nogil:
            for i in range(count):
                norm = 0.0
                for k in range(d):
                    norm += rays[i, k] * rays[i, k]
                norm = 1.0 / sqrt(norm)
                for k in range(d):
                    rays[i, k] *= norm
                solve_lower_t(d, self.h, d, &rays[i, 0])
                log_density[i] = constant - 0.5 * (nu + d) * log1p(radius[i] * radius[i] / nu)
        return self._weigh(self.b, self.eta, rays, radius, log_density, draws)

    def reweigh(self, const double[::1] center not None, const double[:, ::1] rays not None,
                const double[::1] radius not None, const double[::1] log_density not None,
                bint draws=False):
        """Importance sampling of the last integrated model, from another proposal.

        Parameters
        ----------
        center : float64 array (d,)
        rays : float64 array (P, d)
            The draws are ``center + radius * rays`` and ``center - radius * rays``.
        radius : float64 array (P,)
            Stratified in order, as for :meth:`integrate`.
        log_density : float64 array (P,)
            Log density of the proposal at the two draws of each pair, minus that of the normal distribution
            with the inverse Hessian as covariance at its mode.
        draws : bool
            Return the draws and their weights as well.

        Returns
        -------
        log_ratio, variance, moments, samples
            As for :meth:`integrate`.
        """
        cdef int d = self.d, count = radius.shape[0]
        if d == 0 or self.status != CONVERGED:
            raise ValueError("no model has been integrated")
        if center.shape[0] != d or rays.shape[0] != count or rays.shape[1] != d \
                or log_density.shape[0] != count or count < 2 or count % 2:
            raise ValueError("the arrays of a proposal do not fit the model that was integrated last")
        # The workspace for residuals of Newton's method is reused for the linear predictor of the centre.
        linear_predictor(self.p, d, self.cols, &center[0], self.residual)
        return self._weigh(&center[0], self.residual, rays, radius, log_density, draws)

    cdef _weigh(self, const double* center, const double* eta, const double[:, ::1] rays,
                const double[::1] radius, const double[::1] log_density, bint draws):
        """Weights at center +- radius * rays, and derived quantities; eta corresponds to the centre."""
        cdef const problem_t* p = self.p
        cdef int d = self.d, k, i, sign, first, many, count = radius.shape[0]
        cdef Py_ssize_t s
        cdef double value, top, total, pair, previous_pair, square, r
        moments = np.zeros((3, d))
        points = np.empty((2 * count, d))
        weights = np.empty(2 * count)
        cdef double[:, ::1] mom = moments, b = points
        cdef double[::1] w = weights
        cdef double[::1] image = np.empty(<Py_ssize_t> p.n * min(count, DIRECTIONS))
        with nogil:
            # Linear predictors of many directions in one product; column-major, from X (n, d).
            for k in range(d):
                memcpy(self.z + <Py_ssize_t> k * p.n, p.columns + <Py_ssize_t> self.cols[k] * p.n,
                       p.n * sizeof(double))
            top = -INFINITY
            for i in range(count):
                first = i % DIRECTIONS
                if first == 0:
                    many = min(DIRECTIONS, count - i)
                    matmat_n(p.n, d, many, self.z, &rays[i, 0], &image[0])
                for sign in range(2):
                    s = 2 * i + sign
                    r = radius[i] if sign == 0 else -radius[i]
                    for k in range(d):
                        b[s, k] = center[k] + r * rays[i, k]
                    value = p.shifted(p.n, eta, &image[<Py_ssize_t> first * p.n], r,
                                      p.wy, p.w, self.eta_new)
                    value += prior_exponent(p, d, self.cols, &b[s, 0]) - self.log_posterior
                    w[s] = value - log_density[i]
                    top = max(top, w[s])
            total = 0.0
            for s in range(2 * count):
                w[s] = exp(w[s] - top)
                total += w[s]
                value = b[s, 0]
                for k in range(1, d):
                    value -= self.raw_shift[self.cols[k]] * b[s, k]
                for k in range(d):
                    if k:
                        value = b[s, k]
                    mom[0, k] += w[s] * value
                    mom[1, k] += w[s] * value * value
                    mom[2, k] += w[s] * (value > 0)
            for k in range(3 * d):
                mom[k // d, k % d] /= total
            square = 0.0
            for i in range(0, count, 2):
                previous_pair = w[2 * i] + w[2 * i + 1]
                pair = w[2 * i + 2] + w[2 * i + 3]
                square += (pair - previous_pair) * (pair - previous_pair)
        return (top + log(total / (2 * count)), square / (total * total), moments,
                (points, weights) if draws else None)

    @property
    def columns(self):
        """Columns of the last model, intercept first; shape (d,)."""
        cdef int k
        return np.array([self.cols[k] for k in range(self.d)], dtype=np.intp)

    @property
    def at(self):
        """Coefficients of its columns at the final point, shape (d,)."""
        cdef int k
        return np.array([self.b[k] for k in range(self.d)])

    @property
    def factor(self):
        """Lower Cholesky factor of minus the Hessian of the log posterior there, shape (d, d)."""
        cdef int k, l
        out = np.zeros((self.d, self.d))
        cdef double[:, ::1] view = out
        for k in range(self.d):
            for l in range(k, self.d):
                view[l, k] = self.h[l + <Py_ssize_t> k * self.d]
        return out
