"""Moves of several terms at once: proposals of their coefficients, and updates of a term and its ancestors.

Terms R leave a model, terms A enter it, and the coefficients of the remaining terms M do not change: those of
A are drawn from q(. | A, M, b_M), and the reverse move draws those of R. q is the Student distribution of
births, jointly for all of A: its location comes from a few Newton steps from zero and its precision from the
last step, given b_M (or, with fixed proposals, it is the product of those of the terms).

A family is a term with the terms that heredity requires, also called its unit. A family move chooses one at
random and draws its included terms uniformly from the other sets that give a feasible model. These are
counted given the terms outside the family, so that the reverse move has the same probability.

Trades in ``_trades.pyx`` use the same functions.
"""

from libc.math cimport INFINITY, isfinite, sqrt
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core._linalg cimport cholesky, solve_lower, solve_lower_t
from pyrjsel._core._vecmath cimport axpy, dot
from pyrjsel._core.random cimport bitgen_t, random_standard_uniform
from pyrjsel.selection.samplers.reversible_jump._moves cimport Moves, base_t, FAMILY
from pyrjsel.selection.regression._problem cimport (
    add_precision, information, model_columns, prior_dimension, prior_exponent, prior_factor, prior_log_det,
    problem_t,
)
from pyrjsel.model_space._space cimport (
    model_feasible_at, model_flip, model_log_prior, model_refresh, space_t,
)

cdef enum:
    LARGEST = 7                 # terms of a unit


