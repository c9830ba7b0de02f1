"""Reversible-jump MCMC: options, state, chains. The loop itself is in ``_rjmcmc.pyx``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel._validate import bad_value, check_choice, check_int
from pyrjsel.model_space import ModelSpace, families
from pyrjsel.model_space.starts import checked_start, dispersed_start
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.evidence.surrogate import Surrogate
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
from pyrjsel.selection.samplers.reversible_jump._moves import MOVES
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump
from pyrjsel.selection.samplers.reversible_jump.chain import make_chain
from pyrjsel.selection.samplers.reversible_jump.proposal import entry_weights, full_model_proposal
from pyrjsel.selection.samplers.reversible_jump.surrogate_jumps import (
    SurrogateJumps,
    SurrogateLoop,
    learn_surrogate,
)
from pyrjsel.selection.samplers.search import given_starts, new_start, restart_after, restart_is_due
from pyrjsel.selection.samplers.stopping import stopping
from pyrjsel.storage import Content, Plain

OWNER = "sampler='rjmcmc'"
# Moves in the order in which loops count them.
ALL_MOVES = (*MOVES, "surrogate")
# Trades an iteration where there is something for them to do.
TRADES = 8


@dataclass(frozen=True)
class BlockMoves:
    """Moves of several terms that chains make in an iteration.

    Attributes
    ----------
    trades, family_moves, surrogate : int
    families : tuple of int array
        Each a term with what heredity makes it need; see ``pyrjsel.model_space.families``.
    entry : ndarray (J,), optional
        Weights with which trades choose the term that comes in; None is the same for all.
    learnt : Surrogate, optional
        The surrogate of these jumps, of which there are `surrogate` per iteration.
    """

    trades: int = 0
    family_moves: int = 0
    families: tuple[IntArray, ...] = ()
    entry: FloatArray | None = None
    surrogate: int = 0
    learnt: Surrogate | None = None

    @property
    def kinds(self) -> list[int]:
        """Places in ALL_MOVES of what is proposed: counts of others are not kept."""
        made = (4, self.trades), (5, self.family_moves), (6, self.surrogate)
        return [0, 1, 2, 3, *(k for k, count in made if count)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what is proposed."""
        return tuple(ALL_MOVES[k] for k in self.kinds)

    def counts(self) -> np.ndarray:
        """Return counts of proposals and acceptances, none so far."""
        return np.zeros((2, len(self.kinds)), dtype=np.int64)

    def all_counts(self, counts: np.ndarray) -> np.ndarray:
        """Return counts (2, kinds) as loops have them, (2, moves)."""
        found = np.zeros((2, len(ALL_MOVES if self.surrogate else MOVES)), dtype=np.int64)
        found[:, self.kinds] = counts
        return found


NO_BLOCKS = BlockMoves()


@dataclass(frozen=True)
class JumpOptions:
    """Options that all reversible-jump samplers have.

    Attributes
    ----------
    proposal : {"conditional", "full"}
        A term's new coefficients come from one Newton step given all other coefficients, or from
        the normal approximation to the posterior of the full model.
    swaps : int, optional
        Swap proposals an iteration; None is as many as there are free terms under a budget or a
        largest size, where flips alone move through deletions, and a quarter of that elsewhere.
    trades : int, optional
        Trades an iteration: a term, with what heredity makes it need, comes in and as many others leave as
        a budget or a largest size asks for (at most 20), or the reverse. None is 8 where swaps of one term
        for another are not enough, because prices differ or heredity makes terms come together, and 0
        elsewhere.
    entry : {"score", "uniform"}
        How a trade chooses the term that comes in: half of the time in proportion to its score statistic in
        the model of intercept and offset alone, which is about 1 for a term without effect, and else each
        term outside with equal probability; or always so. What is drawn from stays the posterior.
    families : int, optional
        Under heredity, proposals an iteration that decide on an interaction and all that it needs together,
        since one whose main effects are weak is found by no other way. None is a quarter of the number of
        interactions. Interactions of four variables and more have no family of their own.
    start : None, "empty" or sequence of str
        Terms of the model to start from. None starts the first chain at the smallest model and the
        others at draws from the prior over models.
    """

    proposal: str = "conditional"
    swaps: int | None = None
    trades: int | None = None
    entry: str = "score"
    families: int | None = None
    start: str | Sequence[str] | None = None

    # What results of versions without these options were drawn with.
    before: ClassVar[Mapping[str, Any]] = {"trades": 0, "families": 0, "entry": "uniform"}

    def check(self, owner: str) -> None:
        """Check the options that every reversible-jump sampler has."""
        check_choice(self.proposal, "proposal", owner, ("conditional", "full"))
        check_choice(self.entry, "entry", owner, ("score", "uniform"))
        for name in ("swaps", "trades", "families"):
            if getattr(self, name) is not None:
                check_int(getattr(self, name), name, owner, low=0)
        object.__setattr__(self, "start", checked_start(self.start, owner))


