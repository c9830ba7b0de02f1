"""Ctrl-C at a certain iteration."""

import signal
import threading
import time


def ctrl_c():
    """Send SIGINT to this thread, and wait until the run has seen it, however busy the machine.

    Systems may hand the signal of a terminal to any thread, which does not wake the main thread.
    """
    signals, until = signal.getsignal(signal.SIGINT).__self__._signals, time.monotonic() + 30
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    while not signals.stopped and time.monotonic() < until:
        time.sleep(0.001)
    assert signals.stopped


def interrupt_when(monkeypatch, kind, due):
    """Have the first worker of class `kind` that is `due` after a block send Ctrl-C, once for all workers.

    Returns a list that is no longer empty once it has been sent.
    """
    advance, sent = kind.advance, []

    def watched(self, n):
        advance(self, n)
        if not sent and due(self):
            sent.append(True)
            ctrl_c()

    monkeypatch.setattr(kind, "advance", watched)
    return sent
