"""The rank rule for all columns of a model: beyond doubt by a Cholesky factor, or by eigenvectors."""

import numpy as np
import pytest
from scipy.linalg import lapack

from pyrjsel.selection.regression.columns import Directions, clear

ROUNDS = 3


@pytest.mark.parametrize("columns", [250, 500, 1000, 2000])
def test_bench_rank(columns, table, take_turns):
    x = np.random.default_rng(0).normal(size=(2 * columns, columns))
    gram = x.T @ x
    assert clear(gram)
    assert not Directions.of(gram).dependent().any()

    def inverse():
        factor, _ = lapack.dpotrf(gram, lower=1)
        return lapack.dtrtri(factor, lower=1, overwrite_c=1)

    runs = {"clear": lambda: clear(gram), "inverse": inverse, "directions": lambda: Directions.of(gram)}
    times = take_turns(runs, ROUNDS)
    group = f"rank of {columns:,} columns"
    table.series(group, "Cholesky factor", times["clear"], "ms", scale=1e3)
    table.series(group, "Cholesky factor and its inverse", times["inverse"], "ms", scale=1e3)
    table.series(group, "eigenvectors", times["directions"], "ms", scale=1e3)
    table.add(group, "  inverse / Cholesky", times["inverse"].min() / times["clear"].min(), "ratio")
    table.add(group, "  eigenvectors / Cholesky", times["directions"].min() / times["clear"].min(), "ratio")
