"""Population reversible-jump MCMC: adaptation and chains. The loop is in ``_population.pyx``."""

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pyrjsel.model_space import ModelSpace
from pyrjsel.runtime import DrawnChains, FitSettings
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.samplers.base import Job, no_counts
from pyrjsel.selection.samplers.recording.recorder import Block, Manner
from pyrjsel.selection.samplers.reversible_jump._population import TEMPERATURES, Population
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import (
    RJMCMC,
    JumpChain,
    JumpMoves,
)
from pyrjsel.selection.samplers.reversible_jump.temperatures import (
    Law,
    log_constants,
)
from pyrjsel.storage import Content

# Iterations between adaptation steps during burn-in. Changing it changes the draws for a given seed.
ADAPT_EVERY = 50
# Proportions of burn-in after which the sums for the normalising constants are reset.
RESTARTS = (0.1, 0.3)


@dataclass(frozen=True, kw_only=True)
class PopulationMoves(JumpMoves):
    """The moves of a population.

    Attributes
    ----------
    laws : tuple of Law
        Distributions of the inverse temperatures of auxiliary chains.
    scheme : str
    tune : bool
    """

    laws: tuple[Law, ...]
    scheme: str
    tune: bool


def _fixed(law: Law) -> float:
    return law.mean if law.kind == "hot" else 1.0 + law.mean


