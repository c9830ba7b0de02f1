"""Moves of gaussian reversible jumps at any temperature: detailed balance, conditionals, tempered targets."""

import jump_kit
import numpy as np
import pytest
from balance_oracle import check_flips_and_swaps, check_updates
from scipy import stats
from turns import by_turns

from pyrjsel.distributions import InverseGamma
from pyrjsel.model_space import Uniform
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, UnknownG, ZellnerSiow
from pyrjsel.selection.priors.gaussian import FixedG
from pyrjsel.selection.regression.gaussian_rows import GaussianRows

NAMES, SIZES = ["a", "b", "a:b"], (1, 2, 1)
SPACES = {"free": {}, "size": {"max_size": 1}, "strong heredity": {"heredity": "strong"}}
TEMPERATURES = [0.5, 1.0, 1.7]
SIGMA = InverseGamma(2.0, 1.5)


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("prior", jump_kit.PRIORS)
def test_flips_swaps_and_updates(linear_kit, prior, space, t):
    """Between all pairs of models, given sigma^2 and g: from the definitions, on the columns as they are."""
    rich = space != "free"
    case = linear_kit.case(
        SIZES, jump_kit.PRIORS[prior], n=20, seed=8, names=NAMES, weighted=rich, with_offset=rich,
        **SPACES[space],
    )  # fmt: skip
    known, rng = jump_kit.fixed_scales(case, 0.6, 2.1), np.random.default_rng(9)
    seen = check_flips_and_swaps(known, rng, t=t)
    assert seen["birth"] == seen["death"] > 0
    assert (seen["refused"] > 0) == (space != "free")
    check_updates(known, rng, 1.0, t)
    check_updates(known, rng, 0.25, t)


def log_prior_of_g(prior, log_g, n):
    """Log densities of log g as printed in the papers, up to a constant."""
    if isinstance(prior, HyperG):
        return -0.5 * prior.a * np.log1p(np.exp(log_g)) + log_g
    if isinstance(prior, HyperGN):
        return -0.5 * prior.a * np.log1p(np.exp(log_g) / n) + log_g
    assert isinstance(prior, ZellnerSiow)
    return -0.5 * log_g - 0.5 * n * np.exp(-log_g)


def log_power(case, gamma, b, variance, log_g, t):
    """The log density of the target of (b, sigma^2, log g) at temperature t, on the rows, up to a constant.

    Under a mixture of g-priors it is that of coefficients over sqrt(g), and g has its prior.
    """
    regression, prior = case.regression, case.regression.prior
    w = np.ones(case.y.size) if case.weights is None else case.weights
    y = case.y if case.offset is None else case.y - case.offset
    columns = regression.model_columns(gamma)[1:] - 1
    x, d = (case.x[:, columns] - regression.mean[columns]) / regression.scale[columns], columns.size
    slopes = b[1:][columns]
    value = stats.norm.logpdf(y, b[0] + x @ slopes, np.sqrt(variance / w)).sum()
    value += stats.invgamma.logpdf(variance, regression.a, scale=regression.b)
    if isinstance(prior, UnknownG):
        inverse = np.linalg.inv((x.T * w) @ x) if d else np.eye(0)
        g = np.exp(log_g)
        if d:
            value += stats.multivariate_normal(np.zeros(d), variance * inverse).logpdf(slopes / np.sqrt(g))
        return t * value - 0.5 * d * log_g + log_prior_of_g(prior.mixture, log_g, regression.n)
    if isinstance(prior, FixedG):
        inverse = prior.g * np.linalg.inv((x.T * w) @ x) if d else np.eye(0)
        mean = np.zeros(d)
    else:
        inverse, mean = np.diag(1 / prior.precision[columns]), prior.mean[columns]
    scale = variance if prior.scaled else 1.0
    if d:
        value += stats.multivariate_normal(mean, scale * inverse).logpdf(slopes)
    return t * value


def log_scales(case, gamma, b, variance, log_g, t):
    """The same at many places (arrays), up to a constant."""
    regression, prior = case.regression, case.regression.prior
    w = np.ones(case.y.size) if case.weights is None else case.weights
    y = case.y if case.offset is None else case.y - case.offset
    columns = regression.model_columns(gamma)[1:] - 1
    x, d = (case.x[:, columns] - regression.mean[columns]) / regression.scale[columns], columns.size
    slopes = b[1:][columns]
    form = w @ (x @ slopes) ** 2
    if prior.rank_tol == 0:
        form = prior.precision[columns] @ (slopes - prior.mean[columns]) ** 2
    if isinstance(prior, FixedG):
        form = form / prior.g
    scale = 1 if prior.scaled else 0
    half = 0.5 * w @ (y - b[0] - x @ slopes) ** 2 + regression.b + 0.5 * scale * form * np.exp(-log_g)
    power = 0.5 * (case.y.size + scale * d) + regression.a + 1
    value = -t * (half / variance + power * np.log(variance))
    if not isinstance(prior, UnknownG):
        return value
    return value - 0.5 * d * log_g + log_prior_of_g(prior.mixture, log_g, regression.n)


def same_law(draws, grid, mass):
    """Whether draws may have a density that is known on a grid (Kolmogorov-Smirnov, 1e-7)."""
    assert max(mass[0], mass[-1]) < 1e-4 * mass.max()
    cdf = np.concatenate([[0.0], np.cumsum(0.5 * (mass[1:] + mass[:-1]))])
    return stats.kstest(draws, lambda x: np.interp(x, grid, cdf / cdf[-1])).pvalue > 1e-7


