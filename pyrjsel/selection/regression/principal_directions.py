"""Columns of a regression along the principal directions of a normal prior, accurate whatever their units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dgejsv

from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray

if TYPE_CHECKING:
    from pyrjsel.selection.regression.gaussian import GaussianRegression

# Directions of standardised columns that hold less than this share of the largest one are rounding.
RANK_TOL = 1e-13
# dgejsv: row scales may differ by any factor, both sets of vectors, no range is cut off, no transposition.
ACCURATE, BOTH, WHOLE, AS_IS = 2, 0, 1, 0


@dataclass(frozen=True)
class Spectrum:
    """P^-1/2 X'WX P^-1/2 = Q diag(value) Q' for a diagonal P, and y along its directions.

    The singular values and vectors of P^-1/2 times a square root of X'WX are found by Jacobi's method
    (Drmac and Veselic 2008), to a high accuracy each: prior precisions of columns in different units are
    many powers of ten apart, and eigenvalues of the product itself would lose the small ones.

    Attributes
    ----------
    columns : ndarray (D, r)
        F = P^1/2 Q, so that X'WX = F diag(value) F'.
    value : ndarray (r,)
        Positive; r is at least 1 (and its one value 0 where no column varies).
    image : ndarray (r,)
        h, with ``P^-1/2 X'Wy = Q diag(value)^1/2 h``.
    rest : float
        y'Wy less the sum of h^2: what no combination of the columns explains.
    """

    columns: FloatArray
    value: FloatArray
    image: FloatArray
    rest: float

    @classmethod
    def of(cls, regression: GaussianRegression, precision: FloatArray) -> Spectrum:
        """Return the spectrum of a regression of at least one column for P = diag(`precision`)."""
        root, image, rest = square_root(regression)
        if not image.size:
            return cls(np.zeros((root.shape[0], 1)), np.zeros(1), np.zeros(1), regression.square)
        scaled = np.asfortranarray(root / np.sqrt(precision)[:, None])
        values, left, right, work, _, failed = dgejsv(
            scaled, joba=ACCURATE, jobu=BOTH, jobv=BOTH, jobr=WHOLE, jobt=AS_IS, overwrite_a=1
        )
        if failed:
            raise DataError("The singular values of the columns were not found: rescale them.")
        values = values * (work[0] / work[1])
        columns = np.ascontiguousarray(left * np.sqrt(precision)[:, None])
        return cls(columns, values**2, right.T @ image, rest)


def square_root(regression: GaussianRegression) -> tuple[FloatArray, FloatArray, float]:
    """Return B (D, r) of full rank with X'WX = B B', h with X'Wy = B h, and y'Wy - h'h."""
    if not regression.mean.size:
        return np.zeros((0, 0)), np.zeros(0), regression.square
    if regression.held:
        values, vectors = eigh(regression.gram)
        kept = values > RANK_TOL * max(values[-1], 0.0)
        root = vectors[:, kept] * np.sqrt(values[kept])
        image = (vectors[:, kept].T @ regression.cross) / np.sqrt(values[kept])
        return root, image, max(regression.square - float(image @ image), 0.0)
    # More columns than rows: directions of the rows.
    rooted, y, offset = regression.rooted, regression.y, regression.offset
    assert rooted is not None
    assert y is not None
    assert offset is not None
    response = np.zeros(y.size) if regression.square == 0 else y - offset - regression.centre
    if regression.weights is not None:
        response = response * np.sqrt(regression.weights)
    values, vectors = eigh(rooted.T @ rooted)
    kept = values > RANK_TOL * values[-1]
    basis = vectors[:, kept]
    image = basis.T @ response
    left = response - basis @ image
    return rooted @ basis, image, float(left @ left)
