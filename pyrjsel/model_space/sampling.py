"""Draws from the prior over the models of a space."""

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import check_int
from pyrjsel.model_space._space import Space, metropolis
from pyrjsel.model_space.bits import unpack
from pyrjsel.model_space.by_order import draw_by_order
from pyrjsel.model_space.enumeration import count_dfs, enumerate_models
from pyrjsel.model_space.model_prior import log_choose
from pyrjsel.model_space.space import ModelSpace

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