@pytest.mark.parametrize(("t", "prior"), by_turns(TEMPERATURES, list(jump_kit.PRIORS)))
def test_full_conditionals_of_scales(linear_kit, prior, t):
    """Chains over sigma^2 and g alone against quadrature of the density of the state; some sixty laws.

    Every twelfth state is kept: t and g of a hyper-g prior remember one another for two or three.
    """
    case = linear_kit.case(
        SIZES, jump_kit.PRIORS[prior], n=12, seed=8, names=NAMES, weighted=True, with_offset=True, sigma=SIGMA
    )
    rows, rng, size = GaussianRows.of(case.regression), np.random.default_rng(31), 1500
    mixed = isinstance(case.regression.prior, UnknownG)
    for gamma in ([0, 0, 0], [1, 0, 1], [1, 1, 1]):
        gamma, b = np.array(gamma, dtype=np.uint8), np.zeros(rows.n_columns)
        columns = rows.model_columns(gamma)
        b[columns] = 0.5 * rng.normal(size=columns.size)
        b[0] += case.regression.centre
        u, v = np.linspace(-4, 8, 500), np.linspace(-30, 110, 2001) if mixed else np.zeros(1)
        joint = log_scales(case, gamma, b, np.exp(u)[:, None], v, t) + u[:, None]
        # The short form is that density, but for a constant.
        points = [(0.3, 0.0), (1.0, 0.0), (2.0, float(mixed)), (0.5, 2.0 * mixed)]
        lacks = [
            log_power(case, gamma, b, *at, t) - float(log_scales(case, gamma, b, *at, t)) for at in points
        ]
        np.testing.assert_allclose(lacks, lacks[0], rtol=1e-10)
        loop = jump_kit.loop_at(rows, case.space, gamma, [*b, 0.8, float(mixed)], t)
        found = np.empty((size, 2))
        for i in range(size):
            for _ in range(12 if mixed else 1):
                loop.draw(rng)
            found[i] = loop.state()[1][-2:]
        mass = np.exp(joint - joint.max())
        assert same_law(np.log(found[:, 0]), u, mass.sum(axis=1))
        if mixed:
            assert same_law(found[:, 1], v, mass.sum(axis=0))
        else:
            assert np.all(found[:, 1] == 0.0)


# ---------------------------------------------------------------------- the power of the posterior


@pytest.mark.parametrize(
    ("sigma", "prior"), by_turns([None, SIGMA], [GPrior("n"), Normal(0.8, mean=0.3)]), ids=str
)
def test_models_at_a_temperature(linear_kit, prior, sigma):
    """Chains below, at and above the posterior's temperature, against integrals in closed form.

    Means over 60 batches: beyond 6.5 errors of a Student with 59 degrees of freedom is 2e-8.
    """
    case = linear_kit.case(
        SIZES, prior, n=15, seed=5, names=NAMES, signal=0.3, model_prior=Uniform(), sigma=sigma, weighted=True
    )
    rows, rng = GaussianRows.of(case.regression), np.random.default_rng(3)
    for t in (0.5, 1.0, 2.0):
        truth = jump_kit.Tempered(case, t)
        want = truth.probabilities(case.models)
        gamma, b = truth.draw(case.models, rng)
        loop, n = jump_kit.loop_at(rows, case.space, gamma, b, t, n_swaps=2), 12_000
        words, vectors = np.zeros((n, 1), dtype=np.uint64), np.empty((n, rows.n_columns + 2))
        loop.run(
            rng, n, words=words, log_posterior=np.empty(n), coefficients=vectors,
            sums=np.zeros((4, rows.n_columns)),
        )  # fmt: skip
        codes = case.models @ (1 << np.arange(3))
        visits = words == codes[None, :]
        variance = np.array([truth.parts(gamma)[3] / (truth.parts(gamma)[2] - 1) for gamma in case.models])
        values = np.column_stack([visits, np.minimum(vectors[:, -2], 1e300)])
        batches = values.reshape(60, -1, values.shape[1]).mean(axis=1)
        error = batches.std(axis=0, ddof=1) / np.sqrt(60)
        # The mean of sigma^2 is that of a heavy tail below t = 1: its errors have no normal law there.
        use = np.append(want > 0.02, t >= 1.0)
        found = batches.mean(axis=0)
        away = np.abs(found - np.append(want, want @ variance))
        assert np.all(away[use] < 6.5 * error[use])
        assert use.sum() >= 4


def test_the_least_power(linear_kit):
    """Below it the integral of the largest model is infinite, above it no model's is."""
    for prior in (GPrior("n"), Normal(0.8)):
        for sigma in (None, SIGMA):
            case = linear_kit.case(SIZES, prior, n=9, seed=5, names=NAMES, sigma=sigma)
            rows = GaussianRows.of(case.regression)
            least = rows.least_power(3)
            d, n, a = 4, 9, 0.0 if sigma is None else 2.0
            assert least == pytest.approx((d + 3) / (n + d + 2 + 2 * a), rel=1e-12)
            below, above = (jump_kit.Tempered(case, least * (1 + sign * 1e-6)) for sign in (-1, 1))
            assert below.log_mass(np.ones(3, dtype=np.uint8)) == np.inf
            assert all(np.isfinite(above.log_mass(gamma)) for gamma in case.models)
    # A largest size leaves the largest term alone.
    case = linear_kit.case(SIZES, jump_kit.PRIORS["g"], n=9)
    assert GaussianRows.of(case.regression).least_power(1) == pytest.approx((2 + 3) / (9 + 2 + 2))
    unscaled = linear_kit.case(SIZES, jump_kit.PRIORS["unscaled"], n=9, sigma=SIGMA)
    assert GaussianRows.of(unscaled.regression).least_power(3) == pytest.approx(3 / (9 + 4 + 2))
