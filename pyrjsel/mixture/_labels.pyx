"""Reversible-jump MCMC for mixture classifiers given the inputs: the compiled loop of ``target="labels"``.

Only labels are data. With L_nd the log density of the selected inputs of row n under kernel d, and

    C = sum_n log(P_t sum_d w_td exp L_nd) - log(sum_k P_k sum_d w_kd exp L_nd),   t the label of row n,

the target at power t is p(subset) p(parameters) exp(t C). A missing input is a missing factor. The state is
the subset gamma, for each selected input i the rate beta_i, precisions u_di and means m_di of the D kernels,
class weights w_kd, and class probabilities P. Inputs are in range units, where m_di ~ N(0, 1), u_di ~
Gamma(alpha, beta_i) and beta_i ~ Gamma(g, h_i). A sweep is, in this order,

1. for each selected input without gaps, quadratic functions of it that are added to the log densities of
   all kernels: labels do not depend on them, so that they cost no pass over the rows. Random walks of
   single means and precisions take hundreds of sweeps for such a step;
2. for each kernel and selected input random walks of the mean and of the log precision, with beta_i
   integrated out; then for each selected input beta_i given the precisions, and a factor of all precisions
   by which beta_i is divided: given each other, beta_i and precisions of weak inputs hardly move.
   Likewise a factor of the precisions of all selected inputs together, each rate divided by it: kernels
   so narrow that the nearest one decides keep their shape. Then for each kernel all its means and precisions
   anew: precisions from their prior given beta_i, means with probability 1/2 from their prior, else near a
   row's inputs, this row of a class in proportion to the kernel's weight in it. The density of both parts is
   in the ratio;
3. random walks of the logarithms of class weights and of class probabilities. With a_d ~ Gamma(delta, 1), a /
   sum a has a Dirichlet(delta) distribution and is independent of the sum, which is drawn again each time;
4. moves: an input enters, one leaves, or two are exchanged. Exchanges, of which few are accepted, are a tenth
   of them where all three are possible.

Kernels of an input that enters come from the prior, or (conditional proposals) with probability 1/2 from
conjugate updates of the prior by the rows that each kernel answers for, as far as all inputs but those that
move tell, with half their weight. Both parts are in the density of the proposal, so the ratio is bounded by
twice that of prior proposals. The answers are the same for a move and for its return.

A sweep begins with sums that are computed from the state, so that rounding does not build up. It takes N
exponentials for each of 2 s D random walks of means and precisions, 2 N D multiplications for each of K D + K
of weights and probabilities, 3 N exponentials for each of D kernels anew, D N exponentials for each of s + 1
factors, and for each input that a move takes in or out; s is the number of selected inputs, N that of rows
with a label. Logarithms are of products of many rows.
"""

cimport cython
from libc.math cimport INFINITY, exp, fabs, fmax, fmin, lgamma, log, log1p, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._vecmath cimport axpy, class_odds, dot, dot3, exponentials, kernel_odds
from pyrjsel._core.random cimport (
    bitgen_t, random_standard_gamma, random_standard_normal, random_standard_uniform,
)
from pyrjsel.mixture._chain cimport ADD, REMOVE
from pyrjsel.mixture._random cimport below
from pyrjsel.model_space._space cimport Space, model_log_prior, model_refresh

# Weight of the rows in conditional proposals: with less than one, tails are wider than those of the target.
cdef double TRUST = 0.5
# Standard deviation of the means of a kernel that is put near a row, in ranges.
cdef double NEAR = 0.2
# Weight of exchanges among moves: of three possible ones a tenth.
cdef double EXCHANGES = 2.0 / 9.0
# Acceptance rate that steps are adapted to in burn-in, how fast, and their limits.
cdef double AIM = 0.35, GAIN = 0.1, SHORTEST = 1e-4, LONGEST = 20.0
# Least weight, positive so that its logarithm is a number; shares below it have no effect.
cdef double LEAST = 1e-290
# How far densities may be from 1 before those that they are relative to change. The smallest density that
# is told from 0 is 1e-308: a label of so small a share is as good as impossible, whatever the power.
cdef double FAR = 1e60
cdef double LOG_2PI = 1.8378770664093454836
# Standard deviations of the logarithm of a factor of all precisions of an input, of which one is taken at
# random: those of inputs that hardly matter may be anything, those of others may not.
cdef double[3] LENGTHS = [0.15, 0.6, 2.4]
# Quadratic functions that are added to all kernels of an input; standard deviation of their places,
# in ranges; least variance of an input, over which their factors are.
cdef int SLIDES = 6
cdef double SPREAD = 0.3, NARROWEST = 1e-4


