"""Inputs in range units: what is done with them first, and with new rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel._validate import listed


@dataclass(frozen=True, eq=False)
class Scaling:
    """Midpoints and ranges of the inputs in the rows of a fit, shape (p,).

    Attributes
    ----------
    midpoint, spread : ndarray
        In units of the inputs.
    """

    midpoint: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, X: FloatArray, names: Sequence[str]) -> "Scaling":
        """Return those of inputs (N, p), each with two different values at least.

        Raises
        ------
        DataError
            If a range is beyond the largest number.
        """
        low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        with np.errstate(over="ignore"):
            spread = high - low
        if not np.isfinite(spread).all():
            wide = [name for name, width in zip(names, spread, strict=True) if not np.isfinite(width)]
            raise DataError(f"The data of {called()} have ranges beyond 1e308; rescale {listed(wide)}.")
        return cls(low + spread / 2, spread)

    def units(self, X: FloatArray) -> FloatArray:
        """Return inputs in range units, shape (N, p): those of the fit are from -1/2 to 1/2."""
        with np.errstate(over="ignore"):  # an infinite distance is as good as one of 1e300 ranges
            return (X - self.midpoint) / self.spread

    def restrict(self, keep: Sequence[int]) -> "Scaling":
        """Return those of some of the inputs, by position."""
        return Scaling(self.midpoint[list(keep)], self.spread[list(keep)])


def constant(X: FloatArray) -> BoolArray:
    """Return which inputs (N, p) have no two different values; missing ones do not count."""
    known = ~np.isnan(X)
    low = np.where(known, X, np.inf).min(axis=0)
    high = np.where(known, X, -np.inf).max(axis=0)
    gone: BoolArray = ~(low < high)
    return gone
