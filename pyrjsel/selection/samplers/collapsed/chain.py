"""Chains of `collapsed`, over models with coefficients integrated out. The loop is ``_walk.pyx``.

Errors of averages of conditional probabilities are estimated from batches of the chain. Like those of visits
they do not include modes that no chain has visited, but they are smaller. Chains for families without exact
marginal likelihoods are in ``corrected_chain.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace, Space, block_rates, term_blocks
from pyrjsel.runtime import release
from pyrjsel.runtime.ladder import adapted
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence.gaussian import SingleModels, evidence_of, provider_of
from pyrjsel.selection.protocols import SingleModel
from pyrjsel.selection.samplers._walk import MOVES, Walk
from pyrjsel.selection.samplers.base import (
    Chain,
    ChainState,
    Job,
    chain_models,
    counted_moves,
    no_counts,
)
from pyrjsel.selection.samplers.mode_search.search import restart_is_due
from pyrjsel.selection.samplers.options import WIDEST_START, CollapsedOptions
from pyrjsel.selection.samplers.recording.averages import WALK_ROWS
from pyrjsel.selection.samplers.recording.recorder import Block, Collector
from pyrjsel.storage import Content

# Iterations between refactorisations and adaptation. Changing it changes the draws for a given seed.
EVERY = 50


@dataclass(frozen=True)
class CollapsedMoves:
    """The rates of the moves of chains.

    Attributes
    ----------
    time : float
        Time between iterations.
    swaps, trades : float
        Number per unit of time.
    temperatures : ndarray (K,)
        Inverse temperatures of the replicas, the first of them 1.
    adaptive : bool
        Whether they are adapted during burn-in.
    blocks : sequence of int array
        Each a term with the terms that heredity requires.
    block_rates : tuple of float
        Block updates per unit of time, during burn-in and after it.
    """

    time: float
    swaps: float
    temperatures: FloatArray
    adaptive: bool = False
    blocks: Sequence[IntArray] = ()
    block_rates: tuple[float, float] = (0.0, 0.0)
    trades: float = 0.0

    @classmethod
    def of(cls, options: CollapsedOptions, space: ModelSpace, burn_in: int, **more: Any) -> "CollapsedMoves":
        """Return the moves for given options and length of burn-in."""
        temperatures, adaptive = options.powers()
        found = term_blocks(space)
        rates = block_rates(len(found), options.blocks, burn_in * options.time)
        swaps, trades = options.swap_rate(space), options.trade_rate(space)
        return cls(options.time, swaps, temperatures, adaptive, found, rates, trades, **more)

    @property
    def kinds(self) -> list[int]:
        """Positions in MOVES of the proposed moves."""
        return counted_moves(self.block_rates[1], self.trades)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the proposed moves."""
        return tuple(MOVES[move] for move in self.kinds)

    def walk(
        self,
        evidences: Sequence[Evidence],
        space: Space,
        gamma: ByteArray,
        powers: FloatArray,
        searching: bool = True,
    ) -> Walk:
        """Return a loop at the given models; `searching` is true during burn-in."""
        return Walk(
            list(evidences),
            space,
            gamma,
            powers,
            slots=self.swaps,
            families=self.blocks,
            family_rate=self.block_rates[not searching],
            trades=self.trades,
        )


