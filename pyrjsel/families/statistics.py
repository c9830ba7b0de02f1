"""Statistics of a response that predictive checks compare between the data and simulated responses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyrjsel._typing import BoolArray, FloatArray, IntArray

# Groups of observations by expected response, whose observed and expected sums are compared.
GROUPS = 10
# Bins of expected responses: only those that more than one group shares are sorted.
BINS = 4096


@dataclass(frozen=True)
class Statistic:
    """A function of responses (n,), their expectations (n,) and weights (n,).

    Attributes
    ----------
    function : callable
        Returns a number.
    discrepancy : bool
        Whether it depends on the expectations, and so on the coefficients of a draw.
    prepared : callable, optional
        Returns the statistic as a function of responses alone from expectations and weights, for several
        responses with the same.
    """

    function: Callable[[FloatArray, FloatArray, FloatArray], object]
    discrepancy: bool = False
    prepared: Callable[[FloatArray, FloatArray], Callable[[FloatArray], object]] | None = None

    def given(self, mean: FloatArray, weights: FloatArray) -> Callable[[FloatArray], object]:
        """Return the statistic as a function of responses alone."""
        if self.prepared is not None:
            return self.prepared(mean, weights)
        return lambda y: self.function(y, mean, weights)


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
    return prepared_brier(mean, weights)(y)


def prepared_brier(mean: FloatArray, weights: FloatArray) -> Callable[[FloatArray], float]:
    """Return :func:`brier` as a function of responses alone."""
    share = weights / weights.sum()
    of_failures, slope = float(share @ (mean * mean)), share * (1.0 - 2.0 * mean)
    return lambda y: of_failures + float(slope @ y)


def pearson(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return Pearson's chi-square of proportions, divided by the number of rows."""
    return float(np.mean(_squares(weights * (y - mean), weights * mean * (1.0 - mean))))


def calibration(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the chi-square statistic of successes in ten groups of observations by their probability.

    Groups have about equal weight, and observations of equal probability are in one group (Hosmer and
    Lemeshow, 1980).
    """
    return prepared_calibration(mean, weights)(y)


def prepared_calibration(mean: FloatArray, weights: FloatArray) -> Callable[[FloatArray], float]:
    """Return :func:`calibration` as a function of responses alone."""
    group, expected = groups(mean, weights), weights * mean
    variance: FloatArray = np.bincount(group, expected * (1.0 - mean), GROUPS).astype(float)
    total: FloatArray = np.bincount(group, expected, GROUPS).astype(float)
    return lambda y: float(_squares(np.bincount(group, weights * y, GROUPS) - total, variance).sum())


def groups(mean: FloatArray, weights: FloatArray) -> IntArray:
    """Return the group of each observation: of its rank by weight, that of the middle of tied ones."""
    low = float(mean.min())
    # A little less than BINS, so that the largest is in the last bin.
    scale = BINS * (1.0 - 1e-12) / max(float(mean.max()) - low, np.finfo(float).tiny * BINS)
    place = ((mean - low) * scale).astype(np.intp)
    width = np.bincount(place, weights, BINS)
    ends, total = np.cumsum(width), float(width.sum())
    first, last = (np.floor(GROUPS * end / total).astype(np.intp) for end in (ends - width, ends))
    group, shared = np.minimum(first, GROUPS - 1)[place], first < last
    rest = np.flatnonzero(shared[place])
    # Ranks within the shared bins, and behind the weight of the others.
    values, inverse = np.unique(mean[rest], return_inverse=True)
    tied = np.bincount(inverse, weights[rest])
    owner = ((values - low) * scale).astype(np.intp)
    behind = np.cumsum(np.where(shared, 0.0, width))[owner]
    group[rest] = np.floor(GROUPS * (behind + np.cumsum(tied) - 0.5 * tied) / total).astype(np.intp)[inverse]
    return group


def _squares(gap: FloatArray, variance: FloatArray) -> FloatArray:
    """Return squared differences over variances; 0 for empty groups and where probabilities round to 0 or 1.

    An outcome that contradicts a probability rounded to 0 or 1 has a chance of 1e-16.
    """
    return np.divide(gap**2, variance, out=np.zeros_like(gap), where=variance > 0)


def are_counted(y: FloatArray, weights: FloatArray | None) -> BoolArray:
    """Return which responses are whole, or means of whole numbers of which `weights` are the numbers."""
    whole = y == np.floor(y)
    if weights is None:
        return np.asarray(whole)
    events = weights * y
    # Means may have been rounded, to single precision or better.
    return np.asarray(whole | (np.abs(events - np.round(events)) <= 1e-7 * np.maximum(events, 1.0)))
