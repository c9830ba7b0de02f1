"""Vectorised exponentials, log-likelihoods and sums against mpmath, in units in the last place."""

import math

import numpy as np
import pytest
from exact_sums import EPS, LANES, SMALLEST, mp, sums_bound, ulps

from pyrjsel._core._vecmath import (
    exp_neg,
    gram_matrix,
    log1p_unit,
    log_positive,
    logit_loglik,
    logit_score,
    weighted_dot,
    weighted_dots,
)


class TestExponential:
    # A double below -708 stands for -708: the result is never subnormal.
    def exact(self, x):
        return [mp.exp(max(-abs(mp.mpf(v)), mp.mpf(-708))) for v in x.tolist()]

    def test_random_values(self):
        rng = np.random.default_rng(1)
        x = np.concatenate(
            [
                rng.uniform(-708, 708, 3000),
                rng.uniform(-40, 40, 3000),
                rng.uniform(-1, 1, 2000),
                10.0 ** rng.uniform(-300, 2.8, 2000),
            ]
        )
        assert ulps(exp_neg(x), self.exact(x)).max() <= 2

    def test_values_where_the_reduction_changes(self):
        # Odd multiples of log(2)/2, where the nearest multiple of log 2 changes, and their neighbours.
        halves = (2 * np.arange(1021) + 1) * (math.log(2) / 2)
        x = np.concatenate([halves, np.nextafter(halves, 0), np.nextafter(halves, 1e3)])
        x = np.concatenate([x, np.arange(1, 1021) * math.log(2)])
        assert ulps(exp_neg(x), self.exact(x)).max() <= 2

    def test_edges(self):
        x = np.array([0.0, -0.0, SMALLEST, 1e-310, 2.2e-308, 1e-17, EPS, 707.9999, 708.0, -708.0])
        found = exp_neg(x)
        assert ulps(found, self.exact(x)).max() <= 2
        assert np.all(found[:5] == 1.0)

    def test_beyond_the_edge(self):
        x = np.array([708.1, 745.2, 750.0, 1e4, 1e308, np.inf, -709.0, -1e308, -np.inf])
        least = exp_neg(np.array([708.0]))[0]
        assert np.all(exp_neg(x) == least)
        assert least > np.finfo(float).tiny

    def test_nan_stays(self):
        x = np.array([1.0, np.nan, 2.0, -np.nan])
        np.testing.assert_array_equal(np.isnan(exp_neg(x)), [False, True, False, True])

    def test_it_never_rises(self):
        x = np.sort(np.random.default_rng(2).uniform(0, 720, 20_000))
        found = exp_neg(x)
        # Two ulp either way.
        assert np.all(found[1:] <= found[:-1] * (1 + 4 * EPS))


class TestLogarithm:
    def exact(self, z):
        return [mp.log1p(mp.mpf(v)) for v in z.tolist()]

    def test_random_values(self):
        rng = np.random.default_rng(3)
        z = np.concatenate([rng.random(6000), 10.0 ** rng.uniform(-307, 0, 4000)])
        assert ulps(log1p_unit(z), self.exact(z)).max() <= 2

    def test_edges(self):
        middle = math.sqrt(2) - 1  # where 1 + z is halved
        steps = [np.nextafter(middle, 0), middle, np.nextafter(middle, 1)]
        z = np.array([0.0, 1.0, np.nextafter(1, 0), EPS, 2.3e-308, *steps, *np.arange(1, 64) / 64])
        found = log1p_unit(z)
        assert ulps(found, self.exact(z)).max() <= 2
        assert found[0] == 0.0

    def test_subnormal_numbers(self):
        z = np.array([SMALLEST, 3 * SMALLEST, 1e-320, 1e-310])
        assert ulps(log1p_unit(z), self.exact(z)).max() <= 2

    def test_of_any_positive_number(self):
        rng = np.random.default_rng(4)
        near = 1 + np.concatenate([-(10.0 ** rng.uniform(-16, -1, 2000)), 10.0 ** rng.uniform(-15, 0, 2000)])
        x = np.concatenate([10.0 ** rng.uniform(-307, 308, 4000), near, [1.0, 2.0, 0.5, 2.3e-308, 1.7e308]])
        want = np.array([float(mp.log(mp.mpf(v))) for v in x.tolist()])
        # Two ulp, or EPS below 1, where log 2 has been taken away from another logarithm.
        assert np.all(np.abs(log_positive(x) - want) <= np.maximum(EPS, 2 * np.spacing(np.abs(want))))

    def test_nan_stays(self):
        assert np.isnan(log1p_unit(np.array([0.5, np.nan]))).tolist() == [False, True]


