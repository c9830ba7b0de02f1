"""Tables of terms that are tied to one another, by going through their feasible subsets.

Where heredity ties terms, most subsets differ only in terms that nothing else depends on (the leaves, such as
the interactions of the highest order). It is then enough to go through the subsets of the other terms (the
core): each leaves m leaves open, any of which may join at no further cost.
"""

from math import comb, log

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.space._space import Space, walk
from pyrjsel.space.bits import unpack
from pyrjsel.space.space import ModelSpace
from pyrjsel.space.tables import ComponentTable, CostGrid, NotCountable

COMPONENT_LIMIT = 2**20  # feasible subsets to go through
_CHUNK = 2**16


def _subsets(
    space: ModelSpace, compiled: Space, grid: CostGrid, terms: IntArray
) -> tuple[NDArray[np.uint64], IntArray, IntArray, FloatArray]:
    """Return the feasible subsets of `terms`: packed, their size, cost in units and sum of l_j."""
    start = space.empty_model()
    order = np.ascontiguousarray(terms, dtype=np.int32)
    _, complete, *_ = walk(compiled, start, order, COMPONENT_LIMIT, False)
    if not complete:
        raise NotCountable(f"{len(terms)} terms are tied to one another.")
    _, _, words, size, cost, log_odds = walk(compiled, start, order, COMPONENT_LIMIT, True)
    units = np.zeros(len(size), dtype=np.int64)
    if grid.binding:
        units = np.rint((cost - cost[0]) / float(grid.unit)).astype(np.int64)
    return words, size.astype(np.int64) - int(start.sum()), units, log_odds


