"""Population reversible-jump MCMC: options, state, adaptation, chains. The loop is in ``_population.pyx``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import bad_value, check_choice
from pyrjsel.model_space import ModelSpace
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.model_average import summarise
from pyrjsel.selection.samplers.recorder import (
    ChainDraws,
    Collector,
    Manner,
    drawn_by,
    known_models,
    n_draws,
    plain_state,
    thinning,
    vectors,
)
from pyrjsel.selection.samplers.reversible_jump._population import TEMPERATURES, Population
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import (
    NO_BLOCKS,
    BlockMoves,
    JumpOptions,
    block_moves,
    first_state,
    make_loop,
    other_mode,
    prepare,
)
from pyrjsel.selection.samplers.reversible_jump.temperatures import (
    COLD_BOUNDS,
    HOT_BOUNDS,
    PARAMETER_BOUNDS,
    Law,
    log_constants,
)
from pyrjsel.selection.samplers.search import restart_is_due
from pyrjsel.selection.samplers.stopping import stopping
from pyrjsel.storage import Content, Plain

OWNER = "sampler='population'"
# Iterations between two steps of adaptation during burn-in; part of what a seed gives.
ADAPT_EVERY = 50
# Shares of burn-in after which the sums behind the normalising constants begin again.
RESTARTS = (0.1, 0.3)


@dataclass(frozen=True)
class PopulationOptions(JumpOptions):
    """Options of ``fit(sampler="population")``: those of ``rjmcmc``, and the temperatures.

    Attributes
    ----------
    temperatures : {"exact", "fixed", "paper"}
        ``"exact"`` draws each temperature from its full conditional, ``"fixed"`` keeps it (ordinary
        tempering), ``"paper"`` draws it from its law whatever the state is: as printed by Fouskakis,
        Ntzoufras and Draper (2009), which biases the posterior a little.
    cold : tuple (a, b) or sequence of them
        Chains with inverse temperature t > 1: t - 1 ~ Gamma(a, rate b), with a mean from 0.02 to 10. Here and
        in `hot` a and b are from 0.1 to 1,000, because a chain has a grid of 60 temperatures: with less,
        nearly all of a law is beyond its ends; with more, a law is narrower than the steps between them.
    hot : tuple (a, b) or sequence of them
        Chains with inverse temperature t < 1: t ~ Beta(a, b), with a mean from 0.05 to 0.98. For linear
        models that is the law of (t - t0) / (1 - t0), t0 = (d + 3) / (n + d + 2 a + 2) for n rows, d columns
        of the largest model besides the intercept (0 if prior variances are no multiples of sigma^2) and
        sigma^2 ~ IG(a, b) (a = 0 for 1 / sigma^2): powers t <= t0 of the posterior have no integral.
    tune : bool
        Whether the laws (the values, under ``"fixed"``) move during burn-in towards an acceptance rate
        of exchanges of 20 %. On a grid the mean of t - 1 grows to ten times what it was at most (to 5,
        if it was below 0.5), which is what the grid has room for.
    """

    temperatures: str = "exact"
    cold: tuple[float, float] | Sequence[tuple[float, float]] = (2.0, 4.0)
    hot: tuple[float, float] | Sequence[tuple[float, float]] = (7.0, 3.0)
    tune: bool = True

    def __post_init__(self) -> None:
        self.check(OWNER)
        check_choice(self.temperatures, "temperatures", OWNER, tuple(TEMPERATURES))
        if not isinstance(self.tune, bool):
            raise bad_value("tune", OWNER, "True or False", self.tune)
        if not self.laws():
            raise bad_value("cold", OWNER, "at least one pair (a, b) where 'hot' has none", self.cold)

    def laws(self) -> list[Law]:
        """Return the laws of the auxiliary chains, cold ones first."""
        return [*_laws(self.cold, "cold", COLD_BOUNDS), *_laws(self.hot, "hot", HOT_BOUNDS)]


def _laws(value: object, kind: str, bounds: tuple[float, float]) -> list[Law]:
    """Return laws whose temperatures are those of the grid: where tuning keeps them too."""
    laws = [Law(kind, *pair) for pair in _pairs(value, kind)]
    for law in laws:
        if not bounds[0] <= law.mean <= bounds[1]:
            mean = "a / (a + b)" if kind == "hot" else "a / b"
            must = f"pairs (a, b) whose mean {mean} is between {bounds[0]:g} and {bounds[1]:g}"
            raise bad_value(kind, OWNER, must, (law.a, law.b))
    return laws


def _pairs(value: object, name: str) -> list[tuple[float, float]]:
    low, high = PARAMETER_BOUNDS
    must = f"a pair (a, b) of numbers from {low:g} to {high:,g}, or a sequence of such pairs"
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise bad_value(name, OWNER, must, value)
    several = [value] if value and not isinstance(value[0], Sequence) else list(value)
    for pair in several:
        if not isinstance(pair, Sequence) or len(pair) != 2 or not all(_is_parameter(item) for item in pair):
            raise bad_value(name, OWNER, must, value)
    return [(float(a), float(b)) for a, b in several]


def _is_parameter(item: object) -> bool:
    low, high = PARAMETER_BOUNDS
    return isinstance(item, Real) and not isinstance(item, bool) and bool(low <= item <= high)  # type: ignore[operator]


@dataclass
class PopulationState:
    """Everything that the next draws of a population depend on, as plain data.

    K auxiliary chains, G temperatures.

    Attributes
    ----------
    gamma : uint8 array (K + 1, J)
    b : float64 array (K + 1, D + 1)
        Internal coefficients; then sigma^2 and log g, for gaussian models.
    level : int32 array (K,)
        Where in its grid each auxiliary chain is.
    grid, log_law, sums, visits : float64 arrays (K, G)
        Temperatures, their log weights, and what the weights are estimated from.
    laws : list of Law
    bit_generator : mapping
    done : int
        Iterations so far, burn-in included.
    moves : int64 array (K + 1, 2, moves)
        Since the start, and after burn-in since its end.
    exchanges : int64 array (2, K)
        Since the last step of adaptation, and after burn-in since its end.
    """

    gamma: ByteArray
    b: FloatArray
    level: np.ndarray
    grid: FloatArray
    log_law: FloatArray
    sums: FloatArray
    visits: FloatArray
    laws: list[Law]
    bit_generator: Mapping[str, Any]
    done: int
    moves: np.ndarray
    exchanges: np.ndarray


@dataclass
class PopulationJob:
    """The job of one population of chains; picklable."""

    regression: Regression
    space: ModelSpace
    draws: int
    burn_in: int
    thin: int
    n_swaps: int
    starts: ByteArray | None
    coefficients_every: int
    laws: list[Law]
    temperatures: str
    tune: bool
    fixed: tuple[FloatArray, FloatArray] | None = None
    blocks: BlockMoves = field(default=NO_BLOCKS, kw_only=True)
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.burn_in + self.draws * self.thin

    def start(self, seed: np.random.SeedSequence, chain: int) -> "PopulationRunner":
        """Return a population at its first state."""
        rng = np.random.Generator(np.random.PCG64(seed))
        gamma, b = first_state(self.regression, self.space, self.starts, chain, rng)
        k = len(self.laws)
        if self.temperatures == "fixed":
            grid = np.array([[_fixed(law)] for law in self.laws])
        else:
            grid = np.stack([law.grid() for law in self.laws])
        means = [_fixed(law) for law in self.laws]
        level = np.array([np.argmin(np.abs(row - mean)) for row, mean in zip(grid, means, strict=True)])
        state = PopulationState(
            np.repeat(gamma[None], k + 1, axis=0),
            np.repeat(b[None], k + 1, axis=0),
            level.astype(np.intc),
            grid,
            np.zeros(grid.shape),
            np.zeros(grid.shape),
            np.zeros(grid.shape),
            list(self.laws),
            rng.bit_generator.state,
            0,
            np.repeat(self.blocks.counts()[None], k + 1, axis=0),
            np.zeros((2, k), dtype=np.int64),
        )
        runner = PopulationRunner(self, state)
        runner.chain = chain
        runner.begin_anew()
        runner.weigh()
        return runner

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "PopulationRunner":
        """Return the population of a state and of what was recorded before it."""
        known, regression, k = state.part("chain"), self.regression, len(self.laws)
        grid = known.array("grid", float, (k, None))
        level = known.array("level", np.intc, (k,))
        if (level < 0).any() or (level >= grid.shape[1]).any() or not (grid > 0).all():
            raise known.wrong("level", "places in a grid of temperatures")
        laws = [
            replace(first, a=law.number("a"), b=law.number("b"))
            for law, first in zip(known.parts("laws"), self.laws, strict=True)
        ]
        runner = PopulationRunner(
            self,
            PopulationState(
                known_models(known, (k + 1, self.space.n_terms), self.space),
                known.array("b", float, (k + 1, regression.n_columns + regression.n_extra)),
                level,
                grid,
                known.array("log_law", float, grid.shape),
                known.array("sums", float, grid.shape),
                known.array("visits", float, grid.shape),
                laws,
                known.pcg64("bit_generator"),
                known.integer("done", high=self.total),
                known.array("moves", np.int64, (k + 1, 2, len(self.blocks.kinds))),
                known.array("exchanges", np.int64, (2, k)),
            ),
        )
        runner.chain = chain
        runner.collector.restore(state.part("totals"), recorded)
        return runner

    def recorded(self, result: ChainDraws) -> dict[str, np.ndarray]:
        """Return what the chain of a result had recorded."""
        return {**drawn_by(result), "coefficients": vectors(result, self.regression.n_extra)}


def _fixed(law: Law) -> float:
    return law.mean if law.kind == "hot" else 1.0 + law.mean


class PopulationRunner:
    """One population: the compiled loop, its generator, its temperatures, and what it has recorded."""

    chain = 0

    def __init__(
        self, job: PopulationJob, state: PopulationState, collector: Collector | None = None
    ) -> None:
        self.job = job
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = dict(state.bit_generator)
        self.chains: list[ReversibleJump] = [
            make_loop(job.regression, job.space, gamma, b, job.n_swaps, job.fixed, job.blocks)
            for gamma, b in zip(state.gamma, state.b, strict=True)
        ]
        self.laws, self.grid = list(state.laws), state.grid.copy()
        self.log_law, self.sums, self.visits = state.log_law.copy(), state.sums.copy(), state.visits.copy()
        self.loop = self._loop(state.level)
        moves = np.array([job.blocks.all_counts(counts) for counts in state.moves])
        self.loop.set_counts(moves, state.exchanges)
        self.done = state.done
        self.collector = collector or Collector(
            job.space.n_terms,
            job.regression.n_columns,
            job.coefficients_every,
            job.regression.n_extra,
        )

    def _loop(self, level: np.ndarray) -> Population:
        return Population(self.chains, self.grid, level, TEMPERATURES[self.job.temperatures])

    def weigh(self) -> None:
        """Work out the weights of the temperatures from the laws, the sums so far, and chain 0."""
        if self.job.temperatures == "fixed":
            return
        parts = self.chains[0].log_density()
        columns = 1 + float(self.chains[0].state()[0] @ np.diff(self.job.regression.term_start))
        for k, law in enumerate(self.laws):
            self.log_law[k] = law.logpdf(self.grid[k])
            if self.job.temperatures == "exact":
                self.log_law[k] -= log_constants(
                    self.grid[k], self.sums[k], self.visits[k], columns, float(sum(parts))
                )

    def begin_anew(self) -> None:
        """Have the first chain go to another mode, where it is time to look for one and one is found."""
        job = self.job
        if restart_is_due(job, self.done, ADAPT_EVERY):
            first = self.chains[0]
            mode = other_mode(job.regression, job.space, *first.state(), self.chain, job.burn_in)
            if mode is not None:
                first.set_state(*mode)

    def adapt(self) -> None:
        """Take one step of adaptation: tune the laws, estimate the normalising constants anew."""
        moves, exchanges = self.loop.counts()
        step = self.done // ADAPT_EVERY
        if self.job.tune:
            rates = exchanges[1] / np.maximum(exchanges[0], 1)
            self.laws = [
                law.moved(float(rate), step, first.bounds(fixed=self.job.temperatures == "fixed"))
                for law, rate, first in zip(self.laws, rates, self.job.laws, strict=True)
            ]
        if self.job.temperatures == "fixed":
            self.grid = np.array([[_fixed(law)] for law in self.laws])
        # Exchanges have changed the order of the chains: back to that of a population made of its state.
        gamma, b = self.loop.states()
        for chain, own_gamma, own_b in zip(self.chains, gamma, b, strict=True):
            chain.set_state(own_gamma, own_b)
            chain.set_temperature(1.0)
        self.begin_anew()
        self.weigh()
        if any(step == int(share * self.job.burn_in) // ADAPT_EVERY for share in RESTARTS):
            self.sums[:], self.visits[:] = 0.0, 0.0
        self.loop = self._loop(self.loop.levels())
        self.loop.set_counts(moves, np.zeros_like(exchanges))

    def advance(self, n: int) -> None:
        """Run `n` more iterations; adaptation comes after every 50th of burn-in, however they are cut."""
        stop = self.done + n
        while self.done < min(stop, self.job.burn_in):
            until = min(stop, self.job.burn_in, (self.done // ADAPT_EVERY + 1) * ADAPT_EVERY)
            self.loop.run(self.rng, until - self.done, self.log_law, log_sums=self.sums, visits=self.visits)
            self.done = until
            if self.done % ADAPT_EVERY == 0:
                self.adapt()
            if self.done == self.job.burn_in:
                moves, exchanges = self.loop.counts()
                self.loop.set_counts(np.zeros_like(moves), np.zeros_like(exchanges))
        if stop > self.done:
            more, recorded = stop - self.done, self.done - self.job.burn_in
            block = self.collector.room(more // self.job.thin + 1)
            kept, kept_b = self.loop.run(
                self.rng,
                more,
                self.log_law,
                done=recorded,
                thin=self.job.thin,
                words=block.words,
                log_posterior=block.log_posterior,
                coefficients=block.coefficients,
                every=self.job.coefficients_every,
                sums=self.collector.sums,
            )
            self.collector.add(block, kept, kept_b)
            self.done = stop

    def state(self) -> PopulationState:
        """Return the state between two iterations; a runner made of it goes on to the same draws."""
        gamma, b = self.loop.states()
        moves, exchanges = self.loop.counts()
        return PopulationState(
            gamma,
            b,
            self.loop.levels(),
            self.grid.copy(),
            self.log_law.copy(),
            self.sums.copy(),
            self.visits.copy(),
            list(self.laws),
            self.rng.bit_generator.state,
            self.done,
            moves[:, :, self.job.blocks.kinds],
            exchanges,
        )

    def plain_state(self) -> Plain:
        """Return the state as plain data, with sums over draws."""
        return plain_state(self.state(), self.collector)

    def news(self) -> dict[str, np.ndarray]:
        """Return what was recorded since this was last asked."""
        return self.collector.news()

    def look(self) -> ChainDraws:
        """Return what was recorded, for a look at its accuracy."""
        return self.finish(True)

    def finish(self, completed: bool) -> ChainDraws:
        """Return what was recorded of chain 0, with the counts of its moves and of exchanges."""
        moves, exchanges = self.loop.counts()
        return self.collector.finish(np.concatenate([moves[0][:, self.job.blocks.kinds], exchanges], axis=1))


def population_posterior(
    regression: Regression, space: ModelSpace, settings: FitSettings, options: PopulationOptions
) -> Posterior:
    """Return the posterior that populations of chains found.

    Raises
    ------
    ParameterError
        If `start` is no feasible model with linearly independent columns.
    """
    n_swaps, starts, fixed, entropy = prepare(regression, space, settings, options, OWNER)
    blocks, every = block_moves(options, regression, space), thinning(regression, settings)
    least = regression.least_power(space.max_size)
    laws = [law.above(least) for law in options.laws()]
    job = PopulationJob(
        regression,
        space,
        settings.draws,
        settings.burn_in,
        settings.thin,
        n_swaps,
        starts,
        every,
        laws,
        options.temperatures,
        options.tune,
        fixed,
        blocks=blocks,
    )
    manner = Manner("population", (*blocks.names, *(f"exchange_{k + 1}" for k in range(len(laws)))))
    rule = stopping(settings, regression, space, manner, before=settings.before)
    drawn = settings.run(job, "population", n_draws, rule)
    posterior = summarise(
        drawn,
        regression=regression,
        space=space,
        manner=manner,
        entropy=entropy,
        coefficients_every=every,
        before=settings.before,
    )
    if options.temperatures == "paper":
        posterior.notes.append(
            "Temperatures were refreshed as printed (temperatures='paper'), which biases the posterior."
        )
    return posterior
