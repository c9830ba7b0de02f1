"""Digests of plain data: the same for the same data, on every machine."""

import hashlib

import numpy as np

from pyrjsel.storage.plain import Plain, dump, encode


def digest(value: Plain) -> str:
    """Return 32 hexadecimal digits that identify plain data.

    Examples
    --------
    >>> import numpy as np
    >>> from pyrjsel.storage import digest
    >>> digest({"x": np.arange(3)}) == digest({"x": np.arange(3)})
    True
    >>> digest({"x": np.arange(3)}) == digest({"x": np.arange(3.0)})
    False
    """
    arrays: list[np.ndarray] = []
    found = hashlib.blake2b(dump(encode(value, arrays)), digest_size=16)
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(array.data)
    return found.hexdigest()
