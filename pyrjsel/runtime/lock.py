"""Locks on files, which end with the process that holds them."""

from typing import BinaryIO

try:
    import fcntl
except ImportError:  # systems that are not POSIX
    fcntl = None  # type: ignore[assignment]


def lock(file: BinaryIO) -> None:
    """Lock an open file as long as it is open; without effect where the system has no such locks.

    Raises
    ------
    BlockingIOError
        If it is locked, by this process or another.
    """
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