class CollapsedChain(Chain):
    """One chain with the posterior as its target.

    Values of its state are those at the last refactorisation, with the number of iterations `since`, which
    are run again: models by temperature `gamma` (K, J); inverse temperatures `powers` (K,); `moves` (2,
    moves) and `exchanged` (2, K - 1), proposed and accepted; and `learnt`, other arrays adapted during
    burn-in, with the data for their adaptation.
    """

    every = EVERY
    rows: ClassVar[int] = WALK_ROWS
    # Rows of sums over coefficients.
    n_sums: ClassVar[int] = 0
    # Values recorded for a model at its first visit.
    of_models: ClassVar[tuple[str, ...]] = ()
    # The counts of a chain that has released its loop.
    resting: tuple[IntArray, IntArray] | None = None

    @classmethod
    def single(cls, job: Job) -> SingleModel:
        """Return an evaluator of single models; each chain needs its own."""
        return SingleModels(job.regression)

    @classmethod
    def first(cls, job: Job, chain: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return the values of a first state."""
        most = int(job.space.n_terms - job.space.free.sum()) + WIDEST_START
        powers = job.setup.temperatures
        return {
            "gamma": np.repeat(job.first_model(chain, rng, most)[None], powers.size, axis=0),
            "powers": powers.copy(),
            "since": 0,
            "moves": no_counts(len(job.setup.names)),
            "exchanged": no_counts(powers.size - 1),
            "learnt": {},
        }

    @classmethod
    def read(cls, job: Job, known: Content) -> dict[str, Any]:
        """Return the values of a saved state."""
        count = job.setup.temperatures.size
        powers = known.array("powers", float, (count,))
        if powers[0] != 1 or not (powers > 0).all():
            raise known.wrong("powers", "positive, the first of them 1")
        return {
            "gamma": chain_models(job, known, count),
            "powers": powers,
            "since": known.integer("since", high=EVERY),
            "moves": known.array("moves", np.int64, (2, len(job.setup.names))),
            "exchanged": known.array("exchanged", np.int64, (2, count - 1)),
            "learnt": cls.read_learnt(job, known.part("learnt")),
        }

    @classmethod
    def read_learnt(cls, job: Job, learnt: Content) -> dict[str, np.ndarray]:
        """Return the arrays adapted during burn-in besides the temperatures."""
        return {}

    def new_collector(self) -> Collector:
        """Return an empty collector of draws and averages."""
        job = self.job
        width, every = job.regression.n_columns, job.coefficients_every
        return Collector(
            job.space.n_terms, width, every, rows=self.rows, of_models=self.of_models, n_sums=self.n_sums
        )

    def restore(self, values: dict[str, Any]) -> None:
        """Create the loop at the last adaptation, and run it from there."""
        self.restore_mark(values)
        self.at = ChainState(self.done, self.rng.bit_generator.state, {**values, "since": 0})
        if values["since"]:
            self.catch_up(values["since"])

    def catch_up(self, since: int) -> None:
        """Run the iterations since the last adaptation again."""
        self.run(since)
        self.done += since

    def restore_mark(self, values: dict[str, Any]) -> None:
        """Create the loop at the values of a refactorised state."""
        if getattr(self.job.regression, "wide", False):
            release()  # what searches and former chains used
        provider, count = provider_of(self.job.regression), values["powers"].size
        # Each with its own state.
        evidences = [evidence_of(self.job.regression, provider) for _ in range(count)]
        self.make_walk(evidences, Space(self.job.space), values["gamma"], values["powers"])
        self.set_counts(values["moves"], values["exchanged"])

    def rest(self) -> None:
        """Release the loop if its arrays, with one number a column, take as much memory as the data."""
        if getattr(self.job.regression, "wide", False):
            self.resting = self.tallies()
            del self.walk
            release()

    def wake(self) -> None:
        """Create the loop again at the same state if it was released."""
        if self.resting is not None:
            state, self.resting = self.state(), None
            self.done, self.rng.bit_generator.state = state.done, dict(state.bit_generator)
            self.restore(state.values)

    def make_walk(
        self, evidences: Sequence[Evidence], space: Space, gamma: ByteArray, powers: FloatArray
    ) -> None:
        """Create the loop at the given models."""
        job = self.job
        self.walk = job.setup.walk(evidences, space, gamma, powers, self.done < job.burn_in)

    def set_counts(self, moves: IntArray, exchanged: IntArray) -> None:
        """Set the counts."""
        kinds, counted = self.job.setup.kinds, no_counts(len(MOVES))
        counted[:, kinds] = moves[:, : len(kinds)]
        self.walk.set_counts(counted, exchanged)

    def run(self, n: int, block: Block | None = None) -> tuple[int, int]:
        """Run `n` iterations; return the numbers of draws and coefficient vectors written into the block."""
        if block is None:
            self.walk.run(self.rng, n, self.time)
            return 0, 0
        averages, recorded = self.collector.averages, self.done - self.job.burn_in
        assert averages is not None
        kept = self.walk.run(
            self.rng,
            n,
            self.time,
            done=recorded,
            thin=self.job.thin,
            words=block.words,
            log_mass=block.log_posterior,
            sums=averages.at(recorded // self.job.thin)[0],
        )
        return kept, 0

    @property
    def time(self) -> float:
        """Time of an iteration."""
        return float(self.job.setup.time)

    @property
    def unit(self) -> float:
        """Weight of one iteration in the averages."""
        return self.time

    def adapt(self) -> None:
        """Adapt the temperatures once, in burn-in."""
        if self.job.setup.adaptive:
            moves, exchanged = self.walk.counts()
            powers, exchanged = adapted(self.walk.powers(), exchanged, self.done // EVERY + 1)
            self.walk.set_state(self.walk.gamma(), powers)
            self.walk.set_counts(moves, exchanged)

    def position(self) -> tuple[ByteArray, float | None]:
        """Return the present model; there is no sigma^2."""
        return self.walk.gamma()[0], None

    def move_to(self, gamma: ByteArray) -> None:
        """Go to a model; other replicas do not move."""
        self.walk.set_state([gamma, *self.walk.gamma()[1:]])

    def mark(self) -> None:
        """Refactorise and store the state; adapt during burn-in."""
        super().mark()
        self.walk.reload()
        self.at = self.state_here()

    def begin_anew(self) -> None:
        """Restart from another mode, if a restart is due and one is found."""
        if restart_is_due(self.job, self.done, self.restart_every):
            self.at = self.state_here()  # from which the loop is made again after a rest
        super().begin_anew()
        self.at = self.state_here()

    def clear(self) -> None:
        """Reset the counts at the end of burn-in."""
        moves, exchanged = self.walk.counts()
        self.walk.set_counts(np.zeros_like(moves), np.zeros_like(exchanged))
        self.walk.set_family_rate(self.job.setup.block_rates[1])

    def tallies(self) -> tuple[IntArray, IntArray]:
        """Return counts by move (2, moves) and of exchanges (2, K - 1)."""
        if self.resting is not None:
            return self.resting
        moves, exchanged = self.walk.counts()
        moves = moves[:, self.job.setup.kinds]
        # On average, a flip of each free term is proposed once per unit of time.
        recorded = max(0, self.done - self.job.burn_in)
        moves[0, 0] = round(recorded * self.time * float(self.job.space.free.sum()))
        return moves, exchanged

    def counts(self) -> np.ndarray:
        """Return the counts of proposals and acceptances since the end of burn-in, exchanges last."""
        return np.concatenate(self.tallies(), axis=1)

    @property
    def since(self) -> int:
        """Iterations since the last adaptation."""
        return self.done - self.at.done

    def learnt(self) -> dict[str, np.ndarray]:
        """Return the arrays of a state besides models, temperatures and counts."""
        return {}

    def state_here(self) -> ChainState:
        """Return the state of a chain at a refactorisation."""
        moves, exchanged = self.tallies()
        values = {
            "gamma": self.walk.gamma(),
            "powers": self.walk.powers(),
            "since": 0,
            "moves": moves,
            "exchanged": exchanged,
            "learnt": self.learnt(),
        }
        return ChainState(self.done, self.rng.bit_generator.state, values)

    def state(self) -> ChainState:
        """Return the state between two iterations; a chain created from it has the same further draws."""
        values = {**self.at.values, "since": self.since}
        return ChainState(self.at.done, self.at.bit_generator, values)
