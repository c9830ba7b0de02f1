"""File locks, released when the process that holds them ends."""

import time
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

# Seconds that a chain has to end after a stop request or the death of its process.
PATIENCE = 5.0


def lock(file: BinaryIO) -> None:
    """Lock an open file until it is closed; no effect on systems without such locks.

    Raises
    ------
    BlockingIOError
        If it stays locked, by this process or another.
    OSError
        If its file system does not support locks.
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