cdef double log_half(double value) noexcept nogil:
    """The log of a prior density over that of proposals: half the prior, and half exp(value) times it."""
    return log(2.0) - fmax(value, 0.0) - log1p(exp(-fabs(value)))


@cython.final
cdef class LabelChain(Chain):
    """One chain.

    Parameters
    ----------
    z : float64 array (p, N)
        Inputs in range units, an input a row, NaN where missing; rows of the data by class.
    label : int32 array (N,)
        Classes, not falling.
    space : Space
    hyper : float64 array (3,)
        alpha, g, and the concentration of class weights.
    rate : float64 array (p,)
        h_i.
    gamma : uint8 array (p,)
        Subset to start from.
    beta : float64 array (p,)
    precision, mean : float64 arrays (p, D)
    weight : float64 array (K, D)
    prior : float64 array (K,)
    steps : float64 array (2 p + K + 1,)
        Standard deviations of the random walks of means and of log precisions by input, of the logarithms of
        weights by class, and of probabilities.
    conditional : bool
        Whether proposals are conditional; else they are the prior.
    power : float
        t.
    """

    def __init__(self, const double[:, ::1] z not None, const int[::1] label not None, Space space not None,
                 const double[::1] hyper, const double[::1] rate not None, gamma, beta, precision, mean,
                 weight, prior, steps, *, bint conditional, double power=1.0):
        cdef int p = z.shape[0], n = z.shape[1]
        self.hold(space, n, gamma, beta, precision, mean, weight, prior, steps, power)
        cdef int D = self.n_kernels, K = self.n_classes
        if not (self.p == p == rate.shape[0] and label.shape[0] == n and hyper.shape[0] == 3
                and np.shape(steps) == (2 * p + K + 1,) and min(label) >= 0 and max(label) < K
                and np.all(np.diff(label) >= 0)):
            raise ValueError("the arrays do not fit together")
        self.alpha, self.g, self.concentration = hyper
        self.exchange = EXCHANGES
        self.conditional = conditional
        cdef int[::1] start = np.searchsorted(label, np.arange(K + 1)).astype(np.intc)
        cdef double[:, ::1] known = np.nan_to_num(z)
        cdef double[:, ::1] seen = 1.0 - np.isnan(z)
        cdef double[:, :, ::1] by_kernel = np.zeros((6, D, n))
        cdef double[:, ::1] by_row = np.zeros((11, n))
        cdef double[::1] small = np.zeros(7 * D + max(D, K) + K * D + K)
        cdef double[:, ::1] by_input = np.zeros((5, p))
        by_row[9, :] = 1.0
        self.arrays = (known, seen, rate, start, by_kernel, by_row, small, by_input)
        self.z, self.seen, self.rate, self.start = &known[0, 0], &seen[0, 0], &rate[0], &start[0]
        self.log_kernel, self.new_log_kernel = &by_kernel[0, 0, 0], &by_kernel[1, 0, 0]
        self.density, self.new_density = &by_kernel[2, 0, 0], &by_kernel[3, 0, 0]
        self.part, self.part_now = &by_kernel[4, 0, 0], &by_kernel[5, 0, 0]
        self.top, self.new_top = &by_row[0, 0], &by_row[1, 0]
        self.own, self.every = &by_row[2, 0], &by_row[3, 0]
        self.other_own, self.other_every = &by_row[4, 0], &by_row[5, 0]
        self.old, self.row = &by_row[6, 0], &by_row[7, 0]
        self.log_row, self.ones, self.new_row = &by_row[8, 0], &by_row[9, 0], &by_row[10, 0]
        self.share = &small[0]
        self.count = self.share + D
        self.centre = self.count + D
        self.square = self.centre + D
        self.new_precision = self.square + D
        self.new_mean = self.new_precision + D
        self.trial = self.new_mean + D
        self.places, self.to_places = &by_input[0, 0], &by_input[1, 0]
        self.to_precision = &by_input[2, 0]
        self.factor = self.trial + max(D, K)
        self.kept = self.factor + D
        self.pivot, self.unit = &by_input[3, 0], &by_input[4, 0]
        cdef int i
        for i, values in enumerate(np.asarray(z)):
            if not np.isnan(values).any():
                self.pivot[i], self.unit[i] = values.mean(), 1.0 / max(values.var(), NARROWEST)
        self.refresh()

    # ------------------------------------------------------------------ the likelihood

    cdef void set_share(self) noexcept nogil:
        """Averages of the weights over classes."""
        cdef int k, d
        for d in range(self.n_kernels):
            self.share[d] = 0.0
            for k in range(self.n_classes):
                self.share[d] += self.prior[k] * self.weight[k * self.n_kernels + d]

    cdef void add_kernel(self, int d, const double* density, double* own, double* every) noexcept nogil:
        """Add one kernel to the densities of the rows in their class and in all classes."""
        cdef int k, n
        axpy(self.n, self.share[d], density, every)
        for k in range(self.n_classes):
            n = self.start[k]
            axpy(self.start[k + 1] - n, self.weight[k * self.n_kernels + d], density + n, own + n)

    cdef void sums(self, const double* density, int without, double* own, double* every) noexcept nogil:
        """Densities of the rows in their class and in all classes, from all kernels but `without`."""
        cdef int d
        memset(own, 0, self.n * sizeof(double))
        memset(every, 0, self.n * sizeof(double))
        for d in range(self.n_kernels):
            if d != without:
                self.add_kernel(d, density + <Py_ssize_t> d * self.n, own, every)

    cdef double conditional_of(self, const double* log_kernel, double* top, double* density) noexcept nogil:
        """C, given log densities of kernels (NULL: densities) and the weights as they are.

        Densities are relative to the largest of the row, `top`: no sum of theirs can vanish.
        """
        # mathematics: mixture-labels
        cdef double value = class_odds(self.n, self.n_kernels, self.n_classes, self.start, log_kernel, top,
                                       density, self.weight, self.share)
        return value + self.log_classes()

    cdef double log_classes(self) noexcept nogil:
        """The log probability of the labels where inputs say nothing."""
        cdef int k
        cdef double value = 0.0
        for k in range(self.n_classes):
            value += (self.start[k + 1] - self.start[k]) * log(self.prior[k])
        return value

    cdef void add_one(self, int i, double precision, double mean, double sign, double* out) noexcept nogil:
        """out += sign times the log density of input i under one kernel, without its constant."""
        cdef int n
        cdef double constant = 0.5 * sign * log(precision), half = 0.5 * sign * precision
        cdef const double* z = self.z + <Py_ssize_t> i * self.n
        cdef const double* seen = self.seen + <Py_ssize_t> i * self.n
        for n in range(self.n):
            out[n] += seen[n] * (constant - half * (z[n] - mean) * (z[n] - mean))

    cdef void add_input(self, int i, const double* precision, const double* mean, double sign,
                        double* out) noexcept nogil:
        """The same by kernel."""
        cdef int d
        for d in range(self.n_kernels):
            self.add_one(i, precision[d], mean[d], sign, out + <Py_ssize_t> d * self.n)

    cdef void refresh(self) noexcept nogil:
        """Compute all sums from the state."""
        cdef int i
        cdef Py_ssize_t at
        model_refresh(&self.space.c, &self.m)
        for at in range(<Py_ssize_t> self.n_kernels * self.n):
            self.log_kernel[at] = 0.0
        for i in range(self.p):
            if self.m.gamma[i]:
                at = <Py_ssize_t> i * self.n_kernels
                self.add_input(i, self.precision + at, self.mean + at, 1.0, self.log_kernel)
        self.set_share()
        self.answered = False
        self.value = self.conditional_of(self.log_kernel, self.top, self.density)

    # ------------------------------------------------------------------ what labels say nothing of

    cdef double reweigh(self) noexcept nogil:
        """Multiply P_k w_kd by exp(factor[d]) and norm them: the log ratio of priors, with the Jacobian.

        In logarithms of the P_k w_kd over one of them this is a translation. Their density is that of the
        Dirichlet distributions times all P_k and w_kd. Where a weight is too small it is -inf.
        """
        cdef int k, d
        cdef double top = self.factor[0], total = 0.0, sum_factors = 0.0, sum_logs = 0.0, z, least = 1.0
        cdef double* weight = self.weight
        for d in range(self.n_kernels):
            top = fmax(top, self.factor[d])
        for d in range(self.n_kernels):
            sum_factors += self.factor[d] - top
            self.factor[d] = exp(self.factor[d] - top)
        for k in range(self.n_classes):
            z = 0.0
            for d in range(self.n_kernels):
                weight[d] *= self.factor[d]
                z += weight[d]
            for d in range(self.n_kernels):
                weight[d] /= z
                least = fmin(least, weight[d])
            sum_logs += log(z)
            self.prior[k] *= z
            total += self.prior[k]
            weight += self.n_kernels
        for k in range(self.n_classes):
            self.prior[k] /= total
            least = fmin(least, self.prior[k])
        if not least > LEAST:
            return -INFINITY
        sum_factors = self.concentration * (self.n_classes * sum_factors - self.n_kernels * sum_logs)
        return sum_factors + sum_logs - self.n_classes * log(total)

    cdef void slide(self, int i, bint linear, bitgen_t* rng) noexcept nogil:
        """Propose to add a quadratic function of input i to the log densities of all kernels.

        Precisions u become u + a, and e = u m becomes e + b; what constants lose by it weights get. The
        likelihood stays; densities of the rows, and beta_i, are for the caller to draw or compute again.
        """
        # mathematics: mixture-slide-factor, mathematics: mixture-slide-ratio
        cdef int d, at = i * self.n_kernels, size = self.n_classes * self.n_kernels
        cdef double a = self.unit[i] * LENGTHS[below(3, rng)] * random_standard_normal(rng)
        cdef double b = a * SPREAD if linear else a * (self.pivot[i] + SPREAD * random_standard_normal(rng))
        cdef double u, m, new, log_ratio = 0.0
        if linear:
            a = 0.0
        for d in range(self.n_kernels):
            u, m = self.precision[at + d], self.mean[at + d]
            if not u + a > 0.0:
                return
            new = (u * m + b) / (u + a)
            self.new_precision[d], self.new_mean[d] = u + a, new
            # (u + a) new^2 - u m^2, without cancellation where u is large.
            self.factor[d] = 0.5 * ((u * m * (2.0 * b - a * m) + b * b) / (u + a) - log1p(a / u))
            # In u and e the density of a mean has the factor 1 / u.
            log_ratio += (self.alpha - 2.0) * log1p(a / u) + 0.5 * (m * m - new * new)
        log_ratio -= (self.g + self.n_kernels * self.alpha) * log1p(self.n_kernels * a / self.total(i))
        memcpy(self.kept, self.weight, size * sizeof(double))
        memcpy(self.kept + size, self.prior, self.n_classes * sizeof(double))
        log_ratio += self.reweigh()
        if log(random_standard_uniform(rng)) < log_ratio:
            memcpy(self.precision + at, self.new_precision, self.n_kernels * sizeof(double))
            memcpy(self.mean + at, self.new_mean, self.n_kernels * sizeof(double))
        else:
            memcpy(self.weight, self.kept, size * sizeof(double))
            memcpy(self.prior, self.kept + size, self.n_classes * sizeof(double))

    # ------------------------------------------------------------------ within a subset

    cdef void adapt(self, int step, bint accepted) noexcept nogil:
        if self.adapting:
            self.steps[step] *= exp(GAIN * ((1.0 if accepted else 0.0) - AIM))
            self.steps[step] = fmin(fmax(self.steps[step], SHORTEST), LONGEST)

    cdef void others(self, int d) noexcept nogil:
        """The part of all kernels but d in the densities of the rows."""
        self.sums(self.density, d, self.other_own, self.other_every)

    cdef bint walk(self, int i, int d, double precision, double mean, double log_prior,
                   bitgen_t* rng) noexcept nogil:
        """Propose precision and mean of kernel d of input i, with the log ratio of priors, after `others`."""
        cdef int at = i * self.n_kernels + d
        cdef double[5] change = [0.5 * log(precision / self.precision[at]), 0.5 * self.precision[at],
                                 self.mean[at], 0.5 * precision, mean]
        if not self.judge(d, i, change, self.log_kernel + <Py_ssize_t> d * self.n, log_prior, rng):
            return False
        self.precision[at], self.mean[at] = precision, mean
        return True

    cdef bint judge(self, int d, int i, const double* change, const double* log_row, double log_ratio,
                    bitgen_t* rng) noexcept nogil:
        """Accept or reject a change in input i of log densities of kernel d, which are `log_row` without it.

        `log_ratio` is that without the likelihood. Densities of one kernel change; they stay relative to
        `top` unless some are too far from it for that.
        """
        cdef Py_ssize_t at = <Py_ssize_t> i * self.n
        cdef double[2] bounds
        cdef double value = kernel_odds(
            self.n, self.n_kernels, self.n_classes, self.start, self.z + at, self.seen + at, change, log_row,
            self.top, self.other_own, self.other_every, self.weight + d, self.share[d], self.new_row,
            self.row, bounds)
        cdef double* kept = self.log_kernel + <Py_ssize_t> d * self.n
        cdef bint far = not 1.0 / FAR <= bounds[0] <= bounds[1] <= FAR
        if far:
            memcpy(self.old, kept, self.n * sizeof(double))
            memcpy(kept, self.new_row, self.n * sizeof(double))
            value = self.conditional_of(self.log_kernel, self.new_top, self.new_density)
        else:
            value += self.log_classes()
        if not log(random_standard_uniform(rng)) < self.t * (value - self.value) + log_ratio:
            if far:
                memcpy(kept, self.old, self.n * sizeof(double))
            return False
        self.value = value
        memcpy(kept, self.new_row, self.n * sizeof(double))
        if far:
            self.turn()
            self.others(d)
        else:
            memcpy(self.density + <Py_ssize_t> d * self.n, self.row, self.n * sizeof(double))
        return True

    cdef double log_place_share(self, int d, const double* mean) noexcept nogil:
        """Log prior density of means (p) of kernel d over the density with which they are proposed."""
        # mathematics: mixture-place-ratio
        cdef int n, k, i
        cdef Py_ssize_t at
        cdef double total = 0.0, part = 0.0, weight, gap, constant, top = -INFINITY
        memset(self.row, 0, self.n * sizeof(double))
        for i in range(self.p):
            if not self.m.gamma[i]:
                continue
            at = <Py_ssize_t> i * self.n
            constant = 0.5 * mean[i] * mean[i] - log(NEAR)
            for n in range(self.n):
                gap = (mean[i] - self.z[at + n]) / NEAR
                self.row[n] += self.seen[at + n] * (constant - 0.5 * gap * gap)
        for n in range(self.n):
            top = fmax(top, self.row[n])
        for n in range(self.n):
            self.row[n] -= top
        exponentials(self.n, self.row, self.row)
        for k in range(self.n_classes):
            n = self.start[k]
            weight = self.weight[k * self.n_kernels + d]
            total += weight * (self.start[k + 1] - n)
            part += weight * dot(self.start[k + 1] - n, self.row + n, self.ones)
        return log_half(top + log(part / total))

    cdef int row_for(self, int d, bitgen_t* rng) noexcept nogil:
        """A row drawn by the weight of kernel d in its class."""
        cdef int k, last = self.n_classes - 1
        cdef double total = 0.0, left
        for k in range(self.n_classes):
            total += self.weight[k * self.n_kernels + d] * (self.start[k + 1] - self.start[k])
        left = random_standard_uniform(rng) * total
        k = 0
        while k < last:
            total = self.weight[k * self.n_kernels + d] * (self.start[k + 1] - self.start[k])
            if left < total:
                break
            left -= total
            k += 1
        # A last class without rows could be reached by rounding alone.
        return min(self.start[k] + below(self.start[k + 1] - self.start[k], rng), self.n - 1)

    cdef void relocate(self, int d, bitgen_t* rng) noexcept nogil:
        """Propose means and precisions of kernel d for all selected inputs, given their rates."""
        cdef int i, at, n = self.row_for(d, rng) if random_standard_uniform(rng) < 0.5 else -1
        cdef double log_ratio
        cdef double[5] none = [0.0, 0.0, 0.0, 0.0, 0.0]
        cdef double* log_row = self.log_row
        self.others(d)
        memcpy(log_row, self.log_kernel + <Py_ssize_t> d * self.n, self.n * sizeof(double))
        for i in range(self.p):
            if not self.m.gamma[i]:
                continue
            at = i * self.n_kernels + d
            self.places[i] = self.mean[at]
            self.to_precision[i] = random_standard_gamma(rng, self.alpha) / self.beta[i]
            self.to_places[i] = random_standard_normal(rng)
            if n >= 0 and self.seen[<Py_ssize_t> i * self.n + n]:
                self.to_places[i] = self.z[<Py_ssize_t> i * self.n + n] + NEAR * self.to_places[i]
            if not 0.0 < self.to_precision[i] < INFINITY:
                return
            self.add_one(i, self.precision[at], self.mean[at], -1.0, log_row)
            self.add_one(i, self.to_precision[i], self.to_places[i], 1.0, log_row)
        log_ratio = self.log_place_share(d, self.to_places) - self.log_place_share(d, self.places)
        if self.judge(d, 0, none, log_row, log_ratio, rng):
            for i in range(self.p):
                if self.m.gamma[i]:
                    at = i * self.n_kernels + d
                    self.precision[at], self.mean[at] = self.to_precision[i], self.to_places[i]

    cdef void take(self, double value) noexcept nogil:
        """Take the new log densities of all kernels, with C."""
        self.value = value
        self.answered = False
        self.log_kernel, self.new_log_kernel = self.new_log_kernel, self.log_kernel
        self.turn()

    cdef void turn(self) noexcept nogil:
        """Take the densities that `conditional_of` wrote beside the present ones."""
        self.top, self.new_top = self.new_top, self.top
        self.density, self.new_density = self.new_density, self.density

    cdef void kernel(self, int d, bitgen_t* rng) noexcept nogil:
        """Means and precisions of kernel d."""
        cdef int i, at
        cdef double m, u, move, log_prior, total
        self.others(d)
        for i in range(self.p):
            if not self.m.gamma[i]:
                continue
            at = i * self.n_kernels + d
            m = self.mean[at] + self.steps[i] * random_standard_normal(rng)
            log_prior = 0.5 * (self.mean[at] * self.mean[at] - m * m)
            self.adapt(i, self.walk(i, d, self.precision[at], m, log_prior, rng))
            move = self.steps[self.p + i] * random_standard_normal(rng)
            u = self.precision[at] * exp(move)
            total = self.total(i)
            log_prior = self.alpha * move
            log_prior -= (self.g + self.n_kernels * self.alpha) * log1p((u - self.precision[at]) / total)
            self.adapt(self.p + i, 0.0 < u < INFINITY and self.walk(i, d, u, self.mean[at], log_prior, rng))

    cdef double total(self, int i) noexcept nogil:
        """The rate of beta_i given the precisions."""
        cdef int d
        cdef double total = self.rate[i]
        for d in range(self.n_kernels):
            total += self.precision[i * self.n_kernels + d]
        return total

    cdef void rescale(self, int first, int stop, bitgen_t* rng) noexcept nogil:
        """Multiply all precisions of selected inputs from `first` up to `stop` by a factor.

        Their rates are divided by it.
        """
        # mathematics: mixture-scale-ratio
        cdef int i, d, at
        cdef double move = LENGTHS[below(3, rng)] * random_standard_normal(rng), factor = exp(move)
        cdef double value, change = 0.0
        memcpy(self.new_log_kernel, self.log_kernel, <Py_ssize_t> self.n_kernels * self.n * sizeof(double))
        for i in range(first, stop):
            if not self.m.gamma[i]:
                continue
            at = i * self.n_kernels
            for d in range(self.n_kernels):
                self.new_precision[d] = factor * self.precision[at + d]
                if not 0.0 < self.new_precision[d] < INFINITY:
                    return
            self.add_input(i, self.precision + at, self.mean + at, -1.0, self.new_log_kernel)
            self.add_input(i, self.new_precision, self.mean + at, 1.0, self.new_log_kernel)
            change -= self.g * move + self.rate[i] * self.beta[i] * (1.0 / factor - 1.0)
        value = self.conditional_of(self.new_log_kernel, self.new_top, self.new_density)
        if log(random_standard_uniform(rng)) < change + self.t * (value - self.value):
            self.take(value)
            for i in range(first, stop):
                if self.m.gamma[i]:
                    self.beta[i] /= factor
                    for d in range(self.n_kernels):
                        self.precision[i * self.n_kernels + d] *= factor

    cdef void walk_weights(self, double* weight, int n, double concentration, int step,
                           bitgen_t* rng) noexcept nogil:
        """Random walks of the logarithms of `n` weights, or class probabilities."""
        cdef int d, e
        cdef double total = random_standard_gamma(rng, n * concentration), old, new, move, value, rest
        for d in range(n):
            old = total * weight[d]
            move = self.steps[step] * random_standard_normal(rng)
            new = old * exp(move)
            memcpy(self.trial, weight, n * sizeof(double))
            weight[d] = new / total
            rest = 0.0
            for e in range(n):
                rest += weight[e]
            for e in range(n):
                weight[e] = fmax(weight[e] / rest, LEAST)
            rest *= total
            self.set_share()
            value = self.conditional_of(NULL, NULL, self.density)
            if log(random_standard_uniform(rng)) < (
                    self.t * (value - self.value) + concentration * move - (new - old)):
                self.value, total = value, rest
                self.adapt(step, True)
            else:
                memcpy(weight, self.trial, n * sizeof(double))
                self.adapt(step, False)
        self.set_share()

    # ------------------------------------------------------------------ proposals for one input

    cdef void answer(self, const double* density, double* part) noexcept nogil:
        """Share of each kernel in each row, at these densities."""
        cdef int n, k, d
        cdef double weight
        self.sums(density, -1, self.own, self.every)
        for n in range(self.n):
            self.row[n] = 1.0 / self.own[n]
        for d in range(self.n_kernels):
            for k in range(self.n_classes):
                weight = self.weight[k * self.n_kernels + d]
                for n in range(self.start[k], self.start[k + 1]):
                    part[n] = density[n] * weight * self.row[n]
            part += self.n
            density += self.n

    cdef void fit(self, int i, const double* part) noexcept nogil:
        """Weighted count, mean and squares of input i in the rows that each kernel answers for."""
        cdef int n, d
        cdef double count, x
        cdef const double* z = self.z + <Py_ssize_t> i * self.n
        cdef const double* seen = self.seen + <Py_ssize_t> i * self.n
        for d in range(self.n_kernels):
            count = dot(self.n, part, seen)
            x = dot(self.n, part, z) / count if count > 0.0 else 0.0
            for n in range(self.n):
                self.row[n] = seen[n] * (z[n] - x)
            self.count[d], self.centre[d] = TRUST * self.t * count, x
            self.square[d] = TRUST * self.t * dot3(self.n, self.row, self.row, part)
            part += self.n

    cdef bint draw(self, int i, bitgen_t* rng) noexcept nogil:
        """Propose kernels of input i; False where a precision is no positive number."""
        cdef int d
        cdef double count, square, known, u
        cdef bint fitted = self.conditional and random_standard_uniform(rng) < 0.5
        self.new_beta = random_standard_gamma(rng, self.g) / self.rate[i]
        for d in range(self.n_kernels):
            count = self.count[d] if fitted else 0.0
            square = self.square[d] if fitted else 0.0
            u = random_standard_gamma(rng, self.alpha + 0.5 * count) / (self.new_beta + 0.5 * square)
            if not 0.0 < u < INFINITY:
                return False
            known = 1.0 + count * u
            self.new_precision[d] = u
            self.new_mean[d] = count * u * self.centre[d] / known + random_standard_normal(rng) / sqrt(known)
        return True

    cdef double log_prior_share(self, double beta, const double* precision,
                                const double* mean) noexcept nogil:
        """Log prior density of kernels over the density with which they are proposed, after `fit`."""
        cdef int d
        cdef double value = 0.0, u, m, known, shape, gap
        if not self.conditional:
            return 0.0
        for d in range(self.n_kernels):
            u, m = precision[d], mean[d]
            shape, known = self.alpha + 0.5 * self.count[d], 1.0 + self.count[d] * u
            value += shape * log(beta + 0.5 * self.square[d]) - lgamma(shape)
            value -= self.alpha * log(beta) - lgamma(self.alpha)
            value += 0.5 * (self.count[d] * log(u) - self.square[d] * u)
            gap = m - self.count[d] * u * self.centre[d] / known
            value += 0.5 * (log(known) - known * gap * gap + m * m)
        return log_half(value)

    # ------------------------------------------------------------------ moves

    cdef double ratio(self, int out, int into, bitgen_t* rng, double* value) noexcept nogil:
        """The log acceptance ratio of a move that takes `out` out or `into` in (-1: none), which is flipped.

        Leaves log densities of the new state in `new_log_kernel`, and C in `value`. Without a generator the
        kernels that are proposed are what they are.
        """
        # mathematics: mixture-label-birth
        cdef int size = self.m.n_free
        cdef Py_ssize_t at
        cdef double* part = self.part if out >= 0 else self.part_now
        cdef double change = self.flipped(out if out >= 0 else into, into if out >= 0 else -1)
        if change == -INFINITY:
            return change
        memcpy(self.new_log_kernel, self.log_kernel, <Py_ssize_t> self.n_kernels * self.n * sizeof(double))
        if out >= 0:
            at = out * self.n_kernels
            self.add_input(out, self.precision + at, self.mean + at, -1.0, self.new_log_kernel)
        if self.conditional:
            if out >= 0:
                value[0] = self.conditional_of(self.new_log_kernel, self.new_top, self.new_density)
                self.answer(self.new_density, part)
            elif not self.answered:
                self.answer(self.density, part)
                self.answered = True
        if out >= 0:
            if self.conditional:
                self.fit(out, part)
            change -= self.log_prior_share(self.beta[out], self.precision + at, self.mean + at)
        if into >= 0:
            if self.conditional:
                self.fit(into, part)
            if rng != NULL and not self.draw(into, rng):
                return -INFINITY
            change += self.log_prior_share(self.new_beta, self.new_precision, self.new_mean)
            self.add_input(into, self.new_precision, self.new_mean, 1.0, self.new_log_kernel)
        if into >= 0 or not self.conditional:
            value[0] = self.conditional_of(self.new_log_kernel, self.new_top, self.new_density)
        change += self.t * (value[0] - self.value)
        if out < 0:
            return change - self.log_choice(size)
        return change + self.log_choice(size - 1) if into < 0 else change

    cdef void move(self, bitgen_t* rng) noexcept nogil:
        cdef int size = self.m.n_free, move = self.kind(size, rng), d, at, out = -1, into = -1
        cdef double change, value = 0.0
        if move < 0:
            return
        if move != ADD:
            out = self.pick(1, below(size, rng))
        if move != REMOVE:
            into = self.pick(0, below(self.n_free - size, rng))
        self.proposed[move] += 1
        change = self.ratio(out, into, rng, &value)
        if change == -INFINITY or not log(random_standard_uniform(rng)) < change:
            self.flip_back(out if out >= 0 else into, into if out >= 0 else -1)
            return
        self.accepted[move] += 1
        self.take(value)
        if into >= 0:
            self.beta[into] = self.new_beta
            for d in range(self.n_kernels):
                at = into * self.n_kernels + d
                self.precision[at], self.mean[at] = self.new_precision[d], self.new_mean[d]

    # ------------------------------------------------------------------ one sweep, and what is recorded

    cdef void sweep(self, int moves, bitgen_t* rng) noexcept nogil:
        cdef int i, d, k, _
        cdef double shape = self.g + self.n_kernels * self.alpha
        for i in range(self.p):
            if self.m.gamma[i] and self.unit[i] > 0.0:
                for k in range(SLIDES):
                    self.slide(i, k % 2, rng)
        self.refresh()
        for d in range(self.n_kernels):
            self.kernel(d, rng)
        for i in range(self.p):
            if self.m.gamma[i]:
                self.beta[i] = random_standard_gamma(rng, shape) / self.total(i)
                self.rescale(i, i + 1, rng)
        self.rescale(0, self.p, rng)
        for d in range(self.n_kernels):
            self.relocate(d, rng)
        for k in range(self.n_classes):
            self.walk_weights(self.weight + k * self.n_kernels, self.n_kernels, self.concentration,
                              2 * self.p + k, rng)
        self.walk_weights(self.prior, self.n_classes, 1.0, 2 * self.p + self.n_classes, rng)
        self.answered = False
        for _ in range(moves):
            self.move(rng)

    cdef double tempered(self) noexcept nogil:
        return self.value

    cdef double log_likelihood(self) noexcept nogil:
        return self.value

    cdef double log_parameters(self) noexcept nogil:
        cdef int i, d
        cdef double value = model_log_prior(&self.space.c, &self.m), beta, u, m
        for i in range(self.p):
            if not self.m.gamma[i]:
                continue
            beta = self.beta[i]
            value += self.g * log(self.rate[i]) - lgamma(self.g) + (self.g - 1.0) * log(beta)
            value += self.n_kernels * (self.alpha * log(beta) - lgamma(self.alpha)) - self.rate[i] * beta
            for d in range(self.n_kernels):
                u, m = self.precision[i * self.n_kernels + d], self.mean[i * self.n_kernels + d]
                value += (self.alpha - 1.0) * log(u) - beta * u - 0.5 * (m * m + LOG_2PI)
        return value + self.log_weights(self.concentration)

    cdef int n_occupied(self) noexcept nogil:
        """The number of kernels that answer for at least half a row."""
        cdef int d, occupied = 0
        self.answer(self.density, self.part)
        for d in range(self.n_kernels):
            occupied += dot(self.n, self.part + <Py_ssize_t> d * self.n, self.ones) >= 0.5
        return occupied

    def state(self):
        """Return copies of gamma, beta, precision, mean, weight, prior, three empty arrays and steps."""
        none = np.empty(0, dtype=np.intc)
        found = tuple(np.array(part) for part in self.held[:6])
        return (*found, none, none, np.empty(0), np.delete(self.step_array, len(self.step_array) - 1))

    def log_ratio(self, int out, int into, double beta=1.0, const double[::1] precision=None,
                  const double[::1] mean=None):
        """Return the log acceptance ratio of a move from the present state, which does not change.

        `out` leaves and `into` enters (-1: none), with the given kernels.
        """
        cdef int d
        cdef double change, value = 0.0
        self.refresh()
        if into >= 0:
            self.new_beta = beta
            for d in range(self.n_kernels):
                self.new_precision[d], self.new_mean[d] = precision[d], mean[d]
        change = self.ratio(out, into, NULL, &value)
        self.flip_back(out if out >= 0 else into, into if out >= 0 else -1)
        return change
