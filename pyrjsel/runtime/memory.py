"""Return of freed memory to the system."""

import ctypes
import sys
from functools import cache
from typing import Any


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
