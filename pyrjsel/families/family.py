"""The interface of likelihood families, and of their parameters besides coefficients."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.families._family import JointPass, Passes, pair_values
from pyrjsel.families.statistics import Statistic

# Draws of nuisance parameters by name, the last axis over draws; empty for families that have none.
Values = Mapping[str, FloatArray]


@dataclass(frozen=True)
class Nuisance:
    """Names of the nuisance parameters of a regression, and their positions in the state of a chain.

    In the state of a chain they follow the coefficients, those of `names` first. The latter are stored with
    draws of coefficients in results and files and used in predictions; those of `inner` exist only in states.

    Attributes
    ----------
    names : tuple of str
        Parameters of the likelihood, all of them positive.
    inner : tuple of str
        Other parameters, such as log g.
    """

    names: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names) + len(self.inner)

    def split(self, vectors: FloatArray) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return coefficients (m, D + 1) and nuisance parameters (m,) of vectors (m, D + 1 + number)."""
        width = vectors.shape[1] - len(self)
        return vectors[:, :width], {name: vectors[:, width + k] for k, name in enumerate(self.names)}

    def join(self, coefficients: FloatArray, values: Values) -> FloatArray:
        """Return vectors (m, D + 1 + number), in which those of `inner` are 0."""
        own = np.zeros((len(coefficients), len(self)))
        for k, name in enumerate(self.names):
            own[:, k] = values[name]
        return np.column_stack([coefficients, own])


NONE = Nuisance()


# Widenings, by 1 at either end, of a bracket of the intercept.
MOST_WIDENED = 64


