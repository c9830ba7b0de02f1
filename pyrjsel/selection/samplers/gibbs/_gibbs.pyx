"""Gibbs sampling of models, coefficients and sigma^2, the compiled loop.

A sweep draws each free term in turn from its two-point full conditional; swaps follow, in which a random term
leaves and one drawn from the full conditional enters, and block updates and trades (``_walk.pyx``). The
evidence determines what a sweep conditions on:

closed      sigma^2 and coefficients are integrated out (priors that scale with sigma^2)
collapsed   coefficients are integrated out, and drawn before sigma^2: gamma | sigma^2;
            coefficients | gamma, sigma^2; sigma^2 | both
classical   coefficients | gamma, sigma^2; sigma^2 | both; gamma | coefficients, sigma^2 (George and
            McCulloch 1993)

The state between two iterations is the model, and sigma^2 except for the closed sweep. Each iteration
recomputes everything from it, so that rounding errors do not accumulate and a saved state has the same
further draws, bit for bit. For the closed sweep, sigma^2 | gamma and coefficients | gamma, sigma^2 are drawn
only for recorded models.

Each update leaves the posterior invariant: a two-point draw from a full conditional and a swap are
reversible, and coefficients that were integrated out are drawn again before anything depends on them.
"""

cimport cython
from libc.math cimport exp, sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from pyrjsel._core.random cimport (
    bitgen_of,
    bitgen_t,
    random_standard_normal,
    random_standard_uniform,
)
from pyrjsel.selection.evidence._evidence cimport Evidence
from pyrjsel.selection.evidence._spike cimport DensityEvidence
from pyrjsel.selection.evidence._variance cimport VarianceEvidence, log_inverse_gamma
from pyrjsel.selection.samplers._walk cimport Walk, model_t
from pyrjsel.model_space._space cimport Space, model_feasible_at, model_flip, model_log_prior

cdef enum:
    FIRST = 0                   # rows of the sums over draws
    SECOND = 1
    POSITIVE = 2
    INCLUDED = 3
    FIRST_IN = 4                # given inclusion of the column's term
    SECOND_IN = 5
    N_SUMS = 6

MOVES = ("flip", "swap", "block", "trade")


