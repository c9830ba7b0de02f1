"""Columns of regressions of all families: their terms and scales, and which of them are linearly dependent.

The rank rule: the columns of a model are dependent if those before it leave of a centred column less than the
proportion `LEAST` of its length, or what rounding of the column itself may have left. Most models are
independent beyond doubt by their cross-products, and rows of the others are factored (QR). Cross-products
lose half of the digits: where there are no rows, a proportion `RANK_TOL` of the sum of squares must remain of
each column given the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack, qr, solve_triangular, svd

from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace
from pyrjsel.runtime import one_blas_thread
from pyrjsel.selection.priors.gaussian import RANK_TOL


class TermColumns:
    """Standardised columns, each of a term; the leading ones are the constants of intercepts.

    With L linear predictors of an observation, there are L intercepts, and each column of the design occurs L
    times in a row: column k belongs to the linear predictor of intercept k modulo L. L is mostly 1.

    Attributes
    ----------
    mean, scale : ndarray (D,)
        Means and standard deviations of the columns behind the intercepts.
    term_start : int32 array (J + 1,)
        Term j has the columns ``term_start[j]:term_start[j + 1]``.
    """

    mean: FloatArray
    scale: FloatArray
    term_start: NDArray[np.intc]

    @property
    def n_terms(self) -> int:
        """Number J of terms."""
        return self.term_start.size - 1

    @property
    def leading(self) -> int:
        """Number L of intercepts."""
        return int(self.term_start[0])

    @property
    def n_columns(self) -> int:
        """Number of columns, including intercepts."""
        return self.mean.size + self.leading

    @property
    def least_share(self) -> float:
        """Proportion of a sum of squares that is due to rounding of cross-products."""
        return RANK_TOL

    @property
    def rounding(self) -> FloatArray:
        """Proportions of the lengths of the centred columns that are due to rounding, (D,)."""
        return np.maximum(LEAST, UNCENTRED * np.hypot(1.0, self.mean / self.scale))

    @property
    def units(self) -> FloatArray:
        """Standard deviations of all columns, 1 for intercepts."""
        return np.concatenate([np.ones(self.leading), self.scale])

    def model_columns(self, gamma: np.ndarray) -> np.ndarray:
        """Return the columns of a model `gamma` (J,), intercepts first."""
        terms = np.flatnonzero(gamma)
        first = self.term_start[terms]
        sizes = self.term_start[terms + 1] - first
        # Each column by its place among all those of the model.
        ahead = np.cumsum(sizes) - sizes + self.leading
        count = self.leading + int(sizes.sum())
        columns = np.arange(count, dtype=np.intp)
        columns[self.leading :] += np.repeat(first - ahead, sizes)
        return columns

    def largest_model(self, gammas: np.ndarray) -> int:
        """Return the largest number of columns, including intercepts, of a model in `gammas` (m, J)."""
        sizes = np.diff(self.term_start)
        most, block = 0, 2**21 // max(1, sizes.size) + 1  # models processed at a time
        for at in range(0, len(gammas), block):
            most = max(most, int((gammas[at : at + block] @ sizes.astype(float)).max(initial=0)))
        return self.leading + most

    @property
    def origin(self) -> float:
        """Centre subtracted from raw-scale intercepts before moments are accumulated."""
        return 0.0

    @kept_property
    def raw_shift(self) -> FloatArray:
        """Shift of a raw-scale intercept for a unit of each coefficient, (D + L,)."""
        return np.concatenate([np.zeros(self.leading), self.mean / self.scale])

    def shifts(self, columns: np.ndarray) -> FloatArray:
        """Return the shifts (d, L) of raw-scale intercepts for a unit of the coefficients of `columns`."""
        out = np.zeros((columns.size, self.leading))
        out[np.arange(columns.size), columns % self.leading] = self.raw_shift[columns]
        return out

    def to_raw(self, b: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return coefficients (..., D + L) of the design's own columns from internal ones, in `out`."""
        raw, lead = np.empty(b.shape) if out is None else out, self.leading
        raw[...] = b
        raw[..., lead:] /= self.scale
        # Not by BLAS: the last bit of its sums depends on the other rows.
        for k in range(lead):
            raw[..., k] -= np.einsum("...k,k->...", raw[..., lead + k :: lead], self.mean[k::lead])
        return raw

    def log_scale(self, gammas: np.ndarray) -> FloatArray:
        """Return the log Jacobian from internal coefficients to the design's own scale, (m,).

        The density of b_k = s_k beta_k times s_k is that of beta_k.
        """
        starts = self.term_start[:-1] - self.leading
        if not starts.size:
            return np.zeros(len(gammas))
        gains = np.add.reduceat(np.log(self.scale), starts)
        block = 2**14  # models converted to floats at a time
        parts = [
            np.einsum("mj,j->m", gammas[at : at + block].astype(float), gains)  # see to_raw
            for at in range(0, len(gammas), block)
        ]
        return np.concatenate(parts)


