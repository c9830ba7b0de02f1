"""Reversible-jump MCMC over models and coefficients, the compiled loop.

One iteration, from a state (gamma, b) alone:

1. as many flips as there are free terms, each of a term drawn at random: a term outside enters with
   a block of coefficients drawn from q_j, one inside leaves;
2. swaps: a random free term inside leaves and a random one outside enters;
3. trades and moves of families, see ``_trades.pyx`` and ``_blocks.pyx``;
4. one Metropolis-Hastings update of all coefficients.

Each iteration starts by recomputing everything from (gamma, b), so that rounding errors do not accumulate and
a state saved between two iterations has the same further draws, bit for bit.
"""

from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core.random cimport (
    bitgen_of, bitgen_t, random_standard_exponential, random_standard_gamma, random_standard_uniform,
)
from pyrjsel.selection.samplers.reversible_jump._trades cimport Trades
from pyrjsel.selection.samplers.reversible_jump._moves cimport N_MOVES
from pyrjsel.selection.regression._problem cimport prior_dimension
from pyrjsel.model_space._space cimport model_flip


cdef double draw_log_g(bitgen_t* rng, double shape, double power, double unit, double half_form,
                       double log_g) noexcept nogil:
    """Draw log g, where ``1 / g ~ Gamma(shape, unit tau + half_form)`` given tau.

    See ``Mixture.conditional``. The logarithm of a gamma variate, which itself may underflow.
    """
    cdef double tau = 1.0
    if power > 0.0:
        tau = random_standard_gamma(rng, power) / (1.0 + unit * exp(-log_g))
    return (log(unit * tau + half_form) - log(random_standard_gamma(rng, shape + 1.0))
            + random_standard_exponential(rng) / shape)


