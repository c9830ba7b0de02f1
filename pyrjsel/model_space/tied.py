"""Tables of terms that are tied by heredity, by enumeration of their feasible subsets.

Most subsets of tied terms differ only in terms that no other depends on (the leaves, such as the interactions
of highest order). It is enough to enumerate the subsets of the other terms (the core): each allows m leaves,
any of which can be included at no further cost. If core terms are interchangeable, such as the main effects
of ``(a + b + ...)**2``, only their number matters: one subset represents all of the same numbers.
"""

from collections import Counter
from dataclasses import dataclass
from math import comb, log, prod

import numpy as np
import scipy
from numpy.typing import NDArray

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space._space import Space, walk
from pyrjsel.model_space.bits import pack, unpack
from pyrjsel.model_space.convolution import ComponentTable, CostGrid, NotCountable
from pyrjsel.model_space.sampling import Existence
from pyrjsel.model_space.space import ModelSpace

COMPONENT_LIMIT = 2**20  # limit of feasible subsets
MOST_CHECKED = 2**13  # the same, if their existence must be checked
MOST_NUMBERS = 2**26  # indicators of subsets in memory at a time
_CHUNK = 2**16


def _subsets(
    space: ModelSpace, compiled: Space, grid: CostGrid, terms: IntArray, limit: int = COMPONENT_LIMIT
) -> tuple[NDArray[np.uint64], IntArray, IntArray, FloatArray]:
    """Return the feasible subsets of `terms`: packed, their size, cost in units and sum of l_j."""
    start = space.empty_model()
    order = np.ascontiguousarray(terms, dtype=np.int32)
    _, complete, *_ = walk(compiled, start, order, limit, False)
    if not complete:
        raise NotCountable(f"{len(terms)} terms depend on each other.")
    _, _, words, size, cost, log_odds = walk(compiled, start, order, limit, True)
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
    """Add the weight of the subsets that include each term, by entry, to `out`, shape (entries, terms)."""
    for column in range(inside.shape[1]):
        out[:, column] += np.bincount(entry, weights=weight * inside[:, column], minlength=len(out))


def full_table(
    space: ModelSpace,
    compiled: Space,
    grid: CostGrid,
    terms: IntArray,
    existence: Existence | None = None,
) -> ComponentTable:
    """Return the table of tied terms by enumeration of all their feasible subsets.

    Parameters
    ----------
    space, compiled : ModelSpace, Space
        The space, and its compiled form.
    grid : CostGrid
        Costs as whole numbers.
    terms : ndarray of int64
        The terms, parents first.
    existence : Existence, optional
        Which subsets exist together with the terms that are always in; None means all.

    Returns
    -------
    ComponentTable
        The table.

    Raises
    ------
    NotCountable
        If there are too many subsets.
    """
    limit = COMPONENT_LIMIT if existence is None else MOST_CHECKED
    words, size, units, log_odds = _subsets(space, compiled, grid, terms, limit)
    if existence is not None:
        kept = existence.exists(unpack(words, space.n_terms))
        words, size, units, log_odds = words[kept], size[kept], units[kept], log_odds[kept]
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
    """Return the free terms of which a leaf requires all (strong heredity) or one (weak)."""
    parents = space.parents_of(leaf)
    free = parents[space.free[parents] == 1]
    settled = space.heredity == "weak" and len(free) < len(parents)
    return free[:0] if settled else free


def _above(space: ModelSpace, term: int) -> set[int]:
    """Return the free ancestors of a term."""
    found: set[int] = set()
    waiting = [term]
    while waiting:
        new = set(_needs(space, waiting.pop()).tolist()) - found
        found |= new
        waiting.extend(new)
    return found


def _core_and_leaves(space: ModelSpace, grid: CostGrid, terms: IntArray) -> tuple[IntArray, IntArray]:
    """Split tied terms; raise :class:`NotCountable` if leaves differ or have their own costs."""
    members = set(terms.tolist())
    is_leaf = np.array([not members & set(space.children_of(term).tolist()) for term in terms.tolist()])
    return core_and_leaves(space, grid, terms[~is_leaf], terms[is_leaf])


def core_and_leaves(
    space: ModelSpace, grid: CostGrid, core: IntArray, leaves: IntArray
) -> tuple[IntArray, IntArray]:
    """Return both; raise :class:`NotCountable` if leaves differ or have their own costs."""
    alike = len(set(space.log_odds[leaves].tolist())) == 1
    for leaf in leaves.tolist():
        strong = space.heredity == "strong"
        needed = _above(space, leaf) if strong else set(_needs(space, leaf).tolist())
        paid = [set(space.items_of(term).tolist()) for term in needed]
        if not paid:
            sure: set[int] = set()
        else:
            sure = set.union(*paid) if strong else set.intersection(*paid)
        alike &= all(item in sure or grid.item[item] == 0 for item in space.items_of(leaf).tolist())
    if not alike or not len(core):
        raise NotCountable(f"{len(core) + len(leaves)} terms depend on each other, and their leaves differ.")
    return core, leaves


