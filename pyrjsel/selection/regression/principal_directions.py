"""Columns of a regression along the principal directions of a normal prior, accurate whatever their units."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg.lapack import dgejsv

from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray

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
