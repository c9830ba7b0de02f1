"""Features for the tests of pattern models, and what makes two sets of groups equal."""

import numpy as np

from pyrjsel.patterns import Features


def make_features(codes, kind, order):
    """Return features with the integers of `codes` as levels."""
    codes = np.asarray(codes)
    names = tuple(f"x{j}" for j in range(1, codes.shape[1] + 1))
    levels = tuple(tuple(range(int(column.max()) + 1)) for column in codes.T)
    return Features(codes, names, levels, kind, order)


def random_codes(rng, n, p, n_levels):
    """Return codes without constant columns; some columns are copies, some rows come twice."""
    while True:
        codes = rng.integers(0, n_levels, size=(n, p))
        if p > 1 and rng.random() < 0.3:
            codes[:, rng.integers(1, p)] = codes[:, 0]
        if rng.random() < 0.3:
            codes[: n // 2] = codes[n - n // 2 :]
        if (codes != codes[0]).any(axis=0).all():
            return codes


def described(groups):
    """Return the groups by extent (without compression by pattern), whatever their order is."""
    found = {}
    for g in range(groups.n_groups):
        above = None
        if groups.parent is not None:
            parent = groups.parent[g]
            above = (groups.lo[g], groups.hi[g], parent >= 0 and tuple(groups.closure[parent]))
        key = tuple(groups.extent(g)) if groups.compressed else tuple(groups.shortest[g])
        assert key not in found
        found[key] = (tuple(groups.extent(g)), tuple(groups.counts[g]), tuple(groups.closure[g]), above)
    return found