def _open_leaves(space: ModelSpace, gamma: ByteArray, leaves: IntArray) -> ByteArray:
    """Return the leaves that each model allows, shape (m, leaves)."""
    result = np.ones((len(gamma), len(leaves)), dtype=np.uint8)
    for column, leaf in enumerate(leaves.tolist()):
        needs = gamma[:, _needs(space, leaf)]
        if needs.shape[1]:
            result[:, column] = needs.all(axis=1) if space.heredity == "strong" else needs.any(axis=1)
    return result


def _interchangeable(space: ModelSpace, grid: CostGrid, core: IntArray, leaves: IntArray) -> list[IntArray]:
    """Return the core in classes of terms that can be exchanged without changing the space.

    Exchangeability is an equivalence relation, and exchanges of two terms generate all permutations of a
    class. Core terms that are tied to each other, by heredity or a shared item, form their own classes.
    """
    needs = Counter(frozenset(_needs(space, leaf).tolist()) for leaf in leaves.tolist())
    asked: dict[int, list[frozenset[int]]] = {term: [] for term in core.tolist()}
    for group in needs:
        for term in group:
            asked[term].append(group)
    paid = {term: [item for item in space.items_of(term).tolist() if grid.item[item]] for term in asked}
    payers = Counter(item for items in paid.values() for item in items)

    def alone(term: int) -> bool:
        tied = {*space.parents_of(term).tolist(), *space.children_of(term).tolist()} & asked.keys()
        return bool(tied) or any(payers[item] > 1 for item in paid[term])

    def alike(one: int, other: int) -> bool:
        return all(
            needs[group] == needs[group ^ {one, other}]
            for group in (*asked[one], *asked[other])
            if (one in group) != (other in group)
        )

    classes: dict[tuple[float, ...], list[list[int]]] = {}
    for term in core.tolist():
        cost = int(grid.item[paid[term]].sum())
        kind: tuple[float, ...] = (float(space.log_odds[term]), float(cost))
        if space.by_order is not None:
            kind = (*kind, float(space.rank[term]), float(space.by_order.odds_open[term]))
        known = classes.setdefault(kind, [])
        # The first of a class represents it.
        home = (
            None if alone(term) else next((c for c in known if not alone(c[0]) and alike(term, c[0])), None)
        )
        if home is None:
            known.append([term])
        else:
            home.append(term)
    return [np.array(group, dtype=np.int64) for known in classes.values() for group in known]


@dataclass(frozen=True, eq=False)
class Core:
    """Subsets of the core, each of which represents all its images under exchanges of terms.

    Attributes
    ----------
    words : ndarray of uint64, shape (m, words)
    size, units : ndarray of int64, shape (m,)
        Number of terms, and cost in units.
    log_weight : ndarray (m,)
        Log of the sum of exp(sum of l_j) over the subsets that each represents.
    ways : list of int
        Number of subsets that each represents.
    classes : list of ndarray of int64
        Exchangeable terms, of the core and correspondingly of the leaves: results for one hold for all.
    """

    words: NDArray[np.uint64]
    size: IntArray
    units: IntArray
    log_weight: FloatArray
    ways: list[int]
    classes: list[IntArray]

    @classmethod
    def plain(cls, space: ModelSpace, compiled: Space, grid: CostGrid, core: IntArray) -> "Core":
        """All subsets, each representing itself."""
        words, size, units, log_odds = _subsets(space, compiled, grid, core)
        return cls(words, size, units, log_odds, [1] * len(words), [])

    @classmethod
    def by_number(cls, space: ModelSpace, grid: CostGrid, core: IntArray, leaves: IntArray) -> "Core":
        """One subset for each number of terms of each class, made of its first terms."""
        classes = _interchangeable(space, grid, core, leaves)
        m = prod(len(group) + 1 for group in classes)
        if m * space.n_terms > MOST_NUMBERS:
            raise NotCountable(f"{len(core)} terms depend on each other.")
        counts = np.indices([len(group) + 1 for group in classes]).reshape(len(classes), -1)
        gamma = np.repeat(space.empty_model()[None], m, axis=0)
        for group, number in zip(classes, counts, strict=True):
            gamma[:, group] = np.arange(len(group)) < number[:, None]
        kept = space.feasible(gamma)
        gamma, counts = gamma[kept], counts[:, kept]
        choices = [[comb(len(group), k) for k in range(len(group) + 1)] for group in classes]
        ways = [prod(choice[k] for choice, k in zip(choices, row, strict=True)) for row in counts.T.tolist()]
        cost = np.atleast_1d(space.cost(gamma))
        place = {term: number for number, group in enumerate(classes) for term in group.tolist()}
        kinds: dict[tuple[int, ...], list[int]] = {}
        for leaf in leaves.tolist():
            kind = tuple(sorted(place[term] for term in _needs(space, leaf).tolist()))
            kinds.setdefault(kind, []).append(leaf)
        return cls(
            pack(gamma),
            gamma[:, core].sum(axis=1, dtype=np.int64),
            np.rint((cost - cost[0]) / float(grid.unit)).astype(np.int64) * grid.binding,
            gamma[:, core] @ space.log_odds[core] + np.array([log(number) for number in ways]),
            ways,
            classes + [np.array(group, dtype=np.int64) for group in kinds.values()],
        )

    def levelled(self, terms: IntArray, sums: FloatArray) -> FloatArray:
        """Return sums (states, terms) over all subsets from sums over their representatives."""
        column = {term: number for number, term in enumerate(terms.tolist())}
        for group in self.classes:
            if int(group[0]) in column:
                columns = [column[term] for term in group.tolist()]
                sums[:, columns] = sums[:, columns].mean(axis=1, keepdims=True)
        return sums


