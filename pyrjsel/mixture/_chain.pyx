"""One chain of a mixture classifier, whatever its target: subset, kernels, weights, and what is recorded.

A target defines what one sweep does, the logarithm of what a power is taken of, and the densities that are
recorded, and how often two inputs are exchanged. The other moves between subsets, an input enters or one
leaves, are equally likely where both are possible.
"""

from libc.math cimport INFINITY, NAN, lgamma, log
from libc.string cimport memset

import numpy as np

from pyrjsel._core.random cimport bitgen_of, bitgen_t, random_standard_uniform
from pyrjsel.model_space._space cimport model_feasible_at, model_flip, model_log_prior


cdef class Chain:
    """One chain; see the subclasses."""

    cdef hold(self, Space space, int n, gamma, beta, precision, mean, weight, prior, steps, double power):
        """Copy the state, of n rows."""
        cdef unsigned char[::1] subset = np.array(gamma, dtype=np.uint8)
        cdef double[::1] rates = np.array(beta, dtype=np.float64)
        cdef double[:, ::1] precisions = np.array(precision, dtype=np.float64)
        cdef double[:, ::1] means = np.array(mean, dtype=np.float64)
        cdef double[:, ::1] weights = np.array(weight, dtype=np.float64)
        cdef double[::1] priors = np.array(prior, dtype=np.float64)
        cdef double[::1] scales = np.append(steps, 1.0)
        cdef int p = subset.shape[0], D = precisions.shape[1], K = weights.shape[0], j
        if not (n > 0 and p > 0 and D > 0 and K > 0 and space.c.n_terms == p and rates.shape[0] == p
                and np.shape(precision) == np.shape(mean) == (p, D)
                and weights.shape[1] == D and priors.shape[0] == K):
            raise ValueError("the arrays do not fit together")
        cdef int[::1] use = np.zeros(max(1, space.c.n_items), dtype=np.intc)
        cdef int[::1] free_terms = np.zeros(p, dtype=np.intc)
        self.space, self.t, self.step_array, self.n_steps = space, power, scales, scales.shape[0]
        self.n, self.p, self.n_kernels, self.n_classes = n, p, D, K
        self.held = (subset, rates, precisions, means, weights, priors, use, free_terms)
        self.beta, self.precision, self.mean = &rates[0], &precisions[0, 0], &means[0, 0]
        self.weight, self.prior, self.steps = &weights[0, 0], &priors[0], &scales[0]
        self.m.gamma, self.m.item_use, self.free_terms = &subset[0], &use[0], &free_terms[0]
        self.n_free, self.exchange = 0, 1.0
        for j in range(p):
            if space.c.free_term[j]:
                self.free_terms[self.n_free] = j
                self.n_free += 1
        self.cap = min(self.n_free, space.c.max_size - (p - self.n_free))

    # ------------------------------------------------------------------ subsets

    cdef double kinds(self, int size, int* kind) noexcept nogil:
        """The moves from a subset with so many free inputs, exchanges last; the sum of their weights."""
        cdef int k = 0
        if size < self.cap:
            kind[k] = ADD
            k += 1
        if size > 0:
            kind[k] = REMOVE
            k += 1
        if 0 < size < self.n_free:
            kind[k] = EXCHANGE
            return k + self.exchange
        return k

    cdef int kind(self, int size, bitgen_t* rng) noexcept nogil:
        """A move drawn by its weight, or -1 where there is none."""
        cdef int kind[3]
        cdef double total = self.kinds(size, kind)
        return kind[<int> (random_standard_uniform(rng) * total)] if total > 0.0 else -1

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

    # ------------------------------------------------------------------ what is recorded

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

    def sweeps(self, rng, Py_ssize_t n, *, int moves=0, bint adapt=False):
        """Run `n` sweeps of so many moves."""
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t _
        self.adapting = adapt
        with rng.bit_generator.lock, nogil:
            for _ in range(n):
                self.sweep(moves, bits)

    def counts(self):
        """Return proposals and acceptances by move, shape (2, 3)."""
        return np.array([[self.proposed[k] for k in range(3)], [self.accepted[k] for k in range(3)]],
                        dtype=np.int64)

    def set_counts(self, const int64_t[:, ::1] counts not None):
        """Go on counting from `counts`, as `counts()` returned them."""
        for k in range(3):
            self.proposed[k], self.accepted[k] = counts[0, k], counts[1, k]

    def log_density(self):
        """Return the log density of the target's data, kernels, weights and subset after the last sweep."""
        return self.log_likelihood() + self.log_parameters()

    cdef double log_weights(self, double concentration) noexcept nogil:
        """The log density of class weights, and of class probabilities, whose density is flat."""
        cdef int k, d
        cdef double value = lgamma(self.n_classes)
        value += self.n_classes * lgamma(self.n_kernels * concentration)
        value -= self.n_classes * self.n_kernels * lgamma(concentration)
        if concentration != 1.0:
            for k in range(self.n_classes):
                for d in range(self.n_kernels):
                    value += (concentration - 1.0) * log(self.weight[k * self.n_kernels + d])
        return value

    # ------------------------------------------------------------------ defined by the target

    cdef void sweep(self, int moves, bitgen_t* rng) noexcept nogil:
        """Redraw everything once."""

    cdef void settle(self) noexcept nogil:
        """Work out what the first chain records, after it has become the first."""

    cdef double tempered(self) noexcept nogil:
        """The log of what the power t is taken of."""
        return NAN

    cdef double log_likelihood(self) noexcept nogil:
        """The log likelihood at t = 1."""
        return NAN

    cdef double log_parameters(self) noexcept nogil:
        """The log prior density of parameters and subset (this one up to a constant)."""
        return NAN

    cdef int n_occupied(self) noexcept nogil:
        """The number of kernels in use."""
        return 0

    def state(self):
        """Return copies of the arrays of a ``Replica``, in its order."""
        raise NotImplementedError
