"""Parallel chains of a sampler: seeds, blocks, workers, progress and interrupts."""

import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence

from pyrjsel._called import called, named
from pyrjsel._errors import NotAvailableError, StoreError, WorkerError
from pyrjsel._validate import bad_value, check_bool, check_int, listed
from pyrjsel.runtime.chain_ends import ChainEnd, Ends, LiveChains
from pyrjsel.runtime.checkpoint import ChainFile, Checkpoint
from pyrjsel.runtime.resources import RunTime, Stopwatch, one_blas_thread, release
from pyrjsel.runtime.signals import InterruptGuard, ProgressBar, RemoteSignals, Signals, ignore_in_worker
from pyrjsel.runtime.workers import ATTEMPTS, count_workers, received, run_tasks, seconds_alone
from pyrjsel.storage import Content, Plain

# Seconds per block: long enough that the overhead between blocks is negligible,
# short enough that Ctrl-C feels immediate.
BLOCK_SECONDS = 0.1
# A block is at most this many times as long as the previous one: a first iteration can be untypically quick.
GROWTH = 4.0


class ChainRunner(Protocol):
    """A running chain: its state and its recorded values."""

    def advance(self, n: int) -> int | None:
        """Run at most `n` more iterations and return how many count, None for `n`.

        The draws must not depend on the block lengths.
        """

    def finish(self, completed: bool) -> Any:
        """Return the result (picklable); partial, possibly empty, if `completed` is False."""


class ForecastRunner(ChainRunner, Protocol):
    """The only chain of a run of few long steps, whose number is learned as it proceeds.

    Its job has a line `outlook`, which is shown before.
    """

    def expected(self) -> tuple[int, int]:
        """Return the number of steps made, and of all that are expected."""


class ResumableRunner(ChainRunner, Protocol):
    """A running chain that can save its state."""

    job: Any
    """The job of the chain; replaced by one of more iterations in a run of several rounds."""

    def look(self) -> Any:
        """Return the result as ``finish`` does, but only the parts needed to assess accuracy.

        The chain can be continued afterwards.
        """

    def plain_state(self) -> Plain:
        """Return the state between two iterations, with sums over recorded values, as plain data."""

    def news(self) -> dict[str, np.ndarray]:
        """Return the arrays recorded since the last call.

        Arrays of several calls are concatenated along their first axis, by name; empty ones may be
        left out.
        """


class ChainJob(Protocol):
    """The job of all chains of a run: plain data that can be pickled."""

    total: int
    """Iterations of a chain: burn-in and thinned-out draws included."""

    def start(self, seed: np.random.SeedSequence, chain: int) -> ChainRunner:
        """Return the runner of chain number `chain` (from 0), with `seed` as its source of randomness."""


class ResumableJob(ChainJob, Protocol):
    """A job whose chains can be resumed from saved states."""

    def resume(self, state: Content, recorded: Mapping[str, np.ndarray], chain: int) -> ResumableRunner:
        """Return the runner of a state and of everything it had recorded.

        Its draws continue bit for bit, however many iterations the job has beyond that state.
        """

    def recorded(self, result: Any) -> dict[str, np.ndarray]:
        """Return what the chain of a result had recorded, in the form that :meth:`resume` takes."""


