"""Marginal likelihoods of gaussian models: values, and their changes by flips.

The sums of ``_score.pyx`` come from tableaux. With k of D columns in the model, a flip of a column costs
about 2 k D multiplications, and the changes by all J terms one or two logarithms per term.
"""

from libc.limits cimport INT_MAX
from libc.math cimport INFINITY, NAN, log
from libc.string cimport memcpy

import numpy as np

from pyrjsel._errors import DataError
from pyrjsel.selection.regression._gram cimport Gram
from pyrjsel.selection.evidence._tableau cimport gain_t, sweep_part

cdef extern from "entering.h" nogil:
    void entering_fits(Py_ssize_t n, const double* left, const double* own, const double* whole, double limit,
                       int with_prior, const double* s, double fit, const double* penalty, double* fits)
    void entering_dets(Py_ssize_t n, const double* left, const double* own, int with_prior, double known,
                       const double* log_weight, double* out)
    Py_ssize_t entering_changes(Py_ssize_t n, const double* found, double value, double* out)

# Rounding errors of a sweep are amplified by one over the proportion of the moving column that the others
# leave. When these factors add up to this, the state is recomputed: errors of log marginal likelihoods stay
# below 1e-9 (tests/selection/linear/test_drift.py), and well-conditioned models flip 10,000 times in between.
cdef double DOUBT = 1e4
# Proportions left of columns are computed exactly up to this many times the tolerance.
cdef double NEAR = 100.0
# A column of which the others leave less than this proportion is due to rounding.
cdef double ROUNDING = 1e-12

cdef enum:
    MOST_PART = 16              # columns of terms whose patterns are computed together
    PART = 4096                 # terms of a single column whose changes are computed together

cdef enum:                      # arrays over the terms of a single column, see entering.h
    LEFT = 0
    OWN = 1
    WHOLE = 2
    CROSS = 3
    PENALTY = 4
    LOG_WEIGHT = 5

LOST = (
    "Rounding has left nothing of the marginal likelihood of a model: its columns are linearly dependent, or "
    "fit the response perfectly, under a normal prior that is all but flat. Give the prior a smaller scale, "
    "or leave columns out."
)


cdef const double[::1] _by_group(const double[::1] values, const int[::1] groups, bint single):
    """Return the sums of the values of columns by group: the values, if each has a single one; 0 for None."""
    cdef double[::1] out
    cdef int j, k
    if single and values is not None:
        return values
    out = np.zeros(groups.shape[0])
    for j in range(groups.shape[0] - 1 if values is not None else 0):
        for k in range(groups[j], groups[j + 1]):
            out[j] += values[k]
    return out


