"""Terms of a model space: their descriptions, and the rules on them (always included, heredity, order)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pyrjsel._errors import ParameterError
from pyrjsel._typing import BoolArray, IntArray
from pyrjsel._validate import bad_value, unknown_name


class TermLike(Protocol):
    """A term, as a model space uses it: it enters or leaves a model as a whole."""

    @property
    def name(self) -> str:
        """Name of the term."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of its design columns."""

    @property
    def variables(self) -> Sequence[str]:
        """Columns of the data that the term uses."""

    @property
    def parents(self) -> Sequence[int]:
        """All terms of lower order within it."""

    @property
    def near_parents(self) -> Sequence[int]:
        """The maximal ones among `parents`: heredity requires all of them (strong) or one (weak)."""


@dataclass(frozen=True)
class PriorContext:
    """The terms of a model space, as a prior over models uses them.

    Parameters
    ----------
    names : sequence of str
        Names of the J terms.
    free : tuple of bool
        Whether each term may be excluded; the others are in every model.
    columns : tuple of int
        Number of design columns of each term.
    n_observations : float
        Number of observations (sum of the weights if rows are grouped).
    heredity : {None, "weak", "strong"}
        Heredity rule.
    orders : tuple of int
        Order of each term; unused without heredity.
    parents : tuple of tuples of int
        Parents of each term, of which heredity requires all or one; unused without heredity.
    """

    names: Sequence[str]
    free: tuple[bool, ...]
    columns: tuple[int, ...]
    n_observations: float
    heredity: str | None = None
    orders: tuple[int, ...] = ()
    parents: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def rank(self) -> IntArray:
        """Order of each free term, numbered from 0 without gaps; -1 for other terms."""
        values = np.array(self.orders, dtype=np.int64)
        result = np.full(len(self.names), -1, dtype=np.int64)
        if self.heredity is not None:
            result[self.free_mask] = np.unique(values[self.free_mask], return_inverse=True)[1]
        return result

    @property
    def n_orders(self) -> int:
        """Number of different orders of free terms under heredity, 0 without heredity."""
        return int(self.rank.max(initial=-1)) + 1

    @property
    def n_free(self) -> int:
        """Number of free terms."""
        return sum(self.free)

    @property
    def free_mask(self) -> BoolArray:
        """Free terms as a mask, shape (J,)."""
        return np.array(self.free, dtype=np.bool_)

    @property
    def free_names(self) -> tuple[str, ...]:
        """Names of the free terms."""
        return tuple(name for name, free in zip(self.names, self.free, strict=True) if free)


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
