"""Mixtures over draws: means of smooth functions, and roots of distribution functions."""

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from pyrjsel._core._rows import polynomial_averages, ranges
from pyrjsel._typing import FloatArray

# Interpolation at Chebyshev nodes: coefficients of its series are products of values at nodes with SERIES,
# those of powers are products of the former with POWERS.
DEGREE = 16
ANGLES = np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1)
NODES = np.cos(ANGLES)
SERIES = np.cos(ANGLES[:, None] * np.arange(DEGREE + 1)) * 2.0 / (DEGREE + 1)
SERIES[:, 0] *= 0.5
POWERS = np.array(
    [np.pad(chebyshev.cheb2poly(row), (0, DEGREE - k)) for k, row in enumerate(np.eye(DEGREE + 1))]
)
# Coefficients are rounding errors if none from some degree on is more than this proportion of the sum of all.
ROUNDING = 2e-15
# Fewest values in a row for which polynomials pay.
FEWEST = 8 * DEGREE


def averages(
    function: Callable[[FloatArray], FloatArray], x: FloatArray, ends: FloatArray | None = None
) -> FloatArray:
    """Return averages (rows,) of a smooth function over the rows of `x` (rows, m), up to rounding.

    Where the function is a polynomial of moderate degree over the range of a row, up to rounding, that is
    averaged: it takes two operations per degree and value, an exponential and a quotient some fifty.

    Parameters
    ----------
    function : callable
        Of numbers, for arrays of them.
    x : contiguous ndarray (rows, m)
    ends : ndarray (rows, 2), optional
        Smallest and largest value of each row, if they are known.
    """
    if x.shape[1] < FEWEST:
        return np.asarray(function(x).mean(axis=1))
    low, high = (ranges(x) if ends is None else ends).T
    middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), np.finfo(float).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        series = function(middle[:, None] + half[:, None] * NODES) @ SERIES
        size = np.abs(series)
        kept = ~(size <= ROUNDING * size.sum(axis=1, keepdims=True))
    # Up to the last coefficient that is kept, as those that are not numbers are.
    length = DEGREE + 1 - np.argmax(kept[:, ::-1], axis=1)
    rough = length >= DEGREE
    if rough.all():
        return np.asarray(function(x).mean(axis=1))
    length[rough] = 1
    powers = np.where(np.arange(DEGREE + 1) < length[:, None], series, 0.0) @ POWERS
    out = polynomial_averages(x, middle, 1.0 / half, (length - 1).astype(np.intc), powers)
    if rough.any():
        out[rough] = function(x[rough]).mean(axis=1)
    return out


# Newton steps, with bisection as a safeguard.
MOST_STEPS = 60


def increasing_root(
    function: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    x: FloatArray,
    low: FloatArray,
    high: FloatArray,
    tolerance: float,
) -> FloatArray:
    """Return roots (rows,) of increasing functions in ``[low, high]``, from `x`.

    Newton's method inside a bracket that narrows at every step, until no step is longer than `tolerance`.
    `function` returns values and slopes.
    """
    for _ in range(MOST_STEPS):
        value, slope = function(x)
        low, high = np.where(value < 0, x, low), np.where(value < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = x - value / slope
        new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        moved = np.max(np.abs(new - x), initial=0.0)
        x = new
        if moved <= tolerance:
            break
    return np.asarray(x)
