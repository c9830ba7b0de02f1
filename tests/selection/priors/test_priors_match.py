"""Priors over models and coefficients against their definitions, with the sampler and without."""

import numpy as np
import pytest
from scipy import stats
from selection_cases import COEFFICIENT_PRIORS, load
from selection_checks import (
    Scenario,
    batch_error,
    build,
    coefficient_prior,
    far_away,
    fit,
    probabilities,
    sampler_faults,
    terms_in_order,
)
from selection_oracle import coordinates, inclusion, log_joint

import pyrjsel as rj

COSTS = {"stage": 2.0, "age": 1.0, "bp": 1.5, "smoke": 1.0}
PER_TERM = {"stage": 0.2, "age": 0.5, "bp": 0.4, "smoke": 0.7, "age:smoke": 0.35}
PRICES = {"stage": 1.0, "age": 1.0, "bp": 1.2, "smoke": 1.3, "age:smoke": 1.1}
MODEL_PRIORS = [
    ("uniform",),
    ("bernoulli", 0.3),
    ("bernoulli", PER_TERM),
    ("betabinomial", 1.0, 1.0),
    ("betabinomial", 2.0, 5.0),
    ("poisson", 1.5),
    ("cost", PRICES),
]
CONSTRAINTS = [
    {},
    {"heredity": "strong"},
    {"heredity": "weak"},
    {"max_size": 2},
    {"costs": COSTS, "budget": 3.0},
    {"costs": {**COSTS, "age:smoke": 0.5}, "budget": 2.0, "heredity": "weak"},
    {"always": ("age",)},
    {"always": ("age", "smoke"), "max_size": 3, "heredity": "strong"},
    {"always": ("bp",), "costs": COSTS, "budget": 3.5},
]


def rules(constraints):
    return "+".join(f"{key}={value}" for key, value in constraints.items() if key != "costs") or "free"


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=rules)
@pytest.mark.parametrize("prior", MODEL_PRIORS, ids=lambda prior: prior[0])
def test_model_priors_under_constraints(prior, constraints):
    scenario = Scenario("ward", "4n joint", prior, constraints)
    problem = load("ward")[0]
    model = build(scenario)
    exact = scenario.prior()
    assert model.count_models() == np.sum(exact > 0)
    gamma = np.array([[int(digit) for digit in m] for m in problem.models], dtype=np.uint8)
    # The package's terms stand in the order of the formula, as the oracle's do.
    assert model.term_names == tuple(term.name for term in problem.terms)
    log_prior = model.space.log_prior(gamma)
    mass = np.exp(log_prior - log_prior.max())
    # Both are sums of a few logarithms.
    assert np.allclose(mass / mass.sum(), exact, rtol=1e-12, atol=0)
    found = model.prior_inclusion
    assert found.method == "exact"
    assert np.allclose(found.probability, inclusion(problem, exact), rtol=0, atol=1e-10)
    table = fit(model, sampler="enumerate", integration="laplace", rng=1).inclusion
    assert np.array_equal(table["prior"], found.probability)


@pytest.mark.parametrize("make", [rj.Bernoulli, rj.BetaBinomial, rj.TruncatedPoisson])
@pytest.mark.parametrize("size", [0.4, 1.7, 3.5])
def test_expected_sizes_are_met(make, size):
    prior = make(expected_size=size)
    for always, free in (((), 5), (("age",), 4)):
        model = build(Scenario("ward", "4n joint"), model_prior=prior, always=always)
        # Expected number of free terms; sums of at most 32 products.
        assert model.prior_inclusion.probability.sum() - len(always) == pytest.approx(size, abs=1e-9)
        assert model.space.n_free == free


def test_defaults_are_those_of_the_interface():
    """GPrior(g="4n") with the intercept inside, BetaBinomial(1, 1)."""
    case = load("ward")[1]
    plain = rj.logit(case.formula, case.frame).fit(sampler="enumerate", pairs=1000, rng=1)
    scenario = Scenario("ward", "4n joint", ("betabinomial", 1.0, 1.0))
    # As in test_exact: 0.003 for a thousand pairs.
    assert np.abs(probabilities(plain, "ward") - scenario.posterior()).max() < 0.003
    with_normal = rj.logit(case.formula, case.frame, coef_prior=rj.Normal(1.0))
    found = with_normal.fit(sampler="enumerate", pairs=1000, rng=1)
    scenario = Scenario("ward", "raw", ("betabinomial", 1.0, 1.0))
    assert np.abs(probabilities(found, "ward") - scenario.posterior()).max() < 0.003


# ---------------------------------------------------------------------- densities


def internal(regression, problem, model, beta):
    """Return internal coefficients (D + 1,) of the coefficients of a model's columns as they are."""
    b = np.zeros(regression.n_columns)
    places = problem.places(model)
    b[places] = beta
    b[1:] *= regression.scale
    b[0] += (b[1:] / regression.scale) @ regression.mean
    return b


