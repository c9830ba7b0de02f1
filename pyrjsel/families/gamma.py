"""The gamma family with the log link."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from pyrjsel._core import special
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel.families._family import POSITIVE, JointPass, Passes
from pyrjsel.families._sized import GAMMA
from pyrjsel.families.family import Values
from pyrjsel.families.mixtures import increasing_root
from pyrjsel.families.poisson import LogLink
from pyrjsel.families.sized import Sized
from pyrjsel.families.statistics import OF_NUMBERS, Statistic, average, deviation

# Distribution functions are evaluated for at most this many components at a time.
AT_ONCE = 2**21
# Means and quantiles are between these, or infinite.
LEAST, ENDLESS = 1e-300, 1e300
# Coefficients of variation below 1e-6 are not told from 0: compiled loops lose digits of such likelihoods.
MOST_SHAPE = 1e12
# Stirling's series has errors below 1e-15 above this.
LARGE = 100.0


@dataclass(frozen=True)
class Gamma(Sized, LogLink):
    """Positive responses with mean mu and variance ``mu^2 / shape``, log link.

    The response of weight w is a mean of w responses, which has the shape ``w shape``. With
    ``eta' = eta - log(shape)``, the log-likelihood of a row is

        -w shape eta' - w y exp(-eta')

    up to a function of shape and response. `table` has the distinct weights, how often each occurs, and the
    sums over its rows of ``w log y`` and ``log y``.
    """

    name: ClassVar[str] = "gamma"
    parameter: ClassVar[str] = "shape"
    passes: ClassVar[Passes] = POSITIVE
    joint_pass: ClassVar[JointPass] = GAMMA
    keys: ClassVar[int] = 1
    share: ClassVar[float] = 0.0
    most: ClassVar[float] = MOST_SHAPE
    remedy: ClassVar[str] = " Leave out shape to estimate the dispersion."
    apart: ClassVar[str] = "The responses are separated"

    @classmethod
    def entries(cls, y: FloatArray, w: FloatArray) -> FloatArray:
        """Return weights, how often each occurs, and sums of ``w log y`` and ``log y``."""
        logs = np.log(y)
        return np.stack([w, np.ones(y.size), w * logs, logs])

    def gammas(self) -> tuple[FloatArray, tuple[float, float]]:
        """Return the gamma functions of the densities, and powers of responses and weights."""
        assert self.table is not None
        number, times, weighted, logs = self.table
        slope = float(weighted.sum() + times @ special.xlogy(number, number))
        return np.stack([0.0 * number, number, -times]), (slope, -float(logs.sum()))

    def terms(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the terms with eta and their derivatives; see :meth:`Sized.terms`."""
        away, expected = self._away(y, w, eta), np.multiply.outer(np.exp(t), w)
        residual = expected * np.expm1(away)
        rest = np.sum(expected * away, axis=1) - residual.sum(axis=1)
        return rest, residual, expected + residual, rest, -rest, -residual

    def values(self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray) -> FloatArray:
        """Return the terms with eta; see :meth:`Sized.values`."""
        away = self._away(y, w, eta)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(t) * ((away - np.expm1(away)) @ w))

    def joint_rows(self, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return logarithms of responses, and weights."""
        return np.log(y), w

    @staticmethod
    def _away(y: FloatArray, w: FloatArray, eta: FloatArray) -> FloatArray:
        """Return log responses less `eta` (..., n), 0 for rows without weight."""
        return np.where(w > 0, np.log(y) - eta, 0.0)

    def lost(self, y: FloatArray, w: FloatArray) -> float:
        """Return how much larger the sum of ``w log y`` is over combined rows than over the original ones."""
        assert self.table is not None
        _, times, weighted, _ = self.table
        used = w > 0
        if times.sum() == used.sum():
            return 0.0
        return float(w[used] @ np.log(y[used]) - weighted.sum())

    def constants(self, size: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the terms without eta; see :meth:`Sized.constants`.

        Those of ``u log u - u - log Gamma(u)`` of each row at ``u = w shape``, from Stirling's series for
        large u, where logarithms cancel.
        """
        assert self.table is not None
        number, times, _, logs = self.table
        u = np.multiply.outer(size, number)
        large, small, inverse = u > LARGE, np.minimum(u, LARGE), 1.0 / np.maximum(u, LARGE)
        square = inverse**2
        series = (
            0.5 * np.log(u / (2.0 * np.pi)) - inverse * (1 / 12 - square * (1 / 360 - square / 1260)),
            0.5 + inverse * (1 / 12 - square * (1 / 120 - square / 252)),
            -inverse * (1 / 12 - square * (1 / 40 - square * 5 / 252)),
        )
        bend = small * (np.log(small) - special.digamma(small))
        direct = (
            special.xlogy(small, small) - small - special.gammaln(small),
            bend,
            bend + small - small**2 * special.polygamma(1, small),
        )
        value, slope, curve = (np.where(large, a, b) @ times for a, b in zip(series, direct, strict=True))
        return value - float(logs.sum()), slope, curve

    def degenerate(self, t: FloatArray) -> str:
        """Return that residuals are too small to be told from 0, if the log shape `t` (1,) is that large."""
        if t[0] <= np.log(self.most):
            return ""
        return (
            "The columns of a model fit the response perfectly, up to a millionth: its shape has no estimate."
            " Leave out columns that determine the response, or give 'shape'."
        )

    def is_unbounded(self, n: int, columns: int) -> bool:
        """Return whether it grows as the shape does, since all rows are fitted perfectly."""
        return columns >= n

    @property
    def both(self) -> tuple[float, ...]:
        """Two different responses."""
        return 1.0, 2.0

    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless `y` (n,) and `weights` (n,) or None are usable."""
        if y.size == 0:
            raise DataError("There are no rows to fit: the data are empty.")
        wrong = y[y <= 0]
        if wrong.size:
            raise DataError(
                f"The response {response!r} must be above 0. Got {wrong[0]:g} "
                f"({wrong.size} value(s) like this)."
            )
        if weights is not None:
            if np.any(weights < 0):
                raise DataError(f"The 'weights' must be non-negative. Got {weights.min():g}.")
            if not np.any(weights > 0):
                raise DataError("The 'weights' must have a positive value. Got only zeros.")
        self.check_weights(weights)

    def learned(self, y: FloatArray, table: FloatArray, n: int) -> Self:
        """Return the family with the table of all rows; `y` has their smallest and largest response.

        Raises
        ------
        DataError
            If all responses are equal: estimates of the shape grow without limit.
        """
        if y.min() == y.max():
            raise DataError(
                "The response must have two different values for an estimate of its shape; "
                f"or give 'shape'. Got only {y[0]:g}."
            )
        return super().learned(y, table, n)

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return the expected information on eta: the shape, whatever the mean."""
        return np.full_like(mean, self.size)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a response of weight 1 where the mean is `mean`."""
        return np.asarray(mean**2 / self.size)

    def score(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the derivative of the log-likelihood in eta at expectation `mean`, for weights of 1."""
        return self.size * (y / mean - 1.0)

    def excess(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a squared standardised residual minus 2, for an observation of weight 1."""
        return np.full_like(mean, 6.0 / self.size)

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood without terms that depend on shape and response alone."""
        away = eta - np.log(self.size)
        with np.errstate(over="ignore"):
            terms = -self.size * away - y * np.exp(-away)
        if weights is None:
            return float(np.sum(terms))
        return float(weights[weights > 0] @ terms[weights > 0])

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood of the saturated model, without the same terms.

        0 if the shape is unknown: that of the saturated model is infinite, and its density too.
        """
        return 0.0 if self.value is None else self.log_likelihood(y, np.log(y), weights)

    def null_intercept(self, y: FloatArray, weights: FloatArray, offset: FloatArray | None = None) -> float:
        """Return the maximum likelihood estimate of the intercept of the null model."""
        known = np.zeros(y.size) if offset is None else offset
        return float(special.logsumexp(-known, b=weights * y) - np.log(weights.sum()))

    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return the intercept of the model without terms, under a flat prior."""
        return self.null_intercept(y, weights, offset)

    def recession(self, y: FloatArray) -> FloatArray:
        """Return 0 for all rows: the likelihood falls in both directions."""
        return np.zeros_like(y)

    def strays(self, smallest: float, largest: float) -> bool:
        """Return False: maximum likelihood estimates are finite."""
        return False

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return quantiles alpha/2 and 1 - alpha/2 of a new response of weight 1 by row, (rows, 2)."""
        shape = self.sizes(nuisance, means.shape[1])
        return np.column_stack([mixture_quantile(means, shape, p) for p in (alpha / 2, 1 - alpha / 2)])

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw responses, or means of as many as the weights say; inf where the mean is."""
        shape = weights[:, None] * self.sizes(nuisance, mean.shape[1])
        # Draws of small shapes round to 0.
        return np.asarray(mean * np.maximum(rng.standard_gamma(shape) / shape, LEAST))

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return log densities, with all constants; -inf where a mean is infinite."""
        # mathematics: selection-gamma
        shape, log_y = weights[:, None] * self.sizes(nuisance, eta.shape[1]), np.log(y)[:, None]
        away = log_y - eta
        with np.errstate(over="ignore"):
            terms = shape * (away - np.expm1(away))
        return np.asarray(terms + special.xlogy(shape, shape) - shape - special.gammaln(shape) - log_y)

    def statistics(self, weights: FloatArray) -> dict[str, Statistic]:
        """Return the mean, the standard deviation, the minimum, the maximum and the skewness."""
        return dict(OF_NUMBERS)

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the mean and the standard deviation of the response, and what is known of the shape."""
        w = np.ones(y.size) if weights is None else weights
        moments = f"{average(y, y, w):,.5g} ({deviation(y, y, w):,.5g})"
        return [("Mean (sd)", moments), self.size_fact()]


def mixture_quantile(means: FloatArray, shape: FloatArray, p: float) -> FloatArray:
    """Return quantiles (rows,) of mixtures of gamma distributions of equal weight.

    `means` (rows, m) and shapes (m,) of the components. To 1e-6 of the logarithm.
    """
    step = max(1, AT_ONCE // means.shape[1])
    parts = [_quantiles(means[at : at + step], shape, p) for at in range(0, len(means), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def _quantiles(means: FloatArray, shape: FloatArray, p: float) -> FloatArray:
    """Return the same by Newton's method in the logarithm, from the quantile of one gamma distribution."""
    means = np.clip(means, LEAST, ENDLESS)
    rate, constant = shape / means, special.gammaln(shape)

    def excess(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        z = rate * np.exp(t)[:, None]
        slope = np.exp(special.xlogy(shape, z) - z - constant)
        return special.gammainc(shape, z).mean(axis=1) - p, slope.mean(axis=1)

    each = np.log(np.clip(means * (special.gammaincinv(shape, p) / shape), LEAST, ENDLESS))
    found = np.exp(increasing_root(excess, each.mean(axis=1), each.min(axis=1), each.max(axis=1), 1e-6))
    # Components with infinite means have no mass below any number.
    return np.where(np.mean(means < ENDLESS, axis=1) <= p, np.inf, found)
