"""Packed models are the array that they were made of, however they are looked at."""

import numpy as np
import pytest

from pyrjsel.model_space import (
    PackedModels,
    SparseModels,
    SparseTable,
    bits,
    chain_visits,
    merge_visits,
    pack,
)
from pyrjsel.model_space import visited_models as visited
from pyrjsel.model_space.sparse_models import terms_of


def sparse(models):
    return SparseModels.of_terms(list(terms_of(pack(models))), models.shape[1])


@pytest.fixture(params=[PackedModels.of, sparse], ids=["packed", "sparse"])
def made(request):
    return request.param


@pytest.fixture(params=[0, 1, 64, 65, 130])
def models(request):
    return np.random.default_rng(request.param).integers(2, size=(7, request.param), dtype=np.uint8)


@pytest.mark.parametrize(
    "rows",
    [0, -1, slice(2, 5), slice(0, 0), [3, 3, 1], np.array([6, 0]), np.arange(7) % 2 == 0],
    ids=["first", "last", "slice", "none", "list", "array", "mask"],
)
def test_rows(made, models, rows):
    found = made(models)[rows]
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, models[rows])


def test_whole(made, models):
    found = made(models)
    assert found.shape == models.shape
    np.testing.assert_array_equal(np.asarray(found), models)
    assert np.asarray(found, dtype=bool).dtype == bool
    np.testing.assert_array_equal(found.sizes(), models.sum(axis=1))


def test_blocks_hold_each_model_once_and_in_order(made, models, monkeypatch):
    monkeypatch.setattr(bits, "NUMBERS", 3 * max(models.shape[1], 1))
    found = made(models)
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


def test_models_of_some_terms_and_in_another_order(made, models):
    found = made(models)
    np.testing.assert_array_equal(found.words, pack(models))
    np.testing.assert_array_equal(found.ever(), models.any(axis=0))
    np.testing.assert_array_equal(found.always(), models.all(axis=0))
    assert found.valid()
    chosen = found.chosen(np.array([5, 2]), [models[0], models[2]])
    np.testing.assert_array_equal(chosen[:], models[[5, 2, 0, 2]])
    if models.shape[1] > 64:
        np.testing.assert_array_equal(found.columns(slice(64, models.shape[1]))[:], models[:, 64:])
        np.testing.assert_array_equal(found.columns(slice(0, 65))[:], models[:, :65])
    np.testing.assert_array_equal(found.reordered(np.array([6, 0, 3]))[:], models[[6, 0, 3]])


def test_visits_of_many_terms_are_merged_as_those_of_few(monkeypatch):
    """Whether chains hold models packed or sparse, which checkpoints and results written before may do."""
    rng = np.random.default_rng(4)
    draws = rng.random((3, 40, 130)) < 0.01
    chains = [chain_visits(np.arange(40), pack(each)) for each in draws]
    index, models = merge_visits(chains, 30, 130)
    monkeypatch.setattr(visited, "MANY_TERMS", 100)
    tables = [SparseTable(130) for _ in chains]
    rows = [table.add(words)[visits] for table, (words, visits) in zip(tables, chains, strict=True)]
    for given in (chains, [(table.models, each) for table, each in zip(tables, rows, strict=True)]):
        found = merge_visits(given, 30, 130)
        assert isinstance(found[1], SparseModels)
        np.testing.assert_array_equal(found[0], index)
        np.testing.assert_array_equal(found[1].words, models.words)
