"""Cholesky factors and triangular solutions against scipy."""

import numpy as np
import pytest
import scipy.linalg

from pyrjsel._core._linalg import factor_and_solve

EPS = 2.0**-52


def matrix(d, condition, seed):
    """A symmetric matrix with eigenvalues between 1 and `condition`, exactly symmetric."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    a = (q * np.geomspace(1, condition, d)) @ q.T
    return np.ascontiguousarray(0.5 * (a + a.T)), rng.normal(size=d)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("d", [1, 2, 3, 7, 16, 33, 64, 100])
def test_factor_and_solutions(d, condition):
    a, b = matrix(d, condition, d)
    half, full, log_det = factor_and_solve(a, b)
    factor = scipy.linalg.cholesky(a, lower=True)
    # Forward errors of Cholesky: a small multiple of d eps times the condition number.
    slack = 8 * d * EPS
    want = scipy.linalg.solve_triangular(factor, b, lower=True)
    np.testing.assert_allclose(half, want, rtol=0, atol=slack * condition * np.linalg.norm(want))
    want = scipy.linalg.solve(a, b, assume_a="pos")
    np.testing.assert_allclose(full, want, rtol=0, atol=slack * condition * np.linalg.norm(want))
    # Backward errors do not depend on the condition.
    assert np.linalg.norm(a @ full - b) <= slack * (
        np.linalg.norm(a) * np.linalg.norm(full) + np.linalg.norm(b)
    )
    np.testing.assert_allclose(half @ half, b @ full, rtol=slack * condition)
    sign, want_det = np.linalg.slogdet(a)
    assert sign == 1
    assert log_det == pytest.approx(want_det, abs=slack * condition)


def test_nothing_is_nothing():
    half, full, log_det = factor_and_solve(np.empty((0, 0)), np.empty(0))
    assert (half.size, full.size, log_det) == (0, 0, 0.0)


def test_arguments_are_left_as_they_are():
    a, b = matrix(5, 10.0, 1)
    before = a.copy(), b.copy()
    a.setflags(write=False)
    b.setflags(write=False)
    factor_and_solve(a, b)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


@pytest.mark.parametrize(
    "a",
    [
        np.array([[-1.0]]),
        np.array([[0.0]]),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.ones((3, 3)),
    ],
)
def test_matrices_that_are_not_positive_definite_are_refused(a):
    with pytest.raises(ValueError, match="not positive definite"):
        factor_and_solve(a, np.ones(len(a)))


def test_nan_is_refused_or_stays():
    """LAPACKs differ: some stop at NaN. None may turn it into a number."""
    a = np.array([[1.0, 0.0], [0.0, np.nan]])
    try:
        _, full, log_det = factor_and_solve(a, np.ones(2))
    except ValueError:
        full, log_det = np.array([np.nan]), np.nan
    assert np.isnan(log_det)
    assert np.isnan(full).any()


@pytest.mark.parametrize("shapes", [((2, 3), 2), ((3, 3), 2), ((0, 3), 0)])
def test_shapes_that_do_not_fit_are_refused(shapes):
    with pytest.raises(ValueError, match="square"):
        factor_and_solve(np.ones(shapes[0]), np.ones(shapes[1]))
