"""All models of a space, in depth-first order."""

import numpy as np
from numpy.typing import NDArray

from pyrjsel._errors import ParameterError
from pyrjsel._typing import WordArray
from pyrjsel._validate import check_int
from pyrjsel.model_space._space import Space, walk
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
