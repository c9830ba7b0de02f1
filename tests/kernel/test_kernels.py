"""Kernels between points, and the width that the median distance gives."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import pyrjsel as rj
from pyrjsel.kernel.kernels import KINDS, Kernel, make_kernel, median_width

FORMULAS = {
    "gaussian": lambda r: np.exp(-0.5 * r**2),
    "matern32": lambda r: (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r),
    "matern52": lambda r: (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r),
    "laplace": lambda r: np.exp(-r),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("d", [1, 4])
def test_compiled_kernels_are_their_formulas(name, d):
    rng = np.random.default_rng(1)
    x, centres = rng.normal(size=(7, d)), rng.normal(size=(3, d))
    found = Kernel(name, 0.7)(x, centres)
    # A few roundings of a distance whose relative error is some units in the last place.
    np.testing.assert_allclose(found, FORMULAS[name](cdist(x, centres) / 0.7), rtol=1e-13, atol=0)
    assert Kernel(name, 0.7)(x, x[:1])[0, 0] == 1.0
    # What strides the points have is of no matter.
    assert (Kernel(name, 0.7)(np.asfortranarray(x), centres) == found).all()


@pytest.mark.parametrize("name", KINDS)
def test_kernels_vanish_at_distances_whose_squares_overflow(name):
    found = Kernel(name, 1e-200)(np.array([[0.0], [1.0]]), np.zeros((1, 1)))
    assert found.tolist() == [[1.0], [0.0]]


def test_the_two_conventions_of_the_gaussian():
    x, centres = np.array([[0.3], [2.0]]), np.array([[1.0]])
    distance = np.abs(x - 1.0)
    wide = make_kernel("gaussian", 1.6, "2w2")(x, centres)
    narrow = make_kernel("gaussian", 1.6, "w2")(x, centres)
    np.testing.assert_allclose(wide, np.exp(-(distance**2) / (2 * 1.6**2)), rtol=1e-14)
    np.testing.assert_allclose(narrow, np.exp(-(distance**2) / 1.6**2), rtol=1e-14)
    with pytest.raises(rj.ParameterError, match="'convention' parameter of make_kernel must be '2w2' unless"):
        make_kernel("laplace", 1.0, "w2")
    with pytest.raises(rj.ParameterError, match="must be one of '2w2', 'w2'"):
        make_kernel("gaussian", 1.0, "w")


def test_a_function_gets_points_in_widths():
    def cosine(x, centres):
        return np.cos(x @ centres.T)

    kernel = make_kernel(cosine, 2.0, "2w2")
    assert kernel.name == "cosine"
    x = np.array([[1.0, 2.0], [3.0, 1.0]])
    np.testing.assert_allclose(kernel(x, x[:1]), np.cos(x @ x[:1].T / 4.0), rtol=1e-15)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x, c: np.ones(len(x)), r"of shape \(4, 2\).* Got float64 of shape \(4,\)"),
        (lambda x, c: np.full((len(x), len(c)), np.nan), "NaN or infinite"),
        (lambda x, c: np.full((len(x), len(c)), "a"), "finite numbers"),
        (lambda x, c: np.ones((len(x), len(c))) * 1j, "Got complex128"),
    ],
)
def test_a_function_that_returns_something_else(function, said):
    with pytest.raises(rj.DataError, match=said):
        make_kernel(function, 1.0, "2w2")(np.zeros((4, 1)), np.zeros((2, 1)))


def test_what_is_no_kernel():
    for kernel in ("cosine", 3, None):
        with pytest.raises(
            rj.ParameterError, match="'kernel' parameter of make_kernel must be one of 'gaussian'"
        ):
            make_kernel(kernel, 1.0, "2w2")


def test_the_median_width():
    x = np.array([[0.0], [1.0], [5.0]])  # distances 1, 4, 5
    assert median_width(x) == 4.0
    rng = np.random.default_rng(2)
    many = rng.normal(size=(5000, 1))
    # The median of |N(0, 2)| is 0.954; 1,000 rows give it to about 2 %.
    assert abs(median_width(many) - 0.954) < 0.06
    for same in (np.zeros((9, 2)), np.zeros((1, 1))):
        with pytest.raises(rj.DataError, match="'median' of median_width needs rows"):
            median_width(same)
