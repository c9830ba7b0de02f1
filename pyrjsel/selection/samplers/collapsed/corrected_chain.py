"""The chains of `collapsed` for generalised linear models, on a surrogate with a correction of each draw.

Each iteration runs a chain on the surrogate pi~ for a fixed time and accepts its final state with probability

    min{1, [pi(gamma') pi~(gamma)] / [pi(gamma) pi~(gamma')]},

with pi from integrated marginal likelihoods, which depend only on the seed of the fit and on the model. The
chain on the surrogate is reversible with respect to pi~, so pi is invariant for any pi~. With replicas at
several temperatures it is reversible with respect to the product of pi~ and its powers, and the ratio is the
same: on rejection all replicas return. pi~ is adapted during burn-in and then fixed.

In burn-in pi is that of Laplace's approximation, which takes a hundredth of the time of an integral and
hardly differs from it as a function of the model. Unless its length is given, burn-in goes on until pi~ is
accepted. Where no quadratic surrogate is, as for models that separate the classes, Laplace's approximation
becomes pi~: it takes a mode for every neighbour of a visited model, but fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pyrjsel._core import special
from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space import pack
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence._laplace_evidence import LaplaceEvidence
from pyrjsel.selection.evidence.importance import SharedIntegrals
from pyrjsel.selection.evidence.importance_quality import MATTERS
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.evidence.surrogate import Surrogate, learn_masses
from pyrjsel.selection.samplers._walk import SingularModelError
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed._corrected import CorrectedWalk
from pyrjsel.selection.samplers.collapsed.chain import EVERY, CollapsedChain, CollapsedMoves
from pyrjsel.selection.samplers.collapsed.integrals import Integrals, marginal_of
from pyrjsel.selection.samplers.options import FEW_TERMS
from pyrjsel.selection.samplers.recording.rao_blackwell import CORRECTED_ROWS
from pyrjsel.selection.samplers.recording.recorder import Block, ChainDraws
from pyrjsel.storage import Content

# Proportions of burn-in without correction, and with updates of the expansion.
LEAD, EXPAND, LEARN = 0.25, 0.5, 0.75
# Iterations beyond burn-in after which a surrogate is judged by the proportion accepted since the last time,
# and the proportion with which burn-in ends: good surrogates have 0.9, and one that is accepted half as often
# takes more than twice as many draws. After the last it ends in any case.
JUDGED: tuple[tuple[int, float], ...] = ((50, 0.9), (100, 0.85), (200, 0.75), (450, 0.6), (800, 0.5))
# A surrogate that is accepted less often after AT of them gives way to Laplace's approximation until TAUGHT,
# with which iterations are SHORTER times shorter, as moves take modes. One that is learnt from the models
# visited meanwhile is tried, and if it does not fit either, Laplace's approximation stays. Of more than
# FEW_TERMS a move takes so many modes that a worse surrogate is better, and of VERY_FEW so little that only a
# good one is; of more than MOST_MODES there is no such change.
AT, TAUGHT, POOR, VERY_POOR, SHORTER = 200, 350, 0.7, 0.3, 5.0
VERY_FEW, MOST_MODES = 16, 64
# Seconds of an importance draw for each row, and of a unit of time on a surrogate for each term and each
# pair of terms, about. Where an integral takes more than RELATIVE times as long as the moves between two,
# there are up to STRETCH times as many moves, unless their number is given.
A_ROW, A_TERM, A_PAIR, RELATIVE, STRETCH = 3e-9, 1e-6, 2e-8, 3.0, 8.0
# Steps of the search for the first expansion, from the smallest model, and their length.
SEARCH_STEPS, SEARCH_TIME = 8, 2.0
# Proportion of its visits by one chain that a model may have more of by all of them.
OFTENER = 1.25
# Other terms that may be in the place of one which no visited model lacked.
REPLACEMENTS = 2
# Limit of rows times squared columns of models that are evaluated beyond those visited: some tenths of a
# second.
PROBED = 1e8
# Largest number of terms, of those that all visited models had or none, for which that is done.
MOST_FLIPPED = 64
# Terms that fewer of the visited models had or lacked are looked at beside so many of them, with at most
# PROBES models in all, and no more than were visited: from two models without a term its correction was wrong
# by four.
FEW_SIDES, PROBES = 20, 400
# Largest number of the last models of burn-in from which a surrogate learns: some hundredths of a second.
LESSONS = 2**10
# Log masses of all models are rounded to a multiple of this: chains with the same share their integrals.
ROUNDED = 1.0
# Number of the last models of burn-in used for learning.
LEARNT = 2**12


@dataclass(frozen=True)
class CorrectedMoves(CollapsedMoves):
    """The moves of chains on a surrogate, and settings of the integration of marginal likelihoods.

    Attributes
    ----------
    entropy : bytes
        Seed of the random streams of single models.
    pairs : int
        Pairs of importance draws per model.
    exact : bool
        Whether Laplace values are corrected by importance sampling.
    prolonged : bool
        Whether burn-in goes on until the surrogate is accepted.
    stretched : bool
        Whether there may be more moves between draws where integrals take long.
    modes : bool
        Whether Laplace's approximation is the surrogate from the start.
    refused : float
        Acceptance rate of a chain after a round below which the run is given up.
    shared : SharedIntegrals
        Those of all chains of the run in a process.
    """

    entropy: bytes = field(default=bytes(16), kw_only=True)
    pairs: int = field(kw_only=True)
    exact: bool = field(kw_only=True)
    prolonged: bool = field(default=False, kw_only=True)
    stretched: bool = field(default=False, kw_only=True)
    modes: bool = field(default=False, kw_only=True)
    refused: float = field(default=0.0, kw_only=True)
    shared: SharedIntegrals = field(default_factory=SharedIntegrals, kw_only=True, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the proposed moves; the last is the whole step on the surrogate."""
        return (*super().names, "surrogate")


