"""Modes, Laplace values and importance-sampled marginal likelihoods of single models.

A pair of importance draws takes n d multiplications for its direction and two passes of exponentials. Under a
mixture of g-priors, draws are of (g, coefficients) jointly: the node of log g in proportion to its
approximate value, the coefficients from a proposal at the approximate mode given g. Their weights are exact.
"""

from libc.math cimport INFINITY, exp, lgamma, log, log1p, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._linalg cimport matmat_n, solve_lower_t
from pyrjsel._core._vecmath cimport exponentials
from pyrjsel.selection.evidence._mode_search cimport CONVERGED, RANK_DEFICIENT, ModeSearch, log_g_of
from pyrjsel.selection.regression._problem cimport (
    information, linear_predictor, model_columns, prior_exponent, problem_t,
)

cdef double LOG_2PI = 1.8378770664093454836
cdef double LOG_PI = 1.1447298858494001741

cdef enum:
    DIRECTIONS = 32             # importance directions in one matrix product
    ROWS = 2048                 # rows in one, for products that stay in a cache


cdef class ModeFinder(ModeSearch):
    """Modes and integrals of models of one problem.

    Parameters
    ----------
    problem, max_columns
        As for :class:`ModeSearch`.
    """

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
        memcpy(self.b, self.p.intercepts, self.p.leading * sizeof(double))
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
                memcpy(self.b, self.p.intercepts, self.p.leading * sizeof(double))
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

    def hessian(self, const double[::1] at not None):
        """Return minus the Hessian of the log-likelihood of the last model at coefficients (d,), (d, d)."""
        cdef const problem_t* p = self.p
        cdef int d = self.d, k, l
        out = np.empty((d, d))
        cdef double[:, ::1] view = out
        if at.shape[0] != d:
            raise ValueError("there must be a coefficient for each column")
        with nogil:
            linear_predictor(p, d, self.cols, &at[0], self.eta_new)
            p.working(p.n, self.eta_new, p.wy, p.w, self.residual, self.weight)
            # Its lower triangle, by columns, is the upper one by rows.
            information(p, d, self.cols, self.weight, self.scratch, &view[0, 0])
            for k in range(d):
                for l in range(k):
                    view[k, l] = view[l, k]
        return out

    def integrate(self, const double[::1] radius not None, const double[:, ::1] direction not None, double df,
                  uniform=None):
        """Importance draws of the last model, whose mode is known, that correct its Laplace value.

        Parameters
        ----------
        radius : float64 array (P,)
            Radii of the Student proposal, radius**2 / d distributed as F(d, df), stratified in order.
        direction : float64 array (P, d)
            Standard normal variates that give the directions; each is used with both signs.
        df : float
            Degrees of freedom of the proposal.
        uniform : float64 array (P,), optional
            Standard uniform variates, which choose nodes of log g; required under a mixture of g-priors.

        Returns
        -------
        log_unit : float
            Logarithm of the largest weight. The mean weight estimates the ratio of the marginal likelihood
            and the Laplace value.
        draws : ndarray (2 P, d)
            Draws on the internal scale, those of a pair side by side.
        weights : ndarray (2 P,)
            Their weights relative to the largest.
        """
        if self.d == 0 or self.status != CONVERGED:
            raise ValueError("no model has been integrated")
        self._check_pairs(radius, direction)
        if self.n_nodes == 0:
            return self._student(radius, direction, df)
        if uniform is None or len(uniform) != radius.shape[0]:
            raise ValueError("uniform must have one number a pair")
        owner = np.searchsorted(np.cumsum(self.node_weights)[:self.n_nodes - 1], uniform, side="right")
        return self._student(radius, direction, df, owner)

    def integrate_at(self, const unsigned char[::1] gamma not None, const double[::1] mode not None,
                     const double[:, ::1] factor not None, double log_posterior,
                     const double[::1] radius not None, const double[:, ::1] direction not None,
                     double df):
        """Importance draws of a model whose mode is given; see :meth:`integrate`.

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
        log_unit, draws, weights
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
        return self._student(radius, direction, df)

    def _check_pairs(self, const double[::1] radius, const double[:, ::1] direction):
        cdef Py_ssize_t count = radius.shape[0]
        if direction.shape[0] != count or direction.shape[1] != self.d or count < 2 or count % 2:
            raise ValueError("radius and direction must have one row a pair, an even number of them")

    cdef _student(self, const double[::1] radius, const double[:, ::1] direction, double nu, owner=None):
        """Draws from a Student distribution at the mode, with the inverse Hessian as its scale.

        Pair i is drawn given the node of log g number ``owner[i]``, if g is unknown.
        """
        cdef int d = self.d, j, k, i, place, best = 0, count = radius.shape[0]
        cdef double constant, norm
        cdef double[:, ::1] rays
        cdef double[::1] log_density = np.empty(count)
        cdef Py_ssize_t[::1] order = np.arange(count)
        cdef int[::1] ends = np.array([count], dtype=np.intc)
        if owner is not None:
            order = np.argsort(owner, kind="stable")
            ends = np.cumsum(np.bincount(owner, minlength=self.n_nodes)).astype(np.intc)
            best = int(np.argmax(self.exact[:self.n_expansions]))
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
                    self.go_to(k)
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
        return self._weighed(found)

    def reweigh(self, const double[::1] center not None, const double[:, ::1] rays not None,
                const double[::1] radius not None, const double[::1] log_density not None, bint paired=True):
        """Importance draws of the last model from another proposal.

        Parameters
        ----------
        center : float64 array (d,)
        rays : float64 array (P, d)
            The draws are ``center + radius * rays`` and, if they are paired, ``center - radius * rays``.
        radius : float64 array (P,)
            Stratified in order, as for :meth:`integrate`.
        log_density : float64 array (P,)
            Log density of the proposal at the draws of each ray, minus that of the normal distribution with
            the inverse Hessian as covariance at its mode.
        paired : bool

        Returns
        -------
        log_unit, draws, weights
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
        found = self._room(count, 1 + paired)
        cdef double[:, ::1] points = found[0]
        cdef double[::1] weights = found[1], image = found[2]
        cdef const Py_ssize_t[::1] order = np.arange(count)
        with nogil:
            self.gather_columns()
            self.weigh(&center[0], self.residual, rays, 0, count, order, radius, log_density, False, points,
                       weights, image, 1 + paired)
        return self._weighed(found)

    def _room(self, count, sides=2):
        """Return arrays for draws, for their weights, and for linear predictors."""
        return (np.empty((sides * count, self.d)), np.empty(sides * count),
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
                    double[::1] image, int sides=2) noexcept nogil:
        """Draws at center +- radius * rays and their log weights; eta corresponds to the centre.

        Row i of the rays belongs to pair ``order[i]``. With one side there is center + radius * rays only.
        Weights are with g known at the present node, or integrated out.
        """
        cdef const problem_t* p = self.p
        # Log-likelihoods are sums over rows if these are independent, with one linear predictor each.
        cdef int step = min(ROWS, p.n) if p.pooled == NULL and p.between == NULL else p.n
        cdef int d = self.d, k, i, sign, start = first, end, row, rows
        cdef Py_ssize_t s
        cdef double r, prior
        while start < last:
            end = min(start + DIRECTIONS, last)
            for i in range(start, end):
                for sign in range(sides):
                    w[sides * order[i] + sign] = 0.0
            row = 0
            while row < p.n:
                rows = min(step, p.n - row)
                matmat_n(rows, d, end - start, self.z + row, p.n, &rays[start, 0], &image[0])
                for i in range(start, end):
                    for sign in range(sides):
                        r = radius[order[i]] if sign == 0 else -radius[order[i]]
                        w[sides * order[i] + sign] += p.shifted(
                            rows, eta + row, &image[<Py_ssize_t> (i - start) * rows], r, p.wy + row,
                            p.w + row if p.w != NULL else NULL, self.eta_new)
                row += rows
            for i in range(start, end):
                for sign in range(sides):
                    s = sides * order[i] + sign
                    r = radius[order[i]] if sign == 0 else -radius[order[i]]
                    for k in range(d):
                        b[s, k] = center[k] + r * rays[i, k]
                    prior = prior_exponent(p, d, self.cols, &b[s, 0]) if given_g else self.exponent(&b[s, 0])
                    w[s] = w[s] + (prior - self.log_posterior) - log_density[order[i]]
            start = end

    cdef _weighed(self, found):
        """Return the largest of log weights, the draws, and their weights relative to the largest."""
        cdef double[::1] w = found[1]
        cdef double top = -INFINITY
        cdef Py_ssize_t s, count = w.shape[0]
        with nogil:
            for s in range(count):
                top = max(top, w[s])
            for s in range(count):
                w[s] -= top
            exponentials(count, &w[0], &w[0])
        return top, found[0], found[1]

    @property
    def node_weights(self):
        """Posterior probabilities of the nodes of log g of the last model; empty if g is known."""
        if self.n_nodes == 0:
            return np.empty(0)
        found = np.exp(np.asarray(self.of_node[:self.n_nodes]) - np.max(self.of_node[:self.n_nodes]))
        return found / found.sum()

    @property
    def node_shrinkage(self):
        """Shrinkage factors g / (1 + g) at these nodes."""
        cdef int k, m = self.d - self.p.leading
        return np.array([1.0 / (1.0 + exp(-log_g_of(self.p, m, self.node[k]))) for k in range(self.n_nodes)])

    def visit(self, int k):
        """Let `at` and `factor` be those of the last model given the k-th node of log g, approximately."""
        if not 0 <= k < self.n_nodes:
            raise ValueError("k must be the number of a node")
        self.predict(self.node[k], self.nearest(self.node[k]))

    @property
    def columns(self):
        """Columns of the last model, intercepts first; shape (d,)."""
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
