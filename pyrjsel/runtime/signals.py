"""Messages between the parent of a run and its chains: "stop" one way, progress the other.

Threads share the object itself. A worker process gets, when the object is pickled, a
:class:`RemoteSignals`, which communicates through small files in a temporary directory.
"""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress


class Signals:
    """Stop flag and iteration counts of the chains of one run.

    Parameters
    ----------
    chains : int
        Number of chains.
    """

    remote = False
    # Expected number of steps, if it is learned as the run proceeds.
    expected: int | None = None

    def __init__(self, chains: int) -> None:
        self._done = [0] * chains
        self._stop = threading.Event()
        self._directory: str | None = None
        self._former: list[str] = []
        # Re-entrant: a signal handler may ask for a stop in the middle of _share.
        self._lock = threading.RLock()

    @property
    def stopped(self) -> bool:
        """Whether the chains should return after their current block."""
        return self._stop.is_set() or (self._directory is not None and _exists(self._directory))

    def stop(self) -> None:
        """Ask all chains to return after their current block."""
        self._stop.set()
        if self._directory is not None:
            _touch(self._directory)

    def renew(self) -> None:
        """Ask chains in processes to end; chains started from now on belong to a new attempt."""
        with self._lock:
            if self._directory is not None:
                _touch(self._directory)
                self._former.append(self._directory)
                self._directory = None

    def begin(self, chain: int) -> bool:
        """Return whether a chain may begin here: not in the parent, once a worker has died of one."""
        return not self._former

    def report(self, chain: int, done: int) -> None:
        """Record that `chain` has finished `done` iterations."""
        self._done[chain] = done

    def forecast(self, done: int, expected: int) -> None:
        """Record that the only chain has made `done` of about `expected` steps."""
        self._done[0], self.expected = done, expected

    def total(self) -> int:
        """Return the iterations that all chains have done."""
        directory = self._directory
        if directory is None:
            return sum(self._done)
        return sum(max(here, _read(directory, chain)) for chain, here in enumerate(self._done))

    def close(self) -> None:
        """Remove the files, if there are any."""
        for directory in [*self._former, self._directory]:
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)

    def _share(self) -> str:
        with self._lock:
            if self._directory is None:
                self._directory = tempfile.mkdtemp(prefix="pyrjsel-")
            if self._stop.is_set():
                _touch(self._directory)
            return self._directory

    def __reduce__(self) -> tuple[Callable[[str], "RemoteSignals"], tuple[str]]:
        return RemoteSignals, (self._share(),)


class RemoteSignals:
    """The signals as a worker process sees it.

    On a machine that does not share the parent's temporary directory, no signals are exchanged.
    """

    remote = True

    def __init__(self, directory: str) -> None:
        self._directory = directory

    @property
    def stopped(self) -> bool:
        """Whether the chain should return after its current block."""
        return _exists(self._directory)

    def stop(self) -> None:
        """Ask all chains to return after their current block."""
        _touch(self._directory)

    def begin(self, chain: int) -> bool:
        """Return whether a chain may begin: once per attempt, as far as is known here."""
        try:
            with open(os.path.join(self._directory, f"begun-{chain}"), "xb"):
                return True
        except FileExistsError:
            return False
        except OSError:  # another machine, or a full disk
            return True

    def report(self, chain: int, done: int) -> None:
        """Record that `chain` has finished `done` iterations."""
        path = _count_path(self._directory, chain)
        # Written to a temporary file and renamed, so that the parent never reads half a number. On another
        # machine, or if the disk is full, progress is not known; the chain continues.
        with suppress(OSError):
            with open(path + ".new", "w", encoding="ascii") as file:
                file.write(str(done))
            os.replace(path + ".new", path)

    def forecast(self, done: int, expected: int) -> None:
        """Record that the only chain has made `done` steps."""
        self.report(0, done)


def _exists(directory: str) -> bool:
    return os.path.exists(os.path.join(directory, "stop"))


def _touch(directory: str) -> None:
    # If the disk is full, or the directory has gone, chains that look there run to their end.
    with suppress(OSError), open(os.path.join(directory, "stop"), "w", encoding="ascii"):
        pass


def _count_path(directory: str, chain: int) -> str:
    return os.path.join(directory, f"chain-{chain}")


def _read(directory: str, chain: int) -> int:
    try:
        with open(_count_path(directory, chain), encoding="ascii") as file:
            return int(file.read())
    except FileNotFoundError:  # not started yet
        return 0
