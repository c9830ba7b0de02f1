"""Greedy searches over feasible models, with the evidence that chains use.

Searches are deterministic, given the space, the evidence and the starting model. A search for the best model
with a term (or without it) has three parts:

change
    The term enters with the terms that heredity requires, parents first, or leaves with the terms that
    require it.
relief
    While a limit is exceeded, a term leaves that no other requires: the one with the smallest loss of
    posterior, absolute or relative to its contribution to the excess.
climb
    The flip that increases the posterior most, until none does; the requested term does not change.
"""

cimport cython
from libc.math cimport INFINITY, exp, fmax, fmin, log
from libc.string cimport memcpy

import numpy as np

from pyrjsel.selection.evidence._evidence cimport Evidence
from pyrjsel.model_space._space cimport (
    Space,
    model_changes,
    model_feasible_at,
    model_flip,
    model_log_prior,
    model_refresh,
    model_t,
)

cdef enum:
    AGAIN = 32                  # searches between which models are reached by flips before a recomputation

# Smallest increase of the log posterior by a flip; less is attributed to rounding.
cdef double LEAST_GAIN = 1e-7
# Proportion of the excess assigned to a term that does not reduce it by itself.
cdef double NO_RELIEF = 1e-3


@cython.final
cdef class Search:
    """A current model of a space, and searches from it.

    Parameters
    ----------
    evidence : Evidence
        Marginal likelihoods.
    space : Space
        Prior over models and constraints.
    gamma : uint8 array (J,)
        A feasible model with a coefficient prior.

    Attributes
    ----------
    work : int
        Number of flips and evaluations of all neighbours so far.
    """

    cdef Evidence evidence
    cdef Space space
    cdef model_t m
    cdef object arrays
    cdef int n_terms, since
    cdef double* change         # (J) change of the log posterior by each flip; -inf if infeasible
    cdef double* prior          # (J)
    cdef readonly long work

    def __init__(self, Evidence evidence not None, Space space not None, gamma):
        if evidence.n_terms != space.c.n_terms:
            raise ValueError("evidence and space must have the same terms")
        self.evidence, self.space = evidence, space
        self.n_terms = space.c.n_terms
        reals = np.zeros((2, max(1, self.n_terms)))
        terms = np.zeros(max(1, self.n_terms), dtype=np.uint8)
        uses = np.zeros(max(1, space.c.n_items), dtype=np.intc)
        self.arrays = (reals, terms, uses)
        cdef double[:, ::1] reals_view = reals
        cdef unsigned char[::1] terms_view = terms
        cdef int[::1] uses_view = uses
        self.change, self.prior = &reals_view[0, 0], &reals_view[1, 0]
        self.m.gamma, self.m.item_use = &terms_view[0], &uses_view[0]
        self.since = AGAIN
        self.set(gamma)

    # ------------------------------------------------------------------ current model

    cdef int load(self) noexcept nogil:
        """Recompute everything from the model; non-zero if it has no coefficient prior."""
        model_refresh(&self.space.c, &self.m)
        self.work += 1 + self.m.size
        self.since = 0
        if self.evidence.load(self.m.gamma) != 0:
            self.since = AGAIN
            return 1
        return 0

    cdef int toggle(self, int j) noexcept nogil:
        """Flip term j; non-zero, without a change, if that model does not exist."""
        self.work += 1
        if self.evidence.flip(j) != 0:
            return 1
        model_flip(&self.space.c, &self.m, j)
        return 0

    cdef int go(self, const unsigned char* gamma) noexcept nogil:
        """Go to a model, by flips if that is shorter; terms leave before others enter."""
        cdef int j, step, differ = 0, size = 0
        for j in range(self.n_terms):
            differ += self.m.gamma[j] != gamma[j]
            size += gamma[j]
        self.since += 1
        if self.since < AGAIN and differ < size:
            for step in range(2):
                for j in range(self.n_terms):
                    if self.m.gamma[j] != gamma[j] and gamma[j] == step and self.toggle(j) != 0:
                        differ = -1
            if differ >= 0:
                return 0
        memcpy(self.m.gamma, gamma, self.n_terms)
        return self.load()

    cdef void look(self) noexcept nogil:
        """Compute the change by each flip."""
        cdef int j
        self.work += 1
        self.evidence.changes(self.change)
        model_changes(&self.space.c, &self.m, self.prior)
        for j in range(self.n_terms):
            self.change[j] = self.change[j] + self.prior[j] if self.prior[j] > -INFINITY else -INFINITY

    cdef bint over(self) noexcept nogil:
        """Whether a limit is exceeded."""
        return self.m.size > self.space.c.max_size or self.m.cost > self.space.c.budget

    cdef double mass(self) noexcept nogil:
        return self.evidence.value + model_log_prior(&self.space.c, &self.m)

    # ------------------------------------------------------------------ parts of a search

    cdef int best_flip(self, int held, double least) noexcept nogil:
        """The best flip of a term other than `held`, if it adds more than `least`; otherwise -1."""
        cdef int j, best = -1
        for j in range(self.n_terms):
            if j != held and self.change[j] > least:
                best, least = j, self.change[j]
        return best

    cdef int enter(self, int j, int held) noexcept nogil:
        """Add term j; if its columns depend on those of the model, exchange it for the best such term."""
        cdef int i, best = -1
        cdef double top = -INFINITY
        if self.toggle(j) == 0:
            return 0
        self.look()
        for i in range(self.n_terms):
            if i == held or not self.m.gamma[i] or self.change[i] == -INFINITY or self.toggle(i) != 0:
                continue
            if self.toggle(j) == 0:
                if self.mass() > top:
                    best, top = i, self.mass()
                self.toggle(j)
            if self.toggle(i) != 0:
                return 1
        return best < 0 or self.toggle(best) != 0 or self.toggle(j) != 0

    cdef double freed(self, int i) noexcept nogil:
        """Proportion of the excess over a limit that removing term i eliminates."""
        cdef int e
        cdef double cost = 0.0
        if self.m.cost <= self.space.c.budget:
            return 1.0
        for e in range(self.space.c.item_start[i], self.space.c.item_start[i + 1]):
            if self.m.item_use[self.space.c.item[e]] == 1:
                cost += self.space.c.item_cost[self.space.c.item[e]]
        return fmin(1.0, cost / (self.m.cost - self.space.c.budget))

    cdef int relieve(self, int held, bint by_share) noexcept nogil:
        """Remove terms until no limit is exceeded; non-zero if that is impossible."""
        cdef int i, best
        cdef double value, top
        while self.over():
            self.look()
            best, top = -1, -INFINITY
            for i in range(self.n_terms):
                if i == held or not self.m.gamma[i] or self.change[i] == -INFINITY:
                    continue
                value = self.change[i]
                if by_share:
                    value = -fmax(-value, LEAST_GAIN) / fmax(self.freed(i), NO_RELIEF)
                if value > top:
                    best, top = i, value
            if best < 0 or self.toggle(best) != 0:
                return 1
        return 0

    cdef void ascend(self, int held) noexcept nogil:
        """Climb by flips."""
        cdef int best, _
        for _ in range(4 * self.n_terms):
            self.look()
            best = self.best_flip(held, LEAST_GAIN)
            if best < 0 or self.toggle(best) != 0:
                return

    cdef bint exchange(self, int held) noexcept nogil:
        """Exchange the first term for which another adds more; return whether there was one."""
        cdef int i, j
        cdef double before = self.mass()
        for i in range(self.n_terms):
            if i == held or not self.m.gamma[i] or not self.space.c.free_term[i] or self.toggle(i) != 0:
                continue
            if model_feasible_at(&self.space.c, &self.m, i):
                self.look()
                j = self.best_flip(held, before - self.mass() + LEAST_GAIN)
                if j >= 0 and j != i and not self.m.gamma[j] and self.toggle(j) == 0:
                    return True
            if self.toggle(i) != 0:
                return False
        return False

    # ------------------------------------------------------------------ searches

    def set(self, gamma):
        """Go to the model gamma (J,).

        Raises
        ------
        ValueError
            If it has no coefficient prior.
        """
        cdef const unsigned char[::1] to = np.ascontiguousarray(gamma, dtype=np.uint8)
        if to.shape[0] != self.n_terms:
            raise ValueError("gamma must have an entry for each term")
        if self.n_terms and self.go(&to[0]) != 0 or not self.n_terms and self.load() != 0:
            self.evidence.check_memory()
            raise ValueError("the model has no coefficient prior")

    def reach(self, gamma, const int[::1] terms, *, bint by_share=False):
        """Climb from gamma (J,) to a feasible model with the last of `terms` flipped.

        Parameters
        ----------
        gamma : uint8 array (J,)
            A feasible model with a coefficient prior.
        terms : int32 array
            Terms that enter, parents before children, or leave, children first; terms already in that state
            do not change. The last is the requested one.
        by_share : bool
            Whether terms that leave to satisfy a limit are chosen by loss relative to their contribution.

        Returns
        -------
        float
            Log posterior mass of the final model, up to a constant; -inf if there is none.
        """
        cdef int i, held = terms[terms.shape[0] - 1], failed = 0
        cdef bint entering
        cdef const unsigned char[::1] start = np.ascontiguousarray(gamma, dtype=np.uint8)
        if start.shape[0] != self.n_terms or min(terms) < 0 or max(terms) >= self.n_terms:
            raise ValueError("gamma must have an entry for each term, and terms be among them")
        entering = not start[held]
        with nogil:
            failed = self.go(&start[0])
            for i in range(terms.shape[0]):
                if failed == 0 and self.m.gamma[terms[i]] != entering:
                    failed = self.enter(terms[i], held) if entering else self.toggle(terms[i])
            if failed == 0:
                failed = self.relieve(held, by_share)
            for i in range(terms.shape[0]):
                if failed == 0 and self.m.gamma[terms[i]]:
                    failed = not model_feasible_at(&self.space.c, &self.m, terms[i])
            if failed == 0:
                self.ascend(held)
        self.evidence.check_memory()
        if failed:
            self.since = AGAIN
            return -INFINITY
        return self.mass()

    def climb(self, int held=-1, *, int exchanges=0):
        """Climb from the present model by flips, and up to `exchanges` times by an exchange of two terms and
        flips.

        Term `held` does not change. Returns the log posterior mass.
        """
        cdef int _
        with nogil:
            self.ascend(held)
            for _ in range(exchanges):
                if not self.exchange(held):
                    break
                self.ascend(held)
        self.evidence.check_memory()
        return self.mass()

    def spread(self, int held=-1):
        """Return the log ratio of the mass of the present model and its neighbours to its own.

        Neighbours that differ in term `held` are excluded.
        """
        cdef int j
        cdef double total = 1.0
        with nogil:
            self.look()
            for j in range(self.n_terms):
                if j != held and self.change[j] > -INFINITY:
                    total += exp(fmin(self.change[j], 700.0))
        return log(total)

    def scores(self):
        """Return the change of the log posterior by each flip without constraints, and feasibility.

        Returns
        -------
        tuple of ndarrays (J,)
            Changes, float64, and whether the constraints allow the flip, bool.
        """
        cdef int j
        cdef double before = model_log_prior(&self.space.c, &self.m)
        cdef double[::1] out = np.full(max(1, self.n_terms), -INFINITY)
        cdef unsigned char[::1] admitted = np.zeros(max(1, self.n_terms), dtype=np.uint8)
        with nogil:
            self.work += 1
            self.evidence.changes(self.change)
            model_changes(&self.space.c, &self.m, self.prior)
            for j in range(self.n_terms):
                if self.space.c.free_term[j]:
                    admitted[j] = self.prior[j] > -INFINITY
                    model_flip(&self.space.c, &self.m, j)
                    out[j] = self.change[j] + model_log_prior(&self.space.c, &self.m) - before
                    model_flip(&self.space.c, &self.m, j)
        return np.asarray(out)[: self.n_terms], np.asarray(admitted)[: self.n_terms].astype(bool)

    # ------------------------------------------------------------------ state

    def gamma(self):
        """Return the model (J,)."""
        return self.arrays[1][: self.n_terms].copy()

    def log_mass(self):
        """Return its log evidence plus log prior."""
        return self.mass()
