"""Finds the groups of patterns."""

import numpy as np

from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel.patterns._closed import Extents
from pyrjsel.patterns._suffix import suffix_groups
from pyrjsel.patterns.features import CaseArray, Features
from pyrjsel.patterns.groups import ANY, Groups

# Of the arrays of the groups. Larger models are beyond sampling: a sweep passes over all of them.
MOST_BYTES = 2_000_000_000


def find_groups(features: Features, compress: bool = True) -> Groups:
    """Return the groups of the patterns that the cases express.

    Parameters
    ----------
    features : Features
        n cases.
    compress : bool, default True
        Whether patterns with the same cases share a group.

    Returns
    -------
    Groups
        Group 0 has all the cases.

    Raises
    ------
    DataError
        If the groups take more than 2 GB, or the patterns are too many for a float.
    """
    return _sequence(features, compress) if features.kind == "sequence" else _interactions(features, compress)


def _sequence(features: Features, compress: bool) -> Groups:
    indptr, cases, parent, lo, hi = suffix_groups(features.codes, features.order)
    if not compress:
        lengths = (hi - lo + 1).astype(np.int64)
        _check_size(features, int(lengths.sum()), int(lengths @ np.diff(indptr)))
        indptr, cases, parent, lo = _unmerged(indptr, cases, parent, lo, lengths)
        hi = lo.copy()
    _check_size(features, len(lo), len(cases))
    orders = np.arange(features.order + 1)
    rows = features.codes[cases[indptr[:-1]]]
    # The pattern of order o fixes the last o features.
    back = np.arange(features.n_features, 0, -1)
    shortest, closure = (np.where(back <= order[:, None], rows, ANY).astype(np.int32) for order in (lo, hi))
    counts = ((lo[:, None] <= orders) & (orders <= hi[:, None])).astype(np.float64)
    kind, order, n = features.kind, features.order, features.n_cases
    return Groups(kind, order, n, compress, indptr, cases, counts, shortest, closure, parent, lo, hi)


def _unmerged(
    indptr: IntArray, cases: CaseArray, parent: CaseArray, lo: CaseArray, lengths: IntArray
) -> tuple[IntArray, CaseArray, CaseArray, CaseArray]:
    """Return `indptr`, `cases`, `parent` and order with a group for each pattern; edges have `lengths`."""
    first = np.cumsum(lengths) - lengths  # the group of the lowest order of each edge
    edge = np.repeat(np.arange(len(lo)), lengths)
    within = np.arange(len(edge)) - first[edge]
    sizes = np.diff(indptr)[edge]
    start = np.cumsum(sizes) - sizes
    where = np.repeat(indptr[edge] - start, sizes) + np.arange(sizes.sum())
    above = np.where(parent[edge] < 0, -1, first[parent[edge]] + lengths[parent[edge]] - 1)
    before = np.where(within > 0, np.arange(len(edge)) - 1, above)
    order = lo[edge] + within
    return np.append(start, sizes.sum()), cases[where], before.astype(np.int32), order.astype(np.int32)


def _interactions(features: Features, compress: bool) -> Groups:
    extents = Extents(features.codes, features.order, compress)
    while not extents.run():
        _check_size(features, extents.n_extents, extents.n_cases)
    _check_size(features, extents.n_extents, extents.n_cases)
    indptr, cases, counts, shortest, closure = extents.result()
    with np.errstate(over="ignore"):
        total = counts.sum()
    if not np.isfinite(total):
        raise DataError(
            f"The patterns of order {features.order} of {features.n_features} features are more than a float "
            "can count. Lower the order, or leave features out."
        )
    kind, order, n = features.kind, features.order, features.n_cases
    return Groups(
        kind, order, n, compress, indptr, cases, counts, shortest, closure if compress else shortest
    )


def _check_size(features: Features, n_groups: int, n_entries: int) -> None:
    """Raise if so many groups, with so many cases in all, take too much memory."""
    # Counts twice while they are found; a pattern, a closed set and a few numbers for each group.
    each = 16 * (features.order + 1) + 8 * features.n_features + 40
    if n_groups * each + 4 * n_entries > MOST_BYTES:
        raise DataError(
            f"The patterns of order {features.order} of these {features.n_cases} cases need more than "
            f"{MOST_BYTES / 1e9:g} GB ({n_groups:,} groups or more), beyond what can be sampled. Lower the "
            "order, or leave features out."
        )
