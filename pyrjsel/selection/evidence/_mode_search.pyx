"""Posterior modes and Laplace values of single models.

A Newton step with d columns takes one pass of exponentials over the n rows, d dot products for the score and
n d (d + 1) / 2 multiplications for the weighted Gram matrix, which dominate.

Under a mixture of g-priors, the marginal likelihood is a sum over nodes of log g (or of log(g - least), if
there is a smallest g), by the trapezoidal rule, of Laplace values given g. There the integrand is smooth and
decays exponentially on both sides, so the error of the rule is far below that of Laplace's approximation.
Modes are found at a few nodes; values, modes and Hessians at the others follow from the expansions there of
the log-likelihood to second order, in O(d^3).

If the g-prior has the information S in the model's own maximum b^, the one expansion there defines the
marginal likelihood [Li and Clyde 2018]: with Q = b^'S b^ without intercepts, J the information on the L
intercepts alone (one: the sum of the weights) and m coefficients,

    log m = log L(b^) + (L log 2 pi - log det J) / 2
            + log integral of (1 + g)^(-m/2) e^(-Q / (2 (1 + g))) p(g) dg.

Under empirical Bayes with a precision that does not depend on the model's maximum, g is at the maximum of
Laplace's approximation. It is bracketed on a grid by the expansion of the log-likelihood at one mode, until
the grid's maximum stays near that mode, and found by Brent's method on Laplace values at their own modes.
"""

from libc.math cimport INFINITY, copysign, exp, fabs, isfinite, log, log1p, sqrt
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core._linalg cimport cholesky, log_det_factor, solve_lower, solve_lower_t
from pyrjsel.selection.regression._problem cimport (
    AT_MODES, BEST_AT_MODES, G_NODES, G_PER_UNIT, KNOWN_G, PENALTY, UNKNOWN_G, Problem, add_precision,
    gram_scratch, information, linear_predictor, prior_dimension, prior_exponent, prior_factor,
    prior_log_det, problem_t, product, score,
)

cdef double LOG_2PI = 1.8378770664093454836

cdef enum:
    MAX_NEWTON = 500            # Student-t errors with few degrees of freedom need more than a hundred
    MAX_HALVINGS = 40
    MOST_NODES = 512            # nodes of log g of one model; a peak has 10 to 30
    MOST_EXPANSIONS = 12        # modes of one model; most have 3 or 4
    ROUNDS = 4                  # of choosing where to expand

# Newton decrement (twice the expected gain of the log posterior) below which one more step reaches the mode:
# its error is of the order of the squared decrement. Below ROUGH it reaches what guesses at g need.
cdef double DECREMENT = 1e-10, ROUGH = 1.0
# Below STALLED a decrement that does not decrease any more is rounding, as of nearly dependent columns.
cdef double STALLED = 1e-4
# Rounding errors of a quadratic form relative to its diagonal part, which is far larger where columns are
# nearly dependent.
cdef double ROUNDING = 1e-14
# The step of log g is at most one half, where densities like that of the logarithm of a gamma variate have an
# error of 1e-6 whatever their shape, and at most this many times the standard deviation of a peak, where a
# normal density has such an error.
cdef double STEPS = 1.15
# Nodes whose value is less than e^-CUT of the largest are left out, and those of which a cruder approximation
# says so with more slack are not even computed.
cdef double CUT = 13.0, SLACK = 20.0
# Modes are found near these quantiles of log g, unless there is one at most NEAR times their distance away.
cdef double OUTER = 0.03, NEAR = 0.2
# Newton's last step changes a linear predictor by at most this in an ordinary model, where a decrement of
# DECREMENT leaves 1e-5 standard deviations; by about one in a model without maximum.
cdef double FAR = 1e-2
# Smallest g at the maximum of a marginal likelihood, which can be 0: the same to nine digits.
cdef double LEAST_G = 1e-9
# Grid of log g, relative to that of the precision, in which the best one is bracketed; its accuracy there.
cdef double LOWEST_SCALE = -20.0, HIGHEST_SCALE = 20.0, CLOSE_SCALE = 1e-7
# Maximum likelihood stops when the log-likelihood increases by less than this: a separated model has no
# maximum, and its deviance is the limit to this accuracy.
cdef double ML_GAIN = 1e-9


