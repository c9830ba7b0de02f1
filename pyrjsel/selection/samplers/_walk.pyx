"""A chain over models in continuous time: informed flips, swaps, block updates, trades, replica exchanges.

The target is pi(gamma) ~ evidence x prior over models, with inverse temperatures t_0 = 1 > t_1 > ... in K
replicas, which are independent under the product target. The chain is a Markov process in continuous time
with the following events, in units in which each free term of a replica is proposed once on average:

flips
    Term j of replica k is flipped at the rate min{1, (pi(flipped) / pi(now))**t_k}. The flow between
    neighbours, pi(x)**t min{1, (pi(y)/pi(x))**t} = min{pi(x)**t, pi(y)**t}, is symmetric. This is a
    random-scan Metropolis sampler with proposals at the points of Poisson processes; only the accepted ones
    are simulated.
slots
    Swaps: at the rate `slots` one of the n included free terms, i, leaves the model nu + i, and a term j
    enters with probability pi(nu + j)**t / sum over l of pi(nu + l)**t, where l runs over all free terms
    outside nu with feasible nu + l, including i. The flow pi(nu + i)**t / n x pi(nu + j)**t / sum is
    symmetric in i and j: both models have n free terms and share nu and the sum. If nu violates heredity
    nothing happens, which depends only on nu, too.
families
    Block updates: at the rate `families` one of the blocks of terms (an interaction and the terms that
    heredity requires) is chosen uniformly, and its indicators are drawn from the full conditional: every
    feasible model nu + F, with F a subset of the block and nu the other terms, has probability pi(nu + F)**t
    / sum over F' of pi(nu + F')**t. The flow pi(nu + F)**t x pi(nu + F')**t / sum is symmetric. Under strong
    heredity flips reach an interaction through models with main effects that may have no effect, for example
    with fifteen units less of log mass, which flips do not cross.
trades
    At the rate `trades` several terms leave and others enter along a path, accepted by the probabilities of
    the path and of the reverse path, with target pi**t; see ``pyrjsel/model_space/_trades.pyx``.
exchanges
    At the rate `exchanges` for each pair of neighbouring temperatures, their models are exchanged with
    probability min{1, (pi(y)/pi(x))**(t_k - t_(k+1))}, a Metropolis step on the product target.

The generator Q is the sum of these. Each satisfies detailed balance for the product target, and therefore so
do Q and exp(Q t) = sum of (Q t)**m / m! for every fixed t. A draw is the state after a fixed time, not after
a number of events: the distribution of models just after events is different (models that are soon left have
too much weight). Between exchanges, whose times do not depend on the state, replicas move independently, and
are simulated one after the other.

As a by-product, the conditional probabilities of all terms given the others are known at each model: their
averages over time estimate the inclusion probabilities (Rao-Blackwellisation). Those of exclusion are
averaged too, since one minus a number near one is inaccurate.
"""

cimport cython
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from pyrjsel._core._vecmath cimport conditionals, flip_rates
from pyrjsel._core.random cimport (
    bitgen_of,
    bitgen_t,
    random_standard_exponential,
    random_standard_uniform,
)
from pyrjsel.selection.evidence._evidence cimport Evidence
from pyrjsel.model_space._space cimport (
    Space,
    model_changes,
    model_feasible_at,
    model_flip,
    model_log_prior,
    model_refresh,
)
from pyrjsel.model_space._trades cimport pointed_at

MOVES = ("flip", "swap", "block", "trade")

# A neighbour with a probability ratio below e**-700, the limit of exp_minus, is never entered.
cdef double DEEPEST = -700.0


class SingularModelError(ValueError):
    """A model of a chain has a singular precision."""


