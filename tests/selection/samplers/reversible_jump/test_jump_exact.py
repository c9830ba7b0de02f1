"""Reversible jumps and populations of gaussian models against enumeration: all priors and constraints."""

import warnings

import gibbs_kit
import jump_kit
import numpy as np
import pytest
from turns import by_turns, every

from pyrjsel._errors import NotAvailableError
from pyrjsel.distributions import InverseGamma
from pyrjsel.model_space import Bernoulli, BetaBinomial, CostAdjusted, TruncatedPoisson, Uniform
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.samplers.enumeration.gaussian import GaussianEnumeration
from pyrjsel.selection.samplers.options import ExactOptions, PopulationOptions, RJMCMCOptions
from pyrjsel.selection.samplers.reversible_jump.population import PopulationRJMCMC
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import RJMCMC

NAMES, SIZES = ["a", "b", "c", "a:c", "d"], (1, 2, 1, 1, 1)
MODEL_PRIORS = {
    "beta-binomial": BetaBinomial(1, 1),
    "bernoulli": Bernoulli(0.3),
    "uniform": Uniform(),
    "poisson": TruncatedPoisson(1.5),
    "costs": CostAdjusted({"a": 1.0, "b": 1.2, "c": 1.1, "a:c": 1.0, "d": 1.3}),
}
CONSTRAINTS = {
    "free": {},
    "budget": {"costs": {"a": 1.0, "b": 1.0, "c": 2.0, "d": 1.5}, "budget": 3.5},
    "strong heredity": {"heredity": "strong"},
    "weak heredity, size": {"heredity": "weak", "max_size": 3},
    "always": {"always": ("d",)},
}
SAMPLERS = {
    "rjmcmc": (RJMCMC(), RJMCMCOptions()),
    "population": (PopulationRJMCMC(), PopulationOptions()),
    "rjmcmc, full": (RJMCMC(), RJMCMCOptions(proposal="full", swaps=0)),
    "fixed": (PopulationRJMCMC(), PopulationOptions(scheme="fixed", hot=[(7.0, 3.0), (1.0, 1.0)])),
    "crude": (PopulationRJMCMC(), PopulationOptions(cold=(), hot=[(0.5, 0.5)] * 2, tune=False)),
}
# Both samplers with every prior on coefficients and every constraint in turn; the whole grid is for
# `make test-statistical`.
GRID = [(s, p, m, c) for s in SAMPLERS for p in jump_kit.PRIORS for m in MODEL_PRIORS for c in CONSTRAINTS]
FEW = {
    (sampler, prior, list(MODEL_PRIORS)[(i + k) % 5], list(CONSTRAINTS)[(i + 2 * k + at) % 5])
    for at, sampler in enumerate(("rjmcmc", "population"))
    for i, prior in enumerate(jump_kit.PRIORS)
    for k in range(2)
} | {
    (sampler, prior, "uniform", "free")
    for sampler in ("rjmcmc, full", "fixed", "crude")
    for prior in ("hyper-g", "unscaled")
}
CASES = [case if case in FEW else pytest.param(*case, marks=pytest.mark.statistical) for case in GRID]
# Batch means of 30 batches in each of 4 chains: Student with 116 degrees of freedom, beyond 6.5 of which is a
# chance of 2e-9; correlation between batches leaves 1e-8, for some 20 numbers in 875 fits.
ERRORS = 6.5


