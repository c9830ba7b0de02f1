"""Run the chains of a sampler side by side: seeds, blocks, workers, progress and interrupts."""

import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Protocol

import joblib
import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence

from pyrjsel._errors import NotAvailableError, StoreError, WorkerError
from pyrjsel._validate import bad_value, check_bool, check_int, listed
from pyrjsel.runtime.blas import one_blas_thread
from pyrjsel.runtime.chain_ends import ChainEnd, Ends
from pyrjsel.runtime.checkpoint import ChainFile, Checkpoint
from pyrjsel.runtime.interrupt import InterruptGuard, ignore_in_worker
from pyrjsel.runtime.live_chains import LiveChains
from pyrjsel.runtime.memory import release
from pyrjsel.runtime.progress import ProgressBar
from pyrjsel.runtime.signals import RemoteSignals, Signals
from pyrjsel.runtime.stopwatch import RunTime, Stopwatch
from pyrjsel.runtime.workers import ATTEMPTS, count_workers, received, run_tasks
from pyrjsel.storage import Content, Plain

# Seconds that a block should take: long enough that the turn-around between blocks costs
# nothing, short enough that Ctrl-C feels immediate.
BLOCK_SECONDS = 0.1
# A block is at most this many times the last: a first iteration can be untypically quick.
GROWTH = 4.0


class ChainRunner(Protocol):
    """One chain under way: its state and what it has collected."""

    def advance(self, n: int) -> None:
        """Run `n` more iterations; the draws must not depend on how they are cut into blocks."""

    def finish(self, completed: bool) -> Any:
        """Return the result (picklable); partial, possibly empty, where `completed` is False."""


class ResumableRunner(ChainRunner, Protocol):
    """A chain that can write down where it is."""

    job: Any
    """The job of the chain; replaced by one of more iterations in a run of several rounds."""

    def look(self) -> Any:
        """Return what ``finish`` does, without what the accuracy of a run does not need.

        The chain goes on afterwards.
        """

    def plain_state(self) -> Plain:
        """Return the state between two iterations, with sums over what was recorded, as plain data."""

    def news(self) -> dict[str, np.ndarray]:
        """Return arrays of what was recorded since this was last asked.

        Those of several times are put together along their first axis, by name; what is empty may be left
        out.
        """


class ChainJob(Protocol):
    """The job of every chain of a run: plain data that can be pickled."""

    total: int
    """Iterations of a chain: burn-in and thinned-out draws included."""

    def start(self, seed: np.random.SeedSequence, chain: int) -> ChainRunner:
        """Return the runner of chain number `chain` (from 0), whose randomness comes from `seed`."""


class ResumableJob(ChainJob, Protocol):
    """A job whose chains can go on from what they have written down."""

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> ResumableRunner:
        """Return the runner of a state and of all that it had recorded.

        Its draws go on to the same, bit for bit, however many iterations the job has beyond that state.
        """

    def recorded(self, result: Any) -> dict[str, np.ndarray]:
        """Return what the chain of a result had recorded, as :meth:`resume` takes it."""


