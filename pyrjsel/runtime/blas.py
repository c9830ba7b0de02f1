"""One BLAS thread: chains already use all processors, and small products gain nothing from a second one."""

import threading
from contextlib import ContextDecorator
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401 - loads the BLAS of scipy, which is not numpy's
from threadpoolctl import ThreadpoolController


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
