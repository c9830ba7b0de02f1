"""The draws of a sampler: indices into the table of visited models, and thinned coefficients."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.space import PackedModels


@dataclass(frozen=True)
class Draws:
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
        Unnormalised log posterior density of model and coefficients, in units of the design's columns; of
        the sampler ``collapsed`` that of the model, coefficients integrated out. Reversible jumps of linear
        models have sigma^2 in it, and are given g.
    vectors : sparse array (chains * kept, D + 1)
        Coefficients of the design's columns, intercept first, 0 outside the model, of every
        `coefficients_every`-th draw, chain by chain: of thousands of columns most are 0.
    coefficients_every : int
    variance : ndarray (chains, kept) or None
        Error variances that go with the coefficients, in families that have one.
    """

    model: np.ndarray
    packed: PackedModels
    model_cost: FloatArray
    log_posterior: FloatArray
    vectors: sparse.csr_array
    coefficients_every: int
    variance: FloatArray | None = None

    @cached_property
    def size(self) -> np.ndarray:
        """Terms in the model of each draw, shape (chains, draws)."""
        return self.packed.sizes()[self.model]

    @property
    def models(self) -> ByteArray:
        """The visited models, uint8, shape (visited, J), one column a term; made on demand."""
        return np.asarray(self.packed)

    @property
    def coefficients(self) -> FloatArray:
        """Coefficients of every `coefficients_every`-th draw, (chains, kept, D + 1); made on demand."""
        return self.vectors.toarray().reshape(len(self.model), -1, self.vectors.shape[1])

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
