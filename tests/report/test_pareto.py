"""Shapes of the tails of draws."""

import numpy as np
import pytest
from scipy import stats

from pyrjsel.report.errors import pareto_shapes


@pytest.mark.parametrize("k", [0.0, 0.4, 0.7, 1.2])
def test_shapes_of_known_tails(k):
    """Quantiles of a generalised Pareto distribution, whose tail has the same shape, in any unit."""
    m = 4000
    x = stats.genpareto.ppf((np.arange(m) + 0.5) / m, k)
    found = pareto_shapes(np.stack([x, 1e-200 * x, x[::-1], np.exp(-x)]))
    np.testing.assert_allclose(found[1:3], found[0], rtol=1e-9)
    # The prior mean of 1/2 has the weight of 10 of 189 values; the estimate is biased by some 1 / 189.
    assert found[0] == pytest.approx((189 * k + 5) / 199, abs=0.02)
    assert found[3] < 0.1


def test_random_tails():
    """Six standard errors, (1 + k) / sqrt(189), of the average of 50 rows: 1 in 5e8."""
    k = 0.7
    x = stats.genpareto.rvs(k, size=(50, 4000), random_state=np.random.default_rng(3))
    assert pareto_shapes(x).mean() == pytest.approx(k, abs=6 * (1 + k) / np.sqrt(189 * 50) + 0.02)


def test_tails_without_a_shape():
    few, equal = np.arange(1.0, 25.0), np.ones(100)
    assert pareto_shapes(few[None]).tolist() == [-np.inf]
    assert pareto_shapes(equal[None]).tolist() == [-np.inf]
    assert pareto_shapes(np.empty((0, 100))).shape == (0,)
