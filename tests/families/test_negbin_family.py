"""The negative binomial family against scipy's distribution and finite differences."""

import numpy as np
import pytest
from scipy import stats

from pyrjsel._core._vecmath import logit_score
from pyrjsel.families import NegativeBinomial, Poisson
from pyrjsel.families._family import LOGIT
from pyrjsel.families.negbin import log_rising, mixture_quantile

N = 40


@pytest.fixture(scope="module")
def rows():
    """Responses, weights, linear predictors and an offset."""
    rng = np.random.default_rng(5)
    w = rng.integers(1, 4, N).astype(float)
    eta = rng.normal(0.4, 0.8, N)
    y = rng.poisson(w * np.exp(eta) * rng.gamma(1.2, 1 / 1.2, N)) / w
    return y, w, eta


def scipys(y, w, eta, theta):
    """Log probabilities of the sums of counts."""
    return stats.nbinom.logpmf(np.round(w * y), w * theta, 1 / (1 + np.exp(eta) / theta))


@pytest.mark.parametrize("theta", [0.05, 1.3, 40.0])
def test_densities_are_those_of_scipy(rows, theta):
    y, w, eta = rows
    family, want = NegativeBinomial(theta), scipys(y, w, eta, theta)
    np.testing.assert_allclose(family.log_density(y, eta[:, None], w, {})[:, 0], want, rtol=1e-10)
    unknown = NegativeBinomial().log_density(y, eta[:, None], w, {"theta": np.array([theta])})
    np.testing.assert_allclose(unknown[:, 0], want, rtol=1e-10)
    assert family.log_likelihood(y, eta, w) + family.log_constant(y, w) == pytest.approx(want.sum())
    saturated = [np.max(scipys(y[k], w[k], np.linspace(-6, 5, 4001), theta)) for k in np.flatnonzero(y > 0)]
    # The best of a grid with steps of 0.003 is 4e-6 times the information below the maximum.
    assert family.saturated(y, w) + family.log_constant(y, w) == pytest.approx(sum(saturated), abs=1e-3)


def test_compiled_passes_have_the_same_likelihood(rows):
    y, w, eta = rows
    family, offset = NegativeBinomial(1.3), np.linspace(-1, 1, N)
    wy, trials, moved = family.rows(y, w, offset)
    value, residual, weight = logit_score(eta - offset + moved, wy, trials)
    assert family.passes is LOGIT
    assert value == pytest.approx(family.log_likelihood(y, eta, w), rel=1e-12)
    mean = family.mean(eta)
    np.testing.assert_allclose(residual, w * family.score(y, mean), rtol=1e-9, atol=1e-12)
    # The expected information has the mean in the place of the response.
    wy, trials, moved = family.rows(mean, w, offset)
    weight = logit_score(eta - offset + moved, wy, trials)[2]
    np.testing.assert_allclose(weight, w * family.curvature(mean), rtol=1e-9)


def test_the_typical_theta_maximises_the_null_model(rows):
    y, w, _ = rows
    offset = np.linspace(-0.5, 0.5, N)
    found = NegativeBinomial().for_rows(y, w, offset)

    def height(theta):
        family = found.at(theta)
        eta = family.null_intercept(y, w, offset) + offset
        return family.log_density(y, eta[:, None], w, {}).sum() + stats.norm.logpdf(np.log(theta), 0, 2)

    # The search ends within 1e-5 of log theta.
    assert height(found.size) > max(height(found.size * (1 + step)) for step in (-1e-2, 1e-2))
    # The score of the intercept is 0, with offsets that spread means over three orders of magnitude.
    wide = 3 * offset
    at = found.null_intercept(y, w, wide)
    assert w @ found.score(y, np.exp(at + wide)) == pytest.approx(0, abs=1e-9)


