"""The sampler `gibbs` of gaussian models: options, state, chains. The loop itself is in ``_gibbs.pyx``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar

import numpy as np

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel._validate import check_choice, check_int
from pyrjsel.model_space import ModelSpace, Space, families, family_rates
from pyrjsel.model_space.starts import checked_start, dispersed_start
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.conjugate import evidence_of
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.evidence.sampled_variance import density_evidence, variance_evidence
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers.gaussian_average import averaged_moments
from pyrjsel.selection.samplers.gibbs._gibbs import MOVES, Gibbs
from pyrjsel.selection.samplers.model_average import summarise
from pyrjsel.selection.samplers.moves import (
    SLOTS_BOUNDED,
    SLOTS_FREE,
    WIDEST_START,
    counted_moves,
    default_trades,
)
from pyrjsel.selection.samplers.rao_blackwell import WALK_ROWS, Averages, Segments, estimate
from pyrjsel.selection.samplers.recorder import (
    ChainDraws,
    Collector,
    Manner,
    Series,
    draw_afterwards,
    drawn_by,
    known_models,
    n_draws,
    plain_state,
    thinning,
    vectors,
)
from pyrjsel.selection.samplers.search import given_starts, new_start, next_stop, restart_is_due
from pyrjsel.selection.samplers.stopping import stopping
from pyrjsel.storage import Content, Plain

OWNER = "sampler='gibbs'"


@dataclass(frozen=True)
class GibbsOptions:
    """Options of ``fit(sampler="gibbs")``.

    Attributes
    ----------
    sweep : {"collapsed", "conditional"}
        Whether the coefficients are integrated out when terms are drawn (and sigma^2, where priors scale
        with it), or given: the classical sampler of stochastic search, which knows ``SpikeSlab`` alone.
    slots : int, optional
        Slot moves an iteration, in which a random term leaves and one drawn from its full conditional
        comes; None is 1, and 5 under a budget or a largest size, where sweeps move through deletions.
    families : int, optional
        Under heredity, families drawn in an iteration: of a random interaction and all that it needs it is
        decided together which terms are in. None is 1; in burn-in they are at least so many that the turn of
        each comes five times. Interactions of four variables and more have no family of their own.
    trades : int, optional
        Trades proposed in an iteration, in which some terms leave, one after the other, and others come in
        their place, which may be more or fewer. None is 3 under a budget or a largest size, 1 under heredity
        alone, and 0 elsewhere.
    start : None, "empty" or sequence of str
        Terms of the model to start from. None starts the first chain at the smallest model and the
        others at draws from the prior over models (of at most 50 free terms).
    """

    sweep: str = "collapsed"
    slots: int | None = None
    families: int | None = None
    trades: int | None = None
    start: Any = None

    # What fits were before this could be chosen.
    before: ClassVar[Mapping[str, Any]] = {"trades": 0}

    def __post_init__(self) -> None:
        check_choice(self.sweep, "sweep", OWNER, ("collapsed", "conditional"))
        if self.slots is not None:
            check_int(self.slots, "slots", OWNER, low=0)
        if self.families is not None:
            check_int(self.families, "families", OWNER, low=0)
        if self.trades is not None:
            check_int(self.trades, "trades", OWNER, low=0)
        object.__setattr__(self, "start", checked_start(self.start, OWNER))

    def slot_moves(self, space: ModelSpace) -> int:
        """Return the slot moves an iteration."""
        if self.slots is not None:
            return int(self.slots)
        return int(SLOTS_BOUNDED if space.bounded else SLOTS_FREE)

    def proposed_trades(self, space: ModelSpace) -> int:
        """Return the trades an iteration."""
        if self.trades is not None:
            return int(self.trades)
        return int(default_trades(space))


@dataclass
class GibbsState:
    """Everything that a chain's next draws depend on, as plain data.

    Attributes
    ----------
    gamma : uint8 array (J,)
    variance : float
        sigma^2; of no consequence where it is integrated out.
    bit_generator : mapping
        State of the chain's PCG64.
    done : int
        Iterations so far, burn-in included.
    counts : int64 array (2, moves)
        Proposals and changes after burn-in.
    """

    gamma: ByteArray
    variance: float
    bit_generator: Mapping[str, Any]
    done: int
    counts: IntArray


@dataclass
class GibbsJob:
    """The job of one chain; picklable."""

    regression: GaussianRegression
    space: ModelSpace
    draws: int
    burn_in: int
    thin: int
    classical: bool
    slots: int
    starts: ByteArray | None
    coefficients_every: int
    families: Sequence[IntArray] = ()
    family_rates: tuple[int, int] = (0, 0)
    trades: int = 0
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.burn_in + self.draws * self.thin

    @property
    def moves(self) -> tuple[str, ...]:
        """Names of the moves."""
        return tuple(MOVES[move] for move in self.counted)

    @property
    def counted(self) -> list[int]:
        """Numbers of the moves."""
        return counted_moves(self.family_rates[1], self.trades)

    @property
    def in_loop(self) -> bool:
        """Whether the loop draws coefficients and sigma^2."""
        return self.regression.prior.in_state

    def loop(self, gamma: ByteArray, variance: float) -> Gibbs:
        """Return a compiled chain at a state."""
        space = Space(self.space)
        moves: dict[str, Any] = {"slots": self.slots, "families": self.families, "trades": self.trades}
        if not self.in_loop:
            return Gibbs(evidence_of(self.regression), space, gamma, variance, **moves)
        full = variance_evidence(self.regression)
        density = density_evidence(self.regression) if self.classical else None
        return Gibbs(
            full if density is None else density,
            space,
            gamma,
            variance,
            coefficients=full,
            density=density,
            **moves,
        )

    def start(self, seed: np.random.SeedSequence, chain: int) -> "GibbsRunner":
        """Return a chain at its first state."""
        rng = np.random.Generator(np.random.PCG64(seed))
        if self.starts is not None:
            gamma = self.starts[chain % len(self.starts)]
        elif chain == 0:
            gamma = self.space.empty_model()
        else:
            most = int(self.space.n_terms - self.space.free.sum()) + WIDEST_START
            gamma = dispersed_start(self.space, existence(self.regression), rng, most)
        # The error variance of the model without terms: any would do.
        variance = self.regression.total / self.regression.nu
        counts = np.zeros((2, len(self.moves)), dtype=np.int64)
        runner = GibbsRunner(self, GibbsState(gamma, variance, rng.bit_generator.state, 0, counts))
        runner.chain = chain
        runner.begin_anew()
        return runner

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> "GibbsRunner":
        """Return the chain of a state and of what was recorded before it."""
        known = state.part("chain")
        if known.number("variance") <= 0:
            raise known.wrong("variance", "positive")
        runner = GibbsRunner(
            self,
            GibbsState(
                known_models(known, (self.space.n_terms,), self.space),
                known.number("variance"),
                known.pcg64("bit_generator"),
                known.integer("done", high=self.total),
                known.array("counts", np.int64, (2, len(self.moves))),
            ),
        )
        runner.chain = chain
        runner.collector.restore(state.part("totals"), recorded)
        return runner

    def recorded(self, result: "GibbsDraws") -> dict[str, np.ndarray]:
        """Return what the chain of a result had recorded; what is drawn afterwards is drawn again."""
        held = drawn_by(result)
        if self.in_loop and result.error_variance is not None:
            held.update(coefficients=vectors(result, 0), variance=result.error_variance)
        return held


def existence(regression: GaussianRegression) -> Callable[[ByteArray], bool]:
    """Return what says whether a model (J,) has a coefficient prior."""
    if regression.prior.rank_tol == 0:
        return lambda gamma: True
    evidence = evidence_of(regression)
    return lambda gamma: bool(np.isfinite(evidence.values(gamma[None])[0]))


class GibbsCollector(Collector):
    """Collects the draws of one chain, its averages, and sigma^2.

    Parameters
    ----------
    job : GibbsJob
    """

    series: ClassVar[tuple[str, ...]] = (*Collector.series, "variance")

    def __init__(self, job: GibbsJob) -> None:
        self.variance = Series(np.empty(0))
        super().__init__(job.space.n_terms, job.regression.n_columns, job.coefficients_every)
        self.sums = np.zeros((6, job.regression.n_columns))
        self.averages = Averages(WALK_ROWS, job.space.n_terms)

    def totals(self) -> dict[str, np.ndarray]:
        """Return the arrays of sums over draws."""
        return {**super().totals(), **self.averages.totals()}

    def restore(self, totals: Content, recorded: Mapping[str, np.ndarray]) -> None:
        """Have sums, and what was recorded beside them, in a collector that has nothing yet."""
        super().restore(totals, recorded)
        self.averages.check()


@dataclass
class GibbsDraws(ChainDraws):
    """The draws of one chain.

    Attributes
    ----------
    averages : Segments
        Sums over draws.
    """

    averages: Segments = field(kw_only=True)


class GibbsRunner:
    """One chain: the compiled loop, its generator and what it has recorded."""

    chain = 0

    def __init__(self, job: GibbsJob, state: GibbsState, collector: GibbsCollector | None = None) -> None:
        self.job = job
        self.rng = np.random.Generator(np.random.PCG64())
        self.rng.bit_generator.state = dict(state.bit_generator)
        self.loop = job.loop(state.gamma, state.variance)
        self.done = state.done
        self.set_counts(state.counts)
        self.loop.set_families(job.family_rates[self.done >= job.burn_in])
        self.collector = collector or GibbsCollector(job)
        regression = job.regression
        self.intercept = (
            np.ascontiguousarray(regression.raw_shift[1:]), regression.centre, regression.total_weight,
        )  # fmt: skip

    def advance(self, n: int) -> None:
        """Run `n` more iterations."""
        job, stop = self.job, self.done + n
        while self.done < min(stop, job.burn_in):
            until = min(stop, next_stop(job.burn_in, self.done))
            self.loop.run(self.rng, until - self.done)
            self.done = until
            self.begin_anew()
            if self.done == job.burn_in:
                self.set_counts(np.zeros((2, len(job.moves)), dtype=np.int64))
                self.loop.set_families(job.family_rates[1])
        while self.done < stop:
            recorded = self.done - job.burn_in
            sums, end = self.collector.averages.at(recorded // job.thin)
            self._record(min(stop, job.burn_in + end * job.thin) - self.done, recorded, sums)

    def set_counts(self, counts: IntArray) -> None:
        """Have the loop go on counting."""
        every = np.zeros((2, len(MOVES)), dtype=np.int64)
        every[:, self.job.counted] = counts
        self.loop.set_counts(every)

    def counts(self) -> IntArray:
        """Return proposals and changes by move."""
        return self.loop.counts()[:, self.job.counted]

    def _record(self, n: int, recorded: int, averages: FloatArray) -> None:
        """Run `n` iterations within one segment of the averages, `recorded` after burn-in."""
        job, collector = self.job, self.collector
        block = collector.room(n // job.thin + 1)
        variance = np.empty(len(block.coefficients))
        kept, kept_b = self.loop.run(
            self.rng,
            n,
            done=recorded,
            thin=job.thin,
            words=block.words,
            log_posterior=block.log_posterior,
            averages=averages,
            variance=variance,
            coefficients=block.coefficients,
            every=job.coefficients_every,
            sums=collector.sums,
            intercept=self.intercept,
        )
        collector.add(block, kept, kept_b)
        collector.variance.append(variance[:kept_b])
        self.done += n

    def begin_anew(self) -> None:
        """Go to another mode, where it is time to look for one and one is found."""
        job = self.job
        if restart_is_due(job, self.done, 1):
            gamma, variance = self.loop.state()
            mode = new_start(job.regression, job.space, gamma, self.chain, job.burn_in, variance)
            if mode is not None:
                counts = self.counts()
                self.loop = job.loop(mode, variance)
                self.set_counts(counts)
                self.loop.set_families(job.family_rates[0])

    def state(self) -> GibbsState:
        """Return the state between two iterations; a runner made of it goes on to the same draws."""
        gamma, variance = self.loop.state()
        return GibbsState(gamma, variance, self.rng.bit_generator.state, self.done, self.counts())

    def plain_state(self) -> Plain:
        """Return the state as plain data, with sums over draws."""
        return plain_state(self.state(), self.collector)

    def news(self) -> dict[str, np.ndarray]:
        """Return what was recorded since this was last asked."""
        return self.collector.news()

    def look(self) -> GibbsDraws:
        """Return what was recorded."""
        collector = self.collector
        found = collector.finish(self.counts())
        return GibbsDraws(
            found.words,
            found.index,
            found.log_posterior,
            found.coefficients,
            found.sums,
            found.counts,
            collector.variance.rows,
            averages=collector.averages.of(self.done - self.job.burn_in, self.job.thin, 1.0),
        )

    def finish(self, completed: bool) -> GibbsDraws:
        """Return what was recorded, with coefficients for every so manyth draw."""
        found = self.look()
        if self.job.in_loop:
            return found
        # A stream of its own: a chain that goes on after this one goes on to the same draws.
        ahead: Any = np.random.PCG64()
        ahead.state = self.rng.bit_generator.state
        coefficients, variance = draw_afterwards(
            SingleModels(self.job.regression),
            self.collector.table,
            found.index[:: self.job.coefficients_every],
            np.random.Generator(ahead.jumped()),
        )
        return replace(found, coefficients=coefficients, error_variance=variance)


def gibbs_posterior(
    regression: GaussianRegression, space: ModelSpace, settings: FitSettings, options: GibbsOptions
) -> Posterior:
    """Return the posterior that Gibbs samplers found.

    Raises
    ------
    NotAvailableError
        If ``sweep="conditional"`` is asked for with a prior that has a point mass at 0.
    ParameterError
        If `start` is no feasible model with linearly independent columns.
    DataError
        If models have no posterior.
    """
    regression.check_models(space.max_size)
    classical = options.sweep == "conditional" and bool(regression.mean.size)
    if classical and regression.prior.ratio is None:
        raise NotAvailableError(
            f"sweep='conditional' of {OWNER} needs a SpikeSlab as 'coef_prior': given coefficients, of which "
            "those outside the model are 0, no term could move under other priors."
        )
    entropy = settings.entropy()
    every = thinning(regression, settings)
    found = families(space)
    searching, sampling = map(ceil, family_rates(len(found), options.families, settings.burn_in))
    job = GibbsJob(
        regression,
        space,
        settings.draws,
        settings.burn_in,
        settings.thin,
        classical,
        options.slot_moves(space),
        given_starts(settings, options.start, space, existence(regression), OWNER),
        every,
        found,
        (searching, sampling),
        options.proposed_trades(space),
    )
    before = settings.before if job.in_loop else 0
    density = regression.prior.given_variance
    manner = Manner("gibbs", job.moves, density=density, pairs=0, masses=not job.in_loop)
    rule = stopping(settings, regression, space, manner, estimate, before)
    drawn = settings.run(job, "gibbs", n_draws, rule)
    return summarise(
        drawn,
        regression=regression,
        space=space,
        manner=manner,
        entropy=entropy,
        coefficients_every=every,
        estimator=estimate,
        averager=None if job.in_loop else partial(averaged_moments, regression, space),
        before=before,
    )
