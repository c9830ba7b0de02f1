"""Distribution of tasks to workers through joblib, with restarts of tasks whose worker has died."""

import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import Any

import numpy as np

from pyrjsel._called import warn
from pyrjsel._errors import WorkerWarning
from pyrjsel._validate import bad_value, listed

# Attempts at a task: all tasks at once, again all that are left, and again one at a time, since the death of
# one worker process ends its neighbours.
ATTEMPTS = 3
# A function and its arguments.
Call = tuple[Callable[..., Any], tuple[Any, ...]]
# Seconds after which the main thread looks for a Ctrl-C, which systems may hand to another thread.
LOOK = 0.1
# Seconds of a run in which tasks run one at a time, unless a number of workers is given: Python's lock can
# make two threads slower than one, and a short run has little to gain.
ALONE = 0.5
# Seconds to wait for a replacement of a dead worker, which a cluster may or may not start.
PATIENCE = 20.0


def count_workers(n_jobs: object, tasks: int) -> int:
    """Return how many workers joblib should use for `tasks` tasks.

    Raises
    ------
    ParameterError
        If `n_jobs` is neither None nor an int other than 0.
    """
    if n_jobs is None:
        configured = _configured()
        wanted = -1 if configured is None else configured
    elif isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise bad_value("n_jobs", "None or an int other than 0", n_jobs)
    else:
        wanted = int(n_jobs)
    return 1 if 1 in (tasks, wanted) else max(1, min(tasks, _effective(wanted)))


def seconds_alone(n_jobs: int | None, passed: float) -> float:
    """Return for how long threads run one task at a time in a run that began `passed` seconds ago."""
    return max(0.0, ALONE - passed) if n_jobs is None and _configured() is None else 0.0


def _configured() -> int | None:
    """Return the number of workers that joblib is configured to use, if it is."""
    backend = _active_backend(prefer=None)
    return None if backend is None or backend[1] is None else int(backend[1])


def _effective(workers: int) -> int:
    """Return how many workers joblib's backend has if asked for `workers`, -1 being all."""
    import joblib

    return int(joblib.effective_n_jobs(workers))


def _active_backend(prefer: str | None) -> tuple[Any, int | None] | None:
    """Return joblib's backend and its number of workers, or None as long as nothing has imported joblib.

    It is not configured then, and a fit without parallel chains need not import it.
    """
    if "joblib" not in sys.modules:
        return None
    from joblib.parallel import get_active_backend

    backend: tuple[Any, int | None] = get_active_backend(prefer=prefer)
    return backend


def run_tasks(
    shared: object,
    make: Callable[[Any, int], Any],
    tasks: int,
    workers: int,
    *,
    again: Callable[[], None],
    interrupted: Callable[[], bool],
    alone: float = 0.0,
) -> Mapping[int, Any]:
    """Return the results of tasks, by number, without tasks whose worker has died at every attempt.

    Parameters
    ----------
    shared : object
        Data that all tasks need, possibly large.
    make : callable
        Returns a task, a function and its arguments, from a stand-in for `shared` and its number. The task
        returns its number and a result, which is None if the same attempt at it has been begun before: Dask
        itself restarts what was lost with a worker, and joblib waits indefinitely once Dask gives up.
    tasks : int
        Number of tasks.
    workers : int
        Number of workers.
    again : callable
        Called before tasks are restarted: ends tasks of the last attempt that may still be running.
    interrupted : callable
        Whether there was a Ctrl-C: tasks that it killed are not restarted.
    alone : float, default 0.0
        Seconds in which threads run one task at a time.
    """
    done: dict[int, Any] = {}
    for attempt in range(ATTEMPTS):
        left = [task for task in range(tasks) if task not in done]
        if attempt:
            again()
            numbers = listed([str(task) for task in left])
            text = f"A worker died. Restarted, with the same draws: chains {numbers} (counting from 0)."
            warn(text, WorkerWarning)
        for group in [left] if attempt + 1 < ATTEMPTS else [[task] for task in left]:
            if attempt:
                _await_workers(workers, interrupted)
            try:
                sent = _send(shared, len(group))
                for task, result in _results(workers, (make(sent, task) for task in group), alone):
                    if result is not None:
                        done[task] = result  # noqa: PERF403 - kept if a worker dies of the next
            except (BrokenExecutor, CancelledError):  # of loky and of Dask
                if interrupted():
                    return done
        if len(done) == tasks or interrupted():
            break
    return done


def _send(shared: object, tasks: int) -> object:
    """Return a stand-in for `shared` among the arguments of `tasks` tasks.

    Dask gets one copy per worker and task, or to all its workers. Left to itself it would send one with every
    task; or, if it notices that it is large, one to the worker that then gets most of the tasks, and loses
    them all if it dies. The other process backends write the large arrays of an object to shared memory once.
    """
    backend = _active_backend(prefer="threads")
    client = None if backend is None else getattr(backend[0], "client", None)
    if client is None:
        return shared
    import cloudpickle  # comes with Dask

    # Pickled here, since Dask returns arrays at any memory address, and sums can then differ in the last bit.
    return client.scatter(cloudpickle.dumps(shared), broadcast=tasks, hash=False)


def received(sent: Any) -> Any:
    """Return the object behind a stand-in: joblib sends nothing to a cluster with one processor."""
    held = sent.result() if type(sent).__module__.partition(".")[0] == "distributed" else sent
    return pickle.loads(held) if isinstance(held, bytes) else held  # noqa: S301 - what _send made


def _await_workers(workers: int, interrupted: Callable[[], bool]) -> None:
    """Wait for as many workers as at first, but not indefinitely: joblib sends nothing to a single worker."""
    end = time.monotonic() + PATIENCE
    while _effective(workers) < workers and time.monotonic() < end and not interrupted():
        time.sleep(0.1)


def _results(workers: int, calls: Iterable[Call], alone: float) -> Iterator[Any]:
    """Yield the results of calls as they come, if the backend can.

    Threads are those of the standard library, since joblib looks for results every 10 ms only.
    """
    active = _active_backend(prefer="threads")
    if active is None:  # with one worker: `_effective` imports joblib
        yield from (run(*args) for run, args in calls)
        return
    import joblib
    from joblib.parallel import SequentialBackend, ThreadingBackend

    backend = active[0]
    if workers == 1 and isinstance(backend, (ThreadingBackend, SequentialBackend)):
        yield from (run(*args) for run, args in calls)
    elif type(backend) is ThreadingBackend:
        pool, waiting, end = ThreadPoolExecutor(workers), list(calls), time.monotonic() + alone
        left: set[Future[Any]] = set()
        try:
            while waiting or left:
                free = (workers if time.monotonic() >= end else 1) - len(left)
                left |= {pool.submit(run, *args) for run, args in waiting[:free]}
                del waiting[:free]
                done, left = wait(left, LOOK, FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            # After an error or a second Ctrl-C nothing is waited for.
            pool.shutdown(wait=False, cancel_futures=True)
    else:
        return_as = "generator_unordered" if backend.supports_return_generator else "list"
        parallel = joblib.Parallel(
            n_jobs=workers, prefer="threads", pre_dispatch="all", batch_size=1, return_as=return_as
        )
        yield from parallel((run, args, {}) for run, args in calls)
