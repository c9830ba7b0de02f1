"""Enumeration of models with factors of many levels: exact, in memory of the square of their columns."""

import os
import sys

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.model_space import enumerate_models, unpack
from pyrjsel.selection.samplers.recording.gaussian_average import Tree

TERMS = ("f", "x", "h", "z")


def rows(levels, n):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["y", "x", "z"])
    for name, count in levels.items():
        frame[name] = np.array([f"l{level:04d}" for level in range(count)])[np.arange(n) * 7 % count]
    frame["y"] += frame["x"] + 0.5 * (frame["f"] == "l0001")
    return frame


@pytest.mark.parametrize("order", [TERMS, TERMS[::-1], ("x", "f", "z", "h")])
def test_factors_between_numbers_match_least_squares(order):
    n = 80
    frame = rows({"f": 6, "h": 5}, n)
    model = rj.linear(f"y ~ {' + '.join(order)}", frame, coef_prior=rj.GPrior("n"), model_prior=rj.Uniform())
    results = model.fit()
    X, y = model.data.X, frame["y"] - frame["y"].mean()
    names = model.design.column_names
    found, means, total = results.models, np.zeros(X.shape[1]), 0.0
    for _, row in found.iterrows():
        terms = [term for term in model.design.terms if term.name in row["terms"]]
        inside = [j for term in terms for j in range(term.start, term.stop)]
        centred = X[:, inside] - X[:, inside].mean(axis=0)
        slopes = np.linalg.lstsq(centred, y)[0]
        r2 = 1 - np.sum((y - centred @ slopes) ** 2) / np.sum(y**2)
        # Zellner's g-prior with g = n, in closed form (Liang et al. 2008, eq. 6).
        factor = 0.5 * (n - 1 - len(inside)) * np.log1p(n) - 0.5 * (n - 1) * np.log1p(n * (1 - r2))
        empty = found["log_marginal"][found["size"] == 0].iloc[0]
        assert row["log_marginal"] - empty == pytest.approx(factor, abs=1e-9)  # rounding of sums of 80 rows
        means[inside] += row["posterior"] * n / (n + 1) * slopes
        total += row["posterior"]
    assert total == pytest.approx(1, abs=1e-12)
    shown = results.coefficients["mean"].loc[list(names)]
    np.testing.assert_allclose(shown, means, atol=1e-10)  # rounding again


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_levels_within_a_factor_take_no_memory_of_their_own():
    levels = 500
    model = rj.linear("y ~ f + x", rows({"f": levels}, 4 * levels))
    gamma = unpack(enumerate_models(model.space), 2)
    tree = Tree.of(model.regression, model.space, gamma)
    square = 8 * levels**2

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    passes = tree.subsets()
    before = resident()
    value, _ = passes.values(tree.words)
    assert np.isfinite(value).all()
    # Two pieces of memory for the levels in turn and one for the end of a term, not 160.
    assert resident() - before < 8 * square