@dataclass(frozen=True)
class RJMCMCOptions(JumpOptions):
    """Options of ``fit(sampler="rjmcmc")``: those of :class:`JumpOptions`, and surrogate jumps.

    Attributes
    ----------
    surrogate : int
        Surrogate jumps per iteration, for models that are not linear: the proposed model is the end of a walk
        on an approximate posterior, and its coefficients are drawn around their mode. A jump takes as long as
        several iterations of single moves and can change many terms at once. The default is 0;
        ``sampler="auto"`` uses 1 for data that are nearly separated.
    """

    surrogate: int = 0

    def __post_init__(self) -> None:
        self.check(OWNER)
        check_int(self.surrogate, "surrogate", OWNER, low=0)


@dataclass
class RJState:
    """Everything that a chain's next draws depend on, as plain data.

    Attributes
    ----------
    gamma : uint8 array (J,)
    b : float64 array (D + 1,)
        Coefficients on the internal scale; then sigma^2 and log g, for gaussian models.
    bit_generator : mapping
        State of the chain's PCG64.
    done : int
        Iterations so far, burn-in included.
    counts : int64 array (2, moves)
        Proposals and acceptances after burn-in.
    """

    gamma: ByteArray
    b: FloatArray
    bit_generator: Mapping[str, Any]
    done: int
    counts: np.ndarray


@dataclass
class RJJob:
    """The job of one chain; picklable."""

    regression: Regression
    space: ModelSpace
    draws: int
    burn_in: int
    thin: int
    n_swaps: int
    starts: ByteArray | None
    coefficients_every: int
    fixed: tuple[FloatArray, FloatArray] | None = None
    blocks: BlockMoves = field(default=NO_BLOCKS, kw_only=True)
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.burn_in + self.draws * self.thin

    def start(self, seed: np.random.SeedSequence, chain: int) -> "RJRunner":
        """Return a chain at its first state."""
        rng = np.random.Generator(np.random.PCG64(seed))
        gamma, b = first_state(self.regression, self.space, self.starts, chain, rng)
        state = RJState(gamma, b, rng.bit_generator.state, 0, self.blocks.counts())
        runner = RJRunner(self, state)
        runner.chain = chain
        runner.begin_anew()
        return runner

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "RJRunner":
        """Return the chain of a state and of what was recorded before it."""
        known, regression = state.part("chain"), self.regression
        runner = RJRunner(
            self,
            RJState(
                known_models(known, (self.space.n_terms,), self.space),
                known.array("b", float, (regression.n_columns + regression.n_extra,)),
                known.pcg64("bit_generator"),
                known.integer("done", high=self.total),
                known.array("counts", np.int64, (2, len(self.blocks.kinds))),
            ),
        )
        runner.chain = chain
        runner.collector.restore(state.part("totals"), recorded)
        return runner

    def recorded(self, result: ChainDraws) -> dict[str, np.ndarray]:
        """Return what the chain of a result had recorded."""
        return {**drawn_by(result), "coefficients": vectors(result, self.regression.n_extra)}


def first_state(
    regression: Regression,
    space: ModelSpace,
    starts: ByteArray | None,
    chain: int,
    rng: np.random.Generator,
) -> tuple[ByteArray, FloatArray]:
    """Return the model to start from (the given one, the smallest, or one from the prior) and its numbers.

    Given ones `starts` (m, J) are taken in turn.

    These are its mode, and what else states have.
    """
    at, extra = regression.first()
    marginal = MarginalLikelihood(at, b"", 2, regression.widest(space.max_size))
    if starts is not None:
        gamma = starts[chain % len(starts)]
    elif chain == 0:
        gamma = space.empty_model()
    else:
        gamma = dispersed_start(space, marginal.exists, rng)
    b = marginal.mode(gamma)
    marginal.check_mode()
    return gamma, np.concatenate([b, extra])