def loglik_bound(n, eta, wy, w):
    """Bound of the error of a log-likelihood, absolute.

    Each of the factors 1 + z is wrong by 1.5 eps (its rounding and two ulp of z <= 1 at worst), its
    multiplication adds half of one: 3 eps for each observation, times its weight, beside what the sum of
    the linear parts loses.
    """
    weights = np.ones(n) if w is None else w
    linear = np.abs(wy * eta) + weights * np.maximum(eta, 0) + weights * np.logaddexp(0, -np.abs(eta))
    return sums_bound(n, linear) + 3 * EPS * weights.sum() + EPS


def exact_loglik(eta, wy, w):
    """Sum of wy eta - w log(1 + exp(eta)), exactly enough."""
    total = mp.mpf(0)
    weights = np.ones(len(eta)) if w is None else w
    for e, a, b in zip(eta.tolist(), wy.tolist(), weights.tolist(), strict=True):
        e = mp.mpf(e)
        total += a * e - b * (max(e, mp.mpf(0)) + mp.log1p(mp.exp(-abs(e))))
    return total


def data(n, seed, weighted, spread=5.0):
    rng = np.random.default_rng(seed)
    eta = rng.normal(scale=spread, size=n)
    w = rng.uniform(0, 9, size=n) if weighted else None
    y = rng.random(n) if weighted else rng.integers(0, 2, size=n).astype(float)
    return eta, (w * y if weighted else y), w


