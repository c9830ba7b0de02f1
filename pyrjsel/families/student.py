"""The family of responses with Student-t errors."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln

from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.families._family import JointPass, Passes
from pyrjsel.families._student import STUDENT, STUDENT_JOINT
from pyrjsel.families.gaussian import IdentityLink, mixture_quantile
from pyrjsel.families.nuisance import NONE, Nuisance, Values

# Beyond this df errors are normal to six digits, and the rounding of 1 + r^2 / df begins to show.
MOST_DF = 1e6
LOG_2 = float(np.log(2.0))
# EM steps for a typical sigma, which needs few digits.
STEPS, ENOUGH = 200, 1e-8


@dataclass(frozen=True)
class Student(IdentityLink):
    """Responses with Student-t errors, identity link: ``eta + sigma e`` with df degrees of freedom of e.

    The prior of sigma^2 is 1 / sigma^2. The log-likelihood is not concave in eta: it is convex where a
    residual is above ``sqrt(df) sigma``.

    Attributes
    ----------
    df : float
        Degrees of freedom.
    sigma : float or None
        The known scale; None if it is estimated.
    given : float or None
        The sigma of methods without one: `sigma`, or the estimate in the model without terms.
    location : float
        The intercept of that model.
    """

    name: ClassVar[str] = "student"
    passes: ClassVar[Passes] = STUDENT
    joint_pass: ClassVar[JointPass] = STUDENT_JOINT
    combines: ClassVar[bool] = False
    scaled: ClassVar[bool] = True

    df: float = 4.0
    sigma: float | None = None
    given: float | None = field(default=None, compare=False)
    location: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        check_real(self.df, "df", low=0, high=MOST_DF, open_low=True)
        if self.sigma is not None:
            check_real(self.sigma, "sigma", low=0, open_low=True)
            object.__setattr__(self, "given", float(self.sigma))

    @property
    def nuisance(self) -> Nuisance:
        """Sigma, unless it is known."""
        return Nuisance(("sigma",)) if self.sigma is None else NONE

    @property
    def expanded(self) -> tuple[str, ...]:
        """The same."""
        return self.nuisance.names

    @property
    def size(self) -> float:
        """The sigma of methods without one."""
        assert self.given is not None
        return self.given

    def at(self, size: float) -> Self:
        """Return the family with another sigma in methods without one."""
        return replace(self, given=size)

    def known(self) -> tuple["Student", FloatArray]:
        """Return the family with a known sigma, that of methods without one, and its value."""
        return replace(self, sigma=self.size), np.array([self.size])

    def of_jumps(self) -> dict[str, Any]:
        """Return what loops that update sigma need besides the rows."""
        return {"errors": (self.df, self.size, self._constant)}

    def for_rows(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> "Student":
        """Return the family with the estimates of intercept and sigma in the model without terms."""
        shifted = y if offset is None else y - offset
        ties = int(np.unique(shifted, return_counts=True)[1].max())
        if ties - 1 >= self.df * (y.size - ties):
            less = "" if offset is None else " minus the offset"
            raise DataError(
                f"The response{less} must have fewer equal values: with {ties} of {y.size} and "
                f"df={self.df:g}, sigma has no posterior, since they are fitted perfectly as it goes to 0."
            )
        return self._at_null(shifted)

    def _at_null(self, y: FloatArray) -> "Student":
        """Return the family with estimates of location and scale of `y` (n,), by the EM algorithm."""
        at = float(np.median(y))
        square = float(np.mean((y - at) ** 2))
        # Weights are divided by their mean, which needs fewer steps (Kent, Tyler and Vardi 1994).
        for _ in range(STEPS):
            weights = 1.0 / (self.df + (y - at) ** 2 / square)
            at = float(weights @ y / weights.sum())
            new = float(weights @ (y - at) ** 2 / weights.sum())
            done, square = abs(new - square) <= ENOUGH * square, new
            if done:
                break
        return replace(self, given=float(np.sqrt(square)) if self.sigma is None else self.sigma, location=at)

    def log_prior(self, t: Any) -> tuple[Any, Any, float]:
        """Return the log prior density of log sigma, its slope and minus its second derivative.

        It is flat: that of 1 / sigma^2 as the density of sigma^2.
        """
        return LOG_2 + 0.0 * t, 0.0, 0.0

    def joint(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: float
    ) -> tuple[float, FloatArray, FloatArray, float, float, FloatArray]:
        """Return the log-likelihood with all constants, and derivatives in eta and in ``t = log(sigma)``.

        The first and minus the second in eta (n,), the same in t, and minus the mixed ones (n,). Weights are
        ones.
        """
        r, scale, more = y - eta, self.df * np.exp(2.0 * t), self.df + 1.0
        square = r * r
        whole = scale + square
        return (
            y.size * (self._constant - t) - 0.5 * more * float(np.log1p(square / scale).sum()),
            more * r / whole,
            more * (scale - square) / whole**2,
            -y.size + more * float((square / whole).sum()),
            2.0 * more * scale * float((square / whole**2).sum()),
            2.0 * more * scale * r / whole**2,
        )

    def lack_of_concavity(self, y: FloatArray, eta: FloatArray, t: float) -> FloatArray:
        """Return what those of ``joint`` lack to the weights of the EM algorithm, whose steps ascend."""
        square = (y - eta) ** 2
        whole = self.df * np.exp(2.0 * t) + square
        return np.asarray(2.0 * (self.df + 1.0) * square / whole**2)

    def is_unbounded(self, n: int, columns: int) -> bool:
        """Return whether it grows as sigma goes to 0 and as many rows as columns are fitted perfectly."""
        return columns > self.df * (n - columns)

    def joint_rows(self, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return responses, and df in the place of weights, which are ones."""
        return y, np.array([float(self.df)])

    def joint_rest(self, y: FloatArray, w: FloatArray, t: FloatArray) -> FloatArray:
        """Return log prior densities of t (m,), and terms of the log-likelihood of t alone."""
        return np.asarray(y.size * (self._constant - t) + self.log_prior(t)[0])

    @property
    def _constant(self) -> float:
        """The logarithm of the density at 0."""
        df = self.df
        return float(gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df))

    def rows(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray
    ) -> tuple[FloatArray, FloatArray | None, FloatArray]:
        """Return responses, weights with df and ``df sigma^2`` behind them, and offset."""
        return y, np.append(np.ones(y.size), [self.df, self.df * self.size**2]), offset

    def null_intercept(self, y: FloatArray, weights: FloatArray, offset: FloatArray | None = None) -> float:
        """Return the estimate of the intercept of the null model."""
        return self._at_null(y if offset is None else y - offset).location

    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return the same, the start of mode searches."""
        return self.location

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return the mean weight of the EM algorithm, 1 / sigma^2."""
        return np.full_like(mean, self.size**-2.0)

    @property
    def expected_share(self) -> float:
        """The expected information, relative to the mean weight of the EM algorithm."""
        return (self.df + 1.0) / (self.df + 3.0)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a response, infinite for df of at most 2."""
        return np.full_like(mean, self.size**2 * (self.df / (self.df - 2.0) if self.df > 2 else np.inf))

    def score(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the derivative of the log-likelihood in eta at expectation `mean`."""
        return np.asarray((self.df + 1.0) * (y - mean) / (self.df * self.size**2 + (y - mean) ** 2))

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood at the sigma of methods without one, without constants."""
        share = (y - eta) ** 2 / (self.df * self.size**2)
        return -0.5 * (self.df + 1.0) * float(np.log1p(share).sum())

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return 0: the deviance is -2 times the log-likelihood, as for normal errors."""
        return 0.0

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return quantiles alpha/2 and 1 - alpha/2 of a new response by row, (rows, 2).

        Those of the mixture of t distributions with `means` (rows, m) and ``nuisance["sigma"]`` (m,).
        """
        scale = self._sigmas(nuisance, means.shape[1])
        ends = [mixture_quantile(means, scale, p, df=self.df) for p in (alpha / 2, 1 - alpha / 2)]
        return np.column_stack(ends)

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw responses with the scales ``nuisance["sigma"]``."""
        return mean + self._sigmas(nuisance, mean.shape[1]) * rng.standard_t(self.df, mean.shape)

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return t log densities (rows, m) with the scales of :meth:`simulate`, with constants."""
        sigma = self._sigmas(nuisance, eta.shape[1])
        away = (y[:, None] - eta) / sigma
        return np.asarray(
            self._constant - np.log(sigma) - 0.5 * (self.df + 1.0) * np.log1p(away**2 / self.df)
        )

    def _sigmas(self, nuisance: Values, draws: int) -> FloatArray:
        """Return the sigma of each draw, (draws,)."""
        return nuisance["sigma"] if "sigma" in nuisance else np.full(draws, self.size)

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the mean and the standard deviation of the response, and the distribution of errors."""
        return [*super().facts(y, weights), ("Errors", f"Student t, {self.df:g} df")]