def test_large_theta_is_poisson(rows):
    """The log-likelihoods differ by terms of the size of y^2 / theta."""
    y, w, eta = rows
    far, poisson = NegativeBinomial(1e9), Poisson()
    found = far.log_likelihood(y, eta, w) + far.log_constant(y, w)
    want = poisson.log_likelihood(y, eta, w) + poisson.log_constant(y, w)
    assert found == pytest.approx(want, abs=1e-4)
    np.testing.assert_allclose(far.curvature(np.exp(eta)), poisson.curvature(np.exp(eta)), rtol=1e-7)
    assert log_rising(np.array(1e12), np.array(7.0)) == pytest.approx(7 * np.log(1e12), rel=1e-9)


def test_moments_of_draws_and_of_residuals():
    """Means, variances and kurtoses of 200,000 draws, within six standard errors: 1e-6 in all."""
    family, w = NegativeBinomial(2.5), np.array([1.0, 3.0])
    mean, m = np.array([[0.7], [4.0]]), 200_000
    drawn = family.simulate(np.repeat(mean, m, axis=1), w, {}, np.random.default_rng(1))
    variance = family.variance(mean[:, 0]) / w
    z = (drawn - mean) / np.sqrt(variance)[:, None]
    excess = family.excess(mean[:, 0]) / w
    assert np.all(np.abs(z.mean(axis=1)) < 6 / np.sqrt(m))
    error = np.sqrt((2 + excess) / m)
    assert np.all(np.abs((z**2).mean(axis=1) - 1) < 6 * error)
    fourth = (z**4).std(axis=1) / np.sqrt(m)
    assert np.all(np.abs((z**4).mean(axis=1) - 3 - excess) < 6 * fourth)


def test_theta_of_each_draw():
    """Draws and intervals use the theta of the draw."""
    theta = np.array([0.5, 50.0])
    mean = np.full((1, 2), 6.0)
    rng = np.random.default_rng(2)
    many = NegativeBinomial().simulate(
        np.repeat(mean, 50_000, axis=1), np.ones(1), {"theta": np.repeat(theta, 50_000)}, rng
    )
    for k, size in enumerate(theta):
        part = many[0, 50_000 * k : 50_000 * (k + 1)]
        # The squared standard error of a variance of m draws is 2 plus the excess kurtosis, over m: 1.7 % of
        # the variance for the first theta, 0.7 % for the second. Six of them in two comparisons: 4e-9.
        variance = 6 + 36 / size
        error = np.sqrt((2 + 6 / size + 1 / variance) / 50_000)
        assert part.var() == pytest.approx(variance, rel=6 * error)


@pytest.mark.parametrize("p", [0.025, 0.5, 0.975])
def test_quantiles_of_mixtures(p):
    """Against sums of distribution functions, from means near 0 to infinite ones."""
    rng = np.random.default_rng(3)
    theta = np.exp(rng.normal(0.3, 0.8, 30))
    means = np.exp(rng.normal(0, 1, (6, 30)) + np.array([-9, -2, 0, 2, 5, 9])[:, None])
    found = mixture_quantile(means, theta, p)
    for row, count in zip(means, found, strict=True):
        share = 1 / (1 + row / theta)
        assert stats.nbinom.cdf(count, theta, share).mean() >= p
        assert count == 0 or stats.nbinom.cdf(count - 1, theta, share).mean() < p
    assert mixture_quantile(np.full((1, 30), np.inf), theta, p)[0] == np.inf
    family = NegativeBinomial()
    ends = family.interval(means, 0.05, {"theta": theta})
    np.testing.assert_array_equal(ends[:, 1], mixture_quantile(means, theta, 0.975))


def test_infinite_means():
    """The limits of the score and of the expected information are theta."""
    family, y, mean = NegativeBinomial(2.5), np.array([0.0, 3.0]), np.full(2, np.inf)
    np.testing.assert_allclose(family.score(y, mean), -2.5, rtol=1e-15)
    np.testing.assert_allclose(family.curvature(mean), 2.5, rtol=1e-15)
    offset = np.array([0.0, 800.0])
    assert np.isfinite(family.null_intercept(y, np.ones(2), offset))
