"""Binomial responses under other links than the logit."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel.families._binary import CLOGLOG, PROBIT
from pyrjsel.families._family import Passes
from pyrjsel.families.binomial import Binomial
from pyrjsel.families.family import Values

# Odds beyond which a maximum is suspected to be at infinity, as for the logit link.
ODDS = 1e6


class OtherLink(Binomial):
    """Base of the links, from the probability, its derivative, and logarithms of probabilities."""

    @abstractmethod
    def slope(self, mean: FloatArray) -> FloatArray:
        """Return the derivative of the success probability in eta where it is `mean`."""

    @abstractmethod
    def log_chances(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log probabilities of success and of failure at `eta`."""

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a single outcome of probability `mean`."""
        return mean * (1.0 - mean)

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return the expected information on eta where the success probability is `mean`."""
        return self.slope(mean) * self._per_variance(mean)

    def score(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the derivative of the log-likelihood in eta; 0 where `mean` is 0 or 1 up to rounding."""
        return (y - mean) * self._per_variance(mean)

    def _per_variance(self, mean: FloatArray) -> FloatArray:
        variance = self.variance(mean)
        known = variance > 0
        return np.divide(self.slope(mean), variance, out=np.zeros_like(variance), where=known)

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood without binomial coefficients."""
        terms = self._terms(y, 1.0 - y, eta)
        return float(np.sum(terms if weights is None else weights * terms))

    def _terms(self, success: FloatArray, failure: FloatArray, eta: FloatArray) -> FloatArray:
        # Impossible outcomes that did not occur have a log probability of -inf.
        parts = zip((success, failure), self.log_chances(eta), strict=True)
        return np.asarray(sum(part * np.where(part > 0, chance, 0.0) for part, chance in parts))

    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return an approximate intercept of the model without terms."""
        total = float(weights.sum())
        return self.linear(float((weights @ y + 0.5) / (total + 1.0))) - float(weights @ offset / total)

    def strays(self, smallest: float, largest: float) -> bool:
        """Return whether the most extreme fitted odds may be diverging to 0 or infinity."""
        rare = 1.0 / (1.0 + ODDS)
        return smallest < self.linear(rare) or largest > self.linear(1.0 - rare)

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return log probabilities of the numbers of successes ``w y``, including binomial coefficients.

        Factorials of non-integers are gamma functions.
        """
        ways = (
            special.gammaln(weights + 1)
            - special.gammaln(weights * y + 1)
            - special.gammaln(weights * (1 - y) + 1)
        )
        success, failure = (weights * y)[:, None], (weights * (1 - y))[:, None]
        return ways[:, None] + self._terms(success, failure, eta)


@dataclass(frozen=True)
class Probit(OtherLink):
    """Binomial responses, probit link: the success probability is ``Phi(eta)``.

    The log-likelihood of a row is ``w (y log Phi(eta) + (1 - y) log Phi(-eta))``.
    """

    link: ClassVar[str] = "probit"
    passes: ClassVar[Passes] = PROBIT

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the success probability at linear predictor `eta`, of the same shape."""
        return np.asarray(special.ndtr(eta))

    def linear(self, mean: float) -> float:
        """Return the quantile of the standard normal distribution at `mean`."""
        return float(special.ndtri(mean))

    def slope(self, mean: FloatArray) -> FloatArray:
        """Return the normal density at the quantile of `mean`."""
        return np.asarray(np.exp(-0.5 * special.ndtri(mean) ** 2) / np.sqrt(2.0 * np.pi))

    def log_chances(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log probabilities of success and of failure at `eta`."""
        # mathematics: selection-probit
        return np.asarray(special.log_ndtr(eta)), np.asarray(special.log_ndtr(-eta))


@dataclass(frozen=True)
class Cloglog(OtherLink):
    """Binomial responses, complementary log-log link: the success probability is ``1 - exp(-exp(eta))``.

    The log-likelihood of a row is ``w (y log(1 - exp(-exp(eta))) - (1 - y) exp(eta))``.
    """

    link: ClassVar[str] = "cloglog"
    passes: ClassVar[Passes] = CLOGLOG

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the success probability at linear predictor `eta`, of the same shape."""
        with np.errstate(over="ignore"):  # an infinite rate means a probability of 1
            return np.asarray(-np.expm1(-np.exp(eta)))

    def linear(self, mean: float) -> float:
        """Return the logarithm of minus the log probability of failure."""
        return float(np.log(-np.log1p(-mean)))

    def slope(self, mean: FloatArray) -> FloatArray:
        """Return ``-(1 - mean) log(1 - mean)``."""
        failure = 1.0 - np.asarray(mean, dtype=float)
        return -failure * np.log(failure, out=np.zeros_like(failure), where=failure > 0)

    def log_chances(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log probabilities of success and of failure at `eta`."""
        # mathematics: selection-cloglog
        with np.errstate(over="ignore", divide="ignore"):  # log(0) of impossible outcomes is intended
            rate = np.exp(eta)
            # log(1 - exp(-rate)): each form is exact where it is used.
            small = np.where(rate < 1.0, rate, 1.0)
            success = np.where(rate < 1.0, np.log(-np.expm1(-small)), np.log1p(-np.exp(-rate)))
        return success, -rate
