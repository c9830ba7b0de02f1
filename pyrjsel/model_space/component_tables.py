"""Tables of sums over the independent components of a model space, by size and cost."""

from dataclasses import dataclass
from fractions import Fraction

from pyrjsel._errors import PyrjselError
from pyrjsel._typing import FloatArray, IntArray


class NotCountable(PyrjselError):
    """The space does not split into sufficiently small components; internal to this package."""


@dataclass(frozen=True, eq=False)
class CostGrid:
    """Costs as whole numbers of a common unit.

    Parameters
    ----------
    unit : Fraction
        The unit; 1 if the budget does not bind.
    room : int
        Budget available for the free terms, in units; 0 if it does not bind.
    item : ndarray of int64
        Cost of every item in units; 0 for items that are always paid or irrelevant.
    binding : bool
        Whether the budget excludes any model.
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
        Proportion of this weight with each term included; one column if it is the same for all.
    """

    terms: IntArray
    size: IntArray
    cost: IntArray
    count: tuple[int, ...]
    log_weight: FloatArray
    share: FloatArray
