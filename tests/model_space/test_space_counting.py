"""Counting and induced inclusion probabilities against brute force."""

import time
from itertools import combinations
from math import comb

import numpy as np
import pytest

from pyrjsel._errors import ParameterError
from pyrjsel.model_space import (
    Bernoulli,
    BetaBinomial,
    ModelSpace,
    TruncatedPoisson,
    Uniform,
    count_models,
    enumerate_models,
    prior_inclusion,
    prior_inclusion_of,
)
from pyrjsel.model_space.convolution import NotCountable
from pyrjsel.model_space.counting import _exact, _sampled


def brute_force(case):
    gamma = case.gamma([m for m in case.subsets() if case.allowed(m)])
    weight = np.exp(case.space.prior.logpmf(gamma, case.space.context))
    return len(gamma), weight @ gamma / weight.sum()


def test_exact_on_small_spaces(kit, prior_kind, constraint):
    for seed in range(6):
        case = kit.case(prior_kind, constraint, seed)
        n_models, expected = brute_force(case)
        assert count_models(case.space) == n_models
        found = _exact(case.space)
        assert found.n_models == n_models
        assert found.method == "exact"
        # At most 512 weights; logs of at most 50 lose two digits of sixteen.
        np.testing.assert_allclose(found.probability, expected, rtol=1e-12, atol=1e-14)
        assert found.expected_size == pytest.approx(expected.sum(), rel=1e-12)
        assert np.all(found.mcse == 0)
        by_enumeration = prior_inclusion_of(case.space, enumerate_models(case.space))
        assert by_enumeration.n_models == n_models
        np.testing.assert_allclose(by_enumeration.probability, expected, rtol=1e-12, atol=1e-14)


def priced(kit, n, prior, budget, rng, **options):
    costs = {f"x{j}": float(c) for j, c in enumerate(rng.choice([0.5, 1.0, 1.5, 2.5, 10.0], size=n))}
    return ModelSpace.build(
        kit.plain(n), prior=prior, costs=costs, budget=budget, n_observations=2500, **options
    )


def test_budget_on_many_terms_by_an_independent_recursion(kit):
    # Knapsack counting in plain Python: terms of equal prices, sizes and costs in half units.
    rng = np.random.default_rng(4)
    space = priced(kit, 83, BetaBinomial(), 10, rng)
    prices = [int(2 * c) for c in space.item_cost]

    def ways(prices):
        table = {(0, 0): 1}
        for price in prices:
            new = dict(table)
            for (k, c), count in table.items():
                if c + price <= 20:
                    new[k + 1, c + price] = new.get((k + 1, c + price), 0) + count
            table = new
        by_size = {}
        for (k, _), count in table.items():
            by_size[k] = by_size.get(k, 0) + count
        return by_size

    everything = ways(prices)
    assert count_models(space) == sum(everything.values())
    prior_of = np.exp(space.log_size)
    whole = sum(count * prior_of[k] for k, count in everything.items())
    found = prior_inclusion(space)
    assert found.n_models == sum(everything.values())
    for j in (0, 1, 2, 3, 40, 82):
        without = ways(prices[:j] + prices[j + 1 :])
        out = sum(count * prior_of[k] for k, count in without.items())
        # One minus a ratio of sums that are good to 1e-13.
        assert found.probability[j] == pytest.approx(1 - out / whole, abs=1e-12)


@pytest.mark.parametrize(
    "prior",
    [Uniform(), BetaBinomial(), TruncatedPoisson(5), Bernoulli(list(np.linspace(0.1, 0.9, 83)))],
    ids=repr,
)
def test_eighty_three_terms_are_quick(kit, prior):
    space = priced(kit, 83, prior, 10, np.random.default_rng(4))
    start = time.process_time()
    found = prior_inclusion(space)
    assert found.method == "exact"
    # Takes about 10 ms; the limit leaves room for a slow machine and still tells a different algorithm.
    assert time.process_time() - start < 0.5


