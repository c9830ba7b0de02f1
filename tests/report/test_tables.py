"""Tables: columns, index, edges, errors."""

import numpy as np
import pytest

from pyrjsel._errors import ParameterError
from pyrjsel.report.tables import (
    coefficient_table,
    covered_mass,
    inclusion_bayes_factor,
    inclusion_table,
    model_table,
)

NAN = float("nan")
INCLUSION_COLUMNS = [
    "prior",
    "prior_mcse",
    "posterior",
    "mcse",
    "ess",
    "r_hat",
    "bayes_factor",
    "bayes_factor_mcse",
    "cost",
    "columns",
]


def test_bayes_factor_and_its_edges():
    prior = [0.5, 0.2, 0.5, 0.5, 1.0, 0.0, 0.5, 0.25]
    posterior = [0.8, 0.2, 1.0, 0.0, 1.0, 0.0, NAN, 0.75]
    expected = [4.0, 1.0, np.inf, 0.0, NAN, NAN, NAN, 9.0]
    np.testing.assert_allclose(inclusion_bayes_factor(prior, posterior), expected, rtol=1e-14)  # rounding


def test_bayes_factor_of_a_subnormal_probability():
    """A smallest float divides to inf, and nothing is warned of."""
    smallest, small = inclusion_bayes_factor([0.5, 0.5], [1.0, 1.0], [5e-324, 1e-300])
    assert smallest == np.inf
    assert small == pytest.approx(1e300, rel=1e-15)  # rounding


def test_inclusion_table():
    table = inclusion_table(["a", "b:c"], [0.5, 1.0], [0.25, 1.0], [0.01, NAN], [900, NAN], NAN, [1, 2.5])
    assert list(table.columns) == INCLUSION_COLUMNS
    assert table.index.name == "term"
    assert list(table.index) == ["a", "b:c"]
    assert table.loc["a", "bayes_factor"] == pytest.approx(1 / 3, rel=1e-14)  # rounding
    assert np.isnan(table.loc["b:c", "bayes_factor"])
    assert table["r_hat"].isna().all()
    assert table.loc["b:c", "cost"] == 2.5
    assert list(table["columns"]) == [1, 1]
    assert (table.drop(columns="columns").dtypes == np.float64).all()


def test_errors_of_bayes_factors():
    """The delta method: relative errors of both odds add up as squares; too large ones leave no factor."""
    prior, posterior = np.array([0.2, 0.01, 0.001, 0.5, 0.5]), np.array([0.6, 0.5, 0.5, 1.0, 0.5])
    table = inclusion_table(
        list("abcde"), prior, posterior, [0.01, 0.0, 0.0, 0.0, NAN], NAN, NAN, 0.0,
        prior_mcse=[0.002, 0.001, 0.0004, 0.0, 0.0],
    )  # fmt: skip
    found, error = table["bayes_factor"], table["bayes_factor_mcse"]
    # 1e-14 and 1e-12: rounding, and that of 1 - 0.5 and the like.
    np.testing.assert_allclose(found, [6.0, 99.0, NAN, np.inf, 1.0], rtol=1e-14)
    relative = np.hypot(0.002 / (0.2 * 0.8), 0.01 / (0.6 * 0.4))
    np.testing.assert_allclose(error, [6 * relative, 99 * 0.001 / 0.0099, NAN, NAN, NAN], rtol=1e-12)


def test_model_table():
    table = model_table(
        [("a", "b"), ("a",), ()], [2, 1, 0], [3.0, 1.0, 0.0], [0.5, 0.3, 0.1], [0.01, 0.02, 0.03],
        [1, 5 / 3, 5], [0, 0.1, 1], NAN, [10, 20, 30],
    )  # fmt: skip
    assert list(table.columns) == [
        "terms", "size", "cost", "posterior", "mcse", "odds", "odds_mcse", "log_marginal", "deviance",
    ]  # fmt: skip
    assert table.index.name == "rank"
    assert list(table.index) == [1, 2, 3]
    assert list(table["terms"]) == [("a", "b"), ("a",), ()]
    assert table["size"].dtype == np.int64
    assert covered_mass(table) == pytest.approx(0.9, rel=1e-14)  # rounding


def test_model_table_with_terms_of_equal_length_and_without_models():
    table = model_table([("a", "b"), ("c", "d")], [2, 2], 0.0, [0.5, 0.5], NAN, 1.0, NAN, NAN, NAN)
    assert table.loc[2, "terms"] == ("c", "d")
    empty = model_table([], [], [], [], [], [], [], [], [])
    assert empty.shape == (0, 9)


def test_coefficient_table():
    table = coefficient_table(
        ["Intercept", "x"], [1, 2], [3, 4], [0, 1], [5, 6], [0.5, 0.6], [7, 8], [9, NAN]
    )
    assert list(table.columns) == [
        "mean", "sd", "ci_lower", "ci_upper", "prob_positive", "mean_included", "sd_included",
    ]  # fmt: skip
    assert table.index.name == "column"
    assert table.loc["x", "mean_included"] == 8
    assert table.loc["Intercept", "sd"] == 3


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: inclusion_table(["a"], [0.5], [1.5], 0, 0, 0, 0),
            "'posterior' parameter of inclusion_table",
        ),
        (lambda: inclusion_table(["a"], [0.5], [0.5], [0, 1], 0, 0, 0), r"'mcse'.* shape \(1,\)"),
        (lambda: inclusion_bayes_factor([0.5], [0.5, 0.5]), "of length 1"),
        (lambda: model_table([()], [0.5], 0, 0.1, 0, 1, 0, 0, 0), "'size' parameter of model_table"),
        (lambda: model_table([(), ("a",)], [0, 1], 0, 0.1, 0, [2.0, 1.0], 0, 0, 0), "increasing order"),
        (lambda: coefficient_table(["x"], 0, 1, 2, 1, 0.5, 0, 1), "'ci_lower' parameter"),
    ],
)
def test_bad_columns(call, match):
    with pytest.raises(ParameterError, match=match):
        call()
