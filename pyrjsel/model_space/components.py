"""Independent components of a model space, each as a small table by size and cost.

Free terms that share a priced item or are tied by heredity belong to one component. The contribution of a
component to size, cost and log prior does not depend on the others, so sums over all models are convolutions
of the components' tables. Components of a single term with equal cost and prior odds share one table.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import floor, gcd, lcm, log

import numpy as np
import scipy

from pyrjsel._typing import IntArray
from pyrjsel.model_space._space import Space
from pyrjsel.model_space.convolution import ComponentTable, CostGrid, NotCountable
from pyrjsel.model_space.costs import BUDGET_TOLERANCE
from pyrjsel.model_space.sampling import Existence
from pyrjsel.model_space.space import ModelSpace
from pyrjsel.model_space.tied import full_table, tied_table

COST_LIMIT = 200_000  # limit of cells of the grid of costs
RATIONAL_TOLERANCE = 1e-13  # largest relative difference between a cost and its fraction


def _rational(value: float) -> Fraction:
    """Return a cost as a simple fraction (1/10 for 0.1), or raise :class:`NotCountable`."""
    fraction = Fraction(value).limit_denominator(1_000_000)
    if abs(float(fraction) - value) > RATIONAL_TOLERANCE * abs(value):
        raise NotCountable(f"{value!r} is not a simple fraction.")
    return fraction


def cost_grid(space: ModelSpace) -> CostGrid:
    """Return the costs of a space as whole numbers, or raise :class:`NotCountable`."""
    nothing = CostGrid(Fraction(1), 0, np.zeros(len(space.item_cost), dtype=np.int64), False)
    if space.cost(np.ones(space.n_terms, dtype=np.uint8)) <= space.budget_limit:
        return nothing
    paid = {int(item) for term in np.flatnonzero(space.free == 0) for item in space.items_of(int(term))}
    prices = [_rational(float(cost)) for cost in space.item_cost]
    open_items = [i for i, price in enumerate(prices) if i not in paid and price > 0]
    room = Fraction(space.budget) * (1 + Fraction(BUDGET_TOLERANCE)) - sum(
        (prices[i] for i in paid), Fraction(0)
    )
    # Items above the budget are ignored: their cost does not affect the unit.
    useful = [i for i in open_items if prices[i] <= room]
    if useful:
        denominator = lcm(*(prices[i].denominator for i in useful))
        unit = Fraction(gcd(*(int(prices[i] * denominator) for i in useful)), denominator)
    else:
        unit = room + 1
    units = floor(room / unit)
    if units > COST_LIMIT:
        raise NotCountable(f"The budget is {units} units of cost.")
    item = nothing.item.copy()
    for i in open_items:
        item[i] = int(prices[i] / unit) if prices[i] <= room else units + 1
    return CostGrid(unit, units, item, True)


def split(space: ModelSpace, grid: CostGrid, groups: Sequence[IntArray] = ()) -> tuple[IntArray, IntArray]:
    """Return the free terms in the order of the space, parents first, and the component of each.

    Components are numbered by their first terms. Terms of the same one of the `groups` are in one component.
    """
    size, free = space.n_terms, space.free != 0
    user = np.repeat(np.arange(size), np.diff(space.item_start))
    priced = free[user] & (grid.item[space.item] != 0)
    child, parent = np.repeat(np.arange(size), np.diff(space.parent_start)), space.parent
    tied = free[child] & free[parent]
    if space.heredity == "weak":
        settled = np.zeros(size, dtype=bool)
        settled[child[~free[parent]]] = True
        tied &= ~settled[child]
    # Items are nodes behind the terms.
    one = [user[priced], child[tied], *(np.repeat(group[:1], len(group)) for group in groups)]
    other = [size + space.item[priced], parent[tied], *groups]
    edges = np.concatenate(one), np.concatenate(other)
    nodes = size + len(grid.item)
    graph = scipy.sparse.coo_array((np.ones(edges[0].size, dtype=bool), edges), shape=(nodes, nodes))
    part = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    terms = space.order[free[space.order]].astype(np.int64)
    _, first, number = np.unique(part[terms], return_index=True, return_inverse=True)
    return terms, np.argsort(np.argsort(first))[number]


def _alike(terms: IntArray, cost: int, odds: float, most: int) -> ComponentTable:
    """Return the table of single-term components with the same cost and prior odds."""
    m = len(terms)
    k = np.arange(min(m, most) + 1)
    count = [1]
    for i in range(len(k) - 1):
        count.append(count[-1] * (m - i) // (i + 1))
    log_weight = np.array([log(ways) for ways in count]) + k * odds
    return ComponentTable(terms, k, k * cost, tuple(count), log_weight, (k / m)[:, None])


def component_tables(
    space: ModelSpace, grid: CostGrid, existence: Existence | None = None
) -> list[ComponentTable]:
    """Return the tables of all components, largest first, or raise :class:`NotCountable`."""
    groups = [] if existence is None else existence.groups
    doubtful = np.zeros(space.n_terms, dtype=bool)
    for group in groups:
        doubtful[group] = True
    most = space.max_size - (space.n_terms - space.n_free)
    terms, part = split(space, grid, groups)
    by_part = np.argsort(part, kind="stable")
    width = np.bincount(part)
    lone = (width[part] == 1) & ~doubtful[terms]
    tables = []
    compiled = None if lone.all() else Space(space)
    for number in np.unique(part[~lone]).tolist():
        end = int(width[: number + 1].sum())
        own = terms[by_part[end - width[number] : end]]
        assert compiled is not None
        if doubtful[own].any():
            assert existence is not None
            tables.append(full_table(space, compiled, grid, own, existence))
        else:
            tables.append(tied_table(space, compiled, grid, own, most))
    price = np.zeros(space.n_terms, dtype=np.int64)
    np.add.at(price, np.repeat(np.arange(space.n_terms), np.diff(space.item_start)), grid.item[space.item])
    alone = terms[lone]
    odds, code = np.unique(space.log_odds[alone], return_inverse=True)
    kinds, first, kind = np.unique(price[alone] * odds.size + code, return_index=True, return_inverse=True)
    for number in np.argsort(first):
        cost = int(kinds[number] // odds.size)
        affordable = most if cost == 0 else min(most, grid.room // cost)
        alike = alone[kind == number]
        tables.append(_alike(alike, cost, float(space.log_odds[alike[0]]), affordable))
    return sorted(tables, key=lambda table: -len(table.size))
