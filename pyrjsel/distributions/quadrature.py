"""Densities on the real line with exponential tails: quadrature nodes and draws."""

from collections.abc import Callable

import numpy as np

from pyrjsel._typing import FloatArray

# Log densities (m, k) of m problems at nodes (k,).
LogDensity = Callable[[FloatArray], FloatArray]

# Densities below exp(-46) = 1e-20 of their maxima are omitted.
COARSE, DEPTH = 0.5, 46.0
# Points per interval between quadrature nodes of a grid for draws, and the factor by which the envelope
# exceeds the density at these points.
FINE, HIGHER = 8, 1.05


def find_nodes(
    log_density: LogDensity, low: float, high: float, step: float, depth: float = DEPTH
) -> tuple[FloatArray, FloatArray]:
    """Return nodes of the trapezoidal rule in [low, high] where there is mass, with log densities.

    Parameters
    ----------
    log_density : callable
        With one maximum, or with maxima at least 0.5 apart.
    low, high : float
        Interval that contains the mass.
    step : float
        Distance between nodes.
    depth : float
        Nodes where all log densities are further below their maxima than this are omitted.

    Returns
    -------
    tuple of ndarrays (k,) and (m, k)
        Nodes, and log densities of all problems.
    """
    coarse = np.arange(low, high, COARSE)
    value = log_density(coarse)
    used = np.flatnonzero(np.any(value > value.max(axis=1, keepdims=True) - depth, axis=0))
    nodes = np.arange(coarse[used[0]] - COARSE, coarse[used[-1]] + COARSE, step)
    return nodes, log_density(nodes)


def draw(log_density: LogDensity, nodes: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw from the density of one problem by rejection sampling.

    The envelope is constant between neighbouring points of a grid eight times as fine as the nodes, at
    1.05 of the larger end: exact if the density between two points is nowhere higher than that,
    which holds wherever there is appreciable mass.

    Parameters
    ----------
    log_density : callable
        Log density of one problem.
    nodes : ndarray (k,)
        From :func:`find_nodes`.
    size : int
        Number of draws.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray (size,)
    """
    width = (nodes[1] - nodes[0]) / FINE
    grid = np.arange(nodes[0], nodes[-1], width)
    value = log_density(grid)[0]
    top = value.max()
    height = np.exp(value - top)
    envelope = HIGHER * np.maximum(height[1:], height[:-1])
    edges = np.cumsum(envelope)
    drawn: list[FloatArray] = []
    missing = size
    while missing > 0:
        count = missing + missing // 4 + 8
        cell = np.minimum(np.searchsorted(edges, rng.random(count) * edges[-1]), envelope.size - 1)
        point = grid[cell] + width * rng.random(count)
        kept = rng.random(count) * envelope[cell] < np.exp(log_density(point)[0] - top)
        drawn.append(point[kept])
        missing -= int(kept.sum())
    return np.concatenate([*drawn, np.empty(0)])[:size]