def other_mode(
    regression: Regression, space: ModelSpace, gamma: ByteArray, b: FloatArray, chain: int, iterations: int
) -> tuple[ByteArray, FloatArray] | None:
    """Return the mode where a chain begins anew in burn-in, and its numbers; None if it goes on from its own.

    The chain is at a model (J,) with its numbers (D + 1 + n_extra,), of burn-in with so many iterations.
    """
    variance = float(b[regression.n_columns]) if regression.n_extra else None
    mode = new_start(regression, space, gamma, chain, iterations, variance)
    at, extra = regression.first()
    marginal = MarginalLikelihood(at, b"", 2, regression.widest(space.max_size))
    if mode is None or not marginal.exists(mode):
        return None
    return mode, np.concatenate([marginal.mode(mode), extra])


def make_loop(
    regression: Regression,
    space: ModelSpace,
    gamma: ByteArray,
    b: FloatArray,
    n_swaps: int,
    fixed: tuple[FloatArray, FloatArray] | None,
    blocks: BlockMoves,
) -> ReversibleJump:
    """Return a compiled chain at a state."""
    fixed_mean, fixed_factor = fixed or (None, None)
    return make_chain(
        regression,
        space,
        gamma,
        b,
        max_columns=regression.widest(space.max_size),
        raw_shift=regression.raw_shift,
        origin=regression.origin,
        n_swaps=n_swaps,
        n_trades=blocks.trades,
        n_family_moves=blocks.family_moves,
        families=blocks.families,
        entry=blocks.entry,
        fixed_mean=fixed_mean,
        fixed_factor=fixed_factor,
    )


def with_surrogate(
    loop: ReversibleJump, regression: Regression, space: ModelSpace, blocks: BlockMoves
) -> ReversibleJump | SurrogateLoop:
    """Return a chain with the surrogate jumps that it makes, if any."""
    if blocks.learnt is None:
        return loop
    return SurrogateLoop(loop, SurrogateJumps(regression, space, blocks.learnt), blocks.surrogate)


