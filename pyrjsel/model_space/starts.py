"""Starting models of chains."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import ByteArray, FloatArray
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
