"""Detailed balance of every move of the compiled loop at any temperature, between all pairs of states."""

from itertools import product

import numpy as np
import pytest
from balance_oracle import (
    SPACES,
    TOLERANCE,
    Oracle,
    check_flips_and_swaps,
    check_updates,
    loop_at,
    models,
    moved,
    random_b,
)
from scipy import optimize
from scipy.special import betaln
from turns import by_turns, every

from pyrjsel.model_space import Bernoulli
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import full_model_proposal

# At another temperature the target is the posterior to the power t, and proposals have t times the precision.
OTHER = [0.3, 1.7]
SOME = ["free", "budget", "always", "strong heredity", "dependent", "one term"]
AT_ALL = [(1.0, space) for space in SPACES]


@pytest.mark.parametrize(("t", "space"), [*AT_ALL, *by_turns(OTHER, SOME)])
def test_flips_and_swaps(kit, coef_prior, space, t, family):
    names, options = SPACES[space]
    # Weights and offsets in one half of the problems, 0/1 responses without them in the other.
    rich = len(space) % 2 == 0
    options = {"weighted": rich, "with_offset": rich, "family": family, **options}
    case = kit.case(names, n=25, seed=8, coef_prior=coef_prior, **options)
    seen = check_flips_and_swaps(case, np.random.default_rng(9), t=t)
    # A loop over no pair would pass, too.
    if names:
        assert seen["birth"] > 0
        assert seen["birth"] == seen["death"]
    constrained = space not in ("free", "a big factor", "always", "one term", "no term")
    if constrained and (space != "dependent" or isinstance(coef_prior, GPrior)):
        assert seen["refused"] > 0
    if "heredity" not in space and space not in ("one term", "no term"):
        assert seen["swap"] > 0


FIXED = [(1.0, "budget"), (1.0, "always"), *product([1.0, *OTHER], ["free", "a big factor"])]


@pytest.mark.parametrize(("t", "space"), every(3, FIXED))
def test_flips_and_swaps_with_the_fixed_proposal(kit, coef_prior, space, t, family):
    names, options = SPACES[space]
    options = {"weighted": True, "family": family, **options}
    case = kit.case(names, n=40, seed=8, coef_prior=coef_prior, **options)
    seen = check_flips_and_swaps(case, np.random.default_rng(10), full_model_proposal(case.regression), t)
    assert seen["birth"] > 0


PLACES = [*AT_ALL, *product(OTHER, ["free", "dependent", "no term"])]


@pytest.mark.parametrize(("reach", "place"), by_turns([1.0, 0.25, 0.015625], PLACES), ids=str)
def test_updates_of_coefficients(kit, coef_prior, place, reach, family):
    t, space = place
    names, options = SPACES[space]
    options = {"weighted": True, "with_offset": True, "family": family, **options}
    case = kit.case(names, n=25, seed=8, coef_prior=coef_prior, **options)
    check_updates(case, np.random.default_rng(11), reach, t)


def test_densities_of_a_state(kit, coef_prior, family):
    options = {"weighted": True, "with_offset": True, "family": family}
    case = kit.case(["a", "f3", "b"], n=30, seed=5, coef_prior=coef_prior, **options)
    oracle, rng = Oracle(case), np.random.default_rng(12)
    for gamma in models(case):
        b = random_b(oracle, gamma, rng)
        log_likelihood, log_prior, log_model = loop_at(case, gamma, b).log_density()
        size = int(gamma.sum())
        assert log_model == pytest.approx(betaln(1 + size, 1 + 3 - size), rel=1e-13)
        total = log_likelihood + log_prior + log_model
        assert total == pytest.approx(oracle.log_target(gamma, b), abs=TOLERANCE, rel=0)


def test_asking_for_a_ratio_changes_nothing(kit):
    case = kit.case(["a", "f3", "b"], n=30, seed=5, coef_prior=Normal(0.7))
    oracle, rng = Oracle(case), np.random.default_rng(13)
    gamma = np.array([1, 0, 1], dtype=np.uint8)
    b = random_b(oracle, gamma, rng)
    loop = loop_at(case, gamma, b)
    before = loop.log_density()
    loop.log_ratio("birth", 1, block=np.array([0.2, -0.1]))
    loop.log_ratio("death", 0)
    loop.log_ratio("swap", 2, 1, np.array([0.3, 0.5]))
    loop.log_ratio("coefficients", 0, block=np.array([0.1, 0.2, 0.3]))
    assert loop.log_density() == before
    after = loop.state()
    np.testing.assert_array_equal(after[0], gamma)
    np.testing.assert_array_equal(after[1], b)
    assert np.all(loop.counts() == 0)
    with pytest.raises(ValueError, match="unknown move 'jump'"):
        loop.log_ratio("jump", 0)


