"""Compiled densities of new rows against scipy."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from pyrjsel.mixture._predict import class_log_density, class_probabilities


def draws(p=4, D=3, K=2, T=5):
    rng = np.random.default_rng(1)
    mean, variance = rng.standard_normal((T, D, p)), rng.gamma(2.0, size=(T, D, p))
    out = rng.random((T, p)) < 0.4
    out[0], out[1] = True, False  # of no input, and of all
    mean[np.repeat(out[:, None], D, axis=1)] = np.nan
    variance[np.isnan(mean)] = np.nan
    z = rng.standard_normal((7, p)) * 3
    z[rng.random(z.shape) < 0.3] = np.nan
    z[0] = np.nan
    return z, mean, variance, rng.dirichlet(np.ones(D), size=(T, K)), rng.dirichlet(np.ones(K), size=T)


def test_log_densities():
    z, mean, variance, weight, prior = draws()
    terms = norm.logpdf(z[None, :, None, :], mean[:, None], np.sqrt(variance)[:, None])
    expected = logsumexp(np.nansum(terms, axis=-1)[:, :, None, :], b=weight[:, None], axis=-1)
    np.testing.assert_allclose(class_log_density(z, mean, variance, weight), expected, rtol=1e-12, atol=1e-12)
    # A row without any input has the density 1, and with no selected input every row has.
    np.testing.assert_allclose(expected[:, 0], 0.0, atol=1e-12)
    joint = expected + np.log(prior)[:, None]
    share = np.exp(joint - logsumexp(joint, axis=-1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(class_probabilities(z, mean, variance, weight, prior), share, rtol=1e-12)


def test_rows_far_from_every_kernel():
    z, mean, variance, weight, prior = draws()
    found = class_probabilities(z * 1e4, mean, variance, weight, prior)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_arrays_that_do_not_fit():
    z, mean, variance, weight, prior = draws()
    for arrays in (
        (z[:, :3].copy(), mean, variance, weight, prior),
        (z, mean[:3].copy(), variance, weight, prior),
        (z, mean, variance, weight, prior[:3].copy()),
        (z, mean[:0].copy(), variance[:0].copy(), weight[:0].copy(), prior[:0].copy()),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            class_probabilities(*arrays)
