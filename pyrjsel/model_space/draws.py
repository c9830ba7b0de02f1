"""Draws of models: indices into the table of those visited."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel._validate import counted
from pyrjsel.model_space.packed import PackedModels


class ByModel:
    """Numbers of draws that their models decide, looked up where they are asked for.

    A slice of it is of some chains, two indices give numbers.

    Parameters
    ----------
    values : ndarray (m,)
        Number of each model.
    model : ndarray of int, shape (chains, draws)
        Model of each draw.

    Examples
    --------
    >>> import numpy as np
    >>> from pyrjsel.model_space.draws import ByModel
    >>> cost = ByModel(np.array([1.5, 4.0]), np.array([[0, 1, 1], [1, 0, 0]]))
    >>> cost[1:].shape, cost[0, 1:].tolist()
    ((1, 3), [4.0, 4.0])
    """

    def __init__(self, values: np.ndarray, model: np.ndarray) -> None:
        self.values, self.model = values, model
        self.shape, self.dtype = model.shape, values.dtype

    def __getitem__(self, at: Any) -> Any:
        found = self.model[at]
        return self.values[found] if isinstance(at, tuple) else ByModel(self.values, found)


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
        models = counted(len(self.packed), "model")
        return f"<Draws: {counted(chains, 'chain')} x {counted(draws, 'draw')}, {models} visited>"
