"""Means, standard deviations and quantiles of rows, against numpy's."""

import numpy as np
import pytest

from pyrjsel._core._rows import summaries


@pytest.mark.parametrize("columns", [2, 3, 40, 4000])
@pytest.mark.parametrize("probabilities", [(0.025, 0.975), (0.3, 0.8), (0.0, 1.0), (0.5, 0.0005)])
def test_summaries_are_those_of_numpy(columns, probabilities):
    """Of rows of every width, with a heavy tail on one side, and with many ties."""
    rng = np.random.default_rng(columns)
    noise = rng.normal(size=(3, columns))
    values = np.vstack([7 + noise * [[1e-3], [1], [1e3]], -np.exp(2 * noise), np.round(noise)])
    mean, sd, quantiles = summaries(values, probabilities)
    # Sums of up to 4,000 numbers in another order.
    np.testing.assert_allclose(mean, values.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(sd, values.std(axis=1, ddof=1), rtol=1e-9, atol=1e-12)
    # numpy interpolates from the nearer of the two values: a rounding of their distance.
    gap = np.abs(quantiles - np.quantile(values, probabilities, axis=1).T)
    assert np.all(gap <= 1e-15 * np.abs(values).max(axis=1, keepdims=True))


def test_a_single_column_and_infinite_values():
    mean, sd, quantiles = summaries(np.array([[3.0]]), (0.1, 0.9))
    assert (mean[0], *quantiles[0]) == (3.0, 3.0, 3.0)
    assert np.isnan(sd[0])
    values = np.array([[1.0, np.inf, 2.0, 3.0, np.inf], [1.0, 2.0, 3.0, 4.0, 5.0]])
    mean, sd, quantiles = summaries(values, (0.25, 0.3))
    assert mean[0] == np.inf
    assert np.isnan(sd[0])
    np.testing.assert_allclose(quantiles, [[2.0, 2.2], [2.0, 2.2]])
    assert summaries(np.empty((0, 4)), (0.5,))[2].shape == (0, 1)
