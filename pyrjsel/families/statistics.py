"""Statistics of a response that predictive checks compare between the data and simulated responses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyrjsel._typing import FloatArray

# Groups of observations by expected response, whose observed and expected sums are compared.
GROUPS = 10


@dataclass(frozen=True)
class Statistic:
    """A function of responses (n,), their expectations (n,) and weights (n,).

    Attributes
    ----------
    function : callable
        Returns a number.
    discrepancy : bool
        Whether it depends on the expectations, and so on the coefficients of a draw.
    """

    function: Callable[[FloatArray, FloatArray, FloatArray], object]
    discrepancy: bool = False


def average(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the weighted mean response."""
    return float(weights @ y / weights.sum())


def deviation(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the weighted standard deviation of the responses about their mean."""
    return float(np.sqrt(average((y - average(y, mean, weights)) ** 2, mean, weights)))


def skewness(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the weighted mean cube of standardised responses; 0 if all are equal."""
    if y.min() == y.max():
        return 0.0
    scaled = (y - average(y, mean, weights)) / deviation(y, mean, weights)
    return average(scaled * scaled * scaled, mean, weights)


def smallest(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the smallest response."""
    return float(y.min())


def largest(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the largest response."""
    return float(y.max())


# Of responses that are any number, or any positive one.
OF_NUMBERS = {
    "mean": Statistic(average),
    "sd": Statistic(deviation),
    "min": Statistic(smallest),
    "max": Statistic(largest),
    "skewness": Statistic(skewness),
}


def share_of_zeros(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the proportion of responses that are 0."""
    return float(np.mean(y == 0))


def dispersion_index(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the variance of counts divided by their mean; 1 if all counts are 0."""
    middle = average(y, mean, weights)
    if middle == 0 or y.size == 1:
        return 1.0
    return float(weights @ (y - middle) ** 2 / (y.size - 1) / middle)


def brier(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the mean squared difference between single 0/1 outcomes and their probabilities."""
    return average(y * (1.0 - mean) ** 2 + (1.0 - y) * mean**2, mean, weights)


def pearson(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return Pearson's chi-square of proportions, divided by the number of rows."""
    return float(np.mean(_squares(weights * (y - mean), weights * mean * (1.0 - mean))))


def calibration(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the chi-square statistic of successes in ten groups of observations by their probability.

    Groups have about equal weight, and observations of equal probability are in one group (Hosmer and
    Lemeshow, 1980).
    """
    _, place = np.unique(mean, return_inverse=True)
    tied = np.bincount(place, weights)
    middle = np.cumsum(tied) - 0.5 * tied
    group = np.floor(GROUPS * middle / weights.sum()).astype(np.intp)[place]
    gap: FloatArray = np.bincount(group, weights * (y - mean), GROUPS).astype(float)
    variance: FloatArray = np.bincount(group, weights * mean * (1.0 - mean), GROUPS).astype(float)
    return float(_squares(gap, variance).sum())


def _squares(gap: FloatArray, variance: FloatArray) -> FloatArray:
    """Return squared differences over variances; 0 for empty groups and where probabilities round to 0 or 1.

    An outcome that contradicts a probability rounded to 0 or 1 has a chance of 1e-16.
    """
    return np.divide(gap**2, variance, out=np.zeros_like(gap), where=variance > 0)
