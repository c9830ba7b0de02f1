"""Detailed balance of every single move at other temperatures than one.

The target is the posterior to the power t, and the proposals have t times the precision.
"""

import numpy as np
import pytest
from balance_oracle import (
    SPACES,
    Oracle,
    check_flips_and_swaps,
    check_updates,
    loop_at,
    models,
    random_b,
)
from turns import by_turns

from pyrjsel.selection.priors.coefficients import Normal
from pyrjsel.selection.samplers.reversible_jump.proposal import full_model_proposal

TEMPERATURES = [0.3, 1.7]  # at 1 the same cases are those of test_detailed_balance.py
SOME = ["free", "budget", "always", "strong heredity", "dependent", "one term"]


def make_case(kit, space, coef_prior, family="binomial"):
    names, options = SPACES[space]
    rich = len(space) % 2 == 0
    options = {"weighted": rich, "with_offset": rich, "family": family, **options}
    return kit.case(names, n=25, seed=8, coef_prior=coef_prior, **options)


@pytest.mark.parametrize(("t", "space"), by_turns(list(TEMPERATURES), list(SOME)))
def test_flips_and_swaps(kit, coef_prior, space, t, family):
    seen = check_flips_and_swaps(make_case(kit, space, coef_prior, family), np.random.default_rng(21), t=t)
    # A loop over no pair would pass, too.
    assert seen["birth"] > 0
    assert seen["birth"] == seen["death"]
    assert seen["swap"] > 0 or "heredity" in space or space == "one term"


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("space", ["free", "a big factor"])
def test_flips_and_swaps_with_the_fixed_proposal(kit, coef_prior, space, t):
    names, options = SPACES[space]
    case = kit.case(names, n=40, seed=8, coef_prior=coef_prior, weighted=True, **options)
    seen = check_flips_and_swaps(case, np.random.default_rng(22), full_model_proposal(case.regression), t)
    assert min(seen["birth"], seen["swap"]) > 0


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("reach", [1.0, 0.25, 0.015625])
@pytest.mark.parametrize("space", ["free", "dependent", "no term"])
def test_updates_of_coefficients(kit, coef_prior, space, reach, t):
    check_updates(make_case(kit, space, coef_prior), np.random.default_rng(23), reach, t)


def test_the_density_of_a_state_has_no_temperature(kit, coef_prior):
    case = make_case(kit, "free", coef_prior)
    oracle, rng = Oracle(case), np.random.default_rng(24)
    for gamma in models(case):
        b = random_b(oracle, gamma, rng)
        assert loop_at(case, gamma, b, t=0.3).log_density() == loop_at(case, gamma, b).log_density()


def test_the_temperature_matters(kit, coef_prior):
    """By far more than the tolerance: a loop that forgot it anywhere would be seen."""
    case = make_case(kit, "free", coef_prior)
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