def _relative(log_weight: FloatArray, entry: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest log weight of each entry, and the weights relative to it."""
    top = np.full(n, -np.inf)
    np.maximum.at(top, entry, log_weight)
    return top, np.exp(log_weight - top[entry])


def _sums(weight: FloatArray, inside: ByteArray, entry: IntArray, out: FloatArray) -> None:
    """Add the weight of the subsets that have each term in, by entry, to `out`, shape (entries, terms)."""
    for column in range(inside.shape[1]):
        out[:, column] += np.bincount(entry, weights=weight * inside[:, column], minlength=len(out))


def full_table(space: ModelSpace, compiled: Space, grid: CostGrid, terms: IntArray) -> ComponentTable:
    """Return the table of tied terms by going through all their feasible subsets.

    Parameters
    ----------
    space, compiled : ModelSpace, Space
        The space, and the same compiled.
    grid : CostGrid
        The costs as whole numbers.
    terms : ndarray of int64
        The terms, parents first.

    Returns
    -------
    ComponentTable
        The table.

    Raises
    ------
    NotCountable
        If there are too many subsets.
    """
    words, size, units, log_odds = _subsets(space, compiled, grid, terms)
    cells, entry = np.unique(size * (grid.room + 1) + units, return_inverse=True)
    top, weight = _relative(log_odds, entry, len(cells))
    total = np.bincount(entry, weights=weight)
    inside = np.zeros((len(cells), len(terms)))
    for low in range(0, len(size), _CHUNK):
        rows = slice(low, low + _CHUNK)
        _sums(weight[rows], unpack(words[rows], space.n_terms)[:, terms], entry[rows], inside)
    return ComponentTable(
        terms=terms,
        size=cells // (grid.room + 1),
        cost=cells % (grid.room + 1),
        count=tuple(int(n) for n in np.bincount(entry)),
        log_weight=top + np.log(total),
        share=inside / total[:, None],
    )


def _needs(space: ModelSpace, leaf: int) -> NDArray[np.int32]:
    """Return the free terms of which a leaf needs all (strong heredity) or one (weak)."""
    parents = space.parents_of(leaf)
    free = parents[space.free[parents] == 1]
    settled = space.heredity == "weak" and len(free) < len(parents)
    return free[:0] if settled else free


def _core_and_leaves(space: ModelSpace, grid: CostGrid, terms: IntArray) -> tuple[IntArray, IntArray]:
    """Split tied terms; raise :class:`NotCountable` where leaves differ or cost something of their own."""
    members = set(terms.tolist())
    is_leaf = np.array([not members & set(space.children_of(term).tolist()) for term in terms.tolist()])
    core, leaves = terms[~is_leaf], terms[is_leaf]
    alike = len(set(space.log_odds[leaves].tolist())) == 1
    for leaf in leaves.tolist():
        paid = [set(space.items_of(parent).tolist()) for parent in _needs(space, leaf).tolist()]
        if not paid:
            sure: set[int] = set()
        else:
            sure = set.union(*paid) if space.heredity == "strong" else set.intersection(*paid)
        alike &= all(item in sure or grid.item[item] == 0 for item in space.items_of(leaf).tolist())
    if not alike or not len(core):
        raise NotCountable(f"{len(terms)} terms are tied to one another, and their leaves differ.")
    return core, leaves


def _open_leaves(space: ModelSpace, gamma: ByteArray, leaves: IntArray) -> ByteArray:
    """Return which leaves may join each model, shape (m, leaves)."""
    result = np.ones((len(gamma), len(leaves)), dtype=np.uint8)
    for column, leaf in enumerate(leaves.tolist()):
        needs = gamma[:, _needs(space, leaf)]
        if needs.shape[1]:
            result[:, column] = needs.all(axis=1) if space.heredity == "strong" else needs.any(axis=1)
    return result


def core_table(
    space: ModelSpace, compiled: Space, grid: CostGrid, terms: IntArray, most: int
) -> ComponentTable:
    """Return the table of tied terms by going through the subsets of those that others depend on.

    Parameters
    ----------
    space, compiled : ModelSpace, Space
        The space, and the same compiled.
    grid : CostGrid
        The costs as whole numbers.
    terms : ndarray of int64
        The terms, parents first.
    most : int
        Largest number of free terms of a model.

    Returns
    -------
    ComponentTable
        The table.

    Raises
    ------
    NotCountable
        If there are too many subsets, or the leaves differ in prior odds or cost something of their own.
    """
    core, leaves = _core_and_leaves(space, grid, terms)
    words, size, units, log_odds = _subsets(space, compiled, grid, core)
    chunks = [slice(low, low + _CHUNK) for low in range(0, len(size), _CHUNK)]
    n_open = np.concatenate(
        [
            _open_leaves(space, unpack(words[c], space.n_terms), leaves).sum(axis=1, dtype=np.int64)
            for c in chunks
        ]
    )
    # Core subsets of one size, cost and number of open leaves are one state.
    cells = size * (grid.room + 1) + units
    states, state = np.unique(cells * (len(leaves) + 1) + n_open, return_inverse=True)
    top, weight = _relative(log_odds, state, len(states))
    total = np.bincount(state, weights=weight)
    ways = np.bincount(state)
    core_sum = np.zeros((len(states), len(core)))
    open_sum = np.zeros((len(states), len(leaves)))
    for c in chunks:
        gamma = unpack(words[c], space.n_terms)
        _sums(weight[c], gamma[:, core], state[c], core_sum)
        _sums(weight[c], _open_leaves(space, gamma, leaves), state[c], open_sum)

    # Every state is taken apart by the number of leaves that join.
    cell_of, open_of = np.divmod(states, len(leaves) + 1)
    joined: list[tuple[int, int, int]] = []
    counts: dict[int, int] = {}
    for s, (cell, m) in enumerate(zip(cell_of.tolist(), open_of.tolist(), strict=True)):
        for i in range(min(m, most - cell // (grid.room + 1)) + 1):
            target = cell + i * (grid.room + 1)
            joined.append((s, i, target))
            counts[target] = counts.get(target, 0) + int(ways[s]) * comb(m, i)
    s_of, i_of, target_of = (np.array(part, dtype=np.int64) for part in zip(*joined, strict=True))
    choose = np.array([log(comb(m, i)) for m, i in zip(open_of[s_of].tolist(), i_of.tolist(), strict=True)])
    odds = float(space.log_odds[leaves[0]])
    log_weight = (top + np.log(total))[s_of] + choose + i_of * odds
    keys, entry = np.unique(target_of, return_inverse=True)
    top, weight = _relative(log_weight, entry, len(keys))
    total_of = np.bincount(entry, weights=weight)
    share = np.zeros((len(keys), len(core) + len(leaves)))
    np.add.at(share[:, : len(core)], entry, (core_sum / total[:, None])[s_of] * weight[:, None])
    part_in = np.divide(i_of, open_of[s_of], out=np.zeros(len(i_of)), where=open_of[s_of] > 0)
    np.add.at(share[:, len(core) :], entry, (open_sum / total[:, None])[s_of] * (weight * part_in)[:, None])
    return ComponentTable(
        terms=np.concatenate([core, leaves]),
        size=keys // (grid.room + 1),
        cost=keys % (grid.room + 1),
        count=tuple(counts[int(key)] for key in keys),
        log_weight=top + np.log(total_of),
        share=share / total_of[:, None],
    )


def tied_table(
    space: ModelSpace, compiled: Space, grid: CostGrid, terms: IntArray, most: int
) -> ComponentTable:
    """Return the table of tied terms by the way that is possible; see :func:`core_table`."""
    try:
        return full_table(space, compiled, grid, terms)
    except NotCountable:
        return core_table(space, compiled, grid, terms, most)
