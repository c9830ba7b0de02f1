"""ModelSpace in plain numpy against an oracle by sets of names."""

import pickle

import numpy as np
import pytest

from pyrjsel._errors import ParameterError, UnknownNameError
from pyrjsel.model_space import BetaBinomial, ModelSpace, Uniform

N_SEEDS = 3


def test_cost_feasibility_and_prior_follow_the_sets(kit, prior_kind, constraint):
    for seed in range(N_SEEDS):
        case = kit.case(prior_kind, constraint, seed)
        space = case.space
        models = case.subsets()
        gamma = case.gamma(models)
        # Sums of at most 12 prices in another order: a few ulp.
        np.testing.assert_allclose(space.cost(gamma), [case.paid(m) for m in models], rtol=1e-14, atol=1e-15)
        allowed = np.array([case.allowed(m) for m in models])
        np.testing.assert_array_equal(space.feasible(gamma), allowed)
        np.testing.assert_array_equal(space.size(gamma), [len(m) for m in models])
        value = space.log_prior(gamma)
        assert np.all(np.isneginf(value[~allowed]))
        # Up to a constant this is the prior's own law, which is written down independently of the tables.
        difference = value[allowed] - space.prior.logpmf(gamma[allowed], space.context)
        # Logs of at most about 50 in size, from gamma functions good to 1e-15.
        np.testing.assert_allclose(difference, difference[0], rtol=0, atol=1e-12)


def test_a_reason_is_given_exactly_for_infeasible_models(kit, constraint):
    case = kit.case("uniform", constraint, 5)
    for model in case.subsets():
        gamma = case.gamma([model])[0]
        reason = case.space.why_infeasible(gamma)
        assert (reason is None) == case.allowed(model)
        assert bool(case.space.feasible(gamma)) == case.allowed(model)


def test_one_model_gives_one_value(kit):
    space = ModelSpace.build(
        kit.plain(3), prior=Uniform(), costs={"x0": 1, "x1": 2, "x2": 4}, n_observations=9
    )
    assert space.cost([1, 0, 1]) == 5.0
    assert space.cost([[1, 0, 1]]).shape == (1,)
    assert space.size([True, True, False]) == 2
    assert space.log_prior([1, 1, 1]) == 0.0
    assert space.terms_of([1, 0, 1]) == ("x0", "x2")
    for wrong in ([1, 0], [1, 0, 2], [[[1, 0, 1]]], [0.5, 0, 0]):
        with pytest.raises(ParameterError, match="gamma"):
            space.cost(wrong)


def test_variables_are_paid_once_and_overrides_replace(kit):
    rng = np.random.default_rng(0)
    terms = kit.interactions([("age",), ("sbp",), ("age", "sbp"), ("age", "bun")], rng)
    costs = {"age": 1.0, "sbp": 2.0, "age:bun": 0.25, "unused": 9.0}
    space = ModelSpace.build(
        terms, prior=Uniform(), costs=costs, n_observations=9, data_columns=("age", "sbp", "bun", "unused")
    )
    assert space.cost([1, 0, 0, 0]) == 1.0
    assert space.cost([1, 1, 1, 0]) == 3.0  # the interaction adds nothing
    assert space.cost([0, 0, 1, 0]) == 3.0
    assert space.cost([0, 0, 0, 1]) == 0.25  # neither age nor bun is paid
    assert space.cost([1, 1, 1, 1]) == 3.25
    assert space.item_names == ("age", "sbp", "age:bun")
    np.testing.assert_array_equal(space.term_costs(), [1.0, 2.0, 3.0, 0.25])


def test_budget_has_a_relative_tolerance(kit):
    def feasible(budget):
        space = ModelSpace.build(
            kit.plain(3),
            prior=Uniform(),
            costs={"x0": 0.1, "x1": 0.2, "x2": 1.0},
            budget=budget,
            n_observations=9,
        )
        return bool(space.feasible([1, 1, 0]))

    assert 0.1 + 0.2 > 0.3  # the sum is rounded up, and must fit all the same
    assert feasible(0.3)
    assert feasible(0.3 * (1 - 0.9e-9))
    assert not feasible(0.3 * (1 - 1.1e-9))


def test_budget_zero_leaves_what_is_free_of_charge(kit):
    space = ModelSpace.build(
        kit.plain(3), prior=Uniform(), costs={"x0": 0, "x1": 0.5, "x2": 0}, budget=0, n_observations=9
    )
    np.testing.assert_array_equal(space.feasible([[1, 0, 1], [0, 1, 0]]), [True, False])


