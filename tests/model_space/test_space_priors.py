"""Priors over models: their laws, their solved parameters, and what they refuse."""

from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import comb, expit
from scipy.stats import betabinom, poisson

from pyrjsel._errors import ParameterError, UnknownNameError
from pyrjsel.model_space import (
    Bernoulli,
    BetaBinomial,
    CostAdjusted,
    PriorContext,
    TruncatedPoisson,
    Uniform,
)

NAMES = ("a", "b", "c", "d", "e", "f")
CONTEXT = PriorContext(NAMES, (True, True, False, True, True, True), (1, 2, 1, 3, 1, 1), 40.0)
N_FREE = 5

PRIORS = [
    Uniform(),
    Bernoulli(0.3),
    Bernoulli({"a": 0.1, "b": 0.9, "d": 0.5, "e": 0.25, "f": 1e-6}),
    Bernoulli([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    Bernoulli(expected_size=2.0),
    BetaBinomial(),
    BetaBinomial(2.0, 7.0),
    BetaBinomial(2.0, expected_size=1.25),
    TruncatedPoisson(3.0),
    TruncatedPoisson(expected_size=0.01),
    TruncatedPoisson(expected_size=4.99),
    CostAdjusted({"a": 0.5, "b": 1.0, "d": 2.0, "e": 0.5, "f": 0.75}),
    CostAdjusted({"a": 0.5, "b": 1.0, "d": 2.0, "e": 0.5, "f": 0.75}, baseline=0.8),
]


def all_models():
    """All models that hold the third term, which is not free."""
    rows = [(*row[:2], 1, *row[2:]) for row in product((0, 1), repeat=N_FREE)]
    return np.array(rows, dtype=np.uint8)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_tables_and_law_agree_and_sum_to_one(prior):
    gamma = all_models()
    size, odds = prior.tables(CONTEXT)
    assert size.shape == (N_FREE + 1,)
    assert odds.shape == (6,)
    assert odds[2] == 0.0
    law = prior.logpmf(gamma, CONTEXT)
    # 32 terms of at most 1.
    assert np.exp(law).sum() == pytest.approx(1.0, abs=1e-13)
    free = gamma[:, CONTEXT.free_mask]
    from_tables = size[free.sum(axis=1)] + free @ odds[CONTEXT.free_mask]
    # Logs of at most about 60.
    np.testing.assert_allclose(law - from_tables, law[0] - from_tables[0], rtol=0, atol=2e-13)


def size_law(prior):
    gamma = all_models()
    k = gamma[:, CONTEXT.free_mask].sum(axis=1)
    return np.bincount(k, weights=np.exp(prior.logpmf(gamma, CONTEXT)), minlength=N_FREE + 1)


def test_sizes_follow_the_named_laws():
    k = np.arange(N_FREE + 1)
    # scipy's laws are good to about 1e-13 here.
    np.testing.assert_allclose(size_law(BetaBinomial(2, 7)), betabinom.pmf(k, N_FREE, 2, 7), rtol=1e-11)
    np.testing.assert_allclose(size_law(BetaBinomial()), 1 / 6, rtol=1e-12)
    cut = poisson.pmf(k, 3.0) / poisson.cdf(N_FREE, 3.0)
    np.testing.assert_allclose(size_law(TruncatedPoisson(3)), cut, rtol=1e-11)
    np.testing.assert_allclose(size_law(Uniform()), comb(N_FREE, k) / 32, rtol=1e-12)


def test_beta_binomial_table_is_the_probability_of_one_subset():
    k = np.arange(N_FREE + 1)
    size, _ = BetaBinomial(2, 7).tables(CONTEXT)
    np.testing.assert_allclose(np.exp(size), betabinom.pmf(k, N_FREE, 2, 7) / comb(N_FREE, k), rtol=1e-11)


@pytest.mark.parametrize("expected", [1e-6, 0.01, 1.0, 2.5, 4.0, 4.99])
@pytest.mark.parametrize(
    "make",
    [
        lambda size: Bernoulli(expected_size=size),
        lambda size: BetaBinomial(expected_size=size),
        lambda size: BetaBinomial(3.5, expected_size=size),
        lambda size: TruncatedPoisson(expected_size=size),
    ],
)
def test_expected_size_is_met(make, expected):
    # Lambda is solved for to 1e-14 relative, and grows to about 500 at 4.99.
    assert size_law(make(expected)) @ np.arange(N_FREE + 1) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n_free", [1, 2, 1000])
@pytest.mark.parametrize("part", [0.001, 0.5, 0.999])
def test_expected_size_of_a_truncated_poisson_is_solved_at_any_length(n_free, part):
    context = PriorContext(tuple(f"x{j}" for j in range(n_free)), (True,) * n_free, (1,) * n_free, 10.0)
    size, _ = TruncatedPoisson(expected_size=part * n_free).tables(context)
    k = np.arange(n_free + 1.0)
    mass = size + np.concatenate([[0.0], np.cumsum(np.log(n_free + 1 - k[1:]) - np.log(k[1:]))])
    mass = np.exp(mass - mass.max())
    # Logs of up to 6,000 lose 12 digits of 16 in the exponent only: 1e-9 remains.
    assert mass @ k / mass.sum() == pytest.approx(part * n_free, rel=1e-8)


def test_cost_adjusted_odds_follow_the_formula():
    _, odds = CostAdjusted({"a": 0.5, "b": 1.0, "c": 0.1, "d": 2.0, "e": 0.5, "f": 0.75}).tables(CONTEXT)
    # The cheap term c is in every model: it is not the yardstick.
    expected = [0.0, -0.5 * 2 * 1 * np.log(40), 0.0, -0.5 * 3 * 3 * np.log(40), 0.0, -0.5 * 0.5 * np.log(40)]
    np.testing.assert_allclose(odds, expected, rtol=1e-14, atol=0)
    _, odds = CostAdjusted({"a": 0.5, "b": 1, "d": 2, "e": 4, "f": 1}, baseline=1).tables(CONTEXT)
    # A term that is cheaper than the baseline is favoured.
    expected = np.log(40) * -0.5 * np.array([-0.5, 0, 0, 3 * 1, 3, 0])
    np.testing.assert_allclose(odds, expected, rtol=1e-14, atol=0)


def test_cost_adjusted_takes_a_series():
    prior = CostAdjusted(pd.Series({"a": 0.5, "b": 1.0}))
    assert prior == CostAdjusted({"a": 0.5, "b": 1.0})
    with pytest.raises(ParameterError, match="once"):
        CostAdjusted(pd.Series([0.5, 1.0], index=["a", "a"]))


def test_bernoulli_probabilities_become_odds():
    _, odds = Bernoulli([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).tables(CONTEXT)
    np.testing.assert_allclose(expit(odds), [0.1, 0.2, 0.5, 0.4, 0.5, 0.6], rtol=1e-14)
    _, odds = Bernoulli(expected_size=2).tables(CONTEXT)
    np.testing.assert_allclose(expit(odds), [0.4, 0.4, 0.5, 0.4, 0.4, 0.4], rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (Bernoulli, "needs 'p' or 'expected_size'"),
        (lambda: Bernoulli(0.5, expected_size=2), "not both"),
        (lambda: Bernoulli(0), "'p' parameter"),
        (lambda: Bernoulli(1), "'p' parameter"),
        (lambda: Bernoulli(float("nan")), "'p' parameter"),
        (lambda: Bernoulli(True), "'p' parameter"),
        (lambda: Bernoulli("0.5"), "'p' parameter"),
        (lambda: Bernoulli({"a": 1.5}), r"p\['a'\]"),
        (lambda: Bernoulli([0.5, 0.0]), r"p\[1\]"),
        (lambda: Bernoulli([[0.5]]), "flat sequence"),
        (lambda: Bernoulli(np.full((2, 2), 0.5)), "flat sequence"),
        (lambda: Bernoulli(expected_size=0), "expected_size"),
        (lambda: BetaBinomial(0, 1), "'a' parameter"),
        (lambda: BetaBinomial(1, -1), "'b' parameter"),
        (lambda: BetaBinomial(1, float("inf")), "'b' parameter"),
        (lambda: BetaBinomial(1, 1, expected_size=2), "not both"),
        (lambda: BetaBinomial(expected_size=-2), "expected_size"),
        (TruncatedPoisson, "needs 'mean' or 'expected_size'"),
        (lambda: TruncatedPoisson(2, expected_size=2), "not both"),
        (lambda: TruncatedPoisson(0), "'mean' parameter"),
        (lambda: CostAdjusted({"a": 0}), r"costs\['a'\]"),
        (lambda: CostAdjusted({"a": None}), r"costs\['a'\]"),
        (lambda: CostAdjusted([1, 2]), "a mapping or Series of terms"),
        *[
            (lambda value=value: CostAdjusted({"a": 1}, value), r"'baseline' .* in \(0, inf\)")
            for value in (0, -1, float("nan"), float("inf"), "1", True, [1])
        ],
    ],
)
def test_bad_parameters_are_refused_at_once(make, match):
    with pytest.raises(ParameterError, match=match):
        make()


@pytest.mark.parametrize(
    ("prior", "error", "match"),
    [
        (Bernoulli({"a": 0.1}), ParameterError, r"It lacks \['b', 'd', 'e', 'f'\]"),
        (Bernoulli({"aa": 0.1}), UnknownNameError, "'aa'"),
        (Bernoulli([0.1, 0.2]), ParameterError, "Got 2 values"),
        (Bernoulli([]), ParameterError, "Got 0 values"),
        (Bernoulli(expected_size=5), ParameterError, r"in \(0, 5\)"),
        (BetaBinomial(expected_size=5.5), ParameterError, r"in \(0, 5\)"),
        (TruncatedPoisson(expected_size=5), ParameterError, r"in \(0, 5\)"),
        (CostAdjusted({"a": 1}), ParameterError, r"It lacks \['b', 'd', 'e', 'f'\]"),
        (CostAdjusted({"aa": 1}), UnknownNameError, "'aa'"),
    ],
)
def test_parameters_that_do_not_fit_the_terms_are_refused_when_used(prior, error, match):
    with pytest.raises(error, match=match):
        prior.tables(CONTEXT)


def test_priors_are_frozen_hashable_and_show_themselves():
    assert repr(BetaBinomial(1, 1)) == "BetaBinomial(a=1.0, b=1.0)"
    assert repr(BetaBinomial(2, expected_size=3)) == "BetaBinomial(a=2.0, expected_size=3.0)"
    assert repr(Bernoulli({"a": 0.5})) == "Bernoulli(p={'a': 0.5})"
    assert repr(Bernoulli(expected_size=3)) == "Bernoulli(expected_size=3.0)"
    assert repr(CostAdjusted({"a": 2}, 1)) == "CostAdjusted(costs={'a': 2.0}, baseline=1.0)"
    assert repr(TruncatedPoisson(2)) == "TruncatedPoisson(mean=2.0)"
    for prior in PRIORS:
        assert eval(repr(prior)) == prior
        assert hash(prior) == hash(eval(repr(prior)))
    with pytest.raises(FrozenInstanceError):
        BetaBinomial().a = 2.0