cdef class ConjugateEvidence(Evidence):
    """Marginal likelihoods over models whose coefficient prior is conjugate.

    Parameters
    ----------
    score : GaussianScore
        The formula.
    gram : FullGram or ColumnGram
        The matrix A = P + X'WX; X'WX for a g-prior.
    cross : float64 array (D,)
        The vector c = X'Wy + P m.
    term_start : int32 array (J + 1,)
        Term j owns the columns ``term_start[j]:term_start[j + 1]``. Columns before the first term are in
        every model.
    log_weights : float64 array (D,), optional
        Contribution of each column to log det P.
    prior : Gram, optional
        P, if log det P is not a sum over columns.
    flat : int
        Number of leading columns excluded from `prior`.
    penalty : float64 array (D,), optional
        Contribution of each column to m'P m.
    rank_tol : float
        A model has no prior if the others leave at most this proportion of the sum of squares of a column (of
        its precision, with `prior`); 0 for priors that always exist.
    most : int, optional
        Largest number of columns of a model with a prior.
    most_fit : float
        Models with a larger fit are refused as those without a prior are.
    """

    def __init__(self, GaussianScore score not None, Gram gram not None, const double[::1] cross not None,
                 const int[::1] term_start not None, *, const double[::1] log_weights=None,
                 Gram prior=None, int flat=0, const double[::1] penalty=None, double rank_tol=0.0,
                 most=None, double most_fit=INFINITY):
        cdef int size = gram.size, terms = term_start.shape[0] - 1, base = term_start[0]
        if cross.shape[0] != size or term_start[terms] != size or not 0 <= flat <= base:
            raise ValueError("gram, cross and term_start do not fit together")
        if prior is not None and (prior.size != size or log_weights is not None):
            raise ValueError("prior must be of the size of gram, and replaces log_weights")
        groups = np.concatenate([np.arange(base), term_start]).astype(np.intc)
        lone = np.diff(term_start) == 1
        # If all terms have one column, results are written where they are asked for, from where columns are.
        cdef bint direct = size > 0 and np.all(lone)
        cdef const double[::1] precisions = _by_group(log_weights, groups, direct)
        cdef const double[::1] penalties = _by_group(penalty, groups, direct)
        cdef unsigned char[::1] gamma = np.zeros(terms + 1, dtype=np.uint8)
        cdef double[::1] many = np.zeros(2 * PART + (0 if direct else terms))
        cdef const int[::1] which = np.append(np.argsort(~lone, kind="stable"), 0).astype(np.intc)
        cdef double[::1] gathered = np.zeros(1 if direct else 6 * np.sum(lone) + 1)
        self.n_terms = terms
        self.n_base = base
        self.prior_base = flat
        self.score = score
        self.tableau = Tableau(gram, cross, groups)
        self.prior = None if prior is None else Tableau(prior, np.zeros(size), groups)
        self.rank_tol = rank_tol
        self.most_fit = most_fit
        self.most = INT_MAX if most is None else most
        self.arrays = (precisions, penalties, gamma, many, which, gathered)
        self.log_weights = &precisions[0]
        self.penalties = &penalties[0]
        self.gamma = &gamma[0]
        self.dets, self.fits = &many[0], &many[PART]
        self.found = NULL if direct else &many[2 * PART]
        self.n_lone, self.which, self.gathered = np.sum(lone), &which[0], &gathered[0]
        self.value = NAN

    # ------------------------------------------------------------------ current model

    cdef double worth(self, int inside, int d, double log_precision, double log_det,
                      double fit) noexcept nogil:
        """The score for given numbers of terms and columns and given sums; -inf if lost to rounding."""
        cdef double value = NAN
        if fit > self.most_fit:
            return -INFINITY
        if fit > -INFINITY:
            value = self.score.of(d, 0.5 * (log_precision - log_det), fit)
        if value == value:
            return value
        self.lost = self.lost or self.rank_tol <= 0.0
        return -INFINITY

    cdef double now(self) noexcept nogil:
        """The score of the current model."""
        cdef double precision = self.log_precision
        if self.prior is not None:
            precision += self.prior.log_det
        return self.worth(
            self.inside, self.d, precision, self.tableau.log_det, self.tableau.fit - self.penalty)

    cdef int enter(self, int column) noexcept nogil:
        """Sweep a column into all tableaux; non-zero if that is impossible."""
        cdef double share = self.tableau.enter(column)
        if not share > ROUNDING:
            # Under a g-prior the rank rule catches this before or after; a normal prior has no such rule.
            self.lost = self.lost or self.rank_tol <= 0.0
            if share > 0.0:
                self.tableau.leave(column)
            return 1
        self.doubt += 1.0 / share
        if self.prior is not None and column >= self.prior_base:
            if not self.prior.enter(column) > 0.0:
                self.tableau.leave(column)
                return 1
        return 0

    cdef void settle(self) noexcept nogil:
        """Update what is derived from the tableaux and gamma: d, prior sums, smallest proportion, value."""
        cdef int j
        self.d = self.tableau.n_active - self.n_base
        self.inside = 0
        self.log_precision = 0.0
        self.penalty = 0.0
        for j in range(self.n_base):
            self.log_precision += self.log_weights[j]
            self.penalty += self.penalties[j]
        for j in range(self.n_terms):
            if self.gamma[j]:
                self.inside += 1
                self.log_precision += self.log_weights[self.n_base + j]
                self.penalty += self.penalties[self.n_base + j]
        if self.rank_tol > 0.0:
            if self.prior is None:
                self.least = self.tableau.least_share()
            else:
                self.least = self.prior.least_share()
        self.value = self.now()

    cdef int reload(self) noexcept nogil:
        """Recompute the current model from scratch, columns in order."""
        cdef int j, k
        self.tableau.clear()
        if self.prior is not None:
            self.prior.clear()
        self.doubt = 0.0
        for k in range(self.n_base):
            if self.enter(k) != 0:
                return 1
        for j in range(self.n_terms):
            if self.gamma[j]:
                for k in range(self.tableau.start[self.n_base + j], self.tableau.start[self.n_base + j + 1]):
                    if self.enter(k) != 0:
                        return 1
        # Accuracy lost in loading cannot be recovered by loading again.
        self.doubt = 0.0
        self.settle()
        if self.d > self.most or (self.rank_tol > 0.0 and not self.least > self.rank_tol):
            return 1
        return self.tableau.fit - self.penalty > self.most_fit

    cdef int load(self, const unsigned char* gamma) noexcept nogil:
        cdef int j
        for j in range(self.n_terms):
            self.gamma[j] = gamma[j]
        return self.reload()

    # ------------------------------------------------------------------ neighbours

    cdef bint dependent(self, int group) noexcept nogil:
        """Whether the model would have dependent columns with an excluded group."""
        cdef double share, worry = NEAR * self.rank_tol
        if self.rank_tol <= 0.0:
            return False
        if self.prior is None:
            share = self.tableau.share_with(group, self.least, worry)
        else:
            share = self.prior.share_with(group, self.least, worry)
        return not share > self.rank_tol

    cdef double change(self, int j) noexcept nogil:
        # mathematics: selection-linear-flip
        cdef int group = self.n_base + j
        cdef int width = self.tableau.start[group + 1] - self.tableau.start[group]
        cdef double sign = -1.0 if self.gamma[j] else 1.0, precision = self.log_precision
        cdef gain_t gained
        cdef int d = self.d - width if self.gamma[j] else self.d + width
        if not self.gamma[j]:
            if d > self.most:
                return -INFINITY
            if self.dependent(group):
                return -INFINITY
        precision += sign * self.log_weights[group]
        if self.prior is not None:
            gained = self.prior.gain(group)
            precision += self.prior.log_det + gained.log_det
            if gained.fit == -INFINITY:
                return -INFINITY
        gained = self.tableau.gain(group)
        return self.worth(
            self.inside - 1 if self.gamma[j] else self.inside + 1, d, precision,
            self.tableau.log_det + gained.log_det,
            self.tableau.fit + gained.fit - self.penalty - sign * self.penalties[group],
        ) - self.value

    cdef void lone_columns(self, const double** numbers) noexcept nogil:
        """Point `numbers` to arrays over the terms of one column, undefined at included terms."""
        cdef int i, group, base = self.n_base
        cdef const double* own = self.tableau.blocks if self.prior is None else self.prior.blocks
        cdef const double* whole = self.tableau.blocks0 if self.prior is None else self.prior.blocks0
        cdef double* into = self.gathered
        cdef Py_ssize_t width = self.n_lone
        if width == self.n_terms:
            numbers[LEFT] = self.tableau.blocks + base
            numbers[OWN], numbers[WHOLE] = own + base, whole + base
            numbers[CROSS] = self.tableau.s + base
            numbers[PENALTY], numbers[LOG_WEIGHT] = self.penalties + base, self.log_weights + base
            return
        for i in range(width):
            group = base + self.which[i]
            into[LEFT * width + i] = self.tableau.blocks[self.tableau.block[group]]
            into[OWN * width + i] = own[self.tableau.block[group]]
            into[WHOLE * width + i] = whole[self.tableau.block[group]]
            into[CROSS * width + i] = self.tableau.s[self.tableau.start[group]]
            into[PENALTY * width + i] = self.penalties[group]
            into[LOG_WEIGHT * width + i] = self.log_weights[group]
        for i in range(6):
            numbers[i] = into + i * width

    cdef void changes(self, double* out) noexcept nogil:
        """Vectorised for entering terms of a single column, the usual case; others one by one."""
        cdef const double* numbers[6]
        cdef int i, at = 0, width, column, n = self.n_lone if self.d < self.most else 0
        cdef bint direct = n == self.n_terms, with_prior = self.prior is not None
        cdef double* into = out if direct else self.found
        cdef double known = self.log_precision - self.tableau.log_det, value = self.value
        cdef double limit = NEAR * self.rank_tol / self.least if self.rank_tol > 0.0 else -INFINITY
        if n:
            self.lone_columns(numbers)
            if with_prior:
                known += self.prior.log_det
        while at < n:
            width = min(PART, n - at)
            entering_fits(width, numbers[LEFT] + at, numbers[OWN] + at, numbers[WHOLE] + at, limit,
                          with_prior, numbers[CROSS] + at, self.tableau.fit - self.penalty,
                          numbers[PENALTY] + at, self.fits)
            if direct:
                for i in range(self.tableau.n_active):
                    column = self.tableau.active[i] - self.n_base - at
                    if 0 <= column < width:
                        self.fits[column] = NAN
            else:
                for i in range(width):
                    if self.gamma[self.which[at + i]]:
                        self.fits[i] = NAN
            if self.score.with_det:
                entering_dets(width, numbers[LEFT] + at, numbers[OWN] + at, with_prior, known,
                              numbers[LOG_WEIGHT] + at, self.dets)
            self.score.of_many(self.d + 1, width, self.dets, self.fits, into + at)
            if self.most_fit < INFINITY:
                for i in range(width):
                    if self.fits[i] > self.most_fit:
                        into[at + i] = NAN
            at += PART
        for i in range(n):
            into[i] -= value
        for i in range(n):
            # NaN: the term is included, or rounding or the rank rule may matter.
            if into[i] != into[i]:
                into[i] = self.change(self.which[i])
        if direct:
            return
        for i in range(n):
            out[self.which[i]] = into[i]
        for i in range(n, self.n_terms):
            out[self.which[i]] = self.change(self.which[i])

    cdef int flip(self, int j) noexcept nogil:
        cdef int group = self.n_base + j, k
        cdef int first = self.tableau.start[group], last = self.tableau.start[group + 1]
        if self.gamma[j]:
            for k in range(first, last):
                self.doubt += 1.0 / self.tableau.leave(k)
                if self.prior is not None:
                    self.prior.leave(k)
        else:
            if self.d + last - first > self.most:
                return 1
            if self.dependent(group):
                return 1
            for k in range(first, last):
                if self.enter(k) != 0:
                    while k > first:
                        k -= 1
                        self.tableau.leave(k)
                        if self.prior is not None:
                            self.prior.leave(k)
                    return 1
        self.gamma[j] ^= 1
        if self.doubt <= DOUBT and self.tableau.fit - self.penalty <= self.most_fit:
            self.settle()
        elif self.reload() != 0:
            # The rank rule is ambiguous within rounding of its limit.
            self.gamma[j] ^= 1
            self.reload()
            return 1
        return 0

    cdef int patterns(self, const int* terms, int n, const unsigned char* wanted,
                      double* values) noexcept nogil:
        """From sweeps of the columns of these terms alone; see `Evidence`.

        Not if there are many columns, or if rounding or the rank rule may matter.
        """
        cdef int columns[MOST_PART]
        cdef int owner[MOST_PART]
        cdef double whole[MOST_PART * (MOST_PART + 1)]
        cdef double m[MOST_PART * (MOST_PART + 1)]
        cdef int d = 0, i, k, pattern, before = 0, group, first, width, size, inside
        cdef double share, precision, penalty, log_det, fit, own
        cdef double worry = NEAR * self.rank_tol if self.rank_tol > 0.0 else NEAR * ROUNDING
        cdef gain_t gained
        if self.prior is not None:
            return 1
        for i in range(n):
            group = self.n_base + terms[i]
            before |= self.gamma[terms[i]] << i
            for k in range(self.tableau.start[group], self.tableau.start[group + 1]):
                if d == MOST_PART:
                    return 1
                columns[d], owner[d] = k, i
                d += 1
        self.tableau.part(columns, d, whole)
        for pattern in range(1 << n):
            values[pattern] = self.value if pattern == before else -INFINITY
            if pattern == before or not wanted[pattern]:
                continue
            memcpy(m, whole, d * (d + 1) * sizeof(double))
            size, inside, share = self.d, self.inside, self.least if self.rank_tol > 0.0 else 1.0
            precision, penalty = self.log_precision, self.penalty
            log_det, fit = self.tableau.log_det, self.tableau.fit
            # Columns leave before others enter.
            for k in range(d):
                if before >> owner[k] & 1 and not pattern >> owner[k] & 1:
                    gained = sweep_part(m, d, k)
                    log_det += log(gained.log_det)
                    fit -= gained.fit
                    size -= 1
            for k in range(d):
                if pattern >> owner[k] & 1 and not before >> owner[k] & 1:
                    gained = sweep_part(m, d, k)
                    group = self.tableau.group[columns[k]]
                    first = self.tableau.start[group]
                    width = self.tableau.start[group + 1] - first
                    own = self.tableau.blocks0[self.tableau.block[group] + (columns[k] - first) * (width + 1)]
                    # A lower bound of the proportion that is left of any column.
                    share *= gained.log_det / own
                    if not share > worry:
                        return 1
                    log_det += log(gained.log_det)
                    fit += gained.fit
                    size += 1
            for i in range(n):
                if (pattern ^ before) >> i & 1:
                    group = self.n_base + terms[i]
                    inside += 1 if pattern >> i & 1 else -1
                    precision += self.log_weights[group] if pattern >> i & 1 else -self.log_weights[group]
                    penalty += self.penalties[group] if pattern >> i & 1 else -self.penalties[group]
            if fit - penalty > self.most_fit:
                return 1
            if size <= self.most:
                values[pattern] = self.worth(inside, size, precision, log_det, fit - penalty)
        return 0

    # ------------------------------------------------------------------ Python interface

    def model(self):
        """Return the current model, uint8 (J,), and its value."""
        return np.array([self.gamma[j] for j in range(self.n_terms)], dtype=np.uint8), self.value

    def check_state(self):
        """Raise if a loop has left an invalid state."""
        if self.tableau.failed or (self.prior is not None and self.prior.failed):
            raise MemoryError("no memory for the rows of a swept Gram matrix")
        if self.lost:
            raise DataError(LOST)