def test_heredity_rules(kit):
    rng = np.random.default_rng(0)
    sets = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("a", "b", "c")]
    terms = kit.interactions(sets, rng)
    strong = ModelSpace.build(terms, prior=Uniform(), heredity="strong", n_observations=9)
    weak = ModelSpace.build(terms, prior=Uniform(), heredity="weak", n_observations=9)
    free = ModelSpace.build(terms, prior=Uniform(), n_observations=9)
    only_near = [1, 0, 0, 1, 0, 1]  # a, a:b, a:b:c
    assert not strong.feasible(only_near)
    assert weak.feasible(only_near)
    assert free.feasible([0, 0, 0, 0, 0, 1])
    assert not weak.feasible([1, 1, 1, 0, 0, 1])  # main effects alone are not near enough for a:b:c
    assert strong.feasible([1, 1, 1, 1, 1, 1])
    assert "a:b:c" in weak.why_infeasible([1, 1, 1, 0, 0, 1])
    assert list(strong.parents_of(5)) == [3, 4]  # which ask for the others
    assert list(weak.parents_of(5)) == [3, 4]
    assert list(weak.children_of(0)) == [3, 4]
    assert len(free.parent) == 0
    assert len(free.child) == 0


def test_order_puts_parents_first(kit, constraint):
    for seed in range(6):
        space = kit.case("uniform", constraint, seed).space
        place = np.argsort(space.order)
        assert sorted(space.order) == list(range(space.n_terms))
        for term in range(space.n_terms):
            assert all(place[parent] < place[term] for parent in space.parents_of(term))


def test_space_is_picklable_and_read_only(kit):
    case = kit.case("bernoulli by term", (True, "strong", True, True), 2)
    again = pickle.loads(pickle.dumps(case.space))
    gamma = case.gamma(case.subsets())
    np.testing.assert_array_equal(again.log_prior(gamma), case.space.log_prior(gamma))
    with pytest.raises(ValueError, match="read-only"):
        case.space.log_odds[0] = 1.0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"heredity": "Strong"}, "heredity"),
        ({"heredity": True}, "heredity"),
        ({"max_size": -1}, "max_size"),
        ({"max_size": 2.0}, "max_size"),
        ({"max_size": True}, "max_size"),
        ({"always": 3}, "always"),
        ({"always": [0]}, "always"),
        ({"budget": 1}, "needs 'costs'"),
        ({"costs": {"x0": 1, "x1": 1, "x2": 1}, "budget": -1}, "budget"),
        ({"costs": {"x0": 1, "x1": 1, "x2": 1}, "budget": float("nan")}, "budget"),
        ({"costs": {"x0": 1, "x1": 1, "x2": 1}, "budget": float("inf")}, "budget"),
        ({"costs": {"x0": 1, "x1": 1, "x2": 1}, "budget": "3"}, "budget"),
        ({"costs": {"x0": 1, "x1": 1, "x2": 1}, "budget": True}, "budget"),
        ({"prior": Uniform}, "model_prior"),
        ({"prior": None}, "model_prior"),
        ({"prior": "uniform"}, "model_prior"),
        ({"n_observations": 0}, "n_observations"),
        ({"always": ("x0", "x1"), "max_size": 1}, "break a constraint: it has 2 terms, but max_size is 1"),
        (
            {"always": "x0", "costs": {"x0": 3, "x1": 1, "x2": 1}, "budget": 2},
            "it costs 3, but the budget is 2",
        ),
    ],
)
def test_bad_parameters_are_named(kit, options, match):
    arguments = {"prior": Uniform(), "n_observations": 9} | options
    with pytest.raises(ParameterError, match=match):
        ModelSpace.build(kit.plain(3), **arguments)


def test_always_must_satisfy_heredity(kit):
    terms = kit.interactions([("a",), ("b",), ("a", "b")], np.random.default_rng(0))
    with pytest.raises(ParameterError, match="strong heredity requires all of a, b with a:b"):
        ModelSpace.build(terms, prior=Uniform(), always=("a", "a:b"), heredity="strong", n_observations=9)
    space = ModelSpace.build(terms, prior=Uniform(), always=("a", "a:b"), heredity="weak", n_observations=9)
    assert list(space.empty_model()) == [1, 0, 1]


def test_unknown_names_come_with_a_guess(kit):
    with pytest.raises(UnknownNameError, match="Did you mean 'x0'"):
        ModelSpace.build(kit.plain(3), prior=Uniform(), always="x00", n_observations=9)


def test_always_is_one_name_or_several(kit):
    one = ModelSpace.build(kit.plain(3), prior=BetaBinomial(), always="x1", n_observations=9)
    several = ModelSpace.build(kit.plain(3), prior=BetaBinomial(), always=["x1"], n_observations=9)
    np.testing.assert_array_equal(one.free, [1, 0, 1])
    np.testing.assert_array_equal(one.free, several.free)
    assert len(one.log_size) == 3
    assert not one.feasible([1, 0, 1])


def test_no_terms_at_all():
    space = ModelSpace.build([], prior=BetaBinomial(), n_observations=9)
    assert space.n_terms == 0
    assert space.log_prior(np.zeros((1, 0), dtype=np.uint8)).shape == (1,)
