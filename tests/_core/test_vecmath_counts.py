"""Exponentials of either sign and log-likelihoods of counts against mpmath."""

import math

import numpy as np
import pytest
from exact_sums import EPS, SMALLEST, mp, sums_bound, ulps

from pyrjsel._core._vecmath import exp_any, exp_neg, poisson_loglik, poisson_score


class TestExponentialOfEitherSign:
    def test_random_values(self):
        rng = np.random.default_rng(21)
        x = np.concatenate(
            [
                rng.uniform(-708, 709, 5000),
                rng.uniform(-1, 1, 2000),
                rng.choice([-1, 1], 2000) * 10.0 ** rng.uniform(-300, 2.85, 2000),
                (2 * np.arange(1022) + 1) * (math.log(2) / 2),
            ]
        )
        assert ulps(exp_any(x), [mp.exp(mp.mpf(v)) for v in x.tolist()]).max() <= 2

    def test_edges(self):
        big = exp_any(np.array([709.0, np.nextafter(709.0, 1e3), 1e300, np.inf]))
        assert ulps(big[:1], [mp.exp(709)]).max() <= 2
        assert np.all(big[1:] == np.inf)
        small = exp_any(np.array([-708.0, np.nextafter(-708.0, -1e3), -1e300, -np.inf]))
        assert np.all(small == small[0])
        assert small[0] > np.finfo(float).tiny
        assert np.isnan(exp_any(np.array([np.nan]))).all()
        # The same number on either way.
        x = -np.random.default_rng(22).uniform(0, 708, 1000)
        np.testing.assert_array_equal(exp_any(x), exp_neg(x))

    def test_the_same_bits_as_separate_roundings(self):
        """Every operation of the polynomial rounds by itself, on whatever instructions it runs."""
        x = np.random.default_rng(23).uniform(-708, 709, 20_000)
        shift = float.fromhex("0x1.8p52")
        t = x * float.fromhex("0x1.71547652b82fep+0") + shift
        k = t - shift
        r = (x - k * float.fromhex("0x1.62e42fefa3800p-1")) - k * float.fromhex("0x1.ef35793c76730p-45")
        c = [
            *("0x1.0000000000001p-1", "0x1.5555555555556p-3", "0x1.5555555553d68p-5"),
            *("0x1.11111111109b5p-7", "0x1.6c16c17889ef1p-10", "0x1.a01a01a7c2efep-13"),
            *("0x1.a019b9149a3cep-16", "0x1.71de0db2f6ae9p-19", "0x1.28917c89aa05dp-22"),
            "0x1.af389ecfcbdafp-26",
        ]
        c = [float.fromhex(text) for text in c]
        r2 = r * r
        r4 = r2 * r2
        low, high = (c[0] + r * c[1]) + r2 * (c[2] + r * c[3]), (c[4] + r * c[5]) + r2 * (c[6] + r * c[7])
        p = (low + r4 * high) + (r4 * r4) * (c[8] + r * c[9])
        np.testing.assert_array_equal(exp_any(x), np.ldexp(1.0 + (r + r2 * p), k.astype(int)))


def count_terms(eta, wy, w):
    """wy eta and w exp(eta) of each row, exactly enough; rows of weight 0 count nothing."""
    weights = np.ones(len(eta)) if w is None else w
    linear = [mp.mpf(a) * e for e, a in zip(eta.tolist(), wy.tolist(), strict=True)]
    means = [
        b * mp.exp(mp.mpf(e)) if b else mp.mpf(0) for e, b in zip(eta.tolist(), weights.tolist(), strict=True)
    ]
    return linear, means


def count_data(n, seed, weighted, level=1.0):
    rng = np.random.default_rng(seed)
    eta = rng.normal(level, 2.0, size=n)
    w = rng.integers(0, 6, size=n).astype(float) if weighted else None
    y = rng.poisson(np.exp(eta)).astype(float)
    return eta, (w * y if weighted else y), w