def core_table(
    space: ModelSpace, compiled: Space, grid: CostGrid, terms: IntArray, most: int
) -> ComponentTable:
    """Return the table of tied terms by enumeration of the subsets of terms that others depend on.

    Parameters
    ----------
    space, compiled : ModelSpace, Space
        The space, and its compiled form.
    grid : CostGrid
        Costs as whole numbers.
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
        If there are too many subsets, or the leaves differ in prior odds or have their own costs.
    """
    core, leaves = _core_and_leaves(space, grid, terms)
    try:
        subsets = Core.plain(space, compiled, grid, core)
    except NotCountable:
        subsets = Core.by_number(space, grid, core, leaves)
    return _joined_leaves(space, grid, core, leaves, subsets, most)


def _joined_leaves(
    space: ModelSpace, grid: CostGrid, core: IntArray, leaves: IntArray, subsets: Core, most: int
) -> ComponentTable:
    """Return the table of the core and the leaves that its subsets allow."""
    step = max(1, min(_CHUNK, MOST_NUMBERS // space.n_terms))
    chunks = [slice(low, low + step) for low in range(0, len(subsets.size), step)]
    n_open = np.concatenate(
        [
            _open_leaves(space, unpack(subsets.words[c], space.n_terms), leaves).sum(axis=1, dtype=np.int64)
            for c in chunks
        ]
    )
    # Core subsets of one size, cost and number of open leaves are one state.
    cells = subsets.size * (grid.room + 1) + subsets.units
    states, state = np.unique(cells * (len(leaves) + 1) + n_open, return_inverse=True)
    top, weight = _relative(subsets.log_weight, state, len(states))
    total = np.bincount(state, weights=weight)
    ways = [0] * len(states)
    for s, number in zip(state.tolist(), subsets.ways, strict=True):
        ways[s] += number
    core_sum = np.zeros((len(states), len(core)))
    open_sum = np.zeros((len(states), len(leaves)))
    for c in chunks:
        gamma = unpack(subsets.words[c], space.n_terms)
        _sums(weight[c], gamma[:, core], state[c], core_sum)
        _sums(weight[c], _open_leaves(space, gamma, leaves), state[c], open_sum)
    core_sum, open_sum = subsets.levelled(core, core_sum), subsets.levelled(leaves, open_sum)

    # Every state is split by the number of included leaves.
    cell_of, open_of = np.divmod(states, len(leaves) + 1)
    joined: list[tuple[int, int, int]] = []
    choose: list[float] = []
    counts: dict[int, int] = {}
    for s, (cell, m) in enumerate(zip(cell_of.tolist(), open_of.tolist(), strict=True)):
        chosen = 1
        for i in range(min(m, most - cell // (grid.room + 1)) + 1):
            target = cell + i * (grid.room + 1)
            joined.append((s, i, target))
            choose.append(log(chosen))
            counts[target] = counts.get(target, 0) + ways[s] * chosen
            chosen = chosen * (m - i) // (i + 1)
    s_of, i_of, target_of = (np.array(part, dtype=np.int64) for part in zip(*joined, strict=True))
    odds = float(space.log_odds[leaves[0]])
    log_weight = (top + np.log(total))[s_of] + np.array(choose) + i_of * odds
    keys, entry = np.unique(target_of, return_inverse=True)
    top, weight = _relative(log_weight, entry, len(keys))
    total_of = np.bincount(entry, weights=weight)
    part_in = np.divide(i_of, open_of[s_of], out=np.zeros(len(i_of)), where=open_of[s_of] > 0)
    shape = (len(keys), len(states))
    of_core, of_open = (
        scipy.sparse.csr_array((values, (entry, s_of)), shape=shape) for values in (weight, weight * part_in)
    )
    share = np.hstack([of_core @ (core_sum / total[:, None]), of_open @ (open_sum / total[:, None])])
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
    """Return the table of tied terms by the method that applies; see :func:`core_table`."""
    try:
        return full_table(space, compiled, grid, terms)
    except NotCountable:
        return core_table(space, compiled, grid, terms, most)
