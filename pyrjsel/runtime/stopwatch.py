"""Run time of fits: CPU seconds and wall-clock seconds."""

import time
from dataclasses import dataclass

from pyrjsel.storage import Content, Plain


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
