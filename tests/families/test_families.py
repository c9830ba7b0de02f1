"""Families by themselves: log-likelihoods, checks of the response, intervals of new responses."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, stats
from scipy.special import gammaln

import pyrjsel as rj
from pyrjsel.families import Binomial, Poisson, poisson
from pyrjsel.families.poisson import mixture_quantile

FAMILIES = {"binomial": (Binomial(), sm.families.Binomial()), "poisson": (Poisson(), sm.families.Poisson())}


def sample(name, n=200, seed=1):
    """Response, weights and linear predictor of one kind of data."""
    rng = np.random.default_rng(seed)
    eta, w = rng.normal(size=n), rng.integers(1, 6, n).astype(float)
    y = rng.binomial(w.astype(int), 1 / (1 + np.exp(-eta))) if name == "binomial" else rng.poisson(w)
    return y / w, w, eta


@pytest.mark.parametrize("name", FAMILIES)
class TestBoth:
    def test_mean_and_deviance_are_those_of_statsmodels(self, name):
        family, theirs = FAMILIES[name]
        y, w, eta = sample(name)
        mu = family.mean(eta)
        np.testing.assert_allclose(mu, theirs.fitted(eta), rtol=1e-13)
        np.testing.assert_allclose(family.curvature(mu), theirs.variance(mu), rtol=1e-13)
        deviance = 2 * (family.saturated(y, w) - family.log_likelihood(y, eta, w))
        assert deviance == pytest.approx(theirs.deviance(y, mu, freq_weights=w), rel=1e-12)

    def test_slopes_of_the_log_likelihood(self, name):
        """y - mu and minus the curvature, by central differences."""
        family = FAMILIES[name][0]
        for y in (0.0, 0.3, 1.0):
            for eta in (-3.0, 0.1, 2.0):
                step = 1e-4
                at = [family.log_likelihood(np.array([y]), np.array([eta + k * step])) for k in (-1, 0, 1)]
                mu = family.mean(np.array([eta]))
                assert (at[2] - at[0]) / (2 * step) == pytest.approx(y - mu[0], abs=1e-7)
                assert (2 * at[1] - at[0] - at[2]) / step**2 == pytest.approx(
                    family.curvature(mu)[0], abs=1e-6
                )

    def test_weights_are_repetitions(self, name):
        family = FAMILIES[name][0]
        y, w, eta = sample(name)
        one = family.log_likelihood(np.repeat(y, w.astype(int)), np.repeat(eta, w.astype(int)))
        assert family.log_likelihood(y, eta, w) == pytest.approx(one, rel=1e-12)

    def test_where_the_likelihood_never_falls(self, name):
        family = FAMILIES[name][0]
        y = np.array([0.0, 0.5, 1.0])
        for value, sign in zip(y, family.recession(y), strict=True):
            for way in (-1.0, 1.0):
                path = [family.log_likelihood(np.array([value]), np.array([way * t])) for t in range(40)]
                assert np.all(np.diff(path) >= 0) == (sign == way)

    def test_starting_intercepts(self, name):
        """Near the maximum for a model without terms, weights and offset counted."""
        family = FAMILIES[name][0]
        y, w, _ = sample(name)
        offset = np.random.default_rng(2).normal(scale=0.3, size=y.size)
        best = optimize.minimize_scalar(lambda a: -family.log_likelihood(y, a + offset, w)).x
        # Offsets count by their mean: with standard deviation 0.3 the curve of the mean moves the best by
        # up to 0.3**2 / 2 = 0.045; half an event more among some tens of rows by about as much again.
        assert family.intercept(y, offset, w) == pytest.approx(best, abs=0.1)

    def test_rows_without_weight_count_nothing(self, name):
        family = FAMILIES[name][0]
        y, w, eta = sample(name)
        w[:50] = 0.0
        want = family.log_likelihood(y[50:], eta[50:], w[50:])
        assert family.log_likelihood(y, eta, w) == pytest.approx(want, rel=1e-13)
        offset = np.zeros(200)
        offset[:50] = 700.0
        start = family.intercept(y[50:], offset[50:], w[50:])
        assert family.intercept(y, offset, w) == pytest.approx(start, rel=1e-13)


def test_the_log_likelihood_of_counts_leaves_factorials_out():
    y, _, eta = np.array([0.0, 1.0, 7.0]), None, np.array([0.3, -1.0, 2.0])
    want = stats.poisson.logpmf(y, np.exp(eta)).sum() + gammaln(y + 1).sum()
    assert Poisson().log_likelihood(y, eta) == pytest.approx(want, rel=1e-13)
    assert Poisson().log_likelihood(y, np.array([0.0, 0.0, 800.0])) == -np.inf
    assert np.isfinite(Poisson().log_likelihood(y, np.array([0.0, 0.0, 800.0]), np.array([1.0, 1.0, 0.0])))


def test_the_intercept_of_counts_is_their_log_rate():
    """However far the offsets are from zero."""
    y, w = np.array([3.0, 0.0, 5.0]), np.array([1.0, 2.0, 1.0])
    for shift in (0.0, 700.0, -700.0, 1e4):
        offset = shift + np.array([0.0, 1.0, 2.0])
        want = np.log(8 / (1 + 2 * np.e + np.e**2)) - shift
        assert Poisson().intercept(y, offset, w) == pytest.approx(want, rel=1e-12)


GOOD = [
    ([0, 3, 1], None),
    ([0.0, 0.0, 1e9], None),
    ([0.5, 1.25, 0], [2, 4, 3]),
    ([1 / 3, 2 / 7, 5.0], [3, 7, 1]),
    ([2, 3, 0], [0.7, 1.37, 2.0]),  # weights that are no numbers of rows, on whole counts
    ([0, 1.5, 2], [1, 0, 1]),  # what has weight 0 has no events
]
BAD = [
    ([], None, "no rows"),
    ([1, -1, 0], None, "'y' must be counts of at least 0. Got -1"),
    ([1, 0.5, 0], None, r"'y' must be whole numbers.*Got 0.5 \(1 value"),
    ([1, 0.5, 0], [1, 3, 1], "whole numbers, or mean counts with weights=.*Got 0.5"),
    ([1, 0, 2], [1, -1, 1], "'weights' must be non-negative. Got -1"),
    ([1, 0, 2], [0, 0, 0], "positive somewhere"),
    ([0, 0, 0], None, "events somewhere"),
    ([1, 0, 0], [0, 1, 1], "events somewhere. Got zeros only"),
]


@pytest.mark.parametrize(("y", "weights"), GOOD)
def test_counts_that_are_taken(y, weights):
    w = None if weights is None else np.array(weights, dtype=float)
    assert Poisson().check(np.array(y, dtype=float), w, "y") is None


@pytest.mark.parametrize(("y", "weights", "message"), BAD)
def test_counts_that_are_refused(y, weights, message):
    w = None if weights is None else np.array(weights, dtype=float)
    with pytest.raises(rj.DataError, match=message):
        Poisson().check(np.array(y, dtype=float), w, "y")


# ---------------------------------------------------------------------- new counts


def is_quantile(means, p, found):
    """Whether the mixture reaches p at `found` and not one below it, up to the rounding of a sum."""
    at = stats.poisson.cdf(found[:, None], means).mean(axis=1)
    below = stats.poisson.cdf(found[:, None] - 1, means).mean(axis=1)
    return np.all((at >= p - 1e-12) & (below < p + 1e-12))


@pytest.mark.parametrize("level", [0.02, 0.4, 3.0, 40.0, 1e4, 1e8])
@pytest.mark.parametrize("spread", [0.0, 0.1, 1.5])
def test_quantiles_of_mixtures(level, spread):
    rng = np.random.default_rng(int(level * 100))
    means = np.sort(level * np.exp(spread * rng.normal(size=(25, 700))), axis=1)
    for p in (1e-9, 0.025, 0.5, 0.9, 0.975, 1 - 1e-12):
        found = mixture_quantile(means, p)
        assert np.all(found == np.floor(found))
        assert is_quantile(means, p, found)


def test_a_mixture_of_one_law_is_that_law():
    means = np.geomspace(1e-3, 1e6, 40)[:, None]
    for p in (0.025, 0.3, 0.99):
        np.testing.assert_array_equal(mixture_quantile(means, p), stats.poisson.ppf(p, means[:, 0]))


def test_quantiles_do_not_depend_on_how_they_are_enclosed(monkeypatch):
    rng = np.random.default_rng(3)
    means = np.sort(rng.gamma(2.0, 3.0, size=(30, 401)), axis=1)
    quick = [mixture_quantile(means, p) for p in (0.01, 0.2, 0.95)]
    monkeypatch.setattr(poisson, "STRIDES", (1,))
    np.testing.assert_array_equal([mixture_quantile(means, p) for p in (0.01, 0.2, 0.95)], quick)


def test_the_check_of_quantiles_has_teeth():
    means = np.sort(np.random.default_rng(4).gamma(2.0, 3.0, size=(30, 401)), axis=1)
    found = mixture_quantile(means, 0.95)
    assert not is_quantile(means, 0.95, found + 1)
    assert not is_quantile(means, 0.95, found - 1)


def test_intervals_at_the_ends_of_the_numbers():
    """No events in sight, and more than can be counted."""
    means = np.array([[0.0, 0.0, 0.0], [1e-300, 1e-200, 0.0], [np.inf, np.inf, 1e300], [1e17, 2e17, 1.5e17]])
    found = Poisson().interval(means, 0.05, {})
    np.testing.assert_array_equal(found[:2], 0.0)
    np.testing.assert_array_equal(found[2], np.inf)
    # Beyond 2^53 counts are floats: 3.5 standard deviations of a single law are 1e-8 of its mean.
    np.testing.assert_allclose(found[3], [1e17, 2e17], rtol=1e-8)


def test_intervals_of_both_families():
    means = np.random.default_rng(5).random((20, 500)) * 0.9
    single = Binomial().interval(means, 0.4, {})
    np.testing.assert_array_equal(single[:, 0], means.mean(axis=1) > 0.8)
    np.testing.assert_array_equal(single[:, 1], means.mean(axis=1) > 0.2)
    counts = Poisson().interval(5 * means, 0.4, {})
    shuffled = np.random.default_rng(6).permuted(5 * means, axis=1)
    np.testing.assert_array_equal(Poisson().interval(shuffled, 0.4, {}), counts)
    assert np.all(counts[:, 0] < counts[:, 1])
