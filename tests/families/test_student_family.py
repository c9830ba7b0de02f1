"""Log-likelihoods with Student-t errors, their derivatives, and the prior of df."""

import numpy as np
import pytest
from scipy import integrate, stats

from pyrjsel.families.student import Student
from pyrjsel.families.tails import df_at, log_at_zero, log_prior, slopes_at_zero


@pytest.mark.parametrize(
    ("n", "outlier"), [(1, 0.0), (7, 0.0), (8, 3.0), (300, 1e3), (300, 1e25), (1000, 1e120)]
)
@pytest.mark.parametrize("df", [0.7, 4])
def test_values_of_pairs(n, outlier, df):
    """Many factors have one logarithm, unless residuals are so large that their product overflows."""
    rng = np.random.default_rng(n)
    y, eta, image = rng.normal(size=(3, n))
    y[n // 2] += outlier
    t, radius = np.array([0.3, -0.4, 1.0, 0.3]), np.array([1.3, 0.2])
    family = Student(df=df)
    found = family.joint_pairs(y, np.ones(n), eta, np.stack([image, -2.0 * image]), radius, t[:, None])
    steps = [1.3 * image, -1.3 * image, -0.4 * image, 0.4 * image]
    for value, at, step in zip(found, t, steps, strict=True):
        want = stats.t.logpdf(y, df, eta + step, np.exp(at)).sum() + np.log(2.0)
        assert value == pytest.approx(want, rel=1e-12, abs=1e-12)
        if outlier < 1e50:
            there = family.joint(y, np.ones(n), eta + step, np.array([at]))[0]
            assert value == pytest.approx(there + np.log(2.0), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("df", [0.7, 4.0])
def test_the_score_is_the_slope_of_the_log_likelihood(df):
    family, rng = Student(df=df).at(1.7), np.random.default_rng(3)
    y, mean = rng.standard_t(2, (2, 6))
    up, down = ([family.log_likelihood(y, mean + h * unit) for unit in np.eye(6)] for h in (1e-6, -1e-6))
    # Errors of differences are rounding / h.
    np.testing.assert_allclose(family.score(y, mean), np.subtract(up, down) / 2e-6, rtol=1e-6, atol=1e-8)


def test_arrays_that_do_not_fit_are_refused():
    family, y = Student(), np.zeros(5)
    for images, t in (((1, 4), 2), ((2, 5), 2), ((1, 5), 3)):
        with pytest.raises(ValueError, match="do not fit"):
            family.joint_pairs(y, np.ones(5), y, np.zeros(images), np.zeros(1), np.zeros((t, 1)))


def test_the_density_at_zero_and_its_slopes():
    """Also where gamma functions cancel, and at the change to the series."""
    df = np.array([0.3, 1.0, 7.0, 199.99, 200.01, 1e4, 1e9, 1e15])
    # scipy's own gamma functions lose digits of large df, where the density tends to the normal one.
    want = np.where(df < 1e6, stats.t.logpdf(0, df), -0.5 * np.log(2 * np.pi) - 0.25 / df)
    np.testing.assert_allclose(log_at_zero(df), want, rtol=1e-11)
    for k in df[:5]:
        h = 1e-2 * k
        low, mid, high = log_at_zero(np.array([k - h, k, k + h]))
        first, second = slopes_at_zero(k)
        # Errors are 1e-4 of third and fourth derivatives, and rounding of gamma functions, 1e-13.
        assert first == pytest.approx((high - low) / (2 * h), rel=1e-3, abs=1e-13 / h)
        assert second == pytest.approx((low + high - 2 * mid) / h**2, rel=1e-3, abs=1e-13 / h**2)


def test_the_prior_of_df():
    """A gamma distribution of shape 2 and rate 0.1 above 1/2, with the slopes of its density."""

    def density(u):
        return np.exp(log_prior(np.array(u))[0])

    assert integrate.quad(density, -30, 7)[0] == pytest.approx(1.0, abs=1e-8)
    law = stats.gamma(2, scale=10)
    for u in (-3.0, 0.0, 2.5, 4.0):
        df = df_at(np.array(u))
        assert density(u) == pytest.approx(law.pdf(df) / law.sf(0.5) * np.exp(u), rel=1e-12)
        low, mid, high = (log_prior(np.array(u + h)) for h in (-1e-4, 0.0, 1e-4))
        assert mid[1] == pytest.approx((high[0] - low[0]) / 2e-4, abs=1e-7)
        assert mid[2] == pytest.approx(-(high[1] - low[1]) / 2e-4, abs=1e-7)


@pytest.mark.parametrize("u", [-2.0, 0.7, 5.0, 8.0])
def test_derivatives_with_unknown_df(u):
    rng, n, h = np.random.default_rng(1), 9, 1e-5
    (y, eta), t = rng.standard_t(2, (2, n)), np.array([-0.3, u])
    family, ones, unit = Student(None), np.ones(n), np.eye(n)
    value, residual, weight, slope, curve, cross = family.joint(y, ones, eta, t)
    df = 0.5 + np.exp(u)
    assert value == pytest.approx(stats.t.logpdf(y, df, eta, np.exp(-0.3)).sum(), rel=1e-11)
    image, at = np.zeros((1, n)), np.stack([t, t])
    drawn = family.joint_pairs(y, ones, eta, image, np.zeros(1), at)
    np.testing.assert_allclose(drawn, value + family.log_prior(t)[0], rtol=1e-12)
    # Errors of differences are of the order of h^2, and of rounding / h.
    for k in range(2):
        up, down = (family.joint(y, ones, eta, t + e * np.eye(2)[k]) for e in (h, -h))
        assert slope[k] == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-6, abs=1e-8)
        np.testing.assert_allclose(curve[k], -(up[3] - down[3]) / (2 * h), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(cross[k], -(up[1] - down[1]) / (2 * h), rtol=1e-6, atol=1e-8)
    for k in (0, 5):
        up, down = (family.joint(y, ones, eta + e * unit[k], t) for e in (h, -h))
        assert residual[k] == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-5, abs=1e-8)
        assert weight[k] == pytest.approx(-(up[1] - down[1])[k] / (2 * h), rel=1e-5, abs=1e-8)
