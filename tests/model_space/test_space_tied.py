"""Terms that are tied to one another: going through the core only, against going through everything."""

import time
from itertools import combinations
from math import comb

import numpy as np
import pytest

from pyrjsel.model_space import (
    Bernoulli,
    BetaBinomial,
    ModelSpace,
    Space,
    Uniform,
    count_models,
    prior_inclusion,
)
from pyrjsel.model_space.components import cost_grid, split
from pyrjsel.model_space.convolution import NotCountable
from pyrjsel.model_space.counting import _exact
from pyrjsel.model_space.tied import Core, _core_and_leaves, _joined_leaves, core_table, full_table


def factorial_terms(kit, letters, order):
    sets = [c for k in range(1, order + 1) for c in combinations(letters, k)]
    return kit.interactions(sets, np.random.default_rng(0))


def spaces(kit):
    letters = "abcd"
    two = factorial_terms(kit, letters, 2)
    three = factorial_terms(kit, letters[:3], 3)
    prices = {"a": 0.5, "b": 1.0, "c": 1.0, "d": 2.5}
    for terms in (two, three):
        for heredity in ("strong", "weak"):
            for prior in (Uniform(), Bernoulli(0.3), BetaBinomial(1, 4)):
                for always in ((), "b"):
                    for options in ({}, {"max_size": 4}):
                        yield ModelSpace.build(
                            terms, prior=prior, heredity=heredity, always=always, n_observations=9, **options
                        )
    for prior in (Uniform(), Bernoulli(0.3)):
        for always in ((), "b"):
            yield ModelSpace.build(
                two, prior=prior, heredity="strong", costs=prices, budget=3, always=always, n_observations=9
            )


def test_both_ways_give_the_same_table(kit):
    compared = 0
    for space in spaces(kit):
        compiled, grid = Space(space), cost_grid(space)
        terms = space.order[space.free[space.order] == 1].astype(np.int64)
        most = space.max_size - int((space.free == 0).sum())
        full, core = full_table(space, compiled, grid, terms), core_table(space, compiled, grid, terms, most)
        np.testing.assert_array_equal(core.size, full.size)
        np.testing.assert_array_equal(core.cost, full.cost)
        assert core.count == full.count
        # Sums of at most 1,024 weights, through their logs.
        np.testing.assert_allclose(core.log_weight, full.log_weight, rtol=0, atol=1e-12)
        column = [int(np.flatnonzero(core.terms == term)[0]) for term in terms]
        np.testing.assert_allclose(core.share[:, column], full.share, rtol=1e-12, atol=1e-14)
        compared += 1
    assert compared == 52


def test_leaves_that_differ_are_not_taken_together(kit):
    terms = factorial_terms(kit, "abc", 2)
    free = {"prior": Uniform(), "heredity": "strong", "n_observations": 9}
    by_term = Bernoulli({term.name: 0.1 + 0.1 * j for j, term in enumerate(terms)})
    own_price = {"a": 1.0, "b": 1.0, "c": 1.0, "a:b": 1.0}
    for options in (
        free | {"prior": by_term},
        free | {"costs": own_price, "budget": 3},
        # Under weak heredity the other variable may still have to be paid.
        free | {"costs": {"a": 1.0, "b": 1.0, "c": 1.0}, "budget": 2, "heredity": "weak"},
        free | {"heredity": None},
    ):
        space = ModelSpace.build(terms, **options)
        order = space.order.astype(np.int64)
        with pytest.raises(NotCountable):
            core_table(space, Space(space), cost_grid(space), order, space.n_terms)


def test_a_large_factorial_space_is_counted_exactly(kit):
    space = ModelSpace.build(
        factorial_terms(kit, "abcdefghij", 2),
        prior=BetaBinomial(by="size"),
        heredity="strong",
        n_observations=9,
    )
    start = time.process_time()
    # k main effects leave their k (k - 1) / 2 interactions open.
    assert count_models(space) == sum(comb(10, k) * 2 ** comb(k, 2) for k in range(11))
    found = prior_inclusion(space)
    assert found.method == "exact"
    prior = np.exp(space.log_size)
    whole = main = 0.0
    for k in range(11):
        mass = sum(comb(comb(k, 2), i) * prior[k + i] for i in range(comb(k, 2) + 1))
        whole += comb(10, k) * mass
        main += comb(9, k - 1) * mass if k else 0.0
    # Sums of 300 products that are good to 1e-13.
    np.testing.assert_allclose(found.probability[:10], main / whole, rtol=1e-11)
    np.testing.assert_allclose(found.probability[10:], found.probability[10], rtol=1e-11)
    assert found.probability[10] < found.probability[0]
    # Takes well under half a second; sampling it would take longer and be inexact.
    assert time.process_time() - start < 3.0


