"""Gaussian regression problems: sufficient statistics and priors."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lstsq, qr
from scipy.linalg.lapack import dgejsv, dtrtrs

from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, counted
from pyrjsel.design import WideMatrix
from pyrjsel.distributions import InverseGamma
from pyrjsel.families import Gaussian
from pyrjsel.selection.priors.base import CoefficientPrior
from pyrjsel.selection.priors.gaussian import DOUBTFUL, GaussianPrior, Integrals
from pyrjsel.selection.regression.columns import (
    CLEAR,
    Directions,
    TermColumns,
    clear_by,
    dependent_terms,
    directions_of,
    pairs_of,
)
from pyrjsel.selection.regression.summed_rows import SufficientStatistics
from pyrjsel.selection.regression.wide import WideColumns

# dgejsv: arbitrary row scales, both sets of vectors, no restriction of the range, no transposition.
ACCURATE, BOTH, WHOLE, AS_IS = 2, 0, 1, 0


@dataclass(frozen=True)
class Spectrum:
    """P^-1/2 X'WX P^-1/2 = Q diag(value) Q' for a diagonal P, and y along its directions.

    The singular values and vectors of P^-1/2 times a square root of X'WX are computed by Jacobi's method
    (Drmac and Veselic 2008) with high relative accuracy: prior precisions of columns in different units can
    differ by many powers of ten, and an eigendecomposition of the product would lose the small values.

    Attributes
    ----------
    columns : ndarray (D, r)
        F = P^1/2 Q, so that X'WX = F diag(value) F'.
    value : ndarray (r,)
        Positive values; r is at least 1 (with a single value 0 if no column varies).
    image : ndarray (r,)
        h, with ``P^-1/2 X'Wy = Q diag(value)^1/2 h``.
    rest : float
        y'Wy minus the sum of h^2, the part that no combination of columns explains.
    """

    columns: FloatArray
    value: FloatArray
    image: FloatArray
    rest: float

    @classmethod
    def of(cls, root: FloatArray, image: FloatArray, rest: float, precision: FloatArray) -> Self:
        """Return the spectrum for P = diag(`precision`) of a regression with X'WX = B B' and X'Wy = B h.

        `root` (D, r) is B, `image` (r,) h, and `rest` y'Wy - h'h.
        """
        if not image.size:
            return cls(np.zeros((root.shape[0], 1)), np.zeros(1), np.zeros(1), rest)
        scaled = np.asfortranarray(root / np.sqrt(precision)[:, None])
        values, left, right, work, _, failed = dgejsv(
            scaled, joba=ACCURATE, jobu=BOTH, jobv=BOTH, jobr=WHOLE, jobt=AS_IS, overwrite_a=1
        )
        if failed:
            raise DataError("The singular values of the columns were not found: rescale them.")
        values = values * (work[0] / work[1])
        columns = np.ascontiguousarray(left * np.sqrt(precision)[:, None])
        return cls(columns, values**2, right.T @ image, rest)


# Cross-products of up to this many columns are computed at once, and take 32 MB at most; those of more only
# if there are as many rows, since they would otherwise be larger than the data.
SMALL_GRAM = 2048
# Sums of squares below this proportion of their value before a subtraction are due to rounding.
ROUNDING = 1e-12
# Columns longer than this many rounding errors, given those before them, are independent in any order.
SURE = 10.0
# Proportion that is left of a column given a multiple of it by cross-products.
RANK_NOISE = 1e-13
# Rounding errors of a perfect least-squares fit are at most a dozen eps of its terms, for 200 rows and
# columns; this is multiplied by the square root of their number.
PERFECT = 8.0 * np.finfo(float).eps
# Directions of standardised columns with less than this proportion of the largest one are due to rounding.
DIRECTION_TOL = 1e-13


@dataclass(frozen=True)
class GaussianRegression(TermColumns):
    """A gaussian regression problem: sums of squares and products of standardised columns, and priors.

    The flat intercept is integrated out. Built from rows by :meth:`build`, or from sums over rows by
    :meth:`from_statistics`.

    Attributes
    ----------
    mean, scale : ndarray (D,)
        Means and standard deviations of the columns (scale 1 for a constant one).
    term_start : int32 array (J + 1,)
        Term j has the columns ``term_start[j]:term_start[j + 1]``; column 0 is the intercept.
    n : int
        Number of rows of positive weight.
    total_weight, log_weight : float
        Sums of the weights and of their logarithms.
    centre, square : float
        Weighted mean of the response minus the offset, and the sum of squares about it.
    cross : ndarray (D,)
        Weighted products of columns and response.
    prior : GaussianPrior
    sigma : ndarray (2, J + 1)
        a and b of ``sigma^2 ~ IG(a, b)`` by number of terms in the model; zeros for 1 / sigma^2.
    rooted : ndarray (D, n), WideColumns or None
        Standardised columns times square roots of the weights; None if only sums are known.
    y, offset : ndarray (n,) or None
    weights : ndarray (n,) or None
        Weights; None also if all are one.
    products : ndarray (D, D) or None
        Cross-products of the standardised columns, if only sums are known.
    family : Gaussian
    """

    log_constant: ClassVar[float] = 0.0  # marginal likelihoods omit nothing
    mean: FloatArray
    scale: FloatArray
    term_start: NDArray[np.intc]
    n: int
    total_weight: float
    log_weight: float
    centre: float
    square: float
    cross: FloatArray
    prior: GaussianPrior
    sigma: FloatArray
    rooted: FloatArray | WideColumns | None = None
    y: FloatArray | None = None
    offset: FloatArray | None = None
    weights: FloatArray | None = None
    products: FloatArray | None = None
    family: Gaussian = field(default_factory=Gaussian)

    @classmethod
    def build(
        cls,
        x: FloatArray,
        y: FloatArray,
        sizes: list[int],
        coef_prior: CoefficientPrior,
        *,
        sigma_prior: InverseGamma | None = None,
        weights: FloatArray | None = None,
        offset: FloatArray | None = None,
    ) -> "GaussianRegression":
        """Standardise the columns `x` (n, D), of which term j has ``sizes[j]``, and compile the prior.

        Raises
        ------
        DataError
            If there is no posterior because the response is constant or fits perfectly.
        ParameterError
            If the intercept's prior is not flat.
        """
        n, size = x.shape
        w = np.ones(n) if weights is None else weights
        total = float(w.sum())
        target = y if offset is None else y - offset
        left = target - float(w @ target / total)
        mean = w @ x / total
        rooted = np.empty((size, n))
        np.subtract(x.T, mean[:, None], out=rooted)
        # Without temporaries of the size of the columns.
        scale = np.sqrt(np.array([w @ column**2 for column in rooted]) / total)
        largest = np.maximum(x.max(axis=0, initial=0.0), -x.min(axis=0, initial=0.0))
        constant = scale <= 1e-13 * largest
        scale[constant] = 1.0
        rooted[constant] = 0.0
        rooted /= scale[:, None]
        cross = rooted @ (w * left)
        if weights is not None:
            rooted *= np.sqrt(w)
        return cls._of_columns(rooted, mean, scale, cross, sizes, coef_prior, sigma_prior, y, weights, offset)

    @classmethod
    def of_wide(
        cls,
        matrix: WideMatrix,
        y: FloatArray,
        coef_prior: CoefficientPrior,
        *,
        sigma_prior: InverseGamma | None = None,
        weights: FloatArray | None = None,
        offset: FloatArray | None = None,
    ) -> "GaussianRegression":
        """Make a problem with a term for each column of a matrix (n, D) that stays as it is given.

        Raises
        ------
        DataError, ParameterError
            As for :meth:`build`; also if weights are 0, or columns vary in rows of negligible weight alone.
        NotAvailableError
            For priors with sigma^2 or coefficients in the state of a sampler.
        """
        w = np.ones(y.size) if weights is None else weights
        if not np.all(w > 0):
            none = counted(int(np.sum(w == 0)), "row")
            raise DataError(
                f"The 'weights' of {called()} must be positive for a matrix of this size, which is used as "
                f"it is given: leave the {none} of weight 0 out of all parameters."
            )
        columns = WideColumns.of(matrix, w)
        low, high = matrix.ends()
        lost = int(np.sum(columns.scale <= 1e-13 * np.maximum(np.abs(low), np.abs(high))))
        if lost:
            raise DataError(
                f"{counted(lost, 'column')} of {called()} vary in rows of negligible weight alone. Leave "
                "these columns, or these rows, out."
            )
        if coef_prior.compile_gaussian(columns.scale, y.size).in_state:
            raise NotAvailableError(
                "A matrix of this size is used as it is given, which supports priors under which "
                f"coefficients and sigma^2 are integrated out. Got a {type(coef_prior).__name__}: use a "
                "GPrior, a mixture of g-priors or a Normal that scales with sigma^2, or give the matrix as "
                "float64 in memory."
            )
        target = y if offset is None else y - offset
        cross = columns.products(w * (target - float(w @ target / w.sum())))
        sizes = [1] * columns.mean.size
        return cls._of_columns(
            columns, columns.mean, columns.scale, cross, sizes, coef_prior, sigma_prior, y, weights, offset
        )

    @classmethod
    def _of_columns(
        cls,
        rooted: FloatArray | WideColumns,
        mean: FloatArray,
        scale: FloatArray,
        cross: FloatArray,
        sizes: list[int],
        coef_prior: CoefficientPrior,
        sigma_prior: InverseGamma | None,
        y: FloatArray,
        weights: FloatArray | None,
        offset: FloatArray | None,
    ) -> "GaussianRegression":
        """Make a problem from standardised columns and their products with the response."""
        w = np.ones(y.size) if weights is None else weights
        used, total = w > 0, float(w.sum())
        target = y if offset is None else y - offset
        centre = float(w @ target / total)
        left = target - centre
        rows = int(used.sum())
        square = float(w @ left**2)
        if square <= (1e-14 * np.max(np.abs(target), initial=0.0)) ** 2 * total:
            square, cross = 0.0, np.zeros(mean.size)
        made = cls(
            mean,
            scale,
            np.concatenate([[1], 1 + np.cumsum(sizes)]).astype(np.intc),
            rows,
            total,
            float(np.sum(np.log(w[used]))),
            centre,
            square,
            cross,
            coef_prior.compile_gaussian(scale, rows),
            _sigma(sigma_prior, len(sizes), coef_prior),
            rooted,
            y,
            np.zeros(y.size) if offset is None else offset,
            None if weights is None or np.all(weights == 1) else weights,
        )
        made._check()
        return made

    @classmethod
    def from_statistics(
        cls,
        statistics: SufficientStatistics,
        sizes: list[int],
        coef_prior: CoefficientPrior,
        *,
        sigma_prior: InverseGamma | None = None,
    ) -> "GaussianRegression":
        """Make a problem from sums over rows: columns, response minus offset, weights.

        Raises
        ------
        DataError, ParameterError
            As for :meth:`build`.
        """
        total, products = statistics.weight, statistics.products
        variance = np.diag(products) / total
        # Rounding of a mean leaves about eps of it in every centred value.
        constant = np.sqrt(variance) <= 1e-13 * np.abs(statistics.mean)
        deviation = np.where(constant, 1.0, np.sqrt(variance))
        correlated = np.where(constant | constant[:, None], 0.0, products / np.outer(deviation, deviation))
        scale = deviation[:-1]
        spread = float(deviation[-1])
        made = cls(
            statistics.mean[:-1],
            scale,
            np.concatenate([[1], 1 + np.cumsum(sizes)]).astype(np.intc),
            statistics.n,
            total,
            statistics.log_weight,
            float(statistics.mean[-1]),
            0.0 if constant[-1] else float(products[-1, -1]),
            correlated[:-1, -1] * spread,
            coef_prior.compile_gaussian(scale, statistics.n),
            _sigma(sigma_prior, len(sizes), coef_prior),
            products=np.ascontiguousarray(correlated[:-1, :-1]),
        )
        made._check()
        return made

    def _check(self) -> None:
        """Raise if some model has no posterior."""
        if self.n < 2:
            raise DataError(f"{called()} needs at least 2 rows of positive weight. Got {self.n} instead.")
        if self.b > 0:
            return
        if self.square == 0:
            raise DataError(
                f"The response of {called()} is constant: p(sigma^2) = 1 / sigma^2 leaves no posterior. "
                "Give a sigma_prior, such as InverseGamma(2, 1)."
            )
        if not self.prior.quadrature:
            return
        # Under spike-and-slab priors all columns are in every model.
        by_sums = self.rooted is None
        least = ROUNDING if by_sums else 0.0
        if self.prior.ratio is None and self.spare > 0 and self.least_residual <= least:
            limit = ", up to 1e-12 as sums over rows tell it" if by_sums else ""
            raise DataError(
                f"The columns of {called()} fit the response perfectly (R^2 = 1{limit}): marginal "
                "likelihoods are infinite under p(sigma^2) = 1 / sigma^2 and this coefficient prior. Give a "
                "sigma_prior, such as InverseGamma(2, 1), or a GPrior, or leave out columns that determine "
                "the response."
            )
        if self.prior.ratio is not None and self.spectrum.rest <= ROUNDING * self.square:
            raise DataError(
                f"The columns of {called()} fit the response perfectly, as columns that outnumber rows do: "
                "p(sigma^2) = 1 / sigma^2 and SpikeSlab(scaled=False) leave no posterior. Give a "
                "sigma_prior, such as InverseGamma(2, 1), or SpikeSlab(scaled=True)."
            )

    def check_models(self, max_size: int) -> None:
        """Raise :class:`DataError` if models of at most `max_size` terms have no posterior.

        Samplers with sigma^2 in their state would not notice: the posterior has an infinite spike at 0.
        """
        if not self.prior.given_variance or self.b > 0 or self.widest(max_size) <= self.rows:
            return
        if self.square_root()[2] <= ROUNDING * self.square:
            raise DataError(
                f"Models of {self.rows} columns fit the response of {self.rows + 1} rows perfectly (R^2 = 1) "
                "and under p(sigma^2) = 1 / sigma^2 and Normal(scaled=False) their marginal likelihoods are "
                "infinite. Give a sigma_prior, such as InverseGamma(2, 1), or a smaller max_size."
            )

    # ------------------------------------------------------------------ sums

    @property
    def rows(self) -> int:
        """N, the number of rows minus one for the flat intercept."""
        return self.n - 1

    @property
    def a(self) -> float:
        """Shape of the prior of sigma^2 (for the null model, if it depends on the size)."""
        return float(self.sigma[0, 0])

    @property
    def b(self) -> float:
        """Scale of the prior of sigma^2, for the same model."""
        return float(self.sigma[1, 0])

    @property
    def nu(self) -> float:
        """Degrees of freedom of the posterior of sigma^2 in the null model, N + 2 a."""
        return self.rows + 2.0 * self.a

    @property
    def total(self) -> float:
        """The sum of squares y'Wy + 2 b."""
        return self.square + 2.0 * self.b

    @property
    def origin(self) -> float:
        """Centre subtracted from the raw-scale intercept before moments are accumulated."""
        return self.centre

    @property
    def starts(self) -> NDArray[np.intc]:
        """Boundaries of the terms' columns, counted without the intercept, (J + 1,)."""
        return self.term_start - np.intc(1)

    @property
    def wide(self) -> bool:
        """Whether columns stay in a matrix as it is given."""
        return isinstance(self.rooted, WideColumns)

    @property
    def many(self) -> bool:
        """Whether there are so many columns that their cross-products are computed on demand."""
        return not self.held

    @property
    def term_scores(self) -> FloatArray:
        """Largest squared product of the response and a standardised column of each term, (J,)."""
        return np.asarray(np.maximum.reduceat(self.cross**2, self.starts[:-1]))

    @property
    def held(self) -> bool:
        """Whether cross-products of all columns are computed at once."""
        if not isinstance(self.rooted, np.ndarray):
            return self.rooted is None
        return self.mean.size <= max(SMALL_GRAM, self.n)

    @kept_property
    def gram(self) -> FloatArray:
        """X'WX of the standardised columns, (D, D)."""
        if self.products is not None:
            return self.products
        assert isinstance(self.rooted, np.ndarray)
        return self.rooted @ self.rooted.T

    @kept_property
    def matrix(self) -> FloatArray:
        """A = X'WX + P, or X'WX for a g-prior, (D, D)."""
        return self.gram + np.diag(self.prior.precision) if self.prior.rank_tol == 0 else self.gram

    def gram_of(self, columns: np.ndarray) -> FloatArray:
        """Return X'WX (..., d, d) of some `columns` (..., d), without computing all of it."""
        if self.held:
            return pairs_of(self.gram, columns)
        assert self.rooted is not None
        if columns.ndim > 1 and len(columns) and isinstance(self.rooted, WideColumns):
            return np.stack([self.gram_of(each) for each in columns])  # the columns of one model at a time
        part = self.rooted[columns]
        return part @ part.swapaxes(-1, -2)

    @property
    def most_columns(self) -> int:
        """Largest number of independent columns besides the intercept."""
        return self.rows

    def rank_gram(self, columns: np.ndarray) -> FloatArray:
        """Return the cross-products (..., d, d) of `columns` (..., d) for the rank rule: X'WX."""
        return self.gram_of(columns)

    @kept_property
    def triangle(self) -> FloatArray:
        """The rows of columns and response (D + 1, m): at most as many as there are of both, by QR."""
        assert self.rooted is not None
        rows = np.vstack([self.rooted[np.arange(self.mean.size)], self.response])
        if len(rows) >= rows.shape[1]:
            return rows
        (left,) = qr(rows.T, mode="r", overwrite_a=True, check_finite=False)
        return np.ascontiguousarray(left[: len(rows)].T)

    @property
    def response(self) -> FloatArray:
        """The centred response times square roots of the weights, (n,)."""
        assert self.y is not None
        left = self.y - (0.0 if self.offset is None else self.offset) - self.centre
        return left if self.weights is None else left * np.sqrt(self.weights)

    def rank_rows(self, columns: np.ndarray) -> FloatArray | None:
        """Return rows (d, m) with the cross-products of `columns`; None if only these are used."""
        if self.rooted is None or (self.mean.size > self.rows and not self.close):
            return None
        return self.rows_with_response(columns)[:-1]

    def rows_with_response(self, columns: np.ndarray) -> FloatArray:
        """Return rows (d + 1, m) with the products of `columns` (d,), from 0, and the response."""
        assert self.rooted is not None
        if self.held:
            return self.triangle[np.append(columns, -1)]
        return np.vstack([self.rooted[columns], self.response])

    def residual_of(self, column: int, others: np.ndarray) -> tuple[float, FloatArray, FloatArray, float]:
        """Return what is left of a column by `others` (d,), from 0, accurately where it is little.

        Returns
        -------
        share : float
            1 if the column is independent of the others by the rank rule, -1 if not; 0 if the order of the
            columns may matter.
        products : ndarray (D + 1,)
            Products of what is left with all columns and the response; of its own column, the sum of squares.
        steps : ndarray (d,)
            Coefficients of the others.
        form : float
            What is left of the mean, in standard deviations, by the same combination.
        """
        x, means = self.triangle[column], self.mean / self.scale
        q, upper = np.linalg.qr(self.triangle[others].T)
        along = q.T @ x
        left = x - q @ along
        more = q.T @ left  # what rounding has left
        left -= q @ more
        steps = dtrtrs(upper, along + more)[0]
        length, limit = np.sqrt(left @ left), self.rounding[column] * np.sqrt(x @ x)
        products = self.triangle @ left
        products[column] = left @ left
        share = -1.0 if length <= limit else 0.0 if length <= SURE * limit else 1.0
        return share, products, steps, float(means[column] - steps @ means[others])

    def residual(self, rows: FloatArray, fitted: FloatArray, left: float) -> float:
        """Return the residual sum of squares `left` of rows with a response, 0 if only rounding is left.

        `fitted` (d, m) are the columns times their coefficients.
        """
        parts = rows[-1] @ rows[-1] + self.total_weight * self.centre**2 + np.sum(fitted**2)
        return 0.0 if left <= max(self.n, len(rows)) * PERFECT**2 * parts else left

    @kept_property
    def close(self) -> bool:
        """Whether there may be models whose columns are independent, but not clearly so by cross-products.

        Not if all dependences are exact, without small loadings. Of more columns than rows only pairs are
        looked at, and none of so many that cross-products are computed on demand.
        """
        known = self.prior.rank_tol > 0 and self.rooted is not None and self.mean.size > 0 and self.held
        if not known or clear_by(self.gram, DOUBTFUL):
            return False
        if self.mean.size > self.rows:
            size = np.where(np.diag(self.gram) > 0, np.sqrt(np.diag(self.gram)), 1.0)
            left = 1.0 - (self.gram / np.outer(size, size)) ** 2
            return bool(np.any((left > RANK_NOISE) & (left < DOUBTFUL)))
        found = directions_of(self, np.arange(self.mean.size))
        loadings = np.abs(found.circuits())
        least = loadings[loadings > 0].min(initial=1.0)
        return bool(found.values[found.real].min(initial=1.0) < CLEAR or least < np.sqrt(CLEAR))

    @property
    def near_perfect(self) -> bool:
        """Whether there may be models that leave too little of the response for sums of squares."""
        known = self.prior.rank_tol > 0 and self.prior.quadrature and self.rooted is not None
        return known and self.spare > 0 and self.least_residual < DOUBTFUL

    @property
    def rank_squares(self) -> FloatArray:
        """Sums of squares of all columns, (D,)."""
        if isinstance(self.rooted, WideColumns):
            return np.full(self.mean.size, self.total_weight)
        return np.diag(self.gram) if self.rooted is None else np.einsum("ij,ij->i", self.rooted, self.rooted)

    def dependent(self) -> list[int]:
        """Return the terms with columns in a linear dependence."""
        return dependent_terms(self)

    @property
    def right(self) -> FloatArray:
        """The vector c = X'Wy + P m, (D,)."""
        return self.cross + self.prior.precision * self.prior.mean if self.prior.mean.any() else self.cross

    @property
    def penalty(self) -> FloatArray:
        """Contribution of each column to m'P m, (D,)."""
        return self.prior.precision * self.prior.mean**2

    @kept_property
    def directions(self) -> Directions:
        """Principal directions of the columns."""
        return directions_of(self, np.arange(self.mean.size))

    @kept_property
    def spectrum(self) -> Spectrum:
        """Columns along the principal directions of the spikes' prior."""
        return Spectrum.of(*self.square_root(), self.prior.precision)

    def square_root(self) -> tuple[FloatArray, FloatArray, float]:
        """Return B (D, r) of full rank with X'WX = B B', h with X'Wy = B h, and y'Wy - h'h."""
        if not self.mean.size:
            return np.zeros((0, 0)), np.zeros(0), self.square
        if self.close:
            rows, size = self.triangle, self.mean.size
            if self.directions.real.all() and size < rows.shape[1]:
                left = rows[-1, size:]
                return rows[:-1, :size], rows[-1, :size], float(left @ left)
        if self.held:
            values, vectors = eigh(self.gram)
            kept = values > DIRECTION_TOL * max(values[-1], 0.0)
            root = vectors[:, kept] * np.sqrt(values[kept])
            image = (vectors[:, kept].T @ self.cross) / np.sqrt(values[kept])
            return root, image, max(self.square - float(image @ image), 0.0)
        # More columns than rows: directions of the rows.
        rooted, y, offset = self.rooted, self.y, self.offset
        assert isinstance(rooted, np.ndarray)
        assert y is not None
        assert offset is not None
        response = np.zeros(y.size) if self.square == 0 else y - offset - self.centre
        if self.weights is not None:
            response = response * np.sqrt(self.weights)
        values, vectors = eigh(rooted.T @ rooted)
        kept = values > DIRECTION_TOL * values[-1]
        basis = vectors[:, kept]
        image = basis.T @ response
        left = response - basis @ image
        return rooted @ basis, image, float(left @ left)

    @property
    def spare(self) -> int:
        """Residual degrees of freedom with all columns; 0 if there are as many columns as rows."""
        if self.mean.size >= self.rows:
            return 0
        return self.rows - self.directions.rank

    @kept_property
    def least_residual(self) -> float:
        """Smallest 1 - R^2 of a model, relative to y'Wy + 2 b; 0 if columns may interpolate."""
        if self.total == 0 or self.spare == 0:
            return 2.0 * self.b / self.total if self.total else 0.0
        left = max(0.0, 1.0 - self.directions.fit(self.cross) / self.total)
        if left >= DOUBTFUL or self.rooted is None:
            return left
        return (self.least_squares(np.arange(self.mean.size)) + 2.0 * self.b) / self.total

    def least_squares(self, columns: np.ndarray) -> float:
        """Return the residual sum of squares of the rows given `columns`, from 0, dependent ones too."""
        rows = self.rows_with_response(columns)
        # Singular values of dependent columns are about this because of rounding.
        b = lstsq(rows[:-1].T, rows[-1], cond=max(self.n, len(rows)) * np.finfo(float).eps)[0]
        rest = rows[-1] - b @ rows[:-1]
        return self.residual(rows, rows[:-1] * b[:, None], float(rest @ rest))

    def widest(self, max_size: int) -> int:
        """Return the largest number of columns, with intercept, of a model of `max_size` terms with a prior.

        Under a g-prior that is at most the number of rows.
        """
        sizes = np.sort(np.diff(self.term_start))[::-1]
        most = 1 + int(sizes[:max_size].sum())
        return min(most, self.n) if self.prior.rank_tol > 0 else most

    @kept_property
    def shrinkage(self) -> Integrals:
        """Integrals over g, for mixtures of g-priors."""
        # Half of the smallest residual, since rounding can bring a model slightly below it.
        return self.prior.integrals(float(self.n), self.nu, 0.5 * self.least_residual)

    @property
    def constant(self) -> float:
        """Constant to add to a compiled log marginal likelihood to give log p(y | model).

        Densities of the flat intercept and, without a `sigma_prior`, of log sigma^2 are taken as 1.
        """
        if self.prior.ratio is not None:
            return 0.0
        half = 0.5 * self.nu
        value = special.gammaln(half) + half * np.log(2.0) - 0.5 * self.rows * np.log(2.0 * np.pi)
        value += 0.5 * (self.log_weight - np.log(self.total_weight))
        if self.a > 0:
            value += self.a * np.log(self.b) - special.gammaln(self.a)
        return float(value)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("gram", "matrix", "shrinkage", "directions", "triangle"):
            state.pop(name, None)  # recomputed when needed
        return state


def _sigma(prior: InverseGamma | None, terms: int, coef_prior: CoefficientPrior) -> FloatArray:
    """Return a and b (2, J + 1) of the prior of sigma^2."""
    if prior is None:
        return np.zeros((2, terms + 1))
    if prior.by_size and not coef_prior.variance_by_size:
        must = "an InverseGamma of two numbers where the 'coef_prior' is no SpikeSlab"
        raise bad_value("sigma_prior", must, prior)
    return prior.table(terms)
