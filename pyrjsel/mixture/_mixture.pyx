"""Gibbs sampling of mixture classifiers, and reversible jumps over the inputs they use: the compiled loop.

Rows have a class c and a kernel d given the class; selected inputs are normal given the kernel, inputs that
are not have the density of the null model (``_null.pyx``). Inputs are in range units. The state is the
subset gamma, for each selected input i the rate beta_i, precisions u_di and means m_di of the D kernels,
class weights w_cd, class probabilities, the kernel of each row, the class of each row without a label, and
the missing inputs where the null model ties inputs together. Where it does not, missing inputs are integrated
out: they drop out of every sum. A sweep is, in this order,

1. for each selected input beta_i given the precisions, then means and precisions given the rows;
2. moves: an input enters, one leaves, or two are exchanged, at the present kernels of the rows;
3. weights and class probabilities;
4. missing inputs, where they are in the state: of selected ones by a Metropolis step with the density of the
   kernel as proposal, of others from the null model;
5. kernels of the rows, and missing classes.

A sweep begins with sums that are worked out from the state, so that rounding does not build up, and a state
that was written down goes on to the same draws, bit for bit.

Moves: what an input contributes given the kernels of the rows does not depend on the other inputs but for
the null model. With conditional proposals an input that enters gets precisions of the kernels that hold rows
from gamma distributions q_d that are centred on what these rows say, then beta_i and the other precisions
given those, then means from their normal conditionals. Densities of all but the first cancel out, so that the
weight of an input is

    p(u of kernels with rows) prod_d [integral of N(m; 0, 1) prod_{n in d} N(z_n; m, 1 / u_d) dm] / q_d(u_d)

and depends on precisions alone. With prior proposals everything comes from the prior, and the weight is the
density of the rows. A move costs O(D + s^2) with s selected inputs, a sweep O(N (p + D s)) besides.
"""

cimport cython
from libc.math cimport INFINITY, NAN, exp, fmax, fmin, isfinite, isnan, lgamma, log, sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core.random cimport (
    bitgen_of, bitgen_t, random_standard_gamma, random_standard_normal, random_standard_uniform,
)
from pyrjsel.mixture._null cimport Null
from pyrjsel.mixture._random cimport below, chosen, cut_gamma, dirichlet
from pyrjsel.space._space cimport (
    Space, model_feasible_at, model_flip, model_log_prior, model_refresh, model_t,
)

cdef enum:                      # moves, in the order of MOVES
    ADD = 0
    REMOVE = 1
    EXCHANGE = 2

cdef double LOG_2PI = 1.8378770664093454836
# Steps to the rate at which q_d are centred: any number of them gives a right sampler.
cdef int STEPS = 4