def first_lessons(job: Job, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the initial surrogate of a chain, expanded around models found with preliminary surrogates."""
    marginal, gamma = marginal_of(job), job.space.empty_model()
    at = marginal.expansion(gamma)
    marginal.check_mode()
    # Nuisance parameters are those of the best model: surrogates with those of models that fit too closely
    # would choose such models again.
    modes, best = [at], marginal.finder.log_marginal + float(job.space.log_prior(gamma))
    width = job.regression.n_columns
    nuisance = at[width:]
    for _ in range(SEARCH_STEPS):
        surrogate = Surrogate(at, np.zeros(job.space.n_terms))
        evidences = surrogate.evidences(job.regression, 1)
        walk = job.setup.walk(evidences, surrogate.space(job.space), gamma[None], np.ones(1), job.burn_in > 0)
        walk.run(rng, 1, SEARCH_TIME)
        mode = marginal.expansion(walk.gamma()[0])
        if marginal.finder.status == 1:  # the rank rules differ by rounding
            continue
        marginal.check_mode()
        gamma = walk.gamma()[0]
        modes.append(mode)
        mass = marginal.finder.log_marginal + float(job.space.log_prior(gamma))
        if mass > best:
            best, nuisance = mass, mode[width:]
        # The second half: the first models come from bad surrogates.
        at = np.append(np.mean(modes[len(modes) // 2 :], axis=0)[:width], nuisance)
    return {
        "at": at,
        "correction": np.zeros(job.space.n_terms),
        "of_size": np.zeros(job.space.log_size.size),
        "pairs": np.zeros((0, 0)),
        "reference": np.array(np.nan),
        "sum": np.zeros(at.size),
        "count": np.array(0.0),
        "gamma": np.zeros((0, job.space.n_terms), dtype=np.uint8),
        "log_mass": np.zeros(0),
        "whole": np.array(np.nan),
        "modes": np.array(int(job.setup.modes)),
        "taught": np.array(0),
        "settled": np.array(int(job.burn_in == 0 and not job.setup.prolonged)),
        "extra": np.array(0),
        "judged": np.zeros(2, dtype=np.int64),
        "stretch": np.array(1.0 / SHORTER if job.setup.modes else 1.0),
    }


class CorrectedChain(CollapsedChain):
    """One chain on a surrogate."""

    rows = CORRECTED_ROWS
    n_sums = 4
    of_models = ("relative_variance", "effective")

    @classmethod
    def single(cls, job: Job) -> MarginalLikelihood:
        """Return an integrator of single models; each chain needs its own."""
        return marginal_of(job)

    @classmethod
    def first(cls, job: Job, chain: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return the values of a first state, with an initial surrogate."""
        values = super().first(job, chain, rng)
        return {**values, "learnt": first_lessons(job, rng)}

    @classmethod
    def read_learnt(cls, job: Job, learnt: Content) -> dict[str, np.ndarray]:
        """Return the surrogate adapted during burn-in, and the data for its adaptation."""
        n_terms, width = job.space.n_terms, job.regression.n_columns + len(job.regression.family.expanded)
        pairs = learnt.array("pairs", float, (None, None), finite=True)
        if pairs.size and pairs.shape != (n_terms, n_terms):
            raise learnt.wrong("pairs", "a number for each pair of terms")
        gamma, sizes = learnt.array("gamma", np.uint8, (None, n_terms)), job.space.log_size.size
        return {
            "at": learnt.array("at", float, (width,), finite=True),
            "correction": learnt.array("correction", float, (n_terms,), finite=True),
            "of_size": learnt.array("of_size", float, (sizes,), finite=True),
            "pairs": pairs,
            "reference": learnt.array("reference", float, ()),
            "sum": learnt.array("sum", float, (width,)),
            "count": learnt.array("count", float, ()),
            "gamma": gamma,
            "log_mass": learnt.array("log_mass", float, (len(gamma),)),
            "whole": learnt.array("whole", float, ()),
            "modes": learnt.array("modes", np.int64, ()),
            "taught": learnt.array("taught", np.int64, ()),
            "settled": learnt.array("settled", np.int64, ()),
            "extra": learnt.array("extra", np.int64, ()),
            "judged": learnt.array("judged", np.int64, (2,)),
            "stretch": learnt.array("stretch", float, ()),
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Create the loop at the last adaptation, and run it from there."""
        self.extra = int(values["learnt"]["extra"])
        super().restore(values)

    def catch_up(self, since: int) -> None:
        """Run the iterations since the last adaptation again."""
        if self.settled or self.done < self.job.burn_in:
            super().catch_up(since)
        else:
            self.run(since)
            self.extra += since

    def restore_mark(self, values: dict[str, Any]) -> None:
        """Create the loop at the values of a refactorised state, with its surrogate."""
        self.marginal = marginal_of(self.job)
        learnt = values["learnt"]
        self.modes, self.taught = bool(learnt["modes"]), bool(learnt["taught"])
        self.settled, self.whole = bool(learnt["settled"]), learnt["whole"]
        self.integrals = self.new_integrals()
        pairs = learnt["pairs"] if learnt["pairs"].size else None
        self.surrogate = Surrogate(learnt["at"], learnt["correction"], learnt["of_size"], pairs)
        self.reference = np.array([float(learnt["reference"])])
        self.sum, self.count = learnt["sum"].copy(), float(learnt["count"])
        self.gammas, self.log_masses = list(learnt["gamma"]), list(learnt["log_mass"])
        self.judged, self.stretch = learnt["judged"].copy(), float(learnt["stretch"])
        self.corrections = values["moves"][:, -1].copy()
        self.use(self.surrogate, values["gamma"], values["powers"])
        self.set_counts(values["moves"], values["exchanged"])

    def learnt(self) -> dict[str, np.ndarray]:
        """Return the arrays of a state besides models, temperatures and counts."""
        n_terms, of_size, pairs = self.job.space.n_terms, self.surrogate.of_size, self.surrogate.pairs
        return {
            "at": self.surrogate.at,
            "correction": self.surrogate.correction,
            "of_size": np.zeros(self.job.space.log_size.size) if of_size is None else of_size,
            "pairs": np.zeros((0, 0)) if pairs is None else pairs,
            "reference": np.array(self.reference[0]),
            "sum": self.sum.copy(),
            "count": np.array(self.count),
            "gamma": np.array(self.gammas, dtype=np.uint8).reshape(len(self.gammas), n_terms),
            "log_mass": np.array(self.log_masses, dtype=float),
            "whole": np.array(self.whole),
            "modes": np.array(int(self.modes)),
            "taught": np.array(int(self.taught)),
            "settled": np.array(int(self.settled)),
            "extra": np.array(self.extra),
            "judged": self.judged.copy(),
            "stretch": np.array(self.stretch),
        }

    @property
    def since(self) -> int:
        """Iterations since the last adaptation."""
        return super().since + self.extra - int(self.at.values["learnt"]["extra"])

    def new_integrals(self) -> Integrals:
        """Return no integrals: by Laplace's approximation in burn-in, and more precise ones after it."""
        whole = None if np.isnan(self.whole) else float(self.whole)
        return Integrals(self.marginal, self.job.space, self.job.setup.exact and self.settled, whole)

    def use(self, surrogate: Surrogate, gamma: ByteArray, powers: FloatArray) -> None:
        """Continue with another surrogate."""
        self.surrogate, job = surrogate, self.job
        if self.modes:
            known = job.setup.shared.modes
            evidences: Sequence[Evidence] = [
                LaplaceEvidence(job.space.n_terms, self.laplace_value, known) for _ in powers
            ]
        else:
            evidences = surrogate.evidences(job.regression, powers.size)
        self.make_walk(evidences, surrogate.space(job.space), gamma, powers)
        self.loop = CorrectedWalk(self.walk, self.integrals.models)

    def laplace_value(self, packed: bytes) -> float:
        """Return Laplace's approximation for a packed model; -inf if it has no coefficient prior."""
        bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little")
        try:
            self.marginal.mode(bits[: self.job.space.n_terms])
        except DataError:  # of a perfect fit
            return -np.inf
        return self.marginal.finder.log_marginal if self.marginal.finder.status == 0 else -np.inf

    # ------------------------------------------------------------------ one iteration

    @property
    def unit(self) -> float:
        """Weight of one iteration in the averages, its length."""
        return 1.0

    def run(self, n: int, block: Block | None = None) -> tuple[int, int]:
        """Run `n` iterations, each corrected; return the numbers of draws and of coefficient vectors."""
        self.integrals.make_room()
        self.job.setup.shared.make_room()
        self.drawn, kept, done = np.empty(0 if block is None else len(block.words), dtype=np.int64), 0, 0
        while done < n:
            if self.done + done < LEAD * self.job.burn_in:
                self.lead()
                done += 1
                continue
            burning = not self.settled
            more = {} if burning else {"counts": self.corrections, "reference": self.reference}
            if block is not None:
                more |= self.room(block, done, kept)
            ran, drawn = self.loop.run(self.rng, 1 if burning else n - done, self.time, **more)
            done, kept = done + ran, kept + drawn
            if burning and ran:
                self.study()
            elif done < n:
                self.integrals.of(self.walk.gamma()[0])
        return kept, 0

    @property
    def time(self) -> float:
        """Time of an iteration."""
        return float(self.job.setup.time) * self.stretch

    def advance(self, n: int) -> int:
        """Run at most `n` iterations and return how many count: not those that burn-in is prolonged by."""
        made, job = 0, self.job
        while n > 0:
            left = job.burn_in - self.done
            if left > 0 or self.settled:
                step = min(n, left) if left > 0 else n
                super().advance(step)
                made += step
            else:
                step = min(n, EVERY - self.extra % EVERY)
                self.run(step)
                self.extra += step
                if self.extra % EVERY == 0:
                    self.judge()
                    self.walk.reload()
                    self.at = self.state_here()
            n -= step
        return made

    def room(self, block: Block, done: int, kept: int) -> dict[str, Any]:
        """Return the arguments of the loop for what it records after `done` iterations and `kept` draws."""
        recorded, averages = self.done - self.job.burn_in + done, self.collector.averages
        assert averages is not None
        return {
            "done": recorded,
            "thin": self.job.thin,
            "sums": averages.at(recorded // self.job.thin)[0],
            "moments": self.collector.sums,
            "words": block.words[kept:],
            "log_mass": block.log_posterior[kept:],
            "rows": self.drawn[kept:],
        }

    def record(self, n: int) -> None:
        """Run and record `n` iterations after burn-in, and errors of the integrals of new models."""
        before = len(self.collector.series["index"])
        super().record(n)
        index = self.collector.series["index"].rows[before:]
        new = np.flatnonzero(index >= self.collector.described)
        _, first = np.unique(index[new], return_index=True)
        for row in self.drawn[new[first]]:
            integral = self.integrals.known[row].integral
            self.collector.describe(integral.variance, integral.effective)

    def lead(self) -> None:
        """Run one uncorrected iteration at the beginning of burn-in, and learn from the modes."""
        before = self.walk.gamma()
        self.walk.run(self.rng, 1, self.time)
        mode = self.marginal.expansion(self.walk.gamma()[0])
        if self.marginal.finder.status == 1:  # the rank rules differ by rounding
            self.walk.set_state(before)
            return
        self.marginal.check_mode()
        self.sum += mode
        self.count += 1.0

    def single_models(self) -> Integrals:
        """Return the integrals, whose draws give coefficients."""
        return self.integrals

    def finish(self, completed: bool) -> ChainDraws:
        """Return the recorded values; frequently visited models get enough draws for coefficients."""
        found = super().finish(completed)
        if not self.job.setup.exact:
            return found
        gamma, visits = self.collector.table.models, np.bincount(found.index)
        share = visits / max(1, found.index.size)
        effective, sums = found.described["effective"].copy(), found.sums.copy()
        for row in np.flatnonzero(share >= MATTERS):
            known = self.integrals.of(gamma[row]).integral
            better = self.marginal.with_enough(gamma[row], known, OFTENER * share[row])
            sums[:3, known.columns] += visits[row] * (better.moments - known.moments)
            effective[row] = better.effective
        return replace(found, sums=sums, effective=effective)

    # ------------------------------------------------------------------ adaptation

    def learn(self, gamma: ByteArray, log_mass: float) -> None:
        """Remember a model of burn-in, to learn the error of surrogates there.

        Rejected models are included: otherwise a chain that stays where the surrogate has too little mass
        would never learn that it has too much elsewhere.
        """
        if np.isfinite(log_mass):
            self.gammas.append(gamma)
            self.log_masses.append(log_mass)
        if len(self.gammas) > LEARNT:
            del self.gammas[: LEARNT // 2], self.log_masses[: LEARNT // 2]

    def lessons(self) -> tuple[ByteArray, FloatArray, FloatArray, FloatArray]:
        """Return distinct models (m, J) of burn-in, log masses, log ratios to the surrogate, and visits."""
        before, (models, masses) = self.walk.gamma(), self.probes()
        gamma = np.array([*self.gammas[-LESSONS:], *models])
        mass = np.array([*self.log_masses[-LESSONS:], *masses])
        _, first, count = np.unique(np.packbits(gamma, axis=1), axis=0, return_index=True, return_counts=True)
        gamma, mass = gamma[first], mass[first]
        ratio = mass - [self.surrogate_mass(np.vstack([model, before[1:]])) for model in gamma]
        self.walk.set_state(before)
        known = np.isfinite(ratio)
        return gamma[known], mass[known], ratio[known], count[known]

    def surrogate_mass(self, gamma: ByteArray) -> float:
        """Return the log mass of a model by the surrogate, first of `gamma` (K, J); infinite without one."""
        try:
            self.walk.set_state(gamma)
        except SingularModelError:  # where the rank rules differ by rounding
            return np.inf
        return float(self.walk.log_mass()[0])

    def learned(self) -> Surrogate:
        """Return a surrogate around the mean of the last coefficients, corrected by what has been learnt."""
        at = self.sum / self.count if self.count else self.surrogate.at
        job = self.job
        if not self.replace_surrogate(Surrogate(at, np.zeros(job.space.n_terms))):
            return self.surrogate
        typical = float(np.median(self.log_masses[-LESSONS:]))
        learnt = learn_masses(self.surrogate.at, *self.lessons(), typical, job.regression, job.space)
        return self.reaching(self.flipped(learnt))

    def probes(self) -> tuple[list[ByteArray], list[float]]:
        """Return models beside visited ones with terms flipped that few had or lacked, and log masses."""
        space, gammas = self.job.space, np.array(self.gammas)
        count = gammas.sum(axis=0, dtype=np.int64)
        side = np.minimum(count, len(gammas) - count)
        rare = np.flatnonzero((side < FEW_SIDES) & space.free.astype(bool))
        models: list[ByteArray] = []
        most = min(PROBES, len(gammas))
        for j in self.rng.permutation(rare)[:most]:
            for i in self.rng.integers(len(gammas), size=max(1, min(FEW_SIDES, most // rare.size))):
                model = gammas[i].copy()
                model[j] ^= 1
                if space.feasible(model):
                    models.append(model)
        return models, [self.laplace_mass(model) for model in models]

    def laplace_mass(self, gamma: ByteArray) -> float:
        """Return the log mass of a model (J,) by Laplace's approximation; -inf if it has no prior."""
        known, key = self.job.setup.shared.modes, pack(gamma)[0].tobytes()
        value = known.get(key)
        if value is None:
            value = known[key] = self.laplace_value(key)
        return value + float(self.job.space.log_prior(gamma))

    def flipped(self, learnt: Surrogate) -> Surrogate:
        """Return a surrogate with enough mass beyond terms that all visited models had, or none.

        As much, relative to the present model, as that with the term flipped and those with another one in
        its place have together: with less it would hide such models from chains, and more does no harm.
        """
        space, before = self.job.space, self.walk.gamma()
        correction, (mass, error) = learnt.correction.copy(), self.error(before)
        start = mass - error + learnt.corrected(before[0], space)
        often = np.array(self.gammas).mean(axis=0)
        asked = np.flatnonzero(((often == 0.0) | (often == 1.0)) & space.free.astype(bool))
        if asked.size > MOST_FLIPPED:
            asked = np.sort(self.rng.choice(asked, MOST_FLIPPED, replace=False))
        for j in asked:
            found = []
            for model in self.instead(before[0], int(j)):
                right, error = self.error(np.vstack([model, before[1:]]))
                if np.isfinite(error):
                    found.append((right - mass, right - error + learnt.corrected(model, space) - start))
            if found:
                right, wrong = special.logsumexp(found, axis=0)
                sign = -1.0 if often[j] else 1.0
                correction[j] += sign * max(right - wrong, 0.0)
        self.walk.set_state(before)
        return replace(learnt, correction=correction)

    def instead(self, gamma: ByteArray, j: int) -> ByteArray:
        """Return models (m, J): `gamma` (J,) with term `j` flipped, or others in its place."""
        regression, space, start = self.job.regression, self.job.space, self.job.regression.term_start
        products = np.abs(regression.columns @ regression.columns[start[j] : start[j + 1]].T).max(axis=1)
        near = np.where(gamma == 0, np.maximum.reduceat(products, start[:-1]) * space.free, 0.0) * gamma[j]
        models = np.tile(gamma, (1 + min(REPLACEMENTS, int(np.count_nonzero(near))), 1))
        models[:, j] ^= 1
        others = np.argsort(-near, kind="stable")[: len(models) - 1]
        models[np.arange(others.size) + 1, others] = 1
        return models[space.feasible(models)]

    def reaching(self, learnt: Surrogate) -> Surrogate:
        """Return a surrogate with corrections for larger models than were visited, under mixtures of g.

        They come from models that hold the present one and more and more terms at random. Large models can be
        probable with a small g, which the surrogate with one for all hides from chains.
        """
        space, before = self.job.space, self.walk.gamma()
        if learnt.of_size is None:
            return learnt
        widest, model, nested = int(np.sqrt(PROBED / self.job.regression.y.size)), before[0].copy(), {}
        left = self.rng.permutation(np.flatnonzero(space.free > model))
        for j in left[np.argsort(space.rank[left], kind="stable")]:  # parents first
            model[j] = 1
            if not space.feasible(model):
                model[j] = 0
            elif model.sum() <= widest:
                nested[int(model @ space.free)] = model.copy()
        here = self.error(before)[1] - learnt.corrected(before[0], space)
        visited = int(np.max(np.array(self.gammas) @ space.free))
        sizes, values, step = [visited], [float(learnt.of_size[visited])], 1
        for size, larger in nested.items():
            if size >= sizes[-1] + step or size == max(nested) > visited:
                there = self.error(np.vstack([larger, before[1:]]))[1]
                value = there - here - float(larger @ learnt.correction)
                if np.isfinite(value):
                    sizes, values, step = [*sizes, size], [*values, value], 2 * step
        self.walk.set_state(before)
        beyond = np.arange(visited, learnt.of_size.size)
        of_size = np.append(learnt.of_size[:visited], np.interp(beyond, sizes, values))
        return replace(learnt, of_size=of_size)

    def error(self, gamma: ByteArray) -> tuple[float, float]:
        """Return log pi of a model (J,), first of `gamma` (K, J), and log pi / pi~ without what is learnt.

        By Laplace's approximation; -inf without a mode.
        """
        try:
            self.marginal.mode(gamma[0])
            if self.marginal.finder.status != 0:
                return -np.inf, -np.inf
            self.walk.set_state(gamma)
        except (
            DataError,
            SingularModelError,
        ):  # of a perfect fit, and where the rank rules differ by rounding
            return -np.inf, -np.inf
        mass = self.marginal.finder.log_marginal + float(self.job.space.log_prior(gamma[0]))
        error = mass - float(self.walk.log_mass()[0]) + self.surrogate.corrected(gamma[0], self.job.space)
        return mass, error

    def study(self) -> None:
        """Learn from an iteration of burn-in: errors of the surrogate, and mean coefficients."""
        loop = self.loop
        self.judged += [1, int(loop.accepted)]
        for gamma, row in zip(loop.models(), (loop.before, loop.found), strict=True):
            self.learn(gamma, self.integrals.known[row].log_mass)
        known = self.integrals.known[loop.found if loop.accepted else loop.before]
        regression, centre = self.job.regression, np.zeros(self.job.regression.n_columns)
        centre[known.integral.columns] = known.integral.moments[0]
        centre[: regression.leading] += centre @ regression.shifts(np.arange(centre.size))
        assert known.integral.nuisance is not None
        self.sum += np.append(centre, known.integral.nuisance)
        self.count += 1.0

    def adapt(self) -> None:
        """Adapt the temperatures and the surrogate once."""
        super().adapt()
        burn_in, number = self.job.burn_in, self.done // EVERY
        # Expansions at the first, second, fourth, eighth ... adaptation, each around the models since the
        # last.
        early = self.done <= EXPAND * burn_in and number & (number - 1) == 0
        only = self.done == burn_in and not self.gammas
        if self.count and (early or only):
            self.replace_surrogate(Surrogate(self.sum / self.count, np.zeros(self.job.space.n_terms)))
            self.forget()
        elif self.gammas and (self.done == burn_in or self.learning_is_due()):
            self.replace_surrogate(self.learned())

    def forget(self) -> None:
        """Forget what was learnt with the last surrogate."""
        self.sum[:], self.count = 0.0, 0.0
        self.judged[:] = 0

    def judge(self) -> None:
        """End a prolonged burn-in if the surrogate is accepted or has had its time, or learn more."""
        least, terms = dict(JUDGED).get(self.extra), self.job.space.n_terms
        share = self.judged[1] / max(1, self.judged[0])
        poor = POOR if terms <= FEW_TERMS else VERY_POOR
        if least is not None and self.taught and terms <= VERY_FEW:
            least = JUDGED[0][1]
        if self.modes:
            if self.job.setup.modes:
                self.settle()
            elif self.extra == TAUGHT:
                self.switch(False)
                self.replace_surrogate(self.learned())
                self.forget()
        elif least is None:
            return
        elif terms <= MOST_MODES and self.extra == AT and share < poor:
            self.switch(True)
            self.taught = True
        elif share >= least or self.extra == JUDGED[-1][0]:
            self.settle()
        elif self.taught:
            self.switch(True)
            self.settle()
        elif self.gammas:
            self.replace_surrogate(self.learned())
            self.forget()
        if self.settled:
            super().clear()
            self.corrections[:] = 0

    def switch(self, modes: bool) -> None:
        """Take Laplace's approximation as the surrogate, or a quadratic one again."""
        before = self.modes, self.stretch
        self.modes, self.stretch = modes, 1.0 / SHORTER if modes else 1.0
        if not self.replace_surrogate(Surrogate(self.surrogate.at, np.zeros(self.job.space.n_terms))):
            self.modes, self.stretch = before
        self.forget()

    def settle(self) -> None:
        """End burn-in: from now on pi has integrals, and the surrogate stays."""
        if self.log_masses:
            _, first = np.unique(np.packbits(np.array(self.gammas), axis=1), axis=0, return_index=True)
            whole = special.logsumexp(np.array(self.log_masses)[first])
            self.whole = np.array(ROUNDED * np.round(whole / ROUNDED))
        self.settled = True
        self.gammas.clear()
        self.log_masses.clear()
        self.integrals = self.new_integrals()
        self.loop = CorrectedWalk(self.walk, self.integrals.models)
        if self.job.setup.stretched and not self.modes:
            terms, rows = self.job.space.n_terms, self.job.regression.y.size
            integral = A_ROW * rows * self.integrals.of(self.walk.gamma()[0]).integral.draws
            moves = self.job.setup.time * (A_TERM + terms * (A_TERM + terms * A_PAIR))
            self.stretch = float(np.clip(integral / (RELATIVE * moves), 1.0, STRETCH))

    def learning_is_due(self) -> bool:
        """Return whether this is the first adaptation after three quarters of burn-in."""
        return self.done - EVERY < LEARN * self.job.burn_in <= self.done

    def replace_surrogate(self, surrogate: Surrogate) -> bool:
        """Continue from the same models with another surrogate, keeping the counts; return whether it does.

        Not with one that is singular in these models: where coefficients are far too large, the likelihood
        has no curvature.
        """
        previous, (moves, exchanged) = self.surrogate, self.walk.counts()
        try:
            self.use(surrogate, self.walk.gamma(), self.walk.powers())
        except SingularModelError:
            self.surrogate = previous
            return False
        self.walk.set_counts(moves, exchanged)
        return True

    # ------------------------------------------------------------------ counts

    def tallies(self) -> tuple[IntArray, IntArray]:
        """Return counts by move (2, moves) and of exchanges (2, K - 1)."""
        moves, exchanged = super().tallies()
        return np.column_stack([moves, self.corrections]), exchanged

    def clear(self) -> None:
        """Reset the counts at the end of burn-in, unless it is prolonged."""
        self.forget()
        if not self.job.setup.prolonged:
            self.settle()
            super().clear()
            self.corrections[:] = 0