class PopulationChain(JumpChain):
    """One population: the recorded chain, and K auxiliary ones, each with a grid of G temperatures.

    Values of its state: models `gamma` (K + 1, J) and numbers `b` (K + 1, D + 1); `level` (K,), the grid
    positions of auxiliary chains; `grid`, `log_law`, `sums` and `visits` (K, G), the temperatures, their log
    weights, and sums for estimating these; `laws`; `moves` (K + 1, 2, moves), counted since the start, and
    after burn-in since its end; `exchanges` (2, K), counted since the last adaptation step, and after burn-in
    since its end.
    """

    every = restart_every = ADAPT_EVERY
    arrays: ClassVar[tuple[str, ...]] = ("log_law", "sums", "visits")

    @property
    def main(self) -> ReversibleJump:
        """The compiled chain with the posterior as its target."""
        return self.chains[0]

    @classmethod
    def first(cls, job: Job, chain: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return the values of a first state."""
        gamma, b = cls.first_vector(job, chain, rng)
        laws, k = job.setup.laws, len(job.setup.laws)
        means = [_fixed(law) for law in laws]
        if job.setup.scheme == "fixed":
            grid = np.array([[mean] for mean in means])
        else:
            grid = np.stack([law.grid() for law in laws])
        level = np.array([np.argmin(np.abs(row - mean)) for row, mean in zip(grid, means, strict=True)])
        return {
            "gamma": np.repeat(gamma[None], k + 1, axis=0),
            "b": np.repeat(b[None], k + 1, axis=0),
            "level": level.astype(np.intc),
            "grid": grid,
            **{name: np.zeros(grid.shape) for name in cls.arrays},
            "laws": [asdict(law) for law in laws],
            "moves": np.repeat(no_counts(len(job.setup.kinds))[None], k + 1, axis=0),
            "exchanges": no_counts(k),
        }

    @classmethod
    def read(cls, job: Job, known: Content) -> dict[str, Any]:
        """Return the values of a saved state."""
        k = len(job.setup.laws)
        grid, level = known.array("grid", float, (k, None)), known.array("level", np.intc, (k,))
        if (level < 0).any() or (level >= grid.shape[1]).any() or not (grid > 0).all():
            raise known.wrong("level", "places in a grid of temperatures")
        laws = [
            replace(first, a=law.number("a"), b=law.number("b"))
            for law, first in zip(known.parts("laws"), job.setup.laws, strict=True)
        ]
        return {
            **cls.read_vectors(job, known, k + 1),
            "level": level,
            "grid": grid,
            **{name: known.array(name, float, grid.shape) for name in cls.arrays},
            "laws": [asdict(law) for law in laws],
            "moves": known.array("moves", np.int64, (k + 1, 2, len(job.setup.kinds))),
            "exchanges": known.array("exchanges", np.int64, (2, k)),
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Create the chains and the loop over them at the values of a state."""
        self.chains = [self.new_loop(*state) for state in zip(values["gamma"], values["b"], strict=True)]
        self.laws = [Law(**law) for law in values["laws"]]
        self.grid, self.log_law = values["grid"].copy(), values["log_law"].copy()
        self.sums, self.visits = values["sums"].copy(), values["visits"].copy()
        self.loop = self._loop(values["level"])
        moves = np.array([self.job.setup.all_counts(counts) for counts in values["moves"]])
        self.loop.set_counts(moves, values["exchanges"])

    def _loop(self, level: np.ndarray) -> Population:
        return Population(self.chains, self.grid, level, TEMPERATURES[self.job.setup.scheme])

    def values(self) -> dict[str, Any]:
        """Return the values of the state between two iterations."""
        gamma, b = self.loop.states()
        moves, exchanges = self.loop.counts()
        return {
            "gamma": gamma,
            "b": b,
            "level": self.loop.levels(),
            "grid": self.grid.copy(),
            **{name: getattr(self, name).copy() for name in self.arrays},
            "laws": [asdict(law) for law in self.laws],
            "moves": moves[:, :, self.job.setup.kinds],
            "exchanges": exchanges,
        }

    def run(self, n: int, block: Block | None = None) -> tuple[int, int]:
        """Run `n` iterations; return the numbers of draws and coefficient vectors written into the block."""
        into = {"log_sums": self.sums, "visits": self.visits} if block is None else self.into(block)
        return self.loop.run(self.rng, n, self.log_law, **into)

    def counts(self) -> np.ndarray:
        """Return the counts of the moves of chain 0 and of exchanges."""
        moves, exchanges = self.loop.counts()
        return np.concatenate([moves[0][:, self.job.setup.kinds], exchanges], axis=1)

    def clear(self) -> None:
        """Reset the counts at the end of burn-in."""
        moves, exchanges = self.loop.counts()
        self.loop.set_counts(np.zeros_like(moves), np.zeros_like(exchanges))

    def mark(self) -> None:
        """In burn-in, adapt and restart; reset the counts at its end."""
        if self.done <= self.job.burn_in and self.done % self.every == 0:
            self.adapt()
        if self.done == self.job.burn_in:
            self.clear()

    def begin_anew(self) -> None:
        """Restart chain 0 from another mode, if a restart is due, and weight the temperatures."""
        super().begin_anew()
        self.weigh()

    def weigh(self) -> None:
        """Compute the weights of the temperatures from their distributions, the sums so far, and chain 0."""
        scheme = self.job.setup.scheme
        if scheme == "fixed":
            return
        parts = self.main.log_density()
        regression = self.job.regression
        columns = regression.leading + float(self.main.state()[0] @ np.diff(regression.term_start))
        for k, law in enumerate(self.laws):
            self.log_law[k] = law.logpdf(self.grid[k])
            if scheme == "exact":
                self.log_law[k] -= log_constants(
                    self.grid[k], self.sums[k], self.visits[k], columns, float(sum(parts))
                )

    def adapt(self) -> None:
        """Adapt once: tune the distributions and re-estimate the normalising constants."""
        moves, exchanges = self.loop.counts()
        setup, step = self.job.setup, self.done // self.every
        fixed = setup.scheme == "fixed"
        if setup.tune:
            rates = exchanges[1] / np.maximum(exchanges[0], 1)
            self.laws = [
                law.moved(float(rate), step, first.bounds(fixed=fixed))
                for law, rate, first in zip(self.laws, rates, setup.laws, strict=True)
            ]
        if fixed:
            self.grid = np.array([[_fixed(law)] for law in self.laws])
        # Exchanges have changed the order of the chains: restore that of a population created from its state.
        gamma, b = self.loop.states()
        for chain, own_gamma, own_b in zip(self.chains, gamma, b, strict=True):
            chain.set_state(own_gamma, own_b)
            chain.set_temperature(1.0)
        self.begin_anew()
        if any(step == int(share * self.job.burn_in) // self.every for share in RESTARTS):
            self.sums[:], self.visits[:] = 0.0, 0.0
        self.loop = self._loop(self.loop.levels())
        self.loop.set_counts(moves, np.zeros_like(exchanges))


class PopulationRJMCMC(RJMCMC):
    """Reversible-jump MCMC at several temperatures with exchanges of states."""

    name, kind = "population", PopulationChain

    def setup(
        self, regression: Any, space: ModelSpace, settings: FitSettings, options: Any, entropy: bytes
    ) -> PopulationMoves:
        """Return the moves of chains, and their temperatures."""
        moves = super().setup(regression, space, settings, options, entropy)
        least = regression.least_power(space.max_size)
        laws = tuple(law.above(least) for law in options.laws())
        return PopulationMoves(**vars(moves), laws=laws, scheme=options.scheme, tune=options.tune)

    def manner(self, job: Job, options: Any) -> Manner:
        """Return the properties of the chains that summaries depend on."""
        exchanges = (f"exchange_{k + 1}" for k in range(len(job.setup.laws)))
        return Manner(self.name, (*job.setup.names, *exchanges))

    def summarised(self, drawn: DrawnChains, job: Job, settings: FitSettings, **rest: Any) -> Posterior:
        """Return the posterior from the draws of chains."""
        posterior = super().summarised(drawn, job, settings, **rest)
        if job.setup.scheme == "paper":
            posterior.notes.append(
                "Temperatures were updated as in print (scheme='paper'), which biases the posterior."
            )
        return posterior
