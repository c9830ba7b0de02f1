"""Averages of smooth functions over rows, by polynomials where they are exact."""

import numpy as np
import pytest

from pyrjsel._core._rows import polynomial_averages, ranges
from pyrjsel.families import Binomial, Cloglog, Poisson, Probit, averages, mixtures

FAMILIES = (Binomial(), Probit(), Cloglog(), Poisson())


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.link)
@pytest.mark.parametrize("spread", [0.0, 1e-9, 0.01, 0.1, 0.4, 3.0])
def test_averages_are_those_of_all_values(family, spread):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 1)) + spread * rng.normal(size=(40, 999))
    # Rounding of the function and of sums of 1,000 values, 10 ulp.
    np.testing.assert_allclose(averages(family.mean, x), family.mean(x).mean(axis=1), rtol=2e-15)


def test_polynomials_are_used_where_they_are_exact():
    """Rows of small spread take as many values of the function as there are nodes, others all."""
    rng, seen = np.random.default_rng(1), []

    def function(x):
        seen.append(x.shape)
        return np.sin(x)

    x = np.array([[0.01], [0.1], [9.0]]) * rng.normal(size=(3, 500))
    found = averages(function, x)
    nodes = mixtures.DEGREE + 1
    assert seen == [(3, nodes), (1, 500)]
    # As above, absolutely: values of either sign cancel.
    np.testing.assert_allclose(found, np.sin(x).mean(axis=1), rtol=0, atol=2e-15)


def test_small_probabilities_are_relatively_exact():
    x = -30.0 + 0.05 * np.random.default_rng(1).normal(size=(3, 500))
    exact = (1.0 / (1.0 + np.exp(-x.astype(np.longdouble)))).mean(axis=1)
    # The function is exact to 2 ulp.
    np.testing.assert_allclose(averages(Binomial().mean, x), exact.astype(float), rtol=2e-15)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_values_that_are_not_finite(value):
    x = np.zeros((2, 200))
    x[0, 5] = value
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.exp(x).mean(axis=1)
        np.testing.assert_array_equal(averages(np.exp, x), expected)


def test_few_columns():
    x = np.random.default_rng(1).normal(size=(3, 5))
    np.testing.assert_array_equal(averages(np.exp, x), np.exp(x).mean(axis=1))


@pytest.mark.parametrize("degree", [0, 1, 4, 5, 7, 10, 11, 13, 16])
@pytest.mark.parametrize("columns", [1, 63, 64, 200])
def test_averages_of_polynomials(degree, columns):
    rng = np.random.default_rng(1)
    x, middle, rate = rng.normal(size=(3, columns)), rng.normal(size=3), rng.uniform(0.1, 0.5, 3)
    coefficients = np.zeros((3, 17))
    coefficients[:, : degree + 1] = rng.normal(size=(3, degree + 1))
    found = polynomial_averages(x, middle, rate, np.full(3, degree, dtype=np.intc), coefficients)
    at = (x - middle[:, None]) * rate[:, None]
    each = [np.polyval(c[degree::-1], row).mean() for c, row in zip(coefficients, at, strict=True)]
    # Rounding of 16 products, each of the size of the largest.
    np.testing.assert_allclose(found, each, rtol=1e-13, atol=1e-13)


def test_ranges():
    x = np.random.default_rng(1).normal(size=(4, 131))
    np.testing.assert_array_equal(ranges(x), np.column_stack([x.min(axis=1), x.max(axis=1)]))


def test_shapes_are_checked():
    zero = np.zeros(2)
    with pytest.raises(ValueError, match="must have values"):
        ranges(np.zeros((2, 0)))
    with pytest.raises(ValueError, match="values and a polynomial"):
        polynomial_averages(np.zeros((3, 4)), zero, zero, np.zeros(2, dtype=np.intc), np.zeros((2, 17)))
    with pytest.raises(ValueError, match="17 coefficients"):
        polynomial_averages(np.zeros((2, 4)), zero, zero, np.full(2, 17, dtype=np.intc), np.zeros((2, 17)))
