"""Run time of fits: CPU seconds and seconds by the clock."""

import math
import time
from dataclasses import dataclass

from pyrjsel.store import Content, Plain


@dataclass(frozen=True)
class RunTime:
    """How long something took; NaN is unknown, in results of files of earlier versions.

    Attributes
    ----------
    cpu : float
        CPU seconds of all workers.
    clock : float
        Seconds by the clock.
    """

    cpu: float = 0.0
    clock: float = 0.0

    def __add__(self, other: "RunTime") -> "RunTime":
        return RunTime(self.cpu + other.cpu, self.clock + other.clock)

    def columns(self) -> dict[str, list[float]]:
        """Return the columns of a table of diagnostics with one row."""
        return {"seconds": [self.clock], "cpu_seconds": [self.cpu]}

    def to_plain(self) -> Plain:
        """Return it as plain data; None is unknown."""
        return {name: value if math.isfinite(value) else None for name, value in vars(self).items()}

    @classmethod
    def from_plain(cls, content: Content) -> "RunTime":
        """Return what was written.

        Raises
        ------
        StoreError
            If it is no pair of lengths of time.
        """
        return cls(*(content.number(name, 0.0) if name in content else math.nan for name in vars(cls())))

    def fact(self, work: float) -> tuple[str, str]:
        """Return the line of a summary; `work` are the seconds of all chains, known of every fit."""
        if math.isnan(self.cpu + self.clock):
            return "Run time", f"{work:.1f} s, of all chains together"
        return "Run time", f"{self.cpu:.1f} s CPU, {self.clock:.1f} s by the clock"


# Of results in files that do not know it.
UNKNOWN = RunTime(math.nan, math.nan)


class Stopwatch:
    """The run time of one call, from when it is made.

    CPU seconds are those of the thread that makes it and of the chains, wherever these run: other threads
    of the process do not count, be they of another fit or of a library.

    Parameters
    ----------
    before : RunTime, optional
        Of the run that this one goes on from, and by the clock of calls that were killed.
    """

    def __init__(self, before: RunTime | None = None) -> None:
        self._before = before or RunTime()
        self._begun, self._thread = time.perf_counter(), time.thread_time()
        self._chains = self._aside = 0.0

    def add(self, chains: float, aside: float = 0.0) -> None:
        """Count CPU seconds of chains; `aside` are those of this thread meanwhile, which may be theirs."""
        self._chains += chains
        self._aside += aside

    def read(self) -> RunTime:
        """Return the run time so far."""
        own = max(0.0, time.thread_time() - self._thread - self._aside)
        return self._before + RunTime(own + self._chains, time.perf_counter() - self._begun)
