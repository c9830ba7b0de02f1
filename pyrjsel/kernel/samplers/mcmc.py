"""The batch sampler of kernel regression: the filter's invariant moves, on all rows at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._called import warn
from pyrjsel._errors import ConvergenceWarning
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray
from pyrjsel.kernel.posterior import EqualDraws, KernelPosterior
from pyrjsel.kernel.samplers.columns import Columns
from pyrjsel.kernel.samplers.particles import loop_of, start
from pyrjsel.kernel.samplers.serialization import columns_to_plain, particles_from_plain, parts_from_plain
from pyrjsel.kernel.state import MOVES, KernelDraws, KernelSettings, Particles
from pyrjsel.report import indicator_stats, scalar_stats
from pyrjsel.report.errors import model_stats
from pyrjsel.report.mixing import NEVER, R_HAT, inclusion_figures, mixing_figures, poor_mixing
from pyrjsel.runtime import Accuracy, DrawnChains, Ends, Figure, FitSettings, Rule, RunTime
from pyrjsel.storage import Content, Plain

# Default accuracy of automatic runs. Errors are in posterior deviations: 0.05
# is 400 effective draws. Chains remember some 10 to 300 iterations, of which a run that stops by itself keeps
# every tenth: a first round of 4,000 takes some hundredths of a second. All draws are in memory, which takes
# 40 MB for the longest run of four chains of up to 50 kernels, and predictions go through all of them.
USUAL = Accuracy(mcse=0.05, max_draws=10_000, first=400)
# Burn-in and thinning of such a run.
WARM, THIN = 1000, 10
# Centres that a summary lists where nothing is said, the most probable ones.
TOP = 10
# A quantity of two values has a deviation of at most one half.
LARGEST_SD = 0.5

# Quantities of the diagnostics, in words.
WORDS = {
    "kernels": "number of kernels",
    "log_sigma": "log sigma",
    "log_marginal": "log marginal likelihood",
}


def quantities(k: NDArray[np.int32], sigma2: FloatArray, log_marginal: FloatArray) -> dict[str, FloatArray]:
    """Return the quantities of the diagnostics, shape (chains, draws), by name."""
    return {"kernels": k.astype(np.float64), "log_sigma": 0.5 * np.log(sigma2), "log_marginal": log_marginal}


def stopping(labels: pd.Index, mcse: float) -> Rule:
    """Return when a run stops on rows with such labels.

    The number of kernels, log sigma and the log marginal likelihood have Monte Carlo errors of at most `mcse`
    posterior deviations; probabilities, of numbers of kernels and of the centres that a summary lists, errors
    of at most half of `mcse`.
    """
    return partial(_figures, labels=labels, mcse=mcse)


def _figures(chains: Sequence[KernelDraws], draws: int, *, labels: pd.Index, mcse: float) -> list[Figure]:
    k = np.stack([chain.k[:draws] for chain in chains])
    centres = np.stack([chain.centres[:draws] for chain in chains])
    series = quantities(
        k,
        np.stack([chain.sigma2[:draws] for chain in chains]),
        np.stack([chain.log_marginal[:draws] for chain in chains]),
    )
    found = []
    for name, values in series.items():
        stats = scalar_stats(values)
        if stats.mcse > mcse * stats.sd:
            text = f"the MCSE of the {WORDS[name]}, in posterior deviations,"
            found.append(Figure.of_error(text, stats.mcse / stats.sd, mcse))
    target = LARGEST_SD * mcse
    return [
        *found,
        *_sizes(k, target),
        *_occupancies(centres, labels, target),
        *mixing_figures((WORDS[name], values) for name, values in series.items()),
    ]


def _sizes(k: NDArray[np.int32], target: float) -> list[Figure]:
    """Return the numbers of kernels whose probabilities are not accurate enough."""
    sizes = np.unique(k)
    mcse = model_stats(k, sizes).mcse
    # The one number that all draws have may be less probable than 1 by as much.
    error = np.where(np.isnan(mcse), NEVER / k.size, mcse)
    return [
        Figure.of_error(f"the error of the probability of {size} kernels", float(error[i]), target)
        for i, size in enumerate(sizes.tolist())
        if error[i] > target
    ]


def _occupancies(centres: NDArray[np.int32], labels: pd.Index, target: float) -> list[Figure]:
    """Return the most probable centres whose probabilities are not accurate enough."""
    chains, draws, most = centres.shape
    flat = centres.reshape(chains * draws, most)
    counts = np.bincount(flat[flat >= 0], minlength=len(labels))
    rows = np.argsort(-counts, kind="stable")[:TOP]
    rows = rows[counts[rows] > 0]
    if not rows.size:
        return []
    held = np.stack([(flat == row).any(axis=1) for row in rows], axis=1)
    stats = indicator_stats(np.arange(len(flat)).reshape(chains, draws), held)
    names = [f"row {label} among the centres" for label in labels[rows]]
    return inclusion_figures(stats.mcse, np.ones(len(rows), dtype=bool), names, len(flat), target)


# With at most so many rows all columns are made at once; with more, those that a chain proposes are.
ALL_ROWS = 1024
STATS = ("mean", "sd", "mcse", "ess", "r_hat")


class ChainRunner:
    """One chain, and what it has recorded."""

    def __init__(self, job: "ChainJob", rng: np.random.Generator) -> None:
        settings = job.settings
        self.job, self.rng, self.loop = job, rng, loop_of(settings)
        self.particle, _ = start(settings, 1, float(job.y[0]), rng)
        self.columns = Columns(settings, job.x, job.y)
        self.columns.see_all()
        t = self.columns.t
        if t <= ALL_ROWS:
            self.columns.ensure(np.arange(t, dtype=np.int32))
        self.done = self.kept = self.written = 0
        # All at once: a run that memory does not suffice for fails before it begins.
        self.draws = job.room()
        self.counts = (np.zeros(len(MOVES), dtype=np.int64), np.zeros(len(MOVES), dtype=np.int64))

    def widen(self) -> None:
        """Make room for a job of more draws, of a further round."""
        wider = self.job.room()
        for name, array in vars(self.draws).items():
            getattr(wider, name)[: self.kept] = array[: self.kept]
        self.draws = wider

    def advance(self, n: int) -> None:
        """Run `n` more iterations: invariant moves, then the coefficients and the variances."""
        if len(self.draws.k) < self.job.draws:
            self.widen()
        job, columns, pool, stop = self.job, self.columns, None, self.done + n
        while self.done < stop:
            if columns.t > ALL_ROWS:
                n, pool = 1, self.rng.integers(columns.t, size=job.moves, dtype=np.int32)
                columns.ensure(pool)
            self.loop.see(columns.slot[: columns.t], columns.gram, columns.moments, columns.yy)
            room, after = self.draws.take(slice(self.kept, None)), self.done - job.burn_in
            state, into = self.particle.in_order(), room.in_order()
            self.kept += self.loop.iterate(
                self.rng, n, pool, job.moves, state, into, *self.counts, after=after, thin=job.thin
            )
            self.done += n
            if columns.t > ALL_ROWS:
                columns.retain(self.particle.held())

    def plain_state(self) -> Plain:
        """Return the state between two iterations as plain data."""
        return {
            "particle": vars(self.particle),
            # Inner products have, to the last bit, what the columns were that came and went.
            "columns": columns_to_plain(self.columns) if self.columns.t > ALL_ROWS else None,
            "tried": self.counts[0],
            "accepted": self.counts[1],
            "bit_generator": self.rng.bit_generator.state,
            "done": self.done,
        }

    def news(self) -> dict[str, np.ndarray]:
        """Return what was recorded since this was last asked."""
        new = self.draws.take(slice(self.written, self.kept))
        recorded = vars(new) if self.kept > self.written else {}
        self.written = self.kept
        return recorded

    def restore(self, state: Content, recorded: Mapping[str, np.ndarray]) -> None:
        """Go on from a state and what was recorded before it."""
        job = self.job
        self.rng.bit_generator.state = state.pcg64("bit_generator")
        self.particle = particles_from_plain(state.part("particle"), 1, job.settings, self.columns.t)
        if self.columns.t > ALL_ROWS:
            parts = parts_from_plain(
                state.part("columns"), self.columns.t, job.settings.fixed, self.columns.made
            )
            self.columns.hold(parts)
        for name, into in zip(("tried", "accepted"), self.counts, strict=True):
            into[...] = state.array(name, np.int64, into.shape)
        self.done = state.integer("done", high=job.total)
        self.kept = self.written = max(0, self.done - job.burn_in) // job.thin
        if self.kept:
            known = Content(dict(recorded), "the draws")
            drawn = particles_from_plain(known, self.kept, job.settings, self.columns.t)
            for name, array in vars(drawn).items():
                getattr(self.draws, name)[: self.kept] = array

    def look(self) -> KernelDraws:
        """Return what was recorded, for a look at its accuracy."""
        return self.finish(True)

    def finish(self, completed: bool) -> KernelDraws:
        """Return what was recorded, as that of one chain without the axis of chains."""
        kept = self.draws.take(slice(self.kept))
        return KernelDraws(
            **vars(kept),
            moves_tried=self.counts[0],
            moves_accepted=self.counts[1],
        )


@dataclass
class ChainJob:
    """The job of one chain; picklable.

    Parameters
    ----------
    settings : KernelSettings
    x : ndarray (T, d)
    y : ndarray (T,)
    draws, burn_in, thin : int
        As in `FitSettings`.
    """

    settings: KernelSettings
    x: FloatArray
    y: FloatArray
    draws: int
    burn_in: int
    thin: int
    moves: int = field(init=False)
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.x = np.ascontiguousarray(self.x, dtype=float)
        self.y = np.ascontiguousarray(self.y, dtype=float)
        # A chain that makes no moves between its draws of variances would never leave its start.
        self.moves = max(1, int(self.settings.rejuvenate))
        self.total = self.burn_in + self.draws * self.thin

    def room(self) -> Particles:
        """Return arrays for the draws of a chain."""
        draws, settings = self.draws, self.settings
        return Particles(
            np.empty(draws, dtype=np.int32),
            np.empty((draws, int(settings.max_kernels)), dtype=np.int32),
            np.empty((draws, settings.most_columns)),
            np.empty((draws, settings.most_columns)),
            np.empty(draws),
            np.empty(draws),
            np.empty(draws),
        )

    def start(self, seed: np.random.SeedSequence, chain: int) -> ChainRunner:
        """Return a chain without kernels, its variances from a start of their own."""
        return ChainRunner(self, np.random.Generator(np.random.PCG64(seed)))

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> ChainRunner:
        """Return the chain of a state and of what was recorded before it."""
        runner = ChainRunner(self, np.random.Generator(np.random.PCG64(0)))
        runner.restore(state, recorded)
        return runner

    def recorded(self, result: KernelDraws) -> dict[str, np.ndarray]:
        """Return the draws of a chain."""
        return result.arrays()


def run_mcmc(
    settings: KernelSettings, x: FloatArray, y: FloatArray, fit: FitSettings, rule: Rule | None = None
) -> tuple[KernelDraws, DrawnChains]:
    """Return draws of the posterior of all rows by reversible jump MCMC.

    An iteration is ``rejuvenate`` births, deaths and shifts, then draws of coefficients and variances.

    Parameters
    ----------
    settings : KernelSettings
    x : ndarray (T, d)
    y : ndarray (T,)
    fit : FitSettings
        Draws, burn-in, thinning, chains, seed, workers and progress.
    rule : callable, optional
        What figures are to be accurate, where the run stops by itself.

    Returns
    -------
    KernelDraws
        After Ctrl-C of the chains that have draws, as many as the shortest of them has.
    DrawnChains
        The chains they come from.

    Raises
    ------
    KeyboardInterrupt
        If it was interrupted before any chain had a draw.
    """
    job = ChainJob(settings, x, y, fit.draws, fit.burn_in, fit.thin)
    drawn = fit.run(job, "mcmc", lambda chain: len(chain.k), rule)
    # How many moves of each kind there were does not depend on the number of draws that are kept.
    ends = {"moves_tried": len(MOVES), "moves_accepted": len(MOVES)}
    parts = {}
    for item in fields(KernelDraws):
        end = ends.get(item.name, drawn.draws)
        parts[item.name] = np.stack([getattr(chain, item.name)[:end] for chain in drawn.results])
    return KernelDraws(**parts), drawn


@dataclass
class ChainRun:
    """Chains of the batch sampler.

    Attributes
    ----------
    settings : KernelSettings
    draws : KernelDraws
    x, y : ndarray
        The rows, as they are fitted.
    index : Index
        Their labels.
    fit : FitSettings
    seconds : float
        Run time, summed over chains.
    interrupted : list of str
        Messages about draws that Ctrl-C left out, and about an automatic run that ended before its figures
        were accurate.
    ends : Ends or None
        Final states of the chains; None if unknown.
    place : int
        Place of the width among those of the model.
    """

    settings: KernelSettings
    draws: KernelDraws
    x: FloatArray
    y: FloatArray
    index: pd.Index
    fit: FitSettings
    seconds: float
    interrupted: list[str]
    ends: Ends | None
    place: int = 0

    @property
    def run_time(self) -> RunTime:
        """Run time of the fit, extensions included."""
        return self.fit.run_time

    def posterior(self) -> KernelPosterior:
        """Return the draws of all chains."""
        draws = self.draws
        k = draws.k.ravel()
        return KernelPosterior(
            self.x,
            self.y,
            k,
            draws.centres.reshape(len(k), -1),
            draws.sigma2.ravel(),
            draws.delta2.ravel(),
            np.full(len(k), 1.0 / len(k)),
            self.settings.kernel,
            self.settings.trend,
        )

    def diagnostics(self) -> pd.DataFrame:
        """Return mean, sd, MCSE, ESS and R-hat of what the chains have done."""
        return self._stats

    @kept_property
    def _stats(self) -> pd.DataFrame:
        series = quantities(self.draws.k, self.draws.sigma2, self.draws.log_marginal)
        stats = {name: scalar_stats(values) for name, values in series.items()}
        return pd.DataFrame(
            {column: [getattr(each, column) for each in stats.values()] for column in STATS},
            index=pd.Index(list(stats), name="quantity"),
        )

    def equal_draws(self) -> EqualDraws:
        """Return k, sigma^2 and delta^2, shape (C, D)."""
        return self.draws.k, self.draws.sigma2, self.draws.delta2

    @property
    def notes(self) -> list[str]:
        """Warnings that the run shows."""
        stats = self._stats.rename(index=lambda name: f"the {WORDS[name]}")
        return self.interrupted + poor_mixing(stats["r_hat"], stats["ess"], self.draws.k.size, R_HAT)

    def warn(self) -> None:
        """Warn of an interrupted run and of chains that disagree."""
        for note in self.notes:
            warn(note, ConvergenceWarning)


def fit_chains(
    settings: KernelSettings,
    x: FloatArray,
    y: FloatArray,
    index: pd.Index,
    fit: FitSettings,
    place: int = 0,
) -> ChainRun:
    """Sample the posterior of all rows by MCMC.

    Parameters
    ----------
    settings : KernelSettings
    x, y : ndarray (n, d), ndarray (n,)
        Rows, as they are fitted.
    index : Index
        Their labels.
    fit : FitSettings
        Draws or their accuracy, burn-in, thinning, chains, seed, workers and progress.
    place : int
        Place of the width among those of the model.

    Returns
    -------
    ChainRun
        After Ctrl-C of the draws so far.
    """
    draws, drawn = run_mcmc(settings, x, y, fit, stopping(index, fit.asked_mcse))
    seconds = sum(drawn.seconds)
    run = ChainRun(
        settings, draws, x, y, index, fit.finished(drawn.asked), seconds, drawn.notes, drawn.ends, place
    )
    run.warn()
    return run
