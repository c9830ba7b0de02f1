"""Families with the identity link: what they share, and the gaussian one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pyrjsel._core import special
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel.families._family import NORMAL, Passes
from pyrjsel.families._mixtures import LARGEST_SCORE, normal_quantiles
from pyrjsel.families.family import Family, Nuisance, Values
from pyrjsel.families.mixtures import increasing_root
from pyrjsel.families.statistics import OF_NUMBERS, Statistic, average, deviation

# Error of quantiles of mixtures, relative to the largest scale.
TOLERANCE = 1e-9


class IdentityLink(Family):
    """Real responses with symmetric errors around the linear predictor."""

    link: ClassVar[str] = "identity"
    apart: ClassVar[str] = "Observations are separated"

    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless `y` (n,) and `weights` (n,) or None are usable."""
        if y.size == 0:
            raise DataError("There are no rows to fit: the data are empty.")
        if weights is not None:
            if np.any(weights < 0):
                raise DataError(f"The 'weights' must be non-negative. Got {weights.min():g}.")
            if not np.any(weights > 0):
                raise DataError("The 'weights' must have a positive value. Got only zeros.")

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the expected response at linear predictor `eta`: itself."""
        return eta

    def linear(self, mean: float) -> float:
        """Return the linear predictor at which the expected response is `mean`: itself."""
        return mean

    def recession(self, y: FloatArray) -> FloatArray:
        """Return 0 for all rows: the likelihood falls in both directions."""
        return np.zeros_like(y)

    def strays(self, smallest: float, largest: float) -> bool:
        """Return False: maximum likelihood estimates are finite."""
        return False

    def statistics(self, weights: FloatArray) -> dict[str, Statistic]:
        """Return the mean, the standard deviation, the minimum, the maximum and the skewness."""
        return dict(OF_NUMBERS)

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the mean and the standard deviation of the response."""
        w = np.ones(y.size) if weights is None else weights
        return self.moments(average(y, y, w), deviation(y, y, w))

    def moments(self, mean: float, sd: float) -> list[tuple[str, str]]:
        """Return the description of a response with this mean and standard deviation."""
        return [("Mean (sd)", f"{mean:,.5g} ({sd:,.5g})")]


@dataclass(frozen=True)
class Gaussian(IdentityLink):
    """Normal responses with error variance sigma^2 / w, identity link.

    Methods without a variance argument use sigma^2 = 1; the models handle sigma^2.
    """

    name: ClassVar[str] = "gaussian"
    passes: ClassVar[Passes] = NORMAL

    @property
    def nuisance(self) -> Nuisance:
        """The error variance."""
        return Nuisance(("variance",))

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return minus the second derivative of the log-likelihood in eta, where the mean is `mean`."""
        return np.ones_like(mean)

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood at sigma^2 = 1, without constants."""
        square = (y - eta) ** 2
        return -0.5 * float(np.sum(square if weights is None else weights * square))

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood of the saturated model at sigma^2 = 1, without constants."""
        return 0.0

    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return the intercept of the model without terms."""
        return float(np.average(y - offset, weights=weights))

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return quantiles alpha/2 and 1 - alpha/2 of a new response of weight 1 by row, (rows, 2).

        `means` (rows, m) are draws of its expectation, and ``nuisance["variance"]`` (m,) of sigma^2:
        the predictive distribution is a mixture of normal distributions.
        """
        scale = _scale(np.ones(1), nuisance, means.shape[1])[0]
        ends = np.array([alpha / 2, 1 - alpha / 2])
        if np.abs(special.ndtri(ends)).max() <= LARGEST_SCORE:
            return _normal_quantiles(means, scale, ends, np.full(scale.size, 1.0 / scale.size))
        return np.column_stack([mixture_quantile(means, scale, p) for p in ends])

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw responses with error variance ``nuisance["variance"]`` / weight; 1 / weight without it."""
        return mean + _scale(weights, nuisance, mean.shape[1]) * rng.standard_normal(mean.shape)

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return normal log densities (rows, m) with the variances of :meth:`simulate`, with constants."""
        # mathematics: selection-linear
        scale = _scale(weights, nuisance, eta.shape[1])
        return -0.5 * np.log(2.0 * np.pi) - np.log(scale) - 0.5 * ((y[:, None] - eta) / scale) ** 2


def _scale(weights: FloatArray, nuisance: Values, draws: int) -> FloatArray:
    """Return error standard deviations, (rows, draws), or (1, draws) if those of all rows are equal."""
    kinds = weights[:1] if np.all(weights == weights[:1]) else weights
    return np.asarray(np.sqrt(nuisance.get("variance", np.ones(draws)) / kinds[:, None]))


def mixture_quantile(
    means: FloatArray,
    scale: FloatArray,
    p: float,
    weights: FloatArray | None = None,
    df: FloatArray | None = None,
) -> FloatArray:
    """Return quantiles (rows,) of mixtures of m normal, or t, distributions with `means` (rows, m).

    `scale` is (m,), or (rows, m) if it differs between rows; `weights` (m,) sum to one, and are equal by
    default; `df` (m,) are those of t distributions. To 1e-9 of the largest `scale`.
    """
    if weights is None:
        weights = np.full(means.shape[1], 1.0 / means.shape[1])
    z = np.full(1, special.ndtri(p)) if df is None else special.stdtrit(df, p)
    if df is None and abs(z[0]) <= LARGEST_SCORE:
        return _normal_quantiles(means, scale, np.array([p]), weights)[:, 0]
    each = means + z * scale
    low, high = each.min(axis=1), each.max(axis=1)
    middle = means @ weights
    spread = np.sqrt((means - middle[:, None]) ** 2 @ weights + scale**2 @ weights)

    def excess(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        away = (x[:, None] - means) / scale
        slope = (_kernel(away, df) / scale) @ weights / np.sqrt(2.0 * np.pi)
        return (special.ndtr(away) if df is None else special.stdtr(df, away)) @ weights - p, slope

    start = np.clip(middle + z.mean() * spread, low, high)
    return increasing_root(excess, start, low, high, TOLERANCE * float(scale.max()))


def _normal_quantiles(means: FloatArray, scale: FloatArray, p: FloatArray, weights: FloatArray) -> FloatArray:
    """Return quantiles (rows, k) of normal mixtures, as :func:`mixture_quantile`, compiled."""
    rows = np.ascontiguousarray(np.atleast_2d(scale))
    tolerance = TOLERANCE * float(scale.max())
    return normal_quantiles(np.ascontiguousarray(means), rows, p, np.ascontiguousarray(weights), tolerance)


def _kernel(away: FloatArray, df: FloatArray | None) -> FloatArray:
    """Return densities of the normal or the t distribution, times the root of 2 pi."""
    if df is None:
        return np.exp(-0.5 * away**2)
    constant = special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df) - 0.5 * np.log(0.5 * df)
    return np.asarray(np.exp(constant - 0.5 * (df + 1.0) * np.log1p(away**2 / df)))
