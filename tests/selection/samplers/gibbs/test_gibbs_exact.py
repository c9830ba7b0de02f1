"""The sampler `gibbs` against enumeration: all priors, constraints and sweeps."""

import warnings

import gibbs_kit
import numpy as np
import pytest
from turns import every

from pyrjsel.distributions import InverseGamma
from pyrjsel.model_space import Bernoulli, BetaBinomial, CostAdjusted, TruncatedPoisson, Uniform
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.spike_slab import single_models
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, ZellnerSiow
from pyrjsel.selection.samplers.enumeration.gaussian import GaussianEnumeration
from pyrjsel.selection.samplers.gibbs.sampler import GibbsSampler
from pyrjsel.selection.samplers.options import ExactOptions, GibbsOptions

NAMES, SIZES = ["a", "b", "c", "a:c", "d"], (1, 2, 1, 1, 1)
PRIORS = {
    "g": (GPrior("n"), "collapsed"),
    "hyper-g": (HyperG(3), "collapsed"),
    "hyper-g/n": (HyperGN(4), "collapsed"),
    "zellner-siow": (ZellnerSiow(), "collapsed"),
    "normal": (Normal(0.8), "collapsed"),
    "unscaled normal": (gibbs_kit.UNSCALED_NORMAL, "collapsed"),
    "scaled spikes": (gibbs_kit.SPIKES["scaled"], "collapsed"),
    "unscaled spikes": (gibbs_kit.SPIKES["unscaled"], "collapsed"),
    "scaled spikes, conditional": (gibbs_kit.SPIKES["scaled"], "conditional"),
    "unscaled spikes, conditional": (gibbs_kit.SPIKES["unscaled"], "conditional"),
}
BY_SIZE = InverseGamma([2.0, 2.5, 3.0, 2.0, 2.2, 2.4], [1.0, 0.3, 2, 1, 1, 2])
COSTS = {"a": 1.0, "b": 1.0, "c": 2.0, "d": 1.5}
MODEL_PRIORS = {
    "beta-binomial": BetaBinomial(1, 1),
    "bernoulli": Bernoulli(0.3),
    "uniform": Uniform(),
    "poisson": TruncatedPoisson(1.5),
    "costs": CostAdjusted({"a": 1.0, "b": 1.2, "c": 1.1, "a:c": 1.0, "d": 1.3}),
}
CONSTRAINTS = {
    "free": {},
    "budget": {"costs": COSTS, "budget": 3.5},
    "strong heredity": {"heredity": "strong"},
    "weak heredity, size": {"heredity": "weak", "max_size": 3},
    "always": {"always": ("d",)},
}
# Every prior on coefficients with every constraint and with every prior on models once; the whole grid
# is for `make test-statistical`.
FEW = [
    (prior, list(MODEL_PRIORS)[(i + k) % 5], constraint)
    for i, prior in enumerate(PRIORS)
    for k, constraint in enumerate(CONSTRAINTS)
]
REST = [
    pytest.param(prior, model_prior, constraint, marks=pytest.mark.statistical)
    for prior in PRIORS
    for model_prior in MODEL_PRIORS
    for constraint in CONSTRAINTS
    if (prior, model_prior, constraint) not in FEW
]
# Signals are weak: models far apart with little mass are missed for longer than these runs, and errors of
# averages of full conditionals do not know of what was not visited.
# Standard errors by batch means of 30 batches in each of 4 chains: Student with 116 degrees of freedom,
# beyond 6.5 of which is a chance of 2e-9; fewer batches, or correlation between them, leave 1e-7.
ERRORS = 6.5


