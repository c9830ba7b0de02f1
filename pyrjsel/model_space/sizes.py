"""The prior over the number of terms."""

from dataclasses import dataclass

import numpy as np

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.model_space.bits import unpack
from pyrjsel.model_space.components import component_tables, cost_grid
from pyrjsel.model_space.convolution import NotCountable, inclusion, plan
from pyrjsel.model_space.counting import ENUMERABLE, free_room
from pyrjsel.model_space.order_sums import order_sums
from pyrjsel.model_space.sampling import (
    Existence,
    at_most,
    count_dfs,
    enumerate_models,
    normalised,
    sample_models,
)
from pyrjsel.model_space.space import ModelSpace
from pyrjsel.model_space.tied import MOST_CHECKED

CHAINS = 4
BATCHES = 10  # per chain
CHAIN_DRAWS = 5_000
MOST_STEPS = 2_500_000  # of one chain, if draws come from a chain
_CHUNK = 2**16


@dataclass(frozen=True, eq=False)
class PriorSizes:
    """Prior probabilities of the number of terms under the constraints.

    Parameters
    ----------
    probability : ndarray of float64, shape (J + 1,)
        By number of terms, including terms in every model; NaN if unknown.
    mcse : ndarray of float64, shape (J + 1,)
        Monte Carlo standard errors; 0 if exact.
    """

    probability: FloatArray
    mcse: FloatArray


def _exact(space: ModelSpace, existence: Existence | None) -> FloatArray:
    """Return the probabilities without enumeration, or raise :class:`NotCountable`."""
    if space.by_order is not None:
        if existence is not None and any(len(group) for group in existence.groups):
            raise NotCountable("The existence of models does not depend on their order alone.")
        return order_sums(space)[1]
    grid = cost_grid(space)
    tables = component_tables(space, grid, existence)
    layout = plan(tables, size=free_room(space), cost=grid.room, by_size=True, by_cost=grid.binding)
    by_size = inclusion(layout, space.log_size, space.n_terms)[1]
    result = np.zeros(space.n_terms + 1)
    first = space.n_terms - space.n_free
    result[first : first + len(by_size)] = by_size
    return result


def _sampled(space: ModelSpace, existence: Existence | None, rng: np.random.Generator) -> PriorSizes:
    draws = min(CHAIN_DRAWS, max(BATCHES, MOST_STEPS // (2 * max(space.n_free, 1))))
    length = 0
    shares, kept = [], []
    for _ in range(CHAINS):
        gamma = sample_models(space, draws, rng)
        if not length:
            most = len(gamma) if existence is None else existence.affordable(gamma)
            length = max(1, most // BATCHES)
        gamma = gamma[: length * BATCHES]
        good = np.ones(len(gamma)) if existence is None else existence.exists(gamma).astype(float)
        size = gamma.sum(axis=1, dtype=np.int64)
        for rows in np.array_split(np.arange(len(gamma)), BATCHES):
            shares.append(np.bincount(size[rows], weights=good[rows]))
            kept.append(good[rows].sum())
    if not sum(kept):
        unknown = np.full(space.n_terms + 1, np.nan)
        return PriorSizes(unknown, unknown)
    # Larger sizes than those drawn are not computed: of many terms that is much memory.
    counts = np.zeros((len(shares), max(share.size for share in shares)))
    for row, share in zip(counts, shares, strict=True):
        row[: share.size] = share
    probability = counts.sum(axis=0) / sum(kept)
    # A ratio of batch sums: its residuals have mean 0.
    residual = (counts - np.array(kept)[:, None] * probability) / np.mean(kept)
    found = np.zeros((2, space.n_terms + 1))
    found[:, : probability.size] = probability, residual.std(axis=0, ddof=1) / np.sqrt(len(shares))
    return PriorSizes(*found)


def sizes_of(space: ModelSpace, gamma_sizes: IntArray, log_prior: FloatArray) -> PriorSizes:
    """Return the prior over sizes, given all models with a positive prior probability.

    Parameters
    ----------
    space : ModelSpace
        The space.
    gamma_sizes : ndarray of int64, shape (m,)
        Number of terms of each.
    log_prior : ndarray of float64, shape (m,)
        Their log prior probabilities up to a constant.

    Returns
    -------
    PriorSizes
        Exact.
    """
    weight = normalised(log_prior)
    probability = np.bincount(gamma_sizes, weights=weight, minlength=space.n_terms + 1).astype(np.float64)
    return PriorSizes(probability, np.zeros(space.n_terms + 1))


def prior_sizes(
    space: ModelSpace, rng: np.random.Generator, existence: Existence | None = None
) -> PriorSizes:
    """Return the prior over the number of terms that holds under the constraints.

    Exact if prior inclusion probabilities are, except for priors by order with many main effects that are not
    interchangeable; otherwise estimated from draws.

    Parameters
    ----------
    space : ModelSpace
        The space.
    rng : Generator
        Source of random numbers, used only where the prior must be sampled.
    existence : Existence, optional
        Which models exist, including the smallest; None means all.

    Returns
    -------
    PriorSizes
    """
    if existence is not None:
        space = at_most(space, existence)
    try:
        return PriorSizes(_exact(space, existence), np.zeros(space.n_terms + 1))
    except NotCountable:
        limit = ENUMERABLE if existence is None else MOST_CHECKED
        if not count_dfs(space, limit)[1]:
            return _sampled(space, existence, rng)
    words = enumerate_models(space, limit)
    parts = [unpack(words[low : low + _CHUNK], space.n_terms) for low in range(0, len(words), _CHUNK)]
    if existence is not None:
        parts = [part[existence.exists(part)] for part in parts]
    sizes = np.concatenate([part.sum(axis=1, dtype=np.int64) for part in parts])
    return sizes_of(space, sizes, np.concatenate([np.atleast_1d(space.log_prior(part)) for part in parts]))
