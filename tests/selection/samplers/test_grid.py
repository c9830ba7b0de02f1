"""Every sampler under every pair of priors, constraints in turn, against the exact posterior.

Logistic and Poisson models against numerical integration of each model, linear ones against their
enumeration, which has no error. `gibbs` has a grid of its own in linear/test_gibbs_exact.py.

Inclusion probabilities and models of some mass are compared in units of the sampler's own errors, by
Holm's procedure at level 1e-8 a test: over the whole grid, of some two hundred tests, a false alarm has
probability below 1e-5.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest
from selection_cases import load
from selection_checks import FACTOR, Scenario, build, far_away, fit, sampler_faults, space_prior
from turns import every

import pyrjsel as rj

LEVEL = 1e-8
# Draws that leave inclusion probabilities an error of 0.02 at most.
WALK = {"draws": 1500, "burn_in": 300}
JUMPS = {"draws": 4000, "burn_in": 400}
POPULATION = {"draws": 3000, "burn_in": 500}
# Samplers of each family, and how long they run.
SAMPLERS = {
    "gaussian": {"collapsed": WALK},
    "binomial": {"rjmcmc": JUMPS, "population": POPULATION, "collapsed": WALK},
    "poisson": {"rjmcmc": JUMPS, "population": POPULATION, "collapsed": WALK},
}
PROBLEMS = {"gaussian": "ward", "binomial": "ward", "poisson": "visits"}
# Priors on coefficients by family: names of those of which numerical integrals are stored, or arguments.
LINEAR_PRIORS = {
    "g": {"coef_prior": rj.GPrior("n")},
    "hyper-g": {"coef_prior": rj.HyperG(3.0)},
    "hyper-g/n": {"coef_prior": rj.HyperGN(4.0)},
    "Zellner-Siow": {"coef_prior": rj.ZellnerSiow()},
    "normal": {"coef_prior": rj.Normal(0.5), "sigma_prior": rj.InverseGamma(3.0, 2.0)},
    "normal, shifted": {"coef_prior": rj.Normal(0.6, mean=0.2, standardize=True)},
}
COEFFICIENTS = {
    "gaussian": list(LINEAR_PRIORS),
    "binomial": [
        "g joint",
        "4n joint",
        "n flat",
        "n normal",
        "raw",
        "raw flat",
        "standard",
        "standard shifted",
    ],
    "poisson": ["4n joint", "n flat", "raw", "standard shifted"],
}
PER_TERM = {"stage": 0.2, "age": 0.5, "bp": 0.4, "smoke": 0.7, "age:smoke": 0.35}
PRICES = {"stage": 1.0, "age": 1.0, "bp": 1.2, "smoke": 1.3, "age:smoke": 1.1}
MODELS = [
    ("uniform",),
    ("bernoulli", PER_TERM),
    ("betabinomial", 1.0, 2.0),
    ("poisson", 1.5),
    ("cost", PRICES),
]
COSTS = {"stage": 2.0, "age": 1.0, "bp": 1.5, "smoke": 1.0}
CONSTRAINTS = [
    {},
    {"costs": COSTS, "budget": 3.0},
    {"heredity": "strong"},
    {"heredity": "weak", "max_size": 3},
    {"costs": COSTS, "budget": 4.0, "heredity": "weak", "always": ("bp",)},
]


def cells():
    """Yield family, sampler, priors and constraints; each prior meets each kind of constraint once.

    Those in which sampler and prior over models have the same number are in the default suite, the prior on
    coefficients changing from one family to the next: each sampler once a family.
    """
    for family, samplers in SAMPLERS.items():
        pairs = product(enumerate(COEFFICIENTS[family]), enumerate(MODELS))
        for (i, coefficients), (k, models) in pairs:
            constraint = CONSTRAINTS[(i + k) % len(CONSTRAINTS)]
            for number, sampler in enumerate(samplers):
                few = i == (number + len(family)) % len(COEFFICIENTS[family]) and k == number + 1
                marks = () if few else pytest.mark.statistical
                rules = "+".join(constraint) or "free"
                label = f"{family}|{sampler}|{coefficients}|{models[0]}|{rules}"
                yield pytest.param(family, sampler, coefficients, models, constraint, marks=marks, id=label)


@cache
def linear_data():
    """The columns of a logistic problem with a numeric response of modest effects."""
    case = load("ward")[1]
    rng = np.random.default_rng(8)
    x = case.frame
    y = 1.0 + 0.3 * x["age"] - 0.4 * x["smoke"] + 0.6 * (x["stage"] == "b") + rng.normal(size=len(x))
    return case.formula, x.assign(y=y)


def linear_model(coefficients, models, constraint):
    formula, data = linear_data()
    return rj.linear(
        formula, data, model_prior=space_prior(models), **LINEAR_PRIORS[coefficients], **constraint
    )


def linear_faults(model, results):
    """Return what lies too far from enumeration: inclusion, and models of two percent and more."""
    exact = fit(model, sampler="enumerate", rng=1)
    free = exact.inclusion["posterior"].between(0.005, 0.995)
    share = exact.models.set_index("terms")["posterior"]
    share = share[share.between(0.02, 0.995)]
    found = results.models.set_index("terms").reindex(share.index)
    return far_away(
        np.concatenate([results.inclusion["posterior"][free], found["posterior"]]),
        np.concatenate([exact.inclusion["posterior"][free], share]),
        FACTOR * np.concatenate([results.inclusion["mcse"][free], found["mcse"]]),
        [*exact.inclusion.index[free], *map(str, share.index)],
        level=LEVEL,
    )


@pytest.mark.parametrize(("family", "sampler", "coefficients", "models", "constraint"), every(2, [*cells()]))
def test_the_sampler_finds_the_posterior(family, sampler, coefficients, models, constraint):
    options = {"sampler": sampler, "rng": 71, **SAMPLERS[family][sampler]}
    if family == "gaussian":
        model = linear_model(coefficients, models, constraint)
        results = fit(model, **options)
        faults = linear_faults(model, results)
    else:
        scenario = Scenario(PROBLEMS[family], coefficients, models, constraint)
        results = fit(build(scenario), **options)
        faults = sampler_faults(results, scenario, level=LEVEL)
    assert faults == {}
    # A test against large errors shows nothing.
    assert np.nanmax(results.inclusion["mcse"]) < 0.02
    # Nor does one of a single model.
    assert results.inclusion["posterior"].between(0.02, 0.98).sum() >= 2
