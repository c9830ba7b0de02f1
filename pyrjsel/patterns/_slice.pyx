"""Compiled sampler of the sums of coefficients by group and of the scales by order.

Group g has a sum s_cg for each class c with coefficients, with scale a_g: Cauchy(0, a_g) with
a_g = sum_o n_go sigma_o, or N(0, a_g^2) with a_g^2 = sum_o n_go sigma_o^2. The additive quantity, a_g or
a_g^2, is called the spread of the group, and sigma_o or sigma_o^2 the unit of the order. Observations
("cases") in the same groups share a row.

The state is s (C, G) and log sigma (O + 1); order 0 is fixed. Every update leaves the posterior invariant; an
iteration is a sequence of updates:

steps      each sum by slice sampling with stepping out (Neal 2003)
turns      each sum by slice sampling on a circle through the current sum and a prior draw, as in elliptical
           slice sampling (Murray, Adams and MacKay 2010), which needs no width
paths      all sums jointly given the linear predictors at the leaves of the tree of groups; a Cauchy sum is
           normal given an auxiliary variance
centred    each log sigma_o by slice sampling with stepping out, given the sums
scaled     each log sigma_o by slice sampling with stepping out, given the standardised sums: the sums are
           rescaled with it (non-centred parametrisation; Yu and Meng 2011)

Rows of a single case come first, in groups too: their likelihoods are products, of which logarithms are taken
rarely. Sums over groups are gathered by row.

The cost of ``steps`` and ``turns`` is the extent of the group; of ``centred`` the groups with patterns of the
order; of ``scaled`` their extents and all rows; of ``paths`` all groups. Linear predictors and scales are
recomputed from the state at the start of each update, so that rounding errors do not accumulate and a
restored state continues with the same draws.
"""

cimport cython
from libc.math cimport INFINITY, M_PI, cos, exp, log, sin, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._vecmath cimport (
    cauchy_scales,
    dot,
    log_sum_exp,
    normal_scales,
    PART,
    softplus_parts,
    softplus_sum,
)
from pyrjsel._core.random cimport (
    bitgen_of,
    bitgen_t,
    random_standard_exponential,
    random_standard_normal,
    random_standard_uniform,
)

cdef enum:                      # updates, in the order of UPDATES
    STEPS = 0
    TURNS = 1
    PATHS = 2
    CENTRED = 3
    SCALED = 4

cdef enum:                      # kinds of hyperpriors
    LOG_NORMAL = 0
    INVERSE_GAMMA = 1

UPDATES = ("steps", "turns", "paths", "centred", "scaled")

# Beyond this limit sigma^2 and squares of sums leave the range of doubles: log sigma has density 0 there.
LOG_SIGMA_LIMIT = 300.0
cdef double LIMIT = LOG_SIGMA_LIMIT

# A spread without one order is summed again if the difference would be below this share of the spread.
cdef double KEPT = 1e-6

cdef double LOG_PI = 1.1447298858494002
cdef double LOG_2PI = 1.8378770664093453


