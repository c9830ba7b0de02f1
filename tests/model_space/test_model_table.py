"""The table of visited models against a dictionary."""

import pickle

import numpy as np
import pytest

from pyrjsel._errors import ParameterError
from pyrjsel.model_space import ModelTable, pack


def stream(n_terms, n, rng, distinct=50):
    """Packed models with many repeats."""
    pool = rng.integers(0, 2, size=(distinct, n_terms)).astype(np.uint8)
    return pack(pool[rng.integers(0, distinct, size=n)])


@pytest.mark.parametrize("n_terms", [1, 5, 63, 64, 65, 200])
def test_numbers_follow_a_dictionary(n_terms):
    rng = np.random.default_rng(n_terms)
    table = ModelTable(n_terms)
    known: dict[bytes, int] = {}
    for n in (0, 1, 7, 300, 2000):
        block = stream(n_terms, n, rng, 500)
        expected = [known.setdefault(row.tobytes(), len(known)) for row in block]
        index = table.add(block)
        assert index.dtype == np.int64
        np.testing.assert_array_equal(index, expected)
        assert len(table) == len(known)
        np.testing.assert_array_equal(table.words[index], block)
        np.testing.assert_array_equal(table.lookup(block), expected)
    np.testing.assert_array_equal(pack(table.gamma()), table.words)


def test_models_that_were_not_met_are_minus_one():
    table = ModelTable(70)
    gamma = np.eye(70, dtype=np.uint8)
    table.add(pack(gamma[::2]))
    expected = np.where(np.arange(70) % 2 == 0, np.arange(70) // 2, -1)
    np.testing.assert_array_equal(table.lookup(pack(gamma)), expected)
    assert len(table) == 35
    assert list(ModelTable(70).lookup(pack(gamma[:2]))) == [-1, -1]


def test_many_distinct_models():
    # More than one block of look-ups, and several growths of both arrays.
    n = 300_000
    words = np.random.default_rng(1).permutation(n).astype(np.uint64)[:, None]
    table = ModelTable(40)
    np.testing.assert_array_equal(table.add(words), np.arange(n))
    np.testing.assert_array_equal(table.add(words[::-1]), np.arange(n)[::-1])
    assert len(table) == n


def test_merging_maps_the_numbers():
    rng = np.random.default_rng(2)
    one, two = ModelTable(100), ModelTable(100)
    pool = pack(rng.integers(0, 2, size=(60, 100)).astype(np.uint8))
    one.add(pool[:40])
    two.add(pool[20:])
    mapping = one.merge(two)
    np.testing.assert_array_equal(mapping, np.arange(20, 60))
    np.testing.assert_array_equal(one.words[mapping], two.words)
    assert (len(one), len(two)) == (60, 40)
    np.testing.assert_array_equal(one.merge(one), np.arange(60))
    with pytest.raises(ParameterError, match="100 terms"):
        one.merge(ModelTable(99))


def test_state_is_plain_arrays():
    table = ModelTable(100)
    table.add(stream(100, 500, np.random.default_rng(3)))
    for again in (ModelTable.from_arrays(table.to_arrays()), pickle.loads(pickle.dumps(table))):
        np.testing.assert_array_equal(again.words, table.words)
        assert again.n_terms == 100
        np.testing.assert_array_equal(again.lookup(table.words), np.arange(len(table)))
        more = stream(100, 20, np.random.default_rng(4))
        again.add(more)
        assert len(again) > len(table)


def test_bad_states_are_refused():
    table = ModelTable(3)
    table.add(pack([[0, 1, 0], [1, 1, 1]]))
    state = table.to_arrays()
    with pytest.raises(ParameterError, match="lacks n_terms"):
        ModelTable.from_arrays({"words": state["words"]})
    with pytest.raises(ParameterError, match="twice"):
        ModelTable.from_arrays(state | {"words": state["words"][[0, 0]]})
    with pytest.raises(ParameterError, match="beyond the 3 terms"):
        ModelTable.from_arrays(state | {"words": np.array([[8]], dtype=np.uint64)})


def test_bad_blocks_are_refused():
    table = ModelTable(65)
    for wrong in (
        np.zeros((2, 1), dtype=np.uint64),
        np.zeros(2, dtype=np.uint64),
        np.zeros((2, 2), dtype=np.int64),
    ):
        with pytest.raises(ParameterError, match=r"'packed' parameter of ModelTable\.add"):
            table.add(wrong)
        with pytest.raises(ParameterError, match=r"'packed' parameter of ModelTable\.lookup"):
            table.lookup(wrong)
    with pytest.raises(ParameterError, match="beyond the 65 terms"):
        table.add(np.array([[0, 2]], dtype=np.uint64))
    assert len(table) == 0
    with pytest.raises(ParameterError, match="beyond the 0 terms"):
        ModelTable(0).add(np.array([[1]], dtype=np.uint64))
    assert list(ModelTable(0).add(np.zeros((2, 1), dtype=np.uint64))) == [0, 0]


def test_rows_of_the_table_cannot_be_written():
    table = ModelTable(3)
    table.add(pack([[0, 1, 0]]))
    with pytest.raises(ValueError, match="read-only"):
        table.words[0, 0] = 7
    table.add(pack([[1, 1, 0]]))
    assert table.words[:, 0].tolist() == [2, 3]
