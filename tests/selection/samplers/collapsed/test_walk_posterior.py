"""What chains of walks know of their models, put together by model."""

from types import SimpleNamespace

import numpy as np

from pyrjsel.model_space import merge_visits, pack
from pyrjsel.selection.samplers.collapsed.sampler import _by_model, _places


def test_what_chains_know_goes_to_the_right_models():
    """Chains have the models in orders of their own, one of them that no kept draw is at."""
    rng, weight = np.random.default_rng(4), 2.0 ** np.arange(5)
    chains, known = [], []
    for _ in range(3):
        gamma = np.unique(rng.integers(0, 2, size=(12, 5)), axis=0)
        gamma = rng.permutation(gamma).astype(np.uint8)
        index = rng.integers(len(gamma) - 1, size=60)
        index[50:] = len(gamma) - 1
        chains.append(SimpleNamespace(words=pack(gamma), index=index))
        known.append(gamma @ weight)
    draws = 50
    model, packed = merge_visits([(chain.words, chain.index) for chain in chains], draws, 5)
    places = [_places(chain, draws) for chain in chains]
    np.testing.assert_array_equal(_by_model(model, len(packed), places, known), np.asarray(packed) @ weight)
