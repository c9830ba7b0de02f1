"""The control variate of importance integrals: errors, their size as stated, and moments."""

import numpy as np
import pytest
from scipy import integrate, stats

from pyrjsel.selection.evidence._importance import controlled, weighted_moments
from pyrjsel.selection.evidence.importance import (
    CLOSE,
    log_control,
    log_student,
    normal_moments,
    radii,
)
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.regression.glm import Regression

DF = 8.0


def draws(d, pairs, rng):
    """Radii, draws of a standard Student distribution in pairs, and log densities as of `log_student`."""
    radius = radii(d, pairs, DF, rng)
    direction = rng.standard_normal((pairs, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    away = radius[:, None] * direction
    points = np.stack([away, -away], axis=1).reshape(-1, d)
    return radius, points, np.repeat(log_student(radius, d, DF), 2)


@pytest.mark.parametrize("d", [1, 3, 12])
def test_integrals_and_moments_of_normal_densities_are_exact(d):
    rng = np.random.default_rng(d)
    radius, points, log_density = draws(d, 16, rng)
    weights = 3.7 * np.exp(-0.5 * np.sum(points**2, axis=1) - log_density)
    log_mean, variance = controlled(weights, radius, log_control(radius, d, DF))
    assert log_mean == pytest.approx(np.log(3.7), abs=1e-12)
    assert variance < 1e-24
    scale, mean = rng.uniform(0.5, 2.0, d), rng.normal(size=d)
    normal = normal_moments(mean, scale**2)
    log_c, shift = log_control(radius, d, DF), np.zeros((d, 1))
    found = weighted_moments(mean + scale * points, weights, log_c, shift, CLOSE, normal)
    np.testing.assert_allclose(found, normal, rtol=1e-10)
    # Without it there are 16 directions.
    plain = weighted_moments(mean + scale * points, weights, log_c, shift, CLOSE)
    assert not np.allclose(plain, normal, rtol=1e-3)


def test_moments_far_from_normal_ones_are_plain_averages():
    rng = np.random.default_rng(2)
    radius, points, log_density = draws(2, 64, rng)
    weights = np.exp(2.0 * points[:, 0] - log_density)
    normal = normal_moments(np.zeros(2), np.ones(2))
    log_c, shift = log_control(radius, 2, DF), np.zeros((2, 1))
    found, plain = (weighted_moments(points, weights, log_c, shift, CLOSE, some) for some in (normal, None))
    np.testing.assert_array_equal(found, plain)


def reference(points, weights, radius, log_c, shift, normal):
    """Return log mean weight, relative variance and moments in plain numpy."""
    pair, control = weights[::2] + weights[1::2], np.exp(log_c)
    ratio = pair.sum() / control.sum()
    step = np.diff(pair - ratio * control)[np.diff(radius) > 0]
    variance = 0.5 * radius.size * np.mean(step**2) / pair.sum() ** 2
    raw = points.copy()
    raw[:, : shift.shape[1]] -= points @ shift
    share, by_c = weights / weights.sum(), np.repeat(control / control.sum() / 2, 2)
    powers = np.stack([raw, raw**2, raw > 0])
    moments = share @ powers
    if normal is not None and np.sum((share - by_c) ** 2) < CLOSE * np.sum(share**2):
        moments[1:] += normal[1:] - by_c @ powers[1:]
        moments[2] = np.clip(moments[2], 0.0, 1.0)
    return np.log(0.5 * ratio), variance, moments


@pytest.mark.parametrize("scale", [0.05, 3.0])  # weights near those of the normal density, and far
@pytest.mark.parametrize(("d", "lead"), [(1, 1), (4, 1), (6, 2)])
def test_averages_are_those_of_plain_numpy(d, lead, scale):
    """Up to rounding of sums of 400 numbers in another order, and of exponentials to 2 ulp."""
    rng = np.random.default_rng(d)
    parts = [draws(d, 100, rng) for _ in range(2)]  # two sets of strata
    radius, points, log_density = (np.concatenate(part) for part in zip(*parts, strict=True))
    weights = np.exp(scale * np.tanh(points[:, 0]) - 0.5 * np.sum(points**2, axis=1) - log_density)
    log_c, shift = log_control(radius, d, DF), rng.normal(size=(d, lead))
    shift[:lead] = 0.0
    want = reference(points, weights, radius, log_c, shift, (normal := rng.normal(size=(3, d))))
    np.testing.assert_allclose(controlled(weights, radius, log_c), want[:2], rtol=1e-11, atol=1e-12)
    for some, moments in (
        (normal, want[2]),
        (None, reference(points, weights, radius, log_c, shift, None)[2]),
    ):
        found = weighted_moments(points, weights, log_c, shift, CLOSE, some)
        np.testing.assert_allclose(found, moments, rtol=1e-11, atol=1e-12)


def test_averages_refuse_arrays_that_do_not_fit():
    ones = np.ones
    for arrays in ((ones(4), ones(3), ones(3)), (ones(4), ones(2), ones(3)), (ones(2), ones(1), ones(1))):
        with pytest.raises(ValueError, match="two numbers a pair"):
            controlled(*arrays)
    for arrays in (
        (ones((4, 2)), ones(3), ones(2), ones((2, 1))),
        (ones((4, 2)), ones(4), ones(3), ones((2, 1))),
        (ones((4, 2)), ones(4), ones(2), ones((3, 1))),
        (ones((4, 2)), ones(4), ones(2), ones((2, 3))),
    ):
        with pytest.raises(ValueError, match="must fit the draws"):
            weighted_moments(*arrays, CLOSE)


@pytest.mark.parametrize("skew", [0.5, 1.0])
def test_errors_are_as_stated(skew):
    """Densities with skewness and kurtosis in each coordinate, whose integral is known from quadrature.

    400 estimates of 32 pairs. The bias is tested at 5 standard errors: 6e-7. The stated variance includes
    what residuals change between neighbouring strata, which makes it 1 to 1.6 times that of the errors; the
    ratio has an error of about 10 %, and five of these are allowed.
    """

    def log_factor(x):
        return skew * 0.2 * np.tanh(x) ** 3 - 0.02 * np.minimum(x**2, 20.0) ** 1.5 / (1.0 + np.abs(x))

    d = 4
    one = integrate.quad(lambda x: stats.norm.pdf(x) * np.exp(log_factor(x)), -12, 12, epsabs=1e-12)[0]
    error, stated, plain = [], [], []
    for seed in range(400):
        radius, points, log_density = draws(d, 32, np.random.default_rng(seed))
        weights = np.exp(np.sum(log_factor(points) - 0.5 * points**2, axis=1) - log_density)
        log_mean, variance = controlled(weights, radius, log_control(radius, d, DF))
        error.append(np.exp(log_mean - d * np.log(one)) - 1.0)
        stated.append(variance)
        plain.append(weights.mean() / one**d - 1.0)
    assert abs(np.mean(error)) < 5 * np.std(error) / np.sqrt(400)
    assert 0.6 < np.mean(stated) / np.var(error) < 2.2
    assert np.var(plain) > 2 * np.var(error)


def test_few_pairs_are_enough_for_large_samples():
    """2,000 rows: 16 pairs have an error of 0.001, where plain averages have 0.02 and Laplace 0.008."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 6))
    y = (rng.random(2000) < 1 / (1 + np.exp(1 - 0.4 * x[:, :5].sum(axis=1)))).astype(float)
    regression, full = Regression.build(x, y, [1] * 6, GPrior("n")), np.ones(6, dtype=np.uint8)

    def integral(seed, pairs):
        return MarginalLikelihood(regression, seed.to_bytes(16, "big"), pairs, 7).integrate(full)

    truth = integral(1000, 4096)
    assert truth.variance < 1e-7
    found = [integral(seed, 16) for seed in range(60)]
    error = np.array([one.log_marginal for one in found]) - truth.log_marginal
    assert error.std() < 0.003
    assert abs(error.mean()) < 6 * np.hypot(error.std() / np.sqrt(60), np.sqrt(truth.variance))
    assert 1 in {integral(seed, 32).stages for seed in range(5)}


@pytest.mark.parametrize("prior", [GPrior("n"), Normal(2.5)])
def test_few_pairs_are_not_enough_for_a_level_without_events(prior):
    """Three of 1,000 rows, with a posterior whose tail few draws meet.

    With 32 pairs and one scale for both sides of the mode, errors of the 40 integrals were up to 11 times
    those stated. Of right ones the largest has a normal quantile of 3.2 and stated errors that err by a
    fifth.
    """
    rng = np.random.default_rng(1003)
    x = rng.normal(size=(1000, 5))
    y = (rng.random(1000) < 1 / (1 + np.exp(1 - 0.5 * x[:, 0]))).astype(float)
    x[:, 4] = 0.0
    x[:3, 4], y[:3] = 1.0, 0.0
    regression, models = Regression.build(x, y, [1] * 5, prior), np.tile(np.eye(5, dtype=np.uint8)[4], (2, 1))
    models[1] = 1
    for gamma in models:

        def integral(seed, pairs, gamma=gamma):
            return MarginalLikelihood(regression, seed.to_bytes(16, "big"), pairs, 6).integrate(gamma)

        truth = integral(1000, 8192)
        found = [integral(seed, 32) for seed in range(20)]
        error = np.array([one.log_marginal for one in found]) - truth.log_marginal
        assert np.all(np.abs(error) < 4.5 * np.sqrt([one.variance + truth.variance for one in found]))
        assert min(one.draws for one in found) >= 128
    assert integral(0, 32, 1 - models[0]).draws == 64
