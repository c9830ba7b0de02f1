"""The null model with intercept and offset: its fit, and the information of columns."""

import numpy as np
from scipy.optimize import brentq

from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel.families import Family


def null_intercept(
    family: Family, y: FloatArray, weights: FloatArray, offset: FloatArray | None = None
) -> float:
    """Return the maximum likelihood estimate of the intercept of the null model.

    It solves ``sum w (y - mean(a + offset)) = 0``, whose left side decreases in a: the intercept without
    offset, minus the largest and the smallest offset, brackets it.
    """
    with np.errstate(divide="ignore"):  # a proportion of 1 up to rounding has an infinite intercept
        a = family.linear(float(weights @ y) / float(weights.sum()))
    if offset is None:
        return a
    used = weights > 0
    y, weights, offset = y[used], weights[used], offset[used]
    low, high = a - float(offset.max()), a - float(offset.min())

    def score(a: float) -> float:
        return float(weights @ family.score(y, family.mean(a + offset)))

    # Rounding can put an end on the wrong side, or both ends if all offsets are equal.
    if score(low) <= 0.0:
        return low
    if score(high) >= 0.0:
        return high
    return float(brentq(score, low, high, xtol=1e-13, rtol=1e-15))


def null_information(
    family: Family, columns: FloatArray, y: FloatArray, weights: FloatArray, offset: FloatArray | None = None
) -> FloatArray:
    """Return ``X'W0 X`` (D, D) of `columns` (D, n) centred by W0, the weights of the fitted null model.

    Raises
    ------
    DataError
        If W0 is 0 in all rows, as if the offset determines the response.
    """
    linear = np.full(y.size, null_intercept(family, y, weights, offset))
    if offset is not None:
        linear += offset
    w0 = weights * family.curvature(family.mean(linear))
    total = float(w0.sum())
    if not 0.0 < total < np.inf:
        raise DataError(
            "The model of intercept and offset alone has no information, since its fitted responses have no "
            "variance: the offset determines the response. Scale the offset, or use a coefficient prior that "
            "does not ask for that model, such as GPrior('4n')."
        )
    centred = columns if offset is None else columns - (columns @ w0 / total)[:, None]
    gram = np.asarray((centred * w0) @ centred.T)
    # A column may be constant up to rounding on the rows of positive weight.
    largest = np.max(np.abs(columns), axis=1, initial=0.0)
    constant = np.sqrt(np.diag(gram) / total) <= 1e-13 * largest
    gram[constant] = 0.0
    gram[:, constant] = 0.0
    return gram
