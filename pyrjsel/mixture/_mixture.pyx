"""Gibbs sampling of mixture classifiers, and reversible jumps over the inputs they use: the compiled loop.

Rows have a class c and a kernel d given the class; selected inputs are normal given the kernel, inputs that
are not have the density of the null model (``_null.pyx``). Inputs are in range units. The state is the
subset gamma, for each selected input i the rate beta_i, precisions u_di and means m_di of the D kernels,
class weights w_cd, class probabilities, the kernel of each row, the class of each row without a label, and
the missing inputs where the null model ties inputs together. Where it does not, missing inputs are integrated
out: they drop out of every sum. A sweep is, in this order,

1. for each selected input beta_i given the precisions, then means and precisions given the rows;
2. weights and class probabilities;
3. missing inputs, where they are in the state: of selected ones by a Metropolis step with the density of the
   kernel as proposal, of others from the null model;
4. moves with the kernels of the rows summed out (``_jumps.pyx``): an input enters, one leaves, or two are
   exchanged;
5. kernels of the rows, and missing classes, from their conditional: those before the moves are forgotten.

Chains at several powers t of the density of the selected inputs over the null model's (``_gibbs.pyx``) sweep
one after the other; then each exchanges its state with that at the next lower power with probability
min{1, exp((t - t') (E' - E))}, E the log of what the powers are taken of. The first, with t = 1, is recorded.

A sweep begins with sums computed from the state: rounding does not accumulate, and a saved state resumes to
the same draws, bit for bit. It costs O(N (s D + D moves)).
"""

cimport cython
from libc.math cimport log
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core.random cimport bitgen_of, bitgen_t, random_standard_uniform
from pyrjsel.mixture._chain cimport Chain
from pyrjsel.mixture._jumps cimport Jumps


@cython.final
cdef class MixtureChain(Jumps):
    """A chain at one power: parameters as for ``Gibbs``."""

    cdef void sweep(self, int moves, bitgen_t* rng) noexcept nogil:
        cdef int a, _
        self.refresh()
        for a in range(self.null.size):
            self.kernels(self.null.members[a], rng)
        self.weights(rng)
        if self.n_missing:
            self.inputs(rng)
        self.densities()
        for _ in range(moves):
            self.move(rng)
        self.rows(rng)

    cdef void settle(self) noexcept nogil:
        self.densities()

    cdef double log_likelihood(self) noexcept nogil:
        return self.log_rows() + self.null.log_density()


