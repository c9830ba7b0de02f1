"""Priors by order under heredity: sums to one, the compiled loops, counting and draws against brute force."""

from dataclasses import replace
from itertools import chain, combinations
from math import comb

import numpy as np
import pytest
from scipy.special import betaln
from turns import by_turns

from pyrjsel._errors import ParameterError
from pyrjsel.model_space import (
    Bernoulli,
    BetaBinomial,
    CostAdjusted,
    ModelSpace,
    Space,
    TruncatedPoisson,
    Uniform,
    enumerate_models,
    prior_inclusion,
    sample_models,
    unpack,
)
from pyrjsel.model_space._space import debug_changes, debug_flips, metropolis
from pyrjsel.model_space.by_order import Lineage
from pyrjsel.model_space.order_sums import order_sums

ALL = [c for k in (1, 2, 3) for c in combinations("abc", k)]
DESIGNS = {
    "two-way": [c for k in (1, 2) for c in combinations("abcd", k)],
    "three-way": ALL,
    "holes": [("a",), ("b",), ("c",), ("a", "b"), ("a", "b", "c"), ("d", "e"), ("a", "d")],
    "no main effects": [("a", "b"), ("b", "c"), ("a", "b", "c"), ("d",)],
    "a main effect alone": [("a",), ("b",), ("c",), ("d",), ("a", "b")],
    "nothing below": [("a", "b", "c"), ("d",), ("e",)],
}
PRIORS = {
    "beta-binomial": BetaBinomial(1, 1),
    "beta-binomial 2": BetaBinomial(0.7, 3.5),
    "bernoulli": Bernoulli(0.3),
    "by term": None,
    "poisson": TruncatedPoisson(1.4),
}


def everything(n):
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.uint8)


def space_of(kit, design, prior, heredity="strong", **options):
    sets = DESIGNS[design] if isinstance(design, str) else design
    terms = [
        OrderedTerm(term, len(sets[j]))
        for j, term in enumerate(kit.interactions(sets, np.random.default_rng(0)))
    ]
    if prior is None:
        prior = Bernoulli({term.name: 0.1 + 0.07 * j for j, term in enumerate(terms)})
    return ModelSpace.build(terms, prior=prior, heredity=heredity, n_observations=9, **options)


class OrderedTerm:
    """A term of the kit that says its order."""

    def __init__(self, term, order):
        self._term, self.order = term, order

    def __getattr__(self, name):
        return getattr(self.__dict__["_term"], name)


def by_hand(space, sets, gamma):
    """The log probability of one model: a product over the orders, with sets and binomial coefficients."""
    inside = {frozenset(sets[j]) for j in np.flatnonzero(gamma)}
    known = [frozenset(each) for each in sets]
    prior, value = space.prior, 0.0
    for order in (1, 2, 3):
        opened, k = [], 0
        for j, own in enumerate(known):
            if len(own) != order or not space.free[j]:
                continue
            below = [other for other in known if other < own]
            near = [other for other in below if not any(other < more for more in below)]
            ready = [other in inside for other in near]
            if all(ready) if space.heredity == "strong" else (any(ready) or not ready):
                opened.append(j)
                k += gamma[j]
            elif gamma[j]:
                return -np.inf
        m = len(opened)
        if isinstance(prior, BetaBinomial):
            value += betaln(prior.a + k, prior.b + m - k) - betaln(prior.a, prior.b)
        elif isinstance(prior, TruncatedPoisson):
            rates = np.array([prior.mean**i / float(np.prod(np.arange(1.0, i + 1))) for i in range(m + 1)])
            value += np.log(rates[k] / rates.sum() / comb(m, k))
        else:
            p = prior.p
            for j in opened:
                own = p if isinstance(p, float) else dict(p)[space.names[j]]
                value += np.log(own if gamma[j] else 1.0 - own)
    return value


