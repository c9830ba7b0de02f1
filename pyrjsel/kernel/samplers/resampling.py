"""Resampling of weighted particles: which particle each new one is a copy of."""

import numpy as np

from pyrjsel._typing import FloatArray, IntArray


def resample(scheme: str, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the ancestors (N,), in increasing order, of N particles with equal weights.

    Particle i has ``N weights[i]`` descendants on average under each scheme (Douc, Cappe and Moulines 2005).

    Parameters
    ----------
    scheme : str
        ``"systematic"``, ``"stratified"``, ``"multinomial"`` or ``"residual"``.
    weights : ndarray (N,)
        Of sum 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray (N,), int64
        Positions of ancestors.
    """
    n = len(weights)
    if scheme == "residual":
        sure = np.floor(n * weights).astype(np.int64)
        rest = n * weights - sure
        certain = np.repeat(np.arange(n), sure)
        left = n - len(certain)
        if not left:
            return certain
        return np.sort(np.concatenate([certain, _invert(rest / rest.sum(), np.sort(rng.random(left)))]))
    if scheme == "systematic":
        points = (np.arange(n) + rng.random()) / n
    elif scheme == "stratified":
        points = (np.arange(n) + rng.random(n)) / n
    else:
        points = np.sort(rng.random(n))
    return _invert(weights, points)


def _invert(weights: FloatArray, points: FloatArray) -> IntArray:
    """Return where the distribution function passes each point; never a weight of 0."""
    total = np.cumsum(weights)
    # The last sum is 1 but for rounding; a point beyond it belongs to the last weight above 0.
    return np.minimum(np.searchsorted(total, points, side="right"), np.flatnonzero(weights)[-1])