@cython.final
cdef class MixtureLadder:
    """Chains at falling powers that exchange states.

    Parameters
    ----------
    chains : list of Chain
        Of one problem. The first has power 1.
    powers : float64 array (T,)
    """

    cdef object held
    cdef void** chains              # borrowed references from `held`, by falling power
    cdef int n_chains
    cdef double[::1] t
    cdef int64_t[:, ::1] exchanges

    def __init__(self, list chains not None, powers):
        cdef int k
        cdef size_t[::1] pointers = np.zeros(max(1, len(chains)), dtype=np.uintp)
        self.t = np.array(powers, dtype=np.float64)
        if not 1 <= len(chains) == self.t.shape[0] or self.t[0] != 1.0:
            raise ValueError("there must be a power for every chain, the first of them 1")
        self.held, self.chains, self.n_chains = (list(chains), pointers), <void**> &pointers[0], len(chains)
        for k in range(self.n_chains):
            self.chains[k] = <void*> (<Chain?> chains[k])
        self.exchanges = np.zeros((2, self.n_chains - 1), dtype=np.int64)
        self.set_powers(powers)

    def set_powers(self, const double[::1] powers not None):
        """Change the powers."""
        cdef int k
        for k in range(self.n_chains):
            (<Chain> self.chains[k]).t = self.t[k] = powers[k]

    cdef void exchange(self, int k, Chain one, Chain other, bitgen_t* rng) noexcept nogil:
        """Propose that chains k and k + 1 exchange their states; powers, steps and counts stay."""
        # mathematics: mixture-exchange
        cdef double gain = (one.t - other.t) * (other.tempered() - one.tempered())
        cdef int i
        self.exchanges[0, k] += 1
        if log(random_standard_uniform(rng)) < gain:
            self.exchanges[1, k] += 1
            self.chains[k], self.chains[k + 1] = self.chains[k + 1], self.chains[k]
            one.t, other.t = other.t, one.t
            for i in range(one.n_steps):
                one.steps[i], other.steps[i] = other.steps[i], one.steps[i]
            if k == 0:
                other.settle()
            for i in range(3):
                one.proposed[i], other.proposed[i] = other.proposed[i], one.proposed[i]
                one.accepted[i], other.accepted[i] = other.accepted[i], one.accepted[i]

    cdef void write(self, Chain chain, uint64_t* words, Py_ssize_t n_words, double* log_posterior,
                    double* log_likelihood, int* occupied) noexcept nogil:
        """Write what is recorded of every draw."""
        chain.write_words(words, n_words)
        log_likelihood[0] = chain.log_likelihood()
        log_posterior[0] = log_likelihood[0] + chain.log_parameters()
        occupied[0] = chain.n_occupied()

    cdef void write_kernels(self, Chain chain, double* mean, double* variance, double* weight,
                            double* prior) noexcept nogil:
        """Write kernels, weights and class probabilities."""
        chain.write_kernels(mean, variance)
        memcpy(weight, chain.weight, chain.n_classes * chain.n_kernels * sizeof(double))
        memcpy(prior, chain.prior, chain.n_classes * sizeof(double))

    def run(self, rng, Py_ssize_t n, int moves, *, Py_ssize_t done=0, Py_ssize_t thin=1,
            uint64_t[:, ::1] words=None, double[::1] log_posterior=None, double[::1] log_likelihood=None,
            int[::1] occupied=None, double[:, :, ::1] mean=None, double[:, :, ::1] variance=None,
            double[:, :, ::1] weight=None, double[:, ::1] prior=None, Py_ssize_t every=1,
            bint adapt=False):
        """Run `n` sweeps of each chain, recording every `thin`-th of the first one.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int
        moves : int
            Moves a sweep.
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
        adapt : bool
            Whether to adapt the steps of random walks.

        Returns
        -------
        tuple of int
            Draws and kernels that were recorded.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t s, kept = 0, kept_kernels = 0
        cdef int k
        cdef Chain chain = <Chain> self.chains[0]
        if words is not None and not (
                words.shape[1] == (chain.p + 63) // 64
                and mean.shape[1] == variance.shape[1] == weight.shape[2] == chain.n_kernels
                and mean.shape[2] == variance.shape[2] == chain.p
                and weight.shape[1] == prior.shape[1] == chain.n_classes):
            raise ValueError("the arrays do not fit the model")
        for k in range(self.n_chains):
            (<Chain> self.chains[k]).adapting = adapt
        with rng.bit_generator.lock, nogil:
            for s in range(n):
                for k in range(self.n_chains):
                    (<Chain> self.chains[k]).sweep(moves, bits)
                for k in range(self.n_chains - 1):
                    self.exchange(k, <Chain> self.chains[k], <Chain> self.chains[k + 1], bits)
                if words is None or (done + s + 1) % thin:
                    continue
                self.write(<Chain> self.chains[0], &words[kept, 0], words.shape[1], &log_posterior[kept],
                           &log_likelihood[kept], &occupied[kept])
                kept += 1
                if ((done + s + 1) // thin - 1) % every == 0:
                    self.write_kernels(<Chain> self.chains[0], &mean[kept_kernels, 0, 0],
                                       &variance[kept_kernels, 0, 0], &weight[kept_kernels, 0, 0],
                                       &prior[kept_kernels, 0])
                    kept_kernels += 1
        return kept, kept_kernels

    def states(self):
        """Return what ``state`` does of each chain, by falling power."""
        return [(<Chain> self.chains[k]).state() for k in range(self.n_chains)]

    def counts(self):
        """Return counts of the first chain's moves (2, 3) and of exchanges (2, T - 1)."""
        return (<Chain> self.chains[0]).counts(), np.array(self.exchanges)

    def set_counts(self, moves, exchanges):
        """Go on counting from what `counts` returned."""
        cdef int64_t[:, ::1] given = np.ascontiguousarray(exchanges, dtype=np.int64)
        (<Chain> self.chains[0]).set_counts(np.ascontiguousarray(moves, dtype=np.int64))
        self.exchanges[:, :] = given