cdef class ReversibleJump(Trades):
    """A reversible-jump chain; takes the parameters of :class:`Trades`."""

    cdef void iterate(self, bitgen_t* rng) noexcept nogil:
        """One iteration at the chain's temperature."""
        cdef int _
        self.refresh()
        for _ in range(self.n_free):
            self.flip(self.free_terms[<int> (random_standard_uniform(rng) * self.n_free)], rng)
        for _ in range(self.n_swaps):
            self.swap(rng)
        for _ in range(self.n_trades):
            self.trade(rng)
        if self.n_families:
            for _ in range(self.n_family_moves):
                self.redraw_family(rng)
        self.coefficients(rng)

    def run(self, rng, Py_ssize_t n, *, Py_ssize_t done=0, Py_ssize_t thin=1,
            uint64_t[:, ::1] words=None, double[::1] log_posterior=None,
            double[:, ::1] coefficients=None, Py_ssize_t every=1, double[:, ::1] sums=None):
        """Run `n` iterations, recording every `thin`-th.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int
        done : int
            Iterations since recording began, before this call.
        thin : int
        words : uint64 array (kept, words), optional
            Packed models of the recorded draws; None records nothing.
        log_posterior : float64 array (kept,)
            Unnormalised log posterior density on the internal scale.
        coefficients : float64 array (kept coefficients, D + 1)
            Internal coefficients of every `every`-th recorded draw, and further numbers of the state.
        sums : float64 array (4, D + 1)
            Incremented sums over recorded draws: coefficients with intercepts of the design's own columns
            minus `origin`, their squares, positive values (of whole intercepts), and inclusion.

        Returns
        -------
        tuple of int
            Numbers of recorded draws and coefficient vectors.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i, kept = 0, kept_b = 0
        cdef double* b
        with rng.bit_generator.lock, nogil:
            for i in range(n):
                self.iterate(bits)
                if words is None or (done + i + 1) % thin:
                    continue
                b = NULL
                if ((done + i + 1) // thin - 1) % every == 0:
                    b = &coefficients[kept_b, 0]
                    kept_b += 1
                log_posterior[kept] = self.record(&words[kept, 0], words.shape[1], b, &sums[0, 0])
                kept += 1
        return kept, kept_b

    cdef double record(self, uint64_t* words, Py_ssize_t n_words, double* coefficients,
                       double* sums) noexcept nogil:
        """Write the packed model and, unless NULL, the coefficients, and update the sums (4, D + 1).

        Returns the unnormalised log posterior density on the internal scale.
        """
        cdef Py_ssize_t width = self.p.n_columns
        cdef int j, k, l, lead = self.p.leading
        cdef double value
        memset(words, 0, n_words * sizeof(uint64_t))
        for j in range(self.p.n_terms):
            if self.m.gamma[j]:
                words[j // 64] |= (<uint64_t> 1) << (j % 64)
        if coefficients != NULL:
            memcpy(coefficients, self.b, (width + self.n_extra) * sizeof(double))
        for k in range(self.d):
            j = self.cols[k]
            value = self.b[j]
            if k < lead:
                l = lead + k
                while l < self.d:
                    value -= self.raw_shift[self.cols[l]] * self.b[self.cols[l]]
                    l += lead
            sums[2 * width + j] += value > 0
            if k < lead:
                value -= self.origin
            sums[j] += value
            sums[width + j] += value * value
            sums[3 * width + j] += 1.0
        return self.log_target() - prior_dimension(self.p, self.d) * self.p.log_unit

    cdef double log_target(self) noexcept nogil:
        """The unnormalised log posterior density of the present state, without tempering."""
        return self.loglik + self.log_prior + self.log_model

    def state(self):
        """Return copies of gamma (J,) and of the internal coefficients (D + 1,), with further numbers."""
        return np.array(self.buffers[0], dtype=np.uint8), np.array(self.buffers[1])

    def set_state(self, const unsigned char[::1] gamma not None, const double[::1] b not None):
        """Set the model gamma (J,) and the internal coefficients b (D + 1,), as `state` returned them."""
        if gamma.shape[0] != self.p.n_terms or b.shape[0] != self.p.n_columns + self.n_extra:
            raise ValueError("gamma and b must fit the problem")
        memcpy(self.m.gamma, &gamma[0] if gamma.shape[0] else NULL, gamma.shape[0])
        memcpy(self.b, &b[0], b.shape[0] * sizeof(double))
        if self.refresh() != 0:
            raise ValueError("the prior of this model does not exist")

    def set_temperature(self, double t):
        """Set the target to the posterior to the power `t`."""
        if not 0.0 < t < INFINITY:
            raise ValueError("t must be positive and finite")
        self.t = t
        self.root_t = sqrt(t)

    def set_counts(self, const int64_t[:, ::1] counts not None):
        """Set the counts, as `counts()` returned them."""
        for k in range(N_MOVES):
            self.proposed[k] = counts[0, k]
            self.accepted[k] = counts[1, k]

    def counts(self):
        """Return proposals and acceptances by move (in the order of MOVES), shape (2, 6)."""
        return np.array([[self.proposed[k] for k in range(N_MOVES)],
                         [self.accepted[k] for k in range(N_MOVES)]], dtype=np.int64)

    def log_density(self):
        """Return log-likelihood, log coefficient prior and log model prior of the present state."""
        self.refresh()
        return self.loglik, self.log_prior, self.log_model

    def log_ratio(self, str move not None, int j, int k=-1, const double[::1] block=None,
                  double reach=1.0):
        """Return the log acceptance ratio of one move from the present state, without making it.

        `move` is "birth" of j with the given block, "death" of j, "swap" of j for k with the given
        block of k, or "coefficients" with all of the model's coefficients given and with that reach.
        """
        cdef double value
        cdef const double* given = &block[0] if block is not None else NULL
        if self.refresh() != 0:
            raise ValueError("the prior of this model does not exist")
        if move == "birth":
            value = self.evaluate_birth(j, NULL, given)
            model_flip(self.s, &self.m, j)
        elif move == "death":
            value = self.evaluate_death(j)
            model_flip(self.s, &self.m, j)
        elif move == "swap":
            value = self.evaluate_swap(j, k, NULL, given)
            model_flip(self.s, &self.m, k)
            model_flip(self.s, &self.m, j)
        elif move == "coefficients":
            value = self.evaluate_coefficients(reach, NULL, given)
        else:
            raise ValueError(f"unknown move {move!r}")
        self.refresh()
        return value
