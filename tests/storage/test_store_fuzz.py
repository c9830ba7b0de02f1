"""Changed files: read or refused, within a second and a gigabyte. Nothing crashes and nothing hangs."""

import resource
import sys
import time

import numpy as np
import pytest

from pyrjsel import StoreError
from pyrjsel.storage import Document, read
from pyrjsel.storage.files import to_bytes

SECONDS, BYTES = 1.0, 2**30


def whole_files():
    rng = np.random.default_rng(1)
    contents = [
        {"x": rng.normal(size=(20, 3)), "names": ["a", "b"], "settings": {"draws": 10, "g": float("nan")}},
        [np.arange(k) for k in range(30)],
        {"state": {"state": 2**127 + 1, "inc": 5}, "words": rng.integers(0, 2**63, (50, 2), dtype=np.uint64)},
    ]
    return [bytes(to_bytes(Document("test", content))) for content in contents]


def change(data, others, rng):
    """Return `data` with one to four changes of a random kind."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        at, n = int(rng.integers(len(data) + 1)), int(rng.integers(1, 40))
        kind = rng.integers(7)
        if kind == 0:
            del data[at:]
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            data[at : at + n] = rng.bytes(n)
        elif kind == 3:
            data[at:at] = rng.bytes(n)
        elif kind == 4:
            del data[at : at + n]
        elif kind == 5:
            other = others[rng.integers(len(others))]
            place = int(rng.integers(len(other)))
            data[at:at] = other[place : place + 10 * n]
        else:  # numbers at the edges, where sizes and offsets stand
            data[at : at + 4] = [b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x80"][rng.integers(4)]
        if not data:
            break
    return bytes(data)


def fuzz(count, path, seed):
    rng = np.random.default_rng(seed)
    files, refused, slowest = whole_files(), 0, 0.0
    for number in range(count):
        path.write_bytes(change(files[number % len(files)], files, rng))
        begin = time.perf_counter()
        try:
            read(path)
        except StoreError:
            refused += 1
        slowest = max(slowest, time.perf_counter() - begin)
    return refused, slowest


def peak():
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


@pytest.mark.parametrize(
    "count", [400, pytest.param(10_000, marks=pytest.mark.statistical)], ids=["short", "long"]
)
def test_changed_files_are_read_or_refused(tmp_path, count):
    before = peak()
    refused, slowest = fuzz(count, tmp_path / "changed.rjs", seed=count)
    assert refused > 0.8 * count
    assert slowest < SECONDS
    assert peak() - before < BYTES
