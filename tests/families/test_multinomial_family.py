"""The log-likelihood of classes: compiled passes and derivatives against plain numpy and differences."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from pyrjsel.families import Multinomial
from pyrjsel.families._binary import evaluated


def make(classes, rows, seed=0, weighted=True, size=2.0):
    """A family, classes, stacked linear predictors and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows).astype(float)
    eta = size * rng.standard_normal((classes - 1, rows))
    w = rng.integers(1, 4, rows).astype(float) if weighted else np.ones(rows)
    return Multinomial(tuple(range(classes))), y, eta, w


def whole(eta):
    """Linear predictors of all classes, (rows, K)."""
    return np.column_stack([np.zeros(eta.shape[1]), eta.T])


# Blocks of 256 rows: one row, parts of a block, and several.
@pytest.mark.parametrize(("classes", "rows"), [(2, 1), (3, 7), (3, 256), (4, 257), (6, 600)])
def test_passes(classes, rows):
    family, y, eta, w = make(classes, rows)
    wy, every, _ = family.rows(family.responses(y).ravel(), np.tile(w, classes - 1), np.zeros(eta.size))
    shifted, scored, residual, weight = evaluated(family.passes, eta.ravel(), wy, every)
    logs = log_softmax(whole(eta), axis=1)[np.arange(rows), y.astype(int)]
    want = w @ logs
    # Sums of up to 600 logarithms of size one to ten.
    assert shifted == pytest.approx(want, rel=1e-13, abs=1e-12)
    assert scored == pytest.approx(want, rel=1e-13, abs=1e-12)
    p = softmax(whole(eta), axis=1)[:, 1:].T
    np.testing.assert_allclose(weight, (w * p).ravel(), rtol=1e-13)
    own = (y == np.arange(1, classes)[:, None]).astype(float)
    np.testing.assert_allclose(residual, (w * (own - p)).ravel(), rtol=0, atol=1e-14 * w.max() * 10)
    stacked = family.responses(y).ravel()
    assert family.log_likelihood(stacked, eta.ravel(), np.tile(w, classes - 1)) == pytest.approx(want)
    np.testing.assert_allclose(family.log_density(y, eta.T[:, None], w, {})[:, 0], w * logs, rtol=1e-12)
    np.testing.assert_allclose(family.mean(eta.ravel()), p.ravel(), rtol=1e-13)


def test_far_linear_predictors_are_finite():
    """Log odds of a thousand: the class that they favour has probability 1."""
    family = Multinomial(("a", "b", "c"))
    eta = np.array([1000.0, -1000.0, 0.0, 900.0, -1000.0, 1000.0])
    y = np.array([1.0, 0.0, 2.0])
    stacked = family.responses(y).ravel()
    wy, w, _ = family.rows(stacked, None, np.zeros(6))
    value = evaluated(family.passes, eta, wy, w)[0]
    assert value == pytest.approx(family.log_likelihood(stacked, eta)) == pytest.approx(0.0, abs=1e-12)


def test_information_is_minus_the_second_derivative():
    family, y, eta, w = make(4, 9, seed=3)
    rng = np.random.default_rng(5)
    # Each of two columns of a design, for each of three linear predictors.
    x = np.kron(rng.standard_normal((2, 1, 9)), np.eye(3)[:, :, None]).reshape(6, eta.size)
    stacked, weights = family.responses(y).ravel(), np.tile(w, 3)
    step = 1e-4

    def value(b):
        return family.log_likelihood(stacked, eta.ravel() + b @ x, weights)

    unit = step * np.eye(6)
    want = np.array(
        [
            [(value(a + b) - value(a - b) - value(b - a) + value(-a - b)) / (4 * step**2) for a in unit]
            for b in unit
        ]
    )
    found = family.information(x, stacked, eta.ravel(), weights)
    # Fourth derivatives times step**2, and rounding of values of size 100 over step**2.
    np.testing.assert_allclose(found, -want, rtol=0, atol=2e-5)


def test_information_across_classes():
    """Differences of two classes have the variance 1 without data; the null model's is a multinomial's."""
    family = Multinomial(tuple("abcd"))
    variance = np.linalg.inv(family.across(np.zeros(3), np.ones(3), False))
    contrast = np.vstack([np.zeros(3), np.eye(3)])
    for one in range(4):
        for other in range(one):
            gap = contrast[one] - contrast[other]
            assert gap @ variance @ gap == pytest.approx(1.0, rel=1e-12)
    y, w = np.array([0.0, 1, 2, 3, 3, 3]), np.array([1.0, 1, 2, 1, 1, 2])
    p = np.array([1, 2, 4]) / 8
    np.testing.assert_allclose(family.across(y, w, True), np.diag(p) - np.outer(p, p), rtol=1e-12)
    # Of two classes it is that of a logistic model.
    two = Multinomial(("a", "b"))
    assert two.across(np.zeros(1), np.ones(1), False) == pytest.approx(1.0)


def test_draws_and_quantiles_of_classes():
    family = Multinomial(tuple("abc"))
    p = np.tile([0.2, 0.5, 0.3], (4000, 1, 1))
    drawn = family.simulate(p, np.ones(4000), {}, np.random.default_rng(1))
    # Proportions of 4,000 have standard deviations of 0.008 at most: six of them, 1e-8.
    found = np.bincount(drawn.ravel().astype(int)) / 4000
    np.testing.assert_allclose(found, [0.2, 0.5, 0.3], atol=0.048)
    assert family.interval(p[:1], 0.5, {}).tolist() == [[1.0, 2.0]]
    assert family.interval(p[:1], 0.1, {}).tolist() == [[0.0, 2.0]]


def test_directions_of_recession():
    """A class that a column tells apart from both others has one; classes mixed in it have none."""
    family = Multinomial(tuple("abc"))
    y = np.array([0.0, 1, 2, 2])
    x = np.array([1.0, 2.0, 3.0, 4.0])
    stacked = np.zeros((8, 2))
    stacked[:4, 0] = stacked[4:, 1] = x
    outer, both = family.recession_rows(family.responses(y).ravel(), stacked)
    assert outer.shape == (8, 2)
    assert both.shape == (0, 2)
    # Rows of class "a" minus those of "b" and "c", then "b" minus "a" and "c", and so on.
    want = {(-1, 0), (0, -1), (2, 0), (2, -2), (0, 3), (-3, 3), (0, 4), (-4, 4)}
    assert {tuple(row) for row in outer.astype(int).tolist()} == want
