"""Enumeration: every feasible model once, in depth-first order; the packed form."""

from itertools import pairwise

import numpy as np
import pytest

from pyrjsel._errors import ParameterError
from pyrjsel.model_space import ModelSpace, Uniform, count_dfs, enumerate_models, pack, unpack
from pyrjsel.model_space._space import Space, walk


def test_every_feasible_model_comes_once(kit, constraint):
    for seed in range(5):
        case = kit.case("uniform", constraint, seed)
        expected = {m for m in case.subsets() if case.allowed(m)}
        gamma = unpack(enumerate_models(case.space), case.space.n_terms)
        found = [frozenset(np.flatnonzero(row)) for row in gamma]
        assert len(found) == len(set(found))
        assert set(found) == expected
        np.testing.assert_array_equal(gamma[0], case.space.empty_model())
        assert count_dfs(case.space, 10**6) == (len(expected), True)
        assert count_dfs(case.space, len(expected)) == (len(expected), True)
        if len(expected) > 1:
            assert count_dfs(case.space, len(expected) - 1) == (len(expected) - 1, False)
            with pytest.raises(ParameterError, match="more than"):
                enumerate_models(case.space, len(expected) - 1)


def test_models_share_a_prefix_with_the_one_before(kit):
    for seed in range(5):
        space = kit.case("uniform", (True, "weak", False, False), seed).space
        gamma = unpack(enumerate_models(space), space.n_terms)[:, space.order]
        lists = [list(np.flatnonzero(row)) for row in gamma]
        for before, now in pairwise(lists):
            # All but the last term of the ordered list are the first terms of the list before.
            assert now[:-1] == before[: len(now) - 1]
        assert lists == sorted(lists)


def test_what_comes_with_the_models(kit):
    case = kit.case("bernoulli by term", (True, "strong", False, True), 1)
    space = case.space
    order = np.array([j for j in space.order if space.free[j]], dtype=np.int32)
    count, complete, words, size, cost, log_odds = walk(Space(space), space.empty_model(), order, 10**6, True)
    gamma = unpack(words, space.n_terms)
    assert complete
    assert len(words) == count
    np.testing.assert_array_equal(size, space.size(gamma))
    # Sums of at most 9 numbers in another order.
    np.testing.assert_allclose(cost, space.cost(gamma), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(log_odds, (gamma * space.free) @ space.log_odds, rtol=1e-13, atol=1e-13)
    # Few models are not counted before; nor are there more than the limit.
    for limit in (2**17, count, count - 1):
        some, whole, *arrays = walk(Space(space), space.empty_model(), order, limit, True)
        assert (some, whole) == (min(limit, count), limit >= count)
        for array, known in zip(arrays, (words, size, cost, log_odds), strict=True):
            np.testing.assert_array_equal(array, known[:some])


def test_blocks_join_without_a_seam(kit):
    # 2^21 models are counted in more than one block.
    space = ModelSpace.build(kit.plain(21), prior=Uniform(), n_observations=9)
    assert count_dfs(space, 2**22) == (2**21, True)
    assert count_dfs(space, 2**20) == (2**20, False)
    words = enumerate_models(space, 2**21)
    np.testing.assert_array_equal(np.sort(words[:, 0]), np.arange(2**21, dtype=np.uint64))


def test_more_terms_than_a_word_holds(kit):
    space = ModelSpace.build(kit.plain(130), prior=Uniform(), max_size=2, always="x129", n_observations=9)
    words = enumerate_models(space)
    assert words.shape == (1 + 129, 3)
    gamma = unpack(words, 130)
    assert np.all(space.feasible(gamma))
    assert len(np.unique(gamma, axis=0)) == 130


def test_a_walk_refuses_terms_that_it_cannot_put_in(kit):
    space = ModelSpace.build(kit.plain(3), prior=Uniform(), always="x1", n_observations=9)
    with pytest.raises(ValueError, match="free terms"):
        walk(Space(space), space.empty_model(), np.array([0, 1], dtype=np.int32), 10, False)
    with pytest.raises(ValueError, match="free terms"):
        walk(Space(space), space.empty_model(), np.array([3], dtype=np.int32), 10, False)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, None])
def test_bad_limits_are_refused(kit, limit):
    space = ModelSpace.build(kit.plain(3), prior=Uniform(), n_observations=9)
    with pytest.raises(ParameterError, match="limit"):
        enumerate_models(space, limit)
    with pytest.raises(ParameterError, match="limit"):
        count_dfs(space, limit)


@pytest.mark.parametrize("n_terms", [1, 7, 8, 63, 64, 65, 128, 200])
def test_packing_follows_the_bits(n_terms):
    gamma = np.random.default_rng(n_terms).integers(0, 2, size=(20, n_terms)).astype(np.uint8)
    words = pack(gamma)
    assert words.dtype == np.uint64
    assert words.shape == (20, -(-n_terms // 64))
    for row, model in zip(words, gamma, strict=True):
        whole = sum(int(word) << (64 * k) for k, word in enumerate(row))
        assert whole == sum(1 << j for j in range(n_terms) if model[j])
    np.testing.assert_array_equal(unpack(words, n_terms), gamma)
    np.testing.assert_array_equal(pack(gamma.astype(bool)), words)


def test_packing_of_nothing():
    assert pack(np.zeros((3, 0), dtype=np.uint8)).shape == (3, 1)
    assert unpack(np.zeros((3, 1), dtype=np.uint64), 0).shape == (3, 0)
    assert pack(np.zeros((0, 5), dtype=np.uint8)).shape == (0, 1)
    assert unpack(np.zeros((0, 1), dtype=np.uint64), 5).shape == (0, 5)


def test_bad_arrays_are_not_packed():
    with pytest.raises(ParameterError, match="0 and 1"):
        pack([[0, 2]])
    with pytest.raises(ParameterError, match="shape"):
        pack(np.zeros((2, 2, 2)))
    with pytest.raises(ParameterError, match="words"):
        unpack(np.zeros((2, 2), dtype=np.uint64), 64)
