"""Messages between the parent of a run and its chains: stops (Ctrl-C) one way, progress (its bar) the other.

Threads share the object itself. A worker process gets, when the object is pickled, a
:class:`RemoteSignals`, which communicates through small files in a temporary directory.
"""

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType


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


class InterruptGuard:
    """Context manager that turns the first SIGINT into a request to stop.

    A handler is installed only in the main thread, and only over one that Python can restore;
    a process that ignores SIGINT continues to ignore it. The previous handler is restored on exit.

    Parameters
    ----------
    signals : Signals
        Object that passes the request to the chains.

    Attributes
    ----------
    count : int
        Interrupts caught so far.
    """

    def __init__(self, signals: Signals) -> None:
        self.count = 0
        self._signals = signals
        self._former: object = None

    def __enter__(self) -> "InterruptGuard":
        former = signal.getsignal(signal.SIGINT)
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and former is not None and former != signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._handle)
            self._former = former
        return self

    def __exit__(self, *raised: object) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)  # type: ignore[arg-type]
            self._former = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        # Written at every interrupt: after a second one, threads that cannot be killed still end.
        self._signals.stop()
        if self.count > 1:
            raise KeyboardInterrupt


def ignore_in_worker(parent: int) -> None:
    """Ignore SIGINT from here on in a worker process other than process `parent`.

    A terminal sends Ctrl-C to the whole process group. The parent passes the request on through
    the signals; a worker that died of the signal would take the results of every chain with it. The
    signal stays ignored after the chain, since an idle worker must survive it too: the parent
    ends its workers when it needs to.
    """
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


# Seconds between two readings of the signals, and before the bar of an interactive run appears.
INTERVAL = 0.2
DELAY = 1.0
# The bar of a run whose number of steps is learned as it proceeds.
STEPS = "{desc}: {n_fmt} of about {total_fmt} |{bar}| {elapsed}, about {remaining} left"


class ProgressBar:
    """Context manager that shows the progress of the chains on standard error.

    A separate thread reads the signals and is the only one to update the bar, so it makes no
    difference whether chains run in threads or in processes.

    Parameters
    ----------
    signals : Signals
        Object in which the chains record their progress.
    total : int
        Iterations of all chains together.
    show : bool or None
        None shows a bar after one second if standard error is a terminal or a notebook. With a value in the
        environment variable ``TQDM_DISABLE`` nothing is shown.
    label : str
        Label of the bar.
    before : str
        Line above the bar of a run whose number of steps is learned as it proceeds.
    """

    def __init__(self, signals: Signals, total: int, show: bool | None, label: str, before: str = "") -> None:
        self._before = before
        self._signals = signals
        self._total = total
        self._label = label
        self._delay = 0.0 if show else DELAY
        # Where tqdm is switched off, there is no line before its bar either.
        self._show = not os.environ.get("TQDM_DISABLE") and (_interactive() if show is None else show)
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "ProgressBar":
        if self._show:
            self._thread = threading.Thread(target=self._watch, name="pyrjsel-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._thread is not None:
            self._end.set()
            self._thread.join()

    def _watch(self) -> None:
        from tqdm import tqdm

        delay, form, initial = self._delay, None, 0
        if self._before:
            if self._end.wait(delay):
                return
            tqdm.write(self._before, file=sys.stderr)
            self._end.wait(INTERVAL)  # for the first forecast
            delay, form, initial = 0.0, STEPS, self._signals.total()
        with tqdm(
            total=self._signals.expected or self._total,
            initial=initial,
            bar_format=form,
            desc=self._label or None,
            delay=delay,
            unit="it",
            unit_scale=not self._before,
            mininterval=0.0,
            miniters=0,
            file=sys.stderr,
        ) as bar:
            running = True
            while running:
                running = not self._end.wait(INTERVAL)
                bar.total = self._signals.expected or bar.total
                bar.update(self._signals.total() - bar.n)


def _interactive() -> bool:
    """Return whether standard error is a terminal or a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