def settings_of(draws, seed=1, chains=4):
    return FitSettings(draws, draws // 5, 1, chains, np.random.default_rng(seed), 1, False)


def fit(case, scheme, draws=3000, **options):
    with warnings.catch_warnings():
        # Chains this short may disagree; the errors allow for that.
        warnings.simplefilter("ignore")
        options = GibbsOptions(scheme=scheme, **options)
        return GibbsSampler().posterior(case.regression, case.space, settings_of(draws), options)


def exact(case):
    return GaussianEnumeration().posterior(case.regression, case.space, settings_of(1), ExactOptions())


def batch_error(values):
    """Means of draws (chains, draws, k), and their standard errors by batch means."""
    chains, draws = values.shape[:2]
    length = draws // 30
    batches = values[:, draws - 30 * length :].reshape(chains * 30, length, -1).mean(axis=1)
    return values.mean(axis=(0, 1)), batches.std(axis=0, ddof=1) / np.sqrt(len(batches))


def check_inclusion(found, want):
    known = ~np.isnan(found.inclusion_mcse) & (found.inclusion_mcse > 0)
    away = np.abs(found.inclusion - want.inclusion)
    assert np.all(away[known] < ERRORS * found.inclusion_mcse[known] + 1e-9)
    # Terms that constraints fix.
    np.testing.assert_allclose(away[~known], 0.0, atol=1e-9)
    assert known.sum() >= 3
    # Frequencies of visits, too.
    visits, error = batch_error(found.draws.included.astype(float))
    assert np.all(np.abs(visits - want.inclusion) < ERRORS * error + 2e-3)


@pytest.mark.parametrize(("prior", "model_prior", "constraint"), [*every(3, FEW), *REST])
def test_inclusion_and_coefficients(linear_kit, prior, model_prior, constraint):
    """Enumeration is exact: tests of single models and of it hold it against quadrature."""
    coef_prior, scheme = PRIORS[prior]
    case = linear_kit.case(
        SIZES, coef_prior, n=30, seed=4, signal=0.3, names=NAMES, sigma=InverseGamma(2.0, 1.5), weighted=True,
        model_prior=MODEL_PRIORS[model_prior], **CONSTRAINTS[constraint],
    )  # fmt: skip
    found, want = fit(case, scheme), exact(case)
    check_inclusion(found, want)
    mean, error = batch_error(found.draws.coefficients)
    assert np.all(np.abs(mean - want.moments.mean) < ERRORS * error + 1e-9)
    square, error = batch_error(found.draws.coefficients**2)
    assert np.all(np.abs(square - want.moments.sd**2 - want.moments.mean**2) < ERRORS * error + 1e-9)
    variance, error = batch_error(found.draws.variance[:, :, None])
    single = single_models(case.regression)
    assert abs(variance[0] - expected_variance(single, want)) < ERRORS * error[0]


def expected_variance(single, want):
    return sum(
        p * single.moments(gamma).variance
        for p, gamma in zip(want.probability, want.gamma, strict=True)
        if p > 1e-9
    )


@pytest.mark.parametrize(
    "sigma", [None, InverseGamma([2.0, 2.5, 3.0, 2.0, 2.2, 2.4], [1.0, 0.3, 2, 1, 1, 2])]
)
@pytest.mark.parametrize("prior", [name for name in PRIORS if "spikes" in name])
def test_stochastic_search_with_every_prior_of_sigma(linear_kit, prior, sigma):
    coef_prior, scheme = PRIORS[prior]
    case = linear_kit.case(
        SIZES, coef_prior, n=30, seed=4, signal=0.3, names=NAMES, sigma=sigma, with_offset=True
    )
    found, want = fit(case, scheme, draws=6000), exact(case)
    check_inclusion(found, want)
    variance, error = batch_error(found.draws.variance[:, :, None])
    assert abs(variance[0] - expected_variance(single_models(case.regression), want)) < ERRORS * error[0]
    # Moments that results show: averages over all draws, and given inclusion.
    moments, exact_moments = found.moments, want.moments
    inside = found.draws.included.repeat(np.diff(case.regression.term_start), axis=2)
    b = found.draws.coefficients[:, :, 1:]
    first, error = batch_error(b * inside)
    share = np.repeat(want.inclusion, np.diff(case.regression.term_start))
    assert np.all(np.abs(first - exact_moments.mean_included[1:] * share) < ERRORS * error + 1e-9)
    np.testing.assert_allclose(moments.mean[1:], b.mean(axis=(0, 1)), rtol=1e-9, atol=1e-12)
    count = inside.sum(axis=(0, 1))
    np.testing.assert_allclose(moments.mean_included[1:], (b * inside).sum(axis=(0, 1)) / count, rtol=1e-9)
    np.testing.assert_allclose(moments.prob_positive[1:], (b > 0).mean(axis=(0, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    "prior", every(2, [name for name in PRIORS if "spikes" in name or name == "unscaled normal"])
)
def test_more_columns_than_rows(linear_kit, prior):
    coef_prior, scheme = PRIORS[prior]
    case = linear_kit.case(
        SIZES, coef_prior, n=5, seed=6, signal=0.3, names=NAMES, sigma=InverseGamma(3.0, 2.0)
    )
    check_inclusion(fit(case, scheme, draws=6000), exact(case))


def printed_sampler(case, steps, rng):
    """Means of sigma^2 given the rest, with the scale b + 1 / (2 RSS) and the shape a, as once printed."""
    regression, prior = case.regression, case.regression.prior
    twin = gibbs_kit.twin_of(case, np.zeros(len(case.regression.starts) - 1), 1.0, classical=True, swaps=0)
    a, b = regression.sigma[:, 0]
    means = np.empty(steps)
    assert prior.ratio is not None
    assert not prior.scaled
    for i in range(steps):
        twin.draw(rng)
        scale = b + 1.0 / (2.0 * twin.residual())
        twin.variance = scale / rng.standard_gamma(a)
        twin.sweep(rng)
        means[i] = scale / (a - 1.0)
    return means


def test_sigma_is_not_that_of_the_printed_formula(linear_kit):
    """Ours has the mean that integration gives; the one in the lecture notes by Xing and Guo is far off."""
    coef_prior = gibbs_kit.SPIKES["unscaled"]
    case = linear_kit.case((1, 1), coef_prior, n=12, seed=8, sigma=InverseGamma(2.0, 1.5))
    want = expected_variance(single_models(case.regression), exact(case))
    for scheme in ("collapsed", "conditional"):
        variance, error = batch_error(fit(case, scheme).draws.variance[:, :, None])
        assert abs(variance[0] - want) < ERRORS * error[0]
    printed = printed_sampler(case, 4000, np.random.default_rng(2))
    # It hardly sees the data: its mean is that of the prior, b / (a - 1) = 1.5, and 1 / (2 RSS) more, which
    # is at most 0.1 for an RSS of 5 and more.
    assert printed.mean() == pytest.approx(1.5, abs=0.1)
    assert abs(printed.mean() - want) > 20 * error[0]
