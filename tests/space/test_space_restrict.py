"""Priors over models of fewer terms: what they say of single terms goes with the terms."""

import pandas as pd
import pytest

from pyrjsel.space import (
    Bernoulli,
    BetaBinomial,
    CostAdjusted,
    TruncatedPoisson,
    Uniform,
    restrict_prior,
)

NAMES = ("a", "b", "d")


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
    assert restrict_prior(prior, NAMES, ["a", "d"]) is prior


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (Bernoulli({"d": 0.3, "a": 0.1, "b": 0.2}), Bernoulli({"d": 0.3, "a": 0.1})),
        (Bernoulli(pd.Series({"a": 0.1, "b": 0.2, "d": 0.3})), Bernoulli({"a": 0.1, "d": 0.3})),
        (Bernoulli([0.1, 0.2, 0.3]), Bernoulli([0.1, 0.3])),
        (CostAdjusted({"a": 1, "b": 2, "d": 3}), CostAdjusted({"a": 1, "d": 3})),
        # The kept terms are always in, and have no probability or cost.
        (Bernoulli({"b": 0.2}), Uniform()),
        (CostAdjusted({"b": 2}), CostAdjusted({})),
    ],
)
def test_values_of_terms_go_with_them(prior, expected):
    assert restrict_prior(prior, NAMES, ["d", "a"]) == expected


def test_a_space_without_terms():
    assert restrict_prior(Bernoulli([]), (), []) == Bernoulli([])