def test_the_oracle_would_notice(kit, coef_prior):
    """Each part of the ratio matters by far more than the tolerance: none could be missing unseen."""
    case = kit.case(["a", "f3", "b"], n=25, seed=8, coef_prior=coef_prior, model_prior=Bernoulli(0.3))
    oracle, rng = Oracle(case), np.random.default_rng(14)
    gamma, new_gamma = np.array([1, 0, 1], dtype=np.uint8), np.array([1, 1, 0], dtype=np.uint8)
    b = random_b(oracle, gamma, rng)
    new_b = moved(oracle, b, 2, 1, rng)
    middle = b.copy()
    middle[oracle.block(2)] = 0.0
    parts = [
        oracle.block_proposal(gamma & new_gamma, middle, 1).logpdf(new_b[oracle.block(1)]),
        oracle.block_proposal(gamma & new_gamma, middle, 2).logpdf(b[oracle.block(2)]),
        oracle.log_target(new_gamma, new_b),
        oracle.log_target(gamma, b),
        case.space.log_prior(gamma),
    ]
    assert min(np.abs(parts)) > 1e-3


def test_the_full_models_proposal_is_its_posterior(kit, coef_prior):
    case = kit.case(["a", "f3", "b"], n=60, seed=2, coef_prior=coef_prior, weighted=True)
    oracle = Oracle(case)
    full = np.ones(3, dtype=np.uint8)
    columns = oracle.columns(full)

    def step(b):
        return oracle.newton(full, b, columns).mean - b

    found = optimize.root(step, np.zeros(columns.size), tol=1e-13)
    covariance = oracle.newton(full, found.x, columns).cov
    mean, factor = full_model_proposal(case.regression)
    # Newton's method ends with an error of the order of its last decrement, 1e-10, squared.
    np.testing.assert_allclose(mean, found.x, atol=1e-8)
    for j in range(3):
        block = oracle.block(j)
        own = factor[block, : block.size]
        np.testing.assert_allclose(
            np.linalg.inv(own @ own.T), covariance[np.ix_(block, block)], rtol=1e-6, atol=1e-12
        )


def test_the_density_of_a_state_has_no_temperature(kit, coef_prior):
    names, options = SPACES["free"]
    case = kit.case(names, n=25, seed=8, coef_prior=coef_prior, weighted=True, **options)
    oracle, rng = Oracle(case), np.random.default_rng(24)
    for gamma in models(case):
        b = random_b(oracle, gamma, rng)
        assert loop_at(case, gamma, b, t=0.3).log_density() == loop_at(case, gamma, b).log_density()


def test_the_temperature_matters(kit, coef_prior):
    """By far more than the tolerance: a loop that forgot it anywhere would be seen."""
    names, options = SPACES["free"]
    case = kit.case(names, n=25, seed=8, coef_prior=coef_prior, weighted=True, **options)
    oracle, rng = Oracle(case), np.random.default_rng(25)
    gamma = np.array([1, 0, 1], dtype=np.uint8)
    b = random_b(oracle, gamma, rng)
    for arguments in (
        ("birth", 1, -1, np.array([0.2, -0.1])),
        ("death", 0),
        ("swap", 2, 1, np.array([0.3, 0.5])),
        ("coefficients", 0, -1, np.array([0.1, 0.2, 0.3])),
    ):
        one, other = (loop_at(case, gamma, b, t=t).log_ratio(*arguments) for t in (1.0, 1.7))
        assert abs(one - other) > 1e-4, arguments[0]


@pytest.mark.parametrize("t", [0.0, -1.0, np.inf, np.nan])
def test_no_such_temperature(kit, t):
    case = kit.case(["a"], n=25, seed=8, coef_prior=Normal(1.0))
    loop = loop_at(case, np.zeros(1, dtype=np.uint8), np.zeros(2))
    with pytest.raises(ValueError, match="t must be positive and finite"):
        loop.set_temperature(t)
