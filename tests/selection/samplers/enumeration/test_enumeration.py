"""Gaussian enumeration: every model of every kind of space, and averages over them, by brute force."""

import numpy as np
import pytest
from linear_oracle import Rows, answer

from pyrjsel._errors import NotAvailableError
from pyrjsel.model_space import Bernoulli, BetaBinomial, CostAdjusted, TruncatedPoisson, Uniform
from pyrjsel.runtime import FitSettings
from pyrjsel.selection.evidence.gaussian import SingleModels, evidence_of
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.samplers.enumeration.gaussian import GaussianEnumeration
from pyrjsel.selection.samplers.options import ExactOptions

NAMES = ("a", "b", "a:b", "c", "f")
SIZES = (1, 1, 1, 1, 2)
SPACES = {
    "free": {},
    "budget": {"costs": {"a": 1.0, "b": 2.0, "c": 1.5, "f": 3.0}, "budget": 5.0},
    "strong": {"heredity": "strong"},
    "weak": {"heredity": "weak", "max_size": 3},
    "always": {"always": ("c", "f"), "max_size": 4},
    "nothing is free": {"always": NAMES},
}
MODEL_PRIORS = [
    Uniform(), Bernoulli(0.3), BetaBinomial(1, 2), TruncatedPoisson(1.5),
    CostAdjusted({"a": 1.0, "b": 2.0, "a:b": 2.0, "c": 1.0, "f": 1.5}),
]  # fmt: skip


def settings(n_jobs=1):
    return FitSettings(100, 10, 1, 1, np.random.default_rng(1), n_jobs, False)


def posterior_of(case, n_jobs=1):
    return GaussianEnumeration().posterior(case.regression, case.space, settings(n_jobs), ExactOptions())


