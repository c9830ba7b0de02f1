"""Priors over models of fewer terms: what they say of single terms goes with the terms."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pyrjsel.model_space import (
    Bernoulli,
    BetaBinomial,
    CostAdjusted,
    PriorContext,
    TruncatedPoisson,
    Uniform,
)

NAMES = ("a", "b", "d")
CONTEXT = PriorContext(NAMES, (True, True, True), (1, 2, 3), 40.0)


def always(*names):
    """The context where some terms are in every model."""
    return replace(CONTEXT, free=tuple(name not in names for name in NAMES))


@pytest.mark.parametrize(
    "prior",
    [
        Uniform(),
        BetaBinomial(1, 2),
        BetaBinomial(expected_size=1.5),
        TruncatedPoisson(2),
        Bernoulli(0.2),
        Bernoulli(expected_size=1.5),
    ],
)
def test_priors_that_name_no_term_stay(prior):
    assert prior.restrict(CONTEXT, ["a", "d"]) is prior


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (Bernoulli({"d": 0.3, "a": 0.1, "b": 0.2}), Bernoulli({"d": 0.3, "a": 0.1})),
        (Bernoulli(pd.Series({"a": 0.1, "b": 0.2, "d": 0.3})), Bernoulli({"a": 0.1, "d": 0.3})),
        (Bernoulli([0.1, 0.2, 0.3]), Bernoulli([0.1, 0.3])),
        (CostAdjusted({"a": 1, "b": 2, "d": 3}), CostAdjusted({"a": 1, "d": 3}, baseline=1)),
        (CostAdjusted({"a": 2, "b": 1, "d": 3}), CostAdjusted({"a": 2, "d": 3}, baseline=1)),
        (CostAdjusted({"a": 2, "b": 1, "d": 3}, 4), CostAdjusted({"a": 2, "d": 3}, 4)),
    ],
)
def test_values_of_terms_go_with_them(prior, expected):
    assert prior.restrict(CONTEXT, ["d", "a"]) == expected


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        # The kept terms are always in, and have no probability or cost.
        (Bernoulli({"b": 0.2}), Uniform()),
        (CostAdjusted({"b": 2}), CostAdjusted({}, baseline=2)),
        # The cost of a term that is always in is not the yardstick.
        (CostAdjusted({"a": 0.5, "b": 2, "d": 0.25}), CostAdjusted({"a": 0.5, "d": 0.25}, baseline=2)),
    ],
)
def test_the_kept_terms_are_always_in(prior, expected):
    assert prior.restrict(always("a", "d"), ["d", "a"]) == expected


@pytest.mark.parametrize(
    "prior",
    [
        Bernoulli([0.1, 0.2, 0.3]),
        CostAdjusted({"a": 2, "b": 1, "d": 3}),
        CostAdjusted({"a": 2, "b": 1, "d": 3}, 2.5),
    ],
)
@pytest.mark.parametrize("context", [CONTEXT, always("a")])
@pytest.mark.parametrize("keep", [["a"], ["d"], ["a", "d"], ["a", "b", "d"]])
def test_log_odds_of_kept_terms_are_what_they_were(prior, context, keep):
    inside = [NAMES.index(name) for name in keep]
    fewer = PriorContext(
        tuple(keep),
        tuple(context.free[j] for j in inside),
        tuple(context.columns[j] for j in inside),
        context.n_observations,
    )
    once = prior.restrict(context, keep)
    np.testing.assert_array_equal(once.tables(fewer)[1], prior.tables(context)[1][inside])
    assert once.restrict(fewer, keep) == once


def test_a_space_without_terms():
    nothing = PriorContext((), (), (), 40.0)
    for prior in (Bernoulli([]), CostAdjusted({})):
        assert prior.restrict(nothing, []) == prior