def starts_of(sizes: list[int], predictors: int = 1) -> NDArray[np.intc]:
    """Return the starts (J + 1,) of terms with `sizes` columns of the design, for L linear predictors."""
    return (predictors * np.concatenate([[1], 1 + np.cumsum(sizes)])).astype(np.intc)


# Smaller loadings are due to rounding of cross-products; those of rows are as accurate as the rule below.
LOADING = 1e-6
# Proportions of the length of a centred column, and of its uncentred length, that are due to rounding.
LEAST, UNCENTRED = 1e-8, 100.0 * np.finfo(float).eps
# The determinant of the correlations is a lower bound of the proportion left of each column: above this, no
# column is dependent.
CLEAR = 1e-6
# Most columns of which those in a dependence are found where there are fewer rows.
NAMED = 256
# Products of the columns of models that are checked at a time.
BLOCK = 2**17
# Most columns of models whose determinants are computed together: of wider ones they are rarely clear.
TOGETHER = 32
# Operations for checks of models in a quarter of a second; least operations for a model.
WORK, ONE = 2.5e8, 2e4


@dataclass(frozen=True)
class Directions:
    """Principal directions of some columns: eigenvalues and eigenvectors of their correlations.

    Attributes
    ----------
    values : ndarray (d,)
        In increasing order.
    vectors : ndarray (d, d)
    scale : ndarray (d,)
        Square roots of the columns' sums of squares; 1 for constant columns.
    rounding : float or ndarray (d,)
        Values that are due to rounding.
    loading : float
        Entries of vectors that are due to rounding.
    """

    values: FloatArray
    vectors: FloatArray
    scale: FloatArray
    rounding: FloatArray | float = RANK_TOL
    loading: float = LOADING

    @classmethod
    def of(cls, gram: FloatArray, least: float = RANK_TOL) -> Self:
        """Return the directions of columns with cross-products `gram` (d, d), `least` of them rounding."""
        scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
        if not scale.size:
            return cls(scale, gram, scale)
        values, vectors = eigh(gram / np.outer(scale, scale))
        return cls(values, vectors, scale, least * max(1.0, values.max()))

    @classmethod
    def of_rows(cls, rows: FloatArray, least: FloatArray) -> Self:
        """Return the directions of columns `rows` (d, n), of which proportions `least` (d,) are rounding."""
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        scale = np.where(length > 0, length, 1.0)
        vectors, values, _ = svd(rows / scale[:, None], full_matrices=len(rows) > rows.shape[1])
        squares = np.zeros(scale.size)
        squares[: values.size] = values**2
        return cls(squares[::-1], vectors[:, ::-1], scale, (vectors[:, ::-1] ** 2).T @ least**2, LEAST)

    @property
    def real(self) -> BoolArray:
        """Mask of the directions that are not due to rounding, (d,)."""
        return np.asarray(self.values > self.rounding)

    @property
    def rank(self) -> int:
        """Number of these directions."""
        return int(np.sum(self.real))

    def fit(self, cross: FloatArray) -> float:
        """Return the sum of squares that the columns explain of a response with products `cross` (d,)."""
        real, vectors = self.real, self.vectors / self.scale[:, None]
        return float(np.sum((cross @ vectors[:, real]) ** 2 / self.values[real]))

    def dependent(self) -> BoolArray:
        """Return a mask of the columns in a linear dependence, (d,)."""
        return np.asarray(np.max(np.abs(self.vectors[:, ~self.real]), axis=1, initial=0.0) > self.loading)

    def circuits(self) -> FloatArray:
        """Return vanishing linear combinations (q, d) of one column and columns of a basis each."""
        null = self.vectors[:, ~self.real].T
        if not len(null):
            return null
        _, upper, order = qr(null, mode="economic", pivoting=True)
        found = np.empty_like(null)
        found[:, order] = solve_triangular(upper[:, : len(null)], upper)
        return np.where(np.abs(found) > self.loading, found, 0.0)


