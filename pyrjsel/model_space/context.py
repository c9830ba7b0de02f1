"""Descriptions of terms for model spaces and for priors over models."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pyrjsel._typing import BoolArray, IntArray


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
