"""Terms as a model space sees them, and as a prior over models does."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pyrjsel._typing import BoolArray, IntArray


class TermLike(Protocol):
    """A unit that enters or leaves a model whole, as a model space sees it."""

    @property
    def name(self) -> str:
        """Name of the term."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of its design columns."""

    @property
    def variables(self) -> Sequence[str]:
        """Columns of the data that it uses."""

    @property
    def parents(self) -> Sequence[int]:
        """All terms of lower order within it."""

    @property
    def near_parents(self) -> Sequence[int]:
        """The maximal ones among `parents`: heredity asks for all of them (strong) or for one (weak)."""


@dataclass(frozen=True)
class PriorContext:
    """The terms as a prior over models sees them.

    Parameters
    ----------
    names : tuple of str
        Names of the J terms.
    free : tuple of bool
        Whether each term may be in or out; the others are in every model.
    columns : tuple of int
        Number of design columns of each term.
    n_observations : float
        Number of observations (sum of the weights where rows are grouped).
    heredity : {None, "weak", "strong"}
        The rule in force.
    orders : tuple of int
        Order of each term; not needed without heredity.
    parents : tuple of tuples of int
        The terms of which heredity asks for all or for one beside each term; likewise.
    """

    names: tuple[str, ...]
    free: tuple[bool, ...]
    columns: tuple[int, ...]
    n_observations: float
    heredity: str | None = None
    orders: tuple[int, ...] = ()
    parents: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def rank(self) -> IntArray:
        """Order of each free term, those that there are counted from 0; -1 for other terms."""
        values = np.array(self.orders, dtype=np.int64)
        result = np.full(len(self.names), -1, dtype=np.int64)
        if self.heredity is not None:
            result[self.free_mask] = np.unique(values[self.free_mask], return_inverse=True)[1]
        return result

    @property
    def n_orders(self) -> int:
        """Number of orders that free terms have under heredity, 0 without it."""
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