def check(case, found, atol=1e-9):
    """Probabilities, inclusion and averaged moments, from single models alone."""
    gamma = case.models[np.asarray(case.space.feasible(case.models))]
    single = SingleModels(case.regression)
    values = np.array([single.log_marginal(row) for row in gamma])
    mass = values + case.space.log_prior(gamma)
    probability = np.exp(mass - mass.max())
    probability /= probability.sum()
    order = np.argsort(-probability, kind="stable")
    np.testing.assert_allclose(found.probability, probability[order], rtol=0, atol=atol)
    known = {bytes(row): value for row, value in zip(gamma, values, strict=True)}
    np.testing.assert_allclose(
        found.log_marginal, [known[bytes(row)] for row in found.gamma], rtol=0, atol=10 * atol
    )
    np.testing.assert_allclose(found.inclusion, probability @ gamma, rtol=0, atol=atol)
    sums = np.zeros((4, case.regression.n_columns))
    for row, weight in zip(gamma, probability, strict=True):
        if weight > 0:
            at = single.moments(row)
            sums[:, at.columns] += weight * np.array([at.mean, at.square, at.positive, np.ones(at.mean.size)])
    moments = found.moments
    np.testing.assert_allclose(moments.mean, sums[0], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(moments.sd**2 + moments.mean**2, sums[1], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(moments.prob_positive, sums[2], rtol=0, atol=2e-7)
    inside = sums[3] > 0
    np.testing.assert_allclose(
        moments.mean_included[inside], (sums[0] / sums[3])[inside], rtol=1e-6, atol=1e-8
    )
    assert np.isnan(moments.mean_included[~inside]).all()
    assert not found.mcse.any()
    assert not found.inclusion_mcse.any()


@pytest.mark.parametrize("space", SPACES)
def test_every_space(linear_kit, any_prior, space):
    case = linear_kit.case(
        SIZES, any_prior, n=20, weighted=True, with_offset=True, names=NAMES, **SPACES[space]
    )
    check(case, posterior_of(case))


@pytest.mark.parametrize("model_prior", MODEL_PRIORS, ids=repr)
def test_every_prior_over_models(linear_kit, model_prior):
    for prior in (GPrior("n"), Normal(1.0)):
        case = linear_kit.case(SIZES, prior, names=NAMES, model_prior=model_prior, heredity="weak")
        check(case, posterior_of(case))


def test_against_the_covariance_of_the_rows(linear_kit, any_prior):
    """From the rows themselves, by an oracle that shares nothing: probabilities and model-averaged means."""
    sigma = linear_kit.inverse_gamma(1.0, 0.5)
    case = linear_kit.case((1, 2, 1), any_prior, n=15, weighted=True, with_offset=True, sigma=sigma)
    rows = Rows(case.x, case.y, case.weights, case.offset, sigma.a, sigma.b)
    found, mass, means = posterior_of(case), [], []
    for gamma in case.models:
        columns = case.regression.model_columns(gamma)
        want = answer(rows, any_prior, columns[1:] - 1)
        mass.append(want.log_marginal + case.space.log_prior(gamma))
        mean = np.zeros(case.regression.n_columns)
        mean[columns] = want.mean
        means.append(mean)
    probability = np.exp(np.array(mass) - max(mass))
    probability /= probability.sum()
    np.testing.assert_allclose(found.inclusion, probability @ case.models, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.moments.mean, probability @ np.array(means), rtol=1e-7, atol=1e-8)


def test_dependent_columns(linear_kit):
    """Models with all of them have no g-prior; what is nearly dependent is looked at twice."""
    for prior, without in ((GPrior("n"), True), (Normal(1.0), False)):
        case = linear_kit.case((1, 1, 1, 1), prior, dependent=True)
        found = posterior_of(case)
        check(case, found)
        assert (found.probability == 0).any() == without
        assert bool(found.notes) == without
    # Correlations whose determinant is below the limit while every column keeps more than that: a chain.
    rng = np.random.default_rng(2)
    walk = rng.normal(size=(60, 1)) + np.cumsum(0.006 * rng.normal(size=(60, 9)), axis=1)
    case = linear_kit.case((1,) * 9, GPrior("n"), n=60)
    regression = type(case.regression).build(walk, case.y, [1] * 9, GPrior("n"))
    made = type(case)(regression, case.space, walk, case.y, None, None, GPrior("n"))
    assert np.linalg.det(np.corrcoef(walk.T)) < 1e-12
    found = posterior_of(made)
    assert (found.probability > 0).all()
    check(made, found, atol=1e-7)


@pytest.mark.parametrize(("share", "exists"), [(3e-17, False), (3e-15, True), (3e-10, True)])
def test_the_limit_of_dependence(linear_kit, share, exists):
    """A column that keeps 5e-9 of its length is dependent, one that keeps 5e-8 is not."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(50, 3))
    x -= x.mean(axis=0)
    rest = rng.normal(size=50)
    rest -= rest.mean()
    rest -= x[:, :2] @ np.linalg.lstsq(x[:, :2], rest, rcond=None)[0]
    sum_of_two = x[:, 0] + x[:, 1]
    x[:, 2] = sum_of_two + rest * np.sqrt(share * (sum_of_two @ sum_of_two) / (rest @ rest))
    case = linear_kit.case((1, 1, 1), GPrior("n"), n=50)
    regression = type(case.regression).build(x, case.y, [1, 1, 1], GPrior("n"))
    made = type(case)(regression, case.space, x, case.y, None, None, GPrior("n"))
    full = np.array([1, 1, 1], dtype=np.uint8)
    assert SingleModels(regression).exists(full) == exists
    assert np.isfinite(evidence_of(regression).values(full[None])[0]) == exists
    found = posterior_of(made)
    assert (found.probability[np.all(found.gamma == 1, axis=1)] > 0).all() == exists


def test_parts_do_not_matter(linear_kit, any_prior):
    case = linear_kit.case((1, 1, 1, 2), any_prior)
    one, several = posterior_of(case), posterior_of(case, n_jobs=2)
    np.testing.assert_array_equal(one.probability, several.probability)
    np.testing.assert_array_equal(one.moments.mean, several.moments.mean)
    np.testing.assert_array_equal(one.moments.prob_positive, several.moments.prob_positive)


def test_too_many_models(linear_kit):
    case = linear_kit.case((1,) * 22, GPrior("n"), n=40)
    with pytest.raises(NotAvailableError, match=r"at most 1,048,576; this space has 4,194,304.*'collapsed'"):
        posterior_of(case)


def test_more_terms_than_rows(linear_kit):
    """30 terms, 12 rows, at most two at a time."""
    for prior in linear_kit.closed.values():
        case = linear_kit.case((1,) * 30, prior, n=12, max_size=2)
        found = posterior_of(case)
        assert len(found.probability) == 1 + 30 + 435
        single = SingleModels(case.regression)
        best = found.gamma[:20]
        np.testing.assert_allclose(
            found.log_marginal[:20], [single.log_marginal(row) for row in best], rtol=0, atol=1e-9
        )
