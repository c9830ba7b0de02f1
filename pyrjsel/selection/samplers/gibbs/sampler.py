"""The sampler `gibbs` of gaussian models: options, chains. The loop itself is in ``_gibbs.pyx``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import ByteArray, IntArray
from pyrjsel.families import NONE, Nuisance
from pyrjsel.model_space import ModelSpace, Space, block_rates, term_blocks
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.gaussian import SingleModels, density_evidence, evidence_of, variance_evidence
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers.base import (
    MCMC,
    Chain,
    Job,
    chain_models,
    counted_moves,
    no_counts,
)
from pyrjsel.selection.samplers.gibbs._gibbs import MOVES, Gibbs
from pyrjsel.selection.samplers.options import WIDEST_START
from pyrjsel.selection.samplers.recording.averages import WALK_ROWS
from pyrjsel.selection.samplers.recording.gaussian_average import averaged_moments
from pyrjsel.selection.samplers.recording.rao_blackwell import estimate
from pyrjsel.selection.samplers.recording.recorder import Block, Collector, Manner
from pyrjsel.storage import Content


@dataclass(frozen=True)
class GibbsMoves:
    """The moves of an iteration.

    Attributes
    ----------
    classical : bool
        Whether indicators are drawn given coefficients.
    swaps, trades : int
    blocks : sequence of int array
        Each a term with the terms that heredity requires.
    block_rates : tuple of int
        Block updates per iteration during burn-in and after it.
    """

    classical: bool
    swaps: int
    trades: int = 0
    blocks: Sequence[IntArray] = ()
    block_rates: tuple[int, int] = (0, 0)

    @property
    def kinds(self) -> list[int]:
        """Positions in MOVES of the proposed moves."""
        return counted_moves(self.block_rates[1], self.trades)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the proposed moves."""
        return tuple(MOVES[move] for move in self.kinds)


def in_loop(regression: GaussianRegression) -> bool:
    """Whether the loop draws coefficients and sigma^2."""
    return bool(regression.prior.in_state)


