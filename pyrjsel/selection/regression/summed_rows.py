"""Sums over rows: sufficient statistics of a gaussian regression, in place of rows that come in chunks."""

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import pandas as pd

from pyrjsel._errors import NotAvailableError
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel.design import DesignData, Reduced


@dataclass(frozen=True)
class SufficientStatistics:
    """Sufficient statistics of a gaussian regression; those of parts of the rows can be merged.

    Attributes
    ----------
    n : int
        Number of rows of positive weight.
    weight : float
        Sum of the weights.
    mean : ndarray (D + 1,)
        Weighted means of the columns and of the response, which comes last.
    products : ndarray (D + 1, D + 1)
        Weighted cross-products about those means.
    log_weight : float
        Sum of the logarithms of the weights.
    """

    n: int
    weight: float
    mean: FloatArray
    products: FloatArray
    log_weight: float

    @classmethod
    def of(cls, x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> "SufficientStatistics":
        """Sum over rows.

        Parameters
        ----------
        x : ndarray (n, D)
            Columns.
        y : ndarray (n,)
            Response, minus the offset if there is one.
        weights : ndarray (n,), optional
            Inverse error variances up to a factor; rows of weight 0 are ignored.

        Returns
        -------
        SufficientStatistics
            Statistics of these rows; all zero for none.
        """
        z = np.column_stack([x, y])
        w = np.ones(len(z)) if weights is None else weights
        used = w > 0
        if not np.all(used):
            z, w = z[used], w[used]
        weight = float(w.sum())
        mean = w @ z / weight if weight > 0 else np.zeros(z.shape[1])
        centred = z - mean
        # The mean of the centred columns, nonzero by rounding, is subtracted too.
        products = (centred.T * w) @ centred
        if weight > 0:
            slip = w @ centred / weight
            mean = mean + slip
            products -= weight * np.outer(slip, slip)
        return cls(len(z), weight, mean, products, float(np.sum(np.log(w))))

    def restrict(self, inside: BoolArray) -> "SufficientStatistics":
        """Return the statistics of the columns `inside` (D + 1,)."""
        return replace(self, mean=self.mean[inside], products=self.products[np.ix_(inside, inside)])

    def merge(self, other: "SufficientStatistics") -> "SufficientStatistics":
        """Return the statistics of both sets of rows (Chan, Golub and LeVeque 1983, eq. 2.1).

        Parameters
        ----------
        other : SufficientStatistics
            Statistics of other rows and the same columns.

        Returns
        -------
        SufficientStatistics
            Statistics of all rows, up to rounding.
        """
        weight = self.weight + other.weight
        if weight == 0:
            return self
        share = other.weight / weight
        apart = other.mean - self.mean
        between = self.weight * share * np.outer(apart, apart)
        return SufficientStatistics(
            self.n + other.n,
            weight,
            self.mean + share * apart,
            self.products + other.products + between,
            self.log_weight + other.log_weight,
        )


# Attributes of a DesignData that sums lack.
_ROWS = {"X": "columns", "y": "responses", "extras": "weights", "index": "labels", "positions": "positions"}


def largest_values(data: DesignData) -> FloatArray:
    """Return the largest absolute values of the columns and of the response, which comes last, (D + 1,)."""
    # Without a copy of the columns.
    largest = np.maximum(data.X.max(axis=0, initial=0.0), -data.X.min(axis=0, initial=0.0))
    return np.append(largest, np.max(np.abs(data.y), initial=0.0))


@dataclass(frozen=True, eq=False)
class ChunkSums:
    """Sums and extremes over the rows of a chunk.

    Attributes
    ----------
    statistics : SufficientStatistics
        Statistics of the columns and of the response minus the offset.
    response : SufficientStatistics
        Statistics of the response alone; of classes, of being in each but the first.
    largest : ndarray (D + 1,)
        Largest absolute values of the columns and of the response, which comes last.
    extras : dict of str to ndarray (2,)
        Smallest and largest weight, offset and the like.
    """

    statistics: SufficientStatistics
    response: SufficientStatistics
    largest: FloatArray
    extras: dict[str, FloatArray]

    @classmethod
    def of(cls, data: DesignData, responses: FloatArray | None = None) -> "ChunkSums":
        """Return the sums over the rows of `data`, of which linear predictors have `responses` (L, n)."""
        several = data.y[None] if responses is None else responses
        weights, offset = data.extras.get("weights"), data.extras.get("offset")
        target = data.y if offset is None else data.y - offset
        # Values too large to be squared are refused, with names of columns, after all rows have been read.
        with np.errstate(over="ignore", invalid="ignore"):
            return cls(
                SufficientStatistics.of(data.X, target, weights),
                SufficientStatistics.of(several[:-1].T, several[-1], weights),
                largest_values(data),
                {key: np.array([values.min(), values.max()]) for key, values in data.extras.items()},
            )

    def merge(self, other: "ChunkSums") -> "ChunkSums":
        """Return the sums over the rows of both."""
        extras = {
            key: np.array([min(ends[0], other.extras[key][0]), max(ends[1], other.extras[key][1])])
            for key, ends in self.extras.items()
        }
        with np.errstate(over="ignore", invalid="ignore"):
            return ChunkSums(
                self.statistics.merge(other.statistics),
                self.response.merge(other.response),
                np.maximum(self.largest, other.largest),
                extras,
            )


@dataclass(frozen=True, eq=False)
class SummedRows:
    """Sums over rows from chunks, in place of the rows.

    Attributes
    ----------
    sums : ChunkSums
        Sums over all complete rows.
    n : int
        Number of complete rows.
    n_rows : int
        Number of all rows.
    missing : Series
        Number of missing values by column, where not 0.
    n_dropped : int
        Number of dropped rows.
    """

    sums: ChunkSums
    n: int
    n_rows: int
    missing: pd.Series
    n_dropped: int

    @classmethod
    def of(cls, reduced: Reduced[ChunkSums]) -> "SummedRows":
        """Return the sums of reduced rows."""
        return cls(reduced.value, reduced.n, reduced.n_rows, reduced.missing, reduced.n_dropped)

    def restrict(self, inside: BoolArray) -> "SummedRows":
        """Return the same rows with the columns `inside` (D,)."""
        inside = np.append(inside, True)
        statistics = self.sums.statistics.restrict(inside)
        return replace(
            self, sums=replace(self.sums, statistics=statistics, largest=self.sums.largest[inside])
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in _ROWS:
            raise NotAvailableError(
                f"The {_ROWS[name]} of the rows of the fit are not available: the data came in chunks, of "
                "which sums alone were kept."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def same_sums(first: DesignData | SummedRows, second: DesignData | SummedRows) -> bool:
    """Whether two sets of rows, of which at least one is only sums, have the same sums to the last bit."""
    if not isinstance(first, SummedRows) or not isinstance(second, SummedRows):
        return False
    one, other = first.sums.statistics, second.sums.statistics
    return bool(
        one.n == other.n
        and np.array_equal(one.mean, other.mean)
        and np.array_equal(one.products, other.products)
    )
