"""Groups of patterns by listing every pattern: slow and obvious, the oracle of the compiled loops."""

from itertools import combinations

import numpy as np

from pyrjsel.patterns.features import CodeArray, Features
from pyrjsel.patterns.groups import ANY, Groups


def list_patterns(features: Features) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return the patterns that some case expresses, by order, with their extents."""
    codes, p = features.codes, features.n_features
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for order in range(features.order + 1):
        if features.kind == "sequence":
            subsets = [tuple(range(p - order, p))]
        else:
            subsets = list(combinations(range(p), order))
        for fixed in subsets:
            for row in np.unique(codes[:, list(fixed)], axis=0):
                pattern = np.full(p, ANY)
                pattern[list(fixed)] = row
                extent = np.flatnonzero((codes[:, list(fixed)] == row).all(axis=1))
                found[tuple(pattern.tolist())] = tuple(extent.tolist())
    return found


def enumerate_groups(features: Features, compress: bool = True) -> Groups:
    """Return the groups of :func:`pyrjsel.patterns.find_groups`, from a list of all patterns."""
    patterns = list_patterns(features)
    members: dict[object, list[tuple[int, ...]]] = {}
    for pattern, extent in patterns.items():
        members.setdefault(extent if compress else pattern, []).append(pattern)
    groups = list(members.values())
    extents = [patterns[group[0]] for group in groups]
    counts = np.zeros((len(groups), features.order + 1))
    for g, group in enumerate(groups):
        for pattern in group:
            counts[g, _order(pattern)] += 1
    shortest = np.array([group[0] for group in groups], dtype=np.int32)
    sequence = features.kind == "sequence"
    if not compress:
        closure = shortest.copy()
    elif sequence:
        closure = np.array([group[-1] for group in groups], dtype=np.int32)
    else:
        closure = np.array([_shared(features.codes, extent) for extent in extents], dtype=np.int32)
    parent = lo = hi = None
    if sequence:
        where = {pattern: g for g, group in enumerate(groups) for pattern in group}
        lo = np.array([_order(group[0]) for group in groups], dtype=np.int32)
        hi = np.array([_order(group[-1]) for group in groups], dtype=np.int32)
        parent = np.array([_parent(group[0], where) for group in groups], dtype=np.int32)
    return Groups(
        kind=features.kind,
        order=features.order,
        compressed=compress,
        row_of=np.arange(features.n_cases, dtype=np.int32),
        first=np.arange(features.n_cases),
        indptr=np.cumsum([0, *map(len, extents)]).astype(np.int64),
        rows=np.concatenate([np.array(extent, dtype=np.int32) for extent in extents]),
        counts=counts,
        shortest=shortest,
        closure=closure,
        parent=parent,
        lo=lo,
        hi=hi,
    )


def _order(pattern: tuple[int, ...]) -> int:
    return sum(code != ANY for code in pattern)


def _shared(codes: CodeArray, extent: tuple[int, ...]) -> CodeArray:
    rows = codes[list(extent)]
    return np.where((rows == rows[0]).all(axis=0), rows[0], ANY)


def _parent(pattern: tuple[int, ...], where: dict[tuple[int, ...], int]) -> int:
    """Return the group of the suffix shorter by one, or -1."""
    order = _order(pattern)
    if order == 0:
        return -1
    first = len(pattern) - order
    return where[tuple(ANY if j == first else code for j, code in enumerate(pattern))]
