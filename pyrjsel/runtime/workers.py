"""Send tasks to workers through joblib, and again those whose worker has died."""

import pickle
import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend

from pyrjsel._errors import WorkerWarning
from pyrjsel._validate import bad_value, listed
from pyrjsel._warnings import warn

# Times that a task is begun: all at once, again all that are left, and again each alone, since the death of
# one worker process ends those beside it.
ATTEMPTS = 3
# Seconds to wait for a worker in the place of a dead one, which a cluster may start or not.
PATIENCE = 20.0


def count_workers(n_jobs: object, tasks: int) -> int:
    """Return how many workers joblib is to use for `tasks` tasks.

    Raises
    ------
    ParameterError
        If `n_jobs` is neither None nor an int other than 0.
    """
    if n_jobs is None:
        configured = get_active_backend()[1]  # what joblib.parallel_config says; None without it
        wanted = -1 if configured is None else int(configured)
    elif isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise bad_value("n_jobs", "run_chains", "None or an int other than 0", n_jobs)
    else:
        wanted = int(n_jobs)
    return max(1, min(tasks, int(joblib.effective_n_jobs(wanted))))


def run_tasks(
    shared: object,
    make: Callable[[Any, int], Any],
    tasks: int,
    workers: int,
    *,
    again: Callable[[], None],
    interrupted: Callable[[], bool],
) -> Mapping[int, Any]:
    """Return what tasks give, by number: without those whose worker has died each time.

    Parameters
    ----------
    shared : object
        What all tasks need, which may be large.
    make : callable
        Returns a task as ``joblib.delayed`` makes it, from what stands for `shared` and its number. The task
        returns its number and a result, which is None if the same attempt at it has been begun before: Dask
        itself begins again what was lost with a worker, and joblib waits for ever once Dask gives up.
    tasks : int
        How many there are.
    workers : int
        Workers at a time.
    again : callable
        Called before tasks are begun again: ends those of the last attempt that may still run.
    interrupted : callable
        Whether there was a Ctrl-C: what died of it is not begun again.
    """
    done: dict[int, Any] = {}
    for attempt in range(ATTEMPTS):
        left = [task for task in range(tasks) if task not in done]
        if attempt:
            again()
            numbers = listed([str(task) for task in left])
            text = f"A worker died. Begun again, to the same draws: {numbers} (chains count from 0)."
            warn(text, WorkerWarning)
        for group in [left] if attempt + 1 < ATTEMPTS else [[task] for task in left]:
            if attempt:
                _await_workers(workers, interrupted)
            try:
                sent = _send(shared, len(group))
                for task, result in _parallel(workers)(make(sent, task) for task in group):
                    if result is not None:
                        done[task] = result  # noqa: PERF403 - kept if a worker dies of the next
            except (BrokenExecutor, CancelledError):  # of loky and of Dask
                if interrupted():
                    return done
        if len(done) == tasks or interrupted():
            break
    return done


def _send(shared: object, tasks: int) -> object:
    """Return what stands for `shared` among the arguments of `tasks` tasks.

    Dask gets a copy to a worker a task, or to all it has. Left to itself it would send one with every task;
    or, of what it sees is large, one to the worker that then gets most of the tasks, and takes them with it
    if it dies. The other backends of processes write the large arrays of an object to shared memory once.
    """
    client = getattr(get_active_backend(prefer="threads")[0], "client", None)
    if client is None:
        return shared
    import cloudpickle  # comes with Dask

    # Pickled here, since Dask hands arrays out at any address, and sums of such can differ in the last bit.
    return client.scatter(cloudpickle.dumps(shared), broadcast=tasks, hash=False)


def received(sent: Any) -> Any:
    """Return what the argument of a task stands for: joblib sends nothing to a cluster of one processor."""
    held = sent.result() if type(sent).__module__.partition(".")[0] == "distributed" else sent
    return pickle.loads(held) if isinstance(held, bytes) else held  # noqa: S301 - what _send made


def _await_workers(workers: int, interrupted: Callable[[], bool]) -> None:
    """Wait for as many workers as at first, but not for ever: to one alone joblib sends nothing."""
    end = time.monotonic() + PATIENCE
    while joblib.effective_n_jobs(workers) < workers and time.monotonic() < end and not interrupted():
        time.sleep(0.1)


def _parallel(workers: int) -> joblib.Parallel:
    """Return joblib's dispatcher, which hands out results as they come where its backend can."""
    backend = get_active_backend(prefer="threads")[0]
    return_as = "generator_unordered" if backend.supports_return_generator else "list"
    return joblib.Parallel(
        n_jobs=workers, prefer="threads", pre_dispatch="all", batch_size=1, return_as=return_as
    )