cdef double log_g_of(const problem_t* p, int m, int at) noexcept nogil:
    """Log g at a node, in models of m columns with a proper prior."""
    return p.log_g[<Py_ssize_t> m * p.g_stride + at]


cdef inline double log_prior_g(const problem_t* p, int m, int at) noexcept nogil:
    """Log prior density at a node."""
    return p.log_prior_g[<Py_ssize_t> m * p.g_stride + at]


cdef double guess(const problem_t* p, int m, int at, double rate, double fit) noexcept nogil:
    """An approximate log posterior mass of a node of log g, up to a constant."""
    cdef double g = exp(log_g_of(p, m, at))
    return log_prior_g(p, m, at) - 0.5 * m * log1p(rate * g) + 0.5 * fit * g / (1.0 + rate * g)


cdef class ModeSearch:
    """The mode and the Laplace value of a model; owns the scratch space.

    Parameters
    ----------
    problem : Problem
    max_columns : int
        Largest number of columns of a model, including the intercept.
    """

    def __init__(self, Problem problem not None, int max_columns):
        cdef int n = problem.c.n, k = min(max_columns, problem.c.n_columns)
        cdef double[::1] small = np.zeros(4 * k + k * k)
        cdef double[::1] rows = np.zeros((3 + problem.c.width) * n)
        cdef double[::1] chunk = np.zeros(gram_scratch(&problem.c, k))
        cdef double[::1] table = np.zeros(<Py_ssize_t> n * k)
        cdef int[::1] cols = np.zeros(problem.c.n_columns, dtype=np.intc)
        self.problem = problem
        self.own = problem.c
        self.p = &self.own
        self.n_nodes = 0
        if problem.c.log_prior_g != NULL or problem.c.rule != AT_MODES:
            self.node = np.zeros(MOST_NODES, dtype=np.intc)
            self.of_node = np.zeros(MOST_NODES)
            self.order = np.zeros(MOST_EXPANSIONS, dtype=np.intc)
            self.expanded = np.zeros(MOST_EXPANSIONS, dtype=np.intc)
            self.modes, self.linear = np.zeros((2, MOST_EXPANSIONS, k))
            self.hessian = np.zeros((MOST_EXPANSIONS, <Py_ssize_t> k * k))
            self.constant, self.exact = np.zeros((2, MOST_EXPANSIONS))
        if problem.c.rule != AT_MODES and problem.c.rule != BEST_AT_MODES:
            self.observed = np.zeros(<Py_ssize_t> problem.c.n_columns * problem.c.n_columns)
            self.own.precision = &self.observed[0]
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

    cdef double rounding(self, double value) noexcept nogil:
        """Rounding error of a log posterior: of its value, and of the prior's quadratic form in self.b."""
        cdef const problem_t* p = self.p
        cdef double form = 0.0
        cdef int k
        for k in range(self.d):
            form += self.b[k] * self.b[k] * p.precision[self.cols[k] * <Py_ssize_t> (p.n_columns + 1)]
        return 1e-9 * (1.0 + fabs(value)) + ROUNDING * p.scale * form

    cdef int newton(self, bint use_prior, double enough=DECREMENT) noexcept nogil:
        """Maximise from self.b; sets b, eta, h (its Cholesky factor) and the values there.

        With a decrement below `enough` one more step is the last.
        """
        cdef const problem_t* p = self.p
        cdef int d = self.d, _, k, halvings, info
        cdef double value, decrement = INFINITY, last, gain, previous = -INFINITY, scale
        linear_predictor(p, d, self.cols, self.b, self.eta)
        for _ in range(MAX_NEWTON):
            value = p.working(p.n, self.eta, p.wy, p.w, self.residual, self.weight)
            self.log_likelihood = value
            if use_prior:
                value += prior_exponent(p, d, self.cols, self.b)
            if not isfinite(value) or value < previous - self.rounding(previous):
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
                    if isfinite(value) and value >= previous - self.rounding(previous):
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
                    self.gradient[k] = product(p, self.cols[k], self.residual)
            info = cholesky(d, self.h, d)
            if info != 0:
                return NOT_CONVERGED
            memcpy(self.step, self.gradient, d * sizeof(double))
            solve_lower(d, self.h, d, self.step)
            last, decrement = decrement, 0.0
            for k in range(d):
                decrement += self.step[k] * self.step[k]
            solve_lower_t(d, self.h, d, self.step)
            memcpy(self.trial, self.b, d * sizeof(double))
            for k in range(d):
                self.b[k] += self.step[k]
            previous = value
            if use_prior and (decrement < enough or last <= decrement < STALLED):
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
        if d > self.capacity or prior_factor(&self.problem.c, d, self.cols, self.h, d, &slack) != 0:
            self.log_marginal = -INFINITY
            return RANK_DEFICIENT
        if p.rule != AT_MODES and p.rule != BEST_AT_MODES:
            return self.at_maximum()
        log_det = prior_log_det(p, d, self.cols, self.h, d)
        if p.rule == BEST_AT_MODES and prior_dimension(p, d) > 0:
            self.log_det_prior = log_det
            return self.at_best_g()
        if p.log_prior_g != NULL and prior_dimension(p, d) > 0:
            self.log_det_prior = log_det
            return self.sum_over_g()
        info = self.newton(True)
        self.log_marginal = self.with_volume(self.log_posterior, log_det)
        return info

    cdef double with_volume(self, double log_posterior, double log_det) noexcept nogil:
        """Laplace value with the given log posterior at the mode, without the scale of the prior."""
        # mathematics: selection-laplace
        cdef int d = self.d
        return (log_posterior + 0.5 * log_det - 0.5 * prior_dimension(self.p, d) * LOG_2PI
                + 0.5 * d * LOG_2PI - 0.5 * log_det_factor(d, self.h, d))

    cdef double log_prior_of(self, int at) noexcept nogil:
        """Log density of a node of log g, with the power of g in the density of coefficients."""
        cdef int m = prior_dimension(self.p, self.d)
        return log_prior_g(self.p, m, at) - 0.5 * m * log_g_of(self.p, m, at)

    cdef int expand(self, int at) noexcept nogil:
        """Find the mode given a node of log g, from the start in self.b, and keep the expansion there."""
        cdef int e = self.n_expansions, k = e
        self.own.scale = exp(-log_g_of(self.p, prior_dimension(self.p, self.d), at))
        if self.keep_expansion(e) != CONVERGED:
            return NOT_CONVERGED
        self.expanded[e] = at
        self.exact[e] = self.log_prior_of(at) + self.with_volume(self.log_posterior, self.log_det_prior)
        while k > 0 and self.expanded[self.order[k - 1]] > at:
            self.order[k] = self.order[k - 1]
            k -= 1
        self.order[k] = e
        self.n_expansions += 1
        return CONVERGED

    cdef int keep_expansion(self, int e, double enough=DECREMENT) noexcept nogil:
        """Find the mode at the present scale of the prior; keep the expansion of the log-likelihood there."""
        cdef const problem_t* p = self.p
        cdef int d = self.d, k, l, i
        cdef double value, gradient
        cdef double* mode = &self.modes[e, 0]
        cdef double* hessian = &self.hessian[e, 0]
        cdef const double* row
        if self.newton(True, enough) != CONVERGED:
            return NOT_CONVERGED
        memcpy(mode, self.b, d * sizeof(double))
        # h is the factor of the Hessian A of minus the log-likelihood, plus the precision of the prior.
        for k in range(d):
            row = p.precision + <Py_ssize_t> self.cols[k] * p.n_columns
            for l in range(k, d):
                value = -p.scale * row[self.cols[l]]
                for i in range(k + 1):
                    value += self.h[l + <Py_ssize_t> i * d] * self.h[k + <Py_ssize_t> i * d]
                hessian[l + <Py_ssize_t> k * d] = hessian[k + <Py_ssize_t> l * d] = value
        # At the mode the gradients of log-likelihood and log prior cancel.
        self.constant[e] = self.log_posterior - prior_exponent(p, d, self.cols, self.b)
        for k in range(d):
            row = p.precision + <Py_ssize_t> self.cols[k] * p.n_columns
            value = gradient = 0.0
            for l in range(d):
                gradient += p.scale * row[self.cols[l]] * mode[l]
                value += hessian[l + <Py_ssize_t> k * d] * mode[l]
            self.constant[e] -= (gradient + 0.5 * value) * mode[k]
            self.linear[e, k] = gradient + value
        return CONVERGED

    cdef int at_best_g(self) noexcept nogil:
        """Mode and Laplace value at the g where the latter is largest."""
        cdef double t = 0.0, found, value, trial
        cdef int _
        for _ in range(ROUNDS):
            self.own.scale = exp(-t)
            if self.keep_expansion(0) != CONVERGED:
                return NOT_CONVERGED
            found = self.scan(LOWEST_SCALE)
            if fabs(found - t) <= 1.0:
                break
            t = found
        if found > LOWEST_SCALE:
            # With modes of their own, values may be larger outside the bracket by the expansion.
            value = self.at_scale(found)
            for t in (1.0, -1.0):
                while LOWEST_SCALE < found < HIGHEST_SCALE:
                    trial = self.at_scale(found + t)
                    if trial <= value:
                        break
                    found, value = found + t, trial
            if found >= HIGHEST_SCALE:
                return NO_MAXIMUM
            if found > LOWEST_SCALE:
                found = self.climb(found - 1.0, found, found + 1.0)
        self.log_marginal = self.at_scale(found)
        return CONVERGED if isfinite(self.log_marginal) else NOT_CONVERGED

    cdef double at_scale(self, double t) noexcept nogil:
        """Laplace value at log g = t relative to that of the precision; -inf if there is no mode."""
        self.own.scale = exp(-t)
        if self.newton(True) != CONVERGED:
            memcpy(self.b, &self.modes[0, 0], self.d * sizeof(double))
            return -INFINITY
        return (self.with_volume(self.log_posterior, self.log_det_prior)
                - 0.5 * prior_dimension(self.p, self.d) * t)

    cdef double scan(self, double low) noexcept nogil:
        """The best of a grid of log g by the expansion kept first; goes to the mode there."""
        cdef double t = low, value, best = low, top = -INFINITY
        cdef int m = prior_dimension(self.p, self.d)
        while t <= HIGHEST_SCALE:
            self.own.scale = exp(-t)
            if self.shrink(0):
                value = self.with_volume(self.log_posterior, self.log_det_prior) - 0.5 * m * t
                if value > top:
                    top, best = value, t
            t += 1.0
        self.own.scale = exp(-best)
        self.shrink(0)
        return best

    cdef double climb(self, double low, double t, double high) noexcept nogil:
        """The log g of the largest Laplace value between low and high, from t: Brent's method."""
        cdef double value = self.at_scale(t), second = t, third = t, of_second = value, of_third = value
        cdef double step = 0.0, before = 0.0, trial, of_trial, middle, r, q, p, last
        cdef int _
        for _ in range(MAX_HALVINGS):
            middle = 0.5 * (low + high)
            if fabs(t - middle) <= 2.0 * CLOSE_SCALE - 0.5 * (high - low):
                break
            p = q = 0.0
            if fabs(before) > CLOSE_SCALE:
                r = (t - second) * (of_third - value)
                q = (t - third) * (of_second - value)
                p = (t - third) * q - (t - second) * r
                q = 2.0 * (q - r)
                p = -p if q > 0.0 else p
                q = fabs(q)
            last, before = before, step
            if q > 0.0 and fabs(p) < fabs(0.5 * q * last) and q * (low - t) < p < q * (high - t):
                step = p / q
                if t + step - low < 2.0 * CLOSE_SCALE or high - t - step < 2.0 * CLOSE_SCALE:
                    step = copysign(CLOSE_SCALE, middle - t)
            else:
                before = (low if t >= middle else high) - t
                step = 0.381966011250105 * before
            trial = t + (step if fabs(step) >= CLOSE_SCALE else copysign(CLOSE_SCALE, step))
            of_trial = self.at_scale(trial)
            if of_trial >= value:
                if trial >= t:
                    low = t
                else:
                    high = t
                third, of_third, second, of_second = second, of_second, t, value
                t, value = trial, of_trial
            else:
                if trial < t:
                    low = trial
                else:
                    high = trial
                if of_trial >= of_second or second == t:
                    third, of_third, second, of_second = second, of_second, trial, of_trial
                elif of_trial >= of_third or third == t or third == second:
                    third, of_third = trial, of_trial
        return t

    cdef int at_maximum(self) noexcept nogil:
        """Marginal likelihood by the expansion at the maximum of the likelihood, with the information there.

        The mode is that given the known, the best or the most probable g.
        """
        cdef const problem_t* p = self.p
        cdef int d = self.d, m = d - p.leading, info
        cdef double form, log_g
        self.log_marginal = -INFINITY
        info = self.expand_at_maximum()
        if info != CONVERGED:
            return info
        self.own.scale = 1.0
        form = -2.0 * prior_exponent(p, d, self.cols, self.b)
        if p.rule == PENALTY or m == 0:
            self.log_marginal = self.with_volume(self.log_posterior, self.log_det_prior)
            if p.rule == PENALTY:
                # mathematics: selection-criteria
                self.log_marginal = self.log_posterior - d * p.rule_value
            return CONVERGED
        if p.rule == UNKNOWN_G:
            self.log_marginal = self.sum_in_closed_form(form)
            return CONVERGED
        # mathematics: selection-best-g
        log_g = p.rule_value if p.rule == KNOWN_G else log(max(form / m - 1.0, LEAST_G))
        self.own.scale = exp(-log_g)
        if not self.shrink(0):
            return NOT_CONVERGED
        self.log_marginal = self.with_volume(self.log_posterior, self.log_det_prior) - 0.5 * m * log_g
        return CONVERGED

    cdef int expand_at_maximum(self) noexcept nogil:
        """Find the maximum of the likelihood from self.b; keep the expansion and the information there."""
        cdef const problem_t* p = self.p
        cdef int d = self.d, k, l, i, info
        cdef double value
        self.own.scale = 0.0
        info = self.newton(True)
        if info != CONVERGED:
            return NO_MAXIMUM
        linear_predictor(p, d, self.cols, self.step, self.eta_new)
        for i in range(p.n):
            if fabs(self.eta_new[i] - p.offset[i]) > FAR:
                return NO_MAXIMUM
        self.log_likelihood = self.log_posterior = p.working(
            p.n, self.eta, p.wy, p.w, self.residual, self.weight)
        information(p, d, self.cols, self.weight, self.scratch, self.h)
        self.constant[0] = self.log_posterior
        for k in range(d):
            for l in range(k, d):
                self.hessian[0, l + <Py_ssize_t> k * d] = self.h[l + <Py_ssize_t> k * d]
                self.hessian[0, k + <Py_ssize_t> l * d] = self.h[l + <Py_ssize_t> k * d]
        for k in range(d):
            value = 0.0
            for l in range(d):
                value += self.hessian[0, l + <Py_ssize_t> k * d] * self.b[l]
            self.linear[0, k] = value
            self.constant[0] -= 0.5 * value * self.b[k]
        memcpy(&self.modes[0, 0], self.b, d * sizeof(double))
        self.expanded[0] = self.order[0] = 0
        self.n_expansions = 1
        if cholesky(d, self.h, d) != 0:
            return NO_MAXIMUM
        # The factor without intercepts, which come first, is that of S.
        self.log_det_prior = log_det_factor(d, self.h, d) - log_det_factor(p.leading, self.h, d)
        for k in range(p.leading, d):
            for l in range(k, d):
                value = 0.0
                for i in range(p.leading, k + 1):
                    value += self.h[l + <Py_ssize_t> i * d] * self.h[k + <Py_ssize_t> i * d]
                self.observed[<Py_ssize_t> self.cols[k] * p.n_columns + self.cols[l]] = value
                self.observed[<Py_ssize_t> self.cols[l] * p.n_columns + self.cols[k]] = value
        return CONVERGED

    cdef double in_closed_form(self, int at, double form) noexcept nogil:
        """Log mass of a node of log g, up to a constant."""
        cdef int m = self.d - self.p.leading
        cdef double left = log1p(exp(log_g_of(self.p, m, at)))
        return log_prior_g(self.p, m, at) - 0.5 * m * left - 0.5 * form * exp(-left)

    cdef double sum_in_closed_form(self, double form) noexcept nogil:
        """Sum over all nodes of log g at one expansion; keeps those that matter, and goes to the largest."""
        # mathematics: selection-observed
        cdef const problem_t* p = self.p
        cdef int d = self.d, m = d - p.leading, at, step, best = 0
        cdef double value, first, top = -INFINITY, total = 0.0
        first = self.log_posterior + 0.5 * p.leading * LOG_2PI - 0.5 * log_det_factor(p.leading, self.h, d)
        self.stride = G_PER_UNIT // 4
        while self.stride > 1 and self.stride > 0.5 * G_PER_UNIT * STEPS * sqrt(2.0 / (m + p.g_columns)):
            self.stride //= 2
        for step in range((G_NODES - 1) // self.stride + 1):
            value = first + self.in_closed_form(step * self.stride, form)
            if value > top:
                total *= exp(top - value)
                top = value
            total += exp(value - top)
        for step in range((G_NODES - 1) // self.stride + 1):
            at = step * self.stride
            value = first + self.in_closed_form(at, form)
            if value > top - CUT and self.n_nodes < MOST_NODES:
                self.node[self.n_nodes], self.of_node[self.n_nodes] = at, value
                best = self.n_nodes if value == top else best
                self.n_nodes += 1
        self.go_to(best)
        return top + log(total * self.stride / G_PER_UNIT)

    cdef bint shrink(self, int e) noexcept nogil:
        """Go to the mode by an expansion at the present scale of the prior: b, h and log_posterior."""
        cdef const problem_t* p = self.p
        cdef int d = self.d, k
        memcpy(self.h, &self.hessian[e, 0], d * d * sizeof(double))
        add_precision(p, d, self.cols, self.h)
        if cholesky(d, self.h, d) != 0:
            return False
        memcpy(self.b, &self.linear[e, 0], d * sizeof(double))
        solve_lower(d, self.h, d, self.b)
        self.log_posterior = self.constant[e]
        for k in range(d):
            self.log_posterior += 0.5 * self.b[k] * self.b[k]
        solve_lower_t(d, self.h, d, self.b)
        return True

    cdef double predict(self, int at, int e) noexcept nogil:
        """Log mass of a node by an expansion; sets b and h, the scale of the prior and log_posterior."""
        cdef const problem_t* p = self.p
        self.own.scale = exp(-log_g_of(p, prior_dimension(p, self.d), at))
        if not self.shrink(e):
            return -INFINITY
        return self.log_prior_of(at) + self.with_volume(self.log_posterior, self.log_det_prior)

    cdef int nearest(self, int at) noexcept nogil:
        """The expansion at the nearest node."""
        cdef int e, found = 0
        for e in range(1, self.n_expansions):
            if abs(self.expanded[e] - at) < abs(self.expanded[found] - at):
                found = e
        return found

    cdef double interpolate(self, int at) noexcept nogil:
        """Log mass of a node by the expansions on both sides."""
        cdef int i, low, high
        cdef double share
        for i in range(self.n_expansions):
            if self.expanded[self.order[i]] >= at:
                break
        else:
            return self.predict(at, self.order[self.n_expansions - 1])
        if i == 0 or self.expanded[self.order[i]] == at:
            return self.predict(at, self.order[i])
        low, high = self.order[i - 1], self.order[i]
        share = (at - self.expanded[low]) / <double> (self.expanded[high] - self.expanded[low])
        return (1.0 - share) * self.predict(at, low) + share * self.predict(at, high)

    cdef int sum_over_g(self) noexcept nogil:
        """Laplace value of a model: the sum over the nodes of log g that matter.

        Which nodes these are is first guessed near the mode given a typical g: with the likelihood's
        information about `rate` times the prior's at g = 1, and Q the quadratic form of the mode,

            m(g) ~ (1 + rate g)^(-m/2) exp(fit g / (1 + rate g) / 2),  fit = (rate + 1/g_0)^2 Q,

        with p(g) known. The first expansion is at the mean of the guess.
        """
        # mathematics: selection-mixture
        cdef const problem_t* p = self.p
        cdef int d = self.d, m = prior_dimension(p, d), k, at, low, high, found, best, _
        cdef double value, top, rate, fit, highest = -INFINITY, total = 0.0, mean = 0.0
        cdef int[3] wanted
        self.stride = G_PER_UNIT // 2
        while self.stride > 1 and self.stride > G_PER_UNIT * STEPS * sqrt(2.0 / (m + p.g_columns)):
            self.stride //= 2
        self.n_expansions = 0
        self.own.scale = exp(-log_g_of(p, m, p.typical_g))
        if self.keep_expansion(0, ROUGH) != CONVERGED:
            return NOT_CONVERGED
        # prior_exponent is -Q / 2 times the scale.
        rate = exp((log_det_factor(d, self.h, d) - log_det_factor(p.leading, self.h, d)
                    - self.log_det_prior) / m)
        fit = -2.0 * prior_exponent(p, d, self.cols, self.b) / self.own.scale * rate * rate
        rate = max(rate - self.own.scale, 1e-12 * rate)
        at = 0
        while at < G_NODES:
            highest = max(highest, guess(p, m, at, rate, fit))
            at += self.stride
        low, high = G_NODES - 1, 0
        at = 0
        while at < G_NODES:
            value = guess(p, m, at, rate, fit) - highest
            if value >= -SLACK:
                low, high = min(low, at), max(high, at)
                total += exp(value)
                mean += at * exp(value)
            at += self.stride
        at = self.stride * <int> (mean / (total * self.stride)) if total > 0.0 else p.typical_g
        self.predict(at, 0)         # the start
        if self.expand(at) != CONVERGED:
            return NOT_CONVERGED
        for _ in range(ROUNDS):
            self.fill_nodes(low, high)
            found = self.n_expansions
            self.quantiles(wanted)
            for k in range(3):
                at = wanted[k]
                if (abs(self.expanded[self.nearest(at)] - at) > NEAR * (wanted[2] - wanted[0])
                        and self.n_expansions < MOST_EXPANSIONS):
                    self.predict(at, self.nearest(at))      # the start
                    if self.expand(at) != CONVERGED:
                        return NOT_CONVERGED
            if self.n_expansions == found:
                break
        else:
            self.fill_nodes(low, high)
        top, value, best = -INFINITY, 0.0, 0
        for k in range(self.n_nodes):
            top = max(top, self.of_node[k])
        for k in range(self.n_nodes):
            value += exp(self.of_node[k] - top)
        self.log_marginal = top + log(value * self.stride / G_PER_UNIT)
        for k in range(self.n_expansions):
            if self.exact[k] > self.exact[best]:
                best = k
        self.return_to(best)
        return CONVERGED

    cdef void return_to(self, int e) noexcept nogil:
        """Go to the mode of an expansion, as if the normal distribution there had the mass of the whole."""
        self.predict(self.expanded[e], e)
        memcpy(self.b, &self.modes[e, 0], self.d * sizeof(double))
        linear_predictor(self.p, self.d, self.cols, self.b, self.eta)
        self.log_posterior = self.log_marginal - self.with_volume(0.0, self.log_det_prior)

    cdef void go_to(self, int k) noexcept nogil:
        """Go to the approximate mode given the k-th node, as if the normal there had the mass of the node."""
        cdef int at = self.node[k]
        self.predict(at, self.nearest(at))
        linear_predictor(self.p, self.d, self.cols, self.b, self.eta)
        self.log_posterior = (self.of_node[k] - self.log_prior_of(at)
                              - self.with_volume(0.0, self.log_det_prior))

    cdef void fill_nodes(self, int low, int high) noexcept nogil:
        """Compute the nodes from low to high, and beyond as long as they matter; leave out small ones."""
        cdef int at = low, k, kept = 0
        cdef double value, top = -INFINITY
        self.n_nodes = 0
        while at < G_NODES and self.n_nodes < MOST_NODES:
            value = self.interpolate(at)
            if at > high and value < top - CUT:
                break
            top = max(top, value)
            self.node[self.n_nodes], self.of_node[self.n_nodes] = at, value
            self.n_nodes += 1
            at += self.stride
        for k in range(self.n_nodes):
            if self.of_node[k] >= top - CUT:
                self.node[kept], self.of_node[kept] = self.node[k], self.of_node[k]
                kept += 1
        self.n_nodes = kept

    cdef void quantiles(self, int* out) noexcept nogil:
        """Nodes at the outer quantiles of log g, and at the median between them."""
        cdef int k, i = 0
        cdef double top = -INFINITY, total = 0.0, sum = 0.0
        cdef double[3] share
        share[0], share[1], share[2] = OUTER, 0.5, 1.0 - OUTER
        for k in range(self.n_nodes):
            top = max(top, self.of_node[k])
        for k in range(self.n_nodes):
            total += exp(self.of_node[k] - top)
        for k in range(self.n_nodes):
            sum += exp(self.of_node[k] - top)
            while i < 3 and (sum >= share[i] * total or k == self.n_nodes - 1):
                out[i] = self.node[k]
                i += 1

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
        return top + log(total * self.stride / G_PER_UNIT)

    cdef double density_of(self, int k, int m, double form) noexcept nogil:
        """Log prior density of coefficients and of the k-th node, without its constant."""
        cdef double log_g = log_g_of(self.p, m, self.node[k])
        return log_prior_g(self.p, m, self.node[k]) - 0.5 * m * log_g + form * exp(-log_g)
