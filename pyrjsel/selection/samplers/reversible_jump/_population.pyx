"""Chains at several temperatures over models and coefficients, the compiled loop.

Chain 0 has the posterior pi as its target, chain k the density pi**t_k, for internally standardised columns.
One iteration:

1. every t_k, k > 0, moves along its grid (see `TEMPERATURES`);
2. each chain does one iteration of reversible jumps at its temperature;
3. for each k > 0, chains 0 and k propose to exchange their states, which is accepted with probability
   min{1, (pi(theta_k) / pi(theta_0))**(1 - t_k)}.

The pair (theta_k, t_k) has density pi(theta)**t w_k(t) with arbitrary positive weights w_k on the grid: a
draw of t_k from its full conditional and the exchange leave it invariant for any weights. Chain 0 is exact.
With weights h_k(t) / Z_k(t), where Z_k(t) is close to the integral of pi**t, t_k is distributed approximately
as h_k.
"""

cimport cython
from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from pyrjsel._core.random cimport bitgen_of, bitgen_t, random_standard_uniform
from pyrjsel.selection.samplers.reversible_jump._moves cimport N_MOVES
from pyrjsel.selection.samplers.reversible_jump._rjmcmc cimport ReversibleJump

cdef enum:
    FIXED = 0                   # temperatures are fixed
    EXACT = 1                   # drawn from their full conditionals
    PAPER = 2                   # drawn from their distribution, regardless of the state: chain 0 is biased

TEMPERATURES = {"fixed": FIXED, "exact": EXACT, "paper": PAPER}


