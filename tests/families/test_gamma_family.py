"""The gamma family against scipy's distribution and finite differences."""

import mpmath as mp
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from pyrjsel.families import Gamma
from pyrjsel.families._binary import evaluated
from pyrjsel.families._family import POSITIVE
from pyrjsel.families.gamma import mixture_quantile

N = 40


@pytest.fixture(scope="module")
def rows():
    """Responses, weights, linear predictors."""
    rng = np.random.default_rng(5)
    w = rng.integers(1, 4, N).astype(float)
    eta = rng.normal(0.4, 0.8, N)
    return np.exp(eta) * rng.gamma(1.2 * w) / (1.2 * w), w, eta


def scipys(y, w, eta, shape):
    """Log densities of means of w responses."""
    return stats.gamma.logpdf(y, w * shape, scale=np.exp(eta) / (w * shape))


# More rows than a block of the loop, one block, and fewer.
@pytest.mark.parametrize("n", [700, 512, 3])
def test_passes(n):
    """Both of them to 13 digits, against 40 digits; rows of weight 0 count nothing."""
    rng = np.random.default_rng(n)
    eta, wy, w = rng.normal(0, 3, n), rng.gamma(1, 1, n), rng.gamma(1, 1, n)
    wy[1] = w[1] = 0.0
    eta[1] = -800.0
    shifted, value, residual, weight = evaluated(POSITIVE, eta, wy, w)
    with mp.workdps(40):
        terms = [mp.mpf(-b) * e - mp.mpf(a) * mp.exp(-mp.mpf(e)) for a, b, e in zip(wy, w, eta, strict=True)]
        want = float(mp.fsum(terms))
    # Sums of n numbers of both signs.
    assert shifted == pytest.approx(want, rel=1e-13)
    assert value == pytest.approx(want, rel=1e-13)
    part = np.where(w > 0, wy * np.exp(-np.maximum(eta, -700)), 0.0)
    np.testing.assert_allclose(weight, part, rtol=1e-13)
    np.testing.assert_allclose(residual, part - w, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", [0.05, 1.3, 40.0, 1e6])
def test_densities_are_those_of_scipy(rows, shape):
    y, w, eta = rows
    if shape > 100:
        # Where densities are not exp(-1e6), of which rounding leaves fewer digits.
        y = np.exp(eta) * (1 + 1e-3 * np.sin(np.arange(N)))
    # scipy's own terms cancel: 1e-15 times the shape's logarithm times the shape.
    digits = {"rtol": 1e-9, "atol": 1e-14 * shape}
    family, want = Gamma(shape), scipys(y, w, eta, shape)
    np.testing.assert_allclose(family.log_density(y, eta[:, None], w, {})[:, 0], want, **digits)
    unknown = Gamma().log_density(y, eta[:, None], w, {"shape": np.array([shape])})
    np.testing.assert_allclose(unknown[:, 0], want, **digits)
    total = family.log_likelihood(y, eta, w) + family.log_constant(y, w)
    # A sum of N numbers of the size of the shape times its logarithm.
    assert total == pytest.approx(want.sum(), rel=1e-9, abs=1e-13 * N * shape)
    best = scipys(y, w, np.log(y), shape).sum()
    assert family.saturated(y, w) + family.log_constant(y, w) == pytest.approx(best, rel=1e-9, abs=1e-6)


def test_the_deviance_is_that_of_statsmodels(rows):
    """Theirs is scaled by 1, ours by the shape."""
    y, w, eta = rows
    family = Gamma(1.7)
    deviance = 2 * (family.saturated(y, w) - family.log_likelihood(y, eta, w))
    theirs = sm.families.Gamma(sm.families.links.Log())
    assert deviance == pytest.approx(1.7 * theirs.deviance(y, np.exp(eta), freq_weights=w), rel=1e-12)
    np.testing.assert_allclose(family.variance(np.exp(eta)), theirs.variance(np.exp(eta)) / 1.7, rtol=1e-13)


def test_compiled_passes_have_the_same_likelihood(rows):
    y, w, eta = rows
    family, offset = Gamma(1.3), np.linspace(-1, 1, N)
    wy, own, moved = family.rows(y, w, offset)
    value, _, residual, weight = evaluated(POSITIVE, eta - offset + moved, wy, own)
    assert family.passes is POSITIVE
    assert value == pytest.approx(family.log_likelihood(y, eta, w), rel=1e-12)
    mean = family.mean(eta)
    np.testing.assert_allclose(residual, w * family.score(y, mean), rtol=1e-9, atol=1e-12)
    # The expected information has the mean in the place of the response.
    wy, own, moved = family.rows(mean, w, offset)
    weight = evaluated(POSITIVE, eta - offset + moved, wy, own)[3]
    np.testing.assert_allclose(weight, w * family.curvature(mean), rtol=1e-9)


def test_the_typical_shape_maximises_the_null_model(rows):
    y, w, _ = rows
    offset = np.linspace(-0.5, 0.5, N)
    found = Gamma().for_rows(y, w, offset)

    def height(shape):
        eta = found.null_intercept(y, w, offset) + offset
        return scipys(y, w, eta, shape).sum() + stats.norm.logpdf(np.log(shape), 0, 2)

    # The search ends within 1e-5 of the log shape.
    assert height(found.size) > max(height(found.size * (1 + step)) for step in (-1e-2, 1e-2))
    at = found.null_intercept(y, w, offset)
    assert w @ found.score(y, np.exp(at + offset)) == pytest.approx(0, abs=1e-9)
    assert found.intercept(y, offset, w) == at


def test_moments_of_draws_and_of_residuals():
    """Means, variances and kurtoses of 200,000 draws, within six standard errors: 1e-6 in all."""
    family, w = Gamma(2.5), np.array([1.0, 3.0])
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


def test_the_shape_of_each_draw():
    """Ten thousand draws with each shape are of its distribution: two tests at 5e-7."""
    shape, mean, rng = np.repeat([0.5, 50.0], 10_000), np.full((1, 20_000), 6.0), np.random.default_rng(2)
    drawn = Gamma().simulate(mean, np.array([2.0]), {"shape": shape}, rng)[0]
    for k, each in enumerate((0.5, 50.0)):
        law = stats.gamma(2 * each, scale=6 / (2 * each))
        assert stats.kstest(drawn[10_000 * k : 10_000 * (k + 1)], law.cdf).pvalue > 5e-7
    # Draws of tiny shapes that would round to 0 stay responses, and infinite means infinite.
    assert np.all(Gamma(1e-3).simulate(np.ones((1, 100)), np.ones(1), {}, rng) > 0)
    assert np.isinf(Gamma(1e-3).simulate(np.full((1, 9), np.inf), np.ones(1), {}, rng)).all()


@pytest.mark.parametrize("p", [0.025, 0.5, 0.975])
def test_quantiles_of_mixtures(p):
    """Distribution functions of mixtures there, from means near 0 to infinite ones."""
    rng = np.random.default_rng(3)
    shape = np.exp(rng.normal(0.3, 0.8, 30))
    means = np.exp(rng.normal(0, 1, (6, 30)) + np.array([-9, -2, 0, 2, 5, 9])[:, None])
    found = mixture_quantile(means, shape, p)
    for row, x in zip(means, found, strict=True):
        # Logarithms of quantiles to 1e-6, times densities of logarithms below 1.
        assert stats.gamma.cdf(x, shape, scale=row / shape).mean() == pytest.approx(p, abs=1e-6)
    assert mixture_quantile(np.full((1, 30), np.inf), shape, p)[0] == np.inf
    ends = Gamma().interval(means, 0.05, {"shape": shape})
    np.testing.assert_array_equal(ends[:, 1], mixture_quantile(means, shape, 0.975))
    # One component alone, and one whose lower quantiles round to 0.
    one = mixture_quantile(np.array([[3.0]]), np.array([1.4]), p)
    assert one[0] == pytest.approx(stats.gamma.ppf(p, 1.4, scale=3 / 1.4), rel=1e-6)
    assert mixture_quantile(np.array([[3.0]]), np.array([1e-4]), 0.025)[0] < 1e-290
    assert mixture_quantile(np.empty((0, 4)), np.ones(4), p).shape == (0,)


@pytest.mark.parametrize("shape", [0.02, 3.0, 99.0, 1e4, 1e11])
def test_no_digits_are_lost_to_large_shapes(shape):
    """Likelihood and derivatives in the log shape of nearly perfect fits, with 50 digits."""
    rng = np.random.default_rng(6)
    eta, w = rng.normal(3, 1, 12), rng.integers(1, 4, 12).astype(float)
    y = np.exp(eta) * (1 + rng.normal(size=12) / np.sqrt(shape + 9))
    t, h = np.log(shape), 1e-12
    with mp.workdps(50):

        def value(t):
            s, total = mp.exp(t), 0
            for row, at, weight in zip(y, eta, w, strict=True):
                k, row, at = weight * s, mp.mpf(row), mp.mpf(at)
                total += k * mp.log(k) - k * at + (k - 1) * mp.log(row) - mp.loggamma(k)
                total -= k * row * mp.exp(-at)
            return total

        middle, up, down = (value(mp.mpf(t) + step) for step in (0, h, -h))
        want = float(middle), float((up - down) / (2 * h)), float((2 * middle - up - down) / h**2)
    family = Gamma().for_rows(y, w, None)
    found = family.joint(y, w, eta, np.array([t]))
    # Rounding of log responses is 1e-15, of which residuals are 1 / sqrt(shape).
    error = 1e-12 + 1e-14 * np.sqrt(shape)
    np.testing.assert_allclose([found[0], *found[3], *found[4][0]], want, rtol=error, atol=20 * error)
    pair = family.joint_pairs(y, w, eta, np.zeros((1, y.size)), np.zeros(1), np.array([[t], [t]]))
    prior = family.log_prior(np.array([t]))[0]
    np.testing.assert_allclose(pair, found[0] + prior, rtol=error, atol=20 * error)
