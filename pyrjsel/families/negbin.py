"""The negative binomial family with the log link."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel.families._family import LOGIT, JointPass, Passes, derivatives, log_likelihoods
from pyrjsel.families._sized import NEGBIN
from pyrjsel.families.family import Values
from pyrjsel.families.poisson import ENDLESS, Poisson
from pyrjsel.families.sized import Sized

# Distribution functions are evaluated for at most this many components at a time.
AT_ONCE = 2**21


@dataclass(frozen=True)
class NegativeBinomial(Sized, Poisson):
    """Counts with variance ``mu + mu^2 / theta``, log link.

    With ``eta' = eta - log(theta)``, the log-likelihood of a row is

        w (y eta' - (y + theta) log(1 + exp(eta')))

    up to a function of theta: that of y successes out of y + theta trials with the offset -log(theta), which
    is the form for compiled passes. The response of weight w is the mean of w counts, whose sum has the size
    w theta.

    The size is theta; `table` has the distinct pairs of a sum of counts and its number of counts, and how
    often each occurs.
    """

    name: ClassVar[str] = "negbin"
    parameter: ClassVar[str] = "theta"
    passes: ClassVar[Passes] = LOGIT
    joint_pass: ClassVar[JointPass] = NEGBIN
    keys: ClassVar[int] = 2
    share: ClassVar[float] = 1.0
    remedy: ClassVar[str] = " Leave out theta to estimate the dispersion."

    @classmethod
    def entries(cls, y: FloatArray, w: FloatArray) -> FloatArray:
        """Return sums of counts, numbers of counts, and how often each pair occurs."""
        return np.stack([w * y, w, np.ones(y.size)])

    def gammas(self) -> tuple[FloatArray, tuple[float, float]]:
        """Return the ratios of gamma functions, and the factorials."""
        assert self.table is not None
        sums, number, times = self.table[:, self.table[0] > 0]
        above, below = np.stack([sums, number, times]), np.stack([0.0 * sums, number, -times])
        # A numerator and its denominator, by turns, whose logarithms nearly cancel.
        mixed = np.stack([above, below], axis=2).reshape(3, -1)
        return np.ascontiguousarray(mixed), (0.0, -float(times @ special.gammaln(sums + 1.0)))

    def terms(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the terms with eta and their derivatives; see :meth:`Sized.terms`."""
        theta, away, wy = np.exp(t), np.ascontiguousarray(eta - t[:, None]), w * y
        value, residual, weight = derivatives(self.passes, away, wy, wy, w, theta)
        # Derivatives of the part w theta of weights.
        none = np.zeros(y.size)
        rest = -log_likelihoods(self.passes, away, none, none, w, theta)
        # Theta times the share of mu in mu + theta.
        expected = theta[:, None] * (wy - residual) / (y + theta[:, None])
        slope = -residual.sum(axis=1) - rest
        curve = weight.sum(axis=1) - 2.0 * expected.sum(axis=1) + rest
        return value, residual, weight, slope, curve, expected - weight

    def values(self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray) -> FloatArray:
        """Return the terms with eta; see :meth:`Sized.values`."""
        away, wy = np.ascontiguousarray(eta - t[:, None]), w * y
        return log_likelihoods(self.passes, away, wy, wy, w, np.exp(t))

    def constants(self, size: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ratios of gamma functions and factorials; see :meth:`Sized.constants`."""
        assert self.table is not None
        sums, number, times = self.table
        theta = np.multiply.outer(size, number)
        slope = theta * (special.digamma(sums + theta) - special.digamma(theta))
        bend = theta**2 * (special.polygamma(1, sums + theta) - special.polygamma(1, theta))
        return self.constant(size), slope @ times, (slope + bend) @ times

    def constant(self, size: FloatArray) -> FloatArray:
        """Return the first of them alone."""
        assert self.table is not None
        sums, number, times = self.table
        rising = log_rising(np.multiply.outer(size, number), sums)
        return np.asarray(rising @ times - times @ special.gammaln(sums + 1.0))

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return the expected information on eta, where the mean is `mean`."""
        mean = np.minimum(mean, ENDLESS)  # theta for an infinite one
        return mean * self._share(mean)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a response of weight 1 where the mean is `mean`."""
        return np.asarray(mean * (1.0 + mean / self.size))

    def score(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the derivative of the log-likelihood in eta at expectation `mean`, for weights of 1."""
        mean = np.minimum(mean, ENDLESS)  # an infinite mean has the score -theta
        return (y - mean) * self._share(mean)

    def _share(self, mean: FloatArray) -> FloatArray:
        return np.asarray(1.0 / (1.0 + mean / self.size))

    def excess(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a squared standardised residual minus 2, for an observation of weight 1."""
        return 6.0 / self.size + 1.0 / self.variance(mean)

    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless `y` (n,) and `weights` (n,) or None are usable."""
        super().check(y, weights, response)
        self.check_weights(weights)

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood without terms that depend on theta and the response alone."""
        away = eta - np.log(self.size)
        terms = y * special.log_expit(away) + self.size * special.log_expit(-away)
        if weights is None:
            return float(np.sum(terms))
        return float(weights[weights > 0] @ terms[weights > 0])

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood of the saturated model, without the same terms.

        If theta is unknown, it is that of Poisson counts, the supremum over theta, with all constants.
        """
        if self.value is None:
            w = np.ones(y.size) if weights is None else weights
            used = w > 0
            return super().saturated(y, weights) + Poisson().log_constant(y[used], w[used])
        theta = self.size
        terms = special.xlogy(y, y) + theta * np.log(theta) - (y + theta) * np.log(y + theta)
        return float(np.sum(terms if weights is None else weights * terms))

    def strays(self, smallest: float, largest: float) -> bool:
        """Return whether the smallest fitted rate may be going to 0."""
        return super().strays(smallest + float(np.log(self.size)), largest + float(np.log(self.size)))

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return the smallest counts whose cumulative probability reaches alpha/2 and 1 - alpha/2."""
        theta = self.sizes(nuisance, means.shape[1])
        ends = [mixture_quantile(means, theta, p) for p in (alpha / 2, 1 - alpha / 2)]
        return np.column_stack(ends)

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw counts, or means of as many counts as the weights say; inf where the mean is."""
        size = weights[:, None] * self.sizes(nuisance, mean.shape[1])
        return super().simulate(mean * (rng.standard_gamma(size) / size), weights, nuisance, rng)

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return log probabilities of the counts ``w y``; factorials of non-integers are gamma functions."""
        # mathematics: selection-negbin
        theta = self.sizes(nuisance, eta.shape[1])
        away = eta - np.log(theta)
        count, size = (weights * y)[:, None], weights[:, None] * theta
        constant = log_rising(size, count) - special.gammaln(count + 1.0)
        return np.asarray(constant + count * special.log_expit(away) + size * special.log_expit(-away))

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the number of events, of observations without events, and what is known of theta."""
        return [*super().facts(y, weights), self.size_fact()]


def log_rising(size: FloatArray, count: FloatArray) -> FloatArray:
    """Return ``log Gamma(size + count) - log Gamma(size)``, without cancellation for large sizes."""
    some = np.maximum(count, 1e-300)
    return np.asarray(np.where(count > 0, special.gammaln(some) - special.log_beta(some, size), 0.0))


def mixture_quantile(means: FloatArray, theta: FloatArray, p: float) -> FloatArray:
    """Return the smallest counts (rows,) at which mixtures of negative binomials reach probability `p`.

    `means` (rows, m) and sizes `theta` (m,) of components of equal weight.
    """
    step = max(1, AT_ONCE // means.shape[1])
    parts = [_quantiles(means[at : at + step], theta, p) for at in range(0, len(means), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def _quantiles(means: FloatArray, theta: FloatArray, p: float) -> FloatArray:
    """Return the same by bisection, from a bracket around the quantile at the mean of the components."""

    def reaches(count: FloatArray, rows: Any) -> Any:
        share = 1.0 / (1.0 + means[rows] / theta)
        below = special.betainc(theta, np.maximum(count, 0.0)[:, None] + 1.0, share)
        return np.where(count < 0, False, below.mean(axis=1) >= p)

    middle, size = np.minimum(means.mean(axis=1), ENDLESS), float(theta.mean())
    first = np.minimum(np.floor(middle * (special.gammaincinv(size, p) / size)), ENDLESS)
    reach = 1.0 + np.sqrt(first)
    high, low = np.maximum(first, 0.0), np.maximum(first, 0.0) - 1.0
    short = np.flatnonzero(~reaches(high, slice(None)))
    while short.size:
        low[short] = high[short]
        high[short] += reach[short]
        reach[short] *= 2.0
        short = short[~reaches(high[short], short) & (high[short] < ENDLESS)]
    reach = 1.0 + np.sqrt(first)
    long = np.flatnonzero(reaches(low, slice(None)))
    while long.size:
        high[long] = low[long]
        low[long] = np.maximum(low[long] - reach[long], -1.0)
        reach[long] *= 2.0
        long = long[reaches(low[long], long)]
    while True:
        half = np.floor(low + 0.5 * (high - low))
        rows = np.flatnonzero((half > low) & (half < high))
        if not rows.size:
            return np.where(high >= ENDLESS, np.inf, high)
        found = reaches(half[rows], rows)
        high[rows[found]] = half[rows[found]]
        low[rows[~found]] = half[rows[~found]]