@cython.final
cdef class Population:
    """Reversible-jump chains that exchange states.

    Parameters
    ----------
    chains : list of ReversibleJump
        Chains with a common problem and space, chain 0 first.
    grid : float64 array (K, G)
        Grid of temperatures of each of the other chains.
    level : int32 array (K,)
        Their positions in the grid.
    mode : int
        One of the values of `TEMPERATURES`.
    """

    cdef object held
    cdef void** chains          # borrowed references from `held`
    cdef double[:, ::1] grid
    cdef int[::1] level
    cdef int mode
    cdef int64_t[:, ::1] exchanges
    cdef double[::1] scratch

    def __init__(self, list chains not None, grid, level, int mode):
        cdef int k, n_other
        self.grid = np.array(grid, dtype=np.float64, order="C")
        self.level = np.array(level, dtype=np.intc)
        n_other = self.grid.shape[0]
        if n_other < 1 or len(chains) != n_other + 1 or self.level.shape[0] != n_other:
            raise ValueError("there must be a row of temperatures for every chain but the first")
        cdef size_t[::1] pointers = np.zeros(n_other + 1, dtype=np.uintp)
        self.held, self.chains = (list(chains), pointers), <void**> &pointers[0]
        for k in range(n_other + 1):
            self.chains[k] = <void*> (<ReversibleJump?> chains[k])
        for k in range(n_other):
            if not 0 <= self.level[k] < self.grid.shape[1]:
                raise ValueError("level must point into the grid")
        self.mode = mode
        self.exchanges = np.zeros((2, n_other), dtype=np.int64)
        self.scratch = np.empty(self.grid.shape[1])

    cdef int draw_level(self, int k, double log_density, const double* log_law,
                        bitgen_t* rng) noexcept nogil:
        """Draw the temperature of chain k: from its full conditional, or from log_law alone."""
        # mathematics: jumps-temperature
        cdef int g, n = self.grid.shape[1]
        cdef double top = -INFINITY, total = 0.0, u
        for g in range(n):
            self.scratch[g] = log_law[g]
            if self.mode == EXACT:
                self.scratch[g] += self.grid[k, g] * log_density
            top = max(top, self.scratch[g])
        for g in range(n):
            self.scratch[g] = exp(self.scratch[g] - top)
            total += self.scratch[g]
        u = random_standard_uniform(rng) * total
        for g in range(n - 1):
            u -= self.scratch[g]
            if u < 0.0:
                return g
        return n - 1

    cdef void step(self, ReversibleJump other, int k, const double* log_law,
                   bitgen_t* rng) noexcept nogil:
        """Update the temperature of chain k + 1, then the chain."""
        if self.mode != FIXED:
            # Recomputed, so that a saved state has the same further draws.
            other.refresh()
            self.level[k] = self.draw_level(k, other.log_target(), log_law, rng)
        other.t = self.grid[k, self.level[k]]
        other.root_t = sqrt(other.t)
        other.iterate(rng)

    cdef void exchange(self, int k, ReversibleJump cold, ReversibleJump other, bitgen_t* rng) noexcept nogil:
        """Propose that chains 0 and k + 1 exchange their states, but not temperatures and counts."""
        # mathematics: jumps-exchange
        cdef double difference = other.log_target() - cold.log_target()
        cdef int move
        self.exchanges[0, k] += 1
        if log(random_standard_uniform(rng)) < (1.0 - other.t) * difference:
            self.exchanges[1, k] += 1
            self.chains[0], self.chains[k + 1] = self.chains[k + 1], self.chains[0]
            cold.t, cold.root_t = other.t, other.root_t
            other.t = other.root_t = 1.0
            for move in range(N_MOVES):
                cold.proposed[move], other.proposed[move] = other.proposed[move], cold.proposed[move]
                cold.accepted[move], other.accepted[move] = other.accepted[move], cold.accepted[move]

    def run(self, rng, Py_ssize_t n, const double[:, ::1] log_law not None, *,
            double[:, ::1] log_sums=None, double[:, ::1] visits=None, Py_ssize_t done=0,
            Py_ssize_t thin=1, uint64_t[:, ::1] words=None, double[::1] log_posterior=None,
            double[:, ::1] coefficients=None, Py_ssize_t every=1, double[:, ::1] sums=None):
        """Run `n` iterations, recording every `thin`-th state of chain 0.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int
        log_law : float64 array (K, G)
            Log weights of the temperatures: log h - log Z, or log h for the published scheme.
        log_sums, visits : float64 arrays (K, G), optional
            Incremented at each iteration by log pi(theta_k) and by 1 at the temperature of chain k.
        done, thin, words, log_posterior, coefficients, every, sums
            As for ``ReversibleJump.run``.

        Returns
        -------
        tuple of int
            Numbers of recorded draws and coefficient vectors.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i, kept = 0, kept_b = 0
        cdef int k, n_other = self.grid.shape[0]
        cdef double* b
        if log_law.shape[0] != n_other or log_law.shape[1] != self.grid.shape[1]:
            raise ValueError("log_law must have the shape of the grid")
        with rng.bit_generator.lock, nogil:
            for i in range(n):
                (<ReversibleJump> self.chains[0]).iterate(bits)
                for k in range(n_other):
                    self.step(<ReversibleJump> self.chains[k + 1], k, &log_law[k, 0], bits)
                    if log_sums is not None:
                        log_sums[k, self.level[k]] += (<ReversibleJump> self.chains[k + 1]).log_target()
                        visits[k, self.level[k]] += 1.0
                for k in range(n_other):
                    self.exchange(k, <ReversibleJump> self.chains[0], <ReversibleJump> self.chains[k + 1],
                                  bits)
                if words is None or (done + i + 1) % thin:
                    continue
                b = NULL
                if ((done + i + 1) // thin - 1) % every == 0:
                    b = &coefficients[kept_b, 0]
                    kept_b += 1
                log_posterior[kept] = (<ReversibleJump> self.chains[0]).record(
                    &words[kept, 0], words.shape[1], b, &sums[0, 0])
                kept += 1
        return kept, kept_b

    cdef list ordered(self):
        """Return the chains, chain 0 first."""
        return [<ReversibleJump> self.chains[k] for k in range(self.grid.shape[0] + 1)]

    def levels(self):
        """Return the grid positions of all chains except the first, shape (K,)."""
        return np.array(self.level)

    def states(self):
        """Return gamma (K + 1, J) and internal coefficients (K + 1, D + 1) of all chains."""
        states = [chain.state() for chain in self.ordered()]
        return np.array([state[0] for state in states]), np.array([state[1] for state in states])

    def counts(self):
        """Return counts of moves by chain (K + 1, 2, 4) and of exchanges (2, K)."""
        return np.array([chain.counts() for chain in self.ordered()]), np.array(self.exchanges)

    def set_counts(self, moves, exchanges):
        """Set the counts, as `counts` returned them."""
        cdef int64_t[:, ::1] given = np.ascontiguousarray(exchanges, dtype=np.int64)
        for chain, count in zip(self.ordered(), moves, strict=True):
            chain.set_counts(np.ascontiguousarray(count, dtype=np.int64))
        self.exchanges[:, :] = given
