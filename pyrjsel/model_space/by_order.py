"""Priors over models under heredity, by order of the terms.

A term is open in a model if the terms that heredity requires are included. A prior by order is a product over
the orders o = 1, 2, ... of probabilities of the terms of that order given those of lower order. With m_o open
terms, k_o of them included,

    log pi(gamma) = sum over o of A[k_o] + B[m_o - k_o] + C[m_o]
                  + sum of l_j over the free terms in + sum of e_j over the open free terms.

It sums to one over all models that satisfy heredity, because each factor sums to one over the terms of its
order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import ParameterError
from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space.convolution import NotCountable
from pyrjsel.model_space.terms import PriorContext

MOST_ORDERS = 64  # as in _space.pxd
MOST_SUBSETS = 2**16  # limit of subsets when solving for an expected size
MOST_ANCESTORS = 14  # those of a four-way interaction
_HALVINGS = 200


@dataclass(frozen=True, eq=False)
class OrderTables:
    """A prior by order as arrays; see the module docstring.

    Parameters
    ----------
    log_in, log_out, log_open : ndarray of float64, shape (J_free + 1,)
        A by the number of included terms, B by that of excluded open terms, C by that of open terms.
    log_odds, odds_open : ndarray of float64, shape (J,)
        l_j and e_j; 0 for terms that are not free.
    prior : str
        Its name, for messages.
    mixture : bool
        Whether the prior is a mixture of priors under which open terms are independent.
    """

    log_in: FloatArray
    log_out: FloatArray
    log_open: FloatArray
    log_odds: FloatArray
    odds_open: FloatArray
    mixture: bool = True

    @property
    def exchangeable(self) -> bool:
        """Whether included terms of an order are a random subset of the open ones, given their number."""
        return not (self.odds_open.any() or self.log_odds.any())

    def of_counts(self, n_in: IntArray, n_open: IntArray) -> FloatArray:
        """Return the sum of A, B and C over orders (last axis); -inf if more terms are in than open."""
        # mathematics: selection-by-order
        possible = n_in <= n_open
        out = np.where(possible, n_open - n_in, 0)
        value = self.log_in[n_in] + self.log_out[out] + self.log_open[n_open]
        return np.asarray(np.where(possible, value, -np.inf).sum(axis=-1))


def open_terms(gamma: ByteArray, parents: Sequence[Sequence[int]], heredity: str | None) -> ByteArray:
    """Return whether the required `parents` are included, shape (m, len(parents))."""
    result = np.ones((len(gamma), len(parents)), dtype=np.uint8)
    for term, needed in enumerate(parents):
        if len(needed):
            inside = gamma[:, list(needed)]
            result[:, term] = inside.all(axis=1) if heredity == "strong" else inside.any(axis=1)
    return result


def counts_by_order(inside: ByteArray, rank: IntArray, n_orders: int) -> IntArray:
    """Return the number of marked terms (m, J) by order, shape (m, orders)."""
    return np.stack([inside[:, rank == o].sum(axis=1, dtype=np.int64) for o in range(n_orders)], axis=1)


def _subsets(context: PriorContext, terms: Sequence[int], limit: int) -> ByteArray:
    """Return the feasible models of `terms`, parents first, and terms always in; or raise NotCountable."""
    models = np.array([[not free for free in context.free]], dtype=np.uint8)
    for term in terms:
        ready = open_terms(models, [context.parents[term]], context.heredity)[:, 0]
        more = models[ready == 1]
        more[:, term] = 1
        models = np.concatenate([models, more])
        if len(models) > limit:
            raise NotCountable(f"{len(terms)} terms have more than {limit} feasible subsets.")
    return models


@dataclass(frozen=True, eq=False)
class Lineage:
    """For each term, the feasible sets of the term and its ancestors that contain it.

    Under a mixture of independent priors, the probability of a term is a sum over its rows.

    Parameters
    ----------
    term : ndarray of int64, shape (r,)
        The term of each row.
    n_in, n_open : ndarray of int64, shape (r, orders)
        Numbers of included and of open terms among the term and its ancestors, by order.
    inside, opened : list of ndarray of int64
        These terms.
    """

    term: IntArray
    n_in: IntArray
    n_open: IntArray
    inside: list[IntArray]
    opened: list[IntArray]

    @classmethod
    def of(cls, context: PriorContext) -> "Lineage":
        """Return the rows of all free terms, or raise :class:`NotCountable`."""
        rank, n_orders = context.rank, context.n_orders
        above: dict[int, set[int]] = {}
        rows: list[tuple[int, list[int], list[int]]] = []
        for term in sorted(range(len(rank)), key=lambda j: (context.orders[j], j)):
            needed = context.parents[term]
            fixed = [not context.free[parent] for parent in needed]
            settled = context.heredity == "weak" and any(fixed)
            asked = [] if settled else [p for p in needed if context.free[p]]
            above[term] = set(asked).union(*(above[parent] for parent in asked))
            if not context.free[term]:
                continue
            # Parents come before their children: lower orders first.
            members = [*sorted(above[term], key=lambda j: (context.orders[j], j)), term]
            if context.heredity == "strong" or len(members) == 1:
                rows.append((term, members, members))
                continue
            if len(members) > MOST_ANCESTORS + 1:
                raise NotCountable(f"{context.names[term]} has too many ancestors.")
            models = _subsets(context, members, MOST_SUBSETS)
            models = models[models[:, term] == 1]
            opened = open_terms(models, context.parents, context.heredity)
            for gamma, ready in zip(models[:, members] == 1, opened[:, members] == 1, strict=True):
                own = np.array(members)
                rows.append((term, own[gamma].tolist(), own[ready].tolist()))

        def counted(sets: list[list[int]]) -> IntArray:
            return np.array([np.bincount(rank[each], minlength=n_orders) for each in sets]).reshape(
                -1, n_orders
            )

        return cls(
            np.array([row[0] for row in rows], dtype=np.int64),
            counted([row[1] for row in rows]),
            counted([row[2] for row in rows]),
            [np.array(row[1], dtype=np.int64) for row in rows],
            [np.array(row[2], dtype=np.int64) for row in rows],
        )

    def inclusion(self, tables: OrderTables, n_terms: int) -> FloatArray:
        """Return the prior inclusion probabilities without a limit on cost or size, shape (J,)."""
        # mathematics: selection-lineage
        value = tables.of_counts(self.n_in, self.n_open)
        if not tables.exchangeable:
            pairs = zip(self.inside, self.opened, strict=True)
            value = value + [tables.log_odds[a].sum() + tables.odds_open[b].sum() for a, b in pairs]
        inside = np.bincount(self.term, weights=np.exp(value), minlength=n_terms)
        return np.asarray(inside, dtype=np.float64)

    def expected_size(self) -> Callable[[OrderTables], float]:
        """Return a function that computes the prior mean number of free terms; equal rows are merged."""
        rows, ways = np.unique(np.hstack([self.n_in, self.n_open]), axis=0, return_counts=True)
        n_in, n_open = np.hsplit(rows, 2)
        return lambda tables: float(np.exp(tables.of_counts(n_in, n_open)) @ ways)


def _mean_by_subsets(context: PriorContext) -> Callable[[OrderTables], float]:
    """Return a function that computes the same mean over all subsets of the terms of lower order."""
    rank, n_orders = context.rank, context.n_orders
    lower = [j for j in range(len(rank)) if 0 <= rank[j] < n_orders - 1]
    models = _subsets(context, sorted(lower, key=lambda j: (rank[j], j)), MOST_SUBSETS)
    free = (rank >= 0).astype(np.uint8)
    n_in = counts_by_order(models, rank, n_orders)[:, :-1]
    n_open = counts_by_order(open_terms(models, context.parents, context.heredity) * free, rank, n_orders)
    rows, ways = np.unique(np.hstack([n_in, n_open]), axis=0, return_counts=True)
    n_in, lower_open, top = rows[:, : n_orders - 1], rows[:, n_orders - 1 : -1], rows[:, -1]

    def mean(tables: OrderTables) -> float:
        weight = np.exp(tables.of_counts(n_in, lower_open)) * ways
        means = np.zeros(len(tables.log_in))
        for m in np.unique(top):
            mass = size_mass(tables, int(m))
            means[m] = mass @ np.arange(len(mass))
        return float(weight @ (n_in.sum(axis=1) + means[top]))

    return mean


def size_mass(tables: OrderTables, m: int) -> FloatArray:
    """Return the probabilities that 0 to m of m exchangeable open terms are included."""
    from_top = np.arange(m + 1.0)
    log_ways = np.zeros(m + 1)
    log_ways[1:] = np.cumsum(np.log(m + 1.0 - from_top[1:]) - np.log(from_top[1:]))
    k = np.arange(m + 1)
    mass = np.exp(log_ways + tables.log_in[k] + tables.log_out[m - k] + tables.log_open[m])
    return np.asarray(mass / mass.sum())


def solve_expected(
    make: Callable[[float], OrderTables], expected: float, context: PriorContext, prior: str, mixture: bool
) -> float:
    """Return t such that the prior ``make(t)``, whose mean size increases with t, has the expected size.

    Parameters
    ----------
    make : callable
        Returns the tables for a real number; the limits of the mean size are 0 and the number of free terms.
    expected : float
        Expected number of free terms, before budget and `max_size`.
    context : PriorContext
        Description of the terms.
    prior : str
        Its name, for messages.
    mixture : bool
        Whether the prior is a mixture of priors under which open terms are independent.

    Raises
    ------
    ParameterError
        If the mean cannot be computed.
    """
    try:
        mean = Lineage.of(context).expected_size() if mixture else _mean_by_subsets(context)
    except NotCountable as error:
        raise ParameterError(
            f"The 'expected_size' parameter of {prior} cannot be solved for under the heredity of "
            f"{called()}: {error} Give the other parameter, or use by='size'."
        ) from error
    low, high = -1.0, 1.0
    while mean(make(low)) > expected:
        low *= 2.0
    while mean(make(high)) < expected:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if mean(make(middle)) < expected:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def draw_by_order(
    tables: OrderTables,
    start: ByteArray,
    rank: IntArray,
    parents: Sequence[Sequence[int]],
    heredity: str | None,
    n: int,
    rng: np.random.Generator,
) -> ByteArray:
    """Draw independent, exact models (n, J) from a prior by order without a limit on cost or size."""
    models = np.tile(start, (n, 1))
    chance = special.expit(tables.log_odds)
    for o in range(int(rank.max(initial=-1)) + 1):
        terms = np.flatnonzero(rank == o)
        ready = open_terms(models, [parents[term] for term in terms.tolist()], heredity) == 1
        drawn = rng.random(ready.shape)
        if not tables.exchangeable:
            models[:, terms] = ready & (drawn < chance[terms])
            continue
        # The open terms with the k smallest of independent uniform numbers are a random subset of size k.
        m = ready.sum(axis=1)
        k = np.zeros(n, dtype=np.int64)
        for count in np.unique(m):
            rows = m == count
            k[rows] = rng.choice(count + 1, size=int(rows.sum()), p=size_mass(tables, int(count)))
        place = np.argsort(np.argsort(np.where(ready, drawn, 2.0), axis=1), axis=1)
        models[:, terms] = place < k[:, None]
    return models
