"""Compression of patterns: what a user waits for before a fit can begin."""

import time

import numpy as np
import pytest

from pyrjsel import PatternLogit

SIZES = {  # cases, features, levels, order
    "interactions of 20 features, order 4": (500, 20, 3, 4),
    "interactions of 20 features, every order": (100, 20, 2, 20),
}


def times_of(call):
    times = []
    for _ in range(3):
        start = time.thread_time()
        made = call()
        times.append(time.thread_time() - start)
    return made, times


@pytest.mark.parametrize("what", SIZES)
def test_bench_interactions(what, table):
    n, p, levels, order = SIZES[what]
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, levels, size=(n, p)), rng.integers(0, 2, size=n)
    model, times = times_of(lambda: PatternLogit(y, codes, order=order))
    note = f"{model.n_groups:,} groups of {model.n_patterns:,} patterns"
    table.series("compression of patterns", f"{what}, {n} cases", times, "s", target=10.0, note=note)


@pytest.mark.parametrize("copies", [1, 100])
def test_bench_sequence(copies, table):
    rng = np.random.default_rng(1)
    symbols = np.tile(rng.integers(0, 3, size=200_020 // copies), copies)
    model, times = times_of(lambda: PatternLogit.from_sequence(symbols, order=20))
    note = f"{model.n_groups:,} groups of {model.n_patterns:,} patterns"
    what = f"{model.nobs:,} symbols of a sequence, order 20" + (", repeated" if copies > 1 else "")
    table.series("compression of patterns", what, times, "s", target=5.0, note=note)