def test_a_thousand_terms_without_a_budget(kit):
    start = time.process_time()
    space = ModelSpace.build(kit.plain(1000), prior=BetaBinomial(1, 9), n_observations=9)
    found = prior_inclusion(space)
    assert found.n_models == 2**1000
    # Logs of up to 700 hold 13 digits.
    np.testing.assert_allclose(found.probability, 0.1, rtol=1e-11)
    # Takes about 20 ms; see above.
    assert time.process_time() - start < 2.0


def test_different_odds_without_a_constraint_stay_as_they_are(kit):
    p = np.linspace(1e-6, 1 - 1e-6, 300)
    space = ModelSpace.build(kit.plain(300), prior=Bernoulli(list(p)), n_observations=9)
    np.testing.assert_allclose(prior_inclusion(space).probability, p, rtol=1e-12)


def test_expected_size_holds_before_constraints(kit):
    for prior in (
        Bernoulli(expected_size=7),
        BetaBinomial(expected_size=7),
        BetaBinomial(2, expected_size=7),
        TruncatedPoisson(expected_size=7),
    ):
        space = ModelSpace.build(kit.plain(60), prior=prior, n_observations=9)
        assert prior_inclusion(space).expected_size == pytest.approx(7, rel=1e-10)
        tight = ModelSpace.build(kit.plain(60), prior=prior, max_size=7, n_observations=9)
        assert prior_inclusion(tight).expected_size < 6.9


def test_largest_size_alone(kit):
    space = ModelSpace.build(kit.plain(200), prior=Uniform(), max_size=5, always="x3", n_observations=9)
    n = [comb(199, k) for k in range(5)]
    assert count_models(space) == sum(n)
    found = prior_inclusion(space)
    share = sum(k * ways for k, ways in enumerate(n)) / sum(n) / 199
    assert found.probability[3] == 1.0
    # Ratios of sums of counts, through their logs.
    np.testing.assert_allclose(np.delete(found.probability, 3), share, rtol=1e-12)


@pytest.mark.parametrize(
    ("prices", "budget"),
    [
        ([0.1] * 30, 0.3),
        ([0.1, 0.2, 0.7] * 10, 1.0),
        ([1 / 3, 2 / 3, 1.0] * 10, 2.0),
        ([1e-3, 2e-3, 5e-3] * 10, 7e-3),
        ([1e6, 2e6, 3e6] * 10, 4e6),
        ([0.0, 1.0, 7.0] * 6, 2.0),
        ([3, 5, 7] * 6, 10.5),
        ([1.0, 1e9, 12345.678] * 6, 3.0),
    ],
)
def test_units_of_cost_are_found(kit, prices, budget):
    costs = {f"x{j}": price for j, price in enumerate(prices)}
    space = ModelSpace.build(
        kit.plain(len(prices)), prior=BetaBinomial(), costs=costs, budget=budget, n_observations=9
    )
    exact, plain = _exact(space), prior_inclusion_of(space, enumerate_models(space))
    assert exact.n_models == plain.n_models == count_models(space)
    # Sums over up to 10^5 models.
    np.testing.assert_allclose(exact.probability, plain.probability, rtol=1e-11)


def test_what_is_paid_anyway_costs_nothing_more(kit):
    terms = kit.interactions([("a",), ("a", "b"), ("c",)], np.random.default_rng(0))
    space = ModelSpace.build(
        terms, prior=Uniform(), costs={"a": 1, "b": 0.5, "c": 0.5}, budget=1.5, always="a", n_observations=9
    )
    found = _exact(space)
    assert found.n_models == 3
    np.testing.assert_allclose(found.probability, [1.0, 1 / 3, 1 / 3], rtol=1e-14)


def test_prices_without_a_unit_are_counted_one_by_one(kit):
    rng = np.random.default_rng(5)
    costs = {f"x{j}": float(c) for j, c in enumerate(rng.uniform(0.5, 1.5, size=12))}
    space = ModelSpace.build(kit.plain(12), prior=Uniform(), costs=costs, budget=5, n_observations=9)
    with pytest.raises(NotCountable):
        _exact(space)
    gamma = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    good = gamma[gamma @ np.array(list(costs.values())) <= 5]
    assert count_models(space) == len(good)
    assert count_models(space, limit=len(good)) == len(good)
    assert count_models(space, limit=len(good) - 1) is None
    found = prior_inclusion(space)
    assert (found.method, found.n_models) == ("exact", len(good))
    np.testing.assert_allclose(found.probability, good.mean(axis=0), rtol=1e-12)


