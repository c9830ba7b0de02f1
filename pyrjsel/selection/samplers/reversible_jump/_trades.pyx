"""Trades: moves between models that a limit separates.

*In*: an excluded free term j is chosen uniformly or in proportion to a weight; the terms of its unit that it
requires enter with it (under weak heredity one of several sets U, chosen uniformly). Then, as long as a limit
is exceeded, a free term outside the unit leaves that no other term requires. *Out*: an included free term j
is chosen uniformly, and one of the sets U of terms of its unit that can leave together with j, uniformly.
Then free terms outside the unit enter, of those that heredity and the limits allow without U; the first of
them must not fit together with U. After each it is decided whether it was the last. A path in (j, U; a_1,
..., a_m) and the path out (j, U; a_m, ..., a_1) from the resulting model are the reverse of each other: terms
that leave can enter and vice versa, and U does not fit before a_m has left. The acceptance probability has
the ratio of the targets, times that of the probabilities of the reverse path and the path, times that of the
densities of the coefficients.

Entering terms are chosen with probabilities proportional to the square root of an approximate Bayes factor,
from Newton steps given the terms that have entered before, times the ratio of the priors over models. Leaving
terms are chosen in the same way, by the loss at the present coefficients. These weights affect only the
efficiency.
"""

from libc.math cimport INFINITY, exp, isfinite, log, log1p
from libc.string cimport memset

from pyrjsel._core._linalg cimport log_det_factor
from pyrjsel._core.random cimport bitgen_t, random_standard_uniform
from pyrjsel.selection.samplers.reversible_jump._blocks cimport Blocks, STEPS
from pyrjsel.selection.samplers.reversible_jump._moves cimport base_t, TRADE
from pyrjsel.selection.regression._problem cimport problem_t
from pyrjsel.model_space._space cimport model_changes, model_flip
from pyrjsel.model_space._trades cimport pointed_at

cdef double LOG_2PI = 1.8378770664093454836
# Smallest log weight relative to the largest, so that every candidate has a positive probability.
cdef double LEAST = -700.0
# Bounds of the probability that an addition is the last.
cdef double LEAST_STOP = 0.1, MOST_STOP = 0.9

cdef enum:
    MOST = 20                   # largest number of terms on the other side of a trade


