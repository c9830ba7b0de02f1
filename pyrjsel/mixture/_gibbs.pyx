"""The state of one chain of a mixture classifier, and Gibbs draws of all but the subset.

At power t the target is

    p(labels, kernels of rows | weights) p(parameters, subset)
        * [p(z_S | kernels of rows, parameters) / m(z_S)]^t m(z),

with S the selected inputs and m the null model (``_null.pyx``): the posterior for t = 1. Given the kernels of
the rows each row counts t times, and all conditionals stay what they are.
"""

from libc.math cimport isnan, lgamma, log, sqrt
from libc.string cimport memset

import numpy as np

from pyrjsel._core._vecmath cimport log_sum_shares
from pyrjsel._core.random cimport (
    bitgen_t, random_standard_gamma, random_standard_normal, random_standard_uniform,
)
from pyrjsel.mixture._null cimport Null
from pyrjsel.mixture._random cimport cut_gamma, dirichlet
from pyrjsel.model_space._space cimport Space, model_log_prior, model_refresh

cdef double LOG_2PI = 1.8378770664093454836
cdef enum:
    LANES = 4                   # sums of consecutive rows


cdef class Gibbs:
    """One chain.

    Parameters
    ----------
    z : float64 array (p, N)
        Inputs in range units, an input a row. Missing ones are NaN where the null model has independent
        inputs, else what the chain starts from: these are written to.
    missing : uint8 array (p, N)
        1 where an input is missing.
    label : int32 array (N,)
        Classes, -1 where missing.
    null : Null
    space : Space
    hyper : float64 array (6,)
        alpha, g, h, the largest precision, the log mass of the precisions below it, and the concentration of
        class weights.
    gamma : uint8 array (p,)
        Subset to start from.
    beta : float64 array (p,)
    precision, mean : float64 arrays (p, D)
    weight : float64 array (K, D)
    prior : float64 array (K,)
    kernel, klass : int32 arrays (N,)
    conditional : bool
        Whether proposals are conditional; else they are the prior.
    power : float
        t.
    """

    def __init__(self, z, const unsigned char[:, ::1] missing, const int[::1] label, Null null not None,
                 Space space not None, const double[::1] hyper, gamma, beta, precision, mean, weight, prior,
                 kernel, klass, *, bint conditional, double power=1.0):
        cdef double[:, ::1] inputs = z
        cdef int[::1] kernels = np.array(kernel, dtype=np.intc)
        cdef int[::1] classes = np.array(klass, dtype=np.intc)
        cdef int p = inputs.shape[0], n = inputs.shape[1], k
        self.hold(space, n, gamma, beta, precision, mean, weight, prior, (), power)
        cdef int D = self.n_kernels, K = self.n_classes
        gaps = np.asarray(missing)
        good = (
            gaps.shape == (p, n) and label.shape[0] == n and null.p == self.p == p and null.n == n
            and hyper.shape[0] == 6 and np.shape(kernel) == np.shape(klass) == (n,)
            and min(kernels) >= 0 and max(kernels) < D and min(classes) >= 0 and max(classes) < K
            and min(label) >= -1 and max(label) < K
            and np.all((np.asarray(label) < 0) | (np.asarray(label) == np.asarray(classes)))
            and np.array_equal(np.isnan(inputs), np.zeros_like(gaps) if null.joint else gaps != 0)
        )
        if not good:
            raise ValueError("the arrays do not fit together")
        self.null, self.conditional = null, conditional
        self.alpha, self.g, self.h, self.most, self.log_mass, self.concentration = hyper
        self.imputed = null.joint and bool(gaps.any())
        at_row, at_input = np.nonzero(gaps.T if self.imputed else np.zeros((0, p)))
        rows, starts = np.unique(at_row, return_index=True)
        self.n_missing = len(rows)
        cdef int[::1] missing_row = np.append(rows, 0).astype(np.intc)
        cdef int[::1] missing_start = np.append(starts, len(at_row)).astype(np.intc)
        cdef int[::1] missing_input = np.append(at_input, 0).astype(np.intc)
        cdef unsigned char[::1] partial = gaps.any(axis=1).astype(np.uint8)
        cdef double[::1] sums = np.zeros(3 * p * D)
        cdef double[::1] log_joint = np.zeros(D + 1)
        for k in range(D + 1):
            log_joint[k] = (self.g * log(self.h) - lgamma(self.g) - k * lgamma(self.alpha)
                            + lgamma(self.g + k * self.alpha) - self.log_mass)
        cdef double[::1] scratch = np.zeros((3 + 2 * LANES) * D + max(D, K))
        cdef double[:, :, ::1] by_kernel = np.zeros((6, D, n))
        cdef double[:, ::1] by_row = np.zeros((2, n))
        self.arrays = (missing, label, missing_row, missing_start, missing_input, partial, sums, log_joint,
                       scratch, by_kernel, by_row)
        self.found = (*self.held[:6], kernels, classes, inputs)
        self.z, self.missing, self.partial = &inputs[0, 0], &missing[0, 0], &partial[0]
        self.missing_row, self.missing_start = &missing_row[0], &missing_start[0]
        self.missing_input = &missing_input[0]
        self.label, self.kernel, self.klass = &label[0], &kernels[0], &classes[0]
        self.count = &sums[0]
        self.centre = self.count + p * D
        self.square = self.centre + p * D
        self.log_joint = &log_joint[0]
        self.rate = &scratch[0]
        self.new_precision = self.rate + D
        self.new_mean = self.new_precision + D
        self.lanes = self.new_mean + D
        self.share = self.lanes + 2 * LANES * D
        self.log_kernel, self.new_log_kernel = &by_kernel[0, 0, 0], &by_kernel[1, 0, 0]
        self.part = &by_kernel[2, 0, 0]
        self.chance, self.new_chance = &by_kernel[4, 0, 0], &by_kernel[5, 0, 0]
        self.log_row, self.new_log_row = &by_row[0, 0], &by_row[1, 0]
        null.set_inputs(self.z, NULL)
        self.refresh()
        self.densities()

    # ------------------------------------------------------------------ derived from the state

    cdef void refresh(self) noexcept nogil:
        """Work out all sums from the state; the null model has its own since the inputs were changed last."""
        cdef int i
        model_refresh(&self.space.c, &self.m)
        self.null.set_members(self.m.gamma)
        for i in range(self.p):
            if self.m.gamma[i]:
                self.add_up(i)

    cdef void add_up(self, int i) noexcept nogil:
        """Count, mean and squares of input i by kernel, rows counted t times.

        Consecutive rows are added up apart, since an addition to the same sum would wait for the last.
        """
        cdef int n, d, lane, at, D = self.n_kernels
        cdef double value
        cdef double* count = self.count + i * D
        cdef double* centre = self.centre + i * D
        cdef double* square = self.square + i * D
        cdef double* counts = self.lanes
        cdef double* sums = self.lanes + LANES * D
        cdef const double* z = self.z + <Py_ssize_t> i * self.n
        memset(counts, 0, 2 * LANES * D * sizeof(double))
        for n in range(self.n):
            if not isnan(z[n]):
                at = (n & (LANES - 1)) * D + self.kernel[n]
                counts[at] += 1.0
                sums[at] += z[n]
        for d in range(D):
            count[d] = centre[d] = square[d] = 0.0
            for lane in range(LANES):
                count[d] += counts[lane * D + d]
                centre[d] += sums[lane * D + d]
            if count[d] > 0.0:
                centre[d] /= count[d]
        memset(sums, 0, LANES * D * sizeof(double))
        for n in range(self.n):
            if not isnan(z[n]):
                value = z[n] - centre[self.kernel[n]]
                sums[(n & (LANES - 1)) * D + self.kernel[n]] += value * value
        for d in range(D):
            for lane in range(LANES):
                square[d] += sums[lane * D + d]
            count[d] *= self.t
            square[d] *= self.t

    # ------------------------------------------------------------------ conditionals

    cdef double draw_mean(self, int i, int d, double u, bitgen_t* rng) noexcept nogil:
        """A mean from its conditional at precision u."""
        cdef int at = i * self.n_kernels + d
        cdef double known = 1.0 + self.count[at] * u
        return self.count[at] * u * self.centre[at] / known + random_standard_normal(rng) / sqrt(known)

    cdef void kernels(self, int i, bitgen_t* rng) noexcept nogil:
        """Rate, means and precisions of the selected input i."""
        # mathematics: mixture-conditionals
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
            dirichlet(self.n_kernels, self.weight + k * self.n_kernels, self.concentration, rng)
        dirichlet(self.n_classes, self.prior, 1.0, rng)

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
                    new = self.mean[at] + random_standard_normal(rng) / sqrt(self.t * self.precision[at])
                    change = self.null.change(i, new - z[0], self.t)
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
        self.null.set_inputs(self.z, self.partial)
        self.null.set_members(self.m.gamma)

    # ------------------------------------------------------------------ rows

    cdef void one_input(self, int i, const double* precision, const double* mean, double* out) noexcept nogil:
        """t times the log density of the rows' input i by kernel, 0 where it is missing and summed out."""
        cdef int n, d
        cdef double constant, u, centre
        cdef const double* z = self.z + <Py_ssize_t> i * self.n
        for d in range(self.n_kernels):
            constant = 0.5 * self.t * (log(precision[d]) - LOG_2PI)
            u, centre = 0.5 * self.t * precision[d], mean[d]
            for n in range(self.n):
                out[n] = constant - u * (z[n] - centre) * (z[n] - centre)
            if self.partial[i] and not self.imputed:
                for n in range(self.n):
                    if isnan(z[n]):
                        out[n] = 0.0
            out += self.n

    cdef void densities(self) noexcept nogil:
        """Log weight times density of the rows by kernel, their sums over kernels, and shares in these."""
        # mathematics: mixture-density
        cdef int n, d, k, a, i
        cdef Py_ssize_t at
        cdef double value, own
        cdef double* out = self.log_kernel
        for d in range(self.n_kernels):
            value = 0.0
            for k in range(self.n_classes):
                own = self.prior[k] * self.weight[k * self.n_kernels + d]
                value += own
                self.share[k] = log(own)
            value = log(value)
            for n in range(self.n):
                out[n] = value if self.label[n] < 0 else self.share[self.label[n]]
            out += self.n
        for a in range(self.null.size):
            i = self.null.members[a]
            self.one_input(i, self.precision + i * self.n_kernels, self.mean + i * self.n_kernels, self.part)
            for at in range(<Py_ssize_t> self.n_kernels * self.n):
                self.log_kernel[at] += self.part[at]
        log_sum_shares(self.n, self.n_kernels, self.log_kernel, self.log_row, self.chance)

    cdef void allocate(self, const double* chance, bitgen_t* rng) noexcept nogil:
        """Draw the kernels of the rows, given the probabilities (D, N) of each."""
        cdef int n, d, _
        cdef Py_ssize_t at
        cdef double x
        for n in range(self.n):
            x = random_standard_uniform(rng)
            at, d = n, 0
            # Without a jump, which could not be foreseen; x falls.
            for _ in range(self.n_kernels - 1):
                x -= chance[at]
                d += x >= 0.0
                at += self.n
            self.kernel[n] = d

    cdef void rows(self, bitgen_t* rng) noexcept nogil:
        """Kernels and missing classes of the rows, at the densities as they are."""
        cdef int n, d, k
        cdef double x
        self.allocate(self.chance, rng)
        for n in range(self.n):
            if self.label[n] >= 0:
                continue
            d = self.kernel[n]
            x = 0.0
            for k in range(self.n_classes):
                x += self.prior[k] * self.weight[k * self.n_kernels + d]
            x *= random_standard_uniform(rng)
            k = 0
            while k < self.n_classes - 1:
                x -= self.prior[k] * self.weight[k * self.n_kernels + d]
                if x < 0.0:
                    break
                k += 1
            self.klass[n] = k

    # ------------------------------------------------------------------ what is reported

    cdef double log_rows(self) noexcept nogil:
        """The log density of labels and selected inputs, kernels of rows summed out (t = 1)."""
        cdef int n
        cdef double value = 0.0
        for n in range(self.n):
            value += self.log_row[n]
        return value

    cdef double tempered(self) noexcept nogil:
        """The log density of the selected inputs given the kernels of the rows over the null model's: what
        the power t is taken of."""
        # mathematics: mixture-tempered
        cdef int a, i, n, at
        cdef double value = -self.null.log_members(), x
        cdef const double* z
        for a in range(self.null.size):
            i = self.null.members[a]
            z = self.z + <Py_ssize_t> i * self.n
            for at in range(self.n_kernels):
                self.share[at] = 0.5 * (log(self.precision[i * self.n_kernels + at]) - LOG_2PI)
            for n in range(self.n):
                if not isnan(z[n]):
                    at = i * self.n_kernels + self.kernel[n]
                    x = z[n] - self.mean[at]
                    value += self.share[self.kernel[n]] - 0.5 * self.precision[at] * x * x
        return value

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
        return value + self.log_weights(self.concentration)

    cdef int n_occupied(self) noexcept nogil:
        cdef int n, d, k = 0
        memset(self.share, 0, self.n_kernels * sizeof(double))
        for n in range(self.n):
            self.share[self.kernel[n]] += 1.0
        for d in range(self.n_kernels):
            k += self.share[d] > 0.0
        return k

    def state(self):
        """Return copies of gamma, beta, precision, mean, weight, prior, kernel, klass and z, and no steps."""
        return (*(np.array(part) for part in self.found), np.empty(0))