@cython.final
cdef class Walk:
    """A chain over models in continuous time, at one or more temperatures.

    Parameters
    ----------
    evidences : list of Evidence
        One per replica, each with its own state.
    space : Space
        Prior over models and constraints.
    gamma : uint8 array (K, J)
        Starting models, feasible and with coefficient priors; replica 0 has temperature one.
    powers : float64 array (K,)
        Inverse temperatures of the replicas, the first of them 1.
    slots : float
        Swaps per unit of time.
    exchanges : float
        Exchanges proposed to each pair of neighbours per unit of time.
    families : sequence of int array
        Blocks of at most seven terms, parents before children; see
        `pyrjsel.model_space.term_blocks`.
    family_rate : float
        Block updates per unit of time; see `set_family_rate`.
    trades : float
        Trades proposed per unit of time.
    """

    def __init__(self, list evidences not None, Space space not None, gamma, powers, *,
                 double slots=0.0, double exchanges=1.0, families=(), double family_rate=0.0,
                 double trades=0.0):
        cdef int k, width
        cdef Evidence evidence
        self.evidences = list(evidences)
        self.space = space
        self.n_replicas = len(self.evidences)
        self.n_terms = space.c.n_terms
        self.n_free = int(np.sum(space.arrays["free"]))
        if self.n_replicas < 1 or len(set(map(id, self.evidences))) != self.n_replicas:
            raise ValueError("each replica must have its own evidence")
        if not (0.0 <= slots < INFINITY and 0.0 <= exchanges < INFINITY and 0.0 <= trades < INFINITY):
            raise ValueError("rates must not be negative")
        self.slots, self.exchanges, self.trades = slots, exchanges, trades
        self.path = Trades(space) if trades > 0.0 else None
        self.n_families = len(families)
        self.set_family_rate(family_rate)
        for family in families:
            if not 1 < 1 << len(family) <= PATTERNS or not space.arrays["free"][family].all():
                raise ValueError("a family must have one to seven free terms")
        self.moves = np.zeros((2, N_MOVES), dtype=np.int64)
        self.exchanged = np.zeros((2, max(1, self.n_replicas - 1)), dtype=np.int64)
        width = max(1, self.n_terms)
        pointers = np.zeros(self.n_replicas, dtype=np.uintp)
        structs = np.zeros(self.n_replicas * sizeof(replica_t), dtype=np.uint8)
        place = np.arange(self.n_replicas, dtype=np.intc)
        reals = np.zeros((4 + 2 * self.n_replicas, width))
        terms = np.zeros((self.n_replicas, width), dtype=np.uint8)
        uses = np.zeros((self.n_replicas, max(1, space.c.n_items)), dtype=np.intc)
        family_start = np.cumsum([0, *map(len, families)]).astype(np.intc)
        family_term = np.concatenate([*families, [0]]).astype(np.intc)
        mass, possible = np.zeros((2, PATTERNS)), np.zeros(PATTERNS, dtype=np.uint8)
        self.arrays = [
            pointers, structs, place, reals, terms, uses, family_start, family_term, mass, possible,
        ]
        cdef size_t[::1] pointers_view = pointers
        cdef unsigned char[::1] structs_view = structs
        cdef int[::1] place_view = place
        cdef double[:, ::1] reals_view = reals
        cdef unsigned char[:, ::1] terms_view = terms
        cdef int[:, ::1] uses_view = uses
        cdef int[::1] start_view = family_start
        cdef int[::1] term_view = family_term
        cdef double[:, ::1] mass_view = mass
        cdef unsigned char[::1] possible_view = possible
        self.evidence = <void**> &pointers_view[0]
        self.replicas = <replica_t*> &structs_view[0]
        self.place = &place_view[0]
        self.inclusion, self.exclusion = &reals_view[0, 0], &reals_view[1, 0]
        self.scratch, self.kept = &reals_view[2, 0], &reals_view[3, 0]
        self.family_start, self.family_term = &start_view[0], &term_view[0]
        self.mass, self.prior, self.possible = &mass_view[0, 0], &mass_view[1, 0], &possible_view[0]
        for k in range(self.n_replicas):
            evidence = self.evidences[k]
            if evidence.n_terms != self.n_terms:
                raise ValueError("evidence and space must have the same terms")
            self.evidence[k] = <void*> evidence
            self.replicas[k].m.gamma = &terms_view[k, 0]
            self.replicas[k].m.item_use = &uses_view[k, 0]
            self.replicas[k].change = &reals_view[4 + 2 * k, 0]
            self.replicas[k].rate = &reals_view[5 + 2 * k, 0]
            self.replicas[k].power = 1.0
        self.set_state(gamma, powers)

    # ------------------------------------------------------------------ one replica

    cdef void weigh(self, int a) noexcept nogil:
        """Compute the rates of replica a, and the conditional probabilities if it has temperature one."""
        # mathematics: walks-flip
        cdef replica_t* r = &self.replicas[a]
        cdef int j
        cdef double total = 0.0
        if a == self.place[0]:
            conditionals(self.n_terms, r.change, r.m.gamma, r.rate, self.inclusion, self.exclusion)
        else:
            flip_rates(self.n_terms, r.change, r.power, r.rate)
        for j in range(self.n_terms):
            total += r.rate[j]
        r.total = total

    cdef void look(self, int a) noexcept nogil:
        """Compute the log masses of the neighbours of the model of replica a."""
        cdef replica_t* r = &self.replicas[a]
        cdef int j
        (<Evidence> self.evidence[a]).changes(r.change)
        model_changes(&self.space.c, &r.m, self.scratch)
        for j in range(self.n_terms):
            r.change[j] += self.scratch[j]

    cdef void settle(self, int a) noexcept nogil:
        """Update all derived quantities after a change of the model of replica a."""
        self.measure(a)
        self.look(a)
        self.weigh(a)

    cdef void measure(self, int a) noexcept nogil:
        cdef replica_t* r = &self.replicas[a]
        r.log_mass = (<Evidence> self.evidence[a]).value + model_log_prior(&self.space.c, &r.m)

    cdef int load(self, int a) noexcept nogil:
        """Recompute all derived quantities from the model of replica a."""
        cdef replica_t* r = &self.replicas[a]
        model_refresh(&self.space.c, &r.m)
        if (<Evidence> self.evidence[a]).load(r.m.gamma) != 0:
            return 1
        self.settle(a)
        return 0

    cdef int toggle(self, int a, int j) noexcept nogil:
        """Flip term j of evidence and model; non-zero, without a change, if that model does not exist."""
        if (<Evidence> self.evidence[a]).flip(j) != 0:
            return 1
        model_flip(&self.space.c, &self.replicas[a].m, j)
        return 0

    cdef void flip(self, int a, double u) noexcept nogil:
        """Flip the term selected by u in [0, total)."""
        cdef replica_t* r = &self.replicas[a]
        cdef int chosen = pointed_at(r.rate, self.n_terms, u)
        if chosen < 0:
            return
        if self.toggle(a, chosen) != 0:
            # By rounding, a model at the limit of the rank rule: it gets no mass.
            r.total -= r.rate[chosen]
            r.rate[chosen] = 0.0
            return
        if a == self.place[0]:
            self.moves[1, FLIP] += 1
        self.settle(a)

    cdef int draw_slot(self, int a, bitgen_t* rng) noexcept nogil:
        """Draw the entering term of a swap in replica a from its full conditional; -1 if there is none."""
        cdef replica_t* r = &self.replicas[a]
        cdef int j
        cdef double top = -INFINITY, total = 0.0
        for j in range(self.n_terms):
            if not r.m.gamma[j] and r.change[j] > top:
                top = r.change[j]
        if top == -INFINITY:
            return -1
        for j in range(self.n_terms):
            self.scratch[j] = 0.0
            if not r.m.gamma[j] and r.power * (r.change[j] - top) > DEEPEST:
                self.scratch[j] = exp(r.power * (r.change[j] - top))
                total += self.scratch[j]
        return pointed_at(self.scratch, self.n_terms, random_standard_uniform(rng) * total)

    cdef void slot(self, int a, bitgen_t* rng) noexcept nogil:
        """Swap a random included free term."""
        # mathematics: walks-swap
        cdef replica_t* r = &self.replicas[a]
        cdef int nth, i = -1, j, counted = a == self.place[0]
        self.moves[0, SLOT] += counted
        if r.m.n_free == 0:
            return
        nth = <int> (random_standard_uniform(rng) * r.m.n_free)
        while nth >= 0:
            i += 1
            nth -= r.m.gamma[i] and self.space.c.free_term[i]
        if self.toggle(a, i) != 0:
            return
        if not model_feasible_at(&self.space.c, &r.m, i):
            self.toggle(a, i)
            self.measure(a)
            return
        memcpy(self.kept, r.change, self.n_terms * sizeof(double))
        self.look(a)
        j = self.draw_slot(a, rng)
        if j < 0 or j == i or self.toggle(a, j) != 0:
            self.toggle(a, i)
            memcpy(r.change, self.kept, self.n_terms * sizeof(double))
            self.measure(a)
            return
        self.moves[1, SLOT] += counted
        self.settle(a)

    cdef int lay(self, int a, const int* terms, int n, int pattern) noexcept nogil:
        """Set the terms of a block to `pattern`, without the evidence; return the former pattern."""
        cdef replica_t* r = &self.replicas[a]
        cdef int i, before = 0
        for i in range(n):
            before |= r.m.gamma[terms[i]] << i
            if r.m.gamma[terms[i]] != pattern >> i & 1:
                model_flip(&self.space.c, &r.m, terms[i])
        return before

    cdef bint move_evidence(self, int a, const int* terms, int n, int pattern, int* at) noexcept nogil:
        """Whether the evidence has a model with these terms of a block; it moves there as far as possible.

        `at` is the pattern of the evidence, before and after. Terms leave before others enter: models on the
        way are submodels of one of the two, which have coefficient priors if these have.
        """
        cdef int i
        for i in range(n - 1, -1, -1):
            if at[0] >> i & 1 and not pattern >> i & 1:
                if (<Evidence> self.evidence[a]).flip(terms[i]) != 0:
                    return False
                at[0] ^= 1 << i
        for i in range(n):
            if pattern >> i & 1 and not at[0] >> i & 1:
                if (<Evidence> self.evidence[a]).flip(terms[i]) != 0:
                    return False
                at[0] ^= 1 << i
        return True

    cdef void family(self, int a, bitgen_t* rng) noexcept nogil:
        """Draw the indicators of a random block given all others."""
        # mathematics: walks-block
        cdef replica_t* r = &self.replicas[a]
        cdef int f = <int> (random_standard_uniform(rng) * self.n_families)
        cdef const int* terms = self.family_term + self.family_start[f]
        cdef int n = self.family_start[f + 1] - self.family_start[f]
        cdef int pattern, before, at, chosen, i, counted = a == self.place[0]
        cdef double top = -INFINITY, total = 0.0
        cdef bint flipped
        self.moves[0, FAMILY] += counted
        before = at = self.lay(a, terms, n, 0)
        for pattern in range(1 << n):
            self.lay(a, terms, n, pattern)
            self.possible[pattern] = True
            for i in range(n):
                if not model_feasible_at(&self.space.c, &r.m, terms[i]):
                    self.possible[pattern] = False
            self.prior[pattern] = model_log_prior(&self.space.c, &r.m)
        flipped = (<Evidence> self.evidence[a]).patterns(terms, n, self.possible, self.mass) != 0
        if flipped:
            memcpy(self.kept, r.change, self.n_terms * sizeof(double))
        for pattern in range(1 << n):
            if flipped:
                self.mass[pattern] = -INFINITY
                if self.possible[pattern] and self.move_evidence(a, terms, n, pattern, &at):
                    self.mass[pattern] = (<Evidence> self.evidence[a]).value
            if self.mass[pattern] > -INFINITY:
                self.mass[pattern] = r.power * (self.mass[pattern] + self.prior[pattern])
                top = max(top, self.mass[pattern])
        for pattern in range(1 << n):
            self.mass[pattern] = exp(self.mass[pattern] - top) if self.mass[pattern] > top + DEEPEST else 0.0
            total += self.mass[pattern]
        chosen = pointed_at(self.mass, 1 << n, random_standard_uniform(rng) * total)
        self.lay(a, terms, n, max(chosen, 0))
        if chosen < 0 or not self.move_evidence(a, terms, n, chosen, &at):
            # By rounding, a model at the limit of the rank rule.
            chosen = before
            self.lay(a, terms, n, before)
            (<Evidence> self.evidence[a]).load(r.m.gamma)
        if chosen == before:
            if flipped:
                memcpy(r.change, self.kept, self.n_terms * sizeof(double))
                self.measure(a)
            return
        self.moves[1, FAMILY] += counted
        self.settle(a)

    cdef int follow(self, int a, int done) noexcept nogil:
        """Move the evidence, `done` flips along the path, to its end; return the number of flips reached."""
        while done < self.path.n_flips:
            if (<Evidence> self.evidence[a]).flip(self.path.flip[done]) != 0:
                break
            done += 1
        return done

    cdef void trade(self, int a, bitgen_t* rng) noexcept nogil:
        """Propose a trade."""
        # mathematics: walks-trade-ratio
        cdef replica_t* r = &self.replicas[a]
        cdef double back, ratio, before = r.log_mass
        cdef double* row
        cdef int j, drawn, done = 0, counted = a == self.place[0]
        self.moves[0, TRADE] += counted
        memcpy(self.kept, r.change, self.n_terms * sizeof(double))
        self.path.begin()
        while True:
            row = self.path.row()
            for j in range(self.n_terms):
                row[j] = r.power * r.change[j]
            drawn = self.path.draw(&r.m, rng)
            if drawn < 1:
                break
            done = self.follow(a, done)
            if done < self.path.n_flips:
                drawn = -1
                break
            self.measure(a)
            self.look(a)
        if drawn == 0:
            back = self.path.follow(&r.m, True)
            ratio = r.power * (r.log_mass - before) + back - self.path.follow(&r.m, False)
            if log(random_standard_uniform(rng)) < ratio:
                self.moves[1, TRADE] += counted
                self.weigh(a)
                return
        self.path.undo(&r.m)
        while done > 0 and (<Evidence> self.evidence[a]).flip(self.path.flip[done - 1]) == 0:
            done -= 1
        if done > 0:
            # By rounding, a model at the limit of the rank rule.
            (<Evidence> self.evidence[a]).load(r.m.gamma)
        memcpy(r.change, self.kept, self.n_terms * sizeof(double))
        self.measure(a)

    cdef void spend(self, double weight, double* sums) noexcept nogil:
        """Add the conditional probabilities of the model at temperature one, weighted by a time."""
        cdef int j
        if sums != NULL:
            for j in range(self.n_terms):
                sums[j] += weight * self.inclusion[j]
                sums[self.n_terms + j] += weight * self.exclusion[j]

    cdef void advance(self, int a, double time, bitgen_t* rng, double* sums) noexcept nogil:
        """Simulate replica a for a given time."""
        cdef replica_t* r = &self.replicas[a]
        cdef double events, wait, u
        while True:
            events = r.total + self.slots + self.families + self.trades
            wait = random_standard_exponential(rng) / events if events > 0.0 else INFINITY
            if wait >= time:
                self.spend(time, sums)
                return
            self.spend(wait, sums)
            time -= wait
            u = random_standard_uniform(rng) * events
            if u < self.slots:
                self.slot(a, rng)
            elif u < self.slots + self.families:
                self.family(a, rng)
            elif u < self.slots + self.families + self.trades:
                self.trade(a, rng)
            else:
                self.flip(a, u - self.slots - self.families - self.trades)

    # ------------------------------------------------------------------ all replicas together

    cdef void exchange(self, int k, bitgen_t* rng) noexcept nogil:
        """Propose that temperatures k and k + 1 exchange their models."""
        # mathematics: walks-exchange
        cdef int a = self.place[k], b = self.place[k + 1]
        cdef replica_t* cold = &self.replicas[a]
        cdef replica_t* hot = &self.replicas[b]
        cdef double difference = (cold.power - hot.power) * (hot.log_mass - cold.log_mass)
        self.exchanged[0, k] += 1
        if log(random_standard_uniform(rng)) < difference:
            self.exchanged[1, k] += 1
            self.place[k], self.place[k + 1] = b, a
            cold.power, hot.power = hot.power, cold.power
            self.weigh(a)
            self.weigh(b)

    cdef void period(self, double time, bitgen_t* rng, double* sums) noexcept nogil:
        """Simulate all replicas for a given time."""
        cdef double rate = self.exchanges * (self.n_replicas - 1)
        cdef double wait
        cdef int k
        while True:
            wait = random_standard_exponential(rng) / rate if rate > 0.0 else INFINITY
            if wait >= time:
                wait = time
            for k in range(self.n_replicas):
                self.advance(self.place[k], wait, rng, sums if k == 0 else NULL)
            time -= wait
            if time <= 0.0:
                return
            self.exchange(<int> (random_standard_uniform(rng) * (self.n_replicas - 1)), rng)

    cdef void record(self, uint64_t* words, Py_ssize_t n_words) noexcept nogil:
        cdef int j
        cdef const unsigned char* gamma = self.replicas[self.place[0]].m.gamma
        memset(words, 0, n_words * sizeof(uint64_t))
        for j in range(self.n_terms):
            if gamma[j]:
                words[j // 64] |= (<uint64_t> 1) << (j % 64)

    def run(self, rng, Py_ssize_t n, double time, *, Py_ssize_t done=0, Py_ssize_t thin=1,
            uint64_t[:, ::1] words=None, double[::1] log_mass=None, double[:, ::1] sums=None):
        """Simulate `n` iterations of fixed time, recording the state after every `thin`-th.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int
        time : float
            Time per iteration, in proposals of each free term.
        done : int
            Iterations since recording began, before this call.
        thin : int
        words : uint64 array (kept, words), optional
            Packed models at temperature one; None records nothing.
        log_mass : float64 array (kept,)
            Log evidence plus log prior of these models.
        sums : float64 array (2, J), optional
            Incremented by conditional probabilities of inclusion and of exclusion, integrated over time.

        Returns
        -------
        int
            Number of recorded states.
        """
        cdef bitgen_t* bits = bitgen_of(rng)
        cdef Py_ssize_t i, kept = 0
        cdef double* into = NULL
        if not 0.0 < time < INFINITY:
            raise ValueError("time must be positive and finite")
        if sums is not None and (sums.shape[0] != 2 or sums.shape[1] != self.n_terms):
            raise ValueError("sums must have two rows and one entry a term")
        if sums is not None and self.n_terms:
            into = &sums[0, 0]
        with rng.bit_generator.lock, nogil:
            for i in range(n):
                self.period(time, bits, into)
                if words is None or (done + i + 1) % thin:
                    continue
                self.record(&words[kept, 0], words.shape[1])
                log_mass[kept] = self.replicas[self.place[0]].log_mass
                kept += 1
        self.check_memory()
        return kept

    def check_memory(self):
        """Raise MemoryError if an evidence ran out of memory."""
        for evidence in self.evidences:
            evidence.check_memory()

    # ------------------------------------------------------------------ state

    def set_state(self, gamma, powers=None):
        """Set the state to the models gamma (K, J), in the order of the temperatures.

        Chains set to the same models have the same further draws, bit for bit.
        """
        cdef int failed
        cdef const unsigned char[:, ::1] given = np.array(gamma, dtype=np.uint8, order="C")
        cdef const double[::1] t = self.powers() if powers is None else np.array(powers, dtype=np.float64)
        if given.shape[0] != self.n_replicas or given.shape[1] != self.n_terms:
            raise ValueError("gamma must have a row for each replica and an entry for each term")
        if t.shape[0] != self.n_replicas or t[0] != 1.0 or not np.all(np.asarray(t) > 0.0):
            raise ValueError("powers must be positive, one per replica, the first of them 1")
        with nogil:
            failed = self.put(&given[0, 0] if self.n_terms else NULL, &t[0])
        self.check_memory()
        if failed:
            raise SingularModelError("a model of the chain has no coefficient prior")

    cdef int put(self, const unsigned char* gamma, const double* powers) noexcept nogil:
        """Set the state to models (K, J) and inverse temperatures; non-zero if a model does not exist."""
        cdef int k
        for k in range(self.n_replicas):
            self.place[k] = k
            self.replicas[k].power = powers[k]
            memcpy(self.replicas[k].m.gamma, gamma + <Py_ssize_t> k * self.n_terms, self.n_terms)
        for k in range(self.n_replicas):
            if self.load(k) != 0:
                return 1
        return 0

    def set_family_rate(self, double rate):
        """Set the number of block updates per unit of time; 0 if there are no blocks."""
        if not 0.0 <= rate < INFINITY:
            raise ValueError("rates must not be negative")
        self.families = rate if self.n_families else 0.0

    def reload(self):
        """Recompute everything from the present models, without past rounding: `gamma` is the state."""
        self.set_state(self.gamma())

    def gamma(self):
        """Return the models (K, J) in the order of the temperatures."""
        return self.arrays[4][self.arrays[2], : self.n_terms].copy()

    def powers(self):
        """Return the inverse temperatures (K,)."""
        return np.array([self.replicas[self.place[k]].power for k in range(self.n_replicas)])

    def log_mass(self):
        """Return log evidence plus log prior of the models (K,)."""
        return np.array([self.replicas[self.place[k]].log_mass for k in range(self.n_replicas)])

    def log_evidence(self):
        """Return the log evidences of the models (K,)."""
        return np.array([(<Evidence> self.evidence[self.place[k]]).value for k in range(self.n_replicas)])

    def rates(self, int k=0):
        """Return the rates of the flips (J,) at temperature k."""
        cdef const double* rate = self.replicas[self.place[k]].rate
        return np.array([rate[j] for j in range(self.n_terms)])

    def conditionals(self):
        """Return the probabilities of inclusion and exclusion of each term given all others, (2, J)."""
        return self.arrays[3][:2, : self.n_terms].copy()

    def counts(self):
        """Return counts by move (2, 4) and of exchanges by pair (2, K - 1).

        For flips only accepted ones are counted; for swaps, block updates and trades the first row has
        proposals, and the second those that changed the model.
        """
        return np.array(self.moves), np.array(self.exchanged)[:, : self.n_replicas - 1]

    def set_counts(self, moves, exchanged):
        """Set the counts, as `counts` returned them."""
        np.asarray(self.moves)[:] = moves
        np.asarray(self.exchanged)[:, : self.n_replicas - 1] = exchanged
