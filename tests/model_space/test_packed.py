"""Packed models are the array that they were made of, however they are looked at."""

import numpy as np
import pytest

from pyrjsel.model_space import PackedModels, bits


@pytest.fixture(params=[0, 1, 64, 65, 130])
def models(request):
    return np.random.default_rng(request.param).integers(2, size=(7, request.param), dtype=np.uint8)


@pytest.mark.parametrize(
    "rows",
    [0, -1, slice(2, 5), slice(0, 0), [3, 3, 1], np.array([6, 0]), np.arange(7) % 2 == 0],
    ids=["first", "last", "slice", "none", "list", "array", "mask"],
)
def test_rows(models, rows):
    found = PackedModels.of(models)[rows]
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, models[rows])


def test_whole(models):
    found = PackedModels.of(models)
    assert found.shape == models.shape
    np.testing.assert_array_equal(np.asarray(found), models)
    assert np.asarray(found, dtype=bool).dtype == bool
    np.testing.assert_array_equal(found.sizes(), models.sum(axis=1))


def test_blocks_hold_each_model_once_and_in_order(models, monkeypatch):
    monkeypatch.setattr(bits, "NUMBERS", 3 * max(models.shape[1], 1))
    found = PackedModels.of(models)
    assert [len(block) for block in found.blocks()] == [3, 3, 1]
    np.testing.assert_array_equal(np.concatenate(list(found.blocks())), models)
    np.testing.assert_array_equal(np.stack(list(found)), models)


def test_models_are_reordered_in_place_some_words_at_a_time(models, monkeypatch):
    monkeypatch.setattr(bits, "NUMBERS", 7 * 2)
    for order in (np.array([6, 0, 1, 5, 2, 3, 4]), np.array([4, 2])):
        found = PackedModels.of(models)
        held = found.words
        found = found.reordered(order)
        np.testing.assert_array_equal(found[:], models[order])
        assert np.shares_memory(found.words, held)
