"""The Poisson family with the log link."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pyrjsel._core import special
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel.families._family import LOG, Passes
from pyrjsel.families.family import Family, Values, share
from pyrjsel.families.statistics import (
    Statistic,
    are_counted,
    average,
    dispersion_index,
    largest,
    share_of_zeros,
)

# If the maximum of the likelihood is at infinity, fitted rates go to 0. The search stops when a
# step gains less than 1e-9, at rates near exp(-20), or less than the rounding error of the log-likelihood, at
# rates some exp(-20) times the largest.
LOW, SPAN = 8.0, 18.0
# Counts above this are treated as infinite.
ENDLESS = 1e300
# Quantiles of a mixture are bracketed by every 64th of its means first, then by every eighth.
STRIDES = (64, 8, 1)
# Larger whole numbers are not all floats, and numpy cannot draw counts with much larger means.
WHOLE = 2.0**53


class LogLink(Family):
    """Base of the families with the log link."""

    link: ClassVar[str] = "log"
    unbounded: ClassVar[bool] = True

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the mean at linear predictor `eta`, of the same shape."""
        with np.errstate(over="ignore"):  # overflow to inf is intended
            return np.exp(eta)

    def linear(self, mean: float) -> float:
        """Return the logarithm of `mean`."""
        return float(np.log(mean))


@dataclass(frozen=True)
class Poisson(LogLink):
    """Counts, log link.

    The response is a whole number, or the mean count of several rows with their number as weight.
    The log-likelihood of a row is ``w (y eta - exp(eta))``, without ``w log y!``, which is the same in all
    models. An offset is the logarithm of an exposure.
    """

    name: ClassVar[str] = "poisson"
    passes: ClassVar[Passes] = LOG
    apart: ClassVar[str] = "The observations without events are separated"
    remedy: ClassVar[str] = " A negative binomial model (negbin) estimates the dispersion."

    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless `y` (n,) and `weights` (n,) or None are usable."""
        if y.size == 0:
            raise DataError("There are no rows to fit: the data are empty.")
        if np.any(y < 0):
            raise DataError(f"The response {response!r} must be counts of at least 0. Got {y.min():g}.")
        if weights is not None:
            if np.any(weights < 0):
                raise DataError(f"The 'weights' must be non-negative. Got {weights.min():g}.")
            if not np.any(weights > 0):
                raise DataError("The 'weights' must have a positive value. Got only zeros.")
        whole = are_counted(y, weights)
        if not np.all(whole):
            odd = y[~whole]
            raise DataError(
                f"The response {response!r} must be whole numbers, or mean counts with weights= giving the "
                f"number of rows behind each. Got {odd[0]:g} ({odd.size} value(s) like this)."
            )
        if not np.any(y > 0 if weights is None else weights * y > 0):
            raise DataError(f"The response {response!r} must have a positive count. Got only zeros.")

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return minus the second derivative of the log-likelihood in eta, where the mean is `mean`."""
        return mean

    def tells_dispersion(self, weights: FloatArray) -> bool:
        """Return True: counts have the variance of their mean."""
        return True

    def excess(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a squared standardised residual minus 2, for an observation of weight 1."""
        return 1.0 / mean

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood without factorials; -inf where a mean is infinite."""
        # mathematics: selection-poisson
        terms = y * eta - self.mean(eta)
        if weights is None:
            return float(np.sum(terms))
        return float(weights[weights > 0] @ terms[weights > 0])

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood of the saturated model, without factorials."""
        terms = special.xlogy(y, y) - y
        return float(np.sum(terms if weights is None else weights * terms))

    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return the intercept of the model without terms, under a flat prior."""
        events = max(float(weights @ y), 0.5)  # no events would have no maximum
        return float(np.log(events) - special.logsumexp(offset, b=weights))

    def recession(self, y: FloatArray) -> FloatArray:
        """Return -1 for rows without events, 0 for others."""
        return np.where(y == 0, -1.0, 0.0)

    def strays(self, smallest: float, largest: float) -> bool:
        """Return whether the smallest fitted rate may be going to 0."""
        return smallest < -LOW or largest - smallest > SPAN

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return the smallest counts whose cumulative probability reaches alpha/2 and 1 - alpha/2."""
        means = np.sort(np.minimum(means, ENDLESS), axis=1)
        ends = np.column_stack([mixture_quantile(means, p) for p in (alpha / 2, 1 - alpha / 2)])
        return np.where(ends >= ENDLESS, np.inf, ends)

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw counts, or means of as many counts as the weights say; inf where the mean is."""
        with np.errstate(over="ignore"):
            total = weights[:, None] * mean
        counts = rng.poisson(np.minimum(total, WHOLE)).astype(float)
        far = (total > WHOLE) & np.isfinite(total)
        # Rounding errors are larger there than the error of the normal approximation.
        counts[far] = total[far] + np.sqrt(total[far]) * rng.standard_normal(int(far.sum()))
        counts[np.isinf(total)] = np.inf
        return np.asarray(counts / weights[:, None])

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return log probabilities of the counts ``w y``, with factorials; -inf where a mean is infinite.

        Factorials of non-integers are gamma functions.
        """
        count = weights * y
        constant = count * np.log(weights) - special.gammaln(count + 1)
        with np.errstate(over="ignore"):
            return constant[:, None] + count[:, None] * eta - weights[:, None] * self.mean(eta)

    def statistics(self, weights: FloatArray) -> dict[str, Statistic]:
        """Return the mean, the variance to mean ratio, the proportion of zeros and the largest count."""
        return {
            "mean": Statistic(average),
            "dispersion_index": Statistic(dispersion_index),
            "zeros": Statistic(share_of_zeros),
            "max": Statistic(largest),
        }

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the number of events, and of observations without events."""
        rows = np.ones(y.size) if weights is None else weights
        total = float(rows.sum())
        return [
            ("Events", f"{rows @ y:,.6g} ({rows @ y / total:.4g} per observation)"),
            ("Zero counts", share(float(rows @ (y == 0)), total)),
        ]


def mixture_quantile(means: FloatArray, p: float) -> FloatArray:
    """Return the smallest counts (rows,) at which mixtures of Poisson distributions reach probability `p`.

    `means` (rows, m) in ascending order, m components of equal weight per row. A distribution function falls
    as its mean rises: a block of components lies between those with its smallest and its largest mean.
    """
    rows, m = means.shape
    top = means[:, -1]
    reach = 10.0 + 10.0 * np.sqrt(top)
    while np.any(short := special.pdtr(np.ceil(top + reach), top) < p):
        reach[short] *= 2.0
    low, high = np.full(rows, -1.0), np.ceil(top + reach)
    for stride in STRIDES:
        starts = np.arange(0, m, stride)
        ends = np.minimum(starts + stride, m) - 1
        weight = (ends - starts + 1) / m
        above = _smallest(means[:, ends], weight, p, low, high)
        if stride > 1:
            low = _smallest(means[:, starts], weight, p, low, above) - 1.0
        high = above
    return high


def _smallest(
    means: FloatArray, weight: FloatArray, p: float, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return the smallest counts in (low, high] at which mixtures reach `p`; at `high` they do."""
    low, high = low.copy(), high.copy()
    while True:
        middle = np.floor(low + 0.5 * (high - low))
        rows = np.flatnonzero((middle > low) & (middle < high))
        if not rows.size:
            return high
        reached = special.pdtr(middle[rows, None], means[rows]) @ weight >= p
        high[rows[reached]] = middle[rows[reached]]
        low[rows[~reached]] = middle[rows[~reached]]
