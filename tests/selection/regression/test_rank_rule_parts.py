"""The parts of the rank rule, against least squares and columns of known dependence."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyrjsel.selection.regression.columns import Directions, clear, directions_of, independent


def columns(noise=None):
    """Centred columns a, b, c, d: c is a + d and `noise` of b, which is constant if `noise` is None."""
    rng = np.random.default_rng(3)
    made, _ = np.linalg.qr(rng.normal(size=(40, 4)) - rng.normal(size=(40, 4)).mean(axis=0))
    made -= made.mean(axis=0)
    a, d, other = made[:, 0], made[:, 1], made[:, 2]
    return np.column_stack(
        [1e3 * a, np.zeros(40) if noise is None else other, a + d + (noise or 0) * other, d]
    )


def test_a_dependence_is_found_with_its_columns():
    x = columns()
    found = Directions.of(x.T @ x)
    assert found.rank == 2
    assert found.dependent().tolist() == [True, True, True, True]  # b by itself, and a, c, d
    circuits = found.circuits()
    assert len(circuits) == 2
    assert sorted((circuit != 0).sum() for circuit in circuits) == [1, 3]


def test_fit_is_that_of_least_squares():
    x = columns()
    y = np.random.default_rng(4).normal(size=40)
    want = x @ np.linalg.lstsq(x, y, rcond=1e-10)[0]
    # Both lose the condition of the correlations of the three columns that are left, below 10, to rounding.
    assert Directions.of(x.T @ x).fit(x.T @ y) == pytest.approx(want @ y, rel=1e-12)


def ranked(x, *, rows=39, known=True):
    """A regression of columns, of which only cross-products may be known."""
    return SimpleNamespace(
        rank_gram=lambda which: x[:, which].T @ x[:, which],
        rank_rows=lambda which: x[:, which].T if known else None,
        rounding=np.full(x.shape[1], 1e-8),
        most_columns=rows,
        least_share=1e-10,
    )


@pytest.mark.parametrize(
    ("noise", "by_rows", "by_sums"),
    [(1e-3, True, True), (3e-5, True, True), (5e-6, True, False), (3e-8, True, False), (5e-9, False, False)],
)
def test_a_column_that_keeps_too_little_is_dependent(noise, by_rows, by_sums):
    """d keeps about noise of its length given those before it, against 1e-8; of sums of squares, 1e-10."""
    x, every = columns(noise)[:, [0, 2, 3]], np.arange(3)
    assert independent(ranked(x), every) is by_rows
    assert independent(ranked(x, known=False), every) is by_sums
    assert independent(ranked(x, rows=2), every) is False


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-7])
def test_directions_by_rows_keep_what_cross_products_lose(noise):
    x, every = columns(noise)[:, [0, 2, 3]], np.arange(3)
    found = directions_of(ranked(x), every)
    # Of three columns of length 1, c - a - d is noise times a vector of length 1, orthogonal to the others.
    assert found.values[0] == pytest.approx(
        np.linalg.svd(x / np.linalg.norm(x, axis=0))[1][-1] ** 2, rel=1e-6
    )
    assert found.values[0] == pytest.approx(noise**2 / 3, rel=0.5)
    assert found.rank == 3
    assert directions_of(ranked(columns(0.0)[:, [0, 2, 3]]), every).dependent().all()


@pytest.mark.parametrize("noise", [None, 0.0, *np.logspace(-9, 0, 37)])
def test_what_is_clear_is_so_by_the_rule_too(noise):
    """300 columns, and one that nearly depends on two of them."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 300))
    last = np.zeros(400) if noise is None else x[:, 0] - x[:, 7] + noise * rng.normal(size=400)
    gram = np.column_stack([x, last]).T @ np.column_stack([x, last])
    found = clear(gram)
    assert not found or Directions.of(gram).real.all()
    # The three make up about 24 / noise^2 of the trace of C^-1, and 1e-9 times 301 times that is 1 at a noise
    # of 3e-3.
    if noise is None or noise < 1e-3 or noise > 1e-2:
        assert found == (noise is not None and noise > 1e-2)


def test_a_dependence_that_no_column_shows_is_not_clear():
    """Kahan's factor: each column keeps 0.017 given those before it, and the smallest eigenvalue is 1e-11."""
    c, d = 0.3, 44
    factor = np.sqrt(1 - c**2) ** np.arange(d)[:, None] * (np.eye(d) - c * np.triu(np.ones((d, d)), 1))
    assert factor.diagonal().min() ** 2 > 0.017
    gram = factor.T @ factor
    assert not Directions.of(gram).real.all()
    assert not clear(gram)


@pytest.mark.parametrize(("left", "expected"), [(1e-5, True), (1e-8, False)])
def test_a_dependence_of_all_columns_is_not_clear(left, expected):
    """Columns whose sum nearly vanishes: 1 / trace(C^-1) is the eigenvalue `left`, against 1e-9 times 301."""
    gram = np.full((301, 301), (left - 1.0) / 300)
    np.fill_diagonal(gram, 1.0)
    assert clear(gram) is expected


def test_no_columns_are_independent():
    assert clear(np.zeros((0, 0)))
    assert independent(ranked(np.zeros((6, 0))), np.arange(0))
    assert Directions.of(np.zeros((0, 0))).rank == 0
