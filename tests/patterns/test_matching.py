"""Which patterns of each group new cases express: the compiled matching against a list of all patterns."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from pattern_cases import make_features, random_codes
from reference_groups import list_patterns

from pyrjsel.patterns import Features, find_groups
from pyrjsel.patterns.matching import match

KINDS = ["interactions", "sequence"]


def listed(features, groups, extents, case, unseen_levels):
    """Counts by group and order, and of patterns that no case of the fit has, from a list of all patterns."""
    p, order = features.n_features, features.order
    if groups.compressed:
        home = {tuple(groups.extent(g)): g for g in range(groups.n_groups)}
    else:
        home = {tuple(groups.shortest[g]): g for g in range(groups.n_groups)}
    counts, unseen = {}, np.zeros(order + 1)
    for o in range(order + 1):
        for fixed in combinations(range(p), o) if features.kind == "interactions" else [range(p - o, p)]:
            if any(case[j] < 0 for j in fixed):
                unseen[o] += unseen_levels
                continue
            pattern = tuple(int(case[j]) if j in fixed else -1 for j in range(p))
            if pattern not in extents:
                unseen[o] += 1
                continue
            g = home[extents[pattern] if groups.compressed else pattern]
            counts.setdefault(g, np.zeros(order + 1))[o] += 1
    return counts, unseen


def found(groups, blocks):
    """The same from blocks of matches, by case."""
    for block in blocks:
        for i in range(len(block.indptr) - 1):
            counts = {}
            for k in range(block.indptr[i], block.indptr[i + 1]):
                g, part = block.group[k], block.part[k]
                counts[g] = groups.counts[g] if part < 0 else block.inside[part]
                if part >= 0:
                    both = block.inside[part] + block.outside[part]
                    # Exact but for counts above 2^53.
                    assert both == pytest.approx(groups.counts[g], rel=1e-12)
                    assert block.outside[part].any()
            yield counts, block.unseen[i]


@pytest.mark.parametrize("unseen_levels", [False, True])
@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_matches_are_those_of_a_list_of_all_patterns(kind, compress, unseen_levels, rng):
    n_parts = n_unseen = 0
    for _ in range(25):
        codes = random_codes(rng, int(rng.integers(2, 31)), int(rng.integers(1, 7)), int(rng.integers(2, 4)))
        for order in range(1, codes.shape[1] + 1):
            features = make_features(codes, kind, order)
            groups, extents = find_groups(features, compress), list_patterns(features)
            # Mixtures of cases, which share parts of them, any cases, and unseen levels.
            new = codes[rng.integers(len(codes), size=(12, codes.shape[1])), np.arange(codes.shape[1])]
            new[:2] = codes[:2]
            new[8:] = rng.integers(codes.max() + 1, size=new[8:].shape)
            new = np.where(new > codes.max(axis=0), -1, new)
            blocks = list(match(groups, features, new, unseen_levels=unseen_levels))
            for case, (counts, unseen) in zip(new, found(groups, blocks), strict=True):
                expected, missing = listed(features, groups, extents, case, unseen_levels)
                assert counts.keys() == expected.keys()
                assert all((counts[g] == expected[g]).all() for g in expected)
                assert (unseen == missing).all()
                n_unseen += unseen.sum()
            n_parts += sum(len(block.inside) for block in blocks)
    assert n_unseen > 100
    assert (n_parts > 50) == compress


@pytest.mark.parametrize("kind", KINDS)
def test_cases_of_the_fit_express_their_groups_whole(kind, rng):
    features = make_features(rng.integers(0, 3, size=(200, 9)), kind, 5)
    groups = find_groups(features)
    extents = {(i, g) for g in range(groups.n_groups) for i in groups.extent(g)}
    (block,) = match(groups, features, features.codes)
    case = np.repeat(np.arange(200), np.diff(block.indptr))
    assert set(zip(case, block.group, strict=True)) == extents
    assert (block.part == -1).all()
    assert not block.unseen.any()


def test_a_level_that_the_fit_knows_and_no_case_has():
    features = Features(
        np.array([[0, 0], [1, 1]]), ("a", "b"), (("u", "v"), ("x", "y", "z")), "interactions", 2
    )
    (block,) = match(find_groups(features), features, np.array([[0, 2]], dtype=np.int32))
    # Patterns (all) and a=u are known; b=z and a=u, b=z are not.
    assert block.unseen.tolist() == [[0, 1, 1]]
    assert block.inside.tolist() == [[0, 1, 0]]
    assert block.outside.tolist() == [[0, 1, 1]]


def test_many_features_without_a_limit(rng):
    # 2^60 patterns a case are never listed.
    codes = rng.integers(0, 2, size=(12, 60))
    features = make_features(codes, "interactions", 60)
    groups = find_groups(features)
    new = np.where(rng.random((5, 60)) < 0.2, codes[:5], codes[5:10]).astype(np.int32)
    expected = [float(comb(60, o)) for o in range(61)]
    cases = list(found(groups, match(groups, features, new)))
    assert len(cases) == 5
    for counts, unseen in cases:
        # Sums of positive terms, of which those above 2^53 are rounded.
        assert sum(counts.values()) + unseen == pytest.approx(expected, rel=1e-12)


def test_blocks_follow_each_other(rng):
    features = make_features(rng.integers(0, 3, size=(300, 12)), "interactions", 4)
    groups = find_groups(features)
    new = rng.integers(0, 3, size=(600, 12)).astype(np.int32)
    blocks = list(match(groups, features, new))
    assert len(blocks) > 1
    assert sum(len(block.unseen) for block in blocks) == 600
    (alone,) = match(groups, features, new[-1:])
    start, end = blocks[-1].indptr[-2:]
    assert set(blocks[-1].group[start:end]) == set(alone.group)
    assert (blocks[-1].unseen[-1] == alone.unseen[0]).all()
