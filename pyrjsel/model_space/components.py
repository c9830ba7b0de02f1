"""Independent components of a model space, each as a small table by size and cost.

Free terms that share a priced item or are tied by heredity belong to one component. The contribution of a
component to size, cost and log prior does not depend on the others, so sums over all models are convolutions
of the components' tables. Components of a single term with equal cost and prior odds share one table.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import floor, gcd, lcm, log

import numpy as np

from pyrjsel._typing import IntArray
from pyrjsel.model_space._space import Space
from pyrjsel.model_space.component_tables import ComponentTable, CostGrid, NotCountable
from pyrjsel.model_space.costs import BUDGET_TOLERANCE
from pyrjsel.model_space.existing import Existence
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


def split(space: ModelSpace, grid: CostGrid, groups: Sequence[IntArray] = ()) -> list[IntArray]:
    """Return the free terms by component, parents first.

    Terms of the same one of the `groups` are in one component.
    """
    root = list(range(space.n_terms))

    def find(term: int) -> int:
        while root[term] != term:
            root[term] = root[root[term]]
            term = root[term]
        return term

    first_user: dict[int, int] = {}
    free = [int(term) for term in space.order if space.free[term]]
    for term in free:
        for item in space.items_of(term):
            if grid.item[item]:
                root[find(term)] = find(first_user.setdefault(int(item), term))
        parents = space.parents_of(term)
        settled = space.heredity == "weak" and any(not space.free[parent] for parent in parents)
        if not settled:
            for parent in parents:
                if space.free[parent]:
                    root[find(term)] = find(int(parent))
    for group in groups:
        for term in group[1:]:
            root[find(int(term))] = find(int(group[0]))
    parts: dict[int, list[int]] = {}
    for term in free:
        parts.setdefault(find(term), []).append(term)
    return [np.array(part, dtype=np.int64) for part in parts.values()]


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
    compiled = Space(space)
    most = space.max_size - (space.n_terms - space.n_free)
    singles: dict[tuple[int, float], list[int]] = {}
    tables = []
    for terms in split(space, grid, groups):
        if doubtful[terms].any():
            assert existence is not None
            tables.append(full_table(space, compiled, grid, terms, existence))
        elif len(terms) > 1:
            tables.append(tied_table(space, compiled, grid, terms, most))
        else:
            term = int(terms[0])
            cost = int(grid.item[space.items_of(term)].sum())
            singles.setdefault((cost, float(space.log_odds[term])), []).append(term)
    for (cost, odds), alike in singles.items():
        affordable = most if cost == 0 else min(most, grid.room // cost)
        tables.append(_alike(np.array(alike, dtype=np.int64), cost, odds, affordable))
    return sorted(tables, key=lambda table: -len(table.size))
