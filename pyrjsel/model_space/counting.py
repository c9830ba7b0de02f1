"""Number of models of a space, and prior inclusion probabilities under its constraints."""

from dataclasses import dataclass

import numpy as np

from pyrjsel._typing import FloatArray, WordArray
from pyrjsel._validate import check_int, check_rng
from pyrjsel.model_space._space import Space, metropolis
from pyrjsel.model_space.bits import unpack
from pyrjsel.model_space.by_order import Lineage
from pyrjsel.model_space.components import component_tables, cost_grid
from pyrjsel.model_space.convolution import NotCountable, inclusion, plan, total_count
from pyrjsel.model_space.order_sums import order_sums
from pyrjsel.model_space.sampling import (
    BURN_IN_SWEEPS,
    Existence,
    at_most,
    count_dfs,
    enumerate_models,
    normalised,
    over_existing,
)
from pyrjsel.model_space.space import ModelSpace
from pyrjsel.model_space.tied import MOST_CHECKED

ENUMERABLE = 2**20
CHAINS = 4
BATCHES = 25  # per chain
BATCH_DRAWS = 200
MOST_STEPS = 20_000_000
_CHUNK = 2**16


@dataclass(frozen=True, eq=False)
class PriorInclusion:
    """Prior inclusion probabilities under the constraints.

    Parameters
    ----------
    probability : ndarray of float64, shape (J,)
        Prior probability that a term is in the model; 1 for terms in every model.
    mcse : ndarray of float64, shape (J,)
        Monte Carlo standard errors; 0 if exact.
    method : {"exact", "sampled", "unknown"}
        How they were computed; unknown probabilities are NaN.
    n_models : int or None
        Number of feasible models; None if not counted.
    expected_size : float
        Prior mean of the number of terms, including terms that are in every model.
    """

    probability: FloatArray
    mcse: FloatArray
    method: str
    n_models: int | None
    expected_size: float


def free_room(space: ModelSpace) -> int:
    """Return the largest number of free terms that `max_size` leaves."""
    return min(space.n_free, space.max_size - (space.n_terms - space.n_free))


def count_models(space: ModelSpace, limit: int | None = None) -> int | None:
    """Count the feasible models, exactly or not at all.

    Terms that share no priced variable and are not tied by heredity are counted separately and combined by a
    convolution over cost and size; if that is not possible (large tied groups, costs without a common
    unit) models are counted one by one.

    Parameters
    ----------
    space : ModelSpace
        The space.
    limit : int, optional
        Limit for counting one by one, if no faster method applies; 2**20 if None.

    Returns
    -------
    int or None
        The exact number; None if it could not be counted up to `limit`.

    Raises
    ------
    ParameterError
        If `limit` is not an int above 0.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pyrjsel.model_space import ModelSpace, Uniform, count_models
    >>> terms = [
    ...     SimpleNamespace(name=name, columns=(name,), variables=(name,), parents=(), near_parents=())
    ...     for name in (f"x{j}" for j in range(100))
    ... ]
    >>> space = ModelSpace.build(
    ...     terms, prior=Uniform(), costs={f"x{j}": 1 for j in range(100)}, budget=2, n_observations=50
    ... )
    >>> count_models(space)
    5051
    """
    if limit is not None:
        limit = check_int(limit, "limit", low=1, high=2**62)
    room = free_room(space)
    try:
        grid = cost_grid(space)
        tables = component_tables(space, grid)
        by_size = room < space.n_free
        return total_count(plan(tables, size=room, cost=grid.room, by_size=by_size, by_cost=grid.binding))
    except NotCountable:
        count, complete = count_dfs(space, ENUMERABLE if limit is None else limit)
        return count if complete else None


def _exact(space: ModelSpace, existence: Existence | None = None) -> PriorInclusion:
    """Return the inclusion probabilities by convolution, or raise :class:`NotCountable`."""
    if space.by_order is not None:
        return _exact_by_order(space, existence)
    room = free_room(space)
    grid = cost_grid(space)
    tables = component_tables(space, grid, existence)
    flat = bool(np.all(space.log_size == space.log_size[0]))
    by_size = room < space.n_free or not flat
    layout = plan(tables, size=room, cost=grid.room, by_size=by_size, by_cost=grid.binding)
    probability, _ = inclusion(layout, space.log_size, space.n_terms)
    probability[space.free == 0] = 1.0
    return PriorInclusion(
        probability=probability,
        mcse=np.zeros(space.n_terms),
        method="exact",
        n_models=total_count(layout),
        expected_size=float(probability.sum()),
    )


def _exact_by_order(space: ModelSpace, existence: Existence | None) -> PriorInclusion:
    """Return the inclusion probabilities under a prior by order, or raise :class:`NotCountable`."""
    assert space.by_order is not None
    if existence is not None and any(len(group) for group in existence.groups):
        raise NotCountable("The existence of models does not depend on their order alone.")
    if bound_binds(space) or not space.by_order.mixture:
        probability = order_sums(space)[0]
    else:
        probability = Lineage.of(space.context).inclusion(space.by_order, space.n_terms)
        probability[space.free == 0] = 1.0
    nothing = np.zeros(space.n_terms)
    return PriorInclusion(probability, nothing, "exact", count_models(space), float(probability.sum()))


