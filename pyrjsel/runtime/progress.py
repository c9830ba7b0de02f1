"""One progress bar over the iterations of all chains."""

import os
import sys
import threading

from pyrjsel.runtime.signals import Signals

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
