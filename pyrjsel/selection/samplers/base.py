"""Base classes of samplers: the interface that ``fit`` uses, and the job, state and chain of MCMC samplers.

An MCMC sampler defines a subclass of :class:`Chain` (start, moves and adaptation of one chain) and a
dataclass of the parameters of its chains besides the data (the `setup` of a :class:`Job`). Restarts during
burn-in, the schedule of adaptation and recording, states and checkpoints are implemented here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from pyrjsel._called import named
from pyrjsel._typing import ByteArray
from pyrjsel.families import NONE, Nuisance
from pyrjsel.model_space import ModelSpace
from pyrjsel.model_space.chains import dispersed_start, promising_start
from pyrjsel.runtime import DrawnChains, FitSettings
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SingleModel
from pyrjsel.selection.regression.wide import rest
from pyrjsel.selection.samplers.mode_search.search import (
    given_starts,
    new_start,
    next_stop,
    restart_is_due,
)
from pyrjsel.selection.samplers.recording.model_average import stopping, summarise
from pyrjsel.selection.samplers.recording.recorder import (
    Block,
    ChainDraws,
    Collector,
    DrawsCoefficients,
    Manner,
    draw_afterwards,
    n_draws,
    recorded_by,
    thinning,
)
from pyrjsel.storage import Content, Plain


class Sampler:
    """A method of computing the posterior over models and coefficients.

    Attributes
    ----------
    name : str
        Name in ``fit(sampler=...)``. What else is known before it is imported is in the registry.
    """

    name: ClassVar[str]

    def posterior(self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any) -> Posterior:
        """Return the posterior.

        Raises
        ------
        NotAvailableError
            If the sampler does not support the prior, or an option does not apply to it.
        ParameterError
            If `start` is not a feasible model with linearly independent columns.
        DataError
            If models have no posterior.
        KeyboardInterrupt
            If the run was interrupted before any chain had a draw.
        """
        raise NotImplementedError

    def nuisance(self, regression: Any) -> Nuisance | None:
        """Return the nuisance parameters recorded after each vector of coefficients; None without vectors."""
        return None


@dataclass(frozen=True)
class ChainState:
    """Everything that a chain's next draws depend on, as plain data.

    Attributes
    ----------
    done : int
        Iterations so far, including burn-in.
    bit_generator : mapping
        State of the chain's PCG64.
    values : dict
        Values of one sampler by name: arrays, numbers, and lists and dicts of them.
    """

    done: int
    bit_generator: Mapping[str, Any]
    values: dict[str, Any]

    def to_plain(self) -> Plain:
        """Return the state as plain data."""
        return {**self.values, "bit_generator": dict(self.bit_generator), "done": self.done}


@dataclass
class Job:
    """The job of every chain of a run; picklable.

    Attributes
    ----------
    kind : type of Chain
    setup : dataclass
        Parameters of the sampler's chains.
    regression : Regression, GaussianRegression or GaussianRows
    space : ModelSpace
    draws, burn_in, thin : int
    starts : uint8 array (m, J) or None
        Starting models, assigned to chains in turn.
    coefficients_every : int
        Draws per recorded vector of coefficients.
    total : int
        Iterations of a chain.
    """

    kind: type["Chain"]
    setup: Any
    regression: Any
    space: ModelSpace
    draws: int
    burn_in: int
    thin: int
    starts: ByteArray | None
    coefficients_every: int
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.burn_in + self.draws * self.thin

    def start(self, seed: np.random.SeedSequence, chain: int) -> "Chain":
        """Return a chain at its first state."""
        rng = np.random.Generator(np.random.PCG64(seed))
        values = self.kind.first(self, chain, rng)
        found = self.kind(self, ChainState(0, rng.bit_generator.state, values), number=chain)
        found.begin_anew()
        return found

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "Chain":
        """Return the chain with a given state and previously recorded values."""
        known = state.part("chain")
        done = known.integer("done", high=self.total)
        values = self.kind.read(self, known)
        found = self.kind(self, ChainState(done, known.pcg64("bit_generator"), values), number=chain)
        found.collector.restore(state.part("totals"), recorded)
        return found

    def recorded(self, result: ChainDraws) -> dict[str, np.ndarray]:
        """Return the recorded values of the chain of a result, without those drawn at the end."""
        return recorded_by(result, self.kind.nuisance(self.regression))

    def single(self) -> SingleModel:
        """Return an evaluator of single models; each chain needs its own."""
        return self.kind.single(self)

    def first_model(self, chain: int, rng: np.random.Generator, most: int | None = None) -> ByteArray:
        """Return the starting model of a chain: a given one, the smallest, or a random one.

        That is a draw from the prior, or, of thousands of columns, a half of the best ones alone.
        """
        if self.starts is not None:
            return np.asarray(self.starts[chain % len(self.starts)])
        if chain == 0:
            return self.space.empty_model()
        exists = self.kind.existence(self)
        if getattr(self.regression, "many", False) and not len(self.space.parent):
            return promising_start(self.space, exists, rng, self.regression.term_scores)
        return dispersed_start(self.space, exists, rng, most)


class Chain:
    """One chain: a compiled loop, its generator and its recorded values.

    A subclass implements `first` (values of the first state), `read` and `values` (from and to plain data),
    `restore` (the loop at such values), `run`, `counts` and `clear`; `position` and `move_to` for restarts;
    and `adapt`, if it adapts during burn-in.

    Parameters
    ----------
    job : Job
    state : ChainState
    collector : Collector, optional
        Draws recorded before; None starts with none.
    number : int
        Number of the chain.
    """

    # Iterations between adaptations; 0 is none. Changing it changes the draws for a given seed.
    every: ClassVar[int] = 0
    # Restarts during burn-in happen after a multiple of this many iterations.
    restart_every: ClassVar[int] = 1

    def __init__(
        self, job: Job, state: ChainState, collector: Collector | None = None, number: int = 0
    ) -> None:
        self.job, self.number, self.done = job, number, state.done
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = dict(state.bit_generator)
        self.collector = collector or self.new_collector()
        self.restore(state.values)

    # ------------------------------------------------------------------ specific to a sampler

    @classmethod
    def first(cls, job: Job, chain: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return the values of a first state."""
        raise NotImplementedError

    @classmethod
    def read(cls, job: Job, known: Content) -> dict[str, Any]:
        """Return the values of a saved state."""
        raise NotImplementedError

    @classmethod
    def existence(cls, job: Job) -> Callable[[ByteArray], bool]:
        """Return a function that says whether a model (J,) has a coefficient prior."""
        return job.single().exists

    @classmethod
    def single(cls, job: Job) -> SingleModel:
        """Return an evaluator of single models; each chain needs its own."""
        raise NotImplementedError

    @classmethod
    def nuisance(cls, regression: Any) -> Nuisance | None:
        """Return the nuisance parameters recorded after coefficients; None if no coefficients are recorded.

        Coefficients are then drawn for the visited models at the end of the chain.
        """
        return None

    def new_collector(self) -> Collector:
        """Return an empty collector."""
        job = self.job
        slot = self.nuisance(job.regression) or NONE
        return Collector(job.space.n_terms, job.regression.n_columns, job.coefficients_every, slot)

    def restore(self, values: dict[str, Any]) -> None:
        """Create the loop at the values of a state."""
        raise NotImplementedError

    def values(self) -> dict[str, Any]:
        """Return copies of the values of the state between two iterations."""
        raise NotImplementedError

    def run(self, n: int, block: Block | None = None) -> tuple[int, int]:
        """Run `n` iterations; return the numbers of draws and coefficient vectors written into the block."""
        raise NotImplementedError

    def counts(self) -> np.ndarray:
        """Return the numbers of proposals and acceptances since the end of burn-in, (2, moves)."""
        raise NotImplementedError

    def clear(self) -> None:
        """Reset the counts at the end of burn-in."""
        raise NotImplementedError

    def position(self) -> tuple[ByteArray, float | None]:
        """Return the model that the chain is at, and sigma^2 if it has one."""
        raise NotImplementedError

    def move_to(self, gamma: ByteArray) -> None:
        """Go to a model."""
        raise NotImplementedError

    def adapt(self) -> None:
        """Adapt once during burn-in."""

    def rest(self) -> None:
        """Release memory that :meth:`wake` needs again, if that is much."""

    def wake(self) -> None:
        """Continue after a rest at the same state."""

    # ------------------------------------------------------------------ common to all samplers

    def advance(self, n: int) -> int:
        """Run `n` more iterations and return how many count; draws do not depend on the block lengths."""
        self.wake()
        job, stop = self.job, self.done + n
        while self.done < stop:
            until = min(stop, *self.stops(stop))
            if self.done < job.burn_in:
                self.run(until - self.done)
            else:
                self.record(until - self.done)
            self.done = until
            if self.at_mark():
                self.mark()
        return n

    def stops(self, stop: int) -> list[int]:
        """Return the next stops of the chain: for adaptation, or at the end of a segment of averages."""
        job = self.job
        found = [(self.done // self.every + 1) * self.every] if self.every else [stop]
        if self.done < job.burn_in:
            found.append(next_stop(job.burn_in, self.done))
        elif self.collector.averages is not None:
            end = self.collector.averages.at((self.done - job.burn_in) // job.thin)[1]
            found.append(job.burn_in + end * job.thin)
        return found

    def at_mark(self) -> bool:
        """Whether the chain adapts, restarts or ends its burn-in here."""
        job, done = self.job, self.done
        regular = self.every > 0 and done % self.every == 0
        return regular or done == job.burn_in or restart_is_due(job, done, self.restart_every)

    def mark(self) -> None:
        """Adapt and restart during burn-in; reset the counts at its end."""
        if self.done <= self.job.burn_in:
            self.adapt()
            self.begin_anew()
            if self.done == self.job.burn_in:
                self.clear()

    def begin_anew(self) -> None:
        """Restart from another mode, if a restart is due and one is found."""
        job = self.job
        if restart_is_due(job, self.done, self.restart_every):
            gamma, variance = self.position()
            self.rest()
            mode = new_start(job.regression, job.space, gamma, self.number, job.burn_in, variance)
            self.wake()
            if mode is not None:
                self.move_to(mode)

    def record(self, n: int) -> None:
        """Run and record `n` iterations after burn-in, within one segment of the averages."""
        block = self.collector.room(n // self.job.thin + 1)
        self.collector.add(block, *self.run(n, block))

    def into(self, block: Block | None) -> dict[str, Any]:
        """Return the arguments of a loop for writing draws into a block."""
        if block is None:
            return {}
        job = self.job
        return {
            "done": self.done - job.burn_in,
            "thin": job.thin,
            "words": block.words,
            "log_posterior": block.log_posterior,
            "coefficients": block.coefficients,
            "every": job.coefficients_every,
            "sums": self.collector.sums,
        }

    # ------------------------------------------------------------------ states and draws

    def state(self) -> ChainState:
        """Return the state between two iterations; a chain created from it has the same further draws."""
        return ChainState(self.done, self.rng.bit_generator.state, self.values())

    def plain_state(self) -> Plain:
        """Return the state as plain data, including sums over draws."""
        return {"chain": self.state().to_plain(), "totals": self.collector.totals()}

    def news(self) -> dict[str, np.ndarray]:
        """Return the values recorded since the last call."""
        return self.collector.news()

    @property
    def unit(self) -> float:
        """Weight of one iteration in the averages."""
        return 1.0

    def look(self) -> ChainDraws:
        """Return the draws so far, without coefficients that are drawn at the end."""
        found, averages = self.collector.finish(self.counts()), self.collector.averages
        if averages is None:
            return found
        return replace(found, averages=averages.of(self.done - self.job.burn_in, self.job.thin, self.unit))

    def single_models(self) -> DrawsCoefficients:
        """Return an evaluator of single models that draws coefficients of those visited."""
        return self.job.single()

    def finish(self, completed: bool) -> ChainDraws:
        """Return the draws, with coefficients for every `coefficients_every`-th one."""
        found, job = self.look(), self.job
        if self.nuisance(job.regression) is not None:
            return found
        # A separate stream, so that extending the chain gives the draws of one longer chain.
        ahead: Any = np.random.PCG64()
        ahead.state = self.rng.bit_generator.state
        some = found.index[:: job.coefficients_every]
        rng = np.random.Generator(ahead.jumped())
        coefficients, nuisance = draw_afterwards(self.single_models(), self.collector.table.models, some, rng)
        return replace(found, coefficients=coefficients, nuisance=nuisance)


class MCMC(Sampler):
    """A sampler that runs several chains.

    A subclass defines the class of its chains (`kind`), their `setup`, and the properties for summaries
    (`manner`).
    """

    kind: ClassVar[type[Chain]]

    def setup(
        self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any, entropy: bytes
    ) -> Any:
        """Return the parameters of the chains, a picklable dataclass."""
        raise NotImplementedError

    def manner(self, job: Job, options: Any) -> Manner:
        """Return the properties of the chains that summaries and the stopping rule depend on."""
        raise NotImplementedError

    def prepared(self, regression: Any, space: ModelSpace) -> Any:
        """Return the regression in the form that chains use."""
        return regression

    def nuisance(self, regression: Any) -> Nuisance | None:
        """Return the nuisance parameters recorded after each vector of coefficients; None without vectors."""
        return self.kind.nuisance(regression)

    def coefficients_every(self, regression: Any, settings: FitSettings, draws: int) -> int:
        """Return the thinning interval of coefficients in chains of `draws` draws."""
        return thinning(regression.n_columns, settings)

    def summarised(self, drawn: DrawnChains, job: Job, settings: FitSettings, **rest: Any) -> Posterior:
        """Return the posterior from the draws of chains; `rest` is for :func:`summarise`."""
        every = self.coefficients_every(job.regression, settings, drawn.asked)
        return summarise(drawn, regression=job.regression, space=job.space, coefficients_every=every, **rest)

    def job(
        self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any, entropy: bytes
    ) -> Job:
        """Return the job of every chain of a run."""
        regression = self.prepared(regression, space)
        setup = self.setup(regression, space, settings, options, entropy)
        every = self.coefficients_every(regression, settings, settings.draws)
        sizes = (settings.draws, settings.burn_in, settings.thin)
        job = Job(self.kind, setup, regression, space, *sizes, None, every)
        with named(f"sampler={self.name!r}"):
            starts = given_starts(settings, options.start, space, self.kind.existence(job))
        return replace(job, starts=starts)

    def posterior(self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any) -> Posterior:
        """Return the posterior from chains."""
        entropy = settings.entropy()
        job = self.job(regression, space, settings, options, entropy)
        manner = self.manner(job, options)
        before = 0 if self.nuisance(regression) is None else settings.before

        def jobs(draws: int) -> Job:
            every = self.coefficients_every(job.regression, settings, draws)
            return replace(job, draws=draws, coefficients_every=every)

        rule = stopping(settings, job.regression, space, manner, before)
        drawn = settings.run(job, self.name, n_draws, rule, jobs)
        rest(regression)
        return self.summarised(drawn, job, settings, manner=manner, entropy=entropy, before=before)


def chain_models(job: Job, known: Content, *shape: int) -> ByteArray:
    """Return the models (..., J) of a state, validated for use in loops.

    Raises
    ------
    StoreError
        If one is not a model of the space.
    """
    gamma = known.array("gamma", np.uint8, (*shape, job.space.n_terms))
    for model in np.atleast_2d(gamma):
        reason = (
            "it has other numbers than 0 and 1." if (model > 1).any() else job.space.why_infeasible(model)
        )
        if reason is not None:
            raise known.wrong("gamma", f"a model of the space: {reason}")
    return gamma


def no_counts(moves: int) -> np.ndarray:
    """Return zero counts of proposals and acceptances."""
    return np.zeros((2, moves), dtype=np.int64)


def counted_moves(blocks: float, trades: float) -> list[int]:
    """Return the numbers of the moves of a chain, from the rates of the optional ones."""
    return [0, 1, *([2] if blocks else []), *([3] if trades else [])]