@dataclass(frozen=True)
class ChainsOutcome:
    """The draws of all chains of a run.

    Attributes
    ----------
    results : list
        What ``finish`` of each chain returned, by chain, without lost chains.
    completed : bool
        False if Ctrl-C stopped any chain before its last iteration.
    spent : list of RunTime
        Run time of each chain, over all calls.
    iterations : list of int
        Iterations of each chain.
    ends : list of ChainEnd
        Final state of each chain that is not lost; empty if chains cannot be resumed, or states were not
        requested.
    lost : list of int
        Numbers of the chains whose worker died at every attempt.
    aside : float
        CPU seconds of the calling thread meanwhile, including chains that ran in it.
    """

    results: list[Any]
    completed: bool
    spent: list[RunTime]
    iterations: list[int]
    ends: list[ChainEnd]
    lost: list[int] = field(default_factory=list)
    aside: float = 0.0

    def drawn(self, size: Callable[[Any], int], asked: int, stops: bool = False) -> "DrawnChains":
        """Return the chains that have draws: all chains of a completed run.

        Parameters
        ----------
        size : callable
            Number of draws of a chain's result.
        asked : int
            Requested draws per chain.
        stops : bool, default False
            Whether this is a round of a run with ``draws="auto"``.

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
        Results by chain.
    spent : list of RunTime
        Run time of each chain.
    draws : int
        Draws of the shortest.
    notes : list of str
        Messages about an interrupted run or lost chains; empty otherwise.
    ends : Ends or None
        Final states of all chains of the run, including chains without draws; None if a chain was lost.
    asked : int
        Requested draws per chain, in the last round of a run with ``draws="auto"``.
    """

    results: list[Any]
    spent: list[RunTime]
    draws: int
    notes: list[str]
    ends: Ends | None
    asked: int

    @property
    def seconds(self) -> list[float]:
        """Wall-clock seconds of each chain."""
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
    passed: float = 0.0,
) -> ChainsOutcome:
    """Run `chains` independent chains of `job`, in threads unless joblib is told otherwise.

    Each chain gets a child of the generator's seed sequence, so the results do not depend on
    `n_jobs` or on the backend. BLAS uses one thread per worker during the run.

    Parameters
    ----------
    job : ChainJob
        The job of each chain.
    chains : int
        Number of chains.
    rng : numpy.random.Generator
        Source of the seeds; its seed sequence is spawned from, its stream is not used.
    n_jobs : int, optional
        Number of workers; -1 is one per processor. None follows ``joblib.parallel_config``; if that is
        not set, one thread per chain, at most one per processor, and a single thread during the first half
        second: several can be slower then.
    progress : bool, optional
        Whether to show a progress bar. None shows one after a second in a terminal or notebook.
    label : str
        Label of the progress bar.
    checkpoint : Checkpoint, optional
        Folder in which chains of a :class:`ResumableJob` save their states, at least every ten seconds and
        at their end, and from which they resume.
    earlier : sequence of ChainEnd, default ()
        Final states from which chains of a :class:`ResumableJob` resume, by chain.
    keep_ends : bool, default False
        Whether the outcome includes the final states of chains of a :class:`ResumableJob`.
    spare : bool, default False
        Whether the run can continue without some of its chains, if their worker processes keep dying.
    live : LiveChains, optional
        Chains kept from one round of a run to the next; the results are then preliminary.
    seeds : sequence of SeedSequence, optional
        Seeds of the chains; None spawns children of that of `rng`.
    name : str, optional
        Prefix of the names of the checkpoint files; None is `label`.
    passed : float, default 0.0
        Seconds since the run began, if this is not its first round.

    Returns
    -------
    ChainsOutcome
        The results by chain. After a first Ctrl-C each chain stops after its current block (of
        about 0.1 s), and its results are returned with ``completed=False``; a second raises
        KeyboardInterrupt at once. Workers on another machine do not see the first one; a Dask
        cluster started in the same terminal is killed by it, with the draws of its chains.

    Warns
    -----
    WorkerWarning
        If a worker process died. Its chains, and those that joblib ended with it, are restarted from the
        checkpoint, if there is one: at most twice, and the second time one chain at a time.

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
        If chains were lost and the run cannot continue without them, or no chain is left.
    KeyboardInterrupt
        After a second Ctrl-C, or if the first one killed worker processes and with them chains
        that the run needs.

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
    chains = check_int(chains, "chains", low=1)
    if progress is not None:
        progress = check_bool(progress, "progress")
    seeds = spawn_seeds(rng, chains) if seeds is None else seeds
    if checkpoint is not None:
        if not hasattr(job, "resume"):
            raise NotAvailableError(f"The chains of {label!r} cannot be resumed: leave out 'checkpoint'.")
        checkpoint.begin()
    workers, thread = count_workers(n_jobs, chains), time.thread_time()
    signals, parent, caller = Signals(chains), os.getpid(), called()

    def make(sent: Any, chain: int) -> Any:
        start = _Start(
            seeds[chain],
            chain,
            None if checkpoint is None else checkpoint.chain(name or label, chain),
            earlier[chain] if earlier else None,
            keep_ends and hasattr(job, "resume"),
            live,
            caller,
        )
        return _run_chain, (sent, start, signals, parent)

    try:
        with (
            InterruptGuard(signals) as guard,
            one_blas_thread,
            ProgressBar(signals, chains * job.total, progress, label, getattr(job, "outlook", "")),
        ):
            parts = run_tasks(
                job,
                make,
                chains,
                workers,
                again=signals.renew,
                interrupted=lambda: guard.count > 0,
                alone=seconds_alone(n_jobs, passed),
            )
    finally:
        # After an error or a second Ctrl-C, running threads end with their block.
        signals.stop()
        signals.close()
    if workers > 1:
        release()
    lost = [chain for chain in range(chains) if chain not in parts]
    if lost and not (spare and parts):
        if guard.count:
            # With loky, chains that have not begun; with a Dask cluster in the same terminal, all chains.
            raise KeyboardInterrupt("workers were killed by Ctrl-C before their chains could end")
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
        f"The worker of chain{numbers} (counting from 0) died {ATTEMPTS} times. If the system ended it for "
        "lack of memory, use fewer workers, fewer draws or a larger 'thin'."
    )


def spawn_seeds(rng: np.random.Generator, chains: int) -> list[np.random.SeedSequence]:
    """Return one child of the generator's seed sequence per chain.

    Raises
    ------
    ParameterError
        If the bit generator was not created from a seed sequence that can spawn children.
    """
    sequence = rng.bit_generator.seed_seq
    if not isinstance(sequence, ISpawnableSeedSequence):
        must = "a Generator created from a SeedSequence, as by numpy.random.default_rng"
        raise bad_value("rng", must, rng)
    children: list[Any] = sequence.spawn(chains)
    return children


class _ChainContext:
    """Name the chain in an error that it raises, and stop the other chains."""

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
            error.add_note(f"Raised in chain {self._chain} (counting from 0).")


@dataclass(frozen=True)
class _Start:
    """The start of a chain, and the saving of its state."""

    seed: np.random.SeedSequence
    chain: int
    file: ChainFile | None
    earlier: ChainEnd | None
    keep_end: bool
    live: LiveChains | None
    caller: str  # what the user called, for messages: a worker's stack does not show it

    def runner(self, job: Any) -> tuple[Any, int, RunTime]:
        """Return a runner, with the iterations and the run time done so far."""
        held = None if self.live is None else self.live.take(self.chain, job)
        if held is not None:
            return held
        end = self.earlier if self.file is None else self.file.load(self.earlier)
        if end is None:
            return job.start(self.seed, self.chain), 0, RunTime()
        if not 0 <= end.done <= job.total:
            raise StoreError(f"A saved chain has {end.done:,} iterations, but the run only {job.total:,}.")
        state = Content(end.state, "the state of a chain")
        runner = job.resume(state, end.recorded, self.chain)
        if self.earlier is not None and runner.done != end.done:
            raise StoreError(f"A saved chain has {end.done:,} iterations, but its state has {runner.done:,}.")
        return runner, end.done, RunTime(end.cpu, end.seconds)


def _run_chain(
    sent: Any, start: _Start, signals: Signals | RemoteSignals, parent: int
) -> tuple[int, tuple[Any, int, RunTime, ChainEnd | None] | bytes | None]:
    """Return a chain's number, result, iterations, run time and final state; runs in the worker.

    Processes pickle these; None is returned if the signals do not allow the chain to begin.
    """
    chain = start.chain
    if not signals.begin(chain):
        return chain, None
    with named(start.caller), _ChainContext(chain, signals), start.file or nullcontext():
        if signals.remote:
            ignore_in_worker(parent)
        with one_blas_thread:
            found = _advance(received(sent), start, signals)
        # Clusters return arrays at any memory address, and sums can then differ in the last bit.
        return chain, pickle.dumps(found, pickle.HIGHEST_PROTOCOL) if signals.remote else found


def _advance(
    job: Any, start: _Start, signals: Signals | RemoteSignals
) -> tuple[Any, int, RunTime, ChainEnd | None]:
    watch = Stopwatch()
    runner, done, before = start.runner(job)
    total, written, file, block, steps = job.total, done, start.file, 1, False
    if file is not None:
        file.total = total
    _report(start.chain, done, runner, signals)
    while done < total and not signals.stopped:
        n = min(block, total - done)
        if hasattr(runner, "expected"):  # each step is saved, until there are no more
            made, of = runner.expected()
            n, steps = (n, False) if made == of else (1, True)
        at = time.perf_counter()
        made = runner.advance(n)
        done += n if made is None else made
        _report(start.chain, done, runner, signals)
        now = time.perf_counter()
        block = next_block(n, now - at)
        if file is not None and (steps or file.due()):
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


def _report(chain: int, done: int, runner: Any, signals: Signals | RemoteSignals) -> None:
    """Record the progress of a chain: iterations, or steps of a number that it expects."""
    if hasattr(runner, "expected"):
        signals.forecast(*runner.expected())
    else:
        signals.report(chain, done)


def next_block(n: int, seconds: float) -> int:
    """Return the length of the block after one of `n` iterations that took `seconds`."""
    factor = GROWTH if seconds * GROWTH <= BLOCK_SECONDS else BLOCK_SECONDS / seconds
    return max(1, int(n * factor))
