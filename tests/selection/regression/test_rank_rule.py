"""Whether a model's columns count as dependent is a function of the model, not of how it was reached."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyrjsel.model_space import ModelSpace, Space, Uniform
from pyrjsel.selection.evidence._laplace import ModeFinder
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.regression.columns import TOGETHER, IndependentColumns, independent, inflation
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump


def almost_dependent(noise):
    """Columns a, c, b with c = a + 1e-4 b + noise: given the others, c keeps little and b much."""
    rng = np.random.default_rng(1)
    n = 60
    made, _ = np.linalg.qr(rng.normal(size=(n, 4)) - rng.normal(size=(n, 4)).mean(axis=0))
    made = (made - made.mean(axis=0)) / made.std(axis=0)
    a, b, e = made[:, 0], made[:, 1], made[:, 2]
    x = np.column_stack([a, a + 1e-4 * b + noise * e, b])
    y = (rng.random(n) < 0.5).astype(float)
    terms = [
        SimpleNamespace(name=name, columns=(name,), variables=(name,), parents=(), near_parents=())
        for name in "acb"
    ]
    space = ModelSpace.build(terms, prior=Uniform(), n_observations=n)
    return Regression.build(x, y, [1, 1, 1], GPrior("n")), space


def chain_at(regression, space, gamma):
    finder = ModeFinder(regression.compiled, 4)
    b = finder.mode(np.array(gamma, dtype=np.uint8))
    return ReversibleJump(
        regression.compiled,
        Space(space),
        np.array(gamma, dtype=np.uint8),
        b,
        max_columns=4,
        raw_shift=regression.raw_shift,
        n_swaps=0,
    )


@pytest.mark.parametrize(("noise", "exists"), [(3e-5, True), (3e-6, True), (8e-7, False), (0.0, False)])
def test_every_way_in_is_judged_alike(noise, exists):
    # c keeps noise^2 of its sum of squares given a and b, which the tolerance of 1e-12 is held against; b
    # keeps noise^2 / (1e-8 + noise^2) given the others, far more, and a about noise^2.
    regression, space = almost_dependent(noise)
    finder = ModeFinder(regression.compiled, 4)
    full = finder.mode(np.ones(3, dtype=np.uint8))
    assert finder.status == (0 if exists else 1)
    for term in range(3):
        without = [int(j != term) for j in range(3)]
        into = chain_at(regression, space, without).log_ratio("birth", term, block=np.array([0.1]))
        assert np.isfinite(into) == exists, term
    if exists:
        leaving = chain_at(regression, space, [1, 1, 1])
        assert all(np.isfinite(leaving.log_ratio("death", term)) for term in range(3))
        np.testing.assert_array_equal(leaving.state()[1], full)


def test_variance_inflation_is_that_of_regressions():
    """Shares of sums of squares by least squares, to rounding: condition numbers are below 1e4."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 6))
    x[:, 5] = x[:, 0] + x[:, 3] + 0.2 * rng.normal(size=60)
    x[:, 2] += 5 * x[:, 1]  # of one term
    x -= x.mean(axis=0)
    sizes = np.array([1, 2, 1, 1, 1])
    expected = 1.0
    for term in ([0], [1, 2], [3], [4], [5]):
        # Of a term of several columns these are taken one after the other, as by Cholesky's factor.
        own = np.linalg.qr(x[:, term])[0]
        others = np.linalg.qr(np.delete(x, term, axis=1))[0]
        left = own - others @ (others.T @ own)
        expected = max(expected, np.linalg.inv(left.T @ left).diagonal().max())
    found = inflation(x.T @ x, sizes, 59)
    np.testing.assert_allclose(found, expected * (1 - 6 / 59), rtol=1e-10)
    assert found > 10
    assert inflation(np.eye(4), np.ones(4, dtype=int), 1000) == 1 - 4 / 1000
    assert inflation(np.ones((2, 2)), np.ones(2, dtype=int), 10) == np.inf
    assert inflation(np.zeros((1, 1)), np.ones(1, dtype=int), 10) == np.inf
    assert inflation(np.ones((2, 2)), np.array([2]), 10) == np.inf


@pytest.mark.parametrize("n", [9, 40], ids=["few rows", "more rows"])
def test_models_checked_together_are_as_one_by_one(n):
    """Factors, constant, repeated and nearly dependent columns; more columns than rows, and fewer."""
    rng = np.random.default_rng(3)
    sizes = [1, 1, 2, 1, 1, 3, 1, 1, 1]
    x = rng.normal(size=(n, sum(sizes)))
    x[:, 4], x[:, 5] = x[:, 0], 1.0
    x[:, 9] = x[:, 1] + x[:, 2] + 2e-6 * x[:, 3]  # beside the tolerance, 1e-12
    x[:, 10] = x[:, 6] - x[:, 7]
    terms = [
        SimpleNamespace(name=f"t{j}", columns=tuple(f"t{j}.{k}" for k in range(size)), variables=(f"t{j}",))
        for j, size in enumerate(sizes)
    ]
    for term in terms:
        term.parents = term.near_parents = ()
    space = ModelSpace.build(terms, prior=Uniform(), n_observations=n)
    regression = Regression.build(x, (rng.random(n) < 0.5).astype(float), sizes, GPrior("n"))
    existence = IndependentColumns(regression, space)
    gamma = ((np.arange(2**9)[:, None] >> np.arange(9)) & 1).astype(np.uint8)

    def alone(model):
        columns = regression.model_columns(model)[1:] - 1
        return independent(regression, columns)

    expected = np.array([alone(model) for model in gamma])
    assert 0 < expected.sum() < len(gamma) - 100
    np.testing.assert_array_equal(existence.exists(gamma), expected)
    assert existence.exists(gamma[:0]).shape == (0,)
    squares = np.diag(regression.rank_gram(np.arange(x.shape[1])))
    np.testing.assert_allclose(regression.rank_squares, squares, rtol=1e-12)
    for base in gamma[[0, 1, 2**6, 2**3 + 2**8, 2**4]]:
        more = np.maximum(base, np.eye(9, dtype=np.uint8))
        np.testing.assert_array_equal(existence.with_one(base), existence.exists(more))


def test_wide_models_exist_by_their_rank():
    """Models of up to 70 of 80 columns, ten of them sums of others, with 60 rows: by singular values."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 80))
    x[:, 70:] = x[:, :10] + x[:, 10:20]
    terms = [
        SimpleNamespace(name=f"x{j}", columns=(f"x{j}",), variables=(f"x{j}",), parents=(), near_parents=())
        for j in range(80)
    ]
    space = ModelSpace.build(terms, prior=Uniform(), n_observations=60)
    regression = Regression.build(x, (rng.random(60) < 0.5).astype(float), [1] * 80, GPrior("n"))
    gamma = (rng.random((60, 80)) < rng.uniform(0.3, 0.9, size=(60, 1))).astype(np.uint8)
    gamma[::2, 70:] = 0
    centred = x - x.mean(axis=0)
    full = [np.linalg.matrix_rank(centred[:, model == 1]) == model.sum() for model in gamma]
    wide = gamma.sum(axis=1) > TOGETHER
    assert 5 < np.sum(np.array(full)[wide]) < wide.sum() - 5
    np.testing.assert_array_equal(IndependentColumns(regression, space).exists(gamma), full)
