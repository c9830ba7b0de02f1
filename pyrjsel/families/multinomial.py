"""The multinomial family with the logit link."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import listed
from pyrjsel.families._family import Passes
from pyrjsel.families._multinomial import MULTINOMIAL
from pyrjsel.families.binomial import FAR
from pyrjsel.families.family import Family, Values, share
from pyrjsel.families.statistics import Statistic, calibration


@dataclass(frozen=True)
class Multinomial(Family):
    """Classes, logit link.

    The response is a class, as its position among K; L = K - 1 linear predictors are the log odds of each
    class against the first. In a regression they are stacked: all rows of the first linear predictor come
    before those of the second, and the response is 1 in the rows of its class and 0 in the others.

    Parameters
    ----------
    levels : tuple
        The classes.
    """

    levels: tuple[Any, ...] = ()

    name: ClassVar[str] = "multinomial"
    link: ClassVar[str] = "logit"
    passes: ClassVar[Passes] = MULTINOMIAL
    apart: ClassVar[str] = "The classes are separated, completely or partially,"
    classes: ClassVar[bool] = True
    combines: ClassVar[bool] = False
    error_name: ClassVar[str] = "error_rate"

    @property
    def predictors(self) -> int:
        """Number L of linear predictors of a row."""
        return len(self.levels) - 1

    @property
    def both(self) -> tuple[float, ...]:
        """Two responses of each class."""
        return (*map(float, range(len(self.levels))),) * 2

    def extremes(self, y: FloatArray) -> IntArray:
        """Return positions of the first two responses of each class."""
        order = np.argsort(y, kind="stable")
        return order[np.arange(y.size) - np.searchsorted(y[order], y[order]) < 2]

    def check(self, y: FloatArray, weights: FloatArray | None, response: str) -> None:
        """Raise :class:`DataError` unless every class of `y` (n,) has two rows of positive weight."""
        if weights is not None and np.any(weights < 0):
            raise DataError(f"The 'weights' must be non-negative numbers. Got {weights.min():g}.")
        used = y if weights is None else y[weights > 0]
        rows = np.bincount(used.astype(np.intp), minlength=len(self.levels))
        few = [repr(level) for level, number in zip(self.levels, rows, strict=True) if number < 2]
        if few:
            raise DataError(
                f"Each class of the response {response!r} of {called()} must have at least two rows"
                f"{'' if weights is None else ' of positive weight'}. {len(few)} of {len(self.levels)} "
                f"classes have fewer: {listed(few)}. Merge classes, or leave out their rows."
            )

    def responses(self, y: FloatArray) -> FloatArray:
        """Return 1 for rows of a class and 0 for others, (L, n)."""
        return np.asarray(y == np.arange(1, len(self.levels))[:, None], dtype=float)

    def across(self, y: FloatArray, weights: FloatArray, null: bool) -> FloatArray:
        """Return the information on linear predictors of a row (L, L), that of the null model or of no data.

        The former is ``diag(p) - p p'`` with the proportions of the classes. The latter has the proportions
        1 / K and is scaled so that its inverse gives every difference between two classes the variance 1, as
        the one linear predictor of a logistic model has.
        """
        # mathematics: selection-classes
        size = len(self.levels)
        if not null:
            return 2.0 * (np.eye(size - 1) - 1.0 / size)
        p = self._proportions(self.responses(y), weights)
        return np.diag(p) - np.outer(p, p)

    def rows(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray
    ) -> tuple[FloatArray, FloatArray | None, FloatArray]:
        """Return weighted responses, weights with L behind them, and offset."""
        w = np.ones(y.size) if weights is None else weights
        return w * y, np.append(w, float(self.predictors)), offset

    def _stacked(self, values: FloatArray) -> FloatArray:
        """Return values (L, n, ...) of stacked ones (n L, ...)."""
        return values.reshape(self.predictors, -1, *values.shape[1:])

    def _proportions(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the proportions (L,) of the classes from responses (L, n)."""
        return np.asarray(y @ weights / weights.sum())

    def probabilities(self, eta: FloatArray) -> FloatArray:
        """Return the probabilities (..., K) of the classes at linear predictors `eta` (..., L)."""
        whole = np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1)
        whole -= whole.max(axis=-1, keepdims=True)
        np.exp(whole, out=whole)
        whole /= whole.sum(axis=-1, keepdims=True)
        return whole

    def mean(self, eta: FloatArray) -> FloatArray:
        """Return the probabilities of the classes but the first at stacked `eta` (n L,)."""
        found = self.probabilities(np.moveaxis(self._stacked(eta), 0, -1))[..., 1:]
        return np.moveaxis(found, -1, 0).reshape(eta.shape)

    def linear(self, mean: float) -> float:
        """Return the log odds of probability `mean`."""
        return float(np.log(mean) - np.log1p(-mean))

    def curvature(self, mean: FloatArray) -> FloatArray:
        """Return the information of a row on one linear predictor alone."""
        return mean * (1.0 - mean)

    def null_predictor(self, y: FloatArray, weights: FloatArray, offset: FloatArray | None) -> FloatArray:
        """Return the stacked linear predictors of the null model at its maximum."""
        return np.repeat(self.starts(y, np.zeros(y.size), weights), y.size // self.predictors)

    def starts(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the intercepts (L,) of the null model at its maximum, the start of mode searches."""
        p = self._proportions(self._stacked(y), self._stacked(weights)[0])
        return np.log(p / (1.0 - p.sum()))

    def intercept(self, y: FloatArray, offset: FloatArray, weights: FloatArray) -> float:
        """Return the first of :meth:`starts`."""
        return float(self.starts(y, offset, weights)[0])

    def crossed(self, weights: FloatArray, w: FloatArray) -> FloatArray:
        """Return ``w p_a ((a == b) - p_b)`` for pairs a >= b, from expected numbers ``w p``."""
        a, b = np.tril_indices(self.predictors)
        found = -weights[:, a] * weights[:, b] / np.where(w > 0, w, 1.0)
        found[:, a == b] += weights
        return found

    def information(
        self, columns: FloatArray, y: FloatArray, eta: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return minus the Hessian (D, D) in the coefficients of a design's stacked `columns` (D, n L)."""
        lead, out = self.predictors, np.empty((len(columns), len(columns)))
        p, w = self._stacked(self.mean(eta)), self._stacked(weights)[0]
        # Each column of the design occurs once for each linear predictor, and is zero in the rows of others.
        own = columns[::lead, : w.size]
        for a, b, each in zip(*np.tril_indices(lead), self.crossed((w * p)[None], w)[0], strict=True):
            out[a::lead, b::lead] = out[b::lead, a::lead] = (own * each) @ own.T
        return out

    def log_likelihood(self, y: FloatArray, eta: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the log-likelihood at stacked `eta`."""
        # mathematics: selection-multinomial
        e, y = self._stacked(eta), self._stacked(y)
        top = np.maximum(e.max(axis=0), 0.0)
        terms = (y * e).sum(axis=0) - top - np.log(np.exp(e - top).sum(axis=0) + np.exp(-top))
        return float(np.sum(terms if weights is None else self._stacked(weights)[0] * terms))

    def saturated(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return 0, the log-likelihood of classes with probability 1."""
        return 0.0

    def log_constant(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return 0: nothing is omitted."""
        return 0.0

    def recession(self, y: FloatArray) -> FloatArray:
        """Return 1 for the linear predictor of a row's class, and -1 for others."""
        return np.where(y == 1, 1.0, -1.0)

    def recession_rows(self, y: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return differences between the row of a class and those of each other class, and no others."""
        chosen = np.concatenate([1.0 - self._stacked(y).sum(axis=0, keepdims=True), self._stacked(y)]) == 1
        rows = np.concatenate([np.zeros((1, chosen.shape[1], x.shape[1])), self._stacked(x)])
        own = rows[chosen.argmax(axis=0), np.arange(chosen.shape[1])]
        return (own - rows)[~chosen], x[:0]

    def strays(self, smallest: float, largest: float) -> bool:
        """Return whether the most extreme fitted odds may be diverging to 0 or infinity."""
        return max(-smallest, largest) > FAR

    def interval(self, means: FloatArray, alpha: float, nuisance: Values) -> FloatArray:
        """Return the first and the last position among the classes that a new response has, (rows, 2).

        As quantiles alpha/2 and 1 - alpha/2 of a position, from draws (rows, m, K) of probabilities.
        """
        below = np.cumsum(means.mean(axis=1), axis=1)
        ends = [(below < level).sum(axis=1) for level in (alpha / 2, 1 - alpha / 2)]
        return np.column_stack(ends).astype(float)

    def simulate(
        self,
        mean: FloatArray,
        weights: FloatArray,
        nuisance: Values,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw positions among the classes, (rows, m), from probabilities `mean` (rows, m, K)."""
        below = np.cumsum(mean[..., :-1], axis=-1)
        return np.asarray((rng.random((*mean.shape[:-1], 1)) > below).sum(axis=-1), dtype=float)

    def log_density(
        self, y: FloatArray, eta: FloatArray, weights: FloatArray, nuisance: Values
    ) -> FloatArray:
        """Return log probabilities (rows, m) of classes `y` (rows,) at `eta` (rows, m, L), times weights."""
        whole = np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1)
        top = whole.max(axis=-1)
        total = top + np.log(np.exp(whole - top[..., None]).sum(axis=-1))
        own = np.take_along_axis(whole, y.astype(np.intp)[:, None, None], axis=-1)[..., 0]
        return np.asarray(weights[:, None] * (own - total))

    def statistics(self, weights: FloatArray) -> dict[str, Statistic]:
        """Return the proportion of each class, Brier score and calibration."""
        shares = {str(level): Statistic(_Share(place)) for place, level in enumerate(self.levels)}
        return shares | {
            "brier": Statistic(_brier, discrepancy=True),
            "calibration": Statistic(_calibration, discrepancy=True),
        }

    def error(self, y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
        """Return the proportion of rows whose class `y` has not the largest of `mean` (rows, K)."""
        return float(weights @ (mean.argmax(axis=1) != y) / weights.sum())

    def facts(self, y: FloatArray, weights: FloatArray | None) -> list[tuple[str, str]]:
        """Return the numbers of rows by class."""
        w = np.ones(y.size) if weights is None else weights
        counts = np.bincount(y.astype(np.intp), w, len(self.levels))
        shown = [
            f"{level}: {share(number, float(w.sum()))}"
            for level, number in zip(self.levels, counts, strict=True)
        ]
        names = ["Base class"] + ["Class"] * (len(shown) - 1)
        return [("Classes", str(len(shown))), *zip(names, shown, strict=True)]


def _brier(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return half the mean squared distance of probabilities (n, K) from 1 for the class and 0 for others."""
    own = y[:, None] == np.arange(mean.shape[1])
    return float(0.5 * weights @ ((own - mean) ** 2).sum(axis=1) / weights.sum())


def _calibration(y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
    """Return the sum over classes of the chi-square statistics of their rows by their probability."""
    return sum(calibration((y == k).astype(float), mean[:, k], weights) for k in range(mean.shape[1]))


@dataclass(frozen=True)
class _Share:
    """The weighted proportion of the class at a position."""

    place: int

    def __call__(self, y: FloatArray, mean: FloatArray, weights: FloatArray) -> float:
        return float(weights @ (y == self.place) / weights.sum())
