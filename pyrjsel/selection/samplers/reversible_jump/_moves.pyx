"""Moves of a chain over models and coefficients: births, deaths, swaps, coefficient updates.

A birth draws a block of coefficients from q_j; a death reverses it. q_j is a Student distribution with four
degrees of freedom. Its location and precision are fixed, or come from one Newton step for block j from zero
given all other coefficients, which is the same for birth and death. (A normal q_j has lighter tails than the
posterior if a term almost separates the classes: a chain in the tails would stay for hundreds of iterations.)
A swap is a simultaneous death and birth. Coefficients are updated by a Metropolis-Hastings step with a
proposal from one step of iterated weighted least squares, or a short Langevin step in its metric.

A birth proposal with n rows takes two dot products with the cached score and weight and one pass for eta + x
delta and its log-likelihood (n exponentials); a death proposal takes one pass with score and weight and two
dot products. Nothing is allocated.
"""

from libc.math cimport INFINITY, isfinite, lgamma, log, log1p, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._linalg cimport cholesky, log_det_factor, solve_lower, solve_lower_t
from pyrjsel._core._vecmath cimport axpy, dot3, dots
from pyrjsel._core.random cimport (
    bitgen_t, random_standard_exponential, random_standard_normal, random_standard_uniform,
)
from pyrjsel.selection.regression._problem cimport (
    Problem, add_precision, gram_scratch, information, linear_predictor, model_columns, prior_dimension,
    prior_exponent, prior_factor, prior_log_det, problem_t, product, score,
)
from pyrjsel.model_space._space cimport (
    Space, model_feasible_at, model_flip, model_log_prior, model_refresh,
)

cdef double LOG_2PI = 1.8378770664093454836
cdef double DF = 4.0
cdef double LOG_DF_PI = 2.5310242469692907930    # log(4 pi)

MOVES = ("birth", "death", "swap", "coefficients", "trade", "block")


