"""Ctrl-C during a run: the first asks the chains to stop, the second raises at once."""

import os
import signal
import threading
from types import FrameType

from pyrjsel.runtime.signals import Signals


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
