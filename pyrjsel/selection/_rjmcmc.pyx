"""Reversible-jump Metropolis-Hastings over models and their coefficients, the compiled loop.

One iteration, from a state (gamma, b) alone:

1. as many flips as there are free terms, each of a term drawn at random: a term outside enters with
   a block of coefficients drawn from q_j, one inside leaves;
2. swaps: a random free term inside leaves and a random one outside enters;
3. one Metropolis-Hastings update of all coefficients.

Each iteration starts by deriving everything from (gamma, b), so that rounding does not build up and a
state that was written down between two iterations goes on to the same draws, bit for bit.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core.random cimport bitgen_of, bitgen_t, random_standard_uniform
from pyrjsel.selection._moves cimport Moves, N_MOVES


cdef class ReversibleJump(Moves):
    """A chain of reversible jumps; takes what :class:`Moves` takes."""

    cdef void iterate(self, bitgen_t* rng) noexcept nogil:
        cdef int _
        self.refresh()
        for _ in range(self.n_free):
            self.flip(self.free_terms[<int> (random_standard_uniform(rng) * self.n_free)], rng)
        for _ in range(self.n_swaps):
            self.swap(rng)
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
            Internal coefficients of every `every`-th recorded draw.
        sums : float64 array (4, D + 1)
            Sums over recorded draws, added to: coefficients with the intercept of the design's own
            columns, their squares, positive values, and inclusions.

        Returns
        -------
        tuple of int
            Draws and coefficient vectors that were recorded.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i, kept = 0, kept_b = 0, draw
        cdef bint record = words is not None
        cdef int j, k
        cdef double value
        with rng.bit_generator.lock, nogil:
            for i in range(n):
                self.iterate(bits)
                if not record or (done + i + 1) % thin:
                    continue
                draw = (done + i + 1) / thin - 1
                for j in range(words.shape[1]):
                    words[kept, j] = 0
                for j in range(self.p.n_terms):
                    if self.m.gamma[j]:
                        words[kept, j // 64] |= (<uint64_t> 1) << (j % 64)
                log_posterior[kept] = self.loglik + self.log_prior + self.log_model
                kept += 1
                if draw % every == 0:
                    memcpy(&coefficients[kept_b, 0], self.b, self.p.n_columns * sizeof(double))
                    kept_b += 1
                value = self.b[0]
                for k in range(self.d):
                    value -= self.raw_shift[self.cols[k]] * self.b[self.cols[k]]
                for k in range(self.d):
                    j = self.cols[k]
                    if k:
                        value = self.b[j]
                    sums[0, j] += value
                    sums[1, j] += value * value
                    sums[2, j] += value > 0
                    sums[3, j] += 1.0
        return kept, kept_b

    def state(self):
        """Return copies of gamma (J,) and the internal coefficients (D + 1,)."""
        return np.array(self.buffers[0], dtype=np.uint8), np.array(self.buffers[1])

    def set_counts(self, const int64_t[:, ::1] counts not None):
        """Go on counting from `counts`, as `counts()` returned them."""
        for k in range(N_MOVES):
            self.proposed[k] = counts[0, k]
            self.accepted[k] = counts[1, k]

    def counts(self):
        """Return proposals and acceptances by move (in the order of MOVES), shape (2, 4)."""
        return np.array([[self.proposed[k] for k in range(N_MOVES)],
                         [self.accepted[k] for k in range(N_MOVES)]], dtype=np.int64)
