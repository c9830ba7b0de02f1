"""Sufficient statistics of a gaussian regression."""

from dataclasses import dataclass, replace

import numpy as np

from pyrjsel._typing import BoolArray, FloatArray


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
