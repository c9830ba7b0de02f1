"""The binomial family with the logit link."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pyrjsel._core import special
from pyrjsel._core._vecmath import logistic
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel.families._family import LOGIT, Passes
from pyrjsel.families.family import Family, Values, share
from pyrjsel.families.statistics import (
    Statistic,
    are_counted,
    average,
    brier,
    calibration,
    pearson,
    prepared_brier,
    prepared_calibration,
)

# A linear predictor beyond this at the maximum would mean odds of a million to one.
FAR = 14.0


@dataclass(frozen=True)
class Binomial(Family):
    """Binomial responses, logit link.

    The response is 0 or 1, or a proportion of successes in [0, 1] with the number of trials as
    weight. The log-likelihood of a row is ``w (y eta - log(1 + exp(eta)))``, without the binomial
    coefficient, which is the same in all models.
    """

    name: ClassVar[str] = "binomial"
    link: ClassVar[str] = "logit"
    passes: ClassVar[Passes] = LOGIT
    apart: ClassVar[str] = "The classes are separated, completely or partially,"
    events: ClassVar[bool] = True
    error_name: ClassVar[str] = "brier"

    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless `y` (n,) and `weights` (n,) or None are usable."""
        if y.size == 0:
            raise DataError("There are no rows to fit: the data are empty.")
        if weights is None:
            odd = np.unique(y[(y != 0) & (y != 1)])
            if odd.size:
                raise DataError(
                    f"The response {response!r} must be 0 or 1, or a proportion with weights= giving the "
                    f"number of trials. Got {odd[0]:g} ({odd.size} other value(s) than 0 and 1)"
                    f"{_other_model(np.unique(y), response)}."
                )
        else:
            odd = np.unique(y[(y < 0) | (y > 1)])
            if odd.size:
                raise DataError(
                    f"The response {response!r} must be a proportion in [0, 1] where weights= are given. "
                    f"Got {odd[0]:g}."
                )
            if np.any(weights < 0):
                raise DataError(
                    f"The 'weights' must be non-negative numbers of trials. Got {weights.min():g}."
                )
            if not np.any(weights > 0):
                raise DataError("The 'weights' must have a positive value. Got only zeros.")
            # Weights that are not whole are no numbers of trials.
            whole = are_counted(y, weights) | (weights != np.floor(weights))
            if not np.all(whole):
                first, count = np.argmin(whole), int(np.sum(~whole))
                raise DataError(
                    f"The response {response!r} must be 0 or 1, or a proportion that is a whole number of "
                    f"the trials, given by weights=. Got {y[first]:.10g} of {weights[first]:g} trials "
                    f"({count} value(s) like this)."
                )
        total = y.size if weights is None else weights.sum()
        ones = y.sum() if weights is None else (weights * y).sum()
        if ones <= 0 or ones >= total:
            only = 0 if ones <= 0 else 1
            raise DataError(f"The response {response!r} must have both classes. Got only {only}.")

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the success probability at linear predictor `eta`, of the same shape."""
        return logistic(eta)

    def linear(self, mean: float) -> float:
        """Return the log odds of success probability `mean`."""
        return float(np.log(mean) - np.log1p(-mean))

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return minus the second derivative of the log-likelihood in eta, where the mean is `mean`."""
        return mean * (1.0 - mean)

    def tells_dispersion(self, weights: FloatArray) -> bool:
        """Return whether weights are whole numbers of trials, and some exceed one."""
        return bool(np.any(weights > 1) and np.all(weights == np.floor(weights)))

    def excess(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a squared standardised residual minus 2, for an observation of weight 1."""
        return 1.0 / self.variance(mean) - 6.0

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood without binomial coefficients."""
        # mathematics: selection-logit
        terms = y * eta - np.logaddexp(0.0, eta)
        return float(np.sum(terms if weights is None else weights * terms))

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood of the saturated model (0 for a 0/1 response)."""
        terms = special.xlogy(y, y) + special.xlogy(1 - y, 1 - y)
        return float(np.sum(terms if weights is None else weights * terms))

    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return an approximate intercept of the model without terms."""
        total = float(weights.sum())
        odds = float((weights @ y + 0.5) / (weights @ (1.0 - y) + 0.5))
        return float(np.log(odds) - weights @ offset / total)

    def recession(self, y: FloatArray) -> FloatArray:
        """Return 1 for successes, -1 for failures, 0 for proportions in between."""
        return np.where(y == 1, 1.0, np.where(y == 0, -1.0, 0.0))

    def strays(self, smallest: float, largest: float) -> bool:
        """Return whether the most extreme fitted odds may be diverging to 0 or infinity."""
        return max(-smallest, largest) > FAR

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return quantiles alpha/2 and 1 - alpha/2 of a single 0/1 observation."""
        failure = 1.0 - means.mean(axis=1)
        return np.column_stack([failure < alpha / 2, failure < 1 - alpha / 2]).astype(float)

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw proportions of successes, with the weights as numbers of trials.

        Raises
        ------
        DataError
            If a weight is not a whole number.
        """
        odd = weights[weights != np.floor(weights)]
        if odd.size:
            raise DataError(
                f"Simulated responses need whole numbers of trials as weights. Got {odd[0]:g} ({odd.size} "
                "weight(s) that are not whole)."
            )
        if np.all(weights == 1):
            return (rng.random(mean.shape) < mean).astype(float)
        return rng.binomial(weights.astype(np.int64)[:, None], mean) / weights[:, None]

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
        return ways[:, None] + weights[:, None] * (y[:, None] * eta - np.logaddexp(0.0, eta))

    def statistics(self, weights: FloatArray) -> dict[str, Statistic]:
        """Return the success rate, Brier score and calibration; for trials also Pearson's statistic.

        For single 0/1 outcomes, Pearson's statistic is not informative.
        """
        found = {
            "mean": Statistic(average),
            "brier": Statistic(brier, True, prepared_brier),
            "calibration": Statistic(calibration, True, prepared_calibration),
        }
        return found | ({"pearson": Statistic(pearson, discrepancy=True)} if np.any(weights > 1) else {})

    def error(self, y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
        """Return the Brier score: the mean squared error of probabilities of single outcomes."""
        return brier(y, mean, weights)

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the number of successes, and of trials if weights give them."""
        if weights is None:
            return [("Events", share(float(y.sum()), float(y.size)))]
        total = float(weights.sum())
        return [("Trials", f"{total:,.6g}"), ("Successes", share(float(weights @ y), total))]


def _other_model(values: FloatArray, response: str) -> str:
    """Return what to write for a response with these distinct values: no events, and no proportions."""
    if values[0] >= 0 and values[-1] <= 1:
        return ""
    if values.size == 2:
        return f"; make the event a comparison, as I({response} == {values[1]:g}) in a formula"
    if values[0] >= 0 and (values == np.floor(values)).all():
        return "; use rj.poisson for counts and rj.multinomial for classes"
    return "; use rj.linear for measurements"
