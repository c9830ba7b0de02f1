"""Folds of rows for cross-validation."""

import numpy as np

from pyrjsel._typing import FloatArray, IntArray


def deal(y: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Deal rows to `count` folds in the order of `y`, equal ones at random: one of each `count` to each fold.

    Sizes differ by one at most, and every fold has about the same distribution of `y`.
    """
    order = np.lexsort((rng.random(y.size), y))
    fold = np.empty(y.size, dtype=np.int64)
    for begin in range(0, y.size, count):
        block = order[begin : begin + count]
        fold[block] = rng.permutation(count)[: block.size]
    return fold
