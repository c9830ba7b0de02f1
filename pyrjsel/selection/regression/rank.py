"""The rank rule: which columns are linearly dependent, and which models have a prior that asks for others.

Of correlations, eigenvalues below a share of the largest are rounding, and of eigenvectors small loadings. A
model has independent columns where each keeps more than that share of its sum of squares given the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack, qr, solve_triangular
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace
from pyrjsel.selection.priors.base import RANK_TOL

# Loadings below this are rounding.
LOADING = 1e-6
# Every column keeps at least the determinant of the columns' correlations: above this, none is dependent.
CLEAR = 1e-6
# Operations of looking at models, a quarter of a second; one model is at least so many.
WORK, ONE = 2.5e8, 2e4


@dataclass(frozen=True)
class Directions:
    """Principal directions of some columns: eigenvalues and eigenvectors of their correlations.

    Attributes
    ----------
    values : ndarray (d,)
        Rising.
    vectors : ndarray (d, d)
    scale : ndarray (d,)
        Roots of the columns' sums of squares; 1 for those that do not vary.
    """

    values: FloatArray
    vectors: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, gram: FloatArray) -> Self:
        """Return the directions of columns with cross-products `gram` (d, d)."""
        scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
        if not scale.size:
            return cls(scale, gram, scale)
        values, vectors = eigh(gram / np.outer(scale, scale))
        return cls(values, vectors, scale)

    @property
    def real(self) -> BoolArray:
        """Which directions are more than rounding, (d,)."""
        return np.asarray(self.values > RANK_TOL * max(1.0, self.values.max(initial=0.0)))

    @property
    def rank(self) -> int:
        """How many are."""
        return int(np.sum(self.real))

    def fit(self, cross: FloatArray) -> float:
        """Return the sum of squares that the columns explain of a response with products `cross` (d,)."""
        real, vectors = self.real, self.vectors / self.scale[:, None]
        return float(np.sum((cross @ vectors[:, real]) ** 2 / self.values[real]))

    def dependent(self) -> BoolArray:
        """Return which columns take part in a linear dependence, (d,)."""
        return np.asarray(np.max(np.abs(self.vectors[:, ~self.real]), axis=1, initial=0.0) > LOADING)

    def circuits(self) -> FloatArray:
        """Return linear combinations of columns (q, d) that are 0, each of a column and some of a basis."""
        null = self.vectors[:, ~self.real].T
        if not len(null):
            return null
        _, upper, order = qr(null, mode="economic", pivoting=True)
        found = np.empty_like(null)
        found[:, order] = solve_triangular(upper[:, : len(null)], upper)
        return np.where(np.abs(found) > LOADING, found, 0.0)


def independent(gram: FloatArray, rows: int) -> bool:
    """Return whether columns with cross-products `gram` (d, d) keep enough of themselves given the others.

    `rows` are the most columns that can.
    """
    if not len(gram):
        return True
    scale = np.sqrt(np.diag(gram))
    if len(gram) > rows or np.any(scale == 0):
        return False
    factor, failed = lapack.dpotrf(gram / np.outer(scale, scale), lower=1)
    if failed:
        return False
    if np.prod(np.diag(factor)) ** 2 >= CLEAR:
        return True
    # A column keeps the share 1 / (C^-1)_kk.
    inverse, _ = lapack.dpotri(factor, lower=1)
    return bool(np.all(np.diag(inverse) * RANK_TOL < 1.0))


def inflation(gram: FloatArray, sizes: IntArray, rows: int) -> float:
    """Return the largest variance inflation factor of columns given those of other terms, adjusted.

    One over the share of a column's sum of squares that the columns of other terms leave, over the share that
    as many unrelated columns would leave on average.

    Parameters
    ----------
    gram : ndarray (d, d)
        Cross-products of the columns of all terms, one after the other.
    sizes : int array (J,)
        Columns by term.
    rows : int
        Most columns that can be independent, more than d.

    Returns
    -------
    float
        Infinity where columns are linearly dependent.
    """
    gram = np.array(gram)
    scale = np.sqrt(np.diag(gram))
    if np.any(scale == 0):
        return np.inf
    gram /= np.outer(scale, scale)
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        own = slice(end - size, end)
        if size > 1:  # orthogonal columns of a term: they do not inflate each other
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
    """A regression as the rank rule sees it."""

    @property
    def term_start(self) -> NDArray[np.intc]:
        """Where each term's columns begin, the intercept (0) counted."""

    @property
    def most_columns(self) -> int:
        """Most columns, beside the intercept, that can be independent."""

    def rank_gram(self, columns: np.ndarray) -> FloatArray:
        """Return products (d, d) of centred columns whose rank matters; numbers count from 0."""

    def gram_of(self, columns: np.ndarray) -> FloatArray:
        """Return X'WX of some columns, likewise."""


def dependent_terms(regression: Ranked) -> list[int]:
    """Return the terms whose columns take part in a linear dependence, the intercept's among them."""
    sizes = np.diff(regression.term_start)
    columns = Directions.of(regression.rank_gram(np.arange(sizes.sum()))).dependent()
    return sorted(set(np.repeat(np.arange(sizes.size), sizes)[columns].tolist()))


def dependent_alone(regression: Ranked, terms: Iterable[int]) -> list[int]:
    """Return those of `terms` whose own columns, two and more, are dependent, the intercept's among them."""
    found = []
    for term in terms:
        columns = np.arange(*regression.term_start[term : term + 2]) - 1
        if columns.size > 1 and not Directions.of(regression.gram_of(columns)).real.all():
            found.append(term)
    return found


class IndependentColumns:
    """Models of linearly independent columns: each keeps a share of its sum of squares given the others.

    Parameters
    ----------
    regression : Ranked
        Whose prior asks for them.
    space : ModelSpace
        The models.

    Attributes
    ----------
    groups : list of ndarray of int64
        Terms whose columns depend on one another, directly or through others: the connected components of
        the dependences (of the matroid of the columns), without columns on which nothing else depends.
    most : int
        No model of more terms has independent columns.
    """

    def __init__(self, regression: Ranked, space: ModelSpace) -> None:
        self.starts = regression.term_start.astype(np.intp) - 1
        self.products, self.rows = regression.rank_gram, regression.most_columns
        sizes = np.diff(self.starts)
        width = int(sizes.sum())
        rank = self.rows
        if width <= rank:
            circuits = Directions.of(self.products(np.arange(width))).circuits()
            rank = width - len(circuits)
            owner = np.repeat(np.arange(sizes.size), sizes)
            held = csr_array((circuits != 0).astype(np.int64)) @ csr_array(
                (np.ones(width, dtype=np.int64), (np.arange(width), owner)), shape=(width, sizes.size)
            )
            part = connected_components(held.T @ held, directed=False)[1]
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

    def exists(self, gamma: ByteArray) -> BoolArray:
        """Return which of the models (m, J) have independent columns, (m,)."""
        return np.array([self._independent(model) for model in gamma & self.doubtful], dtype=bool)

    def _independent(self, model: ByteArray) -> bool:
        parts = [np.arange(self.starts[j], self.starts[j + 1]) for j in np.flatnonzero(model)]
        if not parts:
            return True
        return independent(self.products(np.concatenate(parts)), self.rows)

    def affordable(self, gamma: ByteArray) -> int:
        """Return how many of the models (m, J), from the first on, can be looked at in a quarter second."""
        d = (gamma & self.doubtful) @ np.diff(self.starts).astype(float)
        work = np.cumsum(ONE + 20.0 * d**2 + d**3 / 3.0)
        return int(np.searchsorted(work, WORK))