def settings_of(draws, seed=1):
    return FitSettings(draws, draws // 5, 1, 4, np.random.default_rng(seed), 1, False)


def fit(case, sampler, draws=2500):
    find, options = SAMPLERS[sampler]
    with warnings.catch_warnings():
        # Chains this short may disagree; the errors allow for that.
        warnings.simplefilter("ignore")
        return find.posterior(case.regression, case.space, settings_of(draws), options)


def batch_error(values):
    """Means of draws (chains, draws, k), and their standard errors by batch means."""
    chains, draws = values.shape[:2]
    length = draws // 30
    batches = values[:, draws - 30 * length :].reshape(chains * 30, length, -1).mean(axis=1)
    return values.mean(axis=(0, 1)), batches.std(axis=0, ddof=1) / np.sqrt(len(batches))


@pytest.mark.parametrize(("sampler", "prior", "model_prior", "constraint"), every(6, CASES))
def test_models_coefficients_and_sigma(linear_kit, sampler, prior, model_prior, constraint):
    """Enumeration is exact: tests of single models and of it hold it against quadrature."""
    case = linear_kit.case(
        SIZES, jump_kit.PRIORS[prior], n=30, seed=4, signal=0.3, names=NAMES, sigma=InverseGamma(2.0, 1.5),
        weighted=True, model_prior=MODEL_PRIORS[model_prior], **CONSTRAINTS[constraint],
    )  # fmt: skip
    check(case, fit(case, sampler))


@pytest.mark.parametrize(
    ("sampler", "prior"), every(2, by_turns(["rjmcmc", "population"], list(jump_kit.PRIORS)))
)
def test_improper_sigma_and_few_rows(linear_kit, sampler, prior):
    """12 rows and 1 / sigma^2: temperatures begin at 0.45."""
    case = linear_kit.case(
        SIZES, jump_kit.PRIORS[prior], n=12, seed=5, signal=0.4, names=NAMES, with_offset=True
    )
    check(case, fit(case, sampler))


def check(case, found):
    want = GaussianEnumeration().posterior(case.regression, case.space, settings_of(1), ExactOptions())
    draws, single = found.draws, SingleModels(case.regression)
    b = draws.coefficients
    models = [row.tolist() for row in draws.models]
    best = [row.tolist() for row in want.gamma[want.probability > 0.03]]
    visits = np.stack([draws.model == (models.index(row) if row in models else -1) for row in best], axis=2)
    variance = sum(p * single.moments(g).variance for p, g in zip(want.probability, want.gamma, strict=True))
    values = np.concatenate([draws.included, visits, b, b**2, draws.variance[:, :, None]], axis=2)
    truth = np.concatenate(
        [
            want.inclusion,
            want.probability[want.probability > 0.03],
            want.moments.mean,
            want.moments.sd**2 + want.moments.mean**2,
            [variance],
        ]
    )
    mean, error = batch_error(values.astype(float))
    assert np.all(np.abs(mean - truth) < ERRORS * error + 1e-9)
    assert error[-1] < 0.1 * variance
    # What is reported is of the same draws.
    np.testing.assert_allclose(found.moments.mean, b.mean(axis=(0, 1)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.inclusion, draws.included.mean(axis=(0, 1)), rtol=1e-12)


def test_more_columns_than_rows(linear_kit):
    for prior, sampler in (("normal", "rjmcmc"), ("unscaled", "population")):
        case = linear_kit.case(
            SIZES, jump_kit.PRIORS[prior], n=5, seed=6, signal=0.3, names=NAMES, sigma=InverseGamma(3.0, 2.0)
        )
        check(case, fit(case, sampler, draws=4000))


def test_dependent_columns(linear_kit):
    case = linear_kit.case(
        (1, 1, 1, 1), jump_kit.PRIORS["hyper-g/n"], n=20, seed=6, signal=0.3, dependent=True,
        sigma=InverseGamma(3.0, 2.0), model_prior=Uniform(),
    )  # fmt: skip
    found = fit(case, "rjmcmc")
    assert not np.any(found.gamma[:, [0, 1, 3]].all(axis=1))
    check(case, found)


def test_spikes_and_slabs_are_refused(linear_kit):
    case = linear_kit.case(SIZES, gibbs_kit.SPIKES["scaled"])
    for sampler in ("rjmcmc", "population"):
        with pytest.raises(NotAvailableError, match=r"SpikeSlab has all of them in every model.*'gibbs'"):
            fit(case, sampler)