@dataclass(frozen=True)
class ChainsOutcome:
    """The draws of all chains of a run.

    Attributes
    ----------
    results : list
        What ``finish`` of each chain returned, by chain, without those that are lost.
    completed : bool
        False if Ctrl-C stopped any chain before its last iteration.
    spent : list of RunTime
        Of each chain, in all calls that it took.
    iterations : list of int
        Iterations that each chain did.
    ends : list of ChainEnd
        Where each chain ended that is not lost; none of chains that cannot go on, or that were not to.
    lost : list of int
        Numbers of the chains whose worker died each time that they were begun.
    aside : float
        CPU seconds of the calling thread meanwhile, those of chains that ran there among them.
    """

    results: list[Any]
    completed: bool
    spent: list[RunTime]
    iterations: list[int]
    ends: list[ChainEnd]
    lost: list[int] = field(default_factory=list)
    aside: float = 0.0

    def drawn(self, size: Callable[[Any], int], asked: int, stops: bool = False) -> "DrawnChains":
        """Return the chains that have draws: all of a completed run.

        Parameters
        ----------
        size : callable
            Number of draws of a chain's result.
        asked : int
            Draws that each was to have.
        stops : bool, default False
            Whether these are of a round, of a run that stops by itself.

        Raises
        ------
        KeyboardInterrupt
            If no chain has a draw.
        """
        have = [chain for chain, result in enumerate(self.results) if size(result)]
        if not have:
            raise KeyboardInterrupt("interrupted before the first draw after burn-in")
        draws = min(size(self.results[chain]) for chain in have)
        some, notes = f"{len(have)} of {len(self.results) + len(self.lost)} chains", []
        if not self.completed:
            of = "" if stops else f" of {asked:,}"
            notes.append(f"Interrupted: {some} with {draws:,}{of} draws each.")
        elif self.lost:
            notes.append(f"{some}. {_deaths(self.lost)}")
        return DrawnChains(
            [self.results[chain] for chain in have],
            [self.spent[chain] for chain in have],
            draws,
            notes,
            Ends(self.ends, self.completed) if self.ends and not self.lost else None,
            asked,
        )


@dataclass(frozen=True)
class DrawnChains:
    """The chains of a run that have draws.

    Attributes
    ----------
    results : list
        Theirs, by chain.
    spent : list of RunTime
        Of each.
    draws : int
        Draws of the shortest.
    notes : list of str
        What is to be said of an interrupted run, or one that lost chains; empty of another.
    ends : Ends or None
        Where all chains of the run ended, those without draws among them; None where one is lost.
    asked : int
        Draws that each was to have, in the last round of a run that stops by itself.
    """

    results: list[Any]
    spent: list[RunTime]
    draws: int
    notes: list[str]
    ends: Ends | None
    asked: int

    @property
    def seconds(self) -> list[float]:
        """Seconds by the clock of each chain."""
        return [spent.clock for spent in self.spent]


