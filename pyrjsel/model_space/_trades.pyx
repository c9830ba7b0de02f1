"""Trades: several units leave the model one after the other, then others enter, possibly more or fewer.

A unit is a term with terms that it requires. Under strong heredity it enters with all missing terms that it
requires; under weak heredity with one parent if it has none, which may require one in turn. It leaves alone
or with terms that no other term of the model requires any more: each of them, children before parents, leaves
with probability 1/2. Under weak heredity this is the only remaining parent, then the only parent of that one.
So terms that leave as one unit can return as one.

A path from gamma to gamma' is a sequence of at least one unit that leaves and at least one that enters; terms
that have left do not enter. All models on the path are feasible. After each unit that leaves, a further one
leaves with probability `ON`; it is drawn from the terms that may leave, with a mixture of equal weights and
weights proportional to the square roots of posterior ratios. Then a unit enters, and after each a further one
with probability S / (1 + S), bounded by `LEAST` and `GREATEST`, where S is the sum of the posterior ratios of
single terms that may enter. The unit is one of these terms with weights proportional to the square roots of
the ratios, or with probability `BLIND` a term that enters with others, drawn uniformly from those within the
budget. At most `MOST` units leave or enter.

The reverse path, on which the units that entered leave in reverse order and those that left return, visits
the same models. A trade is accepted with probability

    min{1, [pi(gamma') P(reverse path)] / [pi(gamma) P(path)]},

where both P include the normalising constants at all models on the path: detailed balance holds for each
path. No marginal likelihood of an infeasible model is needed, and the changes of the log posterior by flips
are computed once for each model on the path, for both directions.

Single flips rarely lead from an expensive term to several cheap ones that explain as much, or between sets of
terms with the same information: the models between them are infeasible or have negligible probability.
"""

cimport cython
from libc.math cimport INFINITY, exp, fmax, fmin, log
from libc.string cimport memset

import numpy as np

from pyrjsel._core._vecmath cimport exp_minus
from pyrjsel._core.random cimport bitgen_t, random_standard_uniform
from pyrjsel.model_space._space cimport (
    HEREDITY_NONE,
    HEREDITY_STRONG,
    Space,
    children_stay,
    model_flip,
    model_t,
    parents_in,
)

# Probability that a further unit leaves, and bounds of the probability that a further one enters.
cdef double ON = 2.0 / 3.0
cdef double LEAST = 0.1
cdef double GREATEST = 0.95
# Probability that an entering unit is one that requires others.
cdef double BLIND = 0.25
# Proportion of equal weights in the mixture for units that leave.
cdef double EQUAL = 0.5
# Square roots of ratios below e**-700 are set to 0.
cdef double DEEPEST = -700.0


def _above(parents):
    """Return all terms that each term requires under strong heredity, parents before children."""
    found = {}

    def of(term):
        if term not in found:
            found[term] = set(parents[term]).union(*(of(parent) for parent in parents[term]))
        return found[term]

    # A term has more ancestors than each of its ancestors.
    return [sorted(of(term), key=lambda other: (len(of(other)), other)) for term in range(len(parents))]


