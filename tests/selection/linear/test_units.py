"""Columns in units that are powers of ten apart, under priors that do not scale with sigma."""

from itertools import permutations

import numpy as np
import pytest

from pyrjsel.selection.gaussian import GaussianRegression
from pyrjsel.selection.priors import Normal
from pyrjsel.selection.single import SingleModels
from pyrjsel.selection.spike_models import SpikeModels
from pyrjsel.selection.spikes import SpikeSlab


@pytest.mark.parametrize(
    ("prior", "single"), [(Normal(10.0, scaled=False), SingleModels), (SpikeSlab(0.1, 1e4), SpikeModels)]
)
def test_the_order_of_columns_is_no_matter(prior, single):
    """Eigenvalues found in the order of the columns, 1e18 apart, moved log marginal likelihoods by 0.004."""
    rng = np.random.default_rng(4)
    units = np.array([1e6, 1.0, 1e-3])
    x = (rng.normal(size=(100, 3)) + 0.5 * rng.normal(size=(100, 1))) * units
    y = x @ (0.4 / units) + rng.normal(size=100)
    found = []
    for order in permutations(range(3)):
        regression = GaussianRegression.build(x[:, order], y, [1, 1, 1], prior)
        inside = np.isin(order, (0, 2)).astype(np.uint8)
        both = single(regression)
        found.append([both.log_marginal(np.ones(3, dtype=np.uint8)), both.log_marginal(inside)])
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (6, 2)), rtol=0, atol=1e-9)
