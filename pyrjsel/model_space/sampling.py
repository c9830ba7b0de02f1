"""Models of a space: all of them in depth-first order, or draws from the prior, over those that exist too.

Some models have no coefficient prior, such as a g-prior with linearly dependent columns. Their prior
probability is 0, and that of the others is renormalised.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pyrjsel._errors import ParameterError
from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray, WordArray
from pyrjsel._validate import check_int
from pyrjsel.model_space._space import Space, metropolis, walk
from pyrjsel.model_space.bits import pack, unpack
from pyrjsel.model_space.by_order import draw_by_order
from pyrjsel.model_space.model_prior import log_choose
from pyrjsel.model_space.space import ModelSpace


def free_order(space: ModelSpace) -> NDArray[np.int32]:
    """Return the free terms, parents before their children."""
    order = space.order[space.free[space.order] == 1]
    return np.ascontiguousarray(order, dtype=np.int32)


def count_dfs(space: ModelSpace, limit: int) -> tuple[int, bool]:
    """Count the models of a space one by one.

    Parameters
    ----------
    space : ModelSpace
        The space.
    limit : int
        Stop after this many models.

    Returns
    -------
    count : int
        Number of models found, at most `limit`.
    complete : bool
        Whether these are all.

    Raises
    ------
    ParameterError
        If `limit` is not an int above 0.
    """
    limit = check_int(limit, "limit", low=1, high=2**62)
    count, complete, *_ = walk(Space(space), space.empty_model(), free_order(space), limit, False)
    return int(count), bool(complete)


def enumerate_models(space: ModelSpace, limit: int = 2**20) -> WordArray:
    """Return all models of a space.

    Each model is followed by its extensions with later terms of ``space.order``, so that consecutive models
    share the first terms of that order. The model of the terms that are always included comes first.

    Parameters
    ----------
    space : ModelSpace
        The space.
    limit : int, default 2**20
        Largest number of models to return.

    Returns
    -------
    ndarray of uint64, shape (m, words)
        Packed models; see :func:`unpack`.

    Raises
    ------
    ParameterError
        If there are more than `limit` models.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pyrjsel.model_space import ModelSpace, Uniform, enumerate_models, unpack
    >>> terms = [
    ...     SimpleNamespace(name=name, columns=(name,), variables=(name,), parents=(), near_parents=())
    ...     for name in ("a", "b")
    ... ]
    >>> space = ModelSpace.build(terms, prior=Uniform(), n_observations=10)
    >>> unpack(enumerate_models(space), 2).tolist()
    [[0, 0], [1, 0], [1, 1], [0, 1]]
    """
    limit = check_int(limit, "limit", low=1, high=2**62)
    _, complete = count_dfs(space, limit)
    if not complete:
        raise ParameterError(
            f"The model space has more than {limit:,} feasible models, the limit of enumeration. "
            "Raise the limit, tighten the constraints, or use a sampler that does not enumerate."
        )
    _, _, words, *_ = walk(Space(space), space.empty_model(), free_order(space), limit, True)
    return words


ENUMERABLE = 2**16
BURN_IN_SWEEPS = 100
THIN_SWEEPS = 2
# Draws from a prior by order that exceed the budget are rejected, unless fewer than 2 % of 1,000 are kept.
_TRIED, _RARE = 1_000, 0.02
_NUMBERS = 2**22


def normalised(log_weights: FloatArray) -> FloatArray:
    """Return weights that sum to 1."""
    weights = np.exp(log_weights - log_weights.max())
    result: FloatArray = weights / weights.sum()
    return result


def sample_models(space: ModelSpace, n: int, rng: np.random.Generator) -> ByteArray:
    """Draw models from the prior under the constraints.

    Draws are independent and exact if the space has at most 2**16 models; if the only constraint is a largest
    size and the prior depends on the size alone; if there is no constraint and terms are independent; and
    under priors by order, unless fewer than one in 50 models is within the budget. Otherwise they are
    dependent and approximate: states, two sweeps apart, of a Metropolis chain with flips and swaps that
    starts at the smallest model and has a burn-in of 100 sweeps (a sweep is one step per free term).

    Parameters
    ----------
    space : ModelSpace
        The space.
    n : int
        Number of draws.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of uint8, shape (n, J)
        Feasible models.

    Raises
    ------
    ParameterError
        If `n` is not an int >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from pyrjsel.model_space import ModelSpace, Uniform, sample_models
    >>> terms = [
    ...     SimpleNamespace(name=name, columns=(name,), variables=(name,), parents=(), near_parents=())
    ...     for name in ("a", "b")
    ... ]
    >>> space = ModelSpace.build(terms, prior=Uniform(), max_size=1, n_observations=10)
    >>> int(sample_models(space, 100, np.random.default_rng(1)).sum(axis=1).max())
    1
    """
    n = check_int(n, "n", low=0)
    free = np.flatnonzero(space.free)
    odds = space.log_odds[free]
    if count_dfs(space, ENUMERABLE)[1]:
        gamma = unpack(enumerate_models(space, ENUMERABLE), space.n_terms)
        return gamma[rng.choice(len(gamma), size=n, p=normalised(np.atleast_1d(space.log_prior(gamma))))]
    everything = np.ones(space.n_terms, dtype=np.uint8)
    if space.by_order is not None:
        drawn = _by_order(space, n, rng)
        if drawn is not None:
            return drawn
    elif not space.parent.size and space.cost(everything) <= space.budget_limit:
        draws = np.tile(space.empty_model(), (n, 1))
        if space.max_size == space.n_terms and np.all(space.log_size == space.log_size[0]):
            draws[:, free] = rng.random((n, len(free))) < 1.0 / (1.0 + np.exp(-odds))
            return draws
        if np.all(odds == odds[0]):
            k = np.arange(min(len(free), space.max_size - (space.n_terms - len(free))) + 1.0)
            mass = normalised(space.log_size[: len(k)] + k * odds[0] + log_choose(len(free), k))
            sizes = rng.choice(len(mass), size=n, p=mass)
            # Subsets by Floyd's algorithm, all rows at once: the next of them, or the newest term.
            for step in range(int(sizes.max(initial=0))):
                rows = np.flatnonzero(sizes > step)
                newest = len(free) - sizes[rows] + step
                term = rng.integers(0, newest, endpoint=True)
                term = np.where(draws[rows, free[term]], newest, term)
                draws[rows, free[term]] = 1
            return draws
    compiled = Space(space)
    with rng.bit_generator.lock:
        start = metropolis(compiled, space.empty_model(), rng, 1, BURN_IN_SWEEPS * len(free))[0][0]
        return metropolis(compiled, start, rng, n, THIN_SWEEPS * len(free))[0]


def _by_order(space: ModelSpace, n: int, rng: np.random.Generator) -> ByteArray | None:
    """Draw from a prior by order and keep models within the budget; None if these are too rare."""
    assert space.by_order is not None
    rank, parents = space.rank, space.context.parents
    block = max(1, min(max(n, 1), _NUMBERS // max(space.n_terms, 1)))
    kept: list[ByteArray] = []
    found = tried = 0
    while found < n:
        drawn = draw_by_order(space.by_order, space.empty_model(), rank, parents, space.heredity, block, rng)
        good = drawn.sum(axis=1) <= space.max_size
        good &= np.atleast_1d(space.cost(drawn)) <= space.budget_limit
        kept.append(drawn[good])
        found, tried = found + int(good.sum()), tried + block
        if tried >= _TRIED and found < _RARE * tried:
            return None
    return np.concatenate([*kept, np.empty((0, space.n_terms), dtype=np.uint8)])[:n]


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
