"""Sums over all models under a prior by order, by enumeration of the terms that others depend on.

As in ``tied.py``, terms that no other depends on (the leaves) are counted, and the subsets of the others (the
core) are enumerated, one for each number of terms in a class of interchangeable terms. Here the whole space
is one component, since the prior of each order depends on the number of open terms.
"""

from collections import Counter

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space._space import Space
from pyrjsel.model_space.bits import unpack
from pyrjsel.model_space.by_order import OrderTables, counts_by_order, open_terms
from pyrjsel.model_space.components import cost_grid
from pyrjsel.model_space.convolution import NotCountable
from pyrjsel.model_space.sampling import free_order
from pyrjsel.model_space.space import ModelSpace
from pyrjsel.model_space.tied import MOST_NUMBERS, Core, core_and_leaves

_CHUNK = 2**16
MOST_CELLS = 20_000_000  # states times leaves


def order_sums(space: ModelSpace) -> tuple[FloatArray, FloatArray]:
    """Return the prior probability of every term and of every size, or raise :class:`NotCountable`.

    Parameters
    ----------
    space : ModelSpace
        A space whose prior is by order.

    Returns
    -------
    probability : ndarray of float64, shape (J,)
        1 for terms that are always in.
    size_probability : ndarray of float64, shape (J + 1,)
        Probability of each number of terms, including terms that are always in.
    """
    tables = space.by_order
    assert tables is not None
    grid = cost_grid(space)
    terms = free_order(space).astype(np.int64)
    core, leaves = _split(space, tables, terms)
    try:
        core, leaves = core_and_leaves(space, grid, core, leaves)
    except NotCountable:
        core, leaves = terms, terms[:0]
    try:
        subsets = Core.plain(space, Space(space), grid, core)
    except NotCountable:
        subsets = Core.by_number(space, grid, core, leaves)
    step = max(1, min(_CHUNK, MOST_NUMBERS // space.n_terms))
    chunks = [slice(low, low + step) for low in range(0, len(subsets.size), step)]
    rows = [_facts(space, tables, unpack(subsets.words[c], space.n_terms), leaves) for c in chunks]
    log_weight = subsets.log_weight + np.concatenate([row[0] for row in rows])
    facts = np.column_stack([subsets.size, subsets.units, np.concatenate([row[1] for row in rows])])
    states, state = np.unique(facts, axis=0, return_inverse=True)
    state = state.reshape(-1)
    if len(states) * max(1, space.n_terms) > MOST_CELLS:
        raise NotCountable(f"{len(states)} states of the core.")
    weight = np.exp(log_weight - log_weight.max())
    core_sum = np.zeros((len(states), len(core)))
    open_sum = np.zeros((len(states), len(leaves)))
    for c in chunks:
        gamma = unpack(subsets.words[c], space.n_terms)
        np.add.at(core_sum, state[c], weight[c, None] * gamma[:, core])
        opened = open_terms(gamma, space.context.parents, space.heredity)[:, leaves]
        np.add.at(open_sum, state[c], weight[c, None] * opened)
    core_sum, open_sum = subsets.levelled(core, core_sum), subsets.levelled(leaves, open_sum)
    total = np.bincount(state, weights=weight)

    # Every state is split by the number of included leaves; only terms of cost 0 are leaves.
    n_always = space.n_terms - space.n_free
    mass = np.zeros(len(states))
    joined = np.zeros(len(states))
    sizes = np.zeros(space.n_terms + 1)
    for s, (size, units, n_in, n_open, n_leaves) in enumerate(states.tolist()):
        most = min(n_leaves, space.max_size - n_always - size)
        if units > grid.room or most < 0:
            continue
        i = np.arange(most + 1)
        each = total[s] * np.exp(_ways(n_leaves, most) + tables.of_counts((n_in + i)[:, None], n_open))
        each *= np.exp(i * float(tables.log_odds[leaves[0]])) if len(leaves) else 1.0
        mass[s], joined[s] = each.sum(), (each @ i) / max(1, n_leaves)
        sizes[n_always + size : n_always + size + most + 1] += each
    whole = mass.sum()
    probability = (space.free == 0).astype(float)
    probability[core] = (mass / total) @ core_sum / whole
    probability[leaves] = (joined / total) @ open_sum / whole
    return probability, sizes / whole


def _split(space: ModelSpace, tables: OrderTables, terms: IntArray) -> tuple[IntArray, IntArray]:
    """Return the core and the leaves, the largest group of equivalent terms without children."""
    kinds = [
        None if len(space.children_of(j)) or not len(space.parents_of(j)) else
        (int(space.rank[j]), float(tables.log_odds[j]), float(tables.odds_open[j]))
        for j in terms.tolist()
    ]  # fmt: skip
    common = Counter(kind for kind in kinds if kind is not None).most_common(1)
    chosen = np.array([bool(common) and kind == common[0][0] for kind in kinds], dtype=np.bool_)
    return terms[~chosen], terms[chosen]


def _facts(
    space: ModelSpace, tables: OrderTables, gamma: ByteArray, leaves: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return the log prior of core subsets (m, J) without the factor of the leaves' order, and counts (m, 3).

    For the leaves' order, the counts are those of included core terms, open terms, and open leaves.
    """
    rank, n_orders = space.rank, space.context.n_orders
    opened = open_terms(gamma, space.context.parents, space.heredity)
    n_in, n_open = (counts_by_order(each, rank, n_orders) for each in (gamma, opened))
    own = int(rank[leaves[0]]) if len(leaves) else 0
    others = np.arange(n_orders) != own
    value = tables.of_counts(n_in[:, others], n_open[:, others]) + opened @ tables.odds_open
    n_leaves = opened[:, leaves].sum(axis=1, dtype=np.int64)
    return value, np.column_stack([n_in[:, own], n_open[:, own], n_leaves])


def _ways(n: int, most: int) -> FloatArray:
    """Return log C(n, i) for i up to `most`."""
    i = np.arange(1.0, most + 1.0)
    return np.concatenate([[0.0], np.cumsum(np.log(n + 1.0 - i) - np.log(i))])