cdef class Trades(Blocks):
    """Trades; takes the parameters of :class:`Blocks`."""

    # ------------------------------------------------------------------ paths

    cdef double log_bayes(self, int j, const double* residual, const double* weight,
                          bint inside) noexcept nogil:
        """Approximate log Bayes factor of term j, by a Newton step or its present coefficients, or NaN."""
        cdef const problem_t* p = self.p
        cdef int first = p.term_start[j], size = p.term_start[j + 1] - first, a, c
        cdef double* cross = self.block
        cdef double* mean = self.block + self.wide
        cdef double* zero = self.block + 2 * self.wide
        cdef double* factor = self.block + 3 * self.wide
        cdef const double* row
        cdef double value
        cdef base_t base
        base.residual = residual
        base.weight = weight
        base.skip_from = base.skip_to = -1
        memset(cross, 0, size * sizeof(double))
        if not inside:
            self.cross(j, &base, cross)
            for a in range(size):
                row = p.precision + (first + a) * <Py_ssize_t> p.n_columns
                for c in range(self.path_d):
                    cross[a] += row[self.path_cols[c]] * self.delta[c]
        if self.newton_block(j, &base, cross, mean, factor) != 0:
            return -INFINITY
        memset(zero, 0, size * sizeof(double))
        value = self.distance(size, self.b + first if inside else mean, zero, factor)
        value -= log_det_factor(size, factor, size)
        for a in range(first, first + size):
            value += log(p.precision[a * <Py_ssize_t> (p.n_columns + 1)])
        return 0.5 * value + size * (p.log_constant - p.log_unit + 0.5 * LOG_2PI)

    cdef double level(self) noexcept nogil:
        """Convert self.chances from log weights to weights relative to the largest; return their sum."""
        cdef int i
        cdef double top = -INFINITY, total = 0.0
        for i in range(self.p.n_terms):
            top = max(top, self.chances[i])
        self.best = top
        for i in range(self.p.n_terms):
            self.chances[i] = exp(max(self.chances[i] - top, LEAST)) if self.chances[i] > -INFINITY else 0.0
            total += self.chances[i]
        return total

    cdef double weigh_additions(self, int j, bint first) noexcept nogil:
        """Set self.chances to the weights of terms that may enter a path out of unit j; return their sum."""
        cdef int i, k
        cdef double value
        model_changes(self.s, &self.m, self.changes)
        if first:
            self.toggle_unit()
            model_changes(self.s, &self.m, self.changes_unit)
            self.toggle_unit()
        for k in range(self.unit_start[j], self.unit_start[j + 1]):
            self.changes[self.unit_term[k]] = -INFINITY
        for i in range(self.p.n_terms):
            value = -INFINITY
            if not self.m.gamma[i] and self.changes[i] > -INFINITY \
                    and not (first and self.changes_unit[i] > -INFINITY):
                value = self.log_bayes(i, self.residual_new, self.weight_new, False) + self.changes[i]
                value = 0.5 * self.t * value if isfinite(value) else -INFINITY
            self.chances[i] = value
        return self.level()

    cdef double add_path(self, int j, bitgen_t* rng, const int* given, int n, int* into,
                         int* n_into) noexcept nogil:
        """Log probability of the additions on a path out of unit j, drawn or given; -inf if impossible.

        The model must be that without U, the unit's moved terms; afterwards it is that with the additions.
        Sets the proposal of their coefficients.
        """
        cdef int i = 0, a
        cdef double total, stop, log_p = 0.0
        self.open_path()
        while True:
            self.look()
            total = self.weigh_additions(j, i == 0)
            if not total > 0.0:
                if i == 0 or (rng == NULL and i < n):
                    return -INFINITY
                break
            if i > 0:
                stop = 1.0 / (1.0 + exp(self.best))
                stop = 1.0 if i == MOST else max(LEAST_STOP, min(MOST_STOP, stop))
                if i == MOST or (random_standard_uniform(rng) < stop if rng != NULL else i == n):
                    if rng == NULL and i < n:
                        return -INFINITY
                    log_p += log(stop)
                    break
                log_p += log1p(-stop)
            a = given[i] if rng == NULL else pointed_at(
                self.chances, self.p.n_terms, random_standard_uniform(rng) * total)
            if not self.chances[a] > 0.0:
                return -INFINITY
            log_p += log(self.chances[a] / total)
            model_flip(self.s, &self.m, a)
            into[i] = a
            i += 1
            if self.base_d + self.path_d + self.p.term_start[a + 1] - self.p.term_start[a] > self.capacity \
                    or not self.has_prior():
                return -INFINITY
            self.add_term(a)
            if self.newton() != 0:
                return -INFINITY
        n_into[0] = i
        return log_p if self.close_path(STEPS - 1 if not self.p.quadratic else 0) == 0 else -INFINITY

    cdef double evict_path(self, int j, const double* weight, bitgen_t* rng, const int* given, int n,
                           int* into, int* n_into) noexcept nogil:
        """Log probability of the removals on a path in of unit j, drawn or the n given; -inf if impossible.

        The model must be that without U, with its coefficients in self.b; afterwards it is without the
        removed terms.
        """
        cdef int i, k, count = 0
        cdef double total, log_p = 0.0
        cdef bint fits
        for i in range(self.p.n_terms):
            self.loss[i] = -INFINITY
            if self.m.gamma[i] and self.s.free_term[i]:
                self.loss[i] = -self.log_bayes(i, self.residual_new, weight, True)
        for k in range(self.unit_start[j], self.unit_start[j + 1]):
            self.loss[self.unit_term[k]] = -INFINITY
        while True:
            self.toggle_unit()
            fits = self.inside_bounds()
            self.toggle_unit()
            if fits:
                break
            if count == MOST or (rng == NULL and count == n):
                return -INFINITY
            model_changes(self.s, &self.m, self.changes)
            for i in range(self.p.n_terms):
                self.chances[i] = -INFINITY
                if self.m.gamma[i] and self.changes[i] > -INFINITY and isfinite(self.loss[i]):
                    self.chances[i] = 0.5 * self.t * (self.changes[i] + self.loss[i])
            total = self.level()
            if not total > 0.0:
                return -INFINITY
            i = given[count] if rng == NULL else pointed_at(
                self.chances, self.p.n_terms, random_standard_uniform(rng) * total)
            if not self.chances[i] > 0.0:
                return -INFINITY
            log_p += log(self.chances[i] / total)
            model_flip(self.s, &self.m, i)
            into[count] = i
            count += 1
        n_into[0] = count
        return log_p if count > 0 and (rng != NULL or count == n) else -INFINITY

    # ------------------------------------------------------------------ moves

    cdef double log_entry(self, int j) noexcept nogil:
        """Log probability that a trade in from the present model, without term j, is of that term."""
        cdef int i
        cdef double total = 0.0
        if self.entry == NULL:
            return -log(<double> (self.n_free - self.m.n_free))
        for i in range(self.n_free):
            if not self.m.gamma[self.free_terms[i]]:
                total += self.entry[self.free_terms[i]]
        return log(self.entry[j] / total)

    cdef int draw_entry(self, bitgen_t* rng) noexcept nogil:
        """Draw the term of a trade in, with the probabilities of `log_entry`; one must be excluded."""
        cdef int i
        cdef double u = random_standard_uniform(rng), total = 0.0
        if self.entry == NULL:
            return self.pick(False, <int> (u * (self.n_free - self.m.n_free)))
        for i in range(self.p.n_terms):
            self.chances[i] = 0.0
            if self.s.free_term[i] and not self.m.gamma[i]:
                self.chances[i] = self.entry[i]
                total += self.entry[i]
        return pointed_at(self.chances, self.p.n_terms, u * total)

    cdef double evaluate_in(self, int j, int pattern, const int* path, int n, bitgen_t* rng,
                            const double* given) noexcept nogil:
        """Trade the terms of a path for term j with its unit by `pattern`; see evaluate_family."""
        # mathematics: jumps-trade
        cdef const int* terms = self.unit_term + self.unit_start[j]
        cdef int size = self.unit_start[j + 1] - self.unit_start[j], i, ways = self.patterns_of(j, True, -1)
        cdef double log_p, log_q, value
        self.remember()
        self.n_unit = 0
        for i in range(size):
            if pattern >> i & 1 and not self.m.gamma[terms[i]]:
                self.unit_moved[self.n_unit] = self.enter[self.n_unit] = terms[i]
                self.n_unit += 1
        log_p = log(<double> ways) - self.log_entry(j)
        value = self.evict_path(j, self.weight, rng, path, n, self.leave, &self.n_leave)
        if value == -INFINITY:
            return -INFINITY
        log_p -= value
        self.n_enter = self.n_unit
        self.toggle_unit()
        log_p -= log(<double> self.m.n_free) + log(<double> self.patterns_of(j, False, -1))
        if not self.has_prior():
            return -INFINITY
        self.toggle_unit()
        self.leave_terms()
        if self.whole_path(self.enter, self.n_enter) != 0:
            return -INFINITY
        self.draw_path(rng, given)
        log_q = -self.path_logpdf(self.drawn)
        # Reverse path: the terms that left enter again, in reverse order.
        for i in range(self.n_leave):
            self.back[i] = self.leave[self.n_leave - 1 - i]
        value = self.add_path(j, NULL, self.back, self.n_leave, self.leave, &i)
        if value == -INFINITY:
            return -INFINITY
        log_p += value
        log_q += self.former_logpdf()
        for i in range(self.n_leave):
            model_flip(self.s, &self.m, self.leave[i])
        self.toggle_unit()
        return self.target_change() + log_p + log_q

    cdef double evaluate_out(self, int j, int pattern, const int* path, int n, bitgen_t* rng,
                             const double* given) noexcept nogil:
        """Trade term j, with the terms of its unit not in `pattern`, for a path; see evaluate_family."""
        cdef const int* terms = self.unit_term + self.unit_start[j]
        cdef int size = self.unit_start[j + 1] - self.unit_start[j], i
        cdef double log_p, log_q, value
        self.remember()
        log_p = log(<double> self.m.n_free) + log(<double> self.patterns_of(j, False, -1))
        self.n_unit = 0
        for i in range(size):
            if self.m.gamma[terms[i]] and not pattern >> i & 1:
                self.unit_moved[self.n_unit] = self.leave[self.n_unit] = terms[i]
                self.n_unit += 1
        self.n_leave = self.n_unit
        self.toggle_unit()
        self.leave_terms()
        value = self.add_path(j, rng, path, n, self.enter, &self.n_enter)
        if value == -INFINITY:
            return -INFINITY
        log_p -= value
        self.draw_path(rng, given)
        log_q = -self.path_logpdf(self.drawn)
        log_p += self.log_entry(j) - log(<double> self.patterns_of(j, True, -1))
        value = self.return_path(self.leave, self.n_leave)
        if value == -INFINITY:
            return -INFINITY
        log_q += value
        value = self.target_change()
        if value == -INFINITY:
            return -INFINITY
        # Reverse path: the terms that entered leave again, in reverse order.
        for i in range(self.n_enter):
            self.back[i] = self.enter[self.n_enter - 1 - i]
        log_p += self.evict_path(j, self.weight_new, NULL, self.back, self.n_enter, self.back, &i)
        for i in range(self.n_enter):
            if not self.m.gamma[self.enter[i]]:
                model_flip(self.s, &self.m, self.enter[i])
        return value + log_p + log_q

    cdef void trade(self, bitgen_t* rng) noexcept nogil:
        """Propose a trade in or out of a random term."""
        cdef bint inward = random_standard_uniform(rng) < 0.5
        cdef int n = self.n_free - self.m.n_free if inward else self.m.n_free, j, ways, pattern
        cdef double value
        if n == 0:
            self.decide(TRADE, -INFINITY, rng)
            return
        j = self.draw_entry(rng) if inward else self.pick(True, <int> (random_standard_uniform(rng) * n))
        ways = self.patterns_of(j, inward, -1)
        if ways == 0:
            self.decide(TRADE, -INFINITY, rng)
            return
        pattern = self.patterns_of(
            j, inward, 0 if ways == 1 else <int> (random_standard_uniform(rng) * ways))
        if inward:
            value = self.evaluate_in(j, pattern, NULL, 0, rng, NULL)
        else:
            value = self.evaluate_out(j, pattern, NULL, 0, rng, NULL)
        self.finish(TRADE, value, rng)

    def block_ratio(self, str move not None, int j, int pattern, const int[::1] path=None,
                    const double[::1] block=None):
        """Return the log acceptance ratio of one move of several terms, without making it.

        `move` is "family" (of family j, to that pattern), "in" or "out" (of term j, to that pattern of its
        unit, with the terms of `path`); `block` has the coefficients of entering terms, in the order of unit
        or path.
        """
        cdef const double* given = &block[0] if block is not None and block.shape[0] else NULL
        cdef const int* terms = &path[0] if path is not None and path.shape[0] else NULL
        cdef int n = path.shape[0] if path is not None else 0
        cdef double value
        if self.refresh() != 0:
            raise ValueError("the prior of this model does not exist")
        if move == "family":
            value = self.evaluate_family(j, pattern, NULL, given)
        elif move == "in":
            value = self.evaluate_in(j, pattern, terms, n, NULL, given)
        elif move == "out":
            value = self.evaluate_out(j, pattern, terms, n, NULL, given)
        else:
            raise ValueError(f"unknown move {move!r}")
        self.restore()
        self.refresh()
        return value
