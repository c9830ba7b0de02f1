"""Chains on evidences with corrections for pairs of terms, and on computed values of models."""

import numpy as np
import pytest

import pyrjsel as rj
from pyrjsel.model_space import Space, pack, term_blocks
from pyrjsel.selection.evidence._adjusted import AdjustedEvidence
from pyrjsel.selection.evidence._laplace_evidence import LaplaceEvidence
from pyrjsel.selection.evidence._table_evidence import TableEvidence
from pyrjsel.selection.evidence.surrogate import Surrogate
from pyrjsel.selection.samplers._walk import Walk

TERMS = 6
MODELS = (np.arange(2**TERMS)[:, None] >> np.arange(TERMS) & 1).astype(np.uint8)


def sums(pairs):
    """Return the sum over the pairs of terms of each model (2**J,)."""
    return 0.5 * np.einsum("mi,ij,mj->m", MODELS, pairs, MODELS)


def draws(space, evidence, seed=1, iterations=300):
    """Return the draws (iterations, J) of a chain with moves of all kinds."""
    walk = Walk(
        [evidence],
        Space(space),
        np.zeros((1, TERMS), dtype=np.uint8),
        np.ones(1),
        slots=1.0,
        families=term_blocks(space),
        family_rate=1.0 if len(term_blocks(space)) else 0.0,
        trades=0.5,
    )
    rng, found = np.random.default_rng(seed), np.empty((iterations, TERMS), dtype=np.uint8)
    for row in found:
        walk.run(rng, 1, 0.3)
        row[:] = walk.gamma()[0]
    return found


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 3))
    y = (rng.random(60) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    frame = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y}
    model = rj.logit("y ~ (a + b + c) ** 2", frame, heredity="strong")
    pairs = np.triu(rng.normal(size=(TERMS, TERMS)), 1)
    return model, rng.normal(size=2**TERMS), pairs + pairs.T


def test_chains_of_adjusted_tables_are_those_of_sums(world):
    model, values, pairs = world
    found = draws(model.space, AdjustedEvidence(TableEvidence(values), pairs))
    np.testing.assert_array_equal(found, draws(model.space, TableEvidence(values + sums(pairs))))
    assert len(np.unique(found, axis=0)) > 8
    assert not np.array_equal(found, draws(model.space, TableEvidence(values)))


def test_chains_of_adjusted_surrogates_are_those_of_sums(world):
    """Surrogates answer for the patterns of a block without flips."""
    model, _, pairs = world
    at = np.append(0.1, np.linspace(-0.5, 0.5, TERMS))
    bare, adjusted = (
        Surrogate(at, np.zeros(TERMS), None, each).evidences(model.regression, 1)[0] for each in (None, pairs)
    )
    table = TableEvidence(bare.values(MODELS) + sums(pairs))
    np.testing.assert_array_equal(draws(model.space, adjusted), draws(model.space, table))


def test_chains_of_computed_values_are_those_of_a_table(world):
    model, values, _ = world
    asked = []

    def find(packed):
        asked.append(packed)
        return float(values[int.from_bytes(packed, "little")])

    known = {}
    found = draws(model.space, LaplaceEvidence(TERMS, find, known))
    np.testing.assert_array_equal(found, draws(model.space, TableEvidence(values)))
    assert len(asked) == len(set(asked)) == len(known)
    assert all(
        known[pack(gamma)[0].tobytes()] == values[k]
        for k, gamma in enumerate(MODELS)
        if pack(gamma)[0].tobytes() in known
    )


def test_models_without_a_value_are_not_entered(world):
    model, values, _ = world
    values = values.copy()
    values[1] = -np.inf
    found = draws(
        model.space, LaplaceEvidence(TERMS, lambda packed: values[int.from_bytes(packed, "little")], {})
    )
    np.testing.assert_array_equal(found, draws(model.space, TableEvidence(values)))


def test_errors_of_the_function_are_raised(world):
    def find(packed):
        if packed[0]:
            raise ZeroDivisionError("of the function")
        return 0.0

    with pytest.raises(ZeroDivisionError, match="of the function"):
        draws(world[0].space, LaplaceEvidence(TERMS, find, {}))


@pytest.mark.parametrize("shape", [(5, 6), (6, 5)])
def test_pairs_must_fit(shape):
    with pytest.raises(ValueError, match="pairs must have"):
        AdjustedEvidence(TableEvidence(np.zeros(2**TERMS)), np.zeros(shape))
