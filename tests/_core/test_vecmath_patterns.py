"""Passes over few observations, over scales and over rows against mpmath."""

import numpy as np
import pytest
from exact_sums import EPS, mp, sums_bound, ulps

from pyrjsel._core._vecmath import (
    log_sums,
    log_sums_and_shares,
    scale_totals,
    softplus_of_parts,
    softplus_total,
)

FEW = 16  # partial sums
SIZES = (0, 1, 2, 15, 16, 17, 100, 16 * 960 + 5)  # the last beyond the products that one double holds


def rounding(n, terms):
    """The bound of a sum of `terms`, each right to 4 ulp, beside logarithms of products of n / 16 factors."""
    return sums_bound(n, terms, FEW) + (n / FEW + 12) * EPS * max(n, 1)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_softplus(n, weighted):
    rng = np.random.default_rng(n)
    # Few different values: mpmath is slow.
    x = rng.choice((np.array([0.1, 3.0, 50.0, 800.0])[:, None] * rng.normal(size=(4, 50))).ravel(), n)
    w = rng.integers(1, 9, n).astype(float) if weighted else None
    exact_terms = {v: float(mp.log1p(mp.exp(mp.mpf(v) + 0.7))) for v in np.unique(x).tolist()}
    terms = np.array([exact_terms[v] for v in x.tolist()]) * (1.0 if w is None else w)
    exact = float(mp.fsum(terms))
    assert abs(softplus_total(x, w, delta=0.7) - exact) <= rounding(n, np.append(terms, 1.0))


@pytest.mark.parametrize(("n", "m"), [(0, 0), (8, 0), (0, 8), (40, 16), (8 * 960 + 24, 64)])
def test_softplus_of_two_parts(n, m):
    """Padded by numbers that contribute nothing: rows without cases, and weights of 0."""
    rng = np.random.default_rng(n + m)
    x = rng.choice(10 * rng.normal(size=50), n + m)
    w = rng.integers(1, 9, m).astype(float)
    x[max(n - 5, 0) : n], w[max(m - 3, 0) :] = -np.inf, 0.0
    terms = np.logaddexp(0.0, x - 0.3) * np.append(np.ones(n), w)
    # Partial sums are in 8 lanes, half of FEW; the terms of numpy are right to a few ulp too.
    tolerance = 2 * rounding(n + m, np.append(terms, 1.0))
    assert abs(softplus_of_parts(x, w, delta=-0.3) - terms.sum()) <= tolerance


@pytest.mark.parametrize("n", SIZES)
def test_scales(n):
    rng = np.random.default_rng(n)
    rest, square = np.exp(8 * rng.normal(size=n)), np.exp(10 * rng.normal(size=n))
    rest[::5] = 0.0
    count = rng.integers(1, 50, n).astype(float)
    v = rest + count * 0.03
    # Extended precision: rounding of the terms is 2000 times as small as that of the sums.
    logs = np.stack([np.log(v + square / np.longdouble(v)), np.log(np.longdouble(v))], axis=1)
    found = scale_totals(rest, count, square, 0.03, 3.0)
    # Exponents are added exactly and multiplied by log 2 once.
    for value, terms in zip(
        found, (logs[:, 0], np.concatenate([3 * logs[:, 1], square / np.longdouble(v)])), strict=True
    ):
        assert abs(value - terms.sum()) <= 4 * rounding(n, np.append(terms, 1.0).astype(float))


def test_scales_at_the_edges_of_their_range():
    """log sigma of 300 either way, and sums of 0."""
    for unit in (np.exp(-600.0), np.exp(-300.0), np.exp(300.0), np.exp(600.0)):
        one, zero = np.ones(3), np.zeros(3)
        np.testing.assert_allclose(scale_totals(zero, one, zero, unit)[0], 3 * np.log(unit), rtol=1e-15)
        np.testing.assert_allclose(scale_totals(zero, one, zero, unit)[1], 3 * np.log(unit), rtol=1e-15)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_sums_of_exponentials(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(4, n)) * rng.choice([1.0, 300.0], n)
    for without in (-1, 0, 2):
        kept = np.delete(x, without, axis=0) if without >= 0 else x
        exact = [mp.log(mp.fsum([mp.exp(mp.mpf(v)) for v in column])) for column in kept.T]
        # The result can cancel, so that errors are in ulp of the largest row or of 1.
        size = np.maximum(np.abs(kept).max(axis=0), 1.0)
        found = log_sums(x, without)
        errors = [abs(mp.mpf(v) - e) for v, e in zip(found.tolist(), exact, strict=True)]
        assert max(float(e) / s for e, s in zip(errors, size, strict=True)) <= 6 * EPS
    found, shares = log_sums_and_shares(x)
    np.testing.assert_array_equal(found, log_sums(x))
    below = x.max(axis=0) - x
    for j in range(n):
        terms = [mp.exp(mp.mpf(v)) for v in x[:, j]]
        for k in np.flatnonzero(below[:, j] < 700):
            exact = terms[k] / mp.fsum(terms)
            # Of the difference from the largest row, of exponentials (2 ulp), their sum and its inverse.
            assert abs(shares[k, j] / exact - 1) <= (below[k, j] + 8) * EPS
    assert shares[below >= 700].max(initial=0.0) < 1e-300
    one = log_sums(x[:2].copy(), 1)
    np.testing.assert_array_equal(one, x[0])
    assert ulps(log_sums(np.zeros((3, 1))), [mp.log(3)])[0] <= 2


def test_lengths_are_checked():
    x = np.zeros(3)
    with pytest.raises(ValueError, match="same length"):
        softplus_total(x, np.zeros(2))
    with pytest.raises(ValueError, match="a multiple of 8"):
        softplus_of_parts(np.zeros(16), np.zeros(3))
    with pytest.raises(ValueError, match="same length"):
        scale_totals(x, x, np.zeros(2), 1.0)
    for rows, without in ((1, 0), (2, 2), (2, -2)):
        with pytest.raises(ValueError, match="besides"):
            log_sums(np.zeros((rows, 2)), without)
    with pytest.raises(ValueError, match="must have a row"):
        log_sums_and_shares(np.zeros((0, 2)))