cdef class Moves:
    """State and workspace of one chain; see the module docstring.

    Parameters
    ----------
    problem : Problem
    space : Space
    gamma : uint8 array (J,)
        Starting model, which must be feasible.
    b : float64 array (D + 1,)
        Coefficients on the internal scale, zero outside the model, and further numbers of subclasses.
    max_columns : int
        Largest number of columns of a feasible model, including the intercept.
    raw_shift : float64 array (D + 1,)
        Intercepts on the design's own scale are ``b[l] - raw_shift[l::L] @ b[l::L]``, with L of them.
    n_swaps : int
        Swap proposals per iteration.
    origin : float, default 0
        Value subtracted from intercepts on that scale in sums over draws.
    fixed_mean, fixed_factor : float64 arrays (D + 1,), (D + 1, largest term), optional
        Mean and Cholesky factor of the precision of each term's fixed proposal.
    """

    def __init__(self, Problem problem not None, Space space not None, gamma, b, *,
                 int max_columns, const double[::1] raw_shift, int n_swaps,
                 double origin=0.0, const double[::1] fixed_mean=None,
                 const double[:, ::1] fixed_factor=None):
        cdef int n = problem.c.n, k, j
        self.problem = problem
        self.space = space
        self.own = problem.c
        self.p = &self.own
        self.s = &space.c
        if space.c.n_terms != problem.c.n_terms:
            raise ValueError("problem and space must have the same terms")
        self.capacity = min(max_columns, problem.c.n_columns)
        k = self.capacity
        self.wide = 1
        for j in range(self.p.n_terms):
            self.wide = max(self.wide, self.p.term_start[j + 1] - self.p.term_start[j])
        cdef int wide = self.wide
        cdef unsigned char[::1] g = np.array(gamma, dtype=np.uint8)
        cdef double[::1] coef = np.array(b, dtype=np.float64)
        cdef int[::1] use = np.zeros(max(1, self.s.n_items), dtype=np.intc)
        cdef int n_index = 2 * (problem.c.n_columns + max(1, self.p.n_terms)) + wide
        cdef int[::1] index = np.zeros(n_index, dtype=np.intc)
        cdef double[::1] square = np.zeros(3 * k * k + 3 * k + 3)
        cdef double[::1] blocks = np.zeros(3 * wide + 2 * wide * wide + wide * k)
        cdef double[::1] rows = np.zeros((4 + 2 * problem.c.width) * n)
        cdef double[::1] table = np.zeros(gram_scratch(&problem.c, max(k, wide)))
        if g.shape[0] != self.p.n_terms or coef.shape[0] != self.p.n_columns + self.n_extra \
                or raw_shift.shape[0] != self.p.n_columns:
            raise ValueError("gamma and b must fit the problem")
        self.buffers = (g, coef, use, index, square, blocks, rows, table, raw_shift, fixed_mean,
                        fixed_factor)
        self.m.gamma = &g[0] if g.shape[0] else NULL
        self.m.item_use = &use[0]
        self.b = &coef[0]
        self.cols = &index[0]
        self.others = self.cols + problem.c.n_columns
        self.place = self.others + problem.c.n_columns
        self.free_terms = self.place + max(1, self.p.n_terms)
        self.own_columns = self.free_terms + max(1, self.p.n_terms)
        self.factor = &square[0]
        self.reduced = self.factor + k * k
        self.h = self.reduced + k * k
        self.small = self.h + k * k
        self.block = &blocks[0]
        self.image = self.block + 3 * wide + 2 * wide * wide
        self.eta = &rows[0]
        self.eta_new = self.eta + n
        self.residual = self.eta_new + n
        self.residual_new = self.residual + n
        self.weight = self.residual_new + n
        self.weight_new = self.weight + problem.c.width * n
        self.scratch = &table[0]
        self.raw_shift = &raw_shift[0]
        self.origin = origin
        self.fixed = fixed_mean is not None
        if self.fixed:
            if fixed_mean.shape[0] != self.p.n_columns or fixed_factor.shape[0] != self.p.n_columns \
                    or fixed_factor.shape[1] != wide:
                raise ValueError("the fixed proposal must fit the problem")
            self.fixed_mean = &fixed_mean[0]
            self.fixed_factor = &fixed_factor[0, 0]
        self.n_free = 0
        for j in range(self.p.n_terms):
            if self.s.free_term[j]:
                self.free_terms[self.n_free] = j
                self.n_free += 1
        self.n_swaps = n_swaps
        self.t = self.root_t = 1.0
        for k in range(N_MOVES):
            self.proposed[k] = 0
            self.accepted[k] = 0
        if self.refresh() != 0:
            raise ValueError("the chain must start at a model with linearly independent columns")

    # ------------------------------------------------------------------ derived from (gamma, b)

    cdef int refresh(self) noexcept nogil:
        """Recompute everything from (gamma, b); non-zero if the coefficient prior does not exist."""
        cdef const problem_t* p = self.p
        model_refresh(self.s, &self.m)
        if self.rebuild() != 0:
            return 1
        self.gather(self.b, self.small)
        linear_predictor(p, self.d, self.cols, self.small, self.eta)
        self.loglik = p.working(p.n, self.eta, p.wy, p.w, self.residual, self.weight)
        self.working = True
        self.log_prior = (
            prior_exponent(p, self.d, self.cols, self.small)
            + 0.5 * prior_log_det(p, self.d, self.cols, self.factor, self.capacity)
            + prior_dimension(p, self.d) * p.log_constant
        )
        self.log_model = model_log_prior(self.s, &self.m)
        return 0

    cdef void gather(self, const double* full, double* compact) noexcept nogil:
        cdef int k
        for k in range(self.d):
            compact[k] = full[self.cols[k]]

    cdef void need_working(self) noexcept nogil:
        """Compute score residual and weight at the current eta."""
        if not self.working:
            self.p.working(self.p.n, self.eta, self.p.wy, self.p.w, self.residual,
                           self.weight)
            self.working = True

    # ------------------------------------------------------------------ blocks

    cdef void cross(self, int j, const base_t* base, double* out) noexcept nogil:
        """out[a] := (K b)_a without its scale, for the columns a of term j, over the rest of the model."""
        cdef int first = self.p.term_start[j], size = self.p.term_start[j + 1] - first, a, k
        cdef const double* row
        cdef double value
        for a in range(size):
            row = self.p.precision + (first + a) * <Py_ssize_t> self.p.n_columns
            value = 0.0
            for k in range(self.d):
                if k < base.skip_from or k >= base.skip_to:
                    value += row[self.cols[k]] * self.b[self.cols[k]]
            out[a] = value

    cdef int proposal(self, int j, const base_t* base, const double* cross, double* mean,
                      double* factor) noexcept nogil:
        """Compute mean and Cholesky factor of the precision of q_j; non-zero if it does not exist."""
        cdef int first = self.p.term_start[j], size = self.p.term_start[j + 1] - first, a, c
        if self.fixed:
            for a in range(size):
                mean[a] = self.fixed_mean[first + a]
                for c in range(size):
                    factor[a + c * size] = (
                        self.root_t * self.fixed_factor[(first + a) * <Py_ssize_t> self.wide + c])
            return 0
        if self.newton_block(j, base, cross, mean, factor) != 0:
            return 1
        if self.t != 1.0:
            for a in range(size * size):
                factor[a] *= self.root_t
        return 0

    cdef int newton_block(self, int j, const base_t* base, const double* cross, double* mean,
                          double* factor) noexcept nogil:
        """One Newton step for block j from zero, and the factor of its precision; non-zero on failure."""
        cdef const problem_t* p = self.p
        cdef int first = p.term_start[j], size = p.term_start[j + 1] - first, a, c
        cdef const double* x
        if p.between != NULL or p.pooled != NULL:
            for a in range(size):
                self.own_columns[a] = first + a
            information(p, size, self.own_columns, base.weight, self.scratch, factor)
            for a in range(size):
                mean[a] = (product(p, first + a, base.residual)
                           + p.scale * (p.shift[first + a] - cross[a]))
                for c in range(a, size):
                    factor[c + a * size] += p.scale * p.precision[
                        (first + a) * <Py_ssize_t> p.n_columns + first + c]
            return self.newton_step(size, mean, factor)
        for a in range(size):
            x = p.columns + (first + a) * <Py_ssize_t> p.n
            mean[a] = (dots(p.n, x, base.residual, base.weight, &factor[a + a * size])
                       + p.scale * (p.shift[first + a] - cross[a]))
            for c in range(a + 1, size):
                factor[c + a * size] = dot3(p.n, x, p.columns + (first + c) * <Py_ssize_t> p.n,
                                            base.weight)
            for c in range(a, size):
                factor[c + a * size] += p.scale * p.precision[
                    (first + a) * <Py_ssize_t> p.n_columns + first + c]
        return self.newton_step(size, mean, factor)

    cdef int newton_step(self, int size, double* mean, double* factor) noexcept nogil:
        """mean := H^-1 mean, and factor := that of H, from its lower triangle; non-zero on failure."""
        if cholesky(size, factor, size) != 0:
            return 1
        solve_lower(size, factor, size, mean)
        solve_lower_t(size, factor, size, mean)
        return 0

    cdef double distance(self, int size, const double* delta, const double* mean,
                         const double* factor) noexcept nogil:
        """(delta - mean)' L L' (delta - mean)."""
        cdef int a, c
        cdef double total = 0.0, value
        for a in range(size):
            value = 0.0
            for c in range(a, size):
                value += factor[c + a * size] * (delta[c] - mean[c])
            total += value * value
        return total

    cdef double normal_logpdf(self, int size, const double* delta, const double* mean,
                              const double* factor) noexcept nogil:
        cdef double total = self.distance(size, delta, mean, factor)
        return 0.5 * (log_det_factor(size, factor, size) - total - size * LOG_2PI)

    cdef double student_logpdf(self, int size, const double* delta, const double* mean,
                               const double* factor) noexcept nogil:
        """log q_j(delta), for coefficients in the problem's unit."""
        cdef double total = self.distance(size, delta, mean, factor), half = 0.5 * (DF + size)
        return (0.5 * log_det_factor(size, factor, size) + lgamma(half) - lgamma(0.5 * DF)
                - 0.5 * size * LOG_DF_PI - half * log1p(total / DF) + size * self.p.log_unit)

    cdef double exponent_gain(self, int j, const double* delta, const double* cross) noexcept nogil:
        """Contribution of block j = delta to the exponent of the coefficient prior."""
        cdef const problem_t* p = self.p
        cdef int first = p.term_start[j], size = p.term_start[j + 1] - first, a, c
        cdef const double* row
        cdef double value = 0.0, inner
        for a in range(size):
            row = p.precision + (first + a) * <Py_ssize_t> p.n_columns + first
            inner = 0.0
            for c in range(size):
                inner += row[c] * delta[c]
            value += delta[a] * (p.shift[first + a] - cross[a] - 0.5 * inner)
            value -= 0.5 * p.penalty[first + a]
        return p.scale * value

    cdef double log_det_gain(self, int j, const double* factor, int d, const int* cols) noexcept nogil:
        """Change of log det K of the columns `cols` by adding term j; -inf if it depends on them.

        Sets self.entering to the product of e / 2 over its columns, with e the proportion of precision left
        of each.
        """
        cdef const problem_t* p = self.p
        cdef int first = p.term_start[j], size = p.term_start[j + 1] - first
        cdef int skip = p.flat, m = d - skip, a, c, k
        cdef const double* row
        cdef double* v
        cdef double* schur = self.block + 3 * self.wide + self.wide * self.wide
        cdef double value, total = 0.0
        self.entering = 1.0
        if p.log_weights != NULL:
            for a in range(size):
                total += p.log_weights[first + a]
            return total
        for a in range(size):
            row = p.precision + (first + a) * <Py_ssize_t> p.n_columns
            v = self.image + a * <Py_ssize_t> self.capacity
            for k in range(m):
                v[k] = row[cols[skip + k]]
            solve_lower(m, factor, self.capacity, v)
            for c in range(a + 1):
                value = row[first + c]
                for k in range(m):
                    value -= v[k] * self.image[c * <Py_ssize_t> self.capacity + k]
                schur[a + c * size] = value
        if cholesky(size, schur, size) != 0:
            return -INFINITY
        for a in range(size):
            value = schur[a + a * size]
            self.entering *= 0.5 * value * value / p.precision[
                (first + a) * <Py_ssize_t> (p.n_columns + 1)]
            total += 2.0 * log(value)
        return total

    cdef bint dependent(self, double slack) noexcept nogil:
        """Whether the toggled model has linearly dependent columns, by the rule of prior_factor.

        `slack` is that of the model with the entered term. If a proportion e is left of the precision of a
        column, at least e / (1 + e) is left of the others, so that few models need the full check: with v =
        K^-1 K_j, (K^-1)_kk increases by v_k^2 / (e K_jj) <= (K^-1)_kk / e.
        """
        cdef int d
        if slack * self.entering > self.p.rank_tol:
            return False
        d = model_columns(self.p, self.m.gamma, self.others)
        return prior_factor(self.p, d, self.others, self.h, self.capacity, &slack) != 0

    cdef void move_block(self, const double* source, int j, double sign, const double* delta,
                         double* target) noexcept nogil:
        """target := source + sign X_j delta, without a likelihood."""
        cdef const problem_t* p = self.p
        cdef int first = p.term_start[j], a
        memcpy(target, source, p.n * sizeof(double))
        for a in range(p.term_start[j + 1] - first):
            axpy(p.n, sign * delta[a], p.columns + (first + a) * <Py_ssize_t> p.n, target)

    cdef double shift_block(self, const double* source, int j, const double* delta,
                            double* target) noexcept nogil:
        """target := source + X_j delta; return the log-likelihood there."""
        cdef const problem_t* p = self.p
        cdef int first = p.term_start[j], last = p.term_start[j + 1] - 1, a
        if last > first:
            memcpy(target, source, p.n * sizeof(double))
            for a in range(last - first):
                axpy(p.n, delta[a], p.columns + (first + a) * <Py_ssize_t> p.n, target)
            source = target
        return p.shifted(p.n, source, p.columns + last * <Py_ssize_t> p.n,
                         delta[last - first], p.wy, p.w, target)

    cdef int without(self, int j, int* cols) noexcept nogil:
        """Set the columns of the model without term j, and self.reduced to their prior factor."""
        cdef int d = 0, k, at = self.place[j]
        cdef int size = self.p.term_start[j + 1] - self.p.term_start[j]
        for k in range(self.d):
            if k < at or k >= at + size:
                cols[d] = self.cols[k]
                d += 1
        prior_factor(self.p, d, cols, self.reduced, self.capacity, &self.slack_reduced)
        return d

    cdef int rebuild(self) noexcept nogil:
        """Set columns, positions and prior factor of the present gamma; non-zero if there is no prior."""
        cdef int j, at = self.p.leading
        self.d = model_columns(self.p, self.m.gamma, self.cols)
        for j in range(self.p.n_terms):
            self.place[j] = -1
            if self.m.gamma[j]:
                self.place[j] = at
                at += self.p.term_start[j + 1] - self.p.term_start[j]
        if self.d > self.capacity:
            return 1
        return prior_factor(self.p, self.d, self.cols, self.factor, self.capacity, &self.slack)

    # ------------------------------------------------------------------ moves

    cdef double evaluate_birth(self, int j, bitgen_t* rng, const double* given) noexcept nogil:
        """Add j, draw its block (or use the given one) and return the log acceptance ratio.

        The block is in self.block + 2 wide, eta in eta_new and the new values in self.small.
        """
        # mathematics: jumps-flip
        cdef int size = self.p.term_start[j + 1] - self.p.term_start[j]
        cdef double* cross = self.block
        cdef double* mean = self.block + self.wide
        cdef double* delta = self.block + 2 * self.wide
        cdef double* factor = self.block + 3 * self.wide
        cdef double gain, log_model, log_q, loglik
        cdef base_t base
        log_model = self.toggled(j)
        if log_model == -INFINITY or self.d + size > self.capacity:
            return -INFINITY
        gain = self.log_det_gain(j, self.factor, self.d, self.cols)
        if gain == -INFINITY or self.dependent(self.slack):
            return -INFINITY
        self.need_working()
        base.residual = self.residual
        base.weight = self.weight
        base.skip_from = base.skip_to = -1
        self.cross(j, &base, cross)
        if self.proposal(j, &base, cross, mean, factor) != 0:
            return -INFINITY
        self.draw_block(size, rng, given, mean, factor, True, delta)
        log_q = self.student_logpdf(size, delta, mean, factor)
        loglik = self.shift_block(self.eta, j, delta, self.eta_new)
        gain = self.exponent_gain(j, delta, cross) + 0.5 * gain + size * self.p.log_constant
        self.small[0] = loglik
        self.small[1] = self.log_prior + gain
        self.small[2] = log_model
        return self.t * (loglik - self.loglik + gain + log_model - self.log_model) - log_q

    cdef double evaluate_death(self, int j) noexcept nogil:
        """Remove j and return the log acceptance ratio; sets eta_new and its score."""
        cdef int first = self.p.term_start[j], size = self.p.term_start[j + 1] - first
        cdef double* cross = self.block
        cdef double* mean = self.block + self.wide
        cdef double* factor = self.block + 3 * self.wide
        cdef double gain, log_model, log_q, loglik
        cdef base_t base
        log_model = self.toggled(j)
        if log_model == -INFINITY:
            return -INFINITY
        self.move_block(self.eta, j, -1.0, self.b + first, self.eta_new)
        loglik = self.p.working(self.p.n, self.eta_new, self.p.wy, self.p.w,
                                self.residual_new, self.weight_new)
        base.residual = self.residual_new
        base.weight = self.weight_new
        base.skip_from = self.place[j]
        base.skip_to = self.place[j] + size
        self.cross(j, &base, cross)
        if self.proposal(j, &base, cross, mean, factor) != 0:
            return -INFINITY
        log_q = self.student_logpdf(size, self.b + first, mean, factor)
        gain = self.log_det_of(j)
        gain = self.exponent_gain(j, self.b + first, cross) + 0.5 * gain + size * self.p.log_constant
        self.small[0] = loglik
        self.small[1] = self.log_prior - gain
        self.small[2] = log_model
        return self.t * (loglik - self.loglik - gain + log_model - self.log_model) + log_q

    cdef double log_det_of(self, int j) noexcept nogil:
        """log det K minus its value without term j: minus log det of a block of K^-1."""
        cdef int skip = self.p.flat, m = self.d - skip, at = self.place[j] - skip
        cdef int size = self.p.term_start[j + 1] - self.p.term_start[j], a, c, k, rest = m - at
        cdef double* v
        cdef double* inverse = self.block + 3 * self.wide + self.wide * self.wide
        cdef double value
        if self.p.log_weights != NULL:
            return self.log_det_gain(j, self.factor, self.d, self.cols)
        for a in range(size):
            v = self.image + a * <Py_ssize_t> self.capacity
            memset(v, 0, rest * sizeof(double))
            v[a] = 1.0
            # Unit vectors of the block: all entries before it remain zero.
            solve_lower(rest, self.factor + at * <Py_ssize_t> (self.capacity + 1), self.capacity, v)
            for c in range(a + 1):
                value = 0.0
                for k in range(rest):
                    value += v[k] * self.image[c * <Py_ssize_t> self.capacity + k]
                inverse[a + c * size] = value
        if cholesky(size, inverse, size) != 0:
            return INFINITY
        return -log_det_factor(size, inverse, size)

    cdef double evaluate_swap(self, int j, int k, bitgen_t* rng, const double* given) noexcept nogil:
        """Remove j, add k, draw k's block and return the log acceptance ratio."""
        cdef const problem_t* p = self.p
        cdef int first = p.term_start[j], size_j = p.term_start[j + 1] - first
        cdef int size = p.term_start[k + 1] - p.term_start[k], d
        cdef double* cross = self.block
        cdef double* mean = self.block + self.wide
        cdef double* delta = self.block + 2 * self.wide
        cdef double* factor = self.block + 3 * self.wide
        cdef double loss, gain, log_model, log_q, loglik
        cdef base_t base
        model_flip(self.s, &self.m, j)
        log_model = self.toggled(k)
        if log_model != -INFINITY and not model_feasible_at(self.s, &self.m, j):
            log_model = -INFINITY
        if log_model == -INFINITY or self.d - size_j + size > self.capacity:
            return -INFINITY
        d = self.without(j, self.others)
        gain = self.log_det_gain(k, self.reduced, d, self.others)
        if gain == -INFINITY or self.dependent(self.slack_reduced):
            return -INFINITY
        self.move_block(self.eta, j, -1.0, self.b + first, self.eta_new)
        p.working(p.n, self.eta_new, p.wy, p.w, self.residual_new, self.weight_new)
        base.residual = self.residual_new
        base.weight = self.weight_new
        base.skip_from = self.place[j]
        base.skip_to = self.place[j] + size_j
        # Reverse move: q_j at the leaving block.
        self.cross(j, &base, cross)
        if self.proposal(j, &base, cross, mean, factor) != 0:
            return -INFINITY
        log_q = self.student_logpdf(size_j, self.b + first, mean, factor)
        loss = self.log_det_of(j)
        loss = self.exponent_gain(j, self.b + first, cross) + 0.5 * loss + size_j * p.log_constant
        # Forward move: q_k.
        self.cross(k, &base, cross)
        if self.proposal(k, &base, cross, mean, factor) != 0:
            return -INFINITY
        self.draw_block(size, rng, given, mean, factor, True, delta)
        log_q -= self.student_logpdf(size, delta, mean, factor)
        gain = self.exponent_gain(k, delta, cross) + 0.5 * gain + size * self.p.log_constant
        loglik = self.shift_block(self.eta_new, k, delta, self.residual_new)
        self.small[0] = loglik
        self.small[1] = self.log_prior + gain - loss
        self.small[2] = log_model
        return self.t * (loglik - self.loglik + gain - loss + log_model - self.log_model) + log_q

    cdef double evaluate_coefficients(self, double reach, bitgen_t* rng,
                                      const double* given) noexcept nogil:
        """Propose all coefficients by one weighted least-squares step; return the log acceptance ratio."""
        cdef const problem_t* p = self.p
        cdef int d = self.d
        cdef double* present = self.small
        cdef double* mean = self.small + self.capacity
        cdef double* new = mean + self.capacity
        cdef double* values = new + self.capacity
        cdef double log_q, loglik, exponent
        self.need_working()
        self.gather(self.b, present)
        exponent = prior_exponent(p, d, self.cols, present)
        if self.least_squares(reach, present, self.residual, self.weight, mean) != 0:
            return -INFINITY
        self.draw_block(d, rng, given, mean, self.h, False, new)
        log_q = self.normal_logpdf(d, new, mean, self.h)
        linear_predictor(p, d, self.cols, new, self.eta_new)
        loglik = p.working(p.n, self.eta_new, p.wy, p.w, self.residual_new, self.weight_new)
        if not isfinite(loglik) or self.least_squares(reach, new, self.residual_new,
                                                      self.weight_new, mean) != 0:
            return -INFINITY
        log_q -= self.normal_logpdf(d, present, mean, self.h)
        exponent = prior_exponent(p, d, self.cols, new) - exponent
        values[0] = loglik
        values[1] = self.log_prior + exponent
        return self.t * (loglik - self.loglik + exponent) - log_q

    cdef int least_squares(self, double reach, const double* b, const double* residual,
                           const double* weight, double* mean) noexcept nogil:
        """Compute the mean and the factor of the precision (in self.h) of the proposal from b.

        With H the precision at b and t, a `reach` of 1 takes the step H^-1 score, of length at most 3 + 2
        sqrt(d) in the norm of H, with precision H; near the mode the limit is not reached. Far from the mode
        the curvature changes along the step, and the reverse of a full step would have a negligible density.
        A smaller reach is a Langevin step with half its square as drift, of length at most 2 reach, and
        precision H / reach^2: it leaves regions that even the limited step does not.
        """
        cdef int k
        cdef double length = 0.0, most, cut
        information(self.p, self.d, self.cols, weight, self.scratch, self.h)
        add_precision(self.p, self.d, self.cols, self.h)
        if cholesky(self.d, self.h, self.d) != 0:
            return 1
        score(self.p, self.d, self.cols, b, residual, mean)
        solve_lower(self.d, self.h, self.d, mean)
        for k in range(self.d):
            length += mean[k] * mean[k]
        cut = 1.0 if reach == 1.0 else 0.5 * reach * reach
        most = 3.0 + 2.0 * sqrt(self.d) if reach == 1.0 else 2.0 * reach
        length = self.root_t * sqrt(length)
        if cut * length > most:
            cut = most / length
        solve_lower_t(self.d, self.h, self.d, mean)
        for k in range(self.d):
            mean[k] = b[k] + cut * mean[k]
        if reach != 1.0 or self.t != 1.0:
            for k in range(self.d * self.d):
                self.h[k] *= self.root_t / reach
        return 0

    cdef void draw_block(self, int size, bitgen_t* rng, const double* given, const double* mean,
                         const double* factor, bint heavy, double* out) noexcept nogil:
        """out := mean + L'^-1 z, from q_j if `heavy`, or the given block if there is no generator."""
        cdef int a
        cdef double scale
        if rng == NULL:
            memcpy(out, given, size * sizeof(double))
            return
        for a in range(size):
            out[a] = random_standard_normal(rng)
        if heavy:
            # A chi-square variate with four degrees of freedom, divided by four, is the mean of two
            # exponentials.
            scale = random_standard_exponential(rng)
            scale = 1.0 / sqrt(0.5 * (scale + random_standard_exponential(rng)))
            for a in range(size):
                out[a] *= scale
        solve_lower_t(size, factor, size, out)
        for a in range(size):
            out[a] += mean[a]

    cdef double toggled(self, int j) noexcept nogil:
        """Toggle j; return the log prior of the new model, -inf if a constraint is violated."""
        model_flip(self.s, &self.m, j)
        if not model_feasible_at(self.s, &self.m, j):
            return -INFINITY
        return model_log_prior(self.s, &self.m)

    cdef void take(self, const double* values, bint working) noexcept nogil:
        """Accept eta_new (with its score, if `working`) and the three new values."""
        cdef double* t
        t = self.eta
        self.eta = self.eta_new
        self.eta_new = t
        if working:
            t = self.residual
            self.residual = self.residual_new
            self.residual_new = t
            t = self.weight
            self.weight = self.weight_new
            self.weight_new = t
        self.working = working
        self.loglik = values[0]
        self.log_prior = values[1]

    cdef bint decide(self, int move, double log_ratio, bitgen_t* rng) noexcept nogil:
        cdef double u
        self.proposed[move] += 1
        if log_ratio == -INFINITY:
            return False
        u = random_standard_uniform(rng)
        if log(u) < log_ratio:
            self.accepted[move] += 1
            return True
        return False

    cdef void flip(self, int j, bitgen_t* rng) noexcept nogil:
        cdef int first = self.p.term_start[j], size = self.p.term_start[j + 1] - first
        if self.m.gamma[j]:
            if self.decide(DEATH, self.evaluate_death(j), rng):
                memset(self.b + first, 0, size * sizeof(double))
                self.log_model = self.small[2]
                self.take(self.small, True)
                self.rebuild()
            else:
                model_flip(self.s, &self.m, j)
        elif self.decide(BIRTH, self.evaluate_birth(j, rng, NULL), rng):
            memcpy(self.b + first, self.block + 2 * self.wide, size * sizeof(double))
            self.log_model = self.small[2]
            self.take(self.small, False)
            self.rebuild()
        else:
            model_flip(self.s, &self.m, j)

    cdef void swap(self, bitgen_t* rng) noexcept nogil:
        cdef int n_in = self.m.n_free, n_out = self.n_free - self.m.n_free, j, k, first
        cdef double* t
        if n_in == 0 or n_out == 0:
            return
        j = self.pick(1, <int> (random_standard_uniform(rng) * n_in))
        k = self.pick(0, <int> (random_standard_uniform(rng) * n_out))
        if self.decide(SWAP, self.evaluate_swap(j, k, rng, NULL), rng):
            first = self.p.term_start[j]
            memset(self.b + first, 0, (self.p.term_start[j + 1] - first) * sizeof(double))
            first = self.p.term_start[k]
            memcpy(self.b + first, self.block + 2 * self.wide,
                   (self.p.term_start[k + 1] - first) * sizeof(double))
            # The swap's linear predictor is in residual_new, whose score is no longer needed.
            t = self.eta_new
            self.eta_new = self.residual_new
            self.residual_new = t
            self.log_model = self.small[2]
            self.take(self.small, False)
            self.rebuild()
        else:
            model_flip(self.s, &self.m, k)
            model_flip(self.s, &self.m, j)

    cdef int pick(self, unsigned char inside, int rank) noexcept nogil:
        """The free term with a given rank among those inside (or outside) the model."""
        cdef int i, j = -1
        for i in range(self.n_free):
            j = self.free_terms[i]
            if self.m.gamma[j] == inside:
                if rank == 0:
                    return j
                rank -= 1
        return j

    cdef void coefficients(self, bitgen_t* rng) noexcept nogil:
        cdef int k
        cdef double u = random_standard_uniform(rng), reach = 1.0
        # Three in four updates are full steps; the others have a reach of 1/4, 1/16 or 1/64.
        if u < 0.25:
            reach = 0.25 if u < 0.125 else (0.0625 if u < 0.1875 else 0.015625)
        if self.decide(COEFFICIENTS, self.evaluate_coefficients(reach, rng, NULL), rng):
            for k in range(self.d):
                self.b[self.cols[k]] = self.small[2 * self.capacity + k]
            self.take(self.small + 3 * self.capacity, True)