def run_chains(
    job: ChainJob,
    chains: int,
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
    label: str = "",
    checkpoint: Checkpoint | None = None,
    earlier: Sequence[ChainEnd] = (),
    keep_ends: bool = False,
    spare: bool = False,
    live: LiveChains | None = None,
    seeds: Sequence[np.random.SeedSequence] | None = None,
    name: str | None = None,
) -> ChainsOutcome:
    """Run `chains` independent chains of `job`, in threads unless joblib is told otherwise.

    Each chain gets a child of the generator's seed sequence, so that the results do not depend on
    `n_jobs` or on the backend. BLAS uses one thread per worker meanwhile.

    Parameters
    ----------
    job : ChainJob
        What a chain does.
    chains : int
        Number of chains.
    rng : numpy.random.Generator
        Source of the seeds; its seed sequence is spawned from, its stream is not used.
    n_jobs : int, optional
        Workers at a time; -1 is one per processor. None follows ``joblib.parallel_config``, and
        without one is a thread per chain, at most as many as there are processors.
    progress : bool, optional
        Whether to show a progress bar. None shows one after a second in a terminal or notebook.
    label : str
        What stands before the progress bar.
    checkpoint : Checkpoint, optional
        Where chains of a :class:`ResumableJob` write down where they are, at least every ten seconds and
        before they end, and from where they go on.
    earlier : sequence of ChainEnd, default ()
        Where chains of a :class:`ResumableJob` ended, by chain, which go on from there.
    keep_ends : bool, default False
        Whether the outcome says where chains of a :class:`ResumableJob` have ended.
    spare : bool, default False
        Whether the run can do without some of its chains, if their worker processes keep dying.
    live : LiveChains, optional
        Where chains are kept, and gone on with, of a round of a longer run: what they give is a look.
    seeds : sequence of SeedSequence, optional
        What chains begin with; None are children of that of `rng`.
    name : str, optional
        What stands in the names of the files of a checkpoint; None is `label`.

    Returns
    -------
    ChainsOutcome
        The results by chain. After a first Ctrl-C each chain ends with its current block (of
        about 0.1 s), and what it has is returned with ``completed=False``; a second raises
        KeyboardInterrupt at once. Workers on another machine do not see the first one; those of a Dask
        cluster that was begun in the same terminal die of it, as Dask has it, with what they have.

    Warns
    -----
    WorkerWarning
        If a worker process died. What it was doing, and what joblib ended with it, is begun again, from the
        checkpoint where there is one: twice at most, and the second time each chain alone.

    Raises
    ------
    ParameterError
        If `chains`, `n_jobs` or `progress` is out of range, or if the seed sequence of `rng`
        cannot be spawned from.
    NotAvailableError
        If there is a checkpoint and the chains of the job cannot be resumed.
    StoreError
        If the files of the checkpoint are damaged or in use.
    WorkerError
        If chains were lost and the run cannot do without them, or has no others.
    KeyboardInterrupt
        At a second Ctrl-C, or if the first one killed worker processes, and with them all chains or some
        that the run cannot do without.

    Examples
    --------
    >>> import numpy as np
    >>> class Walk:
    ...     total = 1000
    ...     def start(self, seed, chain):
    ...         self.rng, self.place = np.random.default_rng(seed), 0
    ...         return self
    ...     def advance(self, n):
    ...         for _ in range(n):
    ...             self.place += 2 * int(self.rng.integers(2)) - 1
    ...     def finish(self, completed):
    ...         return self.place
    >>> outcome = run_chains(Walk(), 1, np.random.default_rng(1), progress=False)
    >>> outcome.completed, outcome.iterations
    (True, [1000])
    """
    chains = check_int(chains, "chains", "run_chains", low=1)
    if progress is not None:
        progress = check_bool(progress, "progress", "run_chains")
    seeds = spawn_seeds(rng, chains) if seeds is None else seeds
    if checkpoint is not None:
        if not hasattr(job, "resume"):
            raise NotAvailableError(f"The chains of {label!r} cannot be resumed: give no 'checkpoint'.")
        checkpoint.begin()
    workers, thread = count_workers(n_jobs, chains), time.thread_time()
    signals, parent = Signals(chains), os.getpid()

    def make(sent: Any, chain: int) -> Any:
        start = _Start(
            seeds[chain],
            chain,
            None if checkpoint is None else checkpoint.chain(name or label, chain),
            earlier[chain] if earlier else None,
            keep_ends and hasattr(job, "resume"),
            live,
        )
        return joblib.delayed(_run_chain)(sent, start, signals, parent)

    try:
        with (
            InterruptGuard(signals) as guard,
            one_blas_thread,
            ProgressBar(signals, chains * job.total, progress, label),
        ):
            parts = run_tasks(
                job, make, chains, workers, again=signals.renew, interrupted=lambda: guard.count > 0
            )
    finally:
        # After an error or a second Ctrl-C, threads that still run end with their block.
        signals.stop()
        signals.close()
    if workers > 1:
        release()
    lost = [chain for chain in range(chains) if chain not in parts]
    if lost and not (spare and parts):
        if guard.count:
            # Of loky, those that have not begun a chain; of a Dask cluster in the same terminal, all.
            raise KeyboardInterrupt("workers died of Ctrl-C before their chains could end")
        raise WorkerError(_deaths(lost))
    found = [parts[chain] for chain in sorted(parts)]
    results, iterations, spent, ends = zip(
        *(pickle.loads(part) if isinstance(part, bytes) else part for part in found),  # noqa: S301 - our own
        strict=True,
    )
    return ChainsOutcome(
        results=list(results),
        completed=all(done == job.total for done in iterations) and not (lost and guard.count),
        spent=list(spent),
        iterations=list(iterations),
        ends=[end for end in ends if end is not None],
        lost=lost,
        aside=time.thread_time() - thread,
    )


def _deaths(lost: Sequence[int]) -> str:
    numbers = f"{'s' if len(lost) > 1 else ''} {listed([str(chain) for chain in lost])}"
    return (
        f"The worker of chain{numbers} (they count from 0) died {ATTEMPTS} times. If the system ended it for "
        "want of memory, fewer workers, fewer draws or a larger 'thin' may help."
    )


