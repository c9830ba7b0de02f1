"""Memory that has been freed goes back to the system."""

import ctypes
import sys
from functools import cache
from typing import Any


@cache
def _trim() -> Any:
    """Return the function of the C library that gives freed memory back, None where it has none."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def release() -> None:
    """Give freed memory back to the system, where the C library would keep it.

    That of GNU keeps a pool for every thread: what the chains of a wide fit used on their way would stand
    beside what their results need.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
