"""Runs with ``draws="auto"``: rounds of draws until the figures are accurate.

Each round extends the same run, by as much as the least accurate figure needs. Accuracy is assessed between
rounds only, so the draws depend on the seed alone: not on the number of workers, on the speed of the machine,
or on whether the run was killed in between.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pyrjsel.runtime.accuracy import Accuracy, Clock, Figure, Rule, missed, worst
from pyrjsel.runtime.chain_ends import ChainEnd, Ends, LiveChains
from pyrjsel.runtime.chains import ChainsOutcome, ResumableJob, run_chains, spawn_seeds
from pyrjsel.runtime.checkpoint import Checkpoint
from pyrjsel.runtime.resources import RunTime, Stopwatch, one_blas_thread
from pyrjsel.runtime.signals import InterruptGuard, Signals
from pyrjsel.runtime.workers import count_workers, seconds_alone
from pyrjsel.storage import Content

# Takes a number of draws; returns the job of a run with that many draws.
Jobs = Callable[[int], ResumableJob]


@dataclass
class Rounds:
    """The rounds of one run.

    Attributes
    ----------
    jobs : callable
        Takes a number of draws per chain; returns the job of such a run.
    chains : int
    rng : Generator
    rule : callable
        Rule that finds inaccurate figures.
    size : callable
        Number of draws of a chain's result.
    accuracy : Accuracy
    label : str
    earlier : Ends or None
        Final states of the run that this one extends, if any.
    n_jobs, progress, checkpoint, begun
        As in the settings.
    first : int
        Draws of the first round, or of the one in which the run that this one extends was interrupted.
    """

    jobs: Jobs
    chains: int
    rng: np.random.Generator
    rule: Rule
    size: Callable[[Any], int]
    accuracy: Accuracy
    label: str
    earlier: Ends | None
    n_jobs: int | None
    progress: bool | None
    checkpoint: Checkpoint | None
    begun: float | None
    first: int
    live: LiveChains = field(default_factory=LiveChains)

    def run(self) -> tuple[ChainsOutcome, int, list[str]]:
        """Return the outcome of the last round, its draws, and warnings about figures that are not accurate.

        Raises
        ------
        WorkerError
            If the workers of all chains died.
        """
        clock = Clock.of(self.accuracy, self.begun)
        seeds = spawn_seeds(self.rng, self.chains)
        draws, label = self.begin(), self.label
        before = 0 if self.earlier is None else min(draws, self.length)
        notes: list[str] = []
        aside = 0.0
        with InterruptGuard(Signals(self.chains)) as guard:
            ends: Sequence[ChainEnd] = () if self.earlier is None else self.earlier.chains
            while True:
                at = clock.seconds
                outcome = run_chains(
                    self.jobs(draws),
                    self.chains,
                    self.rng,
                    n_jobs=self.n_jobs,
                    progress=self.progress,
                    label=label,
                    checkpoint=self.checkpoint,
                    earlier=ends,
                    keep_ends=True,
                    spare=True,
                    live=self.live,
                    seeds=seeds,
                    name=self.label,
                    passed=at,
                )
                aside += outcome.aside
                if not outcome.completed or outcome.lost or guard.count:
                    break
                figures = self.rule(outcome.results, draws)
                first = worst(figures)
                if first is None:
                    break
                # As if one worker had drawn everything: this outcome is preliminary.
                made, seconds = draws - before, clock.seconds - at
                rate = (
                    made / seconds
                    if made
                    else draws / max(sum(spent.clock for spent in outcome.spent), seconds)
                )
                following = clock.after(draws, first.needed, rate)
                if following <= draws:
                    notes = missed(figures, draws, clock.limit(draws))
                    break
                label = f"{self.label}: {_shown(first, draws, rate)}"
                if self.checkpoint is None:
                    job = self.jobs(draws)
                    recorded = [job.recorded(result) for result in outcome.results]
                    ends = Ends(outcome.ends, True).with_recorded(recorded, 0).chains
                before, draws = draws, following
            return self.finished(replace(outcome, aside=aside), draws, clock.seconds), draws, notes

    def begin(self) -> int:
        """Return the draws of the first round: the one that a killed run had reached."""
        draws = min(self.first, self.accuracy.max_draws)
        if self.earlier is not None:
            # A complete round is assessed before more draws are made.
            draws = self.length if self.earlier.complete else max(draws, self.length)
        if self.checkpoint is None:
            return draws
        job: Any = self.jobs(draws)
        return max(draws, (self.checkpoint.planned(self.label, self.chains) - job.burn_in) // job.thin)

    @property
    def length(self) -> int:
        """Draws of the longest chain at the start."""
        assert self.earlier is not None
        job: Any = self.jobs(1)
        return self.earlier.length(job.burn_in, job.thin)

    def finished(self, outcome: ChainsOutcome, draws: int, passed: float) -> ChainsOutcome:
        """Return the final results of the chains, `passed` seconds after the run began."""
        job, thread = self.jobs(draws), time.thread_time()
        numbers = [chain for chain in range(self.chains) if chain not in outcome.lost]

        def finish(
            chain: int, result: Any, end: ChainEnd, done: int, spent: RunTime
        ) -> tuple[Any, ChainEnd, RunTime]:
            watch = Stopwatch(spent)
            held = self.live.take(chain, job)
            if held is None:
                recorded = job.recorded(result)
                runner = job.resume(Content(end.state, "the state of a chain"), recorded, chain)
            else:
                runner = held[0]
            state, found = runner.plain_state(), runner.finish(done == job.total)
            spent = watch.read()
            return found, replace(end, state=state, seconds=spent.clock, cpu=spent.cpu), spent

        parts = zip(numbers, outcome.results, outcome.ends, outcome.iterations, outcome.spent, strict=True)
        workers = 1 if seconds_alone(self.n_jobs, passed) else count_workers(self.n_jobs, len(numbers))
        with one_blas_thread, ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(lambda part: finish(*part), parts))
        results, ends, spent = zip(*found, strict=True)
        return replace(
            outcome,
            results=list(results),
            ends=list(ends),
            spent=list(spent),
            aside=outcome.aside + time.thread_time() - thread,
        )


def _shown(first: Figure, draws: int, rate: float) -> str:
    """Return the progress bar's text on the figure that needs the most draws."""
    left = (first.needed - 1.0) * draws / rate
    time = f", about {left:,.0f} s left" if np.isfinite(left) else ""
    return f"{first.text}{time}"