@pytest.mark.parametrize("weighted", [False, True])
class TestLogLikelihood:
    def test_every_length_and_place(self, weighted):
        """Lengths around every tail of the lanes, at every alignment of doubles in a cache line."""
        for n in range(201):
            eta, wy, w = data(n, n, weighted)
            room = n + 8
            at = n % 8
            placed = []
            for values in (eta, wy, w):
                if values is None:
                    placed.append(None)
                    continue
                buffer = np.full(room, np.nan)  # a step outside would be seen
                buffer[at : at + n] = values
                placed.append(buffer[at : at + n])
            exact = exact_loglik(eta, wy, w)
            bound = loglik_bound(n, eta, wy, w)
            value, out = logit_loglik(*placed)
            assert abs(value - exact) <= bound
            np.testing.assert_array_equal(out, eta)
            score_value, residual, weight = logit_score(*placed)
            assert abs(score_value - exact) <= bound
            assert np.all(np.isfinite(residual))
            assert np.all(weight >= 0)

    def test_a_step_along_a_direction(self, weighted):
        eta, wy, w = data(333, 4, weighted)
        x = np.random.default_rng(5).normal(size=333)
        value, out = logit_loglik(eta, wy, w, x=x, delta=-0.7)
        # Two roundings, no fused multiplication: numpy's own arithmetic gives the same bits.
        np.testing.assert_array_equal(out, eta + -0.7 * x)
        assert abs(value - exact_loglik(out, wy, w)) <= loglik_bound(333, out, wy, w)
        assert value == logit_loglik(out, wy, w)[0]

    def test_score_and_weight(self, weighted):
        eta, wy, w = data(2000, 6, weighted, spread=30.0)
        _, residual, weight = logit_score(eta, wy, w)
        weights = np.ones(2000) if w is None else w
        wants, curves = [], []
        for e, a, b in zip(eta.tolist(), wy.tolist(), weights.tolist(), strict=True):
            z = mp.exp(-abs(mp.mpf(e)))
            wants.append(a - b * (1 if e > 0 else z) / (1 + z))
            curves.append(b * z / (1 + z) ** 2)
        wants, curves = np.array(wants), np.array(curves)
        # The exponential's 2 ulp, 1 + z, the division, and for the residual two more steps at size w.
        scale = np.maximum(weights, np.abs(wy))
        assert np.all(np.abs(residual - wants) <= 5 * EPS * scale)
        # The same and three products, relative to the value: both tails keep all their digits.
        assert np.all(np.abs(weight - curves) <= 8 * EPS * curves)

    def test_far_out(self, weighted):
        eta = np.array([-708.0, -700.0, 700.0, 708.0, -1e5, 1e5, 1e300, -1e300])
        y = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
        w = np.arange(1.0, 9.0) if weighted else None
        wy = y * w if weighted else y
        value, _ = logit_loglik(eta, wy, w)
        exact = exact_loglik(eta, wy, w)
        # The four last rows are predicted well and add nothing: their two large parts cancel exactly.
        bound = loglik_bound(4, eta[:4], wy[:4], None if w is None else w[:4])
        assert abs(value - exact) <= bound
        _, residual, weight = logit_score(eta, wy, w)
        weights = np.ones(8) if w is None else w
        p = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
        np.testing.assert_allclose(residual, wy - weights * p, atol=1e-300)
        # Never 0, and never subnormal: curvature matrices stay factorable.
        assert np.all(weight >= np.finfo(float).tiny)
        assert np.all(weight < 1e-300)

    def test_more_rows_than_one_product_holds(self, weighted):
        # eta near 0: every factor is near 2, and no double holds the product of 1100 of them.
        n = LANES * 1100 + 137
        rng = np.random.default_rng(7)
        few = rng.normal(scale=1e-3, size=101)
        pick = rng.integers(0, 101, size=n)
        eta = few[pick]
        eta[:3] = [40.0, -35.0, 0.0]
        wy = rng.integers(0, 2, size=n).astype(float)
        w = rng.integers(1, 4, size=n).astype(float) if weighted else None
        weights = np.ones(n) if w is None else w
        logs = np.array([float(mp.log1p(mp.exp(-abs(mp.mpf(e))))) for e in few.tolist()])[pick]
        logs[:3] = [float(mp.log1p(mp.exp(-abs(mp.mpf(e))))) for e in eta[:3].tolist()]
        exact = math.fsum(wy * eta) - math.fsum(weights * np.maximum(eta, 0)) - math.fsum(weights * logs)
        for value in (logit_loglik(eta, wy, w)[0], logit_score(eta, wy, w)[0]):
            assert abs(value - exact) <= loglik_bound(n, eta, wy, w)
        # At 0 throughout, all factors are 2.
        value = logit_loglik(np.zeros(n), wy, w)[0]
        assert abs(value + weights.sum() * math.log(2)) <= loglik_bound(n, np.zeros(n), wy, w)

    def test_nan_and_infinite_predictors_do_not_pass_unseen(self, weighted):
        """NaN gives NaN; an infinite predictor gives NaN or -inf, never a finite log-likelihood."""
        eta, wy, w = data(100, 8, weighted)
        for bad in (np.nan, np.inf, -np.inf):
            for place in (0, 63, 64, 99):
                spoilt = eta.copy()
                spoilt[place] = bad
                assert not np.isfinite(logit_loglik(spoilt, wy, w)[0])
                value, residual, weight = logit_score(spoilt, wy, w)
                assert not np.isfinite(value)
                if np.isnan(bad):
                    assert np.isnan(residual[place])
                    assert np.isnan(weight[place])
                others = np.delete(np.arange(100), place)
                assert np.all(np.isfinite(residual[others]))

    def test_empty(self, weighted):
        empty = np.empty(0)
        w = empty if weighted else None
        assert logit_loglik(empty, empty, w)[0] == 0.0
        assert logit_score(empty, empty, w)[0] == 0.0

    def test_arrays_that_cannot_be_written_are_read(self, weighted):
        arrays = [None if a is None else a.copy() for a in data(70, 9, weighted)]
        want = logit_loglik(*arrays)[0]
        for array in arrays:
            if array is not None:
                array.setflags(write=False)
        assert logit_loglik(*arrays)[0] == want


class TestSums:
    def test_every_length_and_place(self):
        rng = np.random.default_rng(10)
        for n in range(201):
            x, z, weight = (rng.normal(size=n + 8)[n % 8 : n % 8 + n] for _ in range(3))
            two, three = x * z, x * z * weight
            rows = list(zip(x.tolist(), z.tolist(), weight.tolist(), strict=True))
            exact = mp.fsum(mp.mpf(a) * b for a, b, _ in rows)
            assert abs(weighted_dot(x, z) - exact) <= sums_bound(n, two)
            exact = mp.fsum(mp.mpf(a) * b * c for a, b, c in rows)
            assert abs(weighted_dot(x, z, weight) - exact) <= sums_bound(n, three)

    def test_two_sums_at_once(self):
        rng = np.random.default_rng(13)
        for n in range(201):
            x, r, weight = (rng.normal(size=n + 8)[n % 8 : n % 8 + n] for _ in range(3))
            rows = list(zip(x.tolist(), r.tolist(), weight.tolist(), strict=True))
            first, square = weighted_dots(x, r, weight)
            assert abs(first - mp.fsum(mp.mpf(a) * b for a, b, _ in rows)) <= sums_bound(n, x * r, 32)
            exact = mp.fsum(mp.mpf(a) ** 2 * c for a, _, c in rows)
            assert abs(square - exact) <= sums_bound(n, x * x * weight, 32)

    def test_cancelling_terms(self):
        rng = np.random.default_rng(11)
        x = rng.normal(size=10_000) * 10.0 ** rng.integers(-8, 9, size=10_000)
        z = np.concatenate([np.ones(5000), -np.ones(5000)])
        x[5000:] = x[:5000]
        assert abs(weighted_dot(x, z)) <= sums_bound(10_000, x)

    def test_nan_and_infinities_show(self):
        x, z = np.ones(100), np.ones(100)
        for bad in (np.nan, np.inf, -np.inf):
            for place in (0, 50, 99):
                spoilt = x.copy()
                spoilt[place] = bad
                np.testing.assert_equal(weighted_dot(spoilt, z), bad)
                np.testing.assert_equal(weighted_dot(z, x, spoilt), bad)

    def test_the_same_bits_at_every_place(self):
        """A sum depends on its terms and not on where they lie in memory."""
        rng = np.random.default_rng(12)
        x, z = rng.normal(size=500), rng.normal(size=500)
        want = weighted_dot(x, z)
        for at in range(8):
            moved = np.empty(508)[at : at + 500]
            moved[:] = x
            assert weighted_dot(moved, z) == want


