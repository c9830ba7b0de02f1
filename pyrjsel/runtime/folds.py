"""Folds of rows for cross-validation."""

import numpy as np

from pyrjsel._typing import FloatArray, IntArray


def deal(y: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Assign observations to folds in the order of `y`, ties at random: each `count` to different folds.

    Sizes differ by at most one, and every fold has about the same distribution of `y`.
    """
    order = np.lexsort((rng.random(y.size), y))
    fold = np.empty(y.size, dtype=np.int64)
    for begin in range(0, y.size, count):
        block = order[begin : begin + count]
        fold[block] = rng.permutation(count)[: block.size]
    return fold
