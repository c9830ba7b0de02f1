"""Student proposals with two scales an axis: densities, scales, and integrals of posteriors with walls."""

import numpy as np
import pytest
from scipy import integrate

from pyrjsel.selection.evidence._importance import controlled
from pyrjsel.selection.evidence.importance import TwoPiece, log_control, radii
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.regression.glm import Regression

DF = 8.0


def target(points, pieces):
    """Log density of a normal distribution with the scales of `pieces`, 0 at its mode."""
    z = points @ np.linalg.inv(pieces.axes)
    return -0.5 * np.sum((z / np.where(z > 0, pieces.scales[0], pieces.scales[1])) ** 2, axis=1)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_integrals_of_two_piece_normal_densities_are_exact(d):
    rng = np.random.default_rng(d)
    pieces = TwoPiece(rng.normal(size=(d, d)) + 2.0 * np.eye(d), rng.uniform(0.5, 4.0, (2, d)))
    radius = radii(d, 16, DF, rng)
    points, log_density = pieces.draw(radius, rng.normal(size=(16, d)), rng.random((16, d)), DF)
    weights = np.exp(target(points, pieces) - np.repeat(log_density, 2))
    log_mean, variance = controlled(weights, radius, log_control(radius, d, DF))
    # Relative to the normal distribution with the axes, one scale each.
    assert log_mean == pytest.approx(np.log(pieces.scales.mean(axis=0)).sum(), abs=1e-12)
    assert variance < 1e-24


def test_draws_have_the_density_that_is_stated():
    """Means of five functions of 40,000 draws in pairs at 6 standard errors, by batches: 1e-8."""
    rng = np.random.default_rng(1)
    pieces = TwoPiece(np.array([[1.0, 0.4], [0.0, 0.8]]), np.array([[3.0, 0.6], [0.5, 1.5]]))
    radius = np.concatenate([radii(2, 20, DF, rng) for _ in range(1000)])
    points, log_density = pieces.draw(
        radius, rng.normal(size=(radius.size, 2)), rng.random((radius.size, 2)), DF
    )
    z = points @ np.linalg.inv(pieces.axes)
    scaled = z / np.where(z > 0, pieces.scales[0], pieces.scales[1])
    np.testing.assert_allclose(np.sum(scaled**2, axis=1), np.repeat(radius**2, 2))
    share = pieces.scales[0] / pieces.scales.sum(axis=0)
    weights = np.exp(target(points, pieces) - np.repeat(log_density, 2)) / np.prod(pieces.scales.mean(axis=0))
    # The mean of a coordinate of a normal distribution with scales s and t is sqrt(2 / pi) (s - t).
    wanted = [*share, *(np.sqrt(2 / np.pi) * (pieces.scales[0] - pieces.scales[1])), 1.0]
    values = np.column_stack([z > 0, weights[:, None] * z, weights]).reshape(100, -1, 5).mean(axis=1)
    error = values.std(axis=0, ddof=1) / 10.0
    assert np.all(np.abs(values.mean(axis=0) - wanted) < 6 * error + 1e-12)


def test_scales_cover_the_density_at_all_distances():
    radius = np.array([1.0, 3.0, 9.0])
    one_sided = np.array([[-2.0, -0.125], [-18.0, -1.125], [-162.0, -10.125]])  # scales 1/2 and 2
    long_tail = np.array([[-0.5, -0.5], [-4.5, -1.0], [-40.5, -2.0]])  # 1, and at a distance of 9 4.5
    heights = np.stack([one_sided, long_tail], axis=1)
    found = TwoPiece.along(np.eye(2), radius, heights)
    np.testing.assert_allclose(found.scales, [[0.5, 1.0], [2.0, 4.5]])
    # A density that hardly falls, or that is 0 at once, has the largest and the smallest scale.
    flat = TwoPiece.along(np.eye(1), radius, np.array([[[0.0, -np.inf]], [[0.0, -np.inf]], [[0.0, -np.inf]]]))
    assert flat.scales.ravel().tolist() == [8.0, 0.4]


def level(n=200, rows=6):
    """A level of a few rows without events, and a number."""
    rng = np.random.default_rng(4)
    x = np.zeros((n, 2))
    x[:rows, 0], x[:, 1] = 1.0, rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-0.5 * x[:, 1]))).astype(float)
    y[:rows] = 0.0
    return x, y


@pytest.mark.parametrize("prior", [GPrior("n"), Normal(5.0)], ids=str)
def test_one_stage_is_enough_for_a_level_without_events(prior):
    x, y = level()
    regression = Regression.build(x, y, [1, 1], prior)
    full = np.ones(2, dtype=np.uint8)

    def found(seed, pairs):
        return MarginalLikelihood(regression, bytes([seed]) * 16, pairs, 3).integrate(full, variance=1e-3)

    many = [found(seed, 64) for seed in range(40)]
    truth = found(99, 8192)
    assert max(one.stages for one in many) == 1
    # With one scale a side the proposal at the mode had an effective draw of three in ten.
    assert min(one.effective / one.draws for one in many) > 0.6
    error = np.exp([one.log_marginal - truth.log_marginal for one in many]) - 1
    # A z-test of the mean at 6 standard errors (t, 39 df: 5e-7), and stated errors: 39 df pass 2.4 at 2e-6.
    assert abs(error.mean()) < 6 * np.hypot(error.std(ddof=1) / np.sqrt(40), np.sqrt(truth.variance))
    assert 0.1 < np.mean(error**2 / [one.variance for one in many]) < 2.4


def test_the_integral_is_that_of_quadrature():
    """One coefficient and a flat intercept, over a grid; six errors of the integral: 2e-9."""
    x, y = level(60, 5)
    x = x[:, :1]
    regression = Regression.build(x, y, [1], Normal(5.0, intercept="flat"))
    found = MarginalLikelihood(regression, bytes(16), 512, 2).integrate(np.ones(1, dtype=np.uint8))
    a, b = np.linspace(-3.0, 3.0, 201), np.linspace(-40.0, 12.0, 651)
    eta = a[:, None, None] + b[:, None] * x[:, 0]
    value = np.sum(y * eta - np.logaddexp(0.0, eta), axis=2) - 0.5 * (b / 5.0) ** 2
    value = np.exp(value - value.max()), value.max()
    inner = integrate.simpson(value[0], x=b, axis=1)
    wanted = np.log(integrate.simpson(inner, x=a)) + value[1] - np.log(5.0 * np.sqrt(2 * np.pi))
    assert found.variance < 1e-5
    assert abs(found.log_marginal - wanted) < 6 * np.sqrt(found.variance) + 1e-4


def test_without_a_long_tail_there_is_one_piece(kit):
    case = kit.case([*"abcd"], n=400, seed=3, coef_prior=GPrior("n"), signal=0.3)
    marginal = MarginalLikelihood(case.regression, bytes(16), 32, 5)
    full = np.ones(4, dtype=np.uint8)
    marginal.mode(full)
    assert marginal._tail() == (False, None)
    x, y = level()
    marginal = MarginalLikelihood(Regression.build(x, y, [1, 1], GPrior("n")), bytes(16), 32, 3)
    marginal.mode(full[:2])
    long, pieces = marginal._tail()
    assert long
    # The first axis is the level's: its negative side is long.
    assert pieces.scales[1, 0] > 1.5 > 1.0 > pieces.scales[0, 0]