class TestGram:
    @pytest.mark.parametrize("d", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 17, 26])
    def test_every_number_of_columns(self, d):
        """Tiles of columns and their rests, over rows that end at any place of a chunk."""
        rng = np.random.default_rng(d)
        for n in (1, 2, 7, 8, 9, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 300, 512, 1000, 2532):
            columns, weight = rng.normal(size=(30, n)), rng.random(n)
            cols = rng.permutation(30)[:d].astype(np.int32)
            x = columns[cols].astype(np.longdouble)
            want = (x * weight) @ x.T
            slack = (n / 8 + 16) * EPS * ((np.abs(x) * weight) @ np.abs(x).T)
            found = gram_matrix(columns, weight, cols)
            assert found.shape == (d, d)
            assert np.all(np.abs(np.tril(found - want)) <= slack)

    def test_nan_shows_in_its_column_alone(self):
        columns, weight = np.ones((6, 40)), np.ones(40)
        columns[3, 17] = np.nan
        found = gram_matrix(columns, weight, np.arange(6, dtype=np.int32))
        touched = np.zeros((6, 6), dtype=bool)
        touched[3, :4] = touched[3:, 3] = True
        np.testing.assert_array_equal(np.isnan(np.tril(found)), touched)
        np.testing.assert_array_equal(np.tril(found)[~touched], np.tril(np.full((6, 6), 40.0))[~touched])

    def test_the_same_bits_whichever_columns_are_beside(self):
        """A model's entry does not depend on where its columns stand."""
        rng = np.random.default_rng(14)
        columns, weight = rng.normal(size=(20, 333)), rng.random(333)
        whole = gram_matrix(columns, weight, np.arange(20, dtype=np.int32))
        part = gram_matrix(columns, weight, np.array([2, 7, 8, 11, 19], dtype=np.int32))
        np.testing.assert_array_equal(
            np.tril(part), np.tril(whole[np.ix_([2, 7, 8, 11, 19], [2, 7, 8, 11, 19])])
        )

    def test_arguments_that_do_not_fit_are_refused(self):
        with pytest.raises(ValueError, match="one entry a row"):
            gram_matrix(np.ones((2, 5)), np.ones(4), np.zeros(1, dtype=np.int32))
        for bad in (-1, 2):
            with pytest.raises(ValueError, match="rows of columns"):
                gram_matrix(np.ones((2, 5)), np.ones(5), np.array([0, bad], dtype=np.int32))


@pytest.mark.parametrize(
    "call",
    [
        logit_loglik,
        lambda a, b: logit_loglik(a, a, b),
        lambda a, b: logit_loglik(a, a, x=b),
        logit_score,
        lambda a, b: logit_score(a, a, b),
        weighted_dot,
        lambda a, b: weighted_dot(a, a, b),
        lambda a, b: weighted_dots(a, b, a),
        lambda a, b: weighted_dots(a, a, b),
    ],
)
def test_arrays_of_different_length_are_refused(call):
    with pytest.raises(ValueError, match="same length"):
        call(np.zeros(5), np.zeros(4))


def test_strided_and_other_arrays_are_refused():
    with pytest.raises(ValueError, match="contiguous"):
        exp_neg(np.zeros(10)[::2])
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        exp_neg(np.zeros(5, dtype=np.float32))
