"""The sampler `collapsed`: walks over models alone, coefficients integrated out. The loop is ``_walk.pyx``.

Averages of conditional probabilities have errors that batches of the chain tell: of modes that no chain has
visited they know nothing, as visits do not, but they look surer. Families without exact marginal likelihoods
have their chains in ``corrected.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pyrjsel._errors import StoreError
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace, Space
from pyrjsel.model_space.starts import dispersed_start
from pyrjsel.runtime.ladder import adapted
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence.conjugate import evidence_of, provider_of
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.protocols import SingleModel
from pyrjsel.selection.samplers._walk import MOVES, Walk
from pyrjsel.selection.samplers.moves import WIDEST_START, counted_moves
from pyrjsel.selection.samplers.rao_blackwell import WALK_ROWS, Averages, Segments
from pyrjsel.selection.samplers.recorder import (
    ChainDraws,
    Collector,
    Series,
    draw_afterwards,
    drawn_by,
    known_models,
    plain_state,
)
from pyrjsel.selection.samplers.search import new_start, next_stop, restart_is_due
from pyrjsel.storage import Content, Plain

# Periods between two marks, where rounding is cleared away and burn-in adapts; part of what a seed gives.
EVERY = 50


@dataclass
class WalkState:
    """Everything that a chain's next draws depend on, as plain data.

    It is that of the last mark, with the number of periods since: from there they are walked again.

    Attributes
    ----------
    gamma : uint8 array (K, J)
        Models by temperature.
    powers : float64 array (K,)
    bit_generator : mapping
        State of the chain's PCG64.
    done : int
        Periods until the mark, burn-in included.
    since : int
        Periods since.
    moves : int64 array (2, moves)
        Flips and slots (families, trades, walks on a surrogate), proposed and accepted.
    exchanged : int64 array (2, K - 1)
    learnt : dict of arrays
        What burn-in has adapted beside the powers, and what it does so from.
    """

    gamma: ByteArray
    powers: FloatArray
    bit_generator: Mapping[str, Any]
    done: int
    since: int
    moves: IntArray
    exchanged: IntArray
    learnt: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class WalkJob:
    """The job of one chain; picklable."""

    regression: Any
    space: ModelSpace
    draws: int
    burn_in: int
    thin: int
    time: float
    slots: float
    powers: FloatArray
    adaptive: bool
    starts: ByteArray | None
    coefficients_every: int
    families: Sequence[IntArray] = field(default=(), kw_only=True)
    family_rates: tuple[float, float] = field(default=(0.0, 0.0), kw_only=True)
    trades: float = field(default=0.0, kw_only=True)
    total: int = field(init=False)

    rows: ClassVar[int] = WALK_ROWS
    integrated: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.total = self.burn_in + self.draws * self.thin

    @property
    def walk_moves(self) -> tuple[str, ...]:
        """Names of the moves of the walk."""
        return tuple(MOVES[move] for move in self.counted)

    @property
    def counted(self) -> list[int]:
        """Numbers of the moves of the walk."""
        return counted_moves(self.family_rates[1], self.trades)

    @property
    def moves(self) -> tuple[str, ...]:
        """Names of all moves."""
        return self.walk_moves

    @property
    def unit(self) -> float:
        """Weight of one thinning interval in the averages."""
        return self.time

    def single(self) -> SingleModel:
        """Return what answers questions about single models; not to be shared by chains."""
        return SingleModels(self.regression)

    def walk(
        self, evidences: Sequence[Evidence], space: Space, gamma: ByteArray, powers: FloatArray, done: int
    ) -> Walk:
        """Return a walk at the given models, after so many periods."""
        return Walk(
            list(evidences),
            space,
            gamma,
            powers,
            slots=self.slots,
            families=self.families,
            family_rate=self.family_rates[done >= self.burn_in],
            trades=self.trades,
        )

    def first(self, rng: np.random.Generator, chain: int) -> ByteArray:
        """Return the model that a chain starts from."""
        if self.starts is not None:
            return self.starts[chain % len(self.starts)]
        if chain == 0:
            return self.space.empty_model()
        most = int(self.space.n_terms - self.space.free.sum()) + WIDEST_START
        return dispersed_start(self.space, self.single().exists, rng, most)

    def start(self, seed: np.random.SeedSequence, chain: int) -> "WalkRunner":
        """Return a chain at its first state."""
        rng = np.random.Generator(np.random.PCG64(seed))
        gamma = self.first(rng, chain)
        count = self.powers.size
        state = WalkState(
            np.repeat(gamma[None], count, axis=0),
            self.powers.copy(),
            rng.bit_generator.state,
            0,
            0,
            np.zeros((2, len(self.moves)), dtype=np.int64),
            np.zeros((2, count - 1), dtype=np.int64),
        )
        runner = self.runner(state)
        runner.chain = chain
        runner.begin_anew()
        return runner

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "WalkRunner":
        """Return the chain of a state and of what was recorded before it."""
        known, count = state.part("chain"), self.powers.size
        done = known.integer("done", high=self.total)
        powers = known.array("powers", float, (count,))
        if powers[0] != 1 or not (powers > 0).all():
            raise known.wrong("powers", "positive, the first of them 1")
        runner = self.runner(
            WalkState(
                known_models(known, (count, self.space.n_terms), self.space),
                powers,
                known.pcg64("bit_generator"),
                done,
                known.integer("since", high=min(EVERY, self.total - done)),
                known.array("moves", np.int64, (2, len(self.moves))),
                known.array("exchanged", np.int64, (2, count - 1)),
                self.known_lessons(known.part("learnt")),
            )
        )
        runner.chain = chain
        runner.collector.restore(state.part("totals"), recorded)
        return runner

    def recorded(self, result: "WalkDraws") -> dict[str, np.ndarray]:
        """Return what the chain of a result had recorded; coefficients are drawn again."""
        return {**drawn_by(result), **result.described}

    def known_lessons(self, learnt: Content) -> dict[str, np.ndarray]:
        """Return what burn-in has adapted beside the powers."""
        return {}

    def runner(self, state: WalkState) -> "WalkRunner":
        """Return a chain that goes on from a state."""
        return WalkRunner(self, state)


class WalkCollector(Collector):
    """Collects the draws of one walk, and its averages."""

    # What is recorded of a model when it is first visited.
    by_model: ClassVar[tuple[str, ...]] = ("relative_variance", "effective")
    series: ClassVar[tuple[str, ...]] = (*Collector.series, *by_model)

    def __init__(self, job: WalkJob) -> None:
        self.relative_variance = Series(np.empty(0))
        self.effective = Series(np.empty(0))
        super().__init__(job.space.n_terms, job.regression.n_columns, job.coefficients_every)
        self.averages = Averages(job.rows, job.space.n_terms)
        self.integrated, self.described = job.integrated, 0

    def totals(self) -> dict[str, np.ndarray]:
        """Return the arrays of sums over draws."""
        return {**super().totals(), **self.averages.totals()}

    def restore(self, totals: Content, recorded: Mapping[str, np.ndarray]) -> None:
        """Have sums, and what was recorded beside them, in a collector that has nothing yet."""
        super().restore(totals, recorded)
        self.averages.check()
        models = len(self.table) if self.integrated else 0
        if any(len(getattr(self, name)) != models for name in self.by_model):
            raise StoreError(f"what is known of {len(self.table)} models is not of them")
        self.described = models

    def describe(self, variance: float, effective: float) -> None:
        """Have what is known of the model of the last draw, unless it was visited before."""
        if len(self.table) > self.described:
            self.described += 1
            self.relative_variance.append(np.array([variance]))
            self.effective.append(np.array([effective]))


@dataclass
class WalkDraws(ChainDraws):
    """The draws of one walk.

    Attributes
    ----------
    averages : Segments
        Sums over draws; see ``averages.py``.
    described : dict of str to ndarray (models,)
        What was recorded of the visited models, where marginal likelihoods are integrals: the relative
        variance, and the effective number of the weighted draws behind moments of coefficients.
    effective : ndarray (models,) or None
        These numbers, with the draws that were added in the end.
    """

    averages: Segments = field(kw_only=True)
    described: dict[str, np.ndarray] = field(kw_only=True)
    effective: FloatArray | None = field(default=None, kw_only=True)


class WalkRunner:
    """One chain whose target is the posterior itself: the walk, its generator and what it has recorded."""

    def __init__(self, job: WalkJob, state: WalkState, collector: WalkCollector | None = None) -> None:
        self.job = job
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = dict(state.bit_generator)
        self.collector = collector or WalkCollector(job)
        self.done, self.chain = state.done, 0
        self.restore(state)
        self.mark_state = replace(state, since=0)
        if state.since:
            self.walk_on(state.since, None)
            self.done += state.since

    def restore(self, state: WalkState) -> None:
        """Make the walk of a state at a mark."""
        self.make_walk(self.evidences(state.powers.size), Space(self.job.space), state.gamma, state.powers)
        self.set_counts(state.moves, state.exchanged)

    def set_counts(self, moves: IntArray, exchanged: IntArray) -> None:
        """Have the walk go on counting."""
        counted = np.zeros((2, len(MOVES)), dtype=np.int64)
        counted[:, self.job.counted] = moves[:, : len(self.job.counted)]
        self.walk.set_counts(counted, exchanged)

    def evidences(self, count: int) -> Sequence[Evidence]:
        """Return evidences, each with a state of its own."""
        regression = self.job.regression
        provider = provider_of(regression)
        return [evidence_of(regression, provider) for _ in range(count)]

    def walk_on(self, n: int, collector: WalkCollector | None) -> None:
        """Walk for `n` periods, within one stretch between marks and within one segment of the averages."""
        job = self.job
        if collector is None:
            self.walk.run(self.rng, n, job.time)
            return
        recorded = self.done - job.burn_in
        block = collector.room(n // job.thin + 1)
        kept = self.walk.run(
            self.rng,
            n,
            job.time,
            done=recorded,
            thin=job.thin,
            words=block.words,
            log_mass=block.log_posterior,
            sums=collector.averages.at(recorded // job.thin)[0],
        )
        collector.add(block, kept, 0)

    def adapt(self) -> None:
        """Take one step of adaptation, at a mark of burn-in."""
        if self.job.adaptive:
            moves, exchanged = self.walk.counts()
            powers, exchanged = adapted(self.walk.powers(), exchanged, self.done // EVERY + 1)
            self.walk.set_state(self.walk.gamma(), powers)
            self.walk.set_counts(moves, exchanged)

    def learnt(self) -> dict[str, np.ndarray]:
        """Return what a state has beside models, powers and counts."""
        return {}

    def counts(self) -> tuple[IntArray, IntArray]:
        """Return counts by move (2, moves) and of exchanges (2, K - 1)."""
        moves, exchanged = self.walk.counts()
        moves = moves[:, self.job.counted]
        # A flip is proposed to each free term once in a unit of time on average.
        periods = max(0, self.done - self.job.burn_in)
        moves[0, 0] = round(periods * self.job.time * float(self.job.space.free.sum()))
        return moves, exchanged

    def clear_counts(self) -> None:
        """Count from 0, at the end of burn-in."""
        moves, exchanged = self.walk.counts()
        self.walk.set_counts(np.zeros_like(moves), np.zeros_like(exchanged))

    def make_walk(
        self, evidences: Sequence[Evidence], space: Space, gamma: ByteArray, powers: FloatArray
    ) -> None:
        """Make the walk at the given models."""
        self.walk = self.job.walk(evidences, space, gamma, powers, self.done)

    def advance(self, n: int) -> None:
        """Run `n` more periods; the draws do not depend on how they are cut into blocks."""
        job, stop = self.job, self.done + n
        while self.done < stop:
            until = min(stop, (self.done // EVERY + 1) * EVERY)
            if self.done < job.burn_in:
                until = min(until, next_stop(job.burn_in, self.done))
                self.walk_on(until - self.done, None)
            else:
                end = self.collector.averages.at((self.done - job.burn_in) // job.thin)[1]
                until = min(until, job.burn_in + end * job.thin)
                self.walk_on(until - self.done, self.collector)
            self.done = until
            if until % EVERY == 0 or until == job.burn_in or restart_is_due(job, until, 1):
                self.mark()

    def mark(self) -> None:
        """Clear rounding away and write the state down; adapt in burn-in."""
        if self.done <= self.job.burn_in:
            self.adapt()
            self.begin_anew()
            if self.done == self.job.burn_in:
                self.clear_counts()
                self.walk.set_family_rate(self.job.family_rates[1])
        self.walk.reload()
        self.mark_state = self.at_mark()

    def begin_anew(self) -> None:
        """Go to another mode, where it is time to look for one and one is found; hot replicas stay."""
        job, gamma = self.job, self.walk.gamma()
        if restart_is_due(job, self.done, 1):
            mode = new_start(job.regression, job.space, gamma[0], self.chain, job.burn_in)
            if mode is not None:
                self.walk.set_state([mode, *gamma[1:]])
                self.mark_state = self.at_mark()

    def at_mark(self) -> WalkState:
        """Return the state of a chain that is at a mark."""
        moves, exchanged = self.counts()
        return WalkState(
            self.walk.gamma(),
            self.walk.powers(),
            self.rng.bit_generator.state,
            self.done,
            0,
            moves,
            exchanged,
            self.learnt(),
        )

    def state(self) -> WalkState:
        """Return the state between two periods; a runner made of it goes on to the same draws."""
        return replace(self.mark_state, since=self.done - self.mark_state.done)

    def plain_state(self) -> Plain:
        """Return the state as plain data, with sums over draws."""
        return plain_state(self.state(), self.collector)

    def news(self) -> dict[str, np.ndarray]:
        """Return what was recorded since this was last asked."""
        return self.collector.news()

    def look(self) -> WalkDraws:
        """Return what was recorded, without coefficients."""
        collector = self.collector
        found = collector.finish(np.concatenate(self.counts(), axis=1))
        return WalkDraws(
            found.words,
            found.index,
            found.log_posterior,
            sparse.csr_array((0, self.job.regression.n_columns)),
            found.sums,
            found.counts,
            averages=collector.averages.of(self.done - self.job.burn_in, self.job.thin, self.job.unit),
            described={
                name: getattr(collector, name).rows for name in collector.by_model if self.job.integrated
            },
        )

    def finish(self, completed: bool) -> WalkDraws:
        """Return what was recorded, with coefficients drawn for every so manyth draw."""
        found = self.look()
        some = found.index[:: self.job.coefficients_every]
        # A stream of its own: a chain that goes on after this one goes on to the same draws.
        ahead = np.random.PCG64()
        ahead.state = self.rng.bit_generator.state  # type: ignore[assignment]
        rng = np.random.Generator(ahead.jumped())
        coefficients, variance = draw_afterwards(self.job.single(), self.collector.table, some, rng)
        return replace(found, coefficients=coefficients, error_variance=variance)