@pytest.mark.parametrize("weighted", [False, True])
class TestCounts:
    def bound(self, linear, means):
        """Sums by lanes, and 4 roundings of each mean (2 ulp of the exponential, product, difference)."""
        sizes = np.array([float(abs(a) + b) for a, b in zip(linear, means, strict=True)])
        return sums_bound(len(sizes), sizes) + 4 * EPS * sizes.sum() + SMALLEST

    def test_every_length_and_place(self, weighted):
        for n in range(201):
            at = n % 8
            placed = []
            for values in count_data(n, n, weighted):
                buffer = None if values is None else np.full(n + 8, np.nan)  # a step outside would be seen
                if buffer is not None:
                    buffer[at : at + n] = values
                placed.append(None if buffer is None else buffer[at : at + n])
            linear, means = count_terms(*placed)
            exact, bound = mp.fsum(linear) - mp.fsum(means), self.bound(linear, means)
            value, out = poisson_loglik(*placed)
            assert abs(value - exact) <= bound
            np.testing.assert_array_equal(out, placed[0])
            value, residual, weight = poisson_score(*placed)
            assert abs(value - exact) <= bound
            mu = np.array([float(m) for m in means])
            # 2 ulp of the exponential, the product, and for the residual the difference.
            assert np.all(np.abs(weight - mu) <= 3 * EPS * mu)
            assert np.all(np.abs(residual - (placed[1] - mu)) <= 4 * EPS * np.maximum(mu, placed[1]))

    def test_a_step_along_a_direction(self, weighted):
        eta, wy, w = count_data(333, 4, weighted)
        x = np.random.default_rng(5).normal(size=333)
        value, out = poisson_loglik(eta, wy, w, x=x, delta=-0.7)
        # Two roundings, no fused multiplication: numpy's own arithmetic gives the same bits.
        np.testing.assert_array_equal(out, eta + -0.7 * x)
        assert value == poisson_loglik(out, wy, w)[0] == poisson_score(out, wy, w)[0]

    def test_the_same_bits_as_separate_roundings(self, weighted):
        """64 partial sums in order of the rows, halved and halved again, on whatever instructions."""
        eta, wy, w = count_data(64 * 40, 24, weighted)
        mu = exp_any(eta) if w is None else w * exp_any(eta)
        lanes = np.zeros(64)
        for row in (wy * eta - mu).reshape(40, 64):
            lanes = lanes + row
        parts = lanes[:8]
        for row in lanes.reshape(8, 8)[1:]:
            parts = parts + row
        fours = parts[:4] + parts[4:]
        want = (fours[0] + fours[1]) + (fours[2] + fours[3])
        assert poisson_loglik(eta, wy, w)[0] == poisson_score(eta, wy, w)[0] == want

    def test_large_counts(self, weighted):
        eta, wy, w = count_data(1000, 6, weighted, level=13.8)
        linear, means = count_terms(eta, wy, w)
        exact = mp.fsum(linear) - mp.fsum(means)
        assert exact > 1e9
        assert abs(poisson_loglik(eta, wy, w)[0] - exact) <= self.bound(linear, means)

    def test_means_beyond_every_number(self, weighted):
        """A log-likelihood of -inf, never NaN; what has weight 0 counts nothing even there."""
        for place in (0, 63, 64, 99):
            eta, wy, w = count_data(100, 8, weighted)
            eta[place] = 800.0
            if weighted:
                w[place], wy[place] = 3.0, 6.0
            assert poisson_loglik(eta, wy, w)[0] == -np.inf
            value, residual, weight = poisson_score(eta, wy, w)
            assert value == -np.inf
            assert (residual[place], weight[place]) == (-np.inf, np.inf)
            assert np.all(np.isfinite(np.delete(residual, place)))
            if weighted:
                w[place] = wy[place] = 0.0
                value, residual, weight = poisson_score(eta, wy, w)
                assert value == poisson_loglik(eta, wy, w)[0]
                assert np.isfinite(value)
                assert residual[place] == weight[place] == 0.0

    def test_far_below(self, weighted):
        """Rates of nothing: the weight stays positive and normal, so that curvature can be factored."""
        eta = np.array([-708.0, -1e4, -1e300])
        w = np.array([1.0, 2.0, 3.0]) if weighted else None
        value, residual, weight = poisson_score(eta, np.zeros(3), w)
        assert -1e-300 < value < 0
        assert np.all((weight >= np.finfo(float).tiny) & (weight < 1e-300))
        np.testing.assert_array_equal(residual, -weight)

    def test_nan_does_not_pass_unseen(self, weighted):
        eta, wy, w = count_data(100, 8, weighted)
        if weighted:
            w[[0, 50, 99]] = 1.0
        for place in (0, 50, 99):
            spoilt = eta.copy()
            spoilt[place] = np.nan
            assert np.isnan(poisson_loglik(spoilt, wy, w)[0])
            assert np.isnan(poisson_score(spoilt, wy, w)[0])

    def test_empty(self, weighted):
        empty = np.empty(0)
        w = empty if weighted else None
        assert poisson_loglik(empty, empty, w)[0] == 0.0
        assert poisson_score(empty, empty, w)[0] == 0.0


@pytest.mark.parametrize(
    "call",
    [
        poisson_loglik,
        lambda a, b: poisson_loglik(a, a, b),
        lambda a, b: poisson_loglik(a, a, x=b),
        poisson_score,
        lambda a, b: poisson_score(a, a, b),
    ],
)
def test_arrays_of_different_length_are_refused(call):
    with pytest.raises(ValueError, match="same length"):
        call(np.zeros(5), np.zeros(4))