cdef class Blocks(Moves):
    """Family moves, and functions for trades; takes the parameters of :class:`Moves`, and

    Parameters
    ----------
    n_trades, n_family_moves : int, default 0
        Proposals per iteration.
    families : sequence of int arrays
        Each free term's free ancestors, parents before children, then the term, as
        ``pyrjsel.model_space.term_blocks`` returns them.
    entry : float64 array (J,), optional
        Positive weights of the entering term in trades; None means equal weights.
    """

    def __init__(self, problem, space, gamma, b, *, int n_trades=0, int n_family_moves=0, families=(),
                 entry=None, **rest):
        Moves.__init__(self, problem, space, gamma, b, **rest)
        cdef int n = self.p.n, n_terms = self.p.n_terms, k = self.capacity, j
        units = [[j] if self.s.free_term[j] else [] for j in range(n_terms)]
        for family in families:
            if not 1 < len(family) <= LARGEST or not all(self.s.free_term[j] for j in family):
                raise ValueError("a family must have two to seven free terms")
            *_, last = family
            units[last] = list(family)
        cdef int[::1] start = np.cumsum([0, *map(len, units)]).astype(np.intc)
        cdef int[::1] terms = np.array([*[j for unit in units for j in unit], 0], dtype=np.intc)
        cdef int[::1] several = np.array([*[j for j in range(n_terms) if len(units[j]) > 1], 0], np.intc)
        cdef unsigned char[::1] former_gamma = np.zeros(max(1, n_terms), dtype=np.uint8)
        cdef double[::1] reals = np.zeros(self.p.n_columns + 4 * max(1, n_terms) + 2 * n + 4 * k)
        cdef int[::1] index = np.zeros(5 * (n_terms + LARGEST) + k, dtype=np.intc)
        cdef double[::1] weights = np.ones(max(1, n_terms)) if entry is None else np.array(entry, dtype=float)
        if entry is not None and not (np.shape(entry) == (n_terms,) and np.all(np.isfinite(entry))
                                      and np.all(np.asarray(entry) > 0.0)):
            raise ValueError("entry must be a positive number for each term")
        self.block_buffers = (start, terms, several, former_gamma, reals, index, weights)
        self.entry = &weights[0] if entry is not None and n_terms else NULL
        self.unit_start, self.unit_term, self.family = &start[0], &terms[0], &several[0]
        self.former_gamma = &former_gamma[0]
        self.former = &reals[0]
        self.chances = self.former + self.p.n_columns
        self.changes = self.chances + max(1, n_terms)
        self.changes_unit = self.changes + max(1, n_terms)
        self.loss = self.changes_unit + max(1, n_terms)
        self.eta_base = self.loss + max(1, n_terms)
        self.eta_path = self.eta_base + n
        self.delta = self.eta_path + n
        self.held = self.delta + k
        self.drawn = self.held + k
        self.values = self.drawn + k
        self.enter = &index[0]
        self.leave = self.enter + n_terms + LARGEST
        self.path = self.leave + n_terms + LARGEST
        self.unit_moved = self.path + n_terms + LARGEST
        self.back = self.unit_moved + n_terms + LARGEST
        self.path_cols = self.back + n_terms + LARGEST
        self.loose = self.s[0]
        self.loose.budget = INFINITY
        self.loose.max_size = n_terms
        self.n_trades, self.n_family_moves = n_trades, n_family_moves
        self.n_families = len(families)

    # ------------------------------------------------------------------ models

    cdef bint inside_bounds(self) noexcept nogil:
        return self.m.size <= self.s.max_size and self.m.cost <= self.s.budget

    cdef bint standing(self, const space_t* s, const int* terms, int n) noexcept nogil:
        """Whether the model is feasible as far as these terms are concerned."""
        cdef int i
        for i in range(n):
            if not model_feasible_at(s, &self.m, terms[i]):
                return False
        return True

    cdef int lay(self, const int* terms, int n, int pattern) noexcept nogil:
        """Set the terms of a unit to the bits of `pattern`; return the former pattern."""
        cdef int i, before = 0
        for i in range(n):
            before |= self.m.gamma[terms[i]] << i
            if self.m.gamma[terms[i]] != pattern >> i & 1:
                model_flip(self.s, &self.m, terms[i])
        return before

    cdef int patterns(self, const space_t* s, const int* terms, int n, int must, int may, int avoid,
                      int rank) noexcept nogil:
        """Count the patterns of `must` and a part of `may`, other than `avoid`, that give a feasible model.

        With a non-negative `rank`, return the pattern of that rank. The model does not change.
        """
        cdef int before = self.lay(terms, n, must), part = 0, count = 0, found = -1
        while True:
            self.lay(terms, n, must | part)
            if must | part != avoid and self.standing(s, terms, n):
                if count == rank:
                    found = must | part
                    break
                count += 1
            part = (part - may) & may
            if part == 0:
                break
        self.lay(terms, n, before)
        return count if rank < 0 else found

    cdef int patterns_of(self, int j, bint inward, int rank) noexcept nogil:
        """Count the sets U for term j, or return the pattern with (without) that of a given rank."""
        cdef const int* terms = self.unit_term + self.unit_start[j]
        cdef int n = self.unit_start[j + 1] - self.unit_start[j], i, now = 0, own = 1 << (n - 1)
        for i in range(n):
            now |= self.m.gamma[terms[i]] << i
        if inward:
            return self.patterns(&self.loose, terms, n, now | own, (own - 1) & ~now, -1, rank)
        return self.patterns(&self.loose, terms, n, 0, now & ~own, -1, rank)

    cdef void toggle_unit(self) noexcept nogil:
        cdef int i
        for i in range(self.n_unit):
            model_flip(self.s, &self.m, self.unit_moved[i])

    cdef bint has_prior(self) noexcept nogil:
        """Whether the present model has a coefficient prior."""
        cdef double slack
        cdef int d = model_columns(self.p, self.m.gamma, self.others)
        if d > self.capacity:
            return False
        return prior_factor(self.p, d, self.others, self.reduced, self.capacity, &slack) == 0

    cdef void remember(self) noexcept nogil:
        memcpy(self.former_gamma, self.m.gamma, self.p.n_terms)
        memcpy(self.former, self.b, self.p.n_columns * sizeof(double))
        self.n_enter = self.n_leave = 0
        self.need_working()

    cdef void restore(self) noexcept nogil:
        memcpy(self.m.gamma, self.former_gamma, self.p.n_terms)
        memcpy(self.b, self.former, self.p.n_columns * sizeof(double))
        model_refresh(self.s, &self.m)

    cdef void leave_terms(self) noexcept nogil:
        """eta_base := eta without the leaving terms, whose coefficients are set to zero."""
        cdef int i, a
        memcpy(self.eta_base, self.eta, self.p.n * sizeof(double))
        self.base_d = self.d
        for i in range(self.n_leave):
            for a in range(self.p.term_start[self.leave[i]], self.p.term_start[self.leave[i] + 1]):
                axpy(self.p.n, -self.b[a], self.p.columns + a * <Py_ssize_t> self.p.n, self.eta_base)
                self.b[a] = 0.0
                self.base_d -= 1

    # ------------------------------------------------------------------ coefficients

    cdef void open_path(self) noexcept nogil:
        """Begin a path at the remaining terms."""
        self.n_path = self.path_d = 0

    cdef void look(self) noexcept nogil:
        """Compute residual_new and weight_new at the coefficients on the path."""
        cdef int a
        memcpy(self.eta_path, self.eta_base, self.p.n * sizeof(double))
        for a in range(self.path_d):
            axpy(self.p.n, self.delta[a], self.p.columns + self.path_cols[a] * <Py_ssize_t> self.p.n,
                 self.eta_path)
        self.p.working(self.p.n, self.eta_path, self.p.wy, self.p.w, self.residual_new,
                       self.weight_new)

    cdef void add_term(self, int j) noexcept nogil:
        """Add term j to the path, with coefficients zero; there must be room for its columns."""
        cdef int first = self.p.term_start[j], a
        cdef base_t base
        base.skip_from = base.skip_to = -1
        self.cross(j, &base, self.block)
        for a in range(self.p.term_start[j + 1] - first):
            self.path_cols[self.path_d] = first + a
            self.delta[self.path_d] = 0.0
            self.held[self.path_d] = self.block[a]
            self.path_d += 1
        self.path[self.n_path] = j
        self.n_path += 1

    cdef int newton(self) noexcept nogil:
        """One Newton step for all coefficients on the path, of length at most 3 + 2 sqrt(d); non-zero on
        failure.

        Residual and weight must be those of `look`. Sets self.h to the factor of the precision.
        """
        cdef const problem_t* p = self.p
        cdef int d = self.path_d, a, c
        cdef double value, length = 0.0, most
        cdef const double* row
        information(p, d, self.path_cols, self.weight_new, self.scratch, self.h)
        add_precision(p, d, self.path_cols, self.h)
        if cholesky(d, self.h, d) != 0:
            return 1
        for a in range(d):
            row = p.precision + self.path_cols[a] * <Py_ssize_t> p.n_columns
            value = p.shift[self.path_cols[a]] - self.held[a]
            for c in range(d):
                value -= row[self.path_cols[c]] * self.delta[c]
            self.values[a] = p.scale * value + dot(
                p.n, p.columns + self.path_cols[a] * <Py_ssize_t> p.n, self.residual_new)
        solve_lower(d, self.h, d, self.values)
        if not p.quadratic:
            for a in range(d):
                length += self.values[a] * self.values[a]
            most = 3.0 + 2.0 * sqrt(d)
            length = sqrt(length)
            if not isfinite(length):
                return 1
            if length > most:
                for a in range(d):
                    self.values[a] *= most / length
        solve_lower_t(d, self.h, d, self.values)
        for a in range(d):
            self.delta[a] += self.values[a]
        return 0

    cdef int close_path(self, int steps) noexcept nogil:
        """Take the last Newton steps: the proposal has location delta and precision H H' with H = self.h."""
        cdef int a, _step
        if self.fixed:
            return 0
        for _step in range(1 if self.p.quadratic and steps else steps):
            self.look()
            if self.newton() != 0:
                return 1
        if self.t != 1.0:
            for a in range(self.path_d * self.path_d):
                self.h[a] *= self.root_t
        return 0

    cdef int whole_path(self, const int* terms, int n) noexcept nogil:
        """Compute the joint proposal of all these terms; non-zero if it does not exist."""
        cdef int i
        self.open_path()
        for i in range(n):
            self.add_term(terms[i])
        return self.close_path(STEPS) if n else 0

    cdef void draw_path(self, bitgen_t* rng, const double* given) noexcept nogil:
        """Draw the coefficients of all terms on the path into self.drawn, or copy given ones."""
        cdef int i, j, at = 0
        if not self.fixed:
            self.draw_block(self.path_d, rng, given, self.delta, self.h, True, self.drawn)
            return
        for i in range(self.n_path):
            j = self.path[i]
            self.proposal(j, NULL, NULL, self.block + self.wide, self.block + 3 * self.wide)
            self.draw_block(self.p.term_start[j + 1] - self.p.term_start[j], rng,
                            given + at if given != NULL else NULL, self.block + self.wide,
                            self.block + 3 * self.wide, True, self.drawn + at)
            at += self.p.term_start[j + 1] - self.p.term_start[j]

    cdef double path_logpdf(self, const double* source) noexcept nogil:
        """Log density of the coefficients on the path, in order."""
        cdef int i, j, at = 0
        cdef double total = 0.0
        if not self.fixed:
            return self.student_logpdf(self.path_d, source, self.delta, self.h)
        for i in range(self.n_path):
            j = self.path[i]
            self.proposal(j, NULL, NULL, self.block + self.wide, self.block + 3 * self.wide)
            total += self.student_logpdf(self.p.term_start[j + 1] - self.p.term_start[j], source + at,
                                         self.block + self.wide, self.block + 3 * self.wide)
            at += self.p.term_start[j + 1] - self.p.term_start[j]
        return total

    # ------------------------------------------------------------------ moves

    cdef double target_change(self) noexcept nogil:
        """Change of the log target for the present model with self.drawn as coefficients of `enter`.

        Sets the linear predictor, its score and the new values; -inf if there is no such state.
        """
        cdef const problem_t* p = self.p
        cdef int i, a, at = 0, d
        cdef double loglik, log_prior, slack
        d = model_columns(p, self.m.gamma, self.others)
        if d > self.capacity or prior_factor(p, d, self.others, self.reduced, self.capacity, &slack) != 0:
            return -INFINITY
        memcpy(self.eta_new, self.eta_base, p.n * sizeof(double))
        for i in range(self.n_enter):
            for a in range(p.term_start[self.enter[i]], p.term_start[self.enter[i] + 1]):
                self.b[a] = self.drawn[at]
                axpy(p.n, self.drawn[at], p.columns + a * <Py_ssize_t> p.n, self.eta_new)
                at += 1
        loglik = p.working(p.n, self.eta_new, p.wy, p.w, self.residual_new, self.weight_new)
        for i in range(d):
            self.values[i] = self.b[self.others[i]]
        log_prior = (prior_exponent(p, d, self.others, self.values)
                     + 0.5 * prior_log_det(p, d, self.others, self.reduced, self.capacity)
                     + prior_dimension(p, d) * p.log_constant)
        self.small[0] = loglik
        self.small[1] = log_prior
        self.small[2] = model_log_prior(self.s, &self.m)
        if not isfinite(loglik):
            return -INFINITY
        return self.t * (loglik - self.loglik + log_prior - self.log_prior + self.small[2] - self.log_model)

    cdef double return_path(self, const int* terms, int n) noexcept nogil:
        """Log proposal density of the former coefficients of these terms as a path; -inf if there is none."""
        if self.whole_path(terms, n) != 0:
            return -INFINITY
        return self.former_logpdf()

    cdef double former_logpdf(self) noexcept nogil:
        """Log proposal density of the former coefficients of the terms on the path."""
        cdef int a
        for a in range(self.path_d):
            self.values[a] = self.former[self.path_cols[a]]
        return self.path_logpdf(self.values) if self.path_d else 0.0

    cdef double evaluate_family(self, int f, int pattern, bitgen_t* rng,
                                const double* given) noexcept nogil:
        """Set a family to a pattern; return the log acceptance ratio.

        As after each of these moves, `restore` rejects, and `finish` accepts the new state.
        """
        # mathematics: jumps-block
        cdef const int* terms = self.unit_term + self.unit_start[self.family[f]]
        cdef int n = self.unit_start[self.family[f] + 1] - self.unit_start[self.family[f]], i
        cdef double log_q = 0.0, value
        self.remember()
        for i in range(n):
            if self.m.gamma[terms[i]] and not pattern >> i & 1:
                self.leave[self.n_leave] = terms[i]
                self.n_leave += 1
            elif pattern >> i & 1 and not self.m.gamma[terms[i]]:
                self.enter[self.n_enter] = terms[i]
                self.n_enter += 1
        self.lay(terms, n, pattern)
        if not self.has_prior():
            return -INFINITY
        self.leave_terms()
        if self.n_enter:
            if self.whole_path(self.enter, self.n_enter) != 0:
                return -INFINITY
            self.draw_path(rng, given)
            log_q = -self.path_logpdf(self.drawn)
        value = self.return_path(self.leave, self.n_leave)
        return self.target_change() + value + log_q

    cdef void finish(self, int move, double log_ratio, bitgen_t* rng) noexcept nogil:
        """Accept the proposed state, or reject it."""
        if self.decide(move, log_ratio, rng):
            self.log_model = self.small[2]
            self.take(self.small, True)
            self.rebuild()
        else:
            self.restore()

    cdef void redraw_family(self, bitgen_t* rng) noexcept nogil:
        """Propose another set of terms of a random family."""
        cdef int f = <int> (random_standard_uniform(rng) * self.n_families), i, now = 0, ways, pattern
        cdef const int* terms = self.unit_term + self.unit_start[self.family[f]]
        cdef int n = self.unit_start[self.family[f] + 1] - self.unit_start[self.family[f]]
        for i in range(n):
            now |= self.m.gamma[terms[i]] << i
        ways = self.patterns(self.s, terms, n, 0, (1 << n) - 1, now, -1)
        if ways == 0:
            self.decide(FAMILY, -INFINITY, rng)
            return
        pattern = self.patterns(self.s, terms, n, 0, (1 << n) - 1, now,
                                <int> (random_standard_uniform(rng) * ways))
        self.finish(FAMILY, self.evaluate_family(f, pattern, rng, NULL), rng)