@cython.final
cdef class PatternChain:
    """Compiled chain.

    Parameters
    ----------
    cauchy : bool
        Whether the prior of the sums is Cauchy; otherwise normal.
    indptr : int64 array (G + 1,)
    rows : int32 array
        The rows of group g are ``rows[indptr[g]:indptr[g + 1]]``, in increasing order.
    cases : float64 array (K, n)
        Number of cases of each class in each row.
    order_ptr : int64 array (O + 2,)
    order_group : int32 array
    order_count : float64 array
        Groups with patterns of order o, and their numbers of such patterns.
    parent : int32 array (G,), optional
        Parent of each group in a tree in which the rows of a group are those of its children; -1 for the
        root. Parents precede children. Required by ``paths``.
    hyper : float64 array (O, 5)
        Kind of the prior of sigma_o, its two parameters, the log normalising constant of log sigma_o, and
        the initial width of its slices.
    s : float64 array (C, G)
        Initial sums; C is 1 for K = 2, else K.
    log_sigma : float64 array (O + 1,)
        Initial log scales.
    plan : int32 array (m, 2)
        Updates of an iteration, as positions in `UPDATES`, and their numbers of repetitions.
    width : float
        Initial width of the slices in ``steps``.
    steps : int
        Largest number of stepping-out steps.
    """

    cdef object arrays, found
    cdef const int[:, ::1] plan
    cdef int n_rows, n_groups, n_orders, n_free, most, steps
    cdef int n_lone             # rows of one case, the first ones
    cdef bint cauchy
    cdef double width
    cdef const int64_t* indptr
    cdef const int* rows
    cdef const int64_t* shared          # (G) number of the rows of a group that have one case
    cdef const int64_t* row_ptr         # (n + 1) groups of a row
    cdef const int* row_group
    cdef const int64_t* member_ptr      # (O n + 1) of an order and a row, if there are `scaled` updates
    cdef const int* member              # places in the order
    cdef const int64_t* order_ptr
    cdef const int* order_group
    cdef const double* order_count
    cdef const int64_t* group_ptr       # the same by group
    cdef const int* group_order
    cdef const double* group_count
    cdef const int* parent      # (G) or NULL
    cdef const double* hyper    # (O, 5)
    cdef const double* weight   # (n) cases of a row
    cdef const double* cases    # (C, n) of the classes with coefficients
    cdef const double* totals   # (C, G) cases of a class in the extent
    cdef double* s              # (C, G)
    cdef double* log_sigma      # (O + 1)
    cdef double* spread         # (G)
    cdef double* eta            # (C, n) predictors
    cdef double* proposed       # (C, n)
    cdef double* odds           # (n) log odds of one class against all others
    cdef double* inside         # (n) log odds of the rows of one group, in two parts of whole PARTs
    cdef double* inside_weight  # (n) of the second part
    cdef double* rest           # (most) spread without one order
    cdef double* square         # (C, most)
    cdef double* shift          # (C, most) changes of the sums of an order
    cdef double* tree           # (4, G)
    # Target of the current slice: a class and group, or an order.
    cdef int c, g, o
    cdef Py_ssize_t n_inside, n_weighted    # sizes of the parts of `inside`
    cdef double origin, total

    def __init__(self, bint cauchy, const int64_t[::1] indptr, const int[::1] rows,
                 const double[:, ::1] cases, const int64_t[::1] order_ptr, const int[::1] order_group,
                 const double[::1] order_count, const int[::1] parent, const double[:, ::1] hyper,
                 const double[:, ::1] s, const double[::1] log_sigma, const int[:, ::1] plan,
                 *, double width=5.0, int steps=10):
        self.cauchy = cauchy
        self.width, self.steps = width, steps
        self.n_groups, self.n_rows = indptr.shape[0] - 1, cases.shape[1]
        self.n_orders = order_ptr.shape[0] - 2
        self.n_free = 1 if cases.shape[0] == 2 else cases.shape[0]
        self.check(rows, indptr, order_ptr, order_group, order_count, parent, hyper, s, log_sigma, plan)
        weights = np.asarray(cases).sum(axis=0)
        places = np.argsort(weights != 1.0, kind="stable")
        cdef double[:, ::1] free = np.ascontiguousarray(
            np.asarray(cases)[cases.shape[0] - self.n_free:, places])
        cdef double[::1] weight = weights[places]
        self.n_lone = np.count_nonzero(weights == 1.0)
        cdef int[::1] place = np.empty(self.n_rows, dtype=np.intc)
        np.asarray(place)[places] = np.arange(self.n_rows, dtype=np.intc)
        cdef int[::1] moved = np.empty(rows.shape[0], dtype=np.intc)
        cdef int64_t[::1] shared = np.zeros(self.n_groups, dtype=np.int64)
        lone_first(indptr, rows, place, self.n_lone, moved, shared)
        cdef int64_t[::1] row_ptr = np.zeros(self.n_rows + 1, dtype=np.int64)
        cdef int[::1] row_group = np.empty(rows.shape[0], dtype=np.intc)
        by_row(indptr, moved, np.arange(self.n_groups, dtype=np.intc), row_ptr, row_group)
        cdef bint scaled = SCALED in np.asarray(plan)[:, 0]
        cdef int64_t[::1] member_ptr = np.zeros(scaled * self.n_orders * self.n_rows + 1, dtype=np.int64)
        extents = np.diff(indptr)[order_group[order_ptr[1]:]].sum() if scaled else 0
        cdef int[::1] member = np.empty(extents + 1, dtype=np.intc)
        cdef int o
        if scaled:
            for o in range(self.n_orders):
                by_row(indptr, moved, order_group[order_ptr[o + 1]:order_ptr[o + 2]],
                       member_ptr[o * self.n_rows:(o + 1) * self.n_rows + 1], member)
        cdef double[:, ::1] totals = np.add.reduceat(
            np.asarray(free)[:, moved], indptr[:self.n_groups], axis=1)
        by_group = np.argsort(order_group, kind="stable")
        orders = np.repeat(np.arange(self.n_orders + 1, dtype=np.intc), np.diff(order_ptr))
        ends = np.cumsum(np.bincount(order_group, minlength=self.n_groups), dtype=np.int64)
        cdef int64_t[::1] group_ptr = np.append(np.zeros(1, dtype=np.int64), ends)
        cdef int[::1] group_order = orders[by_group]
        cdef double[::1] group_count = np.asarray(order_count)[by_group]
        self.most = np.diff(order_ptr).max()
        cdef double[:, ::1] sums = np.array(s)
        cdef double[::1] scales = np.array(log_sigma)
        cdef double[::1] by_sum = np.zeros(5 * self.n_groups)
        cdef double[::1] of_rows = np.zeros((2 * self.n_free + 3) * self.n_rows + 3 * PART)
        cdef double[::1] of_members = np.zeros((2 * self.n_free + 1) * self.most)
        self.plan = plan
        self.found = np.asarray(sums), np.asarray(scales)
        self.arrays = (indptr, moved, shared, row_ptr, row_group, member_ptr, member, order_ptr, order_group,
                       order_count, parent, hyper, free, weight, totals, by_sum, of_rows, of_members,
                       group_ptr, group_order, group_count)
        self.indptr, self.rows, self.shared = &indptr[0], &moved[0], &shared[0]
        self.row_ptr, self.row_group = &row_ptr[0], &row_group[0]
        self.member_ptr, self.member = &member_ptr[0], &member[0]
        self.order_ptr, self.order_group, self.order_count = &order_ptr[0], &order_group[0], &order_count[0]
        self.group_ptr, self.group_order, self.group_count = &group_ptr[0], &group_order[0], &group_count[0]
        self.parent = NULL
        if parent is not None:
            self.parent = &parent[0]
        self.hyper = &hyper[0, 0]
        self.cases, self.weight, self.totals = &free[0, 0], &weight[0], &totals[0, 0]
        self.s, self.log_sigma = &sums[0, 0], &scales[0]
        self.spread, self.tree = &by_sum[0], &by_sum[self.n_groups]
        self.eta = &of_rows[0]
        self.proposed = self.eta + self.n_free * self.n_rows
        self.odds = self.proposed + self.n_free * self.n_rows
        self.inside = self.odds + self.n_rows
        self.inside_weight = self.inside + self.n_rows + 2 * PART
        self.rest, self.square = &of_members[0], &of_members[self.most]
        self.shift = self.square + self.n_free * self.most

    cdef int check(self, rows, indptr, order_ptr, order_group, order_count, parent, hyper, s, log_sigma,
                   plan) except -1:
        """Raise unless the shapes of the arrays agree."""
        rows, indptr, plan = np.asarray(rows), np.asarray(indptr), np.asarray(plan)
        order_ptr, order_group = np.asarray(order_ptr), np.asarray(order_group)
        G, O = self.n_groups, self.n_orders
        good = (
            self.n_rows > 0 and G > 0 and O > 0
            and indptr[0] == 0 and np.diff(indptr).min() > 0 and indptr[G] == len(rows)
            and rows.min() >= 0 and rows.max() < self.n_rows
            and order_ptr[0] == 0 and np.diff(order_ptr).min() >= 0
            and order_ptr[O + 1] == len(order_group) == len(order_count)
            and order_group.min() >= 0 and order_group.max() < G
            and np.shape(s) == (self.n_free, G) and np.shape(log_sigma) == (O + 1,)
            and np.shape(hyper) == (O, 5)
            and plan.shape[1] == 2 and plan.min() >= 0 and plan[:, 0].max() < len(UPDATES)
        )
        if parent is None:
            good = good and PATHS not in plan[:, 0]
        else:
            above = np.asarray(parent)
            good = (good and above.shape == (G,) and above[0] == -1 and above[1:].min(initial=0) >= 0
                    and bool(np.all(above[1:] < np.arange(1, G))))
        if not good:
            raise ValueError("the arrays do not fit together")

    # ------------------------------------------------------------------ derived from the state

    cdef double unit(self, double log_sigma) noexcept nogil:
        return exp(log_sigma) if self.cauchy else exp(2.0 * log_sigma)

    cdef void set_spreads(self) noexcept nogil:
        cdef int o
        cdef int64_t k
        cdef double unit
        memset(self.spread, 0, self.n_groups * sizeof(double))
        for o in range(self.n_orders + 1):
            unit = self.unit(self.log_sigma[o])
            for k in range(self.order_ptr[o], self.order_ptr[o + 1]):
                self.spread[self.order_group[k]] += self.order_count[k] * unit

    cdef void set_predictors(self) noexcept nogil:
        cdef int c
        for c in range(self.n_free):
            memset(self.eta + c * self.n_rows, 0, self.n_rows * sizeof(double))
            add_by_row(self.n_rows, self.row_ptr, self.row_group, self.s + c * self.n_groups,
                       self.eta + c * self.n_rows)

    cdef double log_likelihood(self, const double* eta) noexcept nogil:
        """Return the log-likelihood at linear predictors (C, n); overwrites `inside`."""
        cdef int n = self.n_rows, lone = self.n_lone
        cdef double value = dot(<Py_ssize_t> self.n_free * n, self.cases, eta)
        if self.n_free == 1:
            return (value - softplus_sum(lone, eta, 0.0, NULL)
                    - softplus_sum(n - lone, eta + lone, 0.0, self.weight + lone))
        log_sum_exp(n, self.n_free, -1, eta, self.inside)
        return value - dot(n, self.weight, self.inside)

    cdef double log_hyper(self, int o, double t) noexcept nogil:
        """Return the log prior density of log sigma_o."""
        cdef const double* row = self.hyper + 5 * (o - 1)
        cdef double z
        if t < -LIMIT or t > LIMIT:
            return -1.0 / 0.0
        if row[0] == LOG_NORMAL:
            z = (t - row[1]) / row[2]
            return row[3] - 0.5 * z * z
        return row[3] - row[1] * t - row[2] * exp(-t)

    cdef double log_posterior(self) noexcept nogil:
        """Return the log joint density of responses, sums and log sigma."""
        cdef int c, g, o
        cdef double value, square, spread
        self.set_spreads()
        self.set_predictors()
        value = self.log_likelihood(self.eta)
        for c in range(self.n_free):
            for g in range(self.n_groups):
                spread = self.spread[g]
                square = self.s[c * self.n_groups + g] * self.s[c * self.n_groups + g]
                if self.cauchy:
                    value -= LOG_PI + log(spread + square / spread)
                else:
                    value -= 0.5 * (LOG_2PI + log(spread) + square / spread)
        for o in range(1, self.n_orders + 1):
            value += self.log_hyper(o, self.log_sigma[o])
        return value

    # ------------------------------------------------------------------ slices

    cdef double likelihood_of_sum(self, double x) noexcept nogil:
        """Return the log-likelihood for sum x of the current group, up to a constant."""
        return x * self.total - softplus_parts(
            self.n_inside, self.inside, x - self.origin, self.n_weighted, self.inside_weight)

    cdef double density_of_sum(self, double x) noexcept nogil:
        cdef double spread = self.spread[self.g]
        if self.cauchy:
            return self.likelihood_of_sum(x) - log(spread + x * x / spread)
        return self.likelihood_of_sum(x) - 0.5 * x * x / spread

    cdef double density_given_sums(self, double t) noexcept nogil:
        """Return the log density of log sigma_o given the sums."""
        cdef int64_t first = self.order_ptr[self.o], n = self.order_ptr[self.o + 1] - first
        cdef const double* count = self.order_count + first
        cdef double value = self.log_hyper(self.o, t), unit = self.unit(t)
        cdef int c
        if value == -1.0 / 0.0:
            return value
        if not self.cauchy:
            return value - 0.5 * normal_scales(n, self.rest, count, unit, self.square, self.n_free)
        for c in range(self.n_free):
            value -= cauchy_scales(n, self.rest, count, unit, self.square + c * n)
        return value

    cdef double density_with_sums(self, double t) noexcept nogil:
        """Return the log density of log sigma_o given the standardised sums; writes `proposed`."""
        cdef double value = self.log_hyper(self.o, t)
        if value == -1.0 / 0.0:
            return value
        self.propose(t)
        return value + self.log_likelihood(self.proposed)

    cdef double density(self, int update, double x) noexcept nogil:
        if update == STEPS:
            return self.density_of_sum(x)
        return self.density_given_sums(x) if update == CENTRED else self.density_with_sums(x)

    cdef double slice(self, int update, double x, double width, bitgen_t* rng) noexcept nogil:
        """Return a point of the slice through x, by stepping out and shrinkage."""
        cdef double level = self.density(update, x) - random_standard_exponential(rng)
        cdef double low = x - width * random_standard_uniform(rng), high = low + width, new
        cdef int left = <int> (self.steps * random_standard_uniform(rng)), right = self.steps - 1 - left
        while left > 0 and self.density(update, low) > level:
            low -= width
            left -= 1
        while right > 0 and self.density(update, high) > level:
            high += width
            right -= 1
        while True:
            new = low + (high - low) * random_standard_uniform(rng)
            # x itself is in the slice: the second condition ends the loop if a density is NaN.
            if self.density(update, new) >= level or new == x:
                return new
            if new < x:
                low = new
            else:
                high = new

    cdef double turned(self, double other, double angle) noexcept nogil:
        """Return the current sum rotated by an angle, towards `other` or on the Cauchy circle."""
        cdef double spread = self.spread[self.g], along = cos(angle), across = sin(angle)
        if self.cauchy:
            return spread * (self.origin * along + spread * across) / (spread * along - self.origin * across)
        return self.origin * along + other * across

    cdef double turn(self, bitgen_t* rng) noexcept nogil:
        """Return a sum from the slice of the likelihood on the circle.

        Under a Cauchy prior t = arctan(x / a) is uniform on a circle of length pi.
        """
        cdef double level = self.likelihood_of_sum(self.origin) - random_standard_exponential(rng)
        cdef double length = M_PI if self.cauchy else 2.0 * M_PI, other = 0.0, angle, low, high, new
        if not self.cauchy:
            other = sqrt(self.spread[self.g]) * random_standard_normal(rng)
        angle = length * random_standard_uniform(rng)
        low, high = angle - length, angle
        while True:
            new = self.turned(other, angle)
            if self.likelihood_of_sum(new) >= level:
                return new
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * random_standard_uniform(rng)
            if angle == 0.0 or low == high:
                return self.origin

    # ------------------------------------------------------------------ updates of sums

    cdef void sweep(self, int update, int c, bitgen_t* rng) noexcept nogil:
        """Update each sum of class c."""
        cdef int g, n = self.n_rows
        cdef int64_t i
        cdef double* s = self.s + c * self.n_groups
        cdef double* eta = self.eta + c * n
        cdef double* odds = eta
        cdef const int* rows
        cdef double new
        self.c = c
        if self.n_free > 1:
            odds = self.odds
            log_sum_exp(n, self.n_free, c, self.eta, self.inside)
            for i in range(n):
                odds[i] = eta[i] - self.inside[i]
        for g in range(self.n_groups):
            rows = self.rows + self.indptr[g]
            self.g = g
            self.origin, self.total = s[g], self.totals[c * self.n_groups + g]
            self.look_inside(odds)
            new = self.slice(STEPS, self.origin, self.width, rng) if update == STEPS else self.turn(rng)
            for i in range(self.indptr[g + 1] - self.indptr[g]):
                odds[rows[i]] += new - self.origin
            if self.n_free > 1:
                for i in range(self.indptr[g + 1] - self.indptr[g]):
                    eta[rows[i]] += new - self.origin
            s[g] = new

    cdef void look_inside(self, const double* odds) noexcept nogil:
        """Gather the log odds in the rows of the current group: first of rows of one case, then of others.

        Few rows are in one part: two would take twice as long.
        """
        cdef Py_ssize_t size = self.indptr[self.g + 1] - self.indptr[self.g], i
        cdef Py_ssize_t lone = self.shared[self.g] if size > PART or self.shared[self.g] == size else 0
        cdef Py_ssize_t others = size - lone
        cdef const int* rows = self.rows + self.indptr[self.g]
        cdef double* inside = self.inside
        self.n_inside, self.n_weighted = whole_parts(lone), whole_parts(others)
        for i in range(lone):
            inside[i] = odds[rows[i]]
        for i in range(lone, self.n_inside):
            inside[i] = -INFINITY
        inside += self.n_inside
        rows += lone
        for i in range(others):
            inside[i] = odds[rows[i]]
            self.inside_weight[i] = self.weight[rows[i]]
        for i in range(others, self.n_weighted):
            inside[i] = 0.0
            self.inside_weight[i] = 0.0

    cdef void sums(self, int update, bitgen_t* rng) noexcept nogil:
        cdef int c
        self.set_predictors()
        for c in range(self.n_free):
            self.sweep(update, c, rng)

    cdef double variance(self, double s, double spread, bitgen_t* rng) noexcept nogil:
        """Return the variance of a sum in its representation as a scale mixture of normals.

        A Cauchy sum is normal with an inverse gamma variance of shape 1/2 and scale a^2/2; given the sum,
        shape and scale are 1 and (a^2 + s^2)/2.
        """
        if self.cauchy:
            return 0.5 * (spread * spread + s * s) / random_standard_exponential(rng)
        return spread

    cdef void paths(self, int c, bitgen_t* rng) noexcept nogil:
        """Update all sums of class c jointly, given the linear predictors at the leaves of the tree.

        With t_g the sum of s over the path to g, t_g | t_parent is normal: messages from the leaves are
        passed up the tree, and draws are made downwards. Each t_g is represented by its difference from the
        current value, so that sums keep their relative precision even below much larger ones.
        """
        cdef int g, above
        cdef double v, mean, precision, prior, noise, new
        cdef double* s = self.s + c * self.n_groups
        cdef double* variance = self.tree
        cdef double* known = self.tree + self.n_groups          # precision of t_g given the leaves below
        cdef double* pull = self.tree + 2 * self.n_groups       # times how far its mean is from t_g
        cdef double* moved = self.tree + 3 * self.n_groups
        memset(known, 0, 2 * self.n_groups * sizeof(double))
        for g in range(self.n_groups):
            variance[g] = self.variance(s[g], self.spread[g], rng)
        for g in range(self.n_groups - 1, 0, -1):
            above = self.parent[g]
            v, mean = variance[g], s[g]
            if known[g] > 0.0:                                  # not a leaf
                v += 1.0 / known[g]
                mean += pull[g] / known[g]
            known[above] += 1.0 / v
            pull[above] += mean / v
        for g in range(self.n_groups):
            prior = (moved[self.parent[g]] if g else 0.0) - s[g]
            moved[g], new = 0.0, -prior
            if known[g] > 0.0:
                precision = known[g] + 1.0 / variance[g]
                noise = random_standard_normal(rng) / sqrt(precision)
                # They differ by `prior`, which may be much larger than either of the two.
                moved[g] = (pull[g] + prior / variance[g]) / precision + noise
                new = (pull[g] - known[g] * prior) / precision + noise
            s[g] = new

    # ------------------------------------------------------------------ updates of scales

    cdef double without(self, int g, int o) noexcept nogil:
        """Return the spread of a group without order o, as a sum."""
        cdef double total = 0.0
        cdef int64_t k
        for k in range(self.group_ptr[g], self.group_ptr[g + 1]):
            if self.group_order[k] != o:
                total += self.group_count[k] * self.unit(self.log_sigma[self.group_order[k]])
        return total

    cdef void take(self, int o) noexcept nogil:
        """Compute the spreads without order o of the groups with that order, and the squares of their sums.

        Spreads are computed as differences if these lose few digits, else as sums.
        """
        cdef int64_t first = self.order_ptr[o], k, n = self.order_ptr[o + 1] - first
        cdef double unit = self.unit(self.log_sigma[o]), left
        cdef const int* groups = self.order_group + first
        cdef const double* s
        cdef int c
        self.o = o
        for k in range(n):
            left = self.spread[groups[k]] - self.order_count[first + k] * unit
            self.rest[k] = left if left > KEPT * self.spread[groups[k]] else self.without(groups[k], o)
        if not self.cauchy:
            memset(self.square, 0, n * sizeof(double))
        for c in range(self.n_free):
            s = self.s + c * self.n_groups
            for k in range(n):
                if self.cauchy:
                    self.square[c * n + k] = s[groups[k]] * s[groups[k]]
                else:
                    self.square[k] += s[groups[k]] * s[groups[k]]

    cdef void give(self, double t, bint moving) noexcept nogil:
        """Set log sigma_o, and rescale the sums if `moving`."""
        cdef int64_t first = self.order_ptr[self.o], k
        cdef double unit = self.unit(t), new, ratio
        cdef int g, c
        self.log_sigma[self.o] = t
        for k in range(self.order_ptr[self.o + 1] - first):
            g = self.order_group[first + k]
            new = self.rest[k] + self.order_count[first + k] * unit
            if moving:
                ratio = new / self.spread[g]
                for c in range(self.n_free):
                    self.s[c * self.n_groups + g] *= ratio if self.cauchy else sqrt(ratio)
            self.spread[g] = new

    cdef void propose(self, double t) noexcept nogil:
        """Compute the linear predictors for log sigma_o = t and rescaled sums."""
        cdef int64_t first = self.order_ptr[self.o], k
        cdef double unit = self.unit(t), ratio
        cdef int g, c
        for k in range(self.order_ptr[self.o + 1] - first):
            g = self.order_group[first + k]
            ratio = (self.rest[k] + self.order_count[first + k] * unit) / self.spread[g]
            if not self.cauchy:
                ratio = sqrt(ratio)
            for c in range(self.n_free):
                self.shift[c * self.most + k] = (ratio - 1.0) * self.s[c * self.n_groups + g]
        memcpy(self.proposed, self.eta, <size_t> self.n_free * self.n_rows * sizeof(double))
        for c in range(self.n_free):
            add_by_row(self.n_rows, self.member_ptr + (self.o - 1) * <int64_t> self.n_rows, self.member,
                       self.shift + c * self.most, self.proposed + c * self.n_rows)

    cdef void scales(self, int update, bitgen_t* rng) noexcept nogil:
        """Update each log sigma_o."""
        cdef int o
        cdef double t
        self.set_spreads()
        if update == SCALED:
            self.set_predictors()
        for o in range(1, self.n_orders + 1):
            self.take(o)
            t = self.slice(update, self.log_sigma[o], self.hyper[5 * (o - 1) + 4], rng)
            if update == SCALED:
                self.propose(t)
                memcpy(self.eta, self.proposed, <size_t> self.n_free * self.n_rows * sizeof(double))
            self.give(t, update == SCALED)

    # ------------------------------------------------------------------ iterations

    cdef void iterate(self, bitgen_t* rng) noexcept nogil:
        cdef int k, update, c, _
        for k in range(self.plan.shape[0]):
            update = self.plan[k, 0]
            for _ in range(self.plan[k, 1]):
                if update == CENTRED or update == SCALED:
                    self.scales(update, rng)
                    continue
                self.set_spreads()
                if update == PATHS:
                    for c in range(self.n_free):
                        self.paths(c, rng)
                else:
                    self.sums(update, rng)

    def run(self, rng, Py_ssize_t n, *, Py_ssize_t done=0, Py_ssize_t thin=1, double[:, :, ::1] s=None,
            double[:, ::1] log_sigma=None, double[::1] log_posterior=None):
        """Run `n` iterations, recording every `thin`-th.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int
        done : int
            Number of iterations since the start of recording, before this call.
        thin : int
        s : float64 array (kept, C, G), optional
            Sums of the recorded draws; None for no recording.
        log_sigma : float64 array (kept, O)
        log_posterior : float64 array (kept,)
            Log joint densities of responses, sums and log sigma.

        Returns
        -------
        int
            Number of recorded draws.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i, kept = 0
        if s is not None and (s.shape[1] != self.n_free or s.shape[2] != self.n_groups
                              or log_sigma.shape[1] != self.n_orders):
            raise ValueError("the arrays do not fit the model")
        with rng.bit_generator.lock, nogil:
            for i in range(n):
                self.iterate(bits)
                if s is None or (done + i + 1) % thin:
                    continue
                memcpy(&s[kept, 0, 0], self.s, <size_t> self.n_free * self.n_groups * sizeof(double))
                memcpy(&log_sigma[kept, 0], self.log_sigma + 1, self.n_orders * sizeof(double))
                log_posterior[kept] = self.log_posterior()
                kept += 1
        return kept

    def state(self):
        """Return copies of s (C, G) and log sigma (O + 1,)."""
        return self.found[0].copy(), self.found[1].copy()

    def log_density(self):
        """Return the log joint density of responses, sums and log sigma."""
        return self.log_posterior()


cdef inline Py_ssize_t whole_parts(Py_ssize_t n) noexcept nogil:
    """The least multiple of PART that is at least n."""
    return (n + PART - 1) // PART * PART


cdef void add_by_row(int n, const int64_t* start, const int* member, const double* values,
                     double* out) noexcept nogil:
    """Add to each of n rows the values of its members, in four partial sums."""
    cdef int row
    cdef int64_t k, last
    cdef double a, b, c, d
    for row in range(n):
        k, last = start[row], start[row + 1]
        a = b = c = d = 0.0
        while k + 4 <= last:
            a += values[member[k]]
            b += values[member[k + 1]]
            c += values[member[k + 2]]
            d += values[member[k + 3]]
            k += 4
        while k < last:
            a += values[member[k]]
            k += 1
        out[row] += (a + b) + (c + d)


cdef void lone_first(const int64_t[::1] indptr, const int[::1] rows, const int[::1] place, int n_lone,
                     int[::1] moved, int64_t[::1] shared) noexcept:
    """Move rows to their new places, those of one case (places below `n_lone`) first in each group."""
    cdef Py_ssize_t g
    cdef int64_t k, to
    for g in range(shared.shape[0]):
        to = indptr[g]
        for k in range(indptr[g], indptr[g + 1]):
            if place[rows[k]] < n_lone:
                moved[to] = place[rows[k]]
                to += 1
        shared[g] = to - indptr[g]
        for k in range(indptr[g], indptr[g + 1]):
            if place[rows[k]] >= n_lone:
                moved[to] = place[rows[k]]
                to += 1


cdef void by_row(const int64_t[::1] indptr, const int[::1] rows, const int[::1] groups, int64_t[::1] start,
                 int[::1] member):
    """List by row the places in `groups` of its groups, in `member` from ``start[0]`` on; sets `start`."""
    cdef Py_ssize_t k, row
    cdef int64_t i
    cdef int64_t[::1] to
    for k in range(groups.shape[0]):
        for i in range(indptr[groups[k]], indptr[groups[k] + 1]):
            start[rows[i] + 1] += 1
    for row in range(start.shape[0] - 1):
        start[row + 1] += start[row]
    to = np.array(start[:start.shape[0] - 1])
    for k in range(groups.shape[0]):
        for i in range(indptr[groups[k]], indptr[groups[k] + 1]):
            member[to[rows[i]]] = k
            to[rows[i]] += 1
