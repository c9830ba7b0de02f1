"""Prices: what is read, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from pyrjsel._errors import ParameterError, UnknownNameError
from pyrjsel.model_space import ModelSpace, Uniform


def build(kit, costs, terms=None, columns=()):
    return ModelSpace.build(
        kit.plain(3) if terms is None else terms,
        prior=Uniform(),
        costs=costs,
        n_observations=9,
        data_columns=columns,
    )


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -0.5, None, True, "1", np.bool_(True), np.nan, pd.NA, 1j, [1]]
)
def test_bad_prices_are_named(kit, value):
    with pytest.raises(ParameterError, match=r"costs\['x1'\]"):
        build(kit, {"x0": 1, "x1": value, "x2": 1})


@pytest.mark.parametrize("value", [1, 1.5, 0, np.float32(0.5), np.int64(3)])
def test_good_prices_are_kept(kit, value):
    space = build(kit, {"x0": 1, "x1": value, "x2": 1})
    assert space.cost([0, 1, 0]) == float(value)


@pytest.mark.parametrize("costs", [3, [1, 2, 3], "x0", {("x0", 1)}])
def test_costs_must_be_a_mapping(kit, costs):
    with pytest.raises(ParameterError, match="a mapping or a Series"):
        build(kit, costs)


def test_a_series_is_a_mapping(kit):
    space = build(kit, pd.Series({"x0": 1.0, "x1": 2.0, "x2": 4.0}))
    assert space.cost([1, 1, 1]) == 7.0


def test_a_series_must_not_name_twice(kit):
    costs = pd.Series([1.0, 2.0, 3.0, 4.0], index=["x0", "x1", "x2", "x1"])
    with pytest.raises(ParameterError, match=r"once\. \['x1'\]"):
        build(kit, costs)


def test_missing_prices_are_named(kit):
    with pytest.raises(ParameterError, match=r"lacks \['x1', 'x2'\]"):
        build(kit, {"x0": 1})


def test_unknown_keys_come_with_a_guess(kit):
    with pytest.raises(UnknownNameError, match=r"'albumin_level'.*Did you mean 'albumin'"):
        build(kit, {"x0": 1, "x1": 1, "x2": 1, "albumin_level": 1}, columns=("albumin",))


def test_columns_that_no_term_uses_are_not_paid(kit):
    space = build(kit, {"x0": 1, "x1": 1, "x2": 1, "other": 5}, columns=("other", "x0", "x1", "x2"))
    assert space.item_names == ("x0", "x1", "x2")


def test_a_variable_needs_no_price_where_all_its_terms_have_their_own(kit):
    terms = [
        kit.Term("a", ("a",), ("a",)),
        kit.Term("log(b)", ("log(b)",), ("b",)),
        kit.Term("bs(b)", ("b1", "b2"), ("b",)),
    ]
    space = build(kit, {"a": 1, "log(b)": 2, "bs(b)": 3}, terms)
    assert space.cost([0, 1, 1]) == 5.0
    with pytest.raises(ParameterError, match=r"lacks \['b'\]"):
        build(kit, {"a": 1, "log(b)": 2}, terms)


def test_a_key_that_is_both_prices_the_variable(kit):
    # The term 'a' uses the variable b, and there is a column 'a': the key prices that column alone.
    terms = [kit.Term("a", ("a",), ("b",)), kit.Term("a:c", ("a:c",), ("a", "c"))]
    with pytest.raises(ParameterError, match=r"lacks \['b', 'c'\]"):
        build(kit, {"a": 1}, terms)
    space = build(kit, {"a": 1, "b": 2, "c": 4}, terms)
    np.testing.assert_array_equal(space.cost([[1, 0], [0, 1], [1, 1]]), [2.0, 5.0, 7.0])
