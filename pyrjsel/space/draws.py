"""Draws of models: indices into the table of those visited."""

from dataclasses import dataclass

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.space.packed import PackedModels


@dataclass(frozen=True, repr=False)
class ModelDraws:
    """Draws of all chains after burn-in and thinning.

    Attributes
    ----------
    model : ndarray of int32, shape (chains, draws)
        Row of `packed` that each draw was in; row 0 is the model that was visited most.
    packed : PackedModels (visited, J)
        The visited models.
    model_cost : ndarray (visited,)
        Cost of each.
    log_posterior : ndarray (chains, draws)
        Unnormalised log posterior density.
    """

    model: np.ndarray
    packed: PackedModels
    model_cost: FloatArray
    log_posterior: FloatArray

    @property
    def size(self) -> np.ndarray:
        """Terms in the model of each draw, int32, shape (chains, draws); made on demand."""
        return self.packed.sizes().astype(np.int32)[self.model]

    @property
    def models(self) -> ByteArray:
        """The visited models, uint8, shape (visited, J), one column a term; made on demand."""
        return np.asarray(self.packed)

    @property
    def cost(self) -> FloatArray:
        """Cost of the model of each draw, shape (chains, draws)."""
        return self.model_cost[self.model]

    @property
    def changes(self) -> np.ndarray:
        """Terms that differ between each draw and the one before it, shape (chains, draws - 1)."""
        words = self.packed.words
        return np.stack(
            [
                np.bitwise_count(words[chain[1:]] ^ words[chain[:-1]]).sum(axis=1, dtype=np.int64)
                for chain in self.model
            ]
        )

    @property
    def included(self) -> np.ndarray:
        """Inclusion of each term in each draw, bool, shape (chains, draws, J); made on demand."""
        return self.models.astype(bool)[self.model]

    def __repr__(self) -> str:
        chains, draws = self.model.shape
        return f"<Draws: {chains} chains x {draws} draws, {len(self.packed)} models visited>"