def spawn_seeds(rng: np.random.Generator, chains: int) -> list[np.random.SeedSequence]:
    """Return one child of the generator's seed sequence per chain.

    Raises
    ------
    ParameterError
        If the bit generator was not made from a seed sequence that can spawn.
    """
    sequence = rng.bit_generator.seed_seq
    if not isinstance(sequence, ISpawnableSeedSequence):
        must = "a Generator made from a SeedSequence, as numpy.random.default_rng makes it"
        raise bad_value("rng", "run_chains", must, rng)
    children: list[Any] = sequence.spawn(chains)
    return children


class _ChainContext:
    """Names the chain in an error that leaves it, and stops the other chains then."""

    def __init__(self, chain: int, signals: Signals | RemoteSignals) -> None:
        self._chain = chain
        self._signals = signals

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._signals.stop()
            error.add_note(f"Raised in chain {self._chain} (chains count from 0).")


@dataclass(frozen=True)
class _Start:
    """How a chain begins, and what is kept of where it is."""

    seed: np.random.SeedSequence
    chain: int
    file: ChainFile | None
    earlier: ChainEnd | None
    keep_end: bool
    live: LiveChains | None

    def runner(self, job: Any) -> tuple[Any, int, RunTime]:
        """Return a runner, and the iterations and the run time that it has behind it."""
        held = None if self.live is None else self.live.take(self.chain, job)
        if held is not None:
            return held
        end = self.earlier if self.file is None else self.file.load(self.earlier)
        if end is None:
            return job.start(self.seed, self.chain), 0, RunTime()
        if not 0 <= end.done <= job.total:
            raise StoreError(f"A chain has {end.done:,} iterations behind it, of {job.total:,} in all.")
        state = Content(end.state, "the state of a chain")
        runner = job.resume(state, end.recorded, self.chain)
        if self.earlier is not None and runner.done != end.done:
            raise StoreError(f"A chain has {end.done:,} iterations behind it, and its state {runner.done:,}.")
        return runner, end.done, RunTime(end.cpu, end.seconds)


def _run_chain(
    sent: Any, start: _Start, signals: Signals | RemoteSignals, parent: int
) -> tuple[int, tuple[Any, int, RunTime, ChainEnd | None] | bytes | None]:
    """Return a chain's number and its result, iterations, run time and end; runs in the worker.

    Of processes the latter are pickled; None is in their place if the signals does not let the chain begin.
    """
    chain = start.chain
    if not signals.begin(chain):
        return chain, None
    with _ChainContext(chain, signals), start.file or nullcontext():
        if signals.remote:
            ignore_in_worker(parent)
        with one_blas_thread:
            found = _advance(received(sent), start, signals)
        # Clusters hand arrays out at any address, and sums of such can differ in the last bit.
        return chain, pickle.dumps(found, pickle.HIGHEST_PROTOCOL) if signals.remote else found


def _advance(
    job: Any, start: _Start, signals: Signals | RemoteSignals
) -> tuple[Any, int, RunTime, ChainEnd | None]:
    watch = Stopwatch()
    runner, done, before = start.runner(job)
    total, written, file, block = job.total, done, start.file, 1
    while done < total and not signals.stopped:
        n = min(block, total - done)
        at = time.perf_counter()
        runner.advance(n)
        done += n
        signals.report(start.chain, done)
        now = time.perf_counter()
        block = next_block(n, now - at)
        if file is not None and file.due():
            file.save(done, before + watch.read(), runner)
            written = done
    if file is not None and written < done:
        file.save(done, before + watch.read(), runner)
    end = ChainEnd(done, 0.0, runner.plain_state()) if start.keep_end else None
    result = runner.finish(done == total) if start.live is None else runner.look()
    spent = before + watch.read()
    if start.live is not None:
        start.live.keep(start.chain, runner, done, spent)
    return result, done, spent, end and replace(end, seconds=spent.clock, cpu=spent.cpu)


def next_block(n: int, seconds: float) -> int:
    """Return the iterations of the block after one of `n` iterations that took `seconds`."""
    factor = GROWTH if seconds * GROWTH <= BLOCK_SECONDS else BLOCK_SECONDS / seconds
    return max(1, int(n * factor))
