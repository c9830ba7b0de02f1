"""The family of responses with Student-t errors."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import check_real
from pyrjsel.families._family import JointPass, Passes
from pyrjsel.families._student import STUDENT, STUDENT_JOINT
from pyrjsel.families.family import Nuisance, Values
from pyrjsel.families.gaussian import IdentityLink, mixture_quantile
from pyrjsel.families.tails import (
    LEAST_DF,
    coordinate_of,
    df_at,
    log_at_zero,
    log_prior,
    slopes_at_zero,
)

# Beyond this df errors are normal to six digits, and the rounding of 1 + r^2 / df begins to show.
MOST_DF = 1e6
LOG_2 = float(np.log(2.0))
# EM steps for a typical sigma, which needs few digits.
STEPS, ENOUGH = 200, 1e-8
# Most frequent responses that are counted, exactly if there are no more of them.
COUNTED = 4096
# Coordinates among which typical degrees of freedom are looked for.
RANGE = (-6.0, 6.0)
# Coordinates of heavy and of light tails, df of 1 and 20, and one between them.
HEAVY, MIDDLE, LIGHT = coordinate_of(1.0), coordinate_of(4.0), coordinate_of(20.0)


@dataclass(frozen=True)
class Student(IdentityLink):
    """Responses with Student-t errors, identity link: ``eta + sigma e`` with df degrees of freedom of e.

    The prior of sigma^2 is 1 / sigma^2, that of unknown degrees of freedom in ``tails.py``. The
    log-likelihood is not concave in eta: it is convex where a residual is above ``sqrt(df) sigma``.

    Attributes
    ----------
    df : float or None
        Degrees of freedom; None if they are estimated, with sigma.
    sigma : float or None
        The known scale; None if it is estimated.
    given : float or None
        The sigma of methods without one: `sigma`, or the estimate in the model without terms.
    location : float
        The intercept of that model.
    usual_df : float
        The df of methods without any: `df`, or the most probable ones in that model.
    """

    name: ClassVar[str] = "student"
    passes: ClassVar[Passes] = STUDENT
    joint_pass: ClassVar[JointPass] = STUDENT_JOINT
    combines: ClassVar[bool] = False
    scaled: ClassVar[bool] = True

    df: float | None = 4.0
    sigma: float | None = None
    given: float | None = field(default=None, compare=False)
    location: float = field(default=0.0, compare=False)
    usual_df: float = field(default=4.0, compare=False)

    def __post_init__(self) -> None:
        if self.df is not None:
            check_real(self.df, "df", low=0, high=MOST_DF, open_low=True)
            object.__setattr__(self, "usual_df", float(self.df))
        if self.sigma is not None:
            check_real(self.sigma, "sigma", low=0, open_low=True)
            object.__setattr__(self, "given", float(self.sigma))

    @property
    def nuisance(self) -> Nuisance:
        """Sigma and df, unless they are known."""
        unknown = {"sigma": self.sigma, "df": self.df}
        return Nuisance(tuple(name for name, value in unknown.items() if value is None))

    @property
    def expanded(self) -> tuple[str, ...]:
        """The same."""
        return self.nuisance.names

    @property
    def size(self) -> float:
        """The sigma of methods without one."""
        assert self.given is not None
        return self.given

    @property
    def typical(self) -> FloatArray:
        """Coordinates (1,) or (2,) of the sigma and df of methods without any."""
        log_sigma = [float(np.log(self.size))]
        return np.array(log_sigma if self.df is not None else [*log_sigma, coordinate_of(self.usual_df)])

    def parameters(self, t: FloatArray) -> FloatArray:
        """Return sigma, and df if they are unknown, at coordinates ``(..., 1)`` or ``(..., 2)``."""
        return np.concatenate([np.exp(t[..., :1]), df_at(t[..., 1:])], axis=-1)

    def at(self, size: float, df: float | None = None) -> Self:
        """Return the family with another sigma, and unknown df too, in methods without any."""
        return replace(self, given=size, usual_df=self.usual_df if df is None else df)

    def known(self) -> tuple["Student", FloatArray]:
        """Return the family with what methods without parameters have in their places, and their values."""
        known = replace(self, sigma=self.size, df=self.usual_df)
        return known, np.array([self.size] if self.df is not None else [self.size, self.usual_df])

    def of_jumps(self) -> dict[str, Any]:
        """Return what loops that update sigma and df need besides the rows."""
        return {"errors": (self.usual_df, self.size), "tails": self.df is None}

    def for_rows(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> "Student":
        """Return the family with the estimates of intercept and sigma in the model without terms."""
        shifted = y if offset is None else y - offset
        self.check_ties(int(np.unique(shifted, return_counts=True)[1].max()), y.size)
        if self.df is not None:
            return self._at_null(shifted)

        def loss(u: float) -> float:
            null = replace(self, usual_df=float(df_at(np.array(u))))._at_null(shifted)
            eta, t = np.full(y.size, null.location), np.append(np.log(null.size), u)
            return -null.joint(shifted, np.ones(y.size), eta, t)[0] - float(log_prior(np.array(u))[0])

        best = scipy.optimize.minimize_scalar(loss, bounds=RANGE, method="bounded", options={"xatol": 1e-3})
        return replace(self, usual_df=float(df_at(best.x)))._at_null(shifted)

    def check_ties(self, ties: int, n: int) -> None:
        """Raise :class:`DataError` if so many of `n` responses (minus offsets) are equal."""
        # mathematics: selection-ties
        if ties - 1 >= self._least_df * (n - ties):
            raise DataError(
                f"The response (minus the offset) must have fewer equal values: with {ties} of {n} and "
                f"df={self._least_df:g}, sigma has no posterior, since they are fitted perfectly as it goes "
                "to 0."
            )

    def tabulate(self, y: FloatArray, w: FloatArray, offset: FloatArray | float) -> FloatArray | None:
        """Return the most frequent responses minus offsets, and their numbers."""
        return self.gather(np.stack([y - offset, np.ones_like(y)]))

    def gather(self, table: FloatArray) -> FloatArray:
        """Return the most frequent values and their numbers.

        If there are more than 4,096, numbers are too small by at most n / 4,097, also of merged tables (Misra
        and Gries 1982; Agarwal et al. 2013).
        """
        values, place = np.unique(table[0], return_inverse=True)
        numbers = np.bincount(place, table[1])
        if values.size > COUNTED:
            numbers = numbers - np.partition(numbers, -COUNTED - 1)[-COUNTED - 1]
        return np.stack([values, numbers])[:, numbers > 0]

    def learned(self, y: FloatArray, table: FloatArray, n: int) -> Self:
        """Return the family, if few enough of `n` responses are equal."""
        self.check_ties(int(table[1].max(initial=1.0)), n)
        return self

    def of_sums(self, means: FloatArray, sd: float, weight: float) -> Self:
        """Return the family with the location and, for typical df, the scale of errors with this sd."""
        df = max(self.usual_df, 3.0)
        return replace(self, given=sd * np.sqrt((df - 2.0) / df), location=float(means[0]))

    @property
    def _least_df(self) -> float:
        """The smallest df."""
        return LEAST_DF if self.df is None else self.df

    def _at_null(self, y: FloatArray) -> "Student":
        """Return the family with estimates of location and scale of `y` (n,), by the EM algorithm."""
        at = float(np.median(y))
        square = float(np.mean((y - at) ** 2))
        # Weights are divided by their mean, which needs fewer steps (Kent, Tyler and Vardi 1994).
        for _ in range(STEPS):
            weights = 1.0 / (self.usual_df + (y - at) ** 2 / square)
            at = float(weights @ y / weights.sum())
            new = float(weights @ (y - at) ** 2 / weights.sum())
            done, square = abs(new - square) <= ENOUGH * square, new
            if done:
                break
        return replace(self, given=float(np.sqrt(square)) if self.sigma is None else self.sigma, location=at)

    def log_prior(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log prior densities of coordinates; see :meth:`Family.log_prior`.

        That of log sigma is flat: that of 1 / sigma^2 as the density of sigma^2.
        """
        none = np.zeros_like(t[..., :1])
        if self.df is not None:
            return np.full(t.shape[:-1], LOG_2), none, none
        of_df = log_prior(t[..., 1:])
        slope, curve = (np.concatenate([none, each], axis=-1) for each in of_df[1:])
        return LOG_2 + of_df[0].sum(axis=-1), slope, curve

    def _df_at(self, t: FloatArray) -> FloatArray:
        """Return the df at coordinates (..., 1) or (..., 2)."""
        return np.full(t.shape[:-1], self.df) if self.df is not None else df_at(t[..., 1])

    def _at_zero(self, t: FloatArray) -> FloatArray | float:
        """Return log densities at 0, with sigma = 1."""
        return log_at_zero(self._df_at(t)) if self.df is None else _known_at_zero(self.df)

    def joint(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the log-likelihood with all constants, and its derivatives; see :meth:`Family.joint`.

        Weights are ones.
        """
        terms, (value, slope, curve) = self.row_terms(y, w, eta[None], t[None]), self.rest(t[None], y.size)
        return (
            float((terms[0] + value)[0]),
            terms[1][0],
            terms[2][0],
            (terms[3] + slope)[0],
            (terms[4] + curve)[0],
            terms[5][0],
        )

    def row_terms(
        self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the terms with eta; see :meth:`Family.row_terms`."""
        df = self._df_at(t)
        size, of_row = (df * np.exp(2.0 * t[:, 0]))[:, None], (df + 1.0)[:, None]
        r, more = y - eta, df + 1.0
        square = r * r
        whole = size + square
        part = square / whole
        logs, share, both = (
            np.log1p(square / size).sum(axis=1),
            part.sum(axis=1),
            (part * size / whole).sum(axis=1),
        )
        residual = of_row * r / whole
        cross = 2.0 * residual * size / whole
        slope, curve, mixed = (more * share)[:, None], (2.0 * more * both)[:, None, None], cross[:, None]
        if self.df is None:
            # Derivatives in df, and those in its coordinate.
            away = df - LEAST_DF
            down = -0.5 * logs + 0.5 * more / df * share
            bend = (0.5 * share * (df - 1.0) - 0.5 * more * both) / df**2
            with_t = -away * (share - more / df * both)
            slope = np.column_stack([slope, away * down])
            curve = np.stack([more * 2.0 * both, with_t, with_t, -away * (away * bend + down)], axis=1)
            curve = curve.reshape(-1, 2, 2)
            of_df = -away[:, None] * (r / whole - 0.5 * cross / df[:, None])
            mixed = np.stack([cross, of_df], axis=1)
        return -0.5 * more * logs, residual, of_row * (size - square) / whole**2, slope, curve, mixed

    def row_values(self, y: FloatArray, w: FloatArray, eta: FloatArray, t: FloatArray) -> FloatArray:
        """Return these terms (m,) alone."""
        df = self._df_at(t)
        r = y - eta
        r *= r
        r /= (df * np.exp(2.0 * t[:, 0]))[:, None]
        return np.asarray(-0.5 * (df + 1.0) * np.log1p(r, out=r).sum(axis=1))

    def rest(self, t: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the terms without eta; see :meth:`Family.rest`."""
        df, (m, k) = self._df_at(t), t.shape
        slope, curve = np.full((m, k), -float(n)), np.zeros((m, k, k))
        if self.df is None:
            first, second = np.array([slopes_at_zero(each) for each in df.tolist()]).T
            away = df - LEAST_DF
            slope[:, 1], curve[:, 1, 1] = n * away * first, -n * away * (away * second + first)
        return n * (self._at_zero(t) - t[:, 0]), slope, curve

    def em_weights(self, r: FloatArray, t: FloatArray) -> FloatArray:
        """Return the weights of the EM algorithm at residuals `r` (n,) and coordinates `t` (K,)."""
        df = float(self._df_at(t))
        return np.asarray((df + 1.0) / (df * np.exp(2.0 * t[0]) + r * r))

    def other_tails(self, t: FloatArray) -> list[FloatArray]:
        """Return coordinates with other tails than those at `t` (K,), if df are unknown."""
        return [np.array([t[0], HEAVY if t[1] > MIDDLE else LIGHT])] if self.df is None else []

    def lack_of_concavity(self, y: FloatArray, eta: FloatArray, t: FloatArray) -> FloatArray:
        """Return what those of ``joint`` lack to the weights of the EM algorithm, whose steps ascend."""
        square, df = (y - eta) ** 2, float(self._df_at(t))
        whole = df * np.exp(2.0 * t[0]) + square
        return np.asarray(2.0 * (df + 1.0) * square / whole**2)

    def is_unbounded(self, n: int, columns: int) -> bool:
        """Return whether it grows as sigma goes to 0 and as many rows as columns are fitted perfectly."""
        return columns > self._least_df * (n - columns)

    def joint_rows(self, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return responses, and df in the place of weights, which are ones; 0 if they are unknown."""
        return y, np.array([self.df or 0.0], dtype=float)

    def joint_rest(self, y: FloatArray, w: FloatArray, t: FloatArray) -> FloatArray:
        """Return log prior densities of t (m, 1) or (m, 2), and terms of the log-likelihood of t alone."""
        return np.asarray(y.size * (self._at_zero(t) - t[:, 0]) + self.log_prior(t)[0])

    def rows(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray
    ) -> tuple[FloatArray, FloatArray | None, FloatArray]:
        """Return responses, weights with df and ``df sigma^2`` behind them, and offset."""
        return y, np.append(np.ones(y.size), [self.usual_df, self.usual_df * self.size**2]), offset

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
        return (self.usual_df + 1.0) / (self.usual_df + 3.0)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the variance of a response, infinite for df of at most 2."""
        df = self.usual_df
        return np.full_like(mean, self.size**2 * (df / (df - 2.0) if df > 2 else np.inf))

    def score(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the derivative of the log-likelihood in eta at expectation `mean`."""
        df, r = self.usual_df, y - mean
        return np.asarray((df + 1.0) * r / (df * self.size**2 + r**2))

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood at the sigma and df of methods without any, without constants."""
        share = (y - eta) ** 2 / (self.usual_df * self.size**2)
        return -0.5 * (self.usual_df + 1.0) * float(np.log1p(share).sum())

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return 0: the deviance is -2 times the log-likelihood, as for normal errors."""
        return 0.0

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return quantiles alpha/2 and 1 - alpha/2 of a new response by row, (rows, 2).

        Those of the mixture of t distributions with `means` (rows, m), ``nuisance["sigma"]`` and
        ``nuisance["df"]`` (m,).
        """
        scale, df = self._scales(nuisance, means.shape[1])
        ends = [mixture_quantile(means, scale, p, df=df) for p in (alpha / 2, 1 - alpha / 2)]
        return np.column_stack(ends)

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw responses with the scales ``nuisance["sigma"]`` and ``nuisance["df"]``."""
        sigma, df = self._scales(nuisance, mean.shape[1])
        return mean + sigma * rng.standard_t(df, mean.shape)

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return t log densities (rows, m) with the scales of :meth:`simulate`, with constants."""
        # mathematics: selection-student
        sigma, df = self._scales(nuisance, eta.shape[1])
        away = (y[:, None] - eta) / sigma
        return np.asarray(log_at_zero(df) - np.log(sigma) - 0.5 * (df + 1.0) * np.log1p(away**2 / df))

    def _scales(self, nuisance: Values, draws: int) -> tuple[FloatArray, FloatArray]:
        """Return sigma and df of each draw, (draws,)."""
        sigma = nuisance["sigma"] if "sigma" in nuisance else np.full(draws, self.size)
        return sigma, nuisance["df"] if "df" in nuisance else np.full(draws, self.usual_df)

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the mean and the standard deviation of the response, and the distribution of errors."""
        df = "unknown" if self.df is None else f"{self.df:g}"
        return [*super().facts(y, weights), ("Errors", f"Student t, {df} df")]


@lru_cache(maxsize=64)
def _known_at_zero(df: float) -> float:
    """Return the log density at 0 for known degrees of freedom."""
    return float(log_at_zero(np.array(df)))