@cython.final
cdef class Trades:
    """The path of a trade, one at a time.

    Parameters
    ----------
    space : Space
        Constraints.
    """

    def __init__(self, Space space not None):
        cdef int longest, j
        self.space = space
        self.n_terms = space.c.n_terms
        start, parent = space.arrays["parent_start"], space.arrays["parent"]
        above = [[] for _ in range(self.n_terms)]
        if space.c.heredity == HEREDITY_STRONG:
            above = _above([parent[start[j]:start[j + 1]].tolist() for j in range(self.n_terms)])
        longest = self.n_terms if space.c.heredity else 1
        steps = 2 * MOST + 1
        # Each term is flipped at most once on a path.
        ints = [
            np.cumsum([0, *map(len, above)]).astype(np.intc),
            np.array([term for terms in above for term in terms] + [0], dtype=np.intc),
            np.zeros(steps + 1, dtype=np.intc),
            np.zeros(max(1, min(self.n_terms, 2 * MOST * longest)), dtype=np.intc),
            np.zeros(max(1, self.n_terms), dtype=np.intc),
            np.zeros(max(1, space.c.n_items), dtype=np.intc),
            np.zeros(max(1, self.n_terms), dtype=np.intc),
        ]
        gone = np.zeros(max(1, self.n_terms), dtype=np.uint8)
        # Filled as a path goes on; most are short.
        reals, part = np.empty((steps + 1, max(1, self.n_terms))), np.empty((2, PART))
        self.arrays = [*ints, gone, reals, part]
        cdef int[::1] above_start = ints[0]
        cdef int[::1] above_terms = ints[1]
        cdef int[::1] step = ints[2]
        cdef int[::1] flip = ints[3]
        cdef int[::1] chain = ints[4]
        cdef int[::1] paid = ints[5]
        cdef int[::1] able = ints[6]
        cdef unsigned char[::1] gone_view = gone
        cdef double[:, ::1] reals_view = reals
        cdef double[:, ::1] part_view = part
        self.above_start, self.above = &above_start[0], &above_terms[0]
        self.step, self.flip, self.chain, self.paid = &step[0], &flip[0], &chain[0], &paid[0]
        self.gone = &gone_view[0]
        self.able = &able[0]
        self.weight, self.score = &reals_view[0, 0], &reals_view[1, 0]
        self.scratch, self.root = &part_view[0, 0], &part_view[1, 0]
        self.bounded = space.c.max_size < self.n_terms or space.c.budget < INFINITY

    # ------------------------------------------------------------------ terms that may leave or enter

    cdef bint may_leave(self, const model_t* m, int j) noexcept nogil:
        """Whether term j is included and no term of the model requires it."""
        return m.gamma[j] and self.space.c.free_term[j] and children_stay(&self.space.c, m.gamma, j)

    cdef int only_parent(self, const model_t* m, int j) noexcept nogil:
        """The only included parent of j; -1 if there is none or there are several."""
        cdef int e, found = -1
        for e in range(self.space.c.parent_start[j], self.space.c.parent_start[j + 1]):
            if m.gamma[self.space.c.parent[e]]:
                if found >= 0:
                    return -1
                found = self.space.c.parent[e]
        return found

    cdef int parents_to_choose(self, int j) noexcept nogil:
        """Number of parents of j that have not left on this path."""
        cdef int e, n = 0
        for e in range(self.space.c.parent_start[j], self.space.c.parent_start[j + 1]):
            n += not self.gone[self.space.c.parent[e]]
        return n

    cdef bint affordable(self, const model_t* m, int j) noexcept nogil:
        """Whether term j, which lacks parents, can enter with the terms that it requires.

        Under weak heredity these are not known yet: the items of j and two terms are counted.
        """
        cdef int e, f, term, size = m.size + 1
        cdef double cost = m.cost
        if not self.bounded:
            for e in range(self.above_start[j], self.above_start[j + 1]):
                if self.gone[self.above[e]]:
                    return False
            return True
        self.pricing += 1
        if self.space.c.heredity != HEREDITY_STRONG:
            size += 1
        for e in range(self.above_start[j], self.above_start[j + 1] + 1):
            term = self.above[e] if e < self.above_start[j + 1] else j
            if m.gamma[term]:
                continue
            if self.gone[term]:
                return False
            size += term != j
            for f in range(self.space.c.item_start[term], self.space.c.item_start[term + 1]):
                if m.item_use[self.space.c.item[f]] == 0 and self.paid[self.space.c.item[f]] != self.pricing:
                    self.paid[self.space.c.item[f]] = self.pricing
                    cost += self.space.c.item_cost[self.space.c.item[f]]
        return size <= self.space.c.max_size and cost <= self.space.c.budget

    cdef int weigh_out(self, const model_t* m, const double* score) noexcept nogil:
        """Compute the probability of each term to be the next to leave; return how many may leave."""
        # mathematics: walks-trade-leave
        cdef int i, j, n = 0
        cdef int* able = self.able
        cdef double top = -INFINITY, total = 0.0
        memset(self.weight, 0, self.n_terms * sizeof(double))
        for j in range(self.n_terms):
            if m.gamma[j] and score[j] > -INFINITY:
                able[n] = j
                n += 1
                top = fmax(top, score[j])
        for i in range(n):
            self.weight[able[i]] = exp(0.5 * (score[able[i]] - top))
            total += self.weight[able[i]]
        for i in range(n):
            self.weight[able[i]] = EQUAL / n + (1.0 - EQUAL) * self.weight[able[i]] / total
        return n

    cdef double weigh_in(self, const model_t* m, const double* score) noexcept nogil:
        """Compute the probability of each term to enter next; return the probability that one enters, 0 if
        none may.

        The returned probability is that of a further unit after the first.
        """
        # mathematics: walks-trade-enter, mathematics: walks-trade-further
        cdef int i, j, e, lacking, width, at = 0, n_alone = 0, n_blind = 0
        cdef double top = -INFINITY, total = 0.0, squares = 0.0, alone
        cdef bint simple = self.space.c.heredity == HEREDITY_STRONG and not self.bounded, blind
        # Pointers of their own: the weights that are written might be any of the arrays.
        cdef const unsigned char* gamma = m.gamma
        cdef const unsigned char* gone = self.gone
        cdef const unsigned char* free_term = self.space.c.free_term
        cdef const int* above_start = self.above_start
        cdef const int* above = self.above
        cdef double* weight = self.weight
        for j in range(self.n_terms):
            weight[j] = 0.0
            if gamma[j] or gone[j]:
                continue
            if score[j] > -INFINITY:
                self.able[n_alone] = j
                n_alone += 1
                top = fmax(top, score[j])
                continue
            if self.space.c.heredity == HEREDITY_NONE or not free_term[j]:
                continue
            if simple:
                # Without branches, which could not be predicted: terms that lack, and those that have left.
                lacking = blind = 0
                for e in range(above_start[j], above_start[j + 1]):
                    lacking |= not gamma[above[e]]
                    blind |= gone[above[e]]
                blind = lacking and not blind
            else:
                blind = not parents_in(&self.space.c, gamma, j) and self.affordable(m, j)
            if blind:
                weight[j] = -1.0
                n_blind += 1
        while at < n_alone:
            width = min(PART, n_alone - at)
            for i in range(width):
                self.scratch[i] = fmax(0.5 * (score[self.able[at + i]] - top), DEEPEST)
            exp_minus(width, self.scratch, self.root)
            for i in range(width):
                if self.scratch[i] > DEEPEST:
                    self.weight[self.able[at + i]] = self.root[i]
                    total += self.root[i]
                    squares += self.root[i] * self.root[i]
            at += PART
        if n_blind == 0 and top == -INFINITY:
            return 0.0
        alone = 0.0 if top == -INFINITY else 1.0 if n_blind == 0 else 1.0 - BLIND
        for j in range(self.n_terms):
            if self.weight[j] < 0.0:
                self.weight[j] = (1.0 - alone) / n_blind
            elif self.weight[j] > 0.0:
                self.weight[j] *= alone / total
        if top == -INFINITY:
            return LEAST
        return fmin(fmax(squares / (exp(fmin(-top, -DEEPEST)) + squares), LEAST), GREATEST)

    # ------------------------------------------------------------------ simulation of a path

    cdef void begin(self) noexcept nogil:
        """Begin a path."""
        self.n_steps = self.n_out = self.n_flips = 0
        self.turned = False
        memset(self.gone, 0, self.n_terms)

    cdef double* row(self) noexcept nogil:
        """The array (J) for the changes of the tempered log posterior of the present model by flips."""
        return self.score + self.n_steps * self.n_terms

    cdef void push(self, model_t* m, int j) noexcept nogil:
        """Flip term j, the next on the path."""
        self.flip[self.n_flips] = j
        self.n_flips += 1
        if m.gamma[j]:
            self.gone[j] = 1
        model_flip(&self.space.c, m, j)

    cdef void take_out(self, model_t* m, int j, bitgen_t* rng) noexcept nogil:
        """Remove term j and, at random, terms that only it required."""
        cdef int e
        self.push(m, j)
        if self.space.c.heredity == HEREDITY_STRONG:
            for e in range(self.above_start[j + 1] - 1, self.above_start[j] - 1, -1):
                if self.may_leave(m, self.above[e]) and random_standard_uniform(rng) < 0.5:
                    self.push(m, self.above[e])
        elif self.space.c.heredity != HEREDITY_NONE:
            j = self.only_parent(m, j)
            while j >= 0 and self.may_leave(m, j) and random_standard_uniform(rng) < 0.5:
                self.push(m, j)
                j = self.only_parent(m, j)

    cdef int put_in(self, model_t* m, int j, bitgen_t* rng) noexcept nogil:
        """Add term j with the terms that it requires; -1 if a constraint is violated."""
        cdef int e, nth, n = 1
        if self.space.c.heredity == HEREDITY_STRONG:
            for e in range(self.above_start[j], self.above_start[j + 1]):
                if not m.gamma[self.above[e]]:
                    self.push(m, self.above[e])
            self.push(m, j)
        else:
            self.chain[0] = j
            while not parents_in(&self.space.c, m.gamma, j):
                nth = self.parents_to_choose(j)
                if nth == 0:
                    return -1
                nth = <int> (random_standard_uniform(rng) * nth)
                e = self.space.c.parent_start[j]
                while self.gone[self.space.c.parent[e]] or nth > 0:
                    nth -= not self.gone[self.space.c.parent[e]]
                    e += 1
                j = self.space.c.parent[e]
                self.chain[n] = j
                n += 1
            for e in range(n - 1, -1, -1):
                self.push(m, self.chain[e])
        return -1 if m.size > self.space.c.max_size or m.cost > self.space.c.budget else 0

    cdef int draw(self, model_t* m, bitgen_t* rng) noexcept nogil:
        """Draw the next unit and flip its terms; return 1, 0 if the path ends, or -1 if it fails.

        The row of the model must have been filled. If the path ends, nothing is flipped.
        """
        cdef int n, chosen
        cdef double go
        self.step[self.n_steps] = self.n_flips
        if not self.turned:
            n = self.weigh_out(m, self.row())
            if n == 0 and self.n_steps == 0:
                return -1
            self.turned = n == 0 or self.n_steps == MOST or (
                self.n_steps > 0 and random_standard_uniform(rng) >= ON)
            if self.turned:
                self.n_out = self.n_steps
        if self.turned:
            go = self.weigh_in(m, self.row())
            if self.n_steps == self.n_out:
                if go == 0.0:
                    return -1
            elif go == 0.0 or self.n_steps == self.n_out + MOST or random_standard_uniform(rng) >= go:
                return 0
        chosen = pointed_at(self.weight, self.n_terms, random_standard_uniform(rng))
        if not self.turned:
            self.take_out(m, chosen, rng)
        elif self.put_in(m, chosen, rng) != 0:
            return -1
        self.n_steps += 1
        self.step[self.n_steps] = self.n_flips
        return 1

    cdef void undo(self, model_t* m) noexcept nogil:
        """Undo all flips."""
        cdef int i
        for i in range(self.n_flips - 1, -1, -1):
            model_flip(&self.space.c, m, self.flip[i])

    # ------------------------------------------------------------------ probabilities of a path

    cdef double follow_out(self, model_t* m, const int* flips, int n, int stride) noexcept nogil:
        """Remove n terms, the first already chosen; return the log probability of the others."""
        cdef int e, j = flips[0], i = 1
        cdef double found = 0.0
        model_flip(&self.space.c, m, j)
        if self.space.c.heredity == HEREDITY_STRONG:
            for e in range(self.above_start[j + 1] - 1, self.above_start[j] - 1, -1):
                if self.may_leave(m, self.above[e]):
                    found -= log(2.0)
                    if i < n and flips[i * stride] == self.above[e]:
                        model_flip(&self.space.c, m, self.above[e])
                        i += 1
        elif self.space.c.heredity != HEREDITY_NONE:
            j = self.only_parent(m, j)
            while j >= 0 and self.may_leave(m, j):
                found -= log(2.0)
                if i == n or flips[i * stride] != j:
                    break
                model_flip(&self.space.c, m, j)
                i += 1
                j = self.only_parent(m, j)
        return found

    cdef double follow_in(self, model_t* m, const int* flips, int n, int stride) noexcept nogil:
        """Add n terms, the last already chosen; return the log probability that the others enter with it."""
        cdef int i
        cdef double found = 0.0
        if self.space.c.heredity != HEREDITY_STRONG:
            for i in range(1, n):
                found -= log(<double> self.parents_to_choose(flips[i * stride]))
        for i in range(n):
            model_flip(&self.space.c, m, flips[i * stride])
        return found

    cdef int first(self, int i, bint back) noexcept nogil:
        """Start of the flips of the i-th unit of the path or of the reverse path."""
        return self.step[self.n_steps - i] - 1 if back else self.step[i]

    cdef double follow(self, model_t* m, bint back) noexcept nogil:
        """Log probability of the path that was drawn, or of the reverse path.

        The model must be at the start of that path, and is moved to its end.
        """
        cdef int i, n, k, n_out = self.n_steps - self.n_out if back else self.n_out
        cdef int stride = -1 if back else 1
        cdef const double* score
        cdef const int* flips
        cdef double go, found = 0.0
        memset(self.gone, 0, self.n_terms)
        for i in range(n_out):
            flips = self.flip + self.first(i, back)
            k = self.n_steps - 1 - i if back else i
            for n in range(self.step[k + 1] - self.step[k]):
                self.gone[flips[n * stride]] = 1
        for i in range(self.n_steps + 1):
            score = self.score + (self.n_steps - i if back else i) * self.n_terms
            k = self.n_steps - 1 - i if back else i
            if i <= n_out:
                n = self.weigh_out(m, score)
                if 0 < i < MOST and n > 0:
                    found += log(ON) if i < n_out else log(1.0 - ON)
            if i >= n_out:
                go = self.weigh_in(m, score)
                if i > n_out and i < n_out + MOST and go > 0.0:
                    found += log(go) if i < self.n_steps else log(1.0 - go)
            if i == self.n_steps:
                break
            flips = self.flip + self.first(i, back)
            n = self.step[k + 1] - self.step[k]
            found += log(self.weight[flips[0] if i < n_out else flips[(n - 1) * stride]])
            if i < n_out:
                found += self.follow_out(m, flips, n, stride)
            else:
                found += self.follow_in(m, flips, n, stride)
        return found
