"""Binomial responses under the probit and the complementary log-log link."""

import mpmath as mp
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize

from pyrjsel.families import Binomial, Cloglog, Probit
from pyrjsel.families._binary import CLOGLOG, PROBIT, evaluated

LINKS = {
    "probit": (Probit(), PROBIT, sm.families.links.Probit()),
    "cloglog": (Cloglog(), CLOGLOG, sm.families.links.CLogLog()),
}
# Both sides of the joints of approximations (0 for the probit, where rates are 1 for the other), and tails.
POINTS = np.concatenate([np.linspace(-8, 5, 53), [-700, -37, -25, -1e-9, 0, 1e-9, 1e-3]])
PARTS = [(1.0, 0.0), (0.0, 1.0), (2.5, 1.5)]


def truth(link, eta, success, failure):
    """Log-likelihood, slope and minus the curvature, in 60 digits."""
    e = mp.mpf(float(eta))
    if link == "probit":
        up, down = mp.erfc(-e / mp.sqrt(2)) / 2, mp.erfc(e / mp.sqrt(2)) / 2
        a, b = mp.npdf(e) / up, mp.npdf(e) / down
        return (
            success * mp.log(up) + failure * mp.log(down),
            success * a - failure * b,
            success * a * (a + e) + failure * b * (b - e),
        )
    rate = mp.exp(e)
    a = rate / mp.expm1(rate)
    return (
        success * mp.log(-mp.expm1(-rate)) - failure * rate,
        success * a - failure * rate,
        success * a * (rate + a - 1) + failure * rate,
    )


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_passes(link, part):
    """All of them to 14 digits, whatever the number of rows in a block of the loop."""
    success, failure = (np.full(POINTS.size, each) for each in part)
    with mp.workdps(60):
        want = [truth(link, eta, *part) for eta in POINTS]
        want = np.array([[float(each) for each in row] for row in want]).T
    shifted, value, slope, curve = evaluated(LINKS[link][1], POINTS, success, success + failure)
    assert shifted == value == pytest.approx(want[0].sum(), rel=1e-14)
    # Below 1e-290 numbers are cut off.
    np.testing.assert_allclose(slope, want[1], rtol=2e-14, atol=1e-290)
    # The curvature of a far tail is a difference of two numbers of the size of eta, times eta.
    reach = 3e-14 + 1e-15 * POINTS**2
    assert np.all(np.abs(curve - want[2]) <= reach * np.abs(want[2]) + 1e-290)
    for eta, number in zip(POINTS, want[0], strict=True):
        one = evaluated(LINKS[link][1], np.array([eta]), success[:1], success[:1] + failure[:1])
        assert one[0] == pytest.approx(number, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("link", LINKS)
def test_no_weights_are_weights_of_one(link):
    y = (np.arange(POINTS.size) % 2).astype(float)
    without, ones = (evaluated(LINKS[link][1], POINTS, y, w) for w in (None, np.ones(y.size)))
    assert without[:2] == ones[:2]
    for a, b in zip(without[2:], ones[2:], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("link", LINKS)
def test_far_from_zero(link):
    """Impossible outcomes cost what they should, and rows without weight nothing."""
    eta, ones = np.array([-800.0, 800.0]), np.ones(2)
    family, passes, _ = LINKS[link]
    y = np.array([0.0, 1.0])
    assert evaluated(passes, eta, y, ones)[1] == pytest.approx(0.0, abs=1e-300)
    value, _, slope, curve = evaluated(passes, eta, 1 - y, ones)
    if link == "probit":
        assert value == pytest.approx(2 * (-0.5 * 800**2 - np.log(800 * np.sqrt(2 * np.pi))), rel=1e-5)
        np.testing.assert_allclose(slope, [800, -800], rtol=1e-5)
        np.testing.assert_allclose(curve, 1.0, rtol=1e-4)
    else:
        assert value == -np.inf
    assert evaluated(passes, eta, np.zeros(2), np.zeros(2))[1] == 0.0
    assert family.log_likelihood(y, eta) == pytest.approx(0.0, abs=1e-300)


@pytest.mark.parametrize("link", LINKS)
class TestFamily:
    def test_log_likelihoods_are_those_of_the_pass(self, link):
        family, passes, _ = LINKS[link]
        y = np.linspace(0, 1, POINTS.size)
        w = np.linspace(0.5, 4, y.size)
        inside = np.abs(POINTS) < 30
        found = family.log_likelihood(y[inside], POINTS[inside], w[inside])
        want = evaluated(passes, POINTS[inside], (w * y)[inside], w[inside])[0]
        assert found == pytest.approx(want, rel=1e-13)
        density = family.log_density(y[inside], POINTS[inside][:, None], w[inside], {})
        constant = family.log_constant(y[inside], w[inside])
        assert density.sum() == pytest.approx(found + constant, rel=1e-12)

    def test_means_and_slopes_are_those_of_statsmodels(self, link):
        family, _, theirs = LINKS[link]
        eta = np.linspace(-5, 1.5, 40)
        mean = family.mean(eta)
        np.testing.assert_allclose(mean, theirs.inverse(eta), rtol=1e-12)
        np.testing.assert_allclose([family.linear(each) for each in mean], eta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(family.slope(mean), theirs.inverse_deriv(eta), rtol=1e-7)
        np.testing.assert_allclose(family.curvature(mean), family.slope(mean) ** 2 / (mean * (1 - mean)))

    def test_score_and_information(self, link):
        """The score is the slope of the pass; the information is its expected curvature."""
        family, passes, _ = LINKS[link]
        eta = np.linspace(-5, 1.5, 40)
        mean, ones = family.mean(eta), np.ones(40)
        for y in (0.0, 0.3, 1.0):
            slope = evaluated(passes, eta, y * ones, ones)[2]
            np.testing.assert_allclose(family.score(y * ones, mean), slope, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(family.curvature(mean), evaluated(passes, eta, mean, ones)[3], rtol=1e-8)
        np.testing.assert_array_equal(family.score(np.array([0.0, 1.0]), np.array([1.0, 0.0])), 0.0)

    def test_where_the_likelihood_never_falls(self, link):
        family = LINKS[link][0]
        for y in (0.0, 0.5, 1.0):
            for way in (-1.0, 1.0):
                path = [family.log_likelihood(np.array([y]), np.array([way * t])) for t in range(7)]
                assert np.all(np.diff(path) >= 0) == (family.recession(np.array([y]))[0] == way)

    def test_starting_intercepts(self, link):
        family = LINKS[link][0]
        rng = np.random.default_rng(4)
        w, offset = rng.integers(1, 6, 100).astype(float), rng.normal(0, 0.3, 100)
        y = rng.binomial(w.astype(int), 0.3) / w
        plain = optimize.brentq(lambda a: w @ family.score(y, family.mean(a + 0 * offset)), -4, 2)
        shifted = optimize.brentq(lambda a: w @ family.score(y, family.mean(a + offset)), -4, 2)
        # Half an event more and half a failure more, among 300 trials, move the proportion .3 by 1 / 1500.
        slope = family.slope(np.array(0.3))
        assert family.intercept(y, np.zeros(100), w) == pytest.approx(plain, abs=1.5 / 1500 / slope)
        # Offsets count by their mean; the curve of the mean adds up to half of their variance, .3^2 / 2.
        assert family.intercept(y, offset, w) == pytest.approx(shifted, abs=0.045 + 1.5 / 1500 / slope)

    def test_strays_where_odds_of_the_logit_link_would(self, link):
        family, logit = LINKS[link][0], Binomial()
        for probability in (1e-3, 1e-5, 1e-8):
            low, high = family.linear(probability), family.linear(1 - probability)
            want = logit.strays(logit.linear(probability), 0.0)
            assert family.strays(low, 0.0) == family.strays(0.0, high) == want
