"""Standardised columns of a matrix that stays as it is given."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.design import WideMatrix, WideRows
from pyrjsel.runtime import release
from pyrjsel.selection.regression._typed import RowStore, TypedColumns, TypedGram

# Memory for rows of cross-products, and for columns in float64, as parts of that of the matrix; least memory
# of each in bytes; least number of rows.
ROWS, COLUMNS, LEAST, FEWEST = 16, 32, 2**21, 12


@dataclass(frozen=True, eq=False)
class WideColumns:
    """Columns of a matrix, which are centred and scaled when they are used.

    Used like an array (D, n) of standardised columns times square roots of the weights. Rows of their
    cross-products take one pass over the matrix each; those used last are kept, for all threads together.

    Attributes
    ----------
    matrix : WideMatrix
    mean, scale : ndarray (D,)
        Means and standard deviations of the columns.
    total : float
        Sum of the weights.
    weights : ndarray (n,) or None
        Weights, all positive; None if all are one.
    """

    matrix: WideMatrix
    mean: FloatArray
    scale: FloatArray
    total: float
    weights: FloatArray | None
    # Columns used last.
    _taken: dict[int, FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, matrix: WideMatrix, weights: FloatArray) -> "WideColumns":
        """Return the columns with their weighted means and standard deviations."""
        size, total = matrix.shape[1], float(weights.sum())
        mean, scale = np.empty(size), np.empty(size)
        for part, x in matrix.blocks():
            mean[part] = weights @ x / total
            scale[part] = np.sqrt(weights @ (x - mean[part]) ** 2 / total)
        return cls(matrix, mean, scale, total, None if np.all(weights == 1) else weights)

    @kept_property
    def compiled(self) -> TypedColumns:
        """The compiled passes."""
        matrix, mean = self.matrix, self.mean
        if mean.size < matrix.n_columns:
            mean = np.zeros(matrix.n_columns)
            mean[matrix.kept] = self.mean
        return TypedColumns(
            matrix.values,
            mean,
            self.scale,
            matrix.kept,
            matrix.n,
            weight=self.weights,
            rows=matrix.rows,
            first=matrix.first,
        )

    @kept_property
    def store(self) -> RowStore:
        """The rows of cross-products used last."""
        size = self.mean.size
        return RowStore(size, max(FEWEST, max(self.matrix.nbytes // ROWS, LEAST) // (8 * size)))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers D of columns and n of rows."""
        return self.mean.size, self.matrix.n

    def __getitem__(self, columns: Any) -> FloatArray:
        """Return some columns, (..., d, n)."""
        chosen = np.arange(self.mean.size)[columns]
        which = chosen.ravel()
        taken, most = self._taken, max(self.matrix.nbytes // COLUMNS, LEAST) // (8 * self.matrix.n)
        if which.size > most:
            return self._take(which).reshape(*chosen.shape, self.matrix.n)
        known = {column: taken.get(column) for column in which.tolist()}
        lacking = [column for column, values in known.items() if values is None]
        found = dict(zip(lacking, self._take(lacking), strict=True))
        if len(found) + len(taken) > most:
            taken.clear()
        taken.update(found)
        known.update(found)
        out = np.array([known[column] for column in which.tolist()])
        return out.reshape(*chosen.shape, self.matrix.n)

    def _take(self, which: Sequence[int] | IntArray) -> FloatArray:
        """Return columns, (d, n), from the matrix."""
        out = self.compiled.take(which)
        if self.weights is not None:
            out *= np.sqrt(self.weights)
        return out

    def products(self, v: FloatArray) -> FloatArray:
        """Return the products (D,) of the standardised columns and a vector (n,), without weights."""
        return self.compiled.products(v)

    def gram(self, extra: FloatArray) -> TypedGram:
        """Return the rows of X'WX + diag(`extra`) for one thread."""
        return TypedGram(self.compiled, np.ascontiguousarray(extra), self.total, self.store)

    def rest(self) -> None:
        """Forget rows of cross-products and columns: they are computed again where they are used."""
        self.__dict__.pop("store", None)
        self._taken.clear()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("compiled", "store"):
            state.pop(name, None)
        return {**state, "_taken": {}}


def rest(regression: Any) -> None:
    """Release what a regression on many columns computes again where it is used, and freed memory."""
    if getattr(regression, "wide", False):
        regression.rooted.rest()
        release()


def check_unchanged(data: Any) -> None:
    """Raise :class:`DataError` if rows are a matrix that has changed since the model was made."""
    if isinstance(data, WideRows):
        data.digest()
