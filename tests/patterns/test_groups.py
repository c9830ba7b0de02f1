"""Groups of patterns: the compiled compression against a list of all patterns, and against what must hold."""

import re
from math import comb

import numpy as np
import pytest
from pattern_cases import described, make_features, random_codes
from reference_groups import enumerate_groups

from pyrjsel import DataError, ParameterError, datasets
from pyrjsel.patterns import Features, find_groups, groups
from pyrjsel.patterns._closed import Extents
from pyrjsel.patterns._distinct import distinct_rows
from pyrjsel.patterns._suffix import suffix_groups

KINDS = ["interactions", "sequence"]


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_those_of_a_list_of_all_patterns(kind, compress, rng):
    n_groups = 0
    for _ in range(60):
        codes = random_codes(rng, int(rng.integers(2, 31)), int(rng.integers(1, 7)), int(rng.integers(2, 4)))
        for order in range(1, codes.shape[1] + 1):
            features = make_features(codes, kind, order)
            found, listed = find_groups(features, compress), enumerate_groups(features, compress)
            assert described(found) == described(listed)
            assert found.extent(0).tolist() == list(range(len(codes)))
            assert found.n_patterns == listed.n_patterns
            n_groups += found.n_groups
    assert n_groups > 1000


@pytest.mark.parametrize(("n", "p", "width"), [(1, 2, 2), (50, 3, 2), (4000, 4, 4), (4000, 7, 5)])
def test_distinct_rows_are_numbered_by_their_first_occurrence(n, p, width, rng):
    """The last two have more rows than the first table holds."""
    codes = rng.integers(0, 6, size=(n, p)).astype(np.int32)
    row_of, first = distinct_rows(codes, width)
    numbers = {}
    expected = [numbers.setdefault(tuple(row), len(numbers)) for row in codes[:, p - width :].tolist()]
    assert row_of.tolist() == expected
    assert first.tolist() == np.unique(expected, return_index=True)[1].tolist()
    assert n < 4000 or len(first) > 1000
    with pytest.raises(ValueError, match="width must be"):
        distinct_rows(codes, p + 1)


