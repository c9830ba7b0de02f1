"""Standardised inputs and response: the constants of the first fit, which later rows are measured by."""

from dataclasses import dataclass

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import listed

# A spread below this share of the largest value is rounding error.
CONSTANT = 1e-12
# The sum of squares of larger values is infinite.
LARGEST = 1e150


def check_squares(x: FloatArray, y: FloatArray) -> None:
    """Raise :class:`DataError` if values of the inputs or the response are too large to be squared."""
    for values, what in ((x, "inputs"), (y, "response")):
        largest = float(np.abs(values).max(initial=0.0))
        if largest > LARGEST:
            raise DataError(
                f"The {what} of {called()} must be at most {LARGEST:g} in size, since squares are summed. "
                f"Got {largest:g}."
            )


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and standard deviations that inputs and response are standardised by; 0 and 1 where they are not.

    Attributes
    ----------
    x_mean, x_sd : ndarray of float64, shape (d,)
        Of the inputs, the sums of squares divided by the number of rows.
    y_mean, y_sd : float
        Of the response.
    """

    x_mean: FloatArray
    x_sd: FloatArray
    y_mean: float
    y_sd: float

    @classmethod
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        names: tuple[str, ...],
        response: str,
        standardize: bool,
    ) -> "Scaling":
        """Return the constants of rows `x` (n, d) and `y` (n,).

        Raises
        ------
        DataError
            If there are no two rows, an input or the response is constant, or a value is too large to square.
        """
        if len(y) < 2:
            raise DataError(f"{called()} needs two rows at least. Got {len(y)}.")
        check_squares(x, y)
        mean, sd = x.mean(axis=0), x.std(axis=0)
        flat = sd <= CONSTANT * np.abs(x).max(axis=0)
        if flat.any():
            constant = [repr(names[column]) for column in np.flatnonzero(flat)]
            raise DataError(
                f"The inputs {listed(constant)} of {called()} are constant in the rows used; leave them out."
            )
        if y.std() <= CONSTANT * np.abs(y).max():
            raise DataError(f"The response {response!r} of {called()} is constant in the rows used.")
        if not standardize:
            return cls(np.zeros(x.shape[1]), np.ones(x.shape[1]), 0.0, 1.0)
        return cls(mean, sd, float(y.mean()), float(y.std()))

    def inputs(self, x: FloatArray) -> FloatArray:
        """Return inputs (n, d) as kernels see them, C-contiguous."""
        return np.ascontiguousarray((x - self.x_mean) / self.x_sd)

    def response(self, y: FloatArray) -> FloatArray:
        """Return the response (n,) as it is fitted."""
        return (y - self.y_mean) / self.y_sd

    def raw_inputs(self, x: FloatArray) -> FloatArray:
        """Return inputs in the units of the data."""
        return x * self.x_sd + self.x_mean

    def raw_response(self, y: FloatArray) -> FloatArray:
        """Return the response in the units of the data."""
        return y * self.y_sd + self.y_mean