def bound_binds(space: ModelSpace) -> bool:
    """Whether a budget or `max_size` excludes a model that heredity allows."""
    everything = np.ones(space.n_terms, dtype=np.uint8)
    return space.max_size < space.n_terms or bool(space.cost(everything) > space.budget_limit)


def prior_inclusion_of(space: ModelSpace, words: WordArray) -> PriorInclusion:
    """Return the prior inclusion probabilities over some of the models of a space.

    Parameters
    ----------
    space : ModelSpace
        The space.
    words : ndarray of uint64, shape (m, words)
        The models that have a prior probability, packed; each feasible.

    Returns
    -------
    PriorInclusion
        Exact.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pyrjsel.model_space import ModelSpace, Uniform, pack, prior_inclusion_of
    >>> terms = [
    ...     SimpleNamespace(name=name, columns=(name,), variables=(name,), parents=(), near_parents=())
    ...     for name in ("a", "b")
    ... ]
    >>> space = ModelSpace.build(terms, prior=Uniform(), n_observations=10)
    >>> prior_inclusion_of(space, pack([[0, 0], [1, 0], [0, 1]])).probability.round(3).tolist()
    [0.333, 0.333]
    """
    parts = [unpack(words[low : low + _CHUNK], space.n_terms) for low in range(0, len(words), _CHUNK)]
    weight = normalised(np.concatenate([np.atleast_1d(space.log_prior(part)) for part in parts]))
    probability = np.zeros(space.n_terms)
    for i, part in enumerate(parts):
        probability += weight[i * _CHUNK : (i + 1) * _CHUNK] @ part
    probability[space.free == 0] = 1.0
    return PriorInclusion(probability, np.zeros(space.n_terms), "exact", len(words), float(probability.sum()))


def _sampled(space: ModelSpace, rng: np.random.Generator) -> PriorInclusion:
    """Return the inclusion probabilities from Metropolis chains on the prior, with errors by batch means.

    They are averages of the probabilities of terms given all others, which are precise for rare terms too.
    """
    compiled = Space(space)
    thin = max(1, min(space.n_free, MOST_STEPS // (CHAINS * BATCHES * BATCH_DRAWS)))
    batches = []
    with rng.bit_generator.lock:
        for _ in range(CHAINS):
            start = metropolis(compiled, space.empty_model(), rng, 1, BURN_IN_SWEEPS * space.n_free)[0][0]
            for _ in range(BATCHES):
                draws, inclusion = metropolis(compiled, start, rng, BATCH_DRAWS, thin)
                start = draws[-1]
                batches.append(inclusion)
    means = np.array(batches)
    probability = means.mean(axis=0)
    mcse = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    # If chains disagree more than their batches suggest, they have not mixed: the larger error counts.
    by_chain = means.reshape(CHAINS, BATCHES, -1).mean(axis=1)
    between = by_chain.std(axis=0, ddof=1) / np.sqrt(CHAINS)
    return PriorInclusion(probability, np.maximum(mcse, between), "sampled", None, float(probability.sum()))


def _thinned(space: ModelSpace, rng: np.random.Generator, existence: Existence) -> PriorInclusion:
    """Return the inclusion probabilities over the models that exist, from those over all models and draws."""
    whole = prior_inclusion(space, rng)
    probability, mcse = over_existing(space, whole.probability, whole.mcse, existence, rng)
    method = "unknown" if np.isnan(probability).any() else "sampled"
    return PriorInclusion(probability, mcse, method, None, float(probability.sum()))


def prior_inclusion(
    space: ModelSpace,
    rng: np.random.Generator | np.random.SeedSequence | int | None = None,
    existence: Existence | None = None,
) -> PriorInclusion:
    """Return the prior inclusion probabilities under the constraints.

    With a budget, heredity or a largest size, the probability that a model drawn from the prior contains a
    term differs from the probability that the prior names. It is computed exactly if the space splits into
    small parts or has at most 2**20 models; otherwise it is estimated from four Metropolis chains on the
    prior, and flagged as such. Models that do not exist have no prior probability: their effect is exact if
    existence splits into small parts, too, or the space has at most 2**13 models; otherwise it is estimated
    from draws.

    Parameters
    ----------
    space : ModelSpace
        The space.
    rng : None, int, SeedSequence or Generator, optional
        Source of random numbers, used only if the prior must be sampled.
    existence : Existence, optional
        Which models exist, and the smallest of them; None means all.

    Returns
    -------
    PriorInclusion
        The probabilities, and how they were found.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pyrjsel.model_space import ModelSpace, Uniform, prior_inclusion
    >>> terms = [
    ...     SimpleNamespace(name=name, columns=(name,), variables=(name,), parents=(), near_parents=())
    ...     for name in ("a", "b")
    ... ]
    >>> space = ModelSpace.build(terms, prior=Uniform(), max_size=1, n_observations=10)
    >>> prior_inclusion(space).probability.round(3).tolist()
    [0.333, 0.333]
    """
    generator = check_rng(rng)
    if existence is not None:
        space = at_most(space, existence)
    try:
        return _exact(space, existence)
    except NotCountable:
        limit = ENUMERABLE if existence is None else MOST_CHECKED
        if not count_dfs(space, limit)[1]:
            return _sampled(space, generator) if existence is None else _thinned(space, generator, existence)
        words = enumerate_models(space, limit)
        kept = slice(None) if existence is None else existence.exists(unpack(words, space.n_terms))
        return prior_inclusion_of(space, words[kept])