@pytest.mark.parametrize("name", [*COEFFICIENT_PRIORS])
@pytest.mark.parametrize("problem_name", ["ward", "ward offset", "cells", "wall"])
def test_densities_of_coefficients(problem_name, name):
    """log f(y | beta) + log f(beta | gamma) at random points of random models, Jacobian included."""
    problem, case = load(problem_name)
    prior = COEFFICIENT_PRIORS[name]
    regression = rj.logit(
        case.formula, case.frame, coef_prior=coefficient_prior(name), **case.arguments
    ).regression
    rng = np.random.default_rng(3)
    for model in problem.models:
        gamma = np.array([int(digit) for digit in model], dtype=np.uint8)
        at = coordinates(problem, model, prior)
        c = rng.standard_normal(at.mu.size)
        beta = at.A @ c
        # A density of c is one of beta after division by |det A|; one of internal coefficients after
        # multiplication with the scales of the model's columns.
        exact = log_joint(problem, at, c[None])[0] - np.linalg.slogdet(at.A)[1]
        b = internal(regression, problem, model, beta)
        columns = regression.model_columns(gamma)
        found = regression.prior.logpdf(b[columns], columns) + regression.log_scale(gamma[None])[0]
        # Sums over at most 57 rows and 7 columns.
        assert found + regression.loglik(b) == pytest.approx(exact, rel=1e-9, abs=1e-9)
        assert np.allclose(regression.to_raw(b)[problem.places(model)], beta, rtol=1e-10, atol=1e-10)


# ---------------------------------------------------------------------- a sampler without data


@pytest.mark.parametrize(
    ("name", "prior", "constraints"),
    [
        ("g joint", ("betabinomial", 1.0, 1.0), {}),
        ("g joint", ("uniform",), {"costs": COSTS, "budget": 3.0}),
        ("raw", ("poisson", 1.5), {"heredity": "strong"}),
        ("standard", ("bernoulli", PER_TERM), {"heredity": "weak", "max_size": 3}),
        ("standard shifted", ("betabinomial", 2.0, 5.0), {"always": ("age",)}),
    ],
)
def test_without_data_the_sampler_draws_from_the_prior(name, prior, constraints):
    """Rows of weight 1e-8 say nothing: models and coefficients must follow the prior.

    Holm at level 1e-6 a test.
    """
    scenario = Scenario("ward", name, prior, constraints)
    problem, case = load("ward")
    faint, given = 1e-8, coefficient_prior(name)
    if isinstance(given, rj.GPrior):
        # g (X'WX)^-1 stays what it was.
        given = rj.GPrior(COEFFICIENT_PRIORS[name]["g"] * faint)
    frame = case.frame.assign(y=case.frame["y"].astype(float), faint=faint)
    model = build(scenario).from_formula(
        case.formula,
        frame,
        coef_prior=given,
        model_prior=build(scenario).model_prior,
        weights="faint",
        **constraints,
    )
    results = fit(model, sampler="rjmcmc", draws=4000, burn_in=500, rng=7)
    exact = scenario.prior()
    seen = (exact > 0.02) & (exact < 1)
    names = [m for m, use in zip(problem.models, seen, strict=True) if use]
    found, error = (probabilities(results, "ward", key)[seen] for key in ("posterior", "mcse"))
    assert far_away(found, exact[seen], error, names) == {}
    share = inclusion(problem, exact)
    loose = (share > 0) & (share < 1)
    assert (
        far_away(
            terms_in_order(results, "ward")[loose],
            share[loose],
            terms_in_order(results, "ward", "mcse")[loose],
            [term.name for term, use in zip(problem.terms, loose, strict=True) if use],
        )
        == {}
    )
    # Each draw's coefficients, whitened by the prior of its model, are standard normal.
    gamma, b = results.draws.included, results.draws.coefficients
    white = np.zeros((*b.shape[:2], 2))
    for m in problem.models:
        here = (gamma == [digit == "1" for digit in m]).all(axis=2)
        if here.any():
            at = coordinates(problem, m, COEFFICIENT_PRIORS[name])
            c = np.linalg.solve(at.A, b[here][:, problem.places(m)].T).T
            z = (c - at.mu) @ np.linalg.cholesky(at.P)
            d = z.shape[1]
            white[here, 0] = z.sum(axis=1) / np.sqrt(d)
            white[here, 1] = stats.chi2.cdf((z**2).sum(axis=1), d)
    assert far_away(white.mean(axis=(0, 1)), [0.0, 0.5], batch_error(white), ["mean", "radius"]) == {}
    square = white**2
    assert far_away(square.mean(axis=(0, 1)), [1.0, 1 / 3], batch_error(square), ["spread", "radius"]) == {}


def test_the_prior_check_has_teeth():
    scenario = Scenario("ward", "4n joint", ("uniform",), {"max_size": 3})
    other = Scenario("ward", "4n joint", ("betabinomial", 1.0, 1.0), {"max_size": 3})
    results = fit(build(scenario), sampler="rjmcmc", draws=4000, burn_in=500, rng=7)
    assert sampler_faults(results, scenario) == {}
    assert sampler_faults(results, other) != {}
