"""Student proposals with two scales an axis: densities, scales, and integrals of posteriors with walls."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate

import pyrjsel as rj
from pyrjsel.selection.evidence._importance import controlled, skewed_axes
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
    marginal.mode(np.ones(4, dtype=np.uint8))
    stage, skewed, pieces = marginal._first(32, np.random.default_rng(1))
    assert (stage.pairs, skewed, pieces) == (32, False, None)
    x, y = level()
    marginal = MarginalLikelihood(Regression.build(x, y, [1, 1], GPrior("n")), bytes(16), 32, 3)
    marginal.mode(np.ones(2, dtype=np.uint8))
    stage, skewed, pieces = marginal._first(32, np.random.default_rng(1))
    assert stage.pairs == 128
    assert skewed
    # The first axis is the level's, and one of its sides is long.
    short, long = sorted(pieces.scales[:, 0])
    assert long > 1.5 > 1.0 > short


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_skewed_axes_of_orthogonal_walls_are_found(d):
    """Walls in random directions, but for two axes of symmetry."""
    rng = np.random.default_rng(d)
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    walls = np.arange(d) < max(1, d - 2)
    skewness = np.where(walls, 2.0 + np.arange(d), 0.0) * rng.choice([-1.0, 1.0], d)
    found = skewed_axes(np.einsum("k,ka,kb,kc->abc", skewness, axes, axes, axes))
    np.testing.assert_allclose(found @ found.T, np.eye(d), atol=1e-12)
    # Each of them up to its sign, and to the cosine at which iterations stop.
    assert np.all(np.abs(found @ axes.T)[:, walls].max(axis=0) > 1.0 - 1e-3)


def test_axes_without_skewness_are_the_coordinates():
    np.testing.assert_array_equal(skewed_axes(np.zeros((3, 3, 3))), np.eye(3))
    with pytest.raises(ValueError, match="cube"):
        skewed_axes(np.zeros((3, 3, 2)))


@pytest.mark.parametrize("family", ["logit", "probit", "poisson", "negbin", "multinomial", "cox"])
def test_third_derivatives_are_those_of_the_log_posterior(family):
    """Against differences of log densities at small steps, which know nothing of Hessians."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    mean = np.exp(0.5 * data["a"] - 0.3)
    data["y"] = {
        "logit": rng.random(60) < mean / (1 + mean),
        "probit": rng.random(60) < mean / (1 + mean),
        "poisson": rng.poisson(mean),
        "negbin": rng.poisson(mean * rng.gamma(2.0, 0.5, 60)),
        "multinomial": rng.choice(["u", "v", "w"], 60),
        "cox": rng.exponential(size=60),
    }[family]
    model = getattr(rj, family)("y ~ a + b", data, **({"event": None} if family == "cox" else {}))
    marginal = MarginalLikelihood(model.regression, bytes(16), 32, 6)
    marginal.mode(np.ones(2, dtype=np.uint8))
    d = marginal.finder.at.size
    axes = np.linalg.inv(marginal.finder.factor)
    third = marginal._third(axes)
    for u in np.vstack([np.eye(d), rng.normal(size=(4, d))]):
        u /= np.sqrt(u @ u)
        heights = marginal._heights(np.repeat([u @ axes], d, axis=0), (0.3, 0.6))[:, 0]
        near, far = (heights[:, 0] - heights[:, 1]) / 2.0
        # Half of f(h) - f(-h) is f' h + f''' h^3 / 6 + ..., where f' is what the search left of it.
        wanted = 6.0 * (far - 2.0 * near) / (0.6**3 - 2.0 * 0.3**3)
        # Fifth derivatives are of the order of the third ones here, and the steps squared are 0.1 to 0.4.
        assert np.einsum("abc,a,b,c->", third, u, u, u) == pytest.approx(wanted, rel=0.1, abs=0.02)


def test_walls_across_coordinates_are_found():
    """Six levels of six rows without events, in columns turned at random: .1 to .4 of the draws are effective
    along the axes of whitened columns, in four stages.
    """
    rng = np.random.default_rng(1)
    levels = np.kron(np.eye(6), np.ones((6, 1)))
    x = np.vstack([levels, np.zeros((114, 6))]) @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    y = np.where(np.arange(150) < 36, 0.0, rng.integers(0, 2, 150))
    regression = Regression.build(x, y, [1] * 6, Normal(5.0, scaled=False))
    full = np.ones(6, dtype=np.uint8)

    def found(seed, pairs, variance):
        return MarginalLikelihood(regression, bytes([seed]) * 16, pairs, 7).integrate(full, variance=variance)

    many, truth = [found(seed, 128, 1e-2) for seed in range(20)], found(99, 8192, 1e-5)
    assert max(one.stages for one in many) == 1
    assert min(one.effective / one.draws for one in many) > 0.7
    error = np.exp([one.log_marginal - truth.log_marginal for one in many]) - 1
    # The mean of 20 squares with 19 degrees of freedom exceeds 3 with a probability of 1e-5.
    assert np.mean(error**2 / [one.variance + truth.variance for one in many]) < 3.0
