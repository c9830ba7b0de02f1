"""Swept Gram matrices against their definitions."""

from itertools import pairwise

import numpy as np
import pytest

from pyrjsel.selection.evidence._tableau import Tableau
from pyrjsel.selection.regression._gram import ColumnGram, FullGram, SummedGram

START = np.array([0, 1, 3, 4, 7, 8], dtype=np.intc)


def problem(seed=1, n=30):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8)) + rng.normal(size=(n, 1))
    extra = rng.uniform(0.5, 2, 8)
    return np.ascontiguousarray(x.T), extra, x.T @ x + np.diag(extra), x.T @ rng.normal(size=n)


def check(tableau, a, c, atol=1e-10):
    """Everything that the tableau holds, from its definition."""
    columns, rows, s, blocks = tableau.state()
    out = np.setdiff1d(np.arange(8), columns)
    v = np.linalg.inv(a[np.ix_(columns, columns)])
    np.testing.assert_allclose(rows[:, columns], v, atol=atol)
    np.testing.assert_allclose(rows[:, out], v @ a[np.ix_(columns, out)], atol=atol)
    np.testing.assert_allclose(s[columns], v @ c[columns], atol=atol)
    np.testing.assert_allclose(s[out], c[out] - a[np.ix_(out, columns)] @ v @ c[columns], atol=atol)
    assert tableau.fit == pytest.approx(c[columns] @ v @ c[columns], abs=atol)
    assert tableau.log_det == pytest.approx(-np.linalg.slogdet(v)[1], abs=atol)
    residual = a - a[:, columns] @ v @ a[columns]
    at = 0
    for first, last in pairwise(START):
        size = last - first
        block = blocks[at : at + size**2].reshape(size, size)
        at += size**2
        if not np.isin(np.arange(first, last), columns).any():
            np.testing.assert_allclose(block, residual[first:last, first:last], atol=atol)


def summed(columns, extra):
    """The same matrix, with another part of it added."""
    return SummedGram(columns[:, 9:].copy(), columns[:, :9] @ columns[:, :9].T + np.diag(extra))


@pytest.mark.parametrize("capacity", [0, 1, 3, 8, "summed"])
def test_sweeps_in_any_order(capacity):
    columns, extra, a, c = problem()
    if capacity == "summed":
        gram = summed(columns, extra)
    else:
        gram = ColumnGram(columns, extra, capacity) if capacity else FullGram(a)
    tableau = Tableau(gram, c, START)
    rng = np.random.default_rng(2)
    inside = set()
    for _ in range(300):
        column = int(rng.integers(8))
        others = [k for k in inside if k != column]
        rest = a[column, column]
        if others:
            rest -= a[column, others] @ np.linalg.solve(a[np.ix_(others, others)], a[others, column])
        assert tableau.sweep(column) == pytest.approx(rest / a[column, column], rel=1e-9)
        inside ^= {column}
        check(tableau, a, c)
    assert len(inside) == tableau.n_active


@pytest.mark.parametrize("capacity", [1, 2, 5, 100])
def test_rows_of_a_small_cache(capacity):
    columns, extra, a, _ = problem()
    which = np.random.default_rng(3).integers(0, 8, 60).tolist()
    np.testing.assert_allclose(ColumnGram(columns, extra, capacity).rows(which), a[which], rtol=1e-12)


def test_blocks_of_a_sum():
    columns, extra, a, _ = problem()
    gram = summed(columns, extra)
    for start in (START, np.arange(9, dtype=np.intc)):
        want = np.concatenate([a[i:j, i:j].ravel() for i, j in pairwise(start)])
        np.testing.assert_allclose(gram.blocks(start), want, rtol=1e-12)
    with pytest.raises(ValueError, match="added"):
        SummedGram(columns, np.eye(7))


def test_columns_that_others_span_are_not_swept_in():
    a = np.array([[2.0, 2.0], [2.0, 2.0]])
    tableau = Tableau(FullGram(a), np.ones(2), np.array([0, 1, 2], dtype=np.intc))
    assert tableau.sweep(0) == 1.0
    assert tableau.sweep(1) == 0.0
    assert tableau.n_active == 1


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="fit together"):
        Tableau(FullGram(np.eye(3)), np.ones(2), np.array([0, 3], dtype=np.intc))
    with pytest.raises(ValueError, match="square"):
        FullGram(np.ones((2, 3)))