def pairs_of(matrix: FloatArray, columns: np.ndarray) -> FloatArray:
    """Return the rows and columns `columns` (..., d) of a matrix, (..., d, d)."""
    if columns.ndim == 1:
        return matrix.take(columns, axis=0).take(columns, axis=1)
    return matrix[columns[..., :, None], columns[..., None, :]]


def _cholesky(gram: FloatArray, shift: float = 0.0) -> FloatArray | None:
    """Return the Cholesky factor of the correlations behind `gram` (d, d) less `shift` I, if there is one."""
    scale = np.sqrt(np.diag(gram))
    if np.any(scale == 0):
        return None
    correlations = gram / scale
    correlations /= scale[:, None]
    correlations[np.diag_indices_from(gram)] -= shift
    factor, failed = lapack.dpotrf(correlations.T, lower=1, overwrite_a=1)
    return None if failed else factor


def clear(gram: FloatArray) -> bool:
    """Return whether columns with cross-products `gram` (d, d) are independent beyond doubt.

    If so, none of their :class:`Directions`, which take far longer, is due to rounding: the smallest
    eigenvalue of their correlations is above `shift`, and the largest at most d.
    """
    # The factor 10 is for rounding.
    return clear_by(gram, 10.0 * RANK_TOL * len(gram))


def clear_by(gram: FloatArray, least: float) -> bool:
    """Return whether the eigenvalues of the correlations behind `gram` (d, d) are above `least`."""
    return not len(gram) or _cholesky(gram, shift=least) is not None


def directions_of(regression: Ranked, columns: IntArray) -> Directions:
    """Return the directions of some columns of a regression, from the rows if there are any."""
    rows = regression.rank_rows(columns)
    if rows is None:
        return Directions.of(regression.rank_gram(columns), regression.least_share)
    return Directions.of_rows(rows, regression.rounding[columns])


def independent(regression: Ranked, columns: IntArray, gram: FloatArray | None = None) -> bool:
    """Return whether some columns of a regression are linearly independent by the rank rule.

    `gram` are their cross-products, if they are known.
    """
    if not len(columns):
        return True
    if len(columns) > regression.most_columns:
        return False
    gram = regression.rank_gram(columns) if gram is None else gram
    # The others leave the proportion 1 / (C^-1)_kk of a column, at least the smallest eigenvalue.
    if clear_by(gram, 2.0 * RANK_TOL):
        return True
    rows = regression.rank_rows(columns)
    if rows is not None:
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        (left,) = qr(rows.T, mode="r", check_finite=False)
        return bool(np.all(np.abs(np.diag(left)) > regression.rounding[columns] * length))
    factor = _cholesky(gram)
    if factor is None:
        return False
    inverse, _ = lapack.dpotri(factor, lower=1)
    return bool(np.all(np.diag(inverse) * regression.least_share < 1.0))


