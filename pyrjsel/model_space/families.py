"""Blocks of terms: an interaction and the terms that heredity requires for it."""

import numpy as np

from pyrjsel._typing import IntArray
from pyrjsel.model_space.space import ModelSpace

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
    >>> from pyrjsel.model_space.families import block_rates
    >>> block_rates(1770, None, 1000.0), block_rates(28, 0.5, 1000.0), block_rates(0, None, 10.0)
    ((8.85, 1.0), (0.5, 0.5), (0.0, 0.0))
    """
    if not count or given == 0:
        return 0.0, 0.0
    rate = 1.0 if given is None else given
    return max(rate, ROUNDS * count / burn_in if burn_in else 0.0), rate
