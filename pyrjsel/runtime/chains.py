"""Run the chains of a sampler side by side: seeds, blocks, workers, progress and interrupts."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Protocol

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from numpy.random.bit_generator import ISpawnableSeedSequence
from threadpoolctl import threadpool_limits

from pyrjsel._errors import NotAvailableError, StoreError
from pyrjsel._validate import bad_value, check_bool, check_int
from pyrjsel.runtime.board import Board, RemoteBoard
from pyrjsel.runtime.checkpoint import ChainFile, Checkpoint
from pyrjsel.runtime.ends import ChainEnd, Ends
from pyrjsel.runtime.interrupt import InterruptGuard, ignore_in_worker
from pyrjsel.runtime.memory import release
from pyrjsel.runtime.progress import ProgressBar
from pyrjsel.store import Content, Plain

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

    def plain_state(self) -> Plain:
        """Return the state between two iterations, with sums over what was recorded, as plain data."""

    def news(self) -> dict[str, np.ndarray]:
        """Return arrays of what was recorded since this was last asked.

        Those of several times are put together along their first axis, by name; what is empty may be left
        out.
        """


class ChainJob(Protocol):
    """What every chain of a run does: plain data that can be pickled."""

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
    """What a run gave.

    Attributes
    ----------
    results : list
        What ``finish`` of each chain returned, by chain.
    completed : bool
        False if Ctrl-C stopped any chain before its last iteration.
    seconds : list of float
        Wall-clock seconds of each chain.
    iterations : list of int
        Iterations that each chain did.
    ends : list of ChainEnd
        Where each chain ended; none of chains that cannot go on, or that were not to.
    """

    results: list[Any]
    completed: bool
    seconds: list[float]
    iterations: list[int]
    ends: list[ChainEnd]

    def drawn(self, size: Callable[[Any], int], asked: int) -> "DrawnChains":
        """Return the chains that have draws: all of a completed run.

        Parameters
        ----------
        size : callable
            Number of draws of a chain's result.
        asked : int
            Draws that each was to have.

        Raises
        ------
        KeyboardInterrupt
            If no chain has a draw.
        """
        have = [chain for chain, result in enumerate(self.results) if size(result)]
        if not have:
            raise KeyboardInterrupt("interrupted before the first draw after burn-in")
        draws = min(size(self.results[chain]) for chain in have)
        notes = []
        if not self.completed:
            some = f"{len(have)} of {len(self.results)} chains with {draws:,} of {asked:,} draws each"
            notes.append(f"Interrupted: {some}.")
        return DrawnChains(
            [self.results[chain] for chain in have],
            [self.seconds[chain] for chain in have],
            draws,
            notes,
            Ends(self.ends, self.completed),
        )


@dataclass(frozen=True)
class DrawnChains:
    """The chains of a run that have draws.

    Attributes
    ----------
    results : list
        Theirs, by chain.
    seconds : list of float
        Wall-clock seconds of each.
    draws : int
        Draws of the shortest.
    notes : list of str
        What is to be said of an interrupted run; empty of a completed one.
    ends : Ends
        Where all chains of the run ended, those without draws among them.
    """

    results: list[Any]
    seconds: list[float]
    draws: int
    notes: list[str]
    ends: Ends


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
        What stands before the progress bar, and in the names of the files of a checkpoint.
    checkpoint : Checkpoint, optional
        Where chains of a :class:`ResumableJob` write down where they are, at least every ten seconds and
        before they end, and from where they go on.
    earlier : sequence of ChainEnd, default ()
        Where chains of a :class:`ResumableJob` ended, by chain, which go on from there.
    keep_ends : bool, default False
        Whether the outcome says where chains of a :class:`ResumableJob` have ended.

    Returns
    -------
    ChainsOutcome
        The results by chain. After a first Ctrl-C each chain ends with its current block (of
        about 0.1 s), and what it has is returned with ``completed=False``; a second raises
        KeyboardInterrupt at once. Workers on another machine do not see the first one.

    Raises
    ------
    ParameterError
        If `chains`, `n_jobs` or `progress` is out of range, or if the seed sequence of `rng`
        cannot be spawned from.
    NotAvailableError
        If there is a checkpoint and the chains of the job cannot be resumed.
    StoreError
        If the files of the checkpoint are damaged or in use.
    KeyboardInterrupt
        At a second Ctrl-C, or if the first one killed a worker process that had not yet begun.

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
    seeds = spawn_seeds(rng, chains)
    if checkpoint is not None:
        if not hasattr(job, "resume"):
            raise NotAvailableError(f"The chains of {label!r} cannot be resumed: give no 'checkpoint'.")
        checkpoint.begin()
    workers = _count_workers(n_jobs, chains)
    board = Board(chains)
    parent = os.getpid()
    parallel = joblib.Parallel(n_jobs=workers, prefer="threads", pre_dispatch="all", batch_size=1)
    tasks = [
        joblib.delayed(_run_chain)(
            _Start(
                job,
                seed,
                chain,
                None if checkpoint is None else checkpoint.chain(label, chain),
                earlier[chain] if earlier else None,
                keep_ends and hasattr(job, "resume"),
            ),
            board,
            parent,
        )
        for chain, seed in enumerate(seeds)
    ]
    try:
        with (
            InterruptGuard(board) as guard,
            threadpool_limits(1, user_api="blas"),
            ProgressBar(board, chains * job.total, progress, label),
        ):
            try:
                parts = parallel(tasks)
            except BrokenExecutor as error:
                # A worker process that has not begun its chain dies of Ctrl-C like any program.
                if guard.count:
                    raise KeyboardInterrupt from error
                raise
    finally:
        # After an error or a second Ctrl-C, threads that still run end with their block.
        board.stop()
        board.close()
    if workers > 1:
        release()
    iterations = [part[1] for part in parts]
    return ChainsOutcome(
        results=[part[0] for part in parts],
        completed=all(done == job.total for done in iterations),
        seconds=[part[2] for part in parts],
        iterations=iterations,
        ends=[part[3] for part in parts if part[3] is not None],
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


def _count_workers(n_jobs: object, chains: int) -> int:
    if n_jobs is None:
        configured = get_active_backend()[1]  # what joblib.parallel_config says; None without it
        wanted = -1 if configured is None else int(configured)
    elif isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise bad_value("n_jobs", "run_chains", "None or an int other than 0", n_jobs)
    else:
        wanted = int(n_jobs)
    return max(1, min(chains, int(joblib.effective_n_jobs(wanted))))


class _ChainContext:
    """Names the chain in an error that leaves it, and stops the other chains then."""

    def __init__(self, chain: int, board: Board | RemoteBoard) -> None:
        self._chain = chain
        self._board = board

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._board.stop()
            error.add_note(f"Raised in chain {self._chain} (chains count from 0).")


@dataclass(frozen=True)
class _Start:
    """How a chain begins, and what is kept of where it is."""

    job: Any
    seed: np.random.SeedSequence
    chain: int
    file: ChainFile | None
    earlier: ChainEnd | None
    keep_end: bool

    def runner(self) -> tuple[Any, int, float]:
        """Return a runner, and the iterations and seconds that it has behind it."""
        end = self.earlier if self.file is None else self.file.load(self.earlier)
        if end is None:
            return self.job.start(self.seed, self.chain), 0, 0.0
        if not 0 <= end.done <= self.job.total:
            raise StoreError(f"A chain has {end.done:,} iterations behind it, of {self.job.total:,} in all.")
        state = Content(end.state, "the state of a chain")
        runner = self.job.resume(state, end.recorded, self.chain)
        if self.earlier is not None and runner.done != end.done:
            raise StoreError(f"A chain has {end.done:,} iterations behind it, and its state {runner.done:,}.")
        return runner, end.done, end.seconds


def _run_chain(
    start: _Start, board: Board | RemoteBoard, parent: int
) -> tuple[Any, int, float, ChainEnd | None]:
    """Return result, iterations, seconds and end of one chain; runs in the worker."""
    with _ChainContext(start.chain, board), start.file or nullcontext():
        if not board.remote:
            return _advance(start, board)
        ignore_in_worker(parent)
        with threadpool_limits(1, user_api="blas"):
            return _advance(start, board)


def _advance(start: _Start, board: Board | RemoteBoard) -> tuple[Any, int, float, ChainEnd | None]:
    begin = time.perf_counter()
    runner, done, before = start.runner()
    total, written, file, block = start.job.total, done, start.file, 1
    while done < total and not board.stopped:
        n = min(block, total - done)
        at = time.perf_counter()
        runner.advance(n)
        done += n
        board.report(start.chain, done)
        now = time.perf_counter()
        block = next_block(n, now - at)
        if file is not None and file.due():
            file.save(done, before + now - begin, runner)
            written = done
    if file is not None and written < done:
        file.save(done, before + time.perf_counter() - begin, runner)
    end = ChainEnd(done, 0.0, runner.plain_state()) if start.keep_end else None
    result = runner.finish(done == total)
    seconds = before + time.perf_counter() - begin
    return result, done, seconds, end and replace(end, seconds=seconds)


def next_block(n: int, seconds: float) -> int:
    """Return the iterations of the block after one of `n` iterations that took `seconds`."""
    factor = GROWTH if seconds * GROWTH <= BLOCK_SECONDS else BLOCK_SECONDS / seconds
    return max(1, int(n * factor))