def test_what_cannot_be_counted_is_sampled_and_says_so(kit):
    rng = np.random.default_rng(6)
    costs = {f"x{j}": float(c) for j, c in enumerate(rng.uniform(0.5, 1.5, size=60))}
    space = ModelSpace.build(kit.plain(60), prior=Uniform(), costs=costs, budget=30, n_observations=9)
    assert count_models(space) is None
    found = prior_inclusion(space, 1)
    assert found.method == "sampled"
    assert found.n_models is None
    assert np.all(found.mcse > 0)
    again = prior_inclusion(space, np.random.default_rng(1))
    np.testing.assert_array_equal(found.probability, again.probability)
    # Rounded to tenths, the same space can be worked out: close to the sampled one.
    rounded = {name: round(cost, 1) for name, cost in costs.items()}
    near = prior_inclusion(
        ModelSpace.build(kit.plain(60), prior=Uniform(), costs=rounded, budget=30, n_observations=9)
    )
    assert near.method == "exact"
    # Rounding moves a price by up to 0.05 and a probability by about as much of its slope in price, 0.3.
    np.testing.assert_allclose(found.probability, near.probability, atol=0.04)


@pytest.mark.parametrize("constraint_index", [1, 5, 9, 13, 17, 21, 23])
def test_sampled_probabilities_meet_the_exact_ones(kit, constraint_index):
    constraint = kit.constraints[constraint_index]
    for kind in ("beta-binomial", "bernoulli by term"):
        case = kit.case(kind, constraint, 2)
        _, expected = brute_force(case)
        found = _sampled(case.space, np.random.default_rng(7))
        # Up to 9 terms in 14 cases at 5 standard errors of 3 degrees of freedom or more: a false alarm in up
        # to 1 % of seeds for each of them were they independent; the seed is fixed, and a wrong sampler
        # misses by far more.
        assert np.all(np.abs(found.probability - expected) <= 5 * found.mcse + 1e-12)
        assert np.all(found.mcse < 0.02)


@pytest.mark.parametrize("limit", [0, -3, 2.5, True])
def test_bad_limits_are_refused(kit, limit):
    space = ModelSpace.build(kit.plain(3), prior=Uniform(), n_observations=9)
    with pytest.raises(ParameterError, match="limit"):
        count_models(space, limit)


def test_bad_rng_is_refused(kit):
    space = ModelSpace.build(kit.plain(3), prior=Uniform(), n_observations=9)
    with pytest.raises(ParameterError, match="rng"):
        prior_inclusion(space, "seed")


def test_no_free_terms(kit):
    space = ModelSpace.build(kit.plain(2), prior=BetaBinomial(), always=("x0", "x1"), n_observations=9)
    found = prior_inclusion(space)
    assert found.n_models == 1
    np.testing.assert_array_equal(found.probability, [1.0, 1.0])
    assert found.expected_size == 2.0


def test_rare_terms_are_known_from_models_next_to_theirs(kit):
    """Under heredity nearly all of the prior is on no term: shares of states would err by a third."""
    names = [f"x{j}" for j in range(60)]
    sets = [(name,) for name in names] + [(a, b) for a, b in combinations(names, 2)]
    terms = kit.interactions(sets, np.random.default_rng(0))
    prior = BetaBinomial(by="size")
    space = ModelSpace.build(terms, prior=prior, heredity="strong", max_size=20, n_observations=9)
    exact, found = prior_inclusion(space), _sampled(space, np.random.default_rng(1))
    assert exact.method == "exact"
    main = slice(0, 60)
    # Errors of one walk are alike for all main effects: 5 of them are one chance in 1e-4, the seed is fixed.
    assert np.all(np.abs(found.probability - exact.probability)[main] <= 5 * found.mcse[main])
    assert np.all(found.mcse[main] < 0.02 * exact.probability[main])
