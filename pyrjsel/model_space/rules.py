"""Rules on terms: those that are always included, heredity, and order."""

from collections.abc import Sequence

import numpy as np

from pyrjsel._errors import ParameterError
from pyrjsel._typing import IntArray
from pyrjsel._validate import bad_value, unknown_name
from pyrjsel.model_space.context import TermLike


def check_always(always: object, names: Sequence[str]) -> set[str]:
    """Return the names of the terms in every model, from one name or several."""
    if isinstance(always, str):
        always = (always,)
    try:
        kept = list(always)  # type: ignore[call-overload]
    except TypeError as error:
        raise bad_value("always", "a name or names of terms", always) from error
    for name in kept:
        if not isinstance(name, str):
            raise bad_value("always", "a name or names of terms", always)
        if name not in names:
            raise unknown_name(name, "term", names, "in 'always'")
    return set(kept)


def inheritance(
    terms: Sequence[TermLike], heredity: str | None
) -> tuple[Sequence[tuple[int, ...]], Sequence[Sequence[int]]]:
    """Return the parents of each term, of which heredity requires all or one, and the children.

    The nearest ancestors are enough: if all of them are included, so are their own ancestors.
    """
    if not heredity:
        return [()] * len(terms), [()] * len(terms)
    parents = [tuple(term.near_parents) for term in terms]
    return parents, _children(parents)


def _children(parents: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the children of each term."""
    children: list[list[int]] = [[] for _ in parents]
    for term, above in enumerate(parents):
        for parent in above:
            children[parent].append(term)
    return children


def depths(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the length of the longest chain of ancestors of each term.

    Raises
    ------
    ParameterError
        If a term is its own ancestor.
    """
    depth = [0] * len(parents)
    if not any(parents):
        return depth
    waiting, children = [len(above) for above in parents], _children(parents)
    ready = [term for term, count in enumerate(waiting) if count == 0]
    for term in ready:
        for child in children[term]:
            depth[child] = max(depth[child], depth[term] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    if len(ready) < len(parents):
        raise ParameterError("The parents of terms must not form a cycle.")
    return depth


def orders_of(terms: Sequence[TermLike], parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the order of each term: its own attribute, or its depth below its ancestors."""
    below = depths(parents)
    return tuple(getattr(term, "order", 1 + depth) for term, depth in zip(terms, below, strict=True))


def topological_order(parents: Sequence[Sequence[int]]) -> IntArray:
    """Return all terms by increasing order; within an order, in their given order."""
    depth = np.array(depths(parents), dtype=np.intp)
    return np.argsort(depth, kind="stable")