@pytest.mark.parametrize("compress", [True, False])
def test_repeated_rows_leave_groups_as_they_are(compress, rng):
    """Bit for bit, and in the same order, those that are found over all rows."""
    codes = rng.integers(0, 3, size=(400, 4)).astype(np.int32)
    groups = find_groups(make_features(codes, "interactions", 3), compress)
    assert len(groups.first) < 100
    extents = Extents(codes, 3, compress)
    assert extents.run()
    indptr, cases, counts, shortest, closure = extents.result()
    assert [groups.extent(g).tolist() for g in range(groups.n_groups)] == [
        cases[indptr[g] : indptr[g + 1]].tolist() for g in range(len(indptr) - 1)
    ]
    np.testing.assert_array_equal(groups.sizes, np.diff(indptr))
    np.testing.assert_array_equal(groups.counts, counts)
    np.testing.assert_array_equal(groups.shortest, shortest)
    np.testing.assert_array_equal(groups.closure, closure if compress else shortest)
    codes = np.ascontiguousarray(codes[:, :3])
    groups, (indptr, cases, *_) = find_groups(make_features(codes, "sequence", 2)), suffix_groups(codes, 2)
    assert groups.n_groups == len(indptr) - 1
    for g in range(groups.n_groups):
        assert groups.extent(g).tolist() == cases[indptr[g] : indptr[g + 1]].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_shortest_pattern_has_the_extent_and_the_lowest_order(kind, rng):
    codes = random_codes(rng, 30, 6, 3)
    groups = find_groups(make_features(codes, kind, 5))
    for g in range(groups.n_groups):
        fixed = groups.shortest[g] >= 0
        assert fixed.sum() == np.flatnonzero(groups.counts[g])[0]
        matches = (codes[:, fixed] == groups.shortest[g][fixed]).all(axis=1)
        assert np.flatnonzero(matches).tolist() == groups.extent(g).tolist()
        assert (groups.closure[g][fixed] == groups.shortest[g][fixed]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_groups_do_not_depend_on_the_order_of_cases(kind, rng):
    codes = random_codes(rng, 40, 6, 3)
    mixed = rng.permutation(40)
    one, other = (find_groups(make_features(each, kind, 4)) for each in (codes, codes[mixed]))
    assert (one.shortest == other.shortest).all()
    assert (one.counts == other.counts).all()
    for g in range(one.n_groups):
        assert sorted(mixed[other.extent(g)]) == one.extent(g).tolist()


def test_the_three_cases_of_the_paper():
    # Columns [00] [10] [20] [01] [02] [11] [21] [12] [22], with 0 for any and levels 1 and 2.
    codes = np.array([[1, 2], [2, 1], [1, 1]]) - 1
    patterns = [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (2, 1), (1, 2), (2, 2)]
    indicators = np.array(
        [[1, 1, 0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 0, 0, 1, 0, 0], [1, 1, 0, 1, 0, 1, 0, 0, 0]]
    )
    groups = find_groups(make_features(codes, "interactions", 2))
    by_extent = {}
    for pattern, column in zip(patterns, indicators.T, strict=True):
        by_extent.setdefault(tuple(np.flatnonzero(column)), []).append(pattern)
    assert by_extent.pop(()) == [(2, 2)]
    assert sorted(map(len, by_extent.values())) == [1, 1, 1, 1, 2, 2]
    assert groups.n_groups == 6
    for g in range(groups.n_groups):
        members = by_extent[tuple(groups.extent(g))]
        assert groups.counts[g].tolist() == [sum(np.count_nonzero(m) == o for m in members) for o in range(3)]
        assert tuple(groups.shortest[g] + 1) == min(members, key=np.count_nonzero)
    table = groups.table(Features(codes, ("a", "b"), ((1, 2), (1, 2)), "interactions", 2))
    assert table.columns.tolist() == ["pattern", "orders", "patterns", "cases"]
    assert table.iloc[0].tolist() == ["(all)", "0", 1, 3]
    assert {tuple(row) for row in table.to_numpy()} >= {("a=2", "1-2", 2, 1), ("a=1, b=1", "2", 1, 1)}


@pytest.mark.parametrize(("n", "p", "levels", "order"), [(500, 20, 3, 3), (60, 16, 2, 16), (40, 70, 2, 3)])
def test_every_case_expresses_every_choice_of_features(n, p, levels, order, rng):
    groups = find_groups(make_features(rng.integers(0, levels, size=(n, p)), "interactions", order))
    expressed = np.zeros((len(groups.first), order + 1))
    np.add.at(expressed, groups.rows, np.repeat(groups.counts, np.diff(groups.indptr), axis=0))
    # Counts are integers below 2**53, and so are their sums: exact.
    assert (expressed == [comb(p, o) for o in range(order + 1)]).all()


@pytest.mark.parametrize("compress", [True, False])
def test_every_history_expresses_every_order(compress, rng):
    order, n = 12, 3000
    groups = find_groups(make_features(rng.integers(0, 3, size=(n, order)), "sequence", order), compress)
    expressed = np.zeros((len(groups.first), order + 1))
    np.add.at(expressed, groups.rows, np.repeat(groups.counts, np.diff(groups.indptr), axis=0))
    assert (expressed == 1).all()
    if compress:
        assert groups.n_groups <= 2 * n - 1
    # A parent has all the cases of its children and ends where they begin.
    for g in range(1, groups.n_groups):
        parent = groups.parent[g]
        assert parent < g
        assert groups.hi[parent] + 1 == groups.lo[g]
        assert np.isin(groups.extent(g), groups.extent(parent)).all()


def test_counts_beyond_the_integers_of_a_float_keep_their_precision():
    # Two cases that differ in one of 120 features: the whole is an extent of both, less its own part.
    codes = np.vstack([np.zeros(120), np.ones(120)]).astype(int)
    groups = find_groups(make_features(codes, "interactions", 120))
    assert groups.n_groups == 3
    assert groups.counts[0].tolist() == [1.0] + [0.0] * 120
    # Sums of 120 stages of positive terms: a relative error of at most 120 roundings.
    expected = [float(comb(120, o)) for o in range(1, 121)]
    assert groups.counts[1, 1:] == pytest.approx(expected, rel=120 * 2**-53)
    features = make_features(codes, "interactions", 120)
    assert groups.table(features)["patterns"].tolist() == pytest.approx([1.0, 2.0**120, 2.0**120])
    assert find_groups(make_features(codes, "interactions", 10)).table(features)["patterns"].dtype == np.int64


@pytest.mark.parametrize("p", [1025, 1100])  # their sum alone is infinite, and one of them
def test_more_patterns_than_a_float_can_count_are_refused(p):
    codes = np.vstack([np.zeros(p), np.ones(p)]).astype(int)
    with pytest.raises(DataError, match=r"share more than 1e\+100 patterns of an order"):
        find_groups(make_features(codes, "interactions", p))
    assert find_groups(make_features(codes, "interactions", 3)).n_groups == 3


def test_extents_with_the_same_hash_are_told_apart(monkeypatch, rng):
    """The compiled code asks numpy for its keys: with keys of 0 and 1 nearly all extents collide."""

    class Keys:
        def integers(self, high, size, dtype):
            return np.arange(size, dtype=dtype) % 2

    features = make_features(random_codes(rng, 25, 5, 3), "interactions", 5)
    expected = described(enumerate_groups(features))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Keys())
    assert described(find_groups(features)) == expected


