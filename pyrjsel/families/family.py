"""The interface of likelihood families."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel.families._family import Passes
from pyrjsel.families.nuisance import NONE, Nuisance, Values
from pyrjsel.families.statistics import Statistic


class Family(ABC):
    """A likelihood family with its link.

    The log-likelihood of a row is a concave function of its linear predictor eta, times its weight;
    constants that no model changes are left out of it.

    Attributes
    ----------
    name, link : str
    passes : Passes
        The compiled log-likelihood.
    apart : str
        What a linear combination of the columns does to rows along which the likelihood rises for ever.
    events : bool
        Whether responses are events out of trials, and may be labels of two levels.
    error_name : str
        What :meth:`error` is called.
    nuisance : Nuisance
        Parameters of the likelihood beside the linear predictor.
    """

    name: ClassVar[str]
    link: ClassVar[str]
    passes: ClassVar[Passes]
    apart: ClassVar[str]
    events: ClassVar[bool] = False
    error_name: ClassVar[str] = "rmse"
    nuisance: ClassVar[Nuisance] = NONE

    @abstractmethod
    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless `y` (n,) and `weights` (n,) or None are usable."""

    @abstractmethod
    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the expected response at linear predictor `eta`, of the same shape."""

    @abstractmethod
    def linear(self, mean: float) -> float:
        """Return the linear predictor at which the expected response is `mean`."""

    @abstractmethod
    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return the information on eta, where the mean is `mean`, in a row of weight 1.

        Minus the second derivative of the log-likelihood, or its expectation where it depends on responses.
        """

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a response of weight 1 where the mean is `mean`; for canonical links."""
        return self.curvature(mean)

    def score(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the derivative of the log-likelihood in eta where the mean is `mean`, for weights of 1."""
        return y - mean

    def tells_dispersion(self, weights: FloatArray) -> bool:
        """Return whether residuals of rows with these `weights` (n,) tell of overdispersion."""
        return False

    def excess(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a squared standardised residual less 2, in a row of weight 1."""
        return np.zeros_like(mean)

    @abstractmethod
    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood."""

    @abstractmethod
    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood of the saturated model, which the deviance is counted from."""

    @abstractmethod
    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return the intercept of a model without terms, roughly: where searches for modes begin."""

    @abstractmethod
    def recession(self, y: FloatArray) -> FloatArray:
        """Return, by row, the sign of the infinity to which eta may go while the likelihood never falls.

        0 where it falls both ways.
        """

    @abstractmethod
    def strays(self, smallest: float, largest: float) -> bool:
        """Return whether fitted eta from `smallest` to `largest` may be on their way to infinity."""

    @abstractmethod
    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return quantiles alpha/2 and 1 - alpha/2 of a new response of each row, shape (rows, 2).

        `means` (rows, m) are draws of its expectation, `nuisance` (m,) those of the nuisance parameters; the
        law of the response is their mixture.
        """

    @abstractmethod
    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw one response for each expectation in `mean` (rows, m).

        `weights` (rows,) are positive. `nuisance` (m,) are the nuisance parameters of each draw.
        """

    @abstractmethod
    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return log densities (rows, m) of responses `y` (rows,) at linear predictors `eta`, constants in.

        `weights` and `nuisance` as for :meth:`simulate`.
        """

    @abstractmethod
    def statistics(self, weights: FloatArray) -> dict[str, Statistic]:
        """Return what predictive checks look at, by name, where rows have these `weights` (rows,)."""

    def log_constant(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return what :meth:`log_likelihood` leaves out: logs of binomial coefficients, or of factorials.

        Of no use for families with nuisance parameters, which leave nothing out.
        """
        w = np.ones(y.size) if weights is None else weights
        rows = w > 0
        y, w, zero = y[rows], w[rows], np.zeros(int(rows.sum()))
        full = self.log_density(y, zero[:, None], w, {})
        return float(full.sum()) - self.log_likelihood(y, zero, w)

    def error(self, y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
        """Return how far responses are from their predicted expectations: the root mean squared error."""
        return float(np.sqrt(weights @ (y - mean) ** 2 / weights.sum()))

    @abstractmethod
    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return labels and values that describe a response in a summary."""


def share(part: float, whole: float) -> str:
    """Return a number with the percentage of another that it is."""
    return f"{part:,.6g} ({100 * part / whole:.1f} %)"
