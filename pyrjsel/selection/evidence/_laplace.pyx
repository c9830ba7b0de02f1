"""Posterior modes, Laplace values and importance-sampled marginal likelihoods of single models.

Under a mixture of g-priors, the marginal likelihood is a sum over nodes of log g, by the trapezoidal rule, of
Laplace values given g. In log g the integrand is smooth and decays exponentially on both sides, so the error
of the rule is far below that of Laplace's approximation. Importance draws are of (g, coefficients) jointly:
the node in proportion to its Laplace value, the coefficients from the proposal at the mode given g.

A Newton step with d columns takes one pass of exponentials over the n rows, d dot products for the score and
n d (d + 1) / 2 multiplications for the weighted Gram matrix, which dominate. A pair of importance draws takes
n d multiplications for its direction and two passes of exponentials.
"""

from libc.math cimport INFINITY, NAN, exp, fabs, isfinite, isnan, lgamma, log, log1p, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._linalg cimport cholesky, log_det_factor, matmat_n, solve_lower, solve_lower_t
from pyrjsel._core._vecmath cimport GRAM_ROWS, dot
from pyrjsel.selection.regression._problem cimport (
    G_NODES, G_PER_UNIT, Problem, add_precision, information, linear_predictor, log_g_of, model_columns, prior_dimension, prior_exponent,
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
    MOST_NODES = 256            # nodes of log g of one model; a peak has 10 to 30

# Newton decrement (twice the expected gain of the log posterior) below which one more step reaches the mode:
# its error is of the order of the squared decrement.
cdef double DECREMENT = 1e-10
# The step of log g is at most one half, where densities like that of the logarithm of a gamma variate have an
# error of 1e-6 whatever their shape, and at most this many times the standard deviation of a peak, where a
# normal density has such an error.
cdef double STEPS = 1.15
# Nodes whose value is less than e^-CUT of the largest are left out, and those of which an approximation says
# so with more slack are not even computed.
cdef double CUT = 13.0, SLACK = 20.0
# Maximum likelihood stops when the log-likelihood increases by less than this: a separated model has no
# maximum, and its deviance is the limit to this accuracy.
cdef double ML_GAIN = 1e-9


cdef double guess(const problem_t* p, int m, int at, double rate, double fit) noexcept nogil:
    """An approximate log posterior mass of a node of log g, up to a constant."""
    cdef double g = exp(log_g_of(at))
    return p.log_prior_g[at] - 0.5 * m * log1p(rate * g) + 0.5 * fit * g / (1.0 + rate * g)


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
    cdef problem_t own          # the problem, with the scale of the prior at one node of log g
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
    cdef int n_nodes, step_of_nodes
    cdef int[::1] node          # positions in the grid
    cdef double[::1] of_node    # log posterior mass
    cdef double[:, ::1] at_node  # modes
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
        self.own = problem.c
        self.p = &self.own
        self.n_nodes = 0
        if problem.c.log_prior_g != NULL:
            self.node = np.zeros(MOST_NODES, dtype=np.intc)
            self.of_node = np.zeros(MOST_NODES)
            self.at_node = np.zeros((MOST_NODES, k))
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
        """Mode and Laplace value of the model in self.cols from the start in self.b.

        Under a mixture of g-priors the mode is that given the most probable node of log g.
        """
        cdef const problem_t* p = self.p
        cdef int d = self.d, info
        cdef double log_det, slack
        self.n_nodes = 0
        self.own.scale = 1.0
        if d > self.capacity or prior_factor(p, d, self.cols, self.h, d, &slack) != 0:
            self.log_marginal = -INFINITY
            return RANK_DEFICIENT
        log_det = prior_log_det(p, d, self.cols, self.h, d)
        if p.log_prior_g != NULL and prior_dimension(p, d) > 0:
            return self.sum_over_g(log_det)
        info = self.newton(True)
        self.log_marginal = self.with_volume(self.log_posterior, log_det)
        return info

    cdef double with_volume(self, double log_posterior, double log_det) noexcept nogil:
        """Laplace value with the given log posterior at the mode, without the scale of the prior."""
        cdef int d = self.d
        return (log_posterior + 0.5 * log_det - 0.5 * prior_dimension(self.p, d) * LOG_2PI
                + 0.5 * d * LOG_2PI - 0.5 * log_det_factor(d, self.h, d))

    cdef int go_to(self, int at) noexcept nogil:
        """Mode given a node of log g, from the start in self.b."""
        self.own.scale = exp(-log_g_of(at))
        return self.newton(True)

    cdef double compute_node(self, int at, double log_det) noexcept nogil:
        """Log mass of a node, which is kept with its mode; NaN without a mode."""
        cdef int k, m = prior_dimension(self.p, self.d), i = self.n_nodes
        if i == MOST_NODES or self.go_to(at) != CONVERGED:
            return NAN
        self.n_nodes += 1
        self.node[i] = at
        self.of_node[i] = (self.p.log_prior_g[at] - 0.5 * m * log_g_of(at)
                           + self.with_volume(self.log_posterior, log_det))
        memcpy(&self.at_node[i, 0], self.b, self.d * sizeof(double))
        return self.of_node[i]

    cdef int sum_over_g(self, double log_det) noexcept nogil:
        """Laplace values at the nodes of log g that matter, and their sum.

        Which nodes these are is found from one mode: with the likelihood's information about `rate` times the
        prior's at g = 1, and Q the quadratic form of the mode,

            m(g) ~ (1 + rate g)^(-m/2) exp(fit g / (1 + rate g) / 2),  fit = (rate + 1/g_0)^2 Q,

        with p(g) known. It decides only what is not worth computing.
        """
        cdef const problem_t* p = self.p
        cdef int d = self.d, m = prior_dimension(p, d), centre = p.typical_g, stride = G_PER_UNIT // 2
        cdef int k, at, best, peak, way
        cdef double value, top, rate, fit, highest = -INFINITY, total, last
        while stride > 1 and stride > G_PER_UNIT * STEPS * sqrt(2.0 / m):
            stride //= 2
        self.step_of_nodes = stride
        top = self.compute_node(centre, log_det)
        if isnan(top):
            return NOT_CONVERGED
        # prior_exponent is -Q / 2 times the scale.
        rate = exp((log_det_factor(d, self.h, d) - 2.0 * log(self.h[0]) - log_det) / m)
        fit = -2.0 * prior_exponent(p, d, self.cols, self.b) / self.own.scale * rate * rate
        rate = max(rate - self.own.scale, 1e-12 * rate)
        peak = centre
        at = 0
        while at < G_NODES:
            value = guess(p, m, at, rate, fit)
            if value > highest:
                highest, peak = value, at
            at += stride
        for way in range(-1, 2, 2):
            memcpy(self.b, &self.at_node[0, 0], d * sizeof(double))
            at, last = centre + way * stride, self.of_node[0]
            while 0 <= at < G_NODES:
                if guess(p, m, at, rate, fit) >= highest - SLACK or last >= top - CUT:
                    last = self.compute_node(at, log_det)
                    if isnan(last):
                        return NOT_CONVERGED
                    top = max(top, last)
                    # To the right of the peak the integrand decreases; to the left there may be another one.
                    if way > 0 and at > peak and last < top - CUT:
                        break
                else:
                    last = -INFINITY
                at += way * stride
        best, total = 0, 0.0
        for k in range(self.n_nodes):
            total += exp(self.of_node[k] - top)
            if self.of_node[k] > self.of_node[best]:
                best = k
        self.log_marginal = top + log(total * stride / G_PER_UNIT)
        if self.return_to(best) != CONVERGED:
            return NOT_CONVERGED
        # As if the normal distribution at this mode had the mass of the whole.
        self.log_posterior = self.log_marginal - self.with_volume(0.0, log_det)
        return CONVERGED

    cdef int return_to(self, int k) noexcept nogil:
        """Go back to a node that was computed."""
        memcpy(self.b, &self.at_node[k, 0], self.d * sizeof(double))
        return self.go_to(self.node[k])

    cdef double exponent(self, const double* b) noexcept nogil:
        """Log prior density of coefficients without its constant, with g integrated out."""
        cdef int k, m = prior_dimension(self.p, self.d)
        cdef double top = -INFINITY, total = 0.0, form, value, scale = self.own.scale
        if self.n_nodes == 0:
            return prior_exponent(self.p, self.d, self.cols, b)
        form = prior_exponent(self.p, self.d, self.cols, b) / scale
        for k in range(self.n_nodes):
            top = max(top, self.density_of(k, m, form))
        for k in range(self.n_nodes):
            value = self.density_of(k, m, form) - top
            if value > -SLACK - CUT:
                total += exp(value)
        return top + log(total * self.step_of_nodes / G_PER_UNIT)

    cdef double density_of(self, int k, int m, double form) noexcept nogil:
        """Log prior density of coefficients and of the k-th node, without its constant."""
        cdef double log_g = log_g_of(self.node[k])
        return self.p.log_prior_g[self.node[k]] - 0.5 * m * log_g + form * exp(-log_g)

    def _load(self, const unsigned char[::1] gamma, start):
        cdef int k
        cdef double[::1] full
        if gamma.shape[0] != self.p.n_terms:
            raise ValueError("gamma must have one entry a term")
        self.d = model_columns(self.p, &gamma[0] if gamma.shape[0] else NULL, self.cols)
        self.n_nodes, self.own.scale = 0, 1.0
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
                  const double[:, ::1] direction not None, double df, start=None, bint draws=False,
                  uniform=None):
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
        uniform : float64 array (P,), optional
            Standard uniform variates, which choose nodes of log g; required under a mixture of g-priors.

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
        if self.n_nodes == 0:
            return self._student(radius, direction, df, draws)
        if uniform is None or len(uniform) != radius.shape[0]:
            raise ValueError("uniform must have one number a pair")
        owner = np.searchsorted(np.cumsum(self.node_weights)[:self.n_nodes - 1], uniform, side="right")
        return self._student(radius, direction, df, draws, owner)

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

    cdef _student(self, const double[::1] radius, const double[:, ::1] direction, double nu, bint draws,
                  owner=None):
        """Draws from a Student distribution at the mode, with the inverse Hessian as its scale.

        Pair i is drawn given the node of log g number ``owner[i]``, if g is unknown.
        """
        cdef int d = self.d, j, k, i, place, best = 0, count = radius.shape[0]
        cdef double constant, norm, whole = self.log_posterior
        cdef double[:, ::1] rays
        cdef double[::1] log_density = np.empty(count)
        cdef Py_ssize_t[::1] order = np.arange(count)
        cdef int[::1] ends = np.array([count], dtype=np.intc)
        if owner is not None:
            order = np.argsort(owner, kind="stable")
            ends = np.cumsum(np.bincount(owner, minlength=self.n_nodes)).astype(np.intc)
            best = int(np.argmax(self.of_node[:self.n_nodes]))
        rays = np.asarray(direction)[np.asarray(order)]
        constant = (lgamma(0.5 * (nu + d)) - lgamma(0.5 * nu) - 0.5 * d * (log(nu) + LOG_PI)
                    + 0.5 * d * LOG_2PI)
        found = self._room(count)
        cdef double[:, ::1] points = found[0]
        cdef double[::1] weights = found[1], image = found[2]
        with nogil:
            self.gather_columns()
            i = 0
            for k in range(ends.shape[0]):
                if i == ends[k]:
                    continue
                if self.n_nodes:
                    self.return_to(k)
                place = i
                for i in range(place, ends[k]):
                    norm = 0.0
                    for j in range(d):
                        norm += rays[i, j] * rays[i, j]
                    norm = 1.0 / sqrt(norm)
                    for j in range(d):
                        rays[i, j] *= norm
                    solve_lower_t(d, self.h, d, &rays[i, 0])
                    log_density[order[i]] = constant - 0.5 * (nu + d) * log1p(
                        radius[order[i]] * radius[order[i]] / nu)
                self.weigh(self.b, self.eta, rays, place, ends[k], order, radius, log_density, True,
                           points, weights, image)
                i = ends[k]
            if self.n_nodes:
                self.return_to(best)
                self.log_posterior = whole
        return self._summary(points, weights, draws)

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
        found = self._room(count)
        self.gather_columns()
        self.weigh(&center[0], self.residual, rays, 0, count, np.arange(count), radius, log_density, False,
                   found[0], found[1], found[2])
        return self._summary(found[0], found[1], draws)

    def _room(self, count):
        """Return arrays for draws, for their weights, and for linear predictors."""
        return (np.empty((2 * count, self.d)), np.empty(2 * count),
                np.empty(<Py_ssize_t> self.p.n * min(count, DIRECTIONS)))

    cdef void gather_columns(self) noexcept nogil:
        """z := the columns of the model (n, d), column-major."""
        cdef int k
        for k in range(self.d):
            memcpy(self.z + <Py_ssize_t> k * self.p.n,
                   self.p.columns + <Py_ssize_t> self.cols[k] * self.p.n, self.p.n * sizeof(double))

    cdef void weigh(self, const double* center, const double* eta, const double[:, ::1] rays, int first,
                    int last, const Py_ssize_t[::1] order, const double[::1] radius,
                    const double[::1] log_density, bint given_g, double[:, ::1] b, double[::1] w,
                    double[::1] image) noexcept nogil:
        """Draws at center +- radius * rays and their log weights; eta corresponds to the centre.

        Row i of the rays belongs to pair ``order[i]``. Weights are with g known at the present node, or
        integrated out.
        """
        cdef const problem_t* p = self.p
        cdef int d = self.d, k, i, sign, at
        cdef Py_ssize_t s
        cdef double r, prior
        for i in range(first, last):
            # Linear predictors of many directions in one product.
            at = (i - first) % DIRECTIONS
            if at == 0:
                matmat_n(p.n, d, min(DIRECTIONS, last - i), self.z, &rays[i, 0], &image[0])
            for sign in range(2):
                s = 2 * order[i] + sign
                r = radius[order[i]] if sign == 0 else -radius[order[i]]
                for k in range(d):
                    b[s, k] = center[k] + r * rays[i, k]
                prior = prior_exponent(p, d, self.cols, &b[s, 0]) if given_g else self.exponent(&b[s, 0])
                w[s] = (p.shifted(p.n, eta, &image[<Py_ssize_t> at * p.n], r, p.wy, p.w, self.eta_new)
                        + (prior - self.log_posterior) - log_density[order[i]])

    cdef _summary(self, double[:, ::1] b, double[::1] w, bint draws):
        """Integral, its variance and moments from draws and their log weights, which become weights."""
        cdef int d = self.d, k, i, count = w.shape[0] // 2
        cdef Py_ssize_t s
        cdef double value, top = -INFINITY, total = 0.0, pair, previous_pair, square = 0.0
        moments = np.zeros((3, d))
        cdef double[:, ::1] mom = moments
        with nogil:
            for s in range(2 * count):
                top = max(top, w[s])
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
            for i in range(0, count, 2):
                previous_pair = w[2 * i] + w[2 * i + 1]
                pair = w[2 * i + 2] + w[2 * i + 3]
                square += (pair - previous_pair) * (pair - previous_pair)
        return (top + log(total / (2 * count)), square / (total * total), moments,
                (np.asarray(b), np.asarray(w)) if draws else None)

    @property
    def node_weights(self):
        """Posterior probabilities of the nodes of log g of the last model; empty if g is known."""
        if self.n_nodes == 0:
            return np.empty(0)
        found = np.exp(np.asarray(self.of_node[:self.n_nodes]) - np.max(self.of_node[:self.n_nodes]))
        return found / found.sum()

    def visit(self, int k):
        """Go to the mode of the last model given the k-th node of log g."""
        if not 0 <= k < self.n_nodes:
            raise ValueError("k must be the number of a node")
        self.return_to(k)

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
