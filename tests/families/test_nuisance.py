"""Nuisance parameters behind coefficients."""

import numpy as np

from pyrjsel.families import Binomial, Gaussian, NegativeBinomial, Nuisance, Poisson


def test_vectors_are_split_and_joined():
    slot = Nuisance(("dispersion", "df"), ("log_g",))
    vectors = np.arange(12.0).reshape(2, 6)
    coefficients, values = slot.split(vectors)
    np.testing.assert_array_equal(coefficients, vectors[:, :3])
    assert {name: list(value) for name, value in values.items()} == {"dispersion": [3, 9], "df": [4, 10]}
    # Parameters of states alone are not in draws.
    again = vectors.copy()
    again[:, 5] = 0.0
    np.testing.assert_array_equal(slot.join(coefficients, values), again)


def test_families_name_theirs():
    assert Gaussian().nuisance.names == ("variance",)
    assert len(Gaussian().nuisance) == 1
    assert NegativeBinomial().nuisance.names == ("theta",)
    for family in (Binomial(), Poisson(), NegativeBinomial(2.0)):
        assert len(family.nuisance) == 0
        coefficients, values = family.nuisance.split(np.ones((2, 3)))
        assert (coefficients.shape, values) == ((2, 3), {})
