"""Accurate principal directions of the columns of a regression relative to a normal prior."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg.lapack import dgejsv

from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray

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
