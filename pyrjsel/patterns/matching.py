"""Groups of patterns that new observations match."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.patterns._matching import Matcher, contained, walk
from pyrjsel.patterns.features import CaseArray, CodeArray, Features
from pyrjsel.patterns.groups import ANY, Groups

# Number of histories matched at a time: about 10 MB at order 20.
HISTORIES = 20_000


@dataclass(frozen=True, eq=False)
class Matches:
    """Groups that m new observations match, fully or in part.

    Attributes
    ----------
    indptr : ndarray of int64, shape (m + 1,)
        The groups of observation i are ``group[indptr[i]:indptr[i + 1]]``.
    group : ndarray of int32
        Groups.
    part : ndarray of int32
        For each of them, -1 if all of its patterns match, else a row of `inside` and `outside`.
    inside, outside : ndarray of float64, shape (parts, O + 1)
        Numbers of patterns of the group by order that match, and that do not.
    unseen : ndarray of float64, shape (m, O + 1)
        Numbers of matching patterns by order that do not occur in the training data. Those with an unseen
        level are included on request.
    """

    indptr: IntArray
    group: CaseArray
    part: CaseArray
    inside: FloatArray
    outside: FloatArray
    unseen: FloatArray


def match(
    groups: Groups, features: Features, new: CodeArray, *, unseen_levels: bool = False
) -> Iterator[Matches]:
    """Match new observations with groups, in blocks.

    Parameters
    ----------
    groups : Groups
        Groups of the patterns of `features`.
    features : Features
        Features of the training data.
    new : ndarray of int32, shape (m, p)
        New observations as positions among the levels of `features`; -1 is an unseen level.
    unseen_levels : bool, default False
        Whether `unseen` includes patterns with an unseen level.

    Yields
    ------
    Matches
        Matches of the next observations; a block takes a fraction of a second.

    Notes
    -----
    The cost of an observation is proportional to the order (sequences), or to the number of groups that it
    matches times the number of features (interactions).
    """
    new = np.ascontiguousarray(new, dtype=np.int32)
    if groups.kind == "sequence":
        blocks = _sequences(groups, new)
    elif groups.compressed:
        blocks = _interactions(groups, features, new)
    else:
        blocks = _patterns(groups, new)
    first = 0
    for matches in blocks:
        last = first + len(matches.unseen)
        if unseen_levels:
            yield replace(matches, unseen=matches.unseen + with_unseen_levels(groups, new[first:last]))
        else:
            yield matches
        first = last


def with_unseen_levels(groups: Groups, new: CodeArray) -> FloatArray:
    """Count the patterns of new observations with an unseen level, by order.

    Parameters
    ----------
    groups : Groups
        Groups; only their kind and order are used.
    new : ndarray of int32, shape (m, p)
        New observations; -1 is an unseen level.

    Returns
    -------
    ndarray of float64, shape (m, O + 1)
        Numbers of patterns.
    """
    if groups.kind == "sequence":
        # A pattern of order o fixes the last o features.
        beyond = np.arange(groups.order + 1) > _known_end(groups, new)[:, None]
        return beyond.astype(np.float64)
    p = new.shape[1]
    return _numbers(np.full(len(new), p), groups.order) - _numbers((new != ANY).sum(axis=1), groups.order)


def _numbers(features: IntArray, order: int) -> FloatArray:
    """Return the number of patterns of each order for given numbers of features, (m, order + 1)."""
    distinct, which = np.unique(features, return_inverse=True)
    numbers = [[comb(int(size), o) for o in range(order + 1)] for size in distinct]
    return np.array(numbers, dtype=np.float64)[which]


def _known_end(groups: Groups, new: CodeArray) -> IntArray:
    """Return the number of known levels at the end of each history."""
    return np.minimum.accumulate(new[:, ::-1][:, : groups.order] != ANY, axis=1).sum(axis=1)


def _sequences(groups: Groups, new: CodeArray) -> Iterator[Matches]:
    assert groups.parent is not None
    assert groups.lo is not None
    assert groups.hi is not None
    order, orders = groups.order, np.arange(groups.order + 1)
    # Children sorted by parent; group 0 is nobody's child.
    children = np.argsort(groups.parent, kind="stable").astype(np.int32)[1:]
    first_child = np.searchsorted(groups.parent[children], np.arange(groups.n_groups + 1)).astype(np.int64)
    for block in np.split(new, range(HISTORIES, len(new), HISTORIES)):
        m = len(block)
        path, n_groups = np.empty((m, order + 1), dtype=np.int32), np.empty(m, dtype=np.int32)
        depth = np.empty(m, dtype=np.int32)
        walk(block, order, groups.closure, groups.lo, groups.hi, first_child, children, path, n_groups, depth)
        indptr = np.concatenate([[0], np.cumsum(n_groups, dtype=np.int64)])
        group = path[np.arange(order + 1) < n_groups[:, None]]
        # Only the last group of a path can match in part.
        last = group[indptr[1:] - 1]
        broken = groups.hi[last] > depth
        part = np.full(len(group), -1, dtype=np.int32)
        part[indptr[1:][broken] - 1] = np.arange(broken.sum())
        low, high, end = groups.lo[last[broken], None], groups.hi[last[broken], None], depth[broken, None]
        inside = ((low <= orders) & (orders <= end)).astype(np.float64)
        outside = ((end < orders) & (orders <= high)).astype(np.float64)
        # Longer histories, back to the first unseen level.
        known = _known_end(groups, block)[:, None]
        unseen = ((depth[:, None] < orders) & (orders <= known)).astype(np.float64)
        yield Matches(indptr, group, part, inside, outside, unseen)


def _interactions(groups: Groups, features: Features, new: CodeArray) -> Iterator[Matches]:
    n_levels = np.array([len(levels) for levels in features.levels], dtype=np.intp)
    codes = features.codes[groups.first]
    matcher = Matcher(codes, groups.indptr, groups.rows, groups.closure, groups.counts, n_levels)
    first = 0
    while first < len(new):
        ends, group, part, inside, unseen = matcher.run(new, first)
        first += len(ends)
        # Counts from 2**53 on are rounded, so that differences may be negative.
        outside = np.maximum(groups.counts[group[part >= 0]] - inside, 0)
        yield Matches(np.concatenate([[0], ends]), group, part, inside, outside, unseen)


def _patterns(groups: Groups, new: CodeArray) -> Iterator[Matches]:
    fixed = groups.closure != ANY
    indptr = np.concatenate([[0], np.cumsum(fixed.sum(axis=1), dtype=np.int64)])
    features, levels = np.nonzero(fixed)[1].astype(np.int32), groups.closure[fixed]
    sizes = fixed.sum(axis=1)
    none = np.empty((0, groups.order + 1))
    first = 0
    while first < len(new):
        ends, found = contained(new, first, indptr, features, levels)
        block = new[first : first + len(ends)]
        first += len(ends)
        every = _numbers((block != ANY).sum(axis=1), groups.order)
        starts = np.concatenate([[0], ends])
        seen = np.zeros_like(every)
        np.add.at(seen, (np.repeat(np.arange(len(ends)), np.diff(starts)), sizes[found]), 1.0)
        yield Matches(starts, found, np.full(len(found), -1, dtype=np.int32), none, none, every - seen)
