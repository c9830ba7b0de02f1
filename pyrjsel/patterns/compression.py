"""Compression: groups of patterns from features."""

import numpy as np

from pyrjsel._errors import DataError
from pyrjsel._typing import IntArray
from pyrjsel.patterns._closed import Extents
from pyrjsel.patterns._distinct import distinct_rows
from pyrjsel.patterns._suffix import suffix_groups
from pyrjsel.patterns.features import CaseArray, CodeArray, Features
from pyrjsel.patterns.groups import ANY, Groups

# Limit for the arrays of groups. Larger models cannot be sampled, since each sweep visits all groups.
MOST_BYTES = 2_000_000_000
# The squares of sums over this many patterns do not overflow.
MOST_PATTERNS = 1e100


def find_groups(features: Features, compress: bool = True) -> Groups:
    """Return the groups of the patterns that occur in the data.

    Parameters
    ----------
    features : Features
        Features of n observations.
    compress : bool, default True
        Whether patterns of the same extent share a group.

    Returns
    -------
    Groups
        The groups; the extent of group 0 is the whole data.

    Raises
    ------
    DataError
        If the groups need more than 2 GB, or a group has more than 1e100 patterns of one order.
    """
    sequence = features.kind == "sequence"
    # Observations that differ in a feature that some pattern fixes are in different groups.
    row_of, first = distinct_rows(features.codes, features.order if sequence else features.n_features)
    codes = features.codes if len(first) == features.n_cases else features.codes[first]
    found = _sequence(features, codes, compress) if sequence else _interactions(features, codes, compress)
    return Groups(features.kind, features.order, compress, row_of, first, *found)


def _sequence(features: Features, codes: CodeArray, compress: bool) -> tuple[np.ndarray, ...]:
    """Return the fields of `Groups` from `indptr` on, of histories of which no two are equal."""
    indptr, rows, parent, lo, hi = suffix_groups(codes, features.order)
    if not compress:
        lengths = (hi - lo + 1).astype(np.int64)
        _check_size(features, int(lengths.sum()), int(lengths @ np.diff(indptr)))
        indptr, rows, parent, lo = _unmerged(indptr, rows, parent, lo, lengths)
        hi = lo.copy()
    _check_size(features, len(lo), len(rows))
    orders = np.arange(features.order + 1)
    histories = codes[rows[indptr[:-1]]]
    # The pattern of order o fixes the last o features.
    back = np.arange(features.n_features, 0, -1)
    shortest, closure = (
        np.where(back <= order[:, None], histories, ANY).astype(np.int32) for order in (lo, hi)
    )
    counts = ((lo[:, None] <= orders) & (orders <= hi[:, None])).astype(np.float64)
    return indptr, rows, counts, shortest, closure, parent, lo, hi


def _unmerged(
    indptr: IntArray, rows: CaseArray, parent: CaseArray, lo: CaseArray, lengths: IntArray
) -> tuple[IntArray, CaseArray, CaseArray, CaseArray]:
    """Return `indptr`, `rows`, `parent` and order of groups of one pattern; edges have `lengths`."""
    first = np.cumsum(lengths) - lengths  # the group of the lowest order of each edge
    edge = np.repeat(np.arange(len(lo)), lengths)
    within = np.arange(len(edge)) - first[edge]
    sizes = np.diff(indptr)[edge]
    start = np.cumsum(sizes) - sizes
    where = np.repeat(indptr[edge] - start, sizes) + np.arange(sizes.sum())
    above = np.where(parent[edge] < 0, -1, first[parent[edge]] + lengths[parent[edge]] - 1)
    before = np.where(within > 0, np.arange(len(edge)) - 1, above)
    order = lo[edge] + within
    return np.append(start, sizes.sum()), rows[where], before.astype(np.int32), order.astype(np.int32)


def _interactions(features: Features, codes: CodeArray, compress: bool) -> tuple[np.ndarray, ...]:
    """Return the fields of `Groups` from `indptr` on, of observations of which no two are equal."""
    extents = Extents(codes, features.order, compress)
    while not extents.run():
        _check_size(features, extents.n_extents, extents.n_cases)
    _check_size(features, extents.n_extents, extents.n_cases)
    indptr, rows, counts, shortest, closure = extents.result()
    if not (counts < MOST_PATTERNS).all():
        raise DataError(
            f"Some of these {features.n_cases} observations share more than {MOST_PATTERNS:g} patterns of an "
            "order, which is too many for sampling. Reduce the order, or remove features."
        )
    return indptr, rows, counts, shortest, closure if compress else shortest


def _check_size(features: Features, n_groups: int, n_entries: int) -> None:
    """Raise if this many groups, with `n_entries` distinct observations in total, need too much memory."""
    # Per group: counts (twice during the search), a pattern, a closed pattern and a few numbers.
    each = 16 * (features.order + 1) + 8 * features.n_features + 40
    if n_groups * each + 4 * n_entries > MOST_BYTES:
        raise DataError(
            f"The patterns up to order {features.order} of these {features.n_cases} observations need more "
            f"than {MOST_BYTES / 1e9:g} GB ({n_groups:,} groups or more), which is too many for sampling. "
            "Reduce the order, or remove features."
        )
