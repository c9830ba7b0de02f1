"""Shapes of the tails of draws, which tell whether averages over them converge."""

import numpy as np

from pyrjsel._typing import FloatArray

# Above this shape averages over draws do not converge in practice (Vehtari et al. 2024, "Pareto smoothed
# importance sampling", JMLR 25); above 1 there is no expectation.
UNRELIABLE = 0.7
# Fewest values in a tail; the shape of fewer is not estimated.
FEWEST = 5
# Weight, in values of the tail, and mean of a prior on the shape.
PRIOR_WEIGHT, PRIOR_SHAPE = 10.0, 0.5


def pareto_shapes(values: FloatArray) -> FloatArray:
    """Return shapes k of generalised Pareto distributions of the largest values of each row.

    Of the ``min(m / 5, 3 sqrt(m))`` largest, by the empirical Bayes method of Zhang and Stephens (2009); -inf
    for fewer than five, and where most of them are equal.

    Parameters
    ----------
    values : ndarray (rows, m)
        Positive draws, in any unit.
    """
    m = values.shape[1]
    count = int(min(m / 5.0, 3.0 * np.sqrt(m)))
    out = np.full(len(values), -np.inf)
    if count < FEWEST:
        return out
    ordered = np.sort(np.partition(values, m - count - 1, axis=1)[:, m - count - 1 :], axis=1)
    x = ordered[:, 1:] - ordered[:, :1]
    quarter = x[:, int(count / 4.0 + 0.5) - 1]
    known = np.flatnonzero(quarter > 0.0)
    x, quarter = x[known], quarter[known]
    points = 30 + int(np.sqrt(count))
    place = 1.0 - np.sqrt(points / (np.arange(points) + 0.5))
    rate = 1.0 / x[:, -1:] + place / (3.0 * quarter[:, None])
    shape = np.log1p(-rate[:, :, None] * x[:, None]).mean(axis=2)
    fit = count * (np.log(-rate / shape) - shape - 1.0)
    weight = np.exp(fit - fit.max(axis=1, keepdims=True))
    rate = (weight * rate).sum(axis=1) / weight.sum(axis=1)
    found = np.log1p(-rate[:, None] * x).mean(axis=1)
    out[known] = (count * found + PRIOR_WEIGHT * PRIOR_SHAPE) / (count + PRIOR_WEIGHT)
    return out