def inflation(gram: FloatArray, sizes: IntArray, rows: int) -> float:
    """Return the largest adjusted variance inflation factor of columns given those of other terms.

    The proportion of a column's sum of squares left on average by as many unrelated columns, divided by that
    left by the columns of other terms.

    Parameters
    ----------
    gram : ndarray (d, d)
        Cross-products of the columns of all terms, in order.
    sizes : int array (J,)
        Number of columns by term.
    rows : int
        Largest number of independent columns, more than d.

    Returns
    -------
    float
        The factor, infinite if columns are linearly dependent.
    """
    gram = np.array(gram)
    scale = np.sqrt(np.diag(gram))
    if np.any(scale == 0):
        return np.inf
    gram /= np.outer(scale, scale)
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        own = slice(end - size, end)
        if size > 1:  # orthogonal columns of a term, which do not inflate each other
            factor, failed = lapack.dpotrf(gram[own, own], lower=1)
            if failed:
                return np.inf
            gram[own] = solve_triangular(factor, gram[own], lower=True)
            gram[:, own] = solve_triangular(factor, gram[:, own].T, lower=True).T
    factor, failed = lapack.dpotrf(gram, lower=1)
    if failed:
        return np.inf
    inverse, _ = lapack.dpotri(factor, lower=1)
    return float(np.max(np.diag(inverse), initial=1.0) * (1.0 - len(gram) / rows))


class Ranked(Protocol):
    """Interface of a regression for the rank rule."""

    @property
    def term_start(self) -> NDArray[np.intc]:
        """Start of each term's columns, counted with the intercepts, the first ones."""

    @property
    def mean(self) -> FloatArray:
        """Means of all columns, (D,)."""

    @property
    def scale(self) -> FloatArray:
        """Standard deviations of all columns, (D,)."""

    @property
    def most_columns(self) -> int:
        """Largest number of independent columns besides intercepts."""

    def rank_gram(self, columns: np.ndarray) -> FloatArray:
        """Return cross-products (..., d, d) of centred columns, numbered from 0, for the rank rule."""

    @property
    def rank_squares(self) -> FloatArray:
        """Sums of squares of all columns for the rank rule, (D,)."""

    def rank_rows(self, columns: IntArray) -> FloatArray | None:
        """Return rows (d, n) with these cross-products, if there are any."""

    @property
    def rounding(self) -> FloatArray:
        """Proportions of the lengths of all columns that are due to rounding, (D,)."""

    @property
    def least_share(self) -> float:
        """Proportion of a sum of squares that is due to rounding, where cross-products decide."""

    def gram_of(self, columns: np.ndarray) -> FloatArray:
        """Return X'WX of some columns, numbered in the same way."""


def dependent_terms(regression: Ranked) -> list[int]:
    """Return the terms with columns in a linear dependence, with the intercept among them.

    All if hundreds of columns outnumber rows: nearly all are, and directions would take far longer than fits.
    """
    sizes = np.diff(regression.term_start)
    if sizes.sum() > max(regression.most_columns, NAMED):
        return list(range(sizes.size))
    every = np.arange(sizes.sum())
    if clear(regression.rank_gram(every)):
        return []
    columns = directions_of(regression, every).dependent()
    return sorted(set(np.repeat(np.arange(sizes.size), sizes)[columns].tolist()))