class GibbsChain(Chain):
    """One chain.

    Values of its state: model `gamma`; `variance`, sigma^2, unused if it is integrated out; and `counts` of
    moves.
    """

    loop: Gibbs

    @classmethod
    def nuisance(cls, regression: Any) -> Nuisance | None:
        """Return the nuisance parameters recorded after each vector of coefficients; None without vectors."""
        return NONE if in_loop(regression) else None

    @classmethod
    def single(cls, job: Job) -> SingleModels:
        """Return an evaluator of single models; each chain needs its own."""
        return SingleModels(job.regression)

    @classmethod
    def existence(cls, job: Job) -> Callable[[ByteArray], bool]:
        """Return a function that says whether a model (J,) has a coefficient prior."""
        if job.regression.prior.rank_tol == 0:
            return lambda gamma: True
        evidence = evidence_of(job.regression)
        return lambda gamma: bool(np.isfinite(evidence.values(gamma[None])[0]))

    @classmethod
    def first(cls, job: Job, chain: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return the values of a first state, with the error variance of the null model."""
        most = int(job.space.n_terms - job.space.free.sum()) + WIDEST_START
        gamma = job.first_model(chain, rng, most)
        variance = job.regression.total / job.regression.nu
        return {"gamma": gamma, "variance": variance, "counts": no_counts(len(job.setup.kinds))}

    @classmethod
    def read(cls, job: Job, known: Content) -> dict[str, Any]:
        """Return the values of a saved state."""
        if known.number("variance") <= 0:
            raise known.wrong("variance", "positive")
        return {
            "gamma": chain_models(job, known),
            "variance": known.number("variance"),
            "counts": known.array("counts", np.int64, (2, len(job.setup.kinds))),
        }

    def new_collector(self) -> Collector:
        """Return an empty collector of draws, averages and sigma^2."""
        job = self.job
        width, every = job.regression.n_columns, job.coefficients_every
        own = job.regression.family.nuisance.names
        return Collector(job.space.n_terms, width, every, rows=WALK_ROWS, more=own, n_sums=6)

    def restore(self, values: dict[str, Any]) -> None:
        """Create the loop at the values of a state."""
        regression = self.job.regression
        self.intercept = (
            np.ascontiguousarray(regression.raw_shift[1:]), regression.centre, regression.total_weight,
        )  # fmt: skip
        self.make_loop(values["gamma"], values["variance"], values["counts"])

    def make_loop(self, gamma: ByteArray, variance: float, counts: IntArray) -> None:
        """Create the compiled chain at a state, with counts so far."""
        job, setup = self.job, self.job.setup
        space, regression = Space(job.space), job.regression
        moves: dict[str, Any] = {"slots": setup.swaps, "families": setup.blocks, "trades": setup.trades}
        if not in_loop(regression):
            self.loop = Gibbs(evidence_of(regression), space, gamma, variance, **moves)
        else:
            full = variance_evidence(regression)
            density = density_evidence(regression) if setup.classical else None
            first = full if density is None else density
            self.loop = Gibbs(first, space, gamma, variance, coefficients=full, density=density, **moves)
        every = no_counts(len(MOVES))
        every[:, setup.kinds] = counts
        self.loop.set_counts(every)
        self.loop.set_families(setup.block_rates[self.done >= job.burn_in])

    def values(self) -> dict[str, Any]:
        """Return the values of the state between two iterations."""
        gamma, variance = self.loop.state()
        return {"gamma": gamma, "variance": variance, "counts": self.counts()}

    def run(self, n: int, block: Block | None = None) -> tuple[int, int]:
        """Run `n` iterations; return the numbers of draws and coefficient vectors written into the block."""
        into = self.into(block)
        if block is not None:
            assert self.collector.averages is not None
            averages = self.collector.averages.at(into["done"] // self.job.thin)[0]
            into.update(averages=averages, variance=block.variance, intercept=self.intercept)
        return self.loop.run(self.rng, n, **into)

    def counts(self) -> IntArray:
        """Return proposals and changes by move."""
        return self.loop.counts()[:, self.job.setup.kinds]

    def clear(self) -> None:
        """Reset the counts at the end of burn-in."""
        self.loop.set_counts(no_counts(len(MOVES)))
        self.loop.set_families(self.job.setup.block_rates[1])

    def position(self) -> tuple[ByteArray, float | None]:
        """Return the model that the chain is at, and sigma^2."""
        return self.loop.state()

    def move_to(self, gamma: ByteArray) -> None:
        """Go to a model."""
        self.make_loop(gamma, self.loop.state()[1], self.counts())


class GibbsSampler(MCMC):
    """Gibbs sampling: terms are drawn one after the other from their full conditionals; for linear models."""

    name, kind = "gibbs", GibbsChain

    def prepared(self, regression: Any, space: ModelSpace) -> GaussianRegression:
        """Return the regression, after checking that its models have a posterior."""
        regression.check_models(space.max_size)
        return regression

    def setup(
        self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any, entropy: bytes
    ) -> GibbsMoves:
        """Return the moves of an iteration."""
        classical = options.scheme == "conditional" and bool(regression.mean.size)
        if classical and regression.prior.ratio is None:
            raise NotAvailableError(
                f"scheme='conditional' of {called()} needs a SpikeSlab as 'coef_prior': under other "
                "priors the coefficients of excluded terms are exactly 0, and conditional updates "
                "could not move a term."
            )
        found = term_blocks(space)
        searching, sampling = map(ceil, block_rates(len(found), options.blocks, settings.burn_in))
        swaps, trades = options.proposed_swaps(space), options.proposed_trades(space)
        return GibbsMoves(classical, swaps, trades, found, (searching, sampling))

    def manner(self, job: Job, options: Any) -> Manner:
        """Return the properties of the chains that summaries depend on."""
        drawn = in_loop(job.regression)
        return Manner(
            self.name,
            job.setup.names,
            density=job.regression.prior.given_variance,
            pairs=0,
            masses=not drawn,
            estimator=estimate,
            averager=None if drawn else partial(averaged_moments, job.regression, job.space),
        )
