"""Locks on files, which end with the process that holds them."""

import time
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # systems that are not POSIX
    fcntl = None  # type: ignore[assignment]

# Seconds that a chain has to end in once it is asked to, or its process killed.
PATIENCE = 5.0


def lock(file: BinaryIO) -> None:
    """Lock an open file as long as it is open; without effect where the system has no such locks.

    Raises
    ------
    BlockingIOError
        If it stays locked, by this process or another.
    OSError
        If its file system has no such locks.
    """
    end = time.monotonic() + PATIENCE
    held = fcntl is None
    while not held:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