def test_weak_heredity_with_three_factors(kit):
    terms = factorial_terms(kit, "abcd", 3)
    space = ModelSpace.build(terms, prior=Uniform(), heredity="weak", n_observations=9)
    gamma = ((np.arange(2**14)[:, None] >> np.arange(14)) & 1).astype(np.uint8)
    good = gamma[space.feasible(gamma)]
    found = _exact(space)
    assert found.n_models == len(good)
    np.testing.assert_allclose(found.probability, good.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("always", [(), ("a",)])
@pytest.mark.parametrize("heredity", [None, "weak", "strong"])
@pytest.mark.parametrize("priced", [False, True])
def test_terms_are_split_by_what_ties_them(kit, always, heredity, priced):
    """Components by merging sets in pairs: an item that counts, heredity that is not settled, a group."""
    terms = factorial_terms(kit, "abcdef", 2)
    prices = {"costs": dict.fromkeys("abcdef", 0.0) | {"b": 1.0, "c": 1.0}, "budget": 1.5} if priced else {}
    space = ModelSpace.build(
        terms, prior=Uniform(), heredity=heredity, always=always, n_observations=9, **prices
    )
    group, grid = np.array([4, 5]), cost_grid(space)
    free = [j for j in space.order.tolist() if space.free[j]]
    sets = [{j} for j in free]

    def merge(ones):
        hit = [part for part in sets if part & set(ones)]
        sets[:] = [part for part in sets if part not in hit] + ([set().union(*hit)] if hit else [])

    merge(group.tolist())
    for item in np.flatnonzero(grid.item):
        merge([j for j in free if item in space.items_of(j)])
    for j in free:
        parents = space.parents_of(j)
        if not (heredity == "weak" and (space.free[parents] == 0).any()):
            for parent in parents[space.free[parents] == 1].tolist():
                merge([j, parent])
    found, part = split(space, grid, [group])
    assert found.tolist() == free
    assert {frozenset(found[part == k].tolist()) for k in range(part.max() + 1)} == set(map(frozenset, sets))
    firsts = [int(np.flatnonzero(part == k)[0]) for k in range(part.max() + 1)]
    assert firsts == sorted(firsts)


def partly_tied(kit):
    """Spaces whose core falls into classes: all alike, by price, by what is missing, and hardly at all."""
    letters = "abcde"
    pairs = list(combinations(letters, 2))
    singles = [(letter,) for letter in letters]
    prices = {"a": 1.0, "b": 1.0, "c": 0.5, "d": 0.5, "e": 2.0}
    rng = np.random.default_rng(0)
    for missing in ([], [("a", "b")], [("a", "b"), ("c", "d")], [("a", "b"), ("a", "c"), ("d", "e")]):
        terms = kit.interactions(singles + [pair for pair in pairs if pair not in missing], rng)
        for heredity in ("strong", "weak"):
            for options in ({}, {"max_size": 6}, {"always": "a"}, {"prior": Bernoulli(0.3)}):
                yield ModelSpace.build(
                    terms,
                    **{"prior": BetaBinomial(1, 4), "heredity": heredity, "n_observations": 9} | options,
                )
        yield ModelSpace.build(
            terms, prior=Uniform(), heredity="strong", costs=prices, budget=3, n_observations=9
        )
    odds = Bernoulli([0.2, 0.2, 0.4, 0.2, 0.4] + [0.3] * len(pairs))
    yield ModelSpace.build(
        kit.interactions(singles + pairs, rng), prior=odds, heredity="strong", n_observations=9
    )
    three = [*singles[:4], *combinations("abcd", 2), ("a", "b", "c"), ("b", "c", "d")]
    yield ModelSpace.build(
        kit.interactions(three, rng), prior=BetaBinomial(1, 2), heredity="strong", n_observations=9
    )


def test_one_subset_stands_for_those_of_interchangeable_terms(kit):
    fewer = compared = 0
    for space in partly_tied(kit):
        compiled, grid = Space(space), cost_grid(space)
        terms = space.order[space.free[space.order] == 1].astype(np.int64)
        most = space.max_size - int((space.free == 0).sum())
        full = full_table(space, compiled, grid, terms)
        try:
            core, leaves = _core_and_leaves(space, grid, terms)
        except NotCountable:
            continue
        subsets = Core.by_number(space, grid, core, leaves)
        found = _joined_leaves(space, grid, core, leaves, subsets, most)
        assert found.count == full.count
        # Sums of up to 10^4 weights, through their logs.
        np.testing.assert_allclose(found.log_weight, full.log_weight, rtol=0, atol=1e-11)
        column = [int(np.flatnonzero(found.terms == term)[0]) for term in terms]
        np.testing.assert_allclose(found.share[:, column], full.share, rtol=1e-11, atol=1e-13)
        compared += 1
        fewer += len(subsets.size) < len(Core.plain(space, compiled, grid, core).size)
    assert compared >= 35
    assert fewer >= 30


def test_all_pairs_of_sixty_terms_are_exact(kit):
    """As in ``y ~ (.)**2`` with strong heredity: by hand, k main effects leave k (k - 1) / 2 pairs open."""
    names = [f"x{j}" for j in range(60)]
    sets = [(name,) for name in names] + list(combinations(names, 2))
    space = ModelSpace.build(
        kit.interactions(sets, np.random.default_rng(0)),
        prior=BetaBinomial(by="size"),
        heredity="strong",
        max_size=20,
        n_observations=9,
    )
    ways = [[comb(60, k) * comb(comb(k, 2), i) for i in range(21 - k)] for k in range(21)]
    assert count_models(space) == sum(map(sum, ways))
    found = prior_inclusion(space)
    assert found.method == "exact"
    prior = np.exp(space.log_size)
    mass = np.array([sum(n * prior[k + i] for i, n in enumerate(row)) for k, row in enumerate(ways)])
    # Sums of 200 products that are good to 1e-13.
    np.testing.assert_allclose(found.probability[:60], np.arange(21) @ mass / mass.sum() / 60, rtol=1e-11)
    assert np.ptp(found.probability[60:]) <= 1e-11 * found.probability[60]