class RJRunner:
    """One chain: the compiled loop, its generator and what it has recorded."""

    chain = 0

    def __init__(self, job: RJJob, state: RJState, collector: Collector | None = None) -> None:
        self.job = job
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = dict(state.bit_generator)
        self.loop = with_surrogate(
            make_loop(job.regression, job.space, state.gamma, state.b, job.n_swaps, job.fixed, job.blocks),
            job.regression,
            job.space,
            job.blocks,
        )
        self.loop.set_counts(job.blocks.all_counts(state.counts))
        self.done = state.done
        self.collector = collector or Collector(
            job.space.n_terms,
            job.regression.n_columns,
            job.coefficients_every,
            job.regression.n_extra,
        )

    def advance(self, n: int) -> None:
        """Run `n` more iterations."""
        burn = min(n, max(0, self.job.burn_in - self.done))
        if burn:
            self.burn(burn)
            self.done += burn
            if self.done == self.job.burn_in:
                self.loop.set_counts(self.job.blocks.all_counts(self.job.blocks.counts()))
        if n > burn:
            recorded = self.done - self.job.burn_in
            block = self.collector.room((n - burn) // self.job.thin + 1)
            kept, kept_b = self.loop.run(
                self.rng,
                n - burn,
                done=recorded,
                thin=self.job.thin,
                words=block.words,
                log_posterior=block.log_posterior,
                coefficients=block.coefficients,
                every=self.job.coefficients_every,
                sums=self.collector.sums,
            )
            self.collector.add(block, kept, kept_b)
            self.done += n - burn

    def burn(self, n: int) -> None:
        """Run `n` more iterations of burn-in."""
        first = restart_after(self.job.burn_in, 1) - self.done
        if 0 < first <= n:
            self.loop.run(self.rng, first)
            self.begin_anew(first)
            n -= first
        if n:
            self.loop.run(self.rng, n)

    def begin_anew(self, more: int = 0) -> None:
        """Go to another mode, where it is time to look for one after so many more iterations."""
        job = self.job
        if restart_is_due(job, self.done + more, 1):
            mode = other_mode(job.regression, job.space, *self.loop.state(), self.chain, job.burn_in)
            if mode is not None:
                self.loop.set_state(*mode)

    def state(self) -> RJState:
        """Return the state between two iterations; a runner made of it goes on to the same draws."""
        gamma, b = self.loop.state()
        return RJState(gamma, b, self.rng.bit_generator.state, self.done, self.counts())

    def counts(self) -> np.ndarray:
        """Return counts of what is proposed."""
        return self.loop.counts()[:, self.job.blocks.kinds]

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
        """Return what was recorded."""
        return self.collector.finish(self.counts())


def rjmcmc_posterior(
    regression: Regression, space: ModelSpace, settings: FitSettings, options: RJMCMCOptions
) -> Posterior:
    """Return the posterior that reversible-jump chains found.

    Raises
    ------
    ParameterError
        If `start` is no feasible model with linearly independent columns.
    """
    n_swaps, starts, fixed, entropy = prepare(regression, space, settings, options, OWNER)
    blocks, every = block_moves(options, regression, space), thinning(regression, settings)
    blocks = surrogate_jumps(blocks, options, regression, space)
    job = RJJob(
        regression,
        space,
        settings.draws,
        settings.burn_in,
        settings.thin,
        n_swaps,
        starts,
        every,
        fixed,
        blocks=blocks,
    )
    manner = Manner("rjmcmc", blocks.names)
    rule = stopping(settings, regression, space, manner, before=settings.before)
    drawn = settings.run(job, "rjmcmc", n_draws, rule)
    return summarise(
        drawn,
        regression=regression,
        space=space,
        manner=manner,
        entropy=entropy,
        coefficients_every=every,
        before=settings.before,
    )


def prepare(
    regression: Regression,
    space: ModelSpace,
    settings: FitSettings,
    options: JumpOptions,
    owner: str,
) -> tuple[int, ByteArray | None, tuple[FloatArray, FloatArray] | None, bytes]:
    """Return swaps an iteration, the models to start from, the fixed proposal, and the seed of the fit."""
    at, _ = regression.first()
    fixed = full_model_proposal(at) if options.proposal == "full" else None
    marginal = MarginalLikelihood(at, b"", 2, regression.n_columns)
    starts = given_starts(settings, options.start, space, marginal.exists, owner)
    return _swaps(options, space), starts, fixed, settings.entropy()


def _swaps(options: JumpOptions, space: ModelSpace) -> int:
    free = int(np.sum(space.free))
    if free < 2:
        return 0
    if options.swaps is not None:
        return options.swaps
    return free if space.bounded else -(-free // 4)


def block_moves(options: JumpOptions, regression: Regression, space: ModelSpace) -> BlockMoves:
    """Return the moves of several terms that chains make."""
    groups = tuple(families(space))
    trades = options.trades
    if trades is None:
        trades = TRADES if space.bounded and (groups or not _alike(space)) else 0
    moves = options.families
    if moves is None:
        moves = -(-len(groups) // 4)
    trades = trades if np.sum(space.free) > 1 else 0
    entry = entry_weights(regression, space) if trades and options.entry == "score" else None
    return BlockMoves(trades, moves if groups else 0, groups, entry)


def surrogate_jumps(
    blocks: BlockMoves, options: RJMCMCOptions, regression: Regression, space: ModelSpace
) -> BlockMoves:
    """Return the moves with surrogate jumps as `options` has them.

    Raises
    ------
    ParameterError
        For linear models.
    """
    if not options.surrogate:
        return blocks
    if regression.n_extra:
        raise bad_value("surrogate", OWNER, "0 for linear models", options.surrogate)
    return replace(blocks, surrogate=options.surrogate, learnt=learn_surrogate(regression, space))


def _alike(space: ModelSpace) -> bool:
    """Whether a bound lets any free term in for any other one."""
    if not np.isfinite(space.budget):
        return True
    free = np.flatnonzero(space.free)
    items = [space.items_of(int(term)).tolist() for term in free]
    prices = {sum(float(space.item_cost[item]) for item in held) for held in items}
    shared = len({item for held in items for item in held}) < sum(map(len, items))
    return len(prices) < 2 and not shared
