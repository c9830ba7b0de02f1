"""Shared by chains over models: their starts, and blocks of interactions and the terms that they require."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel._validate import bad_value, unknown_name
from pyrjsel.model_space.sampling import sample_models
from pyrjsel.model_space.space import ModelSpace

# Number of terms with the highest scores, of which starts have a half.
PROMISING = 20
# Attempts at a dispersed start with a coefficient prior, each with half the terms of the last.
START_TRIES = 12


def checked_start(start: object) -> tuple[str, ...] | str | None:
    """Return the option `start`: None, "empty" or a tuple, or raise :class:`ParameterError`."""
    if start is None:
        return None
    if isinstance(start, str) and start == "empty":
        return start
    try:
        terms = tuple(start) if isinstance(start, Iterable) and not isinstance(start, str) else None
    except TypeError:  # an array without dimensions
        terms = None
    if terms is None:
        raise bad_value("start", "None, 'empty' or a sequence of terms", start)
    return terms


def given_start(
    start: str | Sequence[str] | None, space: ModelSpace, exists: Callable[[ByteArray], bool]
) -> ByteArray | None:
    """Return the model of the option `start`, None for None.

    `exists` says whether a model has a coefficient prior.

    Raises
    ------
    UnknownNameError
        If a term is unknown.
    ParameterError
        If the model is not feasible, or has no coefficient prior.
    """
    if start is None:
        return None
    gamma = space.empty_model()
    for name in () if isinstance(start, str) else start:
        if not isinstance(name, str) or name not in space.names:
            raise unknown_name(name, "term", space.names, "in 'start'")
        gamma[space.names.index(name)] = 1
    reason = space.why_infeasible(gamma)
    if reason is not None:
        raise ParameterError(f"The 'start' option of {called()} must be a feasible model: {reason}")
    if not exists(gamma):
        raise ParameterError(
            f"The 'start' option of {called()} must be a model with linearly independent columns. "
            f"Got {start!r} instead."
        )
    return gamma


def dispersed_start(
    space: ModelSpace, exists: Callable[[ByteArray], bool], rng: np.random.Generator, most: int | None = None
) -> ByteArray:
    """Draw a model from the prior, reduced until it has a coefficient prior and at most `most` terms."""
    gamma = sample_models(space, 1, rng)[0]
    for _ in range(START_TRIES):
        if (most is None or gamma.sum() <= most) and exists(gamma):
            return gamma
        free = np.flatnonzero(gamma & space.free)
        smaller = gamma.copy()
        smaller[rng.permutation(free)[: (free.size + 1) // 2]] = 0
        gamma = smaller if space.feasible(smaller) else space.empty_model()
    return space.empty_model()


def promising_start(
    space: ModelSpace, exists: Callable[[ByteArray], bool], rng: np.random.Generator, scores: FloatArray
) -> ByteArray:
    """Draw half of the free terms with the highest `scores` (J,), fewer if that model is not feasible.

    For thousands of terms, of which a draw from the prior would have dozens that the data do not support.
    """
    free = np.flatnonzero(space.free)
    best = rng.permutation(free[np.argsort(-scores[free], kind="stable")[:PROMISING]])
    while best.size:
        best = best[: best.size // 2]
        gamma = space.empty_model()
        gamma[best] = 1
        if space.feasible(gamma) and exists(gamma):
            return gamma
    return space.empty_model()


# Fewest updates of each block during burn-in: a block that is not visited then is missing later.
ROUNDS = 5
# Largest block, that of a three-way interaction. That of a four-way one has 15 terms and 167 feasible sets.
LARGEST = 7


def term_blocks(space: ModelSpace) -> list[IntArray]:
    """Return the blocks of a space.

    Parameters
    ----------
    space : ModelSpace

    Returns
    -------
    list of ndarray of int64
        For each free term that requires others: its free ancestors, parents before children, then the term.
        Blocks of more than seven terms are omitted; the blocks of their members are included.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pyrjsel.model_space import ModelSpace, Uniform, term_blocks
    >>> terms = [
    ...     SimpleNamespace(name=name, columns=(name,), variables=(name,), parents=above, near_parents=above)
    ...     for name, above in [("a", ()), ("b", ()), ("c", ()), ("a:b", (0, 1))]
    ... ]
    >>> space = ModelSpace.build(terms, prior=Uniform(), heredity="strong", n_observations=100)
    >>> [family.tolist() for family in term_blocks(space)]
    [[0, 1, 3]]
    """
    if not space.parent.size:
        return []
    place = {term: at for at, term in enumerate(space.order.tolist())}
    above: dict[int, set[int]] = {}
    found = []
    for term in place:
        parents = space.parents_of(term).tolist()
        above[term] = set(parents).union(*(above[parent] for parent in parents))
        members = sorted((other for other in above[term] if space.free[other]), key=place.__getitem__)
        if space.free[term] and members and len(members) < LARGEST:
            found.append(np.array([*members, term], dtype=np.int64))
    return found


def block_rates(count: int, given: float | None, burn_in: float) -> tuple[float, float]:
    """Return the numbers of `count` blocks to update per sweep, during burn-in and after it.

    `given` is the requested number, None for one, and `burn_in` the length of burn-in.

    Examples
    --------
    >>> from pyrjsel.model_space.chains import block_rates
    >>> block_rates(1770, None, 1000.0), block_rates(28, 0.5, 1000.0), block_rates(0, None, 10.0)
    ((8.85, 1.0), (0.5, 0.5), (0.0, 0.0))
    """
    if not count or given == 0:
        return 0.0, 0.0
    rate = 1.0 if given is None else given
    return max(rate, ROUNDS * count / burn_in if burn_in else 0.0), rate
