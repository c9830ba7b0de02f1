"""Sums over the independent parts of a model space, by size and cost."""

from dataclasses import dataclass
from fractions import Fraction

from pyrjsel._errors import PyrjselError
from pyrjsel._typing import FloatArray, IntArray


class NotCountable(PyrjselError):
    """The space does not split into parts that are small enough; for use inside this package alone."""


@dataclass(frozen=True, eq=False)
class CostGrid:
    """Costs as whole numbers of a common unit.

    Parameters
    ----------
    unit : Fraction
        The unit; 1 where the budget does not bind.
    room : int
        What the budget leaves to the free terms, in units; 0 where it does not bind.
    item : ndarray of int64
        Price of every item in units; 0 for items that are paid anyway or do not matter.
    binding : bool
        Whether the budget leaves out any model.
    """

    unit: Fraction
    room: int
    item: IntArray
    binding: bool


@dataclass(frozen=True, eq=False)
class ComponentTable:
    """Prior mass of the feasible subsets of some terms, by size and cost.

    Parameters
    ----------
    terms : ndarray of int64, shape (t,)
        The terms.
    size, cost : ndarray of int64, shape (e,)
        Number of terms and cost in units of the subsets of an entry.
    count : tuple of int
        Number of such subsets.
    log_weight : ndarray of float64, shape (e,)
        Log of the sum over them of exp(sum of l_j).
    share : ndarray of float64, shape (e, t) or (e, 1)
        Share of this weight that has each term in; one column where it is the same for all.
    """

    terms: IntArray
    size: IntArray
    cost: IntArray
    count: tuple[int, ...]
    log_weight: FloatArray
    share: FloatArray
