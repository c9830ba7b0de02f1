"""Passes over few observations, over scales, over rows and over kernels against mpmath or numpy."""

import itertools

import numpy as np
import pytest
from exact_sums import EPS, mp, sums_bound, ulps
from scipy.stats import norm

from pyrjsel._core._vecmath import (
    changed_log_odds,
    label_log_odds,
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


def odds_of(density, start, weight, share):
    """Log of sums of own and of all classes by row, (2, n), of densities (D, n)."""
    own = np.concatenate([weight[k] @ density[:, a:b] for k, (a, b) in enumerate(itertools.pairwise(start))])
    return np.log([own, share @ density])


def mixture_of(rng, counts, kernels):
    """First rows of classes, weights, and their averages over classes."""
    weight = rng.dirichlet(np.ones(kernels), size=len(counts))
    start = np.cumsum([0, *counts]).astype(np.int32)
    return start, weight, rng.dirichlet(np.ones(len(counts))) @ weight


# Rows of classes: fewer than a block, whole blocks, none in a class, more than products of one double hold.
FEW_ROWS = [(5,), (16,), (33, 0, 7), (0, 31), (48, 80), (10, 20, 3, 1)]
COUNTS = [*FEW_ROWS, (16 * 960 + 5,), (16 * 2000, 16 * 1003 + 9)]


@pytest.mark.parametrize("spread", [1.0, 150.0])
@pytest.mark.parametrize("kernels", [1, 2, 3, 5])
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_odds_of_labels(counts, kernels, spread):
    rng, n = np.random.default_rng(len(counts) + kernels), sum(counts)
    start, weight, share = mixture_of(rng, counts, kernels)
    x = spread * rng.normal(size=(kernels, n)) - 1e4
    exact = odds_of(np.exp((x - x.max(axis=0)).astype(np.longdouble)), start, weight, share)
    value, top, density = label_log_odds(x, start, weight, share)
    # Logarithms, exponents and relative errors of exponentials of a few ulp in each row.
    tolerance = 8 * EPS * (n + np.abs(exact).sum())
    assert abs(value - float((exact[0] - exact[1]).sum())) <= tolerance
    np.testing.assert_array_equal(top, x.max(axis=0))
    np.testing.assert_allclose(density, np.exp(np.maximum(x - top, -708.0)), rtol=1e-15, atol=1e-300)
    again = label_log_odds(density, start, weight, share, logs=False)[0]
    assert abs(again - value) <= tolerance


def test_odds_of_labels_of_tiny_densities():
    """Rows that a class can hardly have: the least density that is told from 0 is 2^-1023."""
    start, weight = np.array([0, 1], dtype=np.int32), np.array([[1.0, 1e-290]])
    x = np.array([[-600.0], [0.0]])
    value, top, density = label_log_odds(x, start, weight, np.array([0.5, 0.5]))
    assert value == pytest.approx(np.log(np.exp(-600.0) + 1e-290) - np.log(0.5), rel=1e-13)
    assert (top[0], density[1, 0]) == (0.0, 1.0)
    # Both terms are below the smallest double, so that their sum is 0.
    x = np.array([[-700.0], [0.0]])
    weight = np.array([[1e-290, 0.0]])
    value = label_log_odds(x, start, weight, np.array([0.5, 0.5]))[0]
    assert value == pytest.approx(-1023 * np.log(2.0) - np.log(0.5), rel=1e-13)


@pytest.mark.parametrize("kernels", [1, 2, 4])
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_odds_of_labels_where_a_kernel_changes(counts, kernels):
    rng, n = np.random.default_rng(len(counts) * kernels), sum(counts)
    start, weight, share = mixture_of(rng, counts, kernels)
    z, seen = rng.normal(size=n), (rng.random(n) > 0.2).astype(float)
    z[seen == 0] = 0.0
    x = 2 * rng.normal(size=(kernels, n)) - 50.0
    _, top, density = label_log_odds(x, start, weight, share)
    d, (u, m, new_u, new_m) = kernels - 1, (3.0, 0.2, 5.0, -0.4)
    others = np.delete(np.arange(kernels), d)
    own = np.concatenate(
        [weight[k, others] @ density[others, a:b] for k, (a, b) in enumerate(itertools.pairwise(start))]
    )
    rows = np.stack([z, seen, x[d], top, own, share[others] @ density[others]])
    change = np.array([0.5 * np.log(new_u / u), 0.5 * u, m, 0.5 * new_u, new_m])
    value, new_row, new_density, bounds = changed_log_odds(d, rows, change, start, weight, share[d])
    new = x.copy()
    new[d] += seen * (norm.logpdf(z, new_m, new_u**-0.5) - norm.logpdf(z, m, u**-0.5))
    np.testing.assert_allclose(new_row, new[d], rtol=1e-13)
    np.testing.assert_allclose(new_density, np.exp(new[d] - top), rtol=1e-12)
    exact = odds_of(np.exp(new - top), start, weight, share)
    assert value == pytest.approx((exact[0] - exact[1]).sum(), rel=1e-11, abs=1e-13 * n)
    assert value == pytest.approx(label_log_odds(new, start, weight, share)[0], rel=1e-11, abs=1e-13 * n)
    every = np.exp(exact[1])
    padded = any(count % FEW for count in counts)
    least, most = (min(every.min(), 1.0), max(every.max(), 1.0)) if padded else (every.min(), every.max())
    np.testing.assert_allclose(bounds, (least, most), rtol=1e-12)


def test_lengths_are_checked():
    rows, weight, start = np.zeros((6, 4)), np.ones((1, 2)), np.array([0, 4], dtype=np.int32)
    for shape in ((2, 3), (1, 4)):
        with pytest.raises(ValueError, match="fit together"):
            label_log_odds(np.zeros(shape), start, weight, np.ones(2))
    for d, numbers in ((2, 5), (0, 4)):
        with pytest.raises(ValueError, match="fit together"):
            changed_log_odds(d, rows, np.zeros(numbers), start, weight, 1.0)
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