def test_numbers_of_groups_of_the_hidden_markov_chain():
    published = {  # groups and patterns of 500 sequences, by order, as printed
        1: (3, 3), 2: (7, 7), 3: (15, 15), 4: (31, 31), 5: (59, 61), 7: (163, 195), 10: (341, 623),
        12: (433, 1034), 15: (599, 1851), 17: (673, 2508), 20: (747, 3595),
    }  # fmt: skip
    codes = datasets.hmm_sequences(500, rng=1).data.to_numpy()[:, :20] - 1
    for order, expected in published.items():
        groups = find_groups(make_features(codes, "sequence", order))
        # Another sample: of 100 others none was further off than 13.5 %, at orders 7 and 10.
        assert (groups.n_groups, groups.n_patterns) == pytest.approx(expected, rel=0.15)


def test_too_many_groups_are_refused_while_they_are_found(monkeypatch, rng):
    features = make_features(rng.integers(0, 2, size=(150, 18)), "interactions", 18)
    every = find_groups(features).n_groups
    monkeypatch.setattr(groups, "MOST_BYTES", 1_000_000)
    with pytest.raises(
        DataError, match=r"order 18 of these 150 observations need more than 0\.001 GB"
    ) as caught:
        find_groups(features)
    so_far = int(re.search(r"\(([\d,]+) groups or more", str(caught.value))[1].replace(",", ""))
    assert so_far < every / 2
    history = make_features(rng.integers(0, 2, size=(600, 12)), "sequence", 12)
    monkeypatch.setattr(groups, "MOST_BYTES", 600_000)
    assert find_groups(history).n_groups > 500
    with pytest.raises(DataError, match=r"need more than 0\.0006 GB \([2-9],"):
        find_groups(history, compress=False)
    monkeypatch.setattr(groups, "MOST_BYTES", 100_000)
    with pytest.raises(DataError, match=r"need more than 0\.0001 GB"):
        find_groups(history)


def test_arrays_of_groups_are_read_only(rng):
    groups = find_groups(make_features(random_codes(rng, 10, 3, 2), "sequence", 2))
    arrays = [value for value in vars(groups).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 10
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"kind": "trees"}, ParameterError, "'kind' parameter of Features must be one of 'interactions'"),
        ({"order": 0}, ParameterError, "'order' parameter of Features must be an int in"),
        ({"order": 3}, ParameterError, "at most the number of features, 2. Got 3"),
        ({"codes": np.zeros((0, 2))}, DataError, "matrix with at least one row"),
        ({"codes": np.array([[0, 1, 0], [1, 0, 0]])}, DataError, r"Got shape \(2, 3\)"),
        ({"codes": np.array([[0, 2], [1, 0]])}, DataError, "must be positions of levels"),
        ({"codes": np.array([[0, -1], [1, 0]])}, DataError, "must be positions of levels"),
        ({"codes": np.array([[0, 1], [1, 1]])}, DataError, "features 'b' have one level"),
        ({"levels": ((0, 1),)}, DataError, "2 features, but 1 sets of levels"),
    ],
)
def test_features_that_cannot_be(change, error, match):
    good = {
        "codes": np.array([[0, 1], [1, 0]]),
        "names": ("a", "b"),
        "levels": ((0, 1), (0, 1)),
        "kind": "interactions",
        "order": 2,
    }
    assert Features(**good).n_cases == 2
    with pytest.raises(error, match=match):
        Features(**good | change)
