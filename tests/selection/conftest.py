"""Makers of small problems, priors and families that tests ask for by name, and fits for tests of results."""

import glm_kit
import linear_kit as gaussian_kit
import pytest
from births_fits import COSTS, FORMULA

import pyrjsel as rj

# Values of parameters that tests run with where they do not name their own.
CASES = {
    "any_prior": gaussian_kit.PRIORS,
    "closed_prior": gaussian_kit.CLOSED,
    "coef_prior": glm_kit.COEF_PRIORS,
    "family": {name: name for name in glm_kit.LIKELIHOODS},
}

# A loop does not know which family or prior it has: every prior with one family, by turns.
TURNS = ["binomial", "poisson", "probit", "negbin", "binomial", "cloglog", "gamma"]
PAIRS = [
    pytest.param(
        prior,
        family,
        id=f"{name}-{family}",
        marks=pytest.mark.statistical if TURNS[k % len(TURNS)] != family else (),
    )
    for family in glm_kit.LIKELIHOODS
    for k, (name, prior) in enumerate(glm_kit.COEF_PRIORS.items())
]


@pytest.fixture(scope="session")
def kit():
    """Makers of problems of generalised linear models."""
    return glm_kit.KIT


@pytest.fixture(scope="session")
def linear_kit():
    """Makers of gaussian problems, and priors."""
    return gaussian_kit.KIT


def pytest_generate_tests(metafunc):
    """Run tests with every prior or family."""
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    own = {part.strip() for each in named for part in (each.split(",") if isinstance(each, str) else each)}
    wanted = [name for name in CASES if name in metafunc.fixturenames and name not in own]
    if {"coef_prior", "family"} <= set(wanted):
        wanted = [name for name in wanted if name not in ("coef_prior", "family")]
        metafunc.parametrize(("coef_prior", "family"), PAIRS)
    for name in wanted:
        metafunc.parametrize(name, CASES[name].values(), ids=CASES[name])


@pytest.fixture(scope="session")
def births():
    """The births of the data set of that name."""
    return rj.datasets.birthwt().data


@pytest.fixture(scope="session")
def model(births):
    """A model with a factor and costs."""
    return rj.logit(FORMULA, births, costs=COSTS)


@pytest.fixture(scope="session")
def enumerated(model):
    """Its enumeration."""
    return model.fit(rng=1, progress=False)


@pytest.fixture(scope="session")
def walked(model):
    """Chains over it."""
    return model.fit(sampler="rjmcmc", draws=2000, chains=3, rng=2, progress=False)


@pytest.fixture(params=["enumerated", "walked"])
def results(request):
    """Results of both kinds."""
    return request.getfixturevalue(request.param)
