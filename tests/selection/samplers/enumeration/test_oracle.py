"""The oracle itself: its stored integrals against quadrature, and its errors."""

import json

import numpy as np
import pytest
from scipy import integrate
from selection_cases import COEFFICIENT_PRIORS, TABLES, averaged, load, single_rows, table, table_path
from selection_oracle import Problem, Term, laplace, lattice


@pytest.mark.parametrize("case", TABLES, ids="|".join)
def test_every_integral_has_a_small_error(case):
    """Tests of the samplers rest on relative errors of at most 1e-3 in every marginal likelihood."""
    stored = json.loads(table_path(*case).read_text())
    found = table(*case)
    exists = np.isfinite(found.log_m)
    assert stored["largest_error"] < 1e-3
    assert np.all(found.error[exists] > 0)
    # Only a g-prior can be without a density, and only with more columns than rows.
    assert exists.all() or case == ("short", "n joint")


@pytest.mark.parametrize("case", TABLES, ids="|".join)
def test_stored_integrals_agree_with_the_trapezoidal_rule(case):
    """Two methods that share nothing but the integrand; every model of at most two columns."""
    problem = load(case[0])[0]
    found = table(*case)
    for row, model in enumerate(problem.models):
        if len(problem.places(model)) <= 2:
            # The likelihood of rows without events falls off like a wall beside a long slope.
            exact = lattice(problem, model, found.prior, step=0.125 if case[0] == "drought" else 0.5)
            # Six standard errors of the stored value; the lattice's own error is below 1e-8.
            assert abs(found.log_m[row] - exact) < 6 * found.error[row] + 1e-8, model


@pytest.mark.parametrize(
    ("name", "prior", "model"),
    [
        ("ward", "n flat", "10000"),
        ("ward", "raw", "00110"),
        ("cells", "standard", "0110"),
        ("wall", "wide", "110"),
        ("short", "n joint", "110000"),
        ("visits", "raw", "00110"),
        ("visits offset", "n joint", "10000"),
        ("sheets", "n joint", "0110"),
        ("drought", "wide", "110"),
    ],
)
def test_integrals_over_three_columns_agree_with_the_trapezoidal_rule(name, prior, model):
    problem, found = load(name)[0], table(name, prior)
    row = problem.models.index(model)
    exact = lattice(problem, model, found.prior, step=0.2 if name == "drought" else 0.75)
    # Six standard errors; the lattice's error at these steps is below 1e-6.
    assert abs(found.log_m[row] - exact) < 6 * found.error[row] + 1e-6


def test_null_model_by_a_formula_of_its_own():
    """One dimension, written out: the constants of the joint g-prior and of a normal intercept."""
    problem = load("ward")[0]
    n, ones = problem.y.size, problem.y.sum()
    for name, mean, variance in [("4n joint", 0.0, 4.0), ("n normal", -0.5, 1.5**2), ("raw", 0.0, 100.0)]:

        def density(a, mean=mean, variance=variance):
            likelihood = np.exp(ones * a - n * np.log1p(np.exp(a)))
            return likelihood * np.exp(-((a - mean) ** 2) / 2 / variance) / np.sqrt(2 * np.pi * variance)

        exact, _ = integrate.quad(density, -3, 3, epsabs=0, epsrel=1e-10)
        # Ten digits of the quadrature against six standard errors of the stored value.
        found = table("ward", name)
        assert abs(found.log_m[0] - np.log(exact)) < 6 * found.error[0] + 1e-8


@pytest.mark.parametrize("name", ["cells", "sheets"])
def test_grouping_rows_changes_nothing_in_the_oracle(name):
    grouped, case = load(name)
    rows = single_rows(case.frame)
    indicators = np.column_stack([rows["f"] == "v", rows["f"] == "w"]).astype(float)
    a, b = rows[["a"]].to_numpy(float), rows[["b"]].to_numpy(float)
    terms = (
        Term("f", indicators, ("f",)),
        Term("a", a, ("a",)),
        Term("b", b, ("b",)),
        Term("a:b", a * b, ("a", "b"), ("a", "b")),
    )
    n = len(rows)
    y = rows["rate"].to_numpy(float)
    assert np.all(y == np.floor(y))
    single = Problem(terms, y, np.ones(n), np.zeros(n), grouped.column_names, family=grouped.family)
    for prior_name in ("n joint", "standard", "n flat"):
        prior = COEFFICIENT_PRIORS[prior_name]
        for model in grouped.models:
            # Equal up to the rounding of sums over some 60 rows instead of 12.
            assert laplace(single, model, prior) == pytest.approx(laplace(grouped, model, prior), abs=1e-10)


def test_stored_distribution_functions_end_at_the_inclusion_probabilities():
    stored = averaged()
    problem = load("ward")[0]
    found = table("ward", "4n joint")
    weights = found.posterior(np.full(len(problem.models), 1 / len(problem.models)))
    columns = range(len(problem.column_names))
    inside = np.array([[k in problem.places(m) for k in columns] for m in problem.models])
    # The grids end nine standard deviations of the full model away from its mean.
    ends = [line["below"][-1] for line in stored["coefficients"]]
    assert np.allclose(ends, weights @ inside, atol=1e-4)
    assert np.allclose([line["below"][-1] for line in stored["predictors"]], 1.0, atol=1e-4)
