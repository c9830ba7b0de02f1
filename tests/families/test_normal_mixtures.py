"""Quantiles of mixtures of normal distributions, against error functions and bisection."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from pyrjsel.families import gaussian
from pyrjsel.families._mixtures import normal_quantiles
from pyrjsel.families.gaussian import mixture_quantile


def by_bisection(means, scale, p, weights):
    """Quantile of one mixture."""
    low, high = means.min() - 40 * scale.max(), means.max() + 40 * scale.max()
    return brentq(lambda x: ndtr((x - means) / scale) @ weights - p, low, high, xtol=1e-13, rtol=1e-15)


@pytest.mark.parametrize("spread", [0.0, 1e-3, 0.03, 0.2, 0.6, 3.0, 50.0])
@pytest.mark.parametrize("uneven", [0.0, 0.01, 0.5])
def test_quantiles_are_exact(spread, uneven):
    """To 1e-9 of the largest scale, whether the components are expanded together or looked up one by one."""
    rng = np.random.default_rng(1)
    for m in (1, 2, 45):
        means, scale = 5 + spread * rng.normal(size=(2, m)), np.exp(uneven * rng.normal(size=(2, m)))
        weights = rng.dirichlet(np.ones(m))
        for p in (1e-9, 0.025, 0.4, 0.975):
            for scales in (scale, scale[:1]):
                found = mixture_quantile(means, scales, p, weights)
                want = [by_bisection(means[i], scales[i % len(scales)], p, weights) for i in range(2)]
                np.testing.assert_allclose(found, want, rtol=0, atol=1e-9 * scales.max() + 1e-13)


def test_quantiles_close_to_one_are_those_of_error_functions(monkeypatch):
    rng = np.random.default_rng(2)
    means, scale = 0.1 * rng.normal(size=(3, 30)), np.exp(0.1 * rng.normal(size=30))
    found = {p: mixture_quantile(means, scale, p) for p in (1e-30, 1e-12, 0.5)}
    monkeypatch.setattr(gaussian, "LARGEST_SCORE", -1.0)
    for p, quick in found.items():
        np.testing.assert_allclose(quick, mixture_quantile(means, scale, p), rtol=0, atol=1e-9 * scale.max())
    with pytest.raises(ValueError, match="close"):
        normal_quantiles(means, scale[None], np.array([1e-40]), np.full(30, 1 / 30), 1e-9)


def test_intervals_have_both_quantiles():
    """To the last digit."""
    rng = np.random.default_rng(6)
    means, variance = rng.normal(size=(4, 50)), rng.gamma(9.0, size=50)
    found = gaussian.Gaussian().interval(means, 0.05, {"variance": variance})
    ends = [mixture_quantile(means, np.sqrt(variance), p) for p in (0.025, 0.975)]
    np.testing.assert_array_equal(found, np.column_stack(ends))
    assert (found[:, 0] < found[:, 1]).all()
