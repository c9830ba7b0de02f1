"""Resources of a process that runs use: BLAS threads, freed memory, locks of files, and run time."""

import ctypes
import sys
import threading
import time
from contextlib import ContextDecorator
from dataclasses import dataclass
from functools import cache
from typing import Any, BinaryIO

import scipy.linalg  # noqa: F401 - loads the BLAS of scipy, which is not numpy's
from threadpoolctl import ThreadpoolController

from pyrjsel.storage import Content, Plain


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS libraries of numpy and scipy; they are looked for once, which takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


class _OneBlasThread(ContextDecorator):
    """Context manager and decorator: BLAS has one thread in this process while any thread is inside.

    Chains of one worker process may overlap. If each set the limit on its own, the first to end would remove
    the limit of the others, and the last would restore the limit of the first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._limits is None:
                self._limits = _libraries().limit(limits=1)
            self._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None


one_blas_thread = _OneBlasThread()


@cache
def _trim() -> Any:
    """Return the function of the C library that returns freed memory, or None."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def release() -> None:
    """Return freed memory to the system if the C library would keep it.

    GNU's library keeps a pool for every thread: memory that the chains of a wide fit used temporarily would
    remain allocated beside that of the results.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

# Seconds that a chain has to end after a stop request or the death of its process.
PATIENCE = 5.0


def lock(file: BinaryIO) -> None:
    """Lock an open file until it is closed; no effect on systems without such locks.

    Raises
    ------
    BlockingIOError
        If it stays locked, by this process or another.
    OSError
        If its file system does not support locks.
    """
    end = time.monotonic() + PATIENCE
    held = fcntl is None
    while not held:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


@dataclass(frozen=True)
class RunTime:
    """A run time.

    Attributes
    ----------
    cpu : float
        CPU seconds of all workers.
    clock : float
        Wall-clock seconds.
    """

    cpu: float = 0.0
    clock: float = 0.0

    def __add__(self, other: "RunTime") -> "RunTime":
        return RunTime(self.cpu + other.cpu, self.clock + other.clock)

    def columns(self) -> dict[str, list[float]]:
        """Return the columns of a diagnostics table with one row."""
        return {"seconds": [self.clock], "cpu_seconds": [self.cpu]}

    def to_plain(self) -> Plain:
        """Return the run time as plain data."""
        return dict(vars(self))

    @classmethod
    def from_plain(cls, content: Content) -> "RunTime":
        """Return the run time that :meth:`to_plain` wrote.

        Raises
        ------
        StoreError
            If it is not a pair of durations.
        """
        return cls(*(content.number(name, 0.0) for name in vars(cls())))

    def fact(self) -> tuple[str, str]:
        """Return the line of a summary."""
        return "Run time", f"{self.cpu:.1f} s CPU, {self.clock:.1f} s elapsed"


class Stopwatch:
    """The run time of one call, from the creation of this object.

    CPU seconds are those of the creating thread and of the chains, wherever these run: other threads
    of the process do not count, whether they belong to another fit or to a library.

    Parameters
    ----------
    before : RunTime, optional
        Run time of the run that is extended, and wall-clock time of calls that were killed.
    """

    def __init__(self, before: RunTime | None = None) -> None:
        self._before = before or RunTime()
        self._begun, self._thread = time.perf_counter(), time.thread_time()
        self._chains = self._aside = 0.0

    def add(self, chains: float, aside: float = 0.0) -> None:
        """Add CPU seconds of chains; `aside` are those of this thread meanwhile, which may include theirs."""
        self._chains += chains
        self._aside += aside

    def read(self) -> RunTime:
        """Return the run time so far."""
        own = max(0.0, time.thread_time() - self._thread - self._aside)
        return self._before + RunTime(own + self._chains, time.perf_counter() - self._begun)