class Family(ABC):
    """A likelihood family with its link.

    The log-likelihood of a row is a function of its linear predictor eta, times its weight; constants that
    are the same in all models are left out. It is concave, unless :meth:`lack_of_concavity` says otherwise.

    Attributes
    ----------
    name, link : str
    passes : Passes
        The compiled log-likelihood.
    joint_pass : JointPass
        The same given an expanded parameter, if there is one.
    apart : str
        Start of the message about separation: what the data do if the likelihood has no maximum.
    events : bool
        Whether responses are events out of trials, and may be labels of two levels.
    classes : bool
        Whether responses are labels of classes, as positions among them.
    remedy : str
        End of the message about overdispersion, with a space before it: a model for such responses.
    error_name : str
        Name of the error that :meth:`error` computes.
    combines : bool
        Whether the likelihood of equal rows depends on their mean response and their number alone.
    scaled : bool
        Whether prior variances of coefficients are multiples of the square of the first expanded parameter.
    whole : str
        Why rows cannot come in chunks; empty if they can.
    independent : bool
        Whether the likelihood is a product over rows.
    has_intercept : bool
        Whether the likelihood depends on the intercept.
    unbounded : bool
        Whether expected responses grow exponentially in the linear predictor: they need not have posterior
        means.
    """

    name: ClassVar[str]
    link: ClassVar[str]
    passes: ClassVar[Passes]
    joint_pass: ClassVar[JointPass]
    apart: ClassVar[str]
    events: ClassVar[bool] = False
    classes: ClassVar[bool] = False
    remedy: ClassVar[str] = ""
    error_name: ClassVar[str] = "rmse"
    combines: ClassVar[bool] = True
    scaled: ClassVar[bool] = False
    whole: ClassVar[str] = ""
    independent: ClassVar[bool] = True
    has_intercept: ClassVar[bool] = True
    unbounded: ClassVar[bool] = False

    @property
    def predictors(self) -> int:
        """Number L of linear predictors of a row; a regression has all rows of one after another."""
        return 1

    @property
    def both(self) -> tuple[float, ...]:
        """Responses that have all that :meth:`check` requires of all rows together."""
        return 0.0, 1.0

    def extremes(self, y: FloatArray) -> IntArray:
        """Return positions of responses of which :meth:`check` tells what it does of all, `y` (n,)."""
        return np.array([np.argmin(y), np.argmax(y)])

    def crossed(self, weights: FloatArray, w: FloatArray) -> FloatArray:
        """Return the information on pairs of linear predictors, (m, L (L + 1) / 2, n), as lower triangles.

        From what passes leave for each, `weights` (m, L, n), and the weights of rows (n,).
        """
        return weights

    def responses(self, y: FloatArray) -> FloatArray:
        """Return the response (L, n) of each linear predictor."""
        return y[None]

    def across(self, y: FloatArray, weights: FloatArray, null: bool) -> FloatArray:
        """Return the information on linear predictors of a row (L, L) in g-priors, relative to its weight.

        That of the null model, or a typical one without the response.
        """
        return np.ones((1, 1))

    @property
    def nuisance(self) -> Nuisance:
        """Parameters of the likelihood besides the linear predictor."""
        return NONE

    @property
    def expanded(self) -> tuple[str, ...]:
        """The K ones in whose coordinates marginal likelihoods are expanded, with the coefficients.

        Coordinates are on the real line: logarithms, unless :meth:`parameters` says otherwise.
        """
        return ()

    @property
    def typical(self) -> FloatArray:
        """Coordinates (K,) of the expanded parameters in methods without any."""
        return np.empty(0)

    def parameters(self, t: FloatArray) -> FloatArray:
        """Return the expanded parameters at coordinates (..., K)."""
        return np.exp(t)

    def joint(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the log-likelihood with all constants, and derivatives in eta and coordinates `t` (K,).

        The first and minus the second in eta (n,), the same in t, (K,) and (K, K), and minus the mixed ones
        (K, n).
        """
        raise NotImplementedError

    def row_terms(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the terms with eta of log-likelihoods (m,) at `eta` (m, n) and coordinates `t` (m, K).

        And their derivatives: the first and minus the second in eta (m, n), the same in t, (m, K) and
        (m, K, K), and minus the mixed ones (m, K, n).
        """
        raise NotImplementedError

    def row_values(self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray) -> FloatArray:
        """Return these terms (m,) alone."""
        raise NotImplementedError

    def rest(self, t: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the terms without eta of `n` rows at coordinates `t` (m, K), and their derivatives.

        The first and minus the second, (m, K) and (m, K, K).
        """
        raise NotImplementedError

    def tabulate(self, y: FloatArray, w: FloatArray, offset: FloatArray | float) -> FloatArray | None:
        """Return what else the family must know of all responses with positive weights, as a table.

        Tables of parts of the rows are merged by :meth:`gather` of both side by side.
        """
        return None

    def gather(self, table: FloatArray) -> FloatArray:
        """Return a table without repetitions."""
        return table

    def learned(self, y: FloatArray, table: FloatArray, n: int) -> Self:
        """Return the family with the table of all `n` rows; `y` has their smallest and largest response."""
        return self

    def of_sums(self, means: FloatArray, sd: float, weight: float) -> Self:
        """Return the family with what it learns from sums over rows, in place of the rows themselves.

        `means` (L,) are of the responses, without the offset of families with a scale, `sd` is that of
        residuals of least squares, and `weight` that of all rows.
        """
        return self.for_rows(means, np.full(means.size, weight), None)

    def log_prior(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log prior densities of coordinates (..., K), their slopes and minus second derivatives.

        The latter two are (..., K): coordinates are independent.
        """
        raise NotImplementedError

    def joint_pairs(
        self,
        y: FloatArray,
        w: FloatArray,
        eta: FloatArray,
        images: FloatArray,
        radius: FloatArray,
        t: FloatArray,
    ) -> FloatArray:
        """Return log-likelihoods with all constants, plus log prior densities of coordinates t (2 P, K).

        At ``eta + radius images`` and ``eta - radius images`` by turns, with `images` (P, n).
        """
        rows = self.joint_rows(np.asarray(y, dtype=float), w)
        found = pair_values(self.joint_pass, eta, images, radius, *rows, t)
        return np.asarray(found + self.joint_rest(y, w, t))

    def joint_rows(self, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the pass given expanded parameters has in the places of responses and weights."""
        return y, w

    def joint_rest(self, y: FloatArray, w: FloatArray, t: FloatArray) -> FloatArray:
        """Return log prior densities of t (m, K), and terms of the log-likelihood of t alone."""
        raise NotImplementedError

    def at(self, size: float, /) -> Self:
        """Return the family with other values of the expanded parameters in methods without any."""
        raise NotImplementedError

    @property
    def size(self) -> float:
        """The value of the first expanded parameter in methods without one."""
        return 1.0

    def known(self) -> tuple["Family", FloatArray]:
        """Return the family with these parameters known, at typical values, and the values."""
        return self, np.empty(0)

    def of_jumps(self) -> dict[str, Any]:
        """Return what loops that update these parameters need besides the rows."""
        return {}

    def lack_of_concavity(self, y: FloatArray, eta: FloatArray, t: FloatArray) -> FloatArray:
        """Return what must be added to minus the second derivatives in eta (n,) far from modes.

        `t` (K,) are coordinates of the expanded parameters. 0 if the log-likelihood is concave in eta.
        """
        return np.zeros_like(y)

    def degenerate(self, t: FloatArray) -> str:
        """Return why a mode at coordinates `t` (K,) is not usable; empty if it is."""
        return ""

    def is_unbounded(self, n: int, columns: int) -> bool:
        """Return whether the likelihood of `n` rows and so many independent columns has no upper bound."""
        return False

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
        """Return the information on eta at expectation `mean`, for an observation of weight 1.

        Minus the second derivative of the log-likelihood, or its expectation if it depends on the response.
        """

    def for_rows(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> Self:
        """Return the family with what it learns from the rows, such as a typical nuisance parameter."""
        return self

    def of_terms(self) -> Self:
        """Return the family with what terms of single rows need of it: workers get no more."""
        return self

    def observations(self, y: FloatArray, weights: FloatArray | None) -> float:
        """Return the n of priors: the sum of the weights, or the number of rows."""
        return float(y.size if weights is None else weights.sum())

    def order(self, y: FloatArray) -> IntArray | None:
        """Return the order of rows (n,) that the passes need, None if it does not matter."""
        return None

    def rows(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray
    ) -> tuple[FloatArray, FloatArray | None, FloatArray]:
        """Return weighted responses, weights and offset as the compiled passes take them."""
        return y if weights is None else weights * y, weights, offset

    def null_intercept(self, y: FloatArray, weights: FloatArray, offset: FloatArray | None = None) -> float:
        """Return the maximum likelihood estimate of the intercept of the null model.

        It solves ``sum w score(y, mean(a + offset)) = 0``, whose left side decreases in a. The intercept
        without offset, minus the largest and the smallest offset, brackets it for canonical links, and nearly
        so for others.
        """
        with np.errstate(divide="ignore"):  # a proportion of 1 up to rounding has an infinite intercept
            a = self.linear(float(weights @ y) / float(weights.sum()))
        if offset is None:
            return a
        used = weights > 0
        y, weights, offset = y[used], weights[used], offset[used]
        low, high = a - float(offset.max()), a - float(offset.min())

        def score(a: float) -> float:
            return float(weights @ self.score(y, self.mean(a + offset)))

        rounding = 1e-9 * float(weights @ np.abs(self.score(y, self.mean(a + 0.0 * offset))))
        for _ in range(MOST_WIDENED):
            if -rounding <= score(low) and score(high) <= rounding:
                break
            low, high = low - 1.0, high + 1.0
        # Rounding can put an end on the wrong side, or both ends if all offsets are equal.
        if score(low) <= 0.0:
            return low
        if score(high) >= 0.0:
            return high
        return float(scipy.optimize.brentq(score, low, high, xtol=1e-13, rtol=1e-15))

    def null_predictor(self, y: FloatArray, weights: FloatArray, offset: FloatArray | None) -> FloatArray:
        """Return the linear predictor (n,) of the null model at its maximum."""
        known = np.zeros(y.size) if offset is None else offset
        return self.null_intercept(y, weights, offset) + known

    def level(self, y: FloatArray, weights: FloatArray, offset: FloatArray) -> float | None:
        """Return where the intercept has a prior by default; None if that does not depend on responses."""
        return None

    def starts(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> FloatArray:
        """Return intercepts (L,) from which mode searches start."""
        return np.array([self.intercept(y, offset, weights)])

    def working(self, y: FloatArray, eta: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient of the log-likelihood in eta, and its information by row (n,)."""
        mean = self.mean(eta)
        return weights * self.score(y, mean), weights * self.curvature(mean)

    @property
    def expected_share(self) -> float:
        """The expected information, relative to that of :meth:`working`, which g-priors use."""
        return 1.0

    def pooled(self, columns: FloatArray, y: FloatArray, eta: FloatArray) -> FloatArray | None:
        """Return M (D, m) of the information ``X'WX - MM'``; None if rows are independent."""
        return None

    def information(
        self, columns: FloatArray, y: FloatArray, eta: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return the information (D, D) on coefficients of `columns` (D, n) at predictor `eta` (n,)."""
        found = (columns * (self.expected_share * self.working(y, eta, weights)[1])) @ columns.T
        pooled = self.pooled(columns, y, eta)
        return np.asarray(found if pooled is None else found - pooled @ pooled.T)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a response of weight 1 where the mean is `mean`; for canonical links."""
        return self.curvature(mean)

    def score(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the derivative of the log-likelihood in eta at expectation `mean`, for weights of 1."""
        return y - mean

    def tells_dispersion(self, weights: FloatArray) -> bool:
        """Return whether residuals with these `weights` (n,) can show overdispersion."""
        return False

    def excess(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a squared standardised residual minus 2, for an observation of weight 1."""
        return np.zeros_like(mean)

    @abstractmethod
    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood."""

    @abstractmethod
    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood of the saturated model, the reference of the deviance."""

    @abstractmethod
    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return an approximate intercept of the model without terms, the starting point of mode searches."""

    @abstractmethod
    def recession(self, y: FloatArray) -> FloatArray:
        """Return, by row, the sign of the infinity towards which eta can go without lowering the likelihood.

        0 if the likelihood falls in both directions.
        """

    def recession_rows(self, y: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rows (m, d) that tell whether the likelihood of columns `x` (n, d) has no maximum.

        It has none if products with some coefficients are at least 0 for the first rows, not 0 for all of
        them, and 0 for the second ones.
        """
        sign = self.recession(y)
        return (x * sign[:, None])[sign != 0], x[sign == 0]

    @abstractmethod
    def strays(self, smallest: float, largest: float) -> bool:
        """Return whether fitted eta from `smallest` to `largest` may be diverging to infinity.

        With the offset of :meth:`rows`.
        """

    @abstractmethod
    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return quantiles alpha/2 and 1 - alpha/2 of a new response of each row, shape (rows, 2).

        `means` (rows, m) are draws of its expectation, `nuisance` (m,) those of the nuisance parameters; the
        predictive distribution is the mixture over the draws.
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
        """Return log densities (rows, m) of responses `y` (rows,) at linear predictors `eta`, with constants.

        `weights` and `nuisance` as for :meth:`simulate`.
        """

    @abstractmethod
    def statistics(self, weights: FloatArray) -> dict[str, Statistic]:
        """Return the default statistics of predictive checks, by name, for these `weights` (rows,)."""

    def log_constant(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the constant that marginal likelihoods omit: logs of binomial coefficients or factorials.

        Those that are expanded in a nuisance parameter omit nothing.
        """
        if self.expanded:
            return 0.0
        w = np.ones(y.size) if weights is None else weights
        rows = w > 0
        y, w, zero = y[rows], w[rows], np.zeros(int(rows.sum()))
        full = self.log_density(y, zero[:, None], w, {})
        return float(full.sum()) - self.log_likelihood(y, zero, w)

    def error(self, y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
        """Return the prediction error of expectations: the root mean squared error."""
        return float(np.sqrt(weights @ (y - mean) ** 2 / weights.sum()))

    @abstractmethod
    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return labels and values that describe a response in a summary."""


def share(part: float, whole: float) -> str:
    """Return a number, with its percentage of a total."""
    return f"{part:,.6g} ({100 * part / whole:.1f} %)"
