"""Kernels: what a point of the inputs says of another."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import scipy

from pyrjsel._called import called
from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_choice
from pyrjsel.kernel._kernels import kernel_matrix

KernelFunction = Callable[[FloatArray, FloatArray], Any]

# In the order of the enumeration in _kernels.pyx.
KINDS = ("gaussian", "matern32", "matern52", "laplace")
CONVENTIONS = ("2w2", "w2")
# Kind of a kernel that the user brings.
CALLED = -1
# Rows whose distances the median width is made of: half a million pairs.
MEDIAN_ROWS = 1000
# Widths that are compared where nothing is said, by the median distance between rows.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Kernel:
    """A kernel of a width.

    Attributes
    ----------
    name : str
        One of ``"gaussian"``, exp(-r^2 / 2); ``"matern32"``, (1 + a) exp(-a) with a = sqrt(3) r;
        ``"matern52"``, (1 + a + a^2 / 3) exp(-a) with a = sqrt(5) r; ``"laplace"``, exp(-r); or the name of
        the user's function. r is the Euclidean distance divided by the width.
    width : float
        The width, in units of the inputs.
    function : callable, optional
        The user's kernel, of points (n, d) and centres (m, d), both divided by the width; it returns (n, m).
    """

    name: str
    width: float
    function: KernelFunction | None = None

    @property
    def kind(self) -> int:
        """Number of the kernel in compiled loops; -1 is the user's."""
        return CALLED if self.function is not None else KINDS.index(self.name)

    def __call__(self, x: FloatArray, centres: FloatArray) -> FloatArray:
        """Return the kernel (n, m) between points `x` (n, d) and `centres` (m, d).

        Raises
        ------
        DataError
            If the user's function returns something else than finite numbers of that shape.
        """
        if self.function is None:
            x, centres = (np.ascontiguousarray(points, dtype=np.float64) for points in (x, centres))
            return kernel_matrix(self.kind, self.width, x, centres)
        found = np.asarray(self.function(x / self.width, centres / self.width))
        shape = (len(x), len(centres))
        if found.shape != shape or found.dtype.kind not in "biuf" or not np.isfinite(found).all():
            raise DataError(
                f"The kernel {self.name!r} must return finite numbers of shape {shape} for that many points "
                f"and centres. Got {found.dtype} of shape {found.shape}"
                + (" with NaN or infinite values." if found.shape == shape else ".")
            )
        return np.ascontiguousarray(found, dtype=np.float64)


def fixed_columns(x: FloatArray, trend: int) -> FloatArray:
    """Return the columns (n, 1 + trend) that every model has: ones, and the first `trend` inputs of `x`."""
    return np.column_stack([np.ones(len(x)), x[:, :trend]])


def make_kernel(kernel: str | KernelFunction, width: float, convention: str) -> Kernel:
    """Return a kernel of positive `width`, or raise :class:`ParameterError`.

    The convention ``"w2"`` of a Gaussian kernel, exp(-d^2 / w^2), is that of the width w / sqrt(2) in
    ``"2w2"``, exp(-d^2 / (2 w^2)).
    """
    check_choice(convention, "convention", CONVENTIONS)
    if convention != "2w2" and kernel != "gaussian":
        raise bad_value("convention", "'2w2' unless the kernel is 'gaussian'", convention)
    if isinstance(kernel, str):
        check_choice(kernel, "kernel", KINDS)
        return Kernel(kernel, width / sqrt(2.0) if convention == "w2" else width)
    if not callable(kernel):
        must = "one of " + ", ".join(map(repr, KINDS)) + ", or a function of points and centres"
        raise bad_value("kernel", must, kernel)
    return Kernel(getattr(kernel, "__name__", "function"), width, kernel)


def usual_widths(x: FloatArray) -> tuple[float, ...]:
    """Return the widths that are compared where nothing is said, on rows `x` (n, d).

    Where more than half of the distances are 0, the median is that of the others.
    """
    distances = _distances(x)
    width = float(np.median(distances)) or float(np.median(distances[distances > 0.0]))
    return tuple(width * multiple for multiple in MULTIPLES)


def _distances(x: FloatArray) -> FloatArray:
    """Return distances between rows of `x` (n, d), of 1,000 evenly spaced ones where n is larger."""
    rows = x[np.linspace(0, len(x) - 1, min(len(x), MEDIAN_ROWS)).round().astype(int)]
    distances: FloatArray = scipy.spatial.distance.pdist(rows)
    if len(x) > 1 and not distances.any():  # rows that differ are few
        distances = scipy.spatial.distance.pdist(np.unique(x, axis=0)[:MEDIAN_ROWS])
    return distances


def median_width(x: FloatArray) -> float:
    """Return the median distance between rows of `x` (n, d), of 1,000 evenly spaced ones where n is larger.

    Raises
    ------
    DataError
        If it is 0, or there are no two rows.
    """
    distances = _distances(x)
    width = float(np.median(distances)) if distances.any() else 0.0
    if not width > 0:
        raise DataError(
            f"The width 'median' of {called()} needs rows of which at least half the pairs differ. "
            "Give the width as a number."
        )
    return width
