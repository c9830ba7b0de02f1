"""The normal passes against exact sums."""

import math

import numpy as np
import pytest

from pyrjsel._core._vecmath import normal_loglik, normal_score

EPS = np.finfo(float).eps


def normal_data(n, weighted):
    rng = np.random.default_rng(n)
    eta, y = 2.0 * rng.normal(size=(2, n))
    w = rng.integers(0, 6, size=n).astype(float) if weighted else None
    return eta, (w * y if weighted else y), w


@pytest.mark.parametrize("weighted", [False, True])
class TestNormal:
    def test_every_length_and_place(self, weighted):
        for n in range(201):
            at, placed = n % 8, []
            for values in normal_data(n, weighted):
                buffer = None if values is None else np.full(n + 8, np.nan)  # a step outside would be seen
                if buffer is not None:
                    buffer[at : at + n] = values
                placed.append(None if buffer is None else buffer[at : at + n])
            eta, wy, w = placed
            own = np.ones(n) if w is None else w
            terms = eta * (wy - 0.5 * own * eta)
            sizes = np.abs(eta * wy) + 0.5 * own * eta**2
            # Three roundings of a term, and those of sums of at most 4 terms a lane and of 64 lanes.
            bound = (3 + 4 + 6) * EPS * sizes.sum() + 1e-300
            value, out = normal_loglik(eta, wy, w)
            assert abs(value - math.fsum(terms)) <= bound
            np.testing.assert_array_equal(out, eta)
            value, residual, weight = normal_score(eta, wy, w)
            assert abs(value - math.fsum(terms)) <= bound
            np.testing.assert_array_equal(weight, own)
            np.testing.assert_array_equal(residual, wy - own * eta)

    def test_a_step_along_a_direction(self, weighted):
        eta, wy, w = normal_data(333, weighted)
        x = np.random.default_rng(5).normal(size=333)
        value, out = normal_loglik(eta, wy, w, x=x, delta=-0.7)
        # Two roundings, no fused multiplication: numpy's own arithmetic gives the same bits.
        np.testing.assert_array_equal(out, eta + -0.7 * x)
        assert value == normal_loglik(out, wy, w)[0]

    def test_nan_does_not_pass_unseen(self, weighted):
        eta, wy, w = normal_data(100, weighted)
        for place in (0, 50, 99):
            spoilt = eta.copy()
            spoilt[place] = np.nan
            assert np.isnan(normal_loglik(spoilt, wy, w)[0])
            assert np.isnan(normal_score(spoilt, wy, w)[0])


def test_arrays_of_different_length_are_refused():
    for call in (normal_loglik, normal_score):
        with pytest.raises(ValueError, match="same length"):
            call(np.zeros(5), np.zeros(4))