@cython.final
cdef class MixtureChain:
    """One chain.

    Parameters
    ----------
    z : float64 array (p, N)
        Inputs in range units, an input a row. Missing ones are NaN where the null model has independent
        inputs, else what the chain starts from.
    missing : uint8 array (p, N)
        1 where an input is missing.
    label : int32 array (N,)
        Classes, -1 where missing.
    null : Null
    space : Space
    hyper : float64 array (5,)
        alpha, g, h, the largest precision and the log mass of the precisions below it.
    gamma : uint8 array (p,)
        Subset to start from.
    beta : float64 array (p,)
    precision, mean : float64 arrays (p, D)
    weight : float64 array (K, D)
    prior : float64 array (K,)
    kernel, klass : int32 arrays (N,)
    moves : int
        Moves a sweep.
    conditional : bool
        Whether proposals are conditional; else they are the prior.
    """

    cdef Null null
    cdef Space space
    cdef object arrays, found
    cdef model_t m
    cdef int n, p, n_kernels, n_classes, n_free, cap, n_moves, n_missing
    cdef bint conditional, imputed
    cdef double alpha, g, h, most, log_mass, log_rows
    cdef double* z              # (p, N)
    cdef const unsigned char* missing
    cdef unsigned char* partial     # (p) inputs with missing values
    cdef const int* missing_row     # rows with missing inputs that are drawn, CSR
    cdef const int* missing_start
    cdef const int* missing_input
    cdef const int* label
    cdef int* kernel
    cdef int* klass
    cdef int* free_terms
    cdef double* beta
    cdef double* precision      # (p, D)
    cdef double* mean
    cdef double* weight         # (K, D)
    cdef double* prior          # (K)
    cdef double* count          # (p, D) rows of a kernel that have the input
    cdef double* centre         # (p, D) their mean
    cdef double* square         # (p, D) their squares about it
    cdef double* log_gamma      # (N + 1) of alpha + (n - 1) / 2
    cdef double* log_joint      # (D + 1) constant of the marginal prior of so many precisions
    cdef double* rate           # (D) of q_d
    cdef double* new_precision  # (D)
    cdef double* new_mean
    cdef double new_beta
    cdef double* log_kernel     # (D, N)
    cdef double* share          # (D)
    cdef double* both           # (D) weights summed over classes
    cdef int64_t proposed[3]
    cdef int64_t accepted[3]

    def __init__(self, z, const unsigned char[:, ::1] missing, const int[::1] label, Null null not None,
                 Space space not None, const double[::1] hyper, gamma, beta, precision, mean, weight, prior,
                 kernel, klass, *, int moves, bint conditional):
        cdef double[:, ::1] inputs = np.array(z, dtype=np.float64)
        cdef unsigned char[::1] subset = np.array(gamma, dtype=np.uint8)
        cdef double[::1] rates = np.array(beta, dtype=np.float64)
        cdef double[:, ::1] precisions = np.array(precision, dtype=np.float64)
        cdef double[:, ::1] means = np.array(mean, dtype=np.float64)
        cdef double[:, ::1] weights = np.array(weight, dtype=np.float64)
        cdef double[::1] priors = np.array(prior, dtype=np.float64)
        cdef int[::1] kernels = np.array(kernel, dtype=np.intc)
        cdef int[::1] classes = np.array(klass, dtype=np.intc)
        cdef int p = inputs.shape[0], n = inputs.shape[1], D = precisions.shape[1], K = weights.shape[0], j, k
        gaps = np.asarray(missing)
        good = (
            n > 0 and p > 0 and D > 0 and K > 0
            and gaps.shape == (p, n) and label.shape[0] == n and null.p == p and null.n == n
            and space.c.n_terms == p and hyper.shape[0] == 5
            and subset.shape[0] == p and rates.shape[0] == p
            and np.shape(precision) == np.shape(mean) == (p, D)
            and weights.shape[1] == D and priors.shape[0] == K
            and np.shape(kernel) == np.shape(klass) == (n,)
            and min(kernels) >= 0 and max(kernels) < D and min(classes) >= 0 and max(classes) < K
            and min(label) >= -1 and max(label) < K
            and np.all((np.asarray(label) < 0) | (np.asarray(label) == np.asarray(classes)))
            and np.array_equal(np.isnan(inputs), np.zeros_like(gaps) if null.joint else gaps != 0)
        )
        if not good:
            raise ValueError("the arrays do not fit together")
        self.null, self.space = null, space
        self.n, self.p, self.n_kernels, self.n_classes = n, p, D, K
        self.alpha, self.g, self.h, self.most, self.log_mass = hyper
        self.n_moves, self.conditional = moves, conditional
        self.imputed = null.joint and bool(gaps.any())
        at_row, at_input = np.nonzero(gaps.T if self.imputed else np.zeros((0, p)))
        rows, starts = np.unique(at_row, return_index=True)
        self.n_missing = len(rows)
        cdef int[::1] missing_row = np.append(rows, 0).astype(np.intc)
        cdef int[::1] missing_start = np.append(starts, len(at_row)).astype(np.intc)
        cdef int[::1] missing_input = np.append(at_input, 0).astype(np.intc)
        cdef unsigned char[::1] partial = gaps.any(axis=1).astype(np.uint8)
        cdef int[::1] use = np.zeros(max(1, space.c.n_items), dtype=np.intc)
        cdef int[::1] free_terms = np.zeros(p, dtype=np.intc)
        cdef double[::1] sums = np.zeros(3 * p * D)
        cdef double[::1] log_gamma = np.zeros(n + 1)
        cdef double[::1] log_joint = np.zeros(D + 1)
        for k in range(1, n + 1):
            log_gamma[k] = lgamma(self.alpha + 0.5 * (k - 1))
        for k in range(D + 1):
            log_joint[k] = (self.g * log(self.h) - lgamma(self.g) - k * lgamma(self.alpha)
                            + lgamma(self.g + k * self.alpha) - self.log_mass)
        cdef double[::1] scratch = np.zeros(5 * D + D * n)
        self.arrays = (missing, label, missing_row, missing_start, missing_input, partial, use, free_terms,
                       sums, log_gamma, log_joint, scratch)
        self.found = (subset, rates, precisions, means, weights, priors, kernels, classes, inputs)
        self.z, self.missing, self.partial = &inputs[0, 0], &missing[0, 0], &partial[0]
        self.missing_row, self.missing_start = &missing_row[0], &missing_start[0]
        self.missing_input = &missing_input[0]
        self.label, self.kernel, self.klass = &label[0], &kernels[0], &classes[0]
        self.beta, self.precision, self.mean = &rates[0], &precisions[0, 0], &means[0, 0]
        self.weight, self.prior = &weights[0, 0], &priors[0]
        self.count = &sums[0]
        self.centre = self.count + p * D
        self.square = self.centre + p * D
        self.log_gamma, self.log_joint = &log_gamma[0], &log_joint[0]
        self.rate = &scratch[0]
        self.new_precision = self.rate + D
        self.new_mean = self.new_precision + D
        self.share = self.new_mean + D
        self.both = self.share + D
        self.log_kernel = self.both + D
        self.m.gamma, self.m.item_use = &subset[0], &use[0]
        self.free_terms = &free_terms[0]
        self.n_free = 0
        for j in range(p):
            if space.c.free_term[j]:
                self.free_terms[self.n_free] = j
                self.n_free += 1
        self.cap = min(self.n_free, space.c.max_size - (p - self.n_free))
        memset(self.proposed, 0, sizeof(self.proposed))
        memset(self.accepted, 0, sizeof(self.accepted))
        null.set_inputs(self.z, NULL)
        self.refresh()
        self.log_rows = NAN

    # ------------------------------------------------------------------ derived from the state

    cdef void refresh(self) noexcept nogil:
        """Work out all sums from the state."""
        cdef int i
        model_refresh(&self.space.c, &self.m)
        if self.imputed:
            self.null.set_inputs(self.z, self.partial)
        self.null.set_members(self.m.gamma)
        for i in range(self.p):
            self.add_up(i)

    cdef void add_up(self, int i) noexcept nogil:
        """Count, mean and squares of input i by kernel."""
        cdef int n, d
        cdef double value
        cdef double* count = self.count + i * self.n_kernels
        cdef double* centre = self.centre + i * self.n_kernels
        cdef double* square = self.square + i * self.n_kernels
        cdef const double* z = self.z + <Py_ssize_t> i * self.n
        for d in range(self.n_kernels):
            count[d] = centre[d] = square[d] = 0.0
        for n in range(self.n):
            if not isnan(z[n]):
                count[self.kernel[n]] += 1.0
                centre[self.kernel[n]] += z[n]
        for d in range(self.n_kernels):
            if count[d] > 0.0:
                centre[d] /= count[d]
        for n in range(self.n):
            if not isnan(z[n]):
                value = z[n] - centre[self.kernel[n]]
                square[self.kernel[n]] += value * value

    # ------------------------------------------------------------------ kernels of one input

    cdef void fit(self, int i) noexcept nogil:
        """The rates of q_d for input i, from the rows alone."""
        cdef int d, _, occupied = 0
        cdef double beta = self.g / self.h, total, shape, value
        cdef const double* count = self.count + i * self.n_kernels
        cdef const double* square = self.square + i * self.n_kernels
        for d in range(self.n_kernels):
            occupied += count[d] > 0.0
        for _ in range(STEPS):
            total = self.h
            for d in range(self.n_kernels):
                if count[d] > 0.0:
                    value = (self.alpha + 0.5 * (count[d] - 1.0)) / (beta + 0.5 * square[d])
                    total += fmin(value, self.most)
            beta = (self.g + occupied * self.alpha) / total
        for d in range(self.n_kernels):
            shape = self.alpha + 0.5 * (count[d] - 1.0)
            # Where rows ask for more than the largest precision, most proposals stay below it.
            self.rate[d] = fmax(beta + 0.5 * square[d], (shape + 2.0 * sqrt(fmax(shape, 0.0))) / self.most)

    cdef double log_weight(self, int i, const double* precision, const double* mean) noexcept nogil:
        """The weight of input i with these kernels: what it adds to the density of everything but the null
        model and the prior over subsets, over the density of a proposal of these kernels.

        With conditional proposals `fit` comes first, and means are not looked at.
        """
        cdef int d, occupied = 0
        cdef double value = 0.0, total = self.h, u, n, x, shape
        cdef const double* count = self.count + i * self.n_kernels
        cdef const double* centre = self.centre + i * self.n_kernels
        cdef const double* square = self.square + i * self.n_kernels
        for d in range(self.n_kernels):
            n, u = count[d], precision[d]
            if n == 0.0:
                continue
            value += 0.5 * n * (log(u) - LOG_2PI) - 0.5 * u * square[d]
            if not self.conditional:
                x = centre[d] - mean[d]
                value -= 0.5 * n * u * x * x
                continue
            occupied += 1
            total += u
            x = 1.0 + n * u
            value -= 0.5 * (log(x) + n * u * centre[d] * centre[d] / x)
            shape = self.alpha + 0.5 * (n - 1.0)
            value += (self.alpha - shape) * log(u) + self.rate[d] * u - shape * log(self.rate[d])
            value += self.log_gamma[<int> n]
        if not self.conditional:
            return value - self.log_mass
        return value + self.log_joint[occupied] - (self.g + occupied * self.alpha) * log(total)

    cdef double draw(self, int i, bitgen_t* rng) noexcept nogil:
        """Propose kernels of input i (conditional means are left to `enter`); -inf or their weight."""
        cdef int d, occupied = 0
        cdef double total = self.h, value
        cdef const double* count = self.count + i * self.n_kernels
        if self.conditional:
            self.fit(i)
            for d in range(self.n_kernels):
                if count[d] > 0.0:
                    occupied += 1
                    value = random_standard_gamma(rng, self.alpha + 0.5 * (count[d] - 1.0)) / self.rate[d]
                    if not 0.0 < value <= self.most:
                        return -INFINITY
                    self.new_precision[d] = value
                    total += value
        self.new_beta = random_standard_gamma(rng, self.g + occupied * self.alpha) / total
        for d in range(self.n_kernels):
            if not self.conditional or count[d] == 0.0:
                value = random_standard_gamma(rng, self.alpha) / self.new_beta
                if not 0.0 < value <= self.most:
                    return -INFINITY
                self.new_precision[d] = value
        if not self.conditional:
            for d in range(self.n_kernels):
                self.new_mean[d] = random_standard_normal(rng)
        return self.log_weight(i, self.new_precision, self.new_mean)

    cdef double draw_mean(self, int i, int d, double u, bitgen_t* rng) noexcept nogil:
        """A mean from its conditional at precision u."""
        cdef int at = i * self.n_kernels + d
        cdef double known = 1.0 + self.count[at] * u
        return self.count[at] * u * self.centre[at] / known + random_standard_normal(rng) / sqrt(known)

    cdef void enter(self, int i, bitgen_t* rng) noexcept nogil:
        """Give input i the kernels that were proposed."""
        cdef int d, at = i * self.n_kernels
        self.beta[i] = self.new_beta
        for d in range(self.n_kernels):
            self.precision[at + d] = self.new_precision[d]
            if self.conditional:
                self.mean[at + d] = self.draw_mean(i, d, self.new_precision[d], rng)
            else:
                self.mean[at + d] = self.new_mean[d]

    # ------------------------------------------------------------------ moves

    cdef int kinds(self, int size, int* kind) noexcept nogil:
        """The moves from a subset with so many free inputs, each as likely as the others; their number."""
        cdef int k = 0
        if size < self.cap:
            kind[k] = ADD
            k += 1
        if size > 0:
            kind[k] = REMOVE
            k += 1
        if 0 < size < self.n_free:
            kind[k] = EXCHANGE
            k += 1
        return k

    cdef double log_choice(self, int size) noexcept nogil:
        """The log probability of an addition to a subset of this size over that of its removal."""
        cdef int kind[3]
        cdef double away = self.kinds(size, kind) * <double> (self.n_free - size)
        return log(self.kinds(size + 1, kind) * <double> (size + 1) / away)

    cdef int pick(self, unsigned char inside, int rank) noexcept nogil:
        """The free input of that rank among those inside (or outside) the subset."""
        cdef int k, j = -1
        for k in range(self.n_free):
            j = self.free_terms[k]
            if self.m.gamma[j] == inside:
                if rank == 0:
                    return j
                rank -= 1
        return j

    cdef double flipped(self, int j, int k) noexcept nogil:
        """Flip j, and k unless it is -1; what this adds to the log prior, -inf where it may not be done."""
        cdef double before = model_log_prior(&self.space.c, &self.m)
        model_flip(&self.space.c, &self.m, j)
        if k >= 0:
            model_flip(&self.space.c, &self.m, k)
        if not model_feasible_at(&self.space.c, &self.m, j) or (
                k >= 0 and not model_feasible_at(&self.space.c, &self.m, k)):
            return -INFINITY
        return model_log_prior(&self.space.c, &self.m) - before

    cdef void flip_back(self, int j, int k) noexcept nogil:
        if k >= 0:
            model_flip(&self.space.c, &self.m, k)
        model_flip(&self.space.c, &self.m, j)

    cdef double ratio(self, int move, int out, int into, bitgen_t* rng) noexcept nogil:
        """The log acceptance ratio of a move that takes `out` out or `into` in (-1: none), which is flipped.

        Without a generator the proposed kernels are those that `new_*` hold.
        """
        cdef double value, weight
        cdef int size = self.m.n_free
        value = self.flipped(out if out >= 0 else into, into if out >= 0 else -1)
        if value == -INFINITY:
            return value
        if into >= 0:
            if rng != NULL:
                weight = self.draw(into, rng)
            else:
                if self.conditional:
                    self.fit(into)
                weight = self.log_weight(into, self.new_precision, self.new_mean)
            if not isfinite(weight):
                return -INFINITY
            value += weight
        if out >= 0:
            if self.conditional:
                self.fit(out)
            value -= self.log_weight(out, self.precision + out * self.n_kernels,
                                     self.mean + out * self.n_kernels)
        if move == ADD:
            return value - self.null.entering(into) - self.log_choice(size)
        if move == REMOVE:
            return value + self.null.leaving(out) + self.log_choice(size - 1)
        return value - self.null.exchanging(out, into)

    cdef void move(self, bitgen_t* rng) noexcept nogil:
        cdef int kind[3]
        cdef int size = self.m.n_free, n_kinds = self.kinds(size, kind), move, out = -1, into = -1
        cdef double value
        if n_kinds == 0:
            return
        move = kind[below(n_kinds, rng)]
        if move != ADD:
            out = self.pick(1, below(size, rng))
        if move != REMOVE:
            into = self.pick(0, below(self.n_free - size, rng))
        self.proposed[move] += 1
        value = self.ratio(move, out, into, rng)
        if value == -INFINITY or log(random_standard_uniform(rng)) >= value:
            self.flip_back(out if out >= 0 else into, into if out >= 0 else -1)
            return
        self.accepted[move] += 1
        if out >= 0:
            self.null.take_out(out)
        if into >= 0:
            self.null.put_in(into)
            self.enter(into, rng)

    # ------------------------------------------------------------------ conditionals

    cdef void kernels(self, int i, bitgen_t* rng) noexcept nogil:
        """Rate, means and precisions of the selected input i."""
        cdef int d, at = i * self.n_kernels
        cdef double total = self.h, x
        for d in range(self.n_kernels):
            total += self.precision[at + d]
        self.beta[i] = random_standard_gamma(rng, self.g + self.n_kernels * self.alpha) / total
        for d in range(self.n_kernels):
            self.mean[at + d] = self.draw_mean(i, d, self.precision[at + d], rng)
            x = self.centre[at + d] - self.mean[at + d]
            self.precision[at + d] = cut_gamma(
                self.alpha + 0.5 * self.count[at + d],
                self.beta[i] + 0.5 * (self.square[at + d] + self.count[at + d] * x * x), self.most, rng)

    cdef void weights(self, bitgen_t* rng) noexcept nogil:
        cdef int n, k
        memset(self.weight, 0, self.n_classes * self.n_kernels * sizeof(double))
        memset(self.prior, 0, self.n_classes * sizeof(double))
        for n in range(self.n):
            self.weight[self.klass[n] * self.n_kernels + self.kernel[n]] += 1.0
            self.prior[self.klass[n]] += 1.0
        for k in range(self.n_classes):
            dirichlet(self.n_kernels, self.weight + k * self.n_kernels, rng)
        dirichlet(self.n_classes, self.prior, rng)

    cdef void inputs(self, bitgen_t* rng) noexcept nogil:
        """Missing inputs, row by row."""
        cdef int a, e, n, i, at
        cdef double new, width, change
        cdef double* z
        self.null.set_inverses()
        for a in range(self.n_missing):
            n = self.missing_row[a]
            self.null.open_row(self.z, n)
            for e in range(self.missing_start[a], self.missing_start[a + 1]):
                i = self.missing_input[e]
                z = self.z + <Py_ssize_t> i * self.n + n
                if self.m.gamma[i]:
                    at = i * self.n_kernels + self.kernel[n]
                    new = self.mean[at] + random_standard_normal(rng) / sqrt(self.precision[at])
                    change = self.null.change(i, new - z[0])
                    if log(random_standard_uniform(rng)) >= change:
                        continue
                else:
                    new = self.null.given_others(i, z[0], &width)
                    change = 0.5 * (self.null.surplus + self.p + self.n - 1.0)
                    width /= sqrt(2.0 * random_standard_gamma(rng, change))
                    new += width * random_standard_normal(rng)
                self.null.move(i, new - z[0])
                z[0] = new
            self.null.close_row(self.z, n)

    cdef void rows(self, bitgen_t* rng) noexcept nogil:
        """Kernels and missing classes of the rows, and their log density given all else."""
        cdef int n, d, k, i, a
        cdef double constant, u, mean, x, top, total
        cdef const double* z
        cdef const double* w
        cdef double* out
        memset(self.both, 0, self.n_kernels * sizeof(double))
        for k in range(self.n_classes):
            for d in range(self.n_kernels):
                self.both[d] += self.prior[k] * self.weight[k * self.n_kernels + d]
        for d in range(self.n_kernels):
            out = self.log_kernel + <Py_ssize_t> d * self.n
            constant = 0.0
            for a in range(self.null.size):
                i = self.null.members[a]
                if self.imputed or not self.partial[i]:
                    constant += 0.5 * (log(self.precision[i * self.n_kernels + d]) - LOG_2PI)
            for n in range(self.n):
                out[n] = constant
            for a in range(self.null.size):
                i = self.null.members[a]
                u = 0.5 * self.precision[i * self.n_kernels + d]
                mean = self.mean[i * self.n_kernels + d]
                z = self.z + <Py_ssize_t> i * self.n
                if self.imputed or not self.partial[i]:
                    for n in range(self.n):
                        out[n] -= u * (z[n] - mean) * (z[n] - mean)
                else:
                    constant = 0.5 * (log(2.0 * u) - LOG_2PI)
                    for n in range(self.n):
                        if not isnan(z[n]):
                            out[n] += constant - u * (z[n] - mean) * (z[n] - mean)
        self.log_rows = 0.0
        for n in range(self.n):
            top = -INFINITY
            for d in range(self.n_kernels):
                top = fmax(top, self.log_kernel[<Py_ssize_t> d * self.n + n])
            w = self.both if self.label[n] < 0 else self.weight + self.label[n] * self.n_kernels
            total = 0.0
            for d in range(self.n_kernels):
                self.share[d] = w[d] * exp(self.log_kernel[<Py_ssize_t> d * self.n + n] - top)
                total += self.share[d]
            self.log_rows += top + log(total)
            d = chosen(self.n_kernels, self.share, total, rng)
            self.kernel[n] = d
            if self.label[n] >= 0:
                self.log_rows += log(self.prior[self.label[n]])
                continue
            x = random_standard_uniform(rng) * self.both[d]
            k = 0
            while k < self.n_classes - 1:
                x -= self.prior[k] * self.weight[k * self.n_kernels + d]
                if x < 0.0:
                    break
                k += 1
            self.klass[n] = k

    # ------------------------------------------------------------------ sweeps

    cdef void sweep(self, int moves, bitgen_t* rng) noexcept nogil:
        cdef int a, _
        self.refresh()
        for a in range(self.null.size):
            self.kernels(self.null.members[a], rng)
        for _ in range(moves):
            self.move(rng)
        self.weights(rng)
        if self.imputed and self.n_missing:
            self.inputs(rng)
            self.null.set_inputs(self.z, self.partial)
            self.null.set_members(self.m.gamma)
        self.rows(rng)

    cdef double log_parameters(self) noexcept nogil:
        """The log density of kernels, weights and subset (this one up to a constant)."""
        cdef int a, i, d
        cdef double value = model_log_prior(&self.space.c, &self.m), beta, u, m
        for a in range(self.null.size):
            i = self.null.members[a]
            beta = self.beta[i]
            value += self.g * log(self.h) - lgamma(self.g) + (self.g - 1.0) * log(beta) - self.h * beta
            value += self.n_kernels * (self.alpha * log(beta) - lgamma(self.alpha)) - self.log_mass
            for d in range(self.n_kernels):
                u, m = self.precision[i * self.n_kernels + d], self.mean[i * self.n_kernels + d]
                value += (self.alpha - 1.0) * log(u) - beta * u - 0.5 * (m * m + LOG_2PI)
        # Flat densities of weights and class probabilities.
        return value + self.n_classes * lgamma(self.n_kernels) + lgamma(self.n_classes)

    def run(self, rng, Py_ssize_t n, *, Py_ssize_t done=0, Py_ssize_t thin=1,
            uint64_t[:, ::1] words=None, double[::1] log_posterior=None, double[::1] log_likelihood=None,
            int[::1] occupied=None, double[:, :, ::1] mean=None, double[:, :, ::1] variance=None,
            double[:, :, ::1] weight=None, double[:, ::1] prior=None, Py_ssize_t every=1,
            bint moving=True):
        """Run `n` sweeps, recording every `thin`-th.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int
        done : int
            Sweeps since recording began, before this call.
        thin : int
        words : uint64 array (kept, words), optional
            Packed subsets of the recorded draws; None records nothing.
        log_posterior, log_likelihood : float64 arrays (kept,)
        occupied : int32 array (kept,)
        mean, variance : float64 arrays (kept kernels, D, p)
            Kernels of every `every`-th recorded draw.
        weight : float64 array (kept kernels, K, D)
        prior : float64 array (kept kernels, K)
        moving : bool
            Whether subsets move.

        Returns
        -------
        tuple of int
            Draws and kernels that were recorded.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t s, kept = 0, kept_kernels = 0
        if words is not None and not (
                words.shape[1] == (self.p + 63) // 64
                and mean.shape[1] == variance.shape[1] == weight.shape[2] == self.n_kernels
                and mean.shape[2] == variance.shape[2] == self.p
                and weight.shape[1] == prior.shape[1] == self.n_classes):
            raise ValueError("the arrays do not fit the model")
        with rng.bit_generator.lock, nogil:
            for s in range(n):
                self.sweep(self.n_moves if moving else 0, bits)
                if words is None or (done + s + 1) % thin:
                    continue
                if ((done + s + 1) // thin - 1) % every == 0:
                    self.write_kernels(&mean[kept_kernels, 0, 0], &variance[kept_kernels, 0, 0])
                    memcpy(&weight[kept_kernels, 0, 0], self.weight,
                           self.n_classes * self.n_kernels * sizeof(double))
                    memcpy(&prior[kept_kernels, 0], self.prior, self.n_classes * sizeof(double))
                    kept_kernels += 1
                self.write_words(&words[kept, 0], words.shape[1])
                log_likelihood[kept] = self.log_rows + self.null.log_density()
                log_posterior[kept] = log_likelihood[kept] + self.log_parameters()
                occupied[kept] = self.n_occupied()
                kept += 1
        return kept, kept_kernels

    cdef void write_words(self, uint64_t* words, Py_ssize_t n_words) noexcept nogil:
        cdef int j
        memset(words, 0, n_words * sizeof(uint64_t))
        for j in range(self.p):
            if self.m.gamma[j]:
                words[j // 64] |= (<uint64_t> 1) << (j % 64)

    cdef void write_kernels(self, double* mean, double* variance) noexcept nogil:
        cdef int i, d
        for i in range(self.p):
            for d in range(self.n_kernels):
                mean[d * self.p + i] = variance[d * self.p + i] = NAN
                if self.m.gamma[i]:
                    mean[d * self.p + i] = self.mean[i * self.n_kernels + d]
                    variance[d * self.p + i] = 1.0 / self.precision[i * self.n_kernels + d]

    cdef int n_occupied(self) noexcept nogil:
        cdef int n, d, k = 0
        memset(self.share, 0, self.n_kernels * sizeof(double))
        for n in range(self.n):
            self.share[self.kernel[n]] += 1.0
        for d in range(self.n_kernels):
            k += self.share[d] > 0.0
        return k

    def state(self):
        """Return copies of gamma, beta, precision, mean, weight, prior, kernel, klass and z."""
        return tuple(np.array(part) for part in self.found)

    def log_density(self):
        """Return the log density of labels, inputs, kernels, weights and subset after the last sweep."""
        return self.log_rows + self.null.log_density() + self.log_parameters()

    def counts(self):
        """Return proposals and acceptances by move, shape (2, 3)."""
        return np.array([[self.proposed[k] for k in range(3)], [self.accepted[k] for k in range(3)]],
                        dtype=np.int64)

    def set_counts(self, const int64_t[:, ::1] counts not None):
        """Go on counting from `counts`, as `counts()` returned them."""
        for k in range(3):
            self.proposed[k], self.accepted[k] = counts[0, k], counts[1, k]

    def log_ratio(self, int out, int into, const double[::1] precision=None, const double[::1] mean=None):
        """Return the log acceptance ratio of a move from the present state, which does not change.

        `out` leaves and `into` enters (-1: none), with the given kernels; it does not depend on their beta.
        """
        cdef int move = ADD if out < 0 else (REMOVE if into < 0 else EXCHANGE), d
        cdef double value
        self.refresh()
        if into >= 0:
            for d in range(self.n_kernels):
                self.new_precision[d], self.new_mean[d] = precision[d], mean[d]
        value = self.ratio(move, out, into, NULL)
        self.flip_back(out if out >= 0 else into, into if out >= 0 else -1)
        return value
