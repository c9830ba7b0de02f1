"""Priors over the models that exist: feasible models with a coefficient prior.

Some models have no coefficient prior, such as a g-prior with linearly dependent columns. Their prior
probability is 0, and that of the others is renormalised.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray
from pyrjsel.model_space.bits import pack, unpack
from pyrjsel.model_space.sampling import sample_models
from pyrjsel.model_space.space import ModelSpace

CHAINS = 4
BATCHES = 10  # per chain
CHAIN_DRAWS = 5_000
MOST_STEPS = 2_500_000  # of one chain, if draws come from a chain
WORDS = 2**7  # of 64 terms, that are summed together


class Existence(Protocol):
    """Which models exist: if one does, so do all models of a subset of its terms.

    Attributes
    ----------
    groups : list of ndarray of int64
        Disjoint sets of terms. A model exists if, for each set, the model of its terms in the set and the
        terms that are always in exists; terms in none of the sets do not matter.
    most : int
        Largest number of terms of a model that exists, including terms that are always in.
    """

    groups: list[IntArray]
    most: int

    def exists(self, gamma: ByteArray) -> BoolArray:
        """Return which of the models (m, J) exist, (m,)."""
        ...

    def with_one(self, base: ByteArray) -> BoolArray:
        """Return which models of the terms in `base` (J,) and one more term exist, (J,)."""
        ...

    def affordable(self, gamma: ByteArray) -> int:
        """Return how many of the models (m, J), from the first, can be checked in a quarter second."""
        ...


def at_most(space: ModelSpace, existence: Existence) -> ModelSpace:
    """Return the space without models that have too many terms to exist."""
    return replace(space, max_size=min(space.max_size, existence.most))


def over_existing(
    space: ModelSpace,
    probability: FloatArray,
    mcse: FloatArray,
    existence: Existence,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Estimate inclusion probabilities over the models that exist from draws over all.

    With x = 1 for models that do not exist, P(term | exists) = [P(term) - E(term x)] / [1 - E(x)]: only the
    excluded mass is estimated, which is 0 if no draw is such a model. If most models do not exist, averages
    over those that do have a smaller error.

    Parameters
    ----------
    space : ModelSpace
        The space.
    probability, mcse : ndarray of float64, shape (J,)
        Inclusion probabilities over all its models, and their errors.
    existence : Existence
        Which models exist.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    probability, mcse : ndarray of float64, shape (J,)
        Over the models that exist, with errors by batch means; NaN if no draw exists. Models that do not
        exist may have been missed: errors are at least those of one more draw that does not exist.
    """
    draws = min(CHAIN_DRAWS, max(BATCHES, MOST_STEPS // (2 * max(space.n_free, 1))))
    length = 0
    packed, lost = [], []
    for _ in range(CHAINS):
        gamma = sample_models(space, draws, rng)
        if not length:
            length = max(1, existence.affordable(gamma) // BATCHES)
            draws = length * BATCHES
        gamma = gamma[: length * BATCHES]
        packed.append(pack(gamma))
        lost.append(~existence.exists(gamma))
    absent = np.concatenate(lost)
    share = absent.mean()
    if share == 1.0:
        unknown = np.full(space.n_terms, np.nan)
        return unknown, unknown
    words = np.concatenate(packed)
    few = share <= 0.5
    counted = np.flatnonzero(absent == few)
    batch = np.arange(CHAINS * BATCHES + 1)
    ends = np.searchsorted(counted, length * batch)
    found, error = np.empty(space.n_terms), np.empty(space.n_terms)
    for at in range(0, words.shape[1], WORDS):
        part = slice(64 * at, min(64 * (at + WORDS), space.n_terms))
        models = unpack(words[counted, at : at + WORDS], part.stop - part.start)
        sums = np.array([models[low:high].sum(axis=0) for low, high in pairwise(ends)])
        inside = sums.sum(axis=0) / len(words)
        # mathematics: selection-existing
        found[part] = ((probability[part] - inside) if few else inside) / (1.0 - share)
        residual = (sums - np.diff(ends)[:, None] * found[part]) / length / (1.0 - share)
        error[part] = residual.std(axis=0, ddof=1) / np.sqrt(len(sums))
    least = np.maximum(found, 1.0 - found) / (len(words) * (1.0 - share))
    error = np.sqrt(error**2 + least**2 + (mcse / (1.0 - share)) ** 2 * few)
    # Terms that are in no model, and terms that are in all.
    never = ~existence.with_one(space.empty_model())
    found = np.where(never, 0.0, np.where(space.free == 0, 1.0, np.clip(found, 0.0, 1.0)))
    return found, np.where(never | (space.free == 0), 0.0, error)