class IndependentColumns:
    """Existence of models: their columns must be linearly independent by the rank rule.

    Parameters
    ----------
    regression : Ranked
        Regression with a prior that requires independent columns.
    space : ModelSpace
        The models.

    Attributes
    ----------
    groups : list of ndarray of int64
        Terms whose columns depend on each other, directly or indirectly: the connected components of the
        linear dependences (of the matroid of the columns), without isolated columns.
    most : int
        Largest number of terms of a model with independent columns.
    """

    def __init__(self, regression: Ranked, space: ModelSpace) -> None:
        self.starts = regression.term_start.astype(np.intp) - regression.term_start[0]
        self.regression, self.rows = regression, regression.most_columns
        self.varies = regression.rank_squares > 0
        sizes = np.diff(self.starts)
        width = int(sizes.sum())
        rank = self.rows
        if width <= rank:
            every = np.arange(width)
            gram = regression.rank_gram(every)
            circuits = gram[:0] if clear(gram) else directions_of(regression, every).circuits()
            rank = width - len(circuits)
            owner = np.repeat(np.arange(sizes.size), sizes)
            held = scipy.sparse.csr_array((circuits != 0).astype(np.int64)) @ scipy.sparse.csr_array(
                (np.ones(width, dtype=np.int64), (np.arange(width), owner)), shape=(width, sizes.size)
            )
            part = scipy.sparse.csgraph.connected_components(held.T @ held, directed=False)[1]
            doubtful = np.flatnonzero(np.asarray(held.sum(axis=0)).ravel())
            self.groups: list[IntArray] = [
                doubtful[part[doubtful] == number] for number in np.unique(part[doubtful])
            ]
        else:
            self.groups = [np.arange(sizes.size)]
        self.doubtful = np.zeros(sizes.size, dtype=np.uint8)
        for group in self.groups:
            self.doubtful[group] = 1
        fixed = space.free == 0
        room = rank - int(sizes[fixed].sum())
        free = np.cumsum(np.sort(sizes[~fixed]))
        self.most = int(fixed.sum() + np.searchsorted(free, room, side="right"))

    @one_blas_thread
    def exists(self, gamma: ByteArray) -> BoolArray:
        """Return which of the models (m, J) have independent columns, (m,)."""
        model, term = self._pairs(gamma)
        return self._exist(model, term, len(gamma))

    @one_blas_thread
    def with_one(self, base: ByteArray) -> BoolArray:
        """Return which models of the terms in `base` (J,) and one more have independent columns, (J,)."""
        inside = np.flatnonzero(base & self.doubtful)
        more = np.flatnonzero(self.doubtful & ~base & 1)
        term = np.column_stack([np.tile(inside, (more.size, 1)), more])
        found = np.full(base.size, self._exist(np.zeros_like(inside), inside, 1)[0])
        found[more] = self._exist(np.repeat(np.arange(more.size), inside.size + 1), term.ravel(), more.size)
        return found

    def _pairs(self, gamma: ByteArray) -> tuple[IntArray, IntArray]:
        """Return models (m, J) as pairs of a model and a term that may be in a dependence, in order."""
        # Of flat booleans, which is ten times as fast as `np.nonzero`.
        return np.divmod(np.flatnonzero((gamma & self.doubtful).view(bool)), self.doubtful.size)

    def _exist(self, model: IntArray, term: IntArray, count: int) -> BoolArray:
        """Return which of `count` models are independent, from pairs of models, in order, and their terms."""
        sizes = np.diff(self.starts)[term]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = np.repeat(self.starts[term], sizes) + within  # of all models, one after the other
        widths = np.bincount(model, weights=sizes, minlength=count).astype(np.intp)
        first = np.cumsum(widths) - widths
        found = widths <= self.rows
        lone = found & (widths == 1)
        found[lone] = self.varies[columns[first[lone]]]
        for width in np.unique(widths[found & (widths > 1)]):
            same = np.flatnonzero(widths == width)
            # Columns may take memory for as many numbers as there are rows: 4 MB.
            block = max(1, BLOCK // (int(width) * max(int(width), self.rows // 4)))
            for at in range(0, same.size, block):
                part = same[at : at + block]
                found[part] = self._independent(columns[first[part, None] + np.arange(width)])
        return found

    def _independent(self, columns: IntArray) -> BoolArray:
        """Return which rows of `columns` (m, d) are independent, (m,)."""
        if columns.shape[1] > TOGETHER:
            return np.array([independent(self.regression, each) for each in columns])
        grams = self.regression.rank_gram(columns)
        scale = np.sqrt(np.diagonal(grams, axis1=1, axis2=2))
        scale = np.where(scale > 0, scale, 1.0)
        # Beyond doubt where the determinant says so; the others one by one.
        found = np.linalg.det(grams / (scale[:, :, None] * scale[:, None, :])) >= CLEAR
        for i in np.flatnonzero(~found):
            found[i] = independent(self.regression, columns[i], grams[i])
        return found

    def affordable(self, gamma: ByteArray) -> int:
        """Return how many of the models (m, J), from the first, can be checked in a quarter second."""
        model, term = self._pairs(gamma)
        d = np.bincount(model, weights=np.diff(self.starts)[term], minlength=len(gamma))
        work = np.cumsum(ONE + 20.0 * d**2 + d**3 / 3.0)
        return int(np.searchsorted(work, WORK))