@cython.final
cdef class Gibbs:
    """One chain.

    Parameters
    ----------
    evidence : Evidence
        Evidence for sweeps.
    space : Space
        Prior over models and constraints.
    gamma : uint8 array (J,)
        Starting model, feasible and with a coefficient prior.
    variance : float
        Initial sigma^2.
    slots : int
        Swaps per iteration.
    coefficients : VarianceEvidence, optional
        Evidence for drawing coefficients and sigma^2: `evidence` itself, except for the classical sweep. None
        for the closed sweep of priors whose coefficients are drawn elsewhere.
    density : DensityEvidence, optional
        `evidence`, for the classical sweep.
    families : sequence of int array
        Blocks of terms; see `set_families`.
    trades : int
        Trades proposed per iteration.
    """

    cdef Walk walk
    cdef Space space
    cdef Evidence evidence
    cdef VarianceEvidence full
    cdef DensityEvidence density
    cdef model_t* m
    cdef object arrays
    cdef bint drawn, classical, closed, failed
    cdef int n_terms, n_columns, n_slots, n_families, n_trades
    cdef const int* column_term
    cdef double variance
    cdef double* b              # (D)
    cdef double* record_b       # (D + 1)
    cdef int64_t proposed, moved

    def __init__(self, Evidence evidence not None, Space space not None, gamma, double variance, *,
                 int slots=0, VarianceEvidence coefficients=None, DensityEvidence density=None, families=(),
                 int trades=0):
        if not 0.0 < variance < np.inf or slots < 0 or trades < 0:
            raise ValueError("variance must be positive and finite, slots and trades not negative")
        if (evidence is coefficients) if density is not None else (coefficients not in (None, evidence)):
            raise ValueError("sweeps look at the density or at the evidence that coefficients are drawn from")
        self.space = space
        self.evidence, self.full, self.density = evidence, coefficients, density
        self.drawn = coefficients is not None
        self.classical = density is not None
        self.closed = not self.drawn or (coefficients.integrated and not self.classical)
        self.n_terms = space.c.n_terms
        self.n_slots, self.n_trades = slots, trades
        self.variance = variance
        self.n_columns = coefficients.tableau.n_columns if self.drawn else 0
        cdef double[::1] numbers = np.zeros(2 * self.n_columns + 1)
        cdef int[::1] owner = np.zeros(self.n_columns + 1, dtype=np.intc)
        cdef int k
        for k in range(self.n_columns):
            owner[k] = coefficients.tableau.group[k]
        self.arrays = (numbers, owner)
        self.b = &numbers[0]
        self.record_b = self.b + self.n_columns
        self.column_term = &owner[0]
        if self.classical:
            self.density.set(variance, self.b)
        self.walk = Walk([evidence], space, np.atleast_2d(gamma), [1.0], families=families, trades=trades)
        self.m = &self.walk.replicas[0].m

    # ------------------------------------------------------------------ iteration

    cdef double change(self, int j) noexcept nogil:
        """Change of the log mass by flipping term j; -inf if infeasible."""
        cdef double before = model_log_prior(&self.space.c, self.m), after
        model_flip(&self.space.c, self.m, j)
        if model_feasible_at(&self.space.c, self.m, j):
            after = model_log_prior(&self.space.c, self.m) - before + self.evidence.change(j)
        else:
            after = -1.0 / 0.0
        model_flip(&self.space.c, self.m, j)
        return after

    cdef void sweep(self, bitgen_t* rng, double* averages) noexcept nogil:
        """Draw each free term from its full conditional."""
        cdef int j
        cdef double change, flipped, kept
        for j in range(self.n_terms):
            if not self.space.c.free_term[j]:
                if averages != NULL:
                    averages[j] += 1.0
                continue
            change = self.change(j)
            # Neither of the two is computed as one minus the other: both are accurate if small.
            flipped = 1.0 / (1.0 + exp(-change))
            kept = 1.0 / (1.0 + exp(change))
            if averages != NULL:
                averages[j] += kept if self.m.gamma[j] else flipped
                averages[self.n_terms + j] += flipped if self.m.gamma[j] else kept
            self.proposed += 1
            if random_standard_uniform(rng) < flipped and self.walk.toggle(0, j) == 0:
                self.moved += 1

    cdef void models(self, bitgen_t* rng, double* averages) noexcept nogil:
        """Update the model."""
        cdef int _
        if self.walk.load(0) != 0:
            self.failed = True
            return
        self.sweep(rng, averages)
        for _ in range(self.n_slots):
            self.walk.slot(0, rng)
        for _ in range(self.n_families):
            self.walk.family(0, rng)
        if self.n_trades:
            # Quantities on neighbours are out of date after sweeps.
            self.walk.measure(0)
            self.walk.look(0)
        for _ in range(self.n_trades):
            self.walk.trade(0, rng)
        self.walk.measure(0)

    cdef void iterate(self, bitgen_t* rng, double* averages) noexcept nogil:
        # mathematics: walks-gibbs
        if self.classical:
            if not self.full.integrated:
                self.full.at(self.variance)
            if self.full.load(self.m.gamma) != 0:
                self.failed = True
                return
            self.full.draw(self.variance, rng, self.b)
            self.variance = self.full.variance_given_all(self.b, rng)
            self.density.set(self.variance, self.b)
            self.models(rng, averages)
        elif self.closed:
            self.models(rng, averages)
        else:
            self.full.at(self.variance)
            self.models(rng, averages)
            self.full.draw(self.variance, rng, self.b)
            self.variance = self.full.variance_given_all(self.b, rng)

    # ------------------------------------------------------------------ recording

    cdef double log_posterior(self) noexcept nogil:
        """Unnormalised log mass of the model, or log density of model, coefficients and sigma^2."""
        cdef int k = self.m.size
        if self.closed:
            return self.walk.replicas[0].log_mass
        if self.classical:
            return self.walk.replicas[0].log_mass + self.full.log_likelihood(self.variance)
        return (model_log_prior(&self.space.c, self.m) + self.full.log_likelihood(self.variance)
                + self.full.log_prior(self.variance, self.b)
                + log_inverse_gamma(self.variance, self.full.a[k], self.full.b[k], self.full.norm[k]))

    cdef void record(self, bitgen_t* rng, const double* shift, double centre, double weight,
                     double* sums) noexcept nogil:
        """Complete the coefficients with the intercept, and add to the sums (6, D + 1)."""
        cdef int k, width = self.n_columns + 1
        cdef double value
        if self.closed:
            self.variance = self.full.variance_given_model(rng)
            self.full.draw(self.variance, rng, self.b)
        self.record_b[0] = centre + sqrt(self.variance / weight) * random_standard_normal(rng)
        memcpy(self.record_b + 1, self.b, self.n_columns * sizeof(double))
        for k in range(width):
            if k and self.b[k - 1] == 0.0:
                continue
            value = self.record_b[k]
            if k == 0:
                value -= self.inner(shift)
            sums[POSITIVE * width + k] += value > 0.0
            if k == 0:
                value -= centre
            sums[FIRST * width + k] += value
            sums[SECOND * width + k] += value * value
            if k == 0 or self.m.gamma[self.column_term[k - 1]]:
                sums[INCLUDED * width + k] += 1.0
                sums[FIRST_IN * width + k] += value
                sums[SECOND_IN * width + k] += value * value

    cdef double inner(self, const double* shift) noexcept nogil:
        cdef int k
        cdef double total = 0.0
        for k in range(self.n_columns):
            total += shift[k] * self.b[k]
        return total

    def run(self, rng, Py_ssize_t n, *, Py_ssize_t done=0, Py_ssize_t thin=1, uint64_t[:, ::1] words=None,
            double[::1] log_posterior=None, double[:, ::1] averages=None, double[::1] variance=None,
            double[:, ::1] coefficients=None, Py_ssize_t every=1, double[:, ::1] sums=None,
            intercept=None):
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
            Log masses of the models if sigma^2 is not in the state; otherwise log densities of models,
            internal coefficients and sigma^2.
        averages : float64 array (2, J)
            Incremented at every iteration by the probabilities of inclusion and exclusion of each term given
            the others at its update in the sweep.
        variance : float64 array (kept coefficients,)
            sigma^2 of every `every`-th recorded draw.
        coefficients : float64 array (kept coefficients, D + 1)
            Their internal coefficients.
        every : int
        sums : float64 array (6, D + 1)
            Incremented sums over recorded draws: coefficients with the intercept of the design's own columns
            minus the mean of the response, their squares, positive values (for the whole intercept),
            inclusion, and the first two given inclusion.
        intercept : tuple (float64 array (D,), float, float)
            Linear form of the coefficients in the intercept of the design's own columns, mean of the
            response, and sum of the weights.

        Returns
        -------
        tuple of int
            Numbers of recorded draws and coefficient vectors.

        Raises
        ------
        DataError
            If a marginal likelihood is lost to rounding.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i, kept = 0, kept_b = 0
        cdef double centre = 0.0, weight = 1.0
        cdef const double[::1] shift
        cdef const double* shifts = NULL
        cdef double* into = NULL
        if averages is not None and self.n_terms:
            into = &averages[0, 0]
        if words is not None and self.drawn:
            shift, centre, weight = intercept
            if shift.shape[0] != self.n_columns or sums.shape[0] != N_SUMS or (
                    sums.shape[1] != self.n_columns + 1):
                raise ValueError("intercept and sums must fit the columns")
            shifts = &shift[0] if self.n_columns else NULL
        with rng.bit_generator.lock, nogil:
            for i in range(n):
                self.iterate(bits, into)
                if self.failed:
                    break
                if words is None or (done + i + 1) % thin:
                    continue
                self.walk.record(&words[kept, 0], words.shape[1])
                if self.drawn:
                    self.record(bits, shifts, centre, weight, &sums[0, 0])
                    if ((done + i + 1) // thin - 1) % every == 0:
                        memcpy(&coefficients[kept_b, 0], self.record_b, (self.n_columns + 1) * sizeof(double))
                        variance[kept_b] = self.variance
                        kept_b += 1
                log_posterior[kept] = self.log_posterior()
                kept += 1
        for item in (self.evidence, self.full):
            if hasattr(item, "check_state"):
                item.check_state()
        if self.failed:
            raise ValueError("a model of the chain has no coefficient prior")
        return kept, kept_b

    # ------------------------------------------------------------------ state

    def state(self):
        """Return the model, uint8 (J,), and sigma^2."""
        return self.walk.gamma()[0], self.variance

    def counts(self):
        """Return proposals and acceptances by move (in the order of MOVES), shape (2, 4).

        Swaps and block updates that did not change the model count only as proposals.
        """
        moves = self.walk.counts()[0]
        moves[:, 0] = self.proposed, self.moved
        return moves

    def set_counts(self, const int64_t[:, ::1] counts not None):
        """Set the counts, as `counts()` returned them."""
        self.proposed, self.moved = counts[0, 0], counts[1, 0]
        self.walk.set_counts(counts, self.walk.counts()[1])

    def set_families(self, int count):
        """Set the number of block updates per iteration; 0 if there are no blocks."""
        if count < 0:
            raise ValueError("the number of families must not be negative")
        self.n_families = count if self.walk.n_families else 0
