"""Results in files whose content somebody has changed: read or refused, within a second and a gigabyte."""

import contextlib
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from by_path import module

import pyrjsel as rj
from pyrjsel.storage import Document, read, write

HERE = Path(__file__).parent
fits = module(HERE / "fits.py")


def paths(value, start=()):
    """Yield the place of everything in nested plain data, lists of numbers and text at their first item."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))[: len(value) if value and isinstance(value[0], dict) else 1]
    else:
        items = []
    for key, item in items:
        yield (*start, key)
        yield from paths(item, (*start, key))


def changed(value, path, make):
    """Return nested plain data with something else at a place; the rest is shared."""
    if not path:
        return make(value)
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = changed(value[key], rest, make)
    return copy


def entered(value, number):
    """Return an array with another number somewhere."""
    if not isinstance(value, np.ndarray) or not value.size:
        return value
    value = value.copy()
    value.reshape(-1)[value.size // 2] = np.array(number).astype(value.dtype)
    return value


WRONG = [
    lambda value: None,
    lambda value: 3,
    lambda value: -1,
    lambda value: 2**62,
    lambda value: 1e308,
    lambda value: float("nan"),
    lambda value: True,
    lambda value: "x",
    lambda value: "__import__('os').system('true')",
    lambda value: [],
    lambda value: {},
    lambda value: [value, value],
    lambda value: {"is": "GPrior", "has": {"g": value}},
    lambda value: np.zeros(3),
    lambda value: np.zeros((0, 5), dtype=np.uint8),
    lambda value: value[:-1] if isinstance(value, (np.ndarray, list, str)) and np.ndim(value) else None,
    lambda value: np.full_like(value, 255) if isinstance(value, np.ndarray) else {"a": value},
    lambda value: value.T if isinstance(value, np.ndarray) else [None],
    lambda value: entered(value, 7),
    lambda value: entered(value, -1),
    lambda value: value.astype(np.float32) if isinstance(value, np.ndarray) else b"x",
]


def load(path, name):
    """Return what a file holds, with the rows of its fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return rj.load(path, fits.make(name)[0], functions=fits.functions_of(name))


def use(found):
    """Look at what was read."""
    found.summary()
    repr(found)
    with contextlib.suppress(rj.NotAvailableError):
        found.extend(2, n_jobs=1, progress=False)
    if isinstance(found, rj.SelectionResults):
        return found.inclusion, found.models, found.coefficients, found.predict(fits.births().head())
    if isinstance(found, rj.PatternResults):
        return found.sigma, found.coefficients
    if isinstance(found, rj.MixtureResults):
        return found.inclusion, found.models, found.predict(fits.flowers().head())
    return found.n_kernels, found.centres


def fuzz(name, path, count, seed):
    """Return how many of `count` changes of a file's content were refused, and the longest time of a load."""
    fits.make(name)[1].save(path)
    document, rng = read(path), np.random.default_rng(seed)
    places, refused, slowest = list(paths(document.content)), 0, 0.0
    for _ in range(count):
        place, make = places[rng.integers(len(places))], WRONG[rng.integers(len(WRONG))]
        write(path, Document(document.kind, changed(document.content, place, make)))
        begin = time.process_time()
        try:
            found = load(path, name)
        except rj.PyrjselError:
            refused += 1
            slowest = max(slowest, time.process_time() - begin)
            continue
        slowest = max(slowest, time.process_time() - begin)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                use(found)
            except (rj.PyrjselError, ValueError, ArithmeticError):
                refused += 1
    return refused, slowest


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


FUZZED = [
    "logit rjmcmc", "linear enumerated", "linear spikes", "kernel smc", "kernel mcmc", "pattern interactions",
    "pattern gaps", "mixture", "mixture arrays",
]  # fmt: skip


@pytest.mark.parametrize("name", FUZZED)
@pytest.mark.parametrize(
    "count", [30, pytest.param(2000, marks=pytest.mark.statistical)], ids=["short", "long"]
)
def test_changed_contents_are_read_or_refused(tmp_path, name, count):
    """Archives that are whole, with content that somebody has changed: errors of the package, in time."""
    before = peak()
    refused, slowest = fuzz(name, tmp_path / "a.rjs", count, seed=count + len(name))
    assert refused > 0.5 * count
    assert slowest < 1.0
    assert peak() - before < 2**30
