"""Saved results with one thing changed: refused, or figures that can be what they are called."""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from by_path import module

import pyrjsel as rj
from pyrjsel.storage import Document, read, write

fits = module(Path(__file__).parent / "fits.py")

# Numbers that are hardly ever right where they stand.
NUMBERS = (np.nan, np.inf, -np.inf, -1.0, -0.5, 1.5, 2.0, 1e308, -1e308, 0.0)
# What the fields of tables must be; those not named may be anything but infinite.
SHARES = {"posterior", "prior", "prob_positive", "occupancy", "error_rate", "rate"}
ERRORS = {
    *("mcse", "se", "sd", "ess", "r_hat", "mean_se", "sd_included", "log_sd", "difference_se"),
    *("odds", "odds_mcse", "bayes_factor", "seconds", "cost", "size", "cases", "patterns", "draws", "models"),
}


@cache
def document(name, folder):
    path = folder / f"{name}.rjs"
    fits.make(name)[1].save(path)
    return read(path)


def places(value, start=()):
    """Yield the place of everything in nested plain data."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*start, key)
        yield from places(item, (*start, key))


def at(value, place):
    for key in place:
        value = value[key]
    return value


def put(value, place, new):
    """Return nested plain data with something else at a place; the rest is shared."""
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = put(value[place[0]], place[1:], new)
    return copy


def other_array(array, rng):
    """Return an array with a number changed, or of another type or shape."""
    kind = rng.integers(8)
    if kind < 4 and array.size:
        found = array.copy()
        number = NUMBERS[rng.integers(len(NUMBERS))]
        with np.errstate(invalid="ignore"):
            found.reshape(-1)[rng.integers(array.size)] = np.array(number).astype(array.dtype)
        return found
    if kind == 4:
        with np.errstate(invalid="ignore"):
            return array.astype([np.float32, np.float64, np.int64, np.uint8, np.bool_][rng.integers(5)])
    if kind == 5 and array.ndim:
        return array[:-1] if rng.random() < 0.5 else np.concatenate([array, array[-1:]])
    if kind == 6:
        return array.T.copy() if rng.random() < 0.5 else array.ravel()
    with np.errstate(invalid="ignore"):
        return np.full_like(array, np.array(NUMBERS[rng.integers(len(NUMBERS))]).astype(array.dtype))


def other(value, rng):
    """Return something that is not `value`, of its kind or not."""
    if isinstance(value, np.ndarray) and rng.random() < 0.9:
        return other_array(value, rng)
    if isinstance(value, list) and value and rng.random() < 0.8:
        one = rng.integers(len(value))
        kind = rng.integers(3)
        return [*value[:one], *value[one + (kind == 0) :], *([value[one]] if kind == 1 else [])][
            :: -1 if kind == 2 else 1
        ]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.8:
        number = (*NUMBERS, value + 1, -value)[rng.integers(len(NUMBERS) + 2)]
        return int(number) if isinstance(value, int) and abs(number) < 1e300 else float(number)
    return (None, 3, -1.5, True, "x", [], {}, [value], np.zeros(3), float("nan"), 2**60)[rng.integers(11)]


def mutated(content, rng):
    """Return content with one thing changed, left out, or changed for what stands beside it."""
    all_places = list(places(content))
    place = all_places[rng.integers(len(all_places))]
    above, key = at(content, place[:-1]), place[-1]
    kind = rng.integers(10)
    if kind == 0 and isinstance(above, dict):
        return put(content, place[:-1], {name: item for name, item in above.items() if name != key}), place
    if kind in (1, 2):
        keys = list(above) if isinstance(above, dict) else list(range(len(above)))
        beside = keys[rng.integers(len(keys))]
        changed = dict(above) if isinstance(above, dict) else list(above)
        changed[key], changed[beside] = above[beside], above[key]
        return put(content, place[:-1], changed), (*place, "with", beside)
    return put(content, place, other(above[key], rng)), place


def tables(results):
    names = {
        rj.SelectionResults: ("inclusion", "models", "coefficients", "diagnostics", "params", "bse"),
        rj.PatternResults: ("sigma", "groups", "coefficients", "compression", "diagnostics"),
        rj.KernelResults: ("n_kernels", "sigma", "diagnostics", "centres"),
        rj.MixtureResults: ("inclusion", "models", "diagnostics"),
    }[type(results)]
    found = {name: getattr(results, name) for name in names}
    if isinstance(results, rj.KernelResults) and results.sampler == "smc":
        found |= {"path": results.path, "widths": results.widths}
    if isinstance(results, rj.MixtureResults) and results._comparison is not None:
        found["comparison"] = results.comparison
    return found


def check_meaning(results):
    """Assert that the figures of results can be what they are called."""
    for name, table in tables(results).items():
        frame = table.to_frame() if isinstance(table, pd.Series) else table
        assert len(frame) > 0 or name == "centres", name
        for column in frame:
            values = frame[column]
            if not pd.api.types.is_numeric_dtype(values):
                continue
            known = values.to_numpy(dtype=float)
            known = known[~np.isnan(known)]
            if column in SHARES:
                assert ((known >= 0) & (known <= 1 + 1e-9)).all(), (name, column, known)
            elif column in ERRORS:
                assert (known >= 0).all(), (name, column, known)
        for column in ("posterior",):
            if column in frame and name != "centres":
                assert not frame[column].isna().any(), (name, column)
        if name == "models":
            assert frame["posterior"].sum() < 1 + 1e-6
            # Where masses are known models are ranked by them, and visits need not fall from rank to rank.
            assert frame["odds"].is_monotonic_increasing
    text = str(results.summary())
    assert len(text) > 100
    repr(results)


def look(name, path, rows):
    """Return whether a file was read, after a look at all that it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        try:
            found = rj.load(path, rows, functions=fits.functions_of(name))
        except (rj.StoreError, rj.DataError, rj.ParameterError, rj.UnknownNameError, rj.FormulaError):
            return False
        check_meaning(found)
        return True


def mutate(name, folder, count, seed):
    """Return how many of `count` changed files were read, and what is wrong with some, by seed."""
    known, taken, wrong = document(name, folder), 0, []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        content, place = mutated(known.content, rng)
        path = folder / "mutated.rjs"
        try:
            write(path, Document(known.kind, content))
        except (TypeError, rj.StoreError):
            continue
        try:
            taken += look(name, path, fits.make(name)[0] if number % 2 else None)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is listed
            wrong.append(f"{number} {place}: {error!r}")
    return taken, wrong


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mutated")


@pytest.mark.parametrize("name", fits.FITS)
@pytest.mark.parametrize(
    "count", [15, pytest.param(200, marks=pytest.mark.statistical)], ids=["short", "long"]
)
def test_changed_results_are_refused_or_mean_what_they_say(folder, name, count):
    """Of 17 kinds of results 200 each are 3,400 changes."""
    taken, wrong = mutate(name, folder, count, seed=count)
    assert not wrong
    assert taken < count