@pytest.mark.parametrize("heredity", ["strong", "weak"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("always", [(), ("d",), ("a:b", "a", "b")])
def test_priors_by_order_sum_to_one_and_are_what_they_say(kit, design, prior, heredity, always):
    sets = DESIGNS[design]
    names = {":".join(each) for each in sets}
    if not set(always) <= names:
        always = ()
    space = space_of(kit, design, PRIORS[prior], heredity, always=always)
    gamma = everything(len(sets))
    gamma = gamma[space.feasible(gamma)]
    if space.by_order is None:
        assert len(set(space.rank[space.free == 1])) == 1
        return
    # Sums of up to 1,024 numbers, and products of up to ten through their logs.
    assert np.exp(space.log_prior(gamma)).sum() == pytest.approx(1.0, abs=1e-12)
    hand = [by_hand(space, sets, row) for row in gamma]
    np.testing.assert_allclose(space.log_prior(gamma), hand, rtol=0, atol=1e-12)
    np.testing.assert_allclose(space.prior.logpmf(gamma, space.context), hand, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("heredity", "prior"), by_turns(["strong", "weak"], list(PRIORS)))
@pytest.mark.parametrize("design", DESIGNS)
def test_the_compiled_prior_follows_after_random_flips(kit, design, prior, heredity):
    for options in ({}, {"always": "d"} if ("d",) in DESIGNS[design] else {}, {"max_size": 4}):
        space = space_of(kit, design, PRIORS[prior], heredity, **options)
        space = replace(space, log_size=np.linspace(0.0, 3.0, space.log_size.size) ** 2)  # as in surrogates
        gamma = space.empty_model()
        flips = wandering(space, gamma, np.random.default_rng(3))
        _, trace = debug_flips(Space(space), gamma, flips)
        compared = 0
        for step, j in enumerate(flips):
            gamma[j] ^= 1
            if not space.feasible(gamma):
                continue
            # Sums of ten numbers of size ten.
            assert trace[step + 1, 4] == pytest.approx(space.log_prior(gamma), abs=1e-12)
            changes = debug_changes(Space(space), gamma)
            plain = space.log_prior(gamma ^ np.eye(space.n_terms, dtype=np.uint8)) - space.log_prior(gamma)
            np.testing.assert_allclose(changes, plain, rtol=0, atol=1e-12)
            compared += 1
        assert compared >= 20


def wandering(space, gamma, rng):
    """Random flips, feasible or not, most of the latter taken back."""
    gamma, flips = gamma.copy(), []
    while len(flips) < 80:
        j = int(rng.integers(space.n_terms))
        gamma[j] ^= 1
        flips.append(j)
        if not space.feasible(gamma) and rng.random() < 0.8:
            back = int(flips[-1])
            gamma[back] ^= 1
            flips.append(back)
        if not space.feasible(gamma) and rng.random() < 0.3:
            gone = np.flatnonzero(gamma != space.empty_model()).tolist()
            gamma[gone] ^= 1
            flips.extend(gone)
    return np.array(flips, dtype=np.int32)


def test_flips_there_and_back_leave_no_trace(kit):
    sets = [(name,) for name in "abcdefgh"] + list(combinations("abcdefgh", 2))
    odds = Bernoulli(list(np.random.default_rng(0).uniform(0.01, 0.99, len(sets))))
    for prior in (BetaBinomial(), odds):
        space = space_of(kit, sets, prior)
        flips = np.repeat(np.random.default_rng(2).integers(0, len(sets), size=500), 2).astype(np.int32)
        _, trace = debug_flips(Space(space), space.empty_model(), flips)
        np.testing.assert_array_equal(trace[::2], np.broadcast_to(trace[0], trace[::2].shape))


def test_long_models_are_followed_by_order(kit):
    names = [f"x{j}" for j in range(40)]
    sets = [(name,) for name in names] + list(combinations(names, 2))
    odds = Bernoulli(list(np.random.default_rng(0).uniform(0.01, 0.99, len(sets))))
    space = space_of(kit, sets, odds, "weak")
    assert space.n_terms > 256  # sums are no longer taken anew
    rng = np.random.default_rng(1)
    flips = np.concatenate([rng.permutation(40), rng.integers(0, len(sets), size=3000)]).astype(np.int32)
    gamma = space.empty_model()
    end, trace = debug_flips(Space(space), gamma, flips)
    plain = end.copy()
    np.add.at(gamma, flips, 1)
    np.testing.assert_array_equal(plain, gamma % 2)
    last = end @ space.log_odds + float(space.log_open(end[None])[0])
    # Some 10^5 additions of numbers below 5 to sums below 3,000: 10^5 * 2e-13 apart at most.
    assert trace[-1, 4] == pytest.approx(last, abs=2e-8)


def test_sizes_of_five_main_effects_and_their_pairs(kit):
    """Of a prior by size 0.472 lies on the empty and the full model; by order no size has more than 0.2."""
    sets = [(name,) for name in "abcde"] + list(combinations("abcde", 2))
    space = space_of(kit, sets, BetaBinomial(1, 1))
    gamma = unpack(enumerate_models(space), space.n_terms)
    share = np.bincount(gamma.sum(axis=1), weights=np.exp(space.log_prior(gamma)), minlength=16)
    hand = np.zeros(16)
    for k in range(6):
        for i in range(comb(k, 2) + 1):
            hand[k + i] += 1 / 6 / (comb(k, 2) + 1)
    np.testing.assert_allclose(share, hand, rtol=1e-12)
    old = space_of(kit, sets, BetaBinomial(1, 1, by="size"))
    mass = np.bincount(gamma.sum(axis=1), weights=np.exp(old.log_prior(gamma)), minlength=16)
    size = np.zeros(16)
    for k in range(6):
        for i in range(comb(k, 2) + 1):
            size[k + i] += comb(5, k) * comb(comb(k, 2), i) / comb(15, k + i)
    np.testing.assert_allclose(mass / mass.sum(), size / size.sum(), rtol=1e-12)
    assert (size[0] + size[15]) / size.sum() == pytest.approx(0.472, abs=5e-4)


def test_without_heredity_or_with_one_order_nothing_is_by_order(kit):
    assert space_of(kit, "two-way", BetaBinomial(), None).by_order is None
    assert space_of(kit, [("a",), ("b",)], BetaBinomial()).by_order is None
    mains = space_of(kit, "two-way", BetaBinomial(), always=("a", "b", "c", "d"))
    assert mains.by_order is None  # all that is free is of order 2, and open
    for prior in (
        Uniform(),
        BetaBinomial(by="size"),
        Bernoulli(0.2, by="size"),
        TruncatedPoisson(2, by="size"),
    ):
        assert space_of(kit, "two-way", prior).by_order is None
    costs = CostAdjusted(dict.fromkeys((":".join(each) for each in DESIGNS["two-way"]), 1.0))
    assert space_of(kit, "two-way", costs).by_order is None


def brute_force(space):
    gamma = everything(space.n_terms)
    gamma = gamma[space.feasible(gamma)]
    weight = np.exp(space.log_prior(gamma))
    weight /= weight.sum()
    return weight @ gamma, np.bincount(gamma.sum(axis=1), weights=weight, minlength=space.n_terms + 1)


OPTIONS = (
    {},
    {"max_size": 4},
    {"always": "a"},
    {"costs": {"a": 1.0, "b": 1.0, "c": 0.5, "d": 0.5}, "budget": 2.0},
)


@pytest.mark.parametrize("heredity", ["strong", "weak"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("design", ["two-way", "three-way", "a main effect alone"])
def test_sums_over_all_models_are_exact(kit, design, prior, heredity, monkeypatch):
    for options in OPTIONS:
        used = {v for each in DESIGNS[design] for v in each}
        if "costs" in options:
            options = options | {"costs": {k: v for k, v in options["costs"].items() if k in used}}
        space = space_of(kit, design, PRIORS[prior], heredity, **options)
        expected, sizes = brute_force(space)
        found, by_size = order_sums(space)
        # Sums of up to 1,024 weights, through their logs.
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(by_size, sizes, rtol=1e-11, atol=1e-13)
        both = prior_inclusion(space)
        assert both.method == "exact"
        np.testing.assert_allclose(both.probability, expected, rtol=1e-11, atol=1e-13)
        if len(options) == 0 and prior != "poisson":
            lineage = Lineage.of(space.context).inclusion(space.by_order, space.n_terms)
            np.testing.assert_allclose(lineage, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("prior", ["beta-binomial 2", "bernoulli", "poisson"])
def test_one_core_subset_stands_for_many(kit, prior, monkeypatch):
    """With the walk over all core subsets refused, those by numbers of classes give the same sums."""
    import pyrjsel.model_space.tied as tied

    sets = [(name,) for name in "abcde"] + list(combinations("abcde", 2))
    for left_out in ((), (("a", "b"),)):
        for options in ({}, {"max_size": 6}, {"costs": dict.fromkeys("abcde", 1.0), "budget": 3}):
            space = space_of(kit, [each for each in sets if each not in left_out], PRIORS[prior], **options)
            whole = order_sums(space)
            with monkeypatch.context() as patch:
                patch.setattr(tied, "_subsets", refuse)
                fewer = order_sums(space)
            for one, other in zip(whole, fewer, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def refuse(*_):
    from pyrjsel.model_space.convolution import NotCountable

    raise NotCountable("for a test")


def test_all_pairs_of_sixty_terms_are_exact_by_order(kit):
    names = [f"x{j}" for j in range(60)]
    sets = [(name,) for name in names] + list(combinations(names, 2))
    space = space_of(kit, sets, BetaBinomial())
    found = prior_inclusion(space)
    assert found.method == "exact"
    # A main effect: 1/2. A pair: both main effects, E[theta^2] = 1/3, and itself, 1/2.
    np.testing.assert_allclose(found.probability[:60], 1 / 2, rtol=1e-12)
    np.testing.assert_allclose(found.probability[60:], 1 / 6, rtol=1e-12)
    few = space_of(kit, sets, BetaBinomial(), max_size=20)
    main = mass = 0.0
    for k in range(21):
        share = (min(comb(k, 2), 20 - k) + 1) / 61 / (comb(k, 2) + 1)
        main, mass = main + share * k / 60, mass + share
    found = prior_inclusion(few)
    assert found.method == "exact"
    np.testing.assert_allclose(found.probability[:60], main / mass, rtol=1e-10)


@pytest.mark.parametrize("heredity", ["strong", "weak"])
@pytest.mark.parametrize("make", [Bernoulli, BetaBinomial, TruncatedPoisson])
@pytest.mark.parametrize("design", ["two-way", "three-way", "holes", "a main effect alone"])
def test_the_expected_size_is_that_of_the_whole_prior(kit, make, design, heredity):
    for size in (0.4, 2.0, 5.0 if len(DESIGNS[design]) > 5 else 4.0):
        space = space_of(kit, design, make(expected_size=size), heredity)
        expected, _ = brute_force(space)
        # Halving ends within rounding; sums of up to 1,024 weights.
        assert expected.sum() == pytest.approx(size, rel=1e-10)
        bound = space_of(kit, design, make(expected_size=size), heredity, max_size=3)
        gamma = everything(bound.n_terms)[bound.feasible(everything(bound.n_terms))]
        # Bounds condition the prior; they do not change what is solved for.
        np.testing.assert_allclose(bound.log_prior(gamma), space.log_prior(gamma), rtol=0, atol=1e-12)


def test_expected_sizes_that_cannot_be(kit):
    with pytest.raises(
        ParameterError, match=r"'expected_size' parameter of BetaBinomial must be in \(0, 10\)"
    ):
        space_of(kit, "two-way", BetaBinomial(expected_size=10))
    names = [f"x{j}" for j in range(17)]
    sets = [(name,) for name in names] + list(combinations(names, 2))
    with pytest.raises(
        ParameterError, match="'expected_size' parameter of TruncatedPoisson cannot be solved"
    ):
        space_of(kit, sets, TruncatedPoisson(expected_size=3))
    assert space_of(kit, sets, BetaBinomial(expected_size=3)).by_order is not None


@pytest.mark.parametrize(
    "make", [BetaBinomial, lambda **k: Bernoulli(0.2, **k), lambda **k: TruncatedPoisson(2, **k)]
)
def test_by_is_order_or_size(make):
    with pytest.raises(
        ParameterError, match=r"'by' parameter of .* must be .*'order'.*'size'.* Got 'weight'"
    ):
        make(by="weight")
    assert "by" not in repr(make())
    assert repr(make(by="size")).endswith(", by='size')")
    assert make() == make(by="order")
    assert make() != make(by="size")


def draws_agree(space, draws, weight):
    """Frequencies of the models that are expected 20 times and more lie within 6 standard errors."""
    gamma = unpack(enumerate_models(space), space.n_terms)
    place = {row.tobytes(): k for k, row in enumerate(gamma)}
    count = np.bincount([place[row.tobytes()] for row in draws], minlength=len(gamma))
    p = np.exp(space.log_prior(gamma))
    p /= p.sum()
    sure = p * len(draws) > 20
    error = np.sqrt(p * (1 - p) / (len(draws) * weight))
    assert sure.sum() >= 10
    assert np.all(np.abs(count / len(draws) - p)[sure] <= 6.0 * error[sure])


@pytest.mark.parametrize("heredity", ["strong", "weak"])
@pytest.mark.parametrize("prior", PRIORS)
def test_draws_follow_the_prior(kit, prior, heredity, monkeypatch):
    """False alarms: 10 runs, some 100 normal deviates beyond 6 in each: 2e-9 * 1,000 = 2e-6 in all."""
    import pyrjsel.model_space.sampling as sampling

    space = space_of(kit, "three-way", PRIORS[prior], heredity)
    bound = space_of(kit, "three-way", PRIORS[prior], heredity, max_size=4)
    monkeypatch.setattr(sampling, "ENUMERABLE", 1)
    for each in (space, bound):
        draws_agree(each, sample_models(each, 20_000, np.random.default_rng(5)), 1.0)


def test_walks_on_the_prior_follow_it(kit):
    """Thinned by 12 steps of 7 terms; a fifth of the draws count as independent. False alarms as above."""
    for prior in (BetaBinomial(1, 2), TruncatedPoisson(1.4)):
        for heredity in ("strong", "weak"):
            space = space_of(kit, "three-way", prior, heredity, max_size=5)
            rng = np.random.default_rng(4)
            draws, inside = metropolis(Space(space), space.empty_model(), rng, 20_000, 12)
            draws_agree(space, draws, 0.2)
            expected, _ = brute_force(space)
            np.testing.assert_allclose(inside, expected, rtol=0, atol=0.05)


def test_bounds_condition_the_prior(kit):
    free = space_of(kit, "two-way", BetaBinomial(1, 2))
    bound = space_of(kit, "two-way", BetaBinomial(1, 2), max_size=3)
    gamma = everything(free.n_terms)
    inside = gamma[bound.feasible(gamma)]
    np.testing.assert_array_equal(bound.log_prior(inside), free.log_prior(inside))
    outside = gamma[free.feasible(gamma) & ~bound.feasible(gamma)]
    assert np.all(bound.log_prior(outside) == -np.inf)
    assert len(list(chain(inside))) < len(gamma)
