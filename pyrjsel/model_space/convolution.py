"""Sums over all models: tables of independent components, and their convolution over size and cost."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrjsel._core import special
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


WORK_LIMIT = 20_000_000  # limit of additions of one pass: about a second, and 160 MB for the backward pass


@dataclass(frozen=True)
class Plan:
    """The grid of a convolution.

    Parameters
    ----------
    tables : tuple of ComponentTable
        The components, with equivalent entries merged.
    size, cost : int
        Largest size and cost of the grid.
    reach : tuple of (int, int)
        Largest total size and cost of the components before each one, and of all.
    """

    tables: tuple[ComponentTable, ...]
    size: int
    cost: int
    reach: tuple[tuple[int, int], ...]


def _joined(table: ComponentTable, by_size: bool, by_cost: bool) -> ComponentTable:
    """Return the table with equivalent entries merged."""
    size = table.size if by_size else np.zeros_like(table.size)
    cost = table.cost if by_cost else np.zeros_like(table.cost)
    if by_size and by_cost:
        return table
    keys, entry = np.unique(np.stack([size, cost]), axis=1, return_inverse=True)
    entry = entry.reshape(-1)
    top = np.full(keys.shape[1], -np.inf)
    np.maximum.at(top, entry, table.log_weight)
    weight = np.exp(table.log_weight - top[entry])
    total = np.bincount(entry, weights=weight)
    share = np.zeros((keys.shape[1], table.share.shape[1]))
    np.add.at(share, entry, table.share * weight[:, None])
    count = [0] * keys.shape[1]
    for position, ways in zip(entry, table.count, strict=True):
        count[position] += ways
    return replace(
        table,
        size=keys[0],
        cost=keys[1],
        count=tuple(count),
        log_weight=top + np.log(total),
        share=share / total[:, None],
    )


def _largest_size(tables: list[ComponentTable], size: int, cost: int) -> int:
    """Return the largest number of terms, up to `size`, of total cost at most `cost`."""
    cheapest = np.full(size + 1, cost + 1, dtype=np.int64)
    cheapest[0] = 0
    for table in tables:
        best = np.full(size + 1, cost + 1, dtype=np.int64)
        for k, price in zip(table.size, table.cost, strict=True):
            if k <= size:
                best[k:] = np.minimum(best[k:], cheapest[: size + 1 - k] + price)
        cheapest = best
    return int(np.flatnonzero(cheapest <= cost).max())


def plan(tables: list[ComponentTable], *, size: int, cost: int, by_size: bool, by_cost: bool) -> Plan:
    """Plan a convolution, or raise :class:`NotCountable` if it would take too long.

    Parameters
    ----------
    tables : list of ComponentTable
        The components.
    size, cost : int
        Largest number of free terms and largest cost.
    by_size, by_cost : bool
        Whether size and cost matter.

    Returns
    -------
    Plan
    """
    kept = [_joined(table, by_size, by_cost) for table in tables]
    size = size if by_size else 0
    cost = cost if by_cost else 0
    if by_size and by_cost:
        if sum(len(table.size) for table in kept) * (size + 1) > WORK_LIMIT:
            raise NotCountable("The tables are too large.")
        size = _largest_size(kept, size, cost)
    reach = [(0, 0)]
    work = 0
    for table in kept:
        k, c = reach[-1]
        work += len(table.size) * (k + 1) * (c + 1)
        reach.append((min(size, k + int(table.size.max())), min(cost, c + int(table.cost.max()))))
    if work > WORK_LIMIT:
        raise NotCountable(f"The convolution takes {work} additions.")
    return Plan(tuple(kept), size, cost, tuple(reach))


def _blocks(plan_: Plan, i: int, k: int, c: int) -> tuple[tuple[slice, slice], tuple[slice, slice]] | None:
    """Return the cells before and after table i that an entry (k, c) connects, or None."""
    rows = min(plan_.reach[i][0], plan_.size - k) + 1
    columns = min(plan_.reach[i][1], plan_.cost - c) + 1
    if rows <= 0 or columns <= 0:
        return None
    return (slice(0, rows), slice(0, columns)), (slice(k, k + rows), slice(c, c + columns))


def total_count(plan_: Plan) -> int:
    """Return the exact number of models."""
    # Python's integers where int64 could overflow.
    bits = sum(max(1, sum(table.count).bit_length()) for table in plan_.tables)
    dtype: type = np.int64 if bits < 62 else object
    now: NDArray[Any] = np.ones((1, 1), dtype=dtype)
    for i, table in enumerate(plan_.tables):
        k_max, c_max = plan_.reach[i + 1]
        after: NDArray[Any] = np.zeros((k_max + 1, c_max + 1), dtype=dtype)
        for k, c, ways in zip(table.size, table.cost, table.count, strict=True):
            blocks = _blocks(plan_, i, int(k), int(c))
            if blocks is not None:
                after[blocks[1]] += now[blocks[0]] * ways
        now = after
    return int(now.sum())


def inclusion(plan_: Plan, log_size: FloatArray, n_terms: int) -> tuple[FloatArray, FloatArray]:
    """Return the probability of every term, and of every size.

    Forward sums over the components before each one and backward sums over those after it (including the
    prior of the size) are combined in its entries; all in logs, since s(k) ranges over hundreds.

    Parameters
    ----------
    plan_ : Plan
        The convolution.
    log_size : ndarray of float64
        s by number of free terms; a single entry if size does not matter.
    n_terms : int
        Number J of terms.

    Returns
    -------
    probability : ndarray of float64, shape (J,)
        0 for terms in no component.
    size_probability : ndarray of float64
        Probability of each number of free terms (a single entry if size does not matter).
    """
    forward: list[FloatArray] = [np.zeros((1, 1))]
    for i, table in enumerate(plan_.tables):
        k_max, c_max = plan_.reach[i + 1]
        after = np.full((k_max + 1, c_max + 1), -np.inf)
        for k, c, weight in zip(table.size, table.cost, table.log_weight, strict=True):
            blocks = _blocks(plan_, i, int(k), int(c))
            if blocks is not None:
                after[blocks[1]] = np.logaddexp(after[blocks[1]], forward[i][blocks[0]] + weight)
        forward.append(after)

    k_max, c_max = plan_.reach[-1]
    backward: FloatArray = np.repeat(log_size[: k_max + 1, None], c_max + 1, axis=1)
    by_size = special.logsumexp(forward[-1] + backward, axis=1)
    whole = special.logsumexp(by_size)
    probability = np.zeros(n_terms)
    for i in range(len(plan_.tables) - 1, -1, -1):
        table = plan_.tables[i]
        k_max, c_max = plan_.reach[i]
        before = np.full((k_max + 1, c_max + 1), -np.inf)
        mass = np.zeros(len(table.size))
        for e, (k, c, weight) in enumerate(zip(table.size, table.cost, table.log_weight, strict=True)):
            blocks = _blocks(plan_, i, int(k), int(c))
            if blocks is not None:
                rest = backward[blocks[1]] + weight
                before[blocks[0]] = np.logaddexp(before[blocks[0]], rest)
                mass[e] = np.exp(forward[i][blocks[0]] + rest - whole).sum()
        # Divided by its own sum, since rounding of the logs is common to all entries.
        probability[table.terms] = mass @ table.share / mass.sum()
        backward = before
    return probability, np.exp(by_size - whole)
