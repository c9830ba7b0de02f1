"""Which models have linearly independent columns, as g-priors ask."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh, lapack, qr, solve_triangular
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel.model_space import ModelSpace
from pyrjsel.selection.regression.layout import TermColumns

# Eigenvalues of correlations below this, relative to the largest, and loadings below that are rounding.
RANK, LOADING = 1e-10, 1e-6
# Every column keeps at least the determinant of the columns' correlations: above this, none is dependent.
CLEAR = 1e-6
# Operations of looking at models, a quarter of a second; one model is at least so many.
WORK, ONE = 2.5e8, 2e4


class IndependentColumns:
    """Models of linearly independent columns: each keeps a share of its sum of squares given the others.

    Parameters
    ----------
    regression : TermColumns
        Whose terms own which columns.
    products : callable
        Gives cross-products (d, d) of centred columns, whose numbers count from 0, the intercept's left out;
        they may be times any number.
    rows : int
        Most columns that can be independent.
    tol : float
        The share that counts as none: a column that keeps no more is dependent.
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

    def __init__(
        self,
        regression: TermColumns,
        products: Callable[[np.ndarray], FloatArray],
        rows: int,
        tol: float,
        space: ModelSpace,
    ) -> None:
        self.starts = regression.term_start.astype(np.intp) - 1
        self.products, self.rows, self.tol = products, rows, tol
        sizes = np.diff(self.starts)
        width = int(sizes.sum())
        rank = rows
        if width <= rows:
            circuits = self._circuits(np.arange(width))
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

    def _circuits(self, columns: np.ndarray) -> FloatArray:
        """Return linear combinations of columns (q, d) that are 0, each of a column and some of a basis."""
        gram = self.products(columns)
        scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
        values, vectors = eigh(gram / np.outer(scale, scale))
        null = vectors[:, values <= RANK * max(1.0, values[-1])].T
        if not len(null):
            return null
        _, upper, order = qr(null, mode="economic", pivoting=True)
        found = np.empty_like(null)
        found[:, order] = solve_triangular(upper[:, : len(null)], upper)
        return np.where(np.abs(found) > LOADING, found, 0.0)

    def exists(self, gamma: ByteArray) -> BoolArray:
        """Return which of the models (m, J) have independent columns, (m,)."""
        return np.array([self._independent(model) for model in gamma & self.doubtful], dtype=bool)

    def _independent(self, model: ByteArray) -> bool:
        parts = [np.arange(self.starts[j], self.starts[j + 1]) for j in np.flatnonzero(model)]
        if not parts:
            return True
        columns = np.concatenate(parts)
        if columns.size > self.rows:
            return False
        gram = self.products(columns)
        scale = np.sqrt(np.diag(gram))
        if np.any(scale == 0):
            return False
        factor, failed = lapack.dpotrf(gram / np.outer(scale, scale), lower=1)
        if failed:
            return False
        if np.prod(np.diag(factor)) ** 2 >= CLEAR:
            return True
        inverse, _ = lapack.dpotri(factor, lower=1)
        return bool(np.all(np.diag(inverse) * self.tol < 1.0))

    def affordable(self, gamma: ByteArray) -> int:
        """Return how many of the models (m, J), from the first on, can be looked at in a quarter second."""
        d = (gamma & self.doubtful) @ np.diff(self.starts).astype(float)
        work = np.cumsum(ONE + 20.0 * d**2 + d**3 / 3.0)
        return int(np.searchsorted(work, WORK))
