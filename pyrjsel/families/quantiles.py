"""Roots of distribution functions."""

from collections.abc import Callable

import numpy as np

from pyrjsel._typing import FloatArray

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
