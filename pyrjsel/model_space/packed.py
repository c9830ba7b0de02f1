"""Models that take a bit a term, unpacked where they are looked at."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pyrjsel._typing import ByteArray, IntArray, WordArray
from pyrjsel._validate import counted
from pyrjsel.model_space.bits import pack, unpack

# Entries that are unpacked together.
NUMBERS = 2**19


class PackedModels:
    """An array (m, J) of models as 0 and 1, of which the rows that are asked for are unpacked.

    Parameters
    ----------
    words : ndarray of uint64, shape (m, words)
        Packed models; see :func:`pack`.
    n_terms : int
        Number J of terms.

    Examples
    --------
    >>> from pyrjsel.model_space.packed import PackedModels
    >>> models = PackedModels.of([[1, 0, 1], [0, 0, 0]])
    >>> models[0].tolist(), models[[1, 0]].tolist(), models.shape
    ([1, 0, 1], [[0, 0, 0], [1, 0, 1]], (2, 3))
    """

    def __init__(self, words: WordArray, n_terms: int) -> None:
        self.words = words
        self.n_terms = n_terms

    @classmethod
    def of(cls, gamma: Any) -> "PackedModels":
        """Pack models (m, J)."""
        return cls(pack(gamma), np.shape(gamma)[1])

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of models and of terms."""
        return len(self), self.n_terms

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: Any) -> ByteArray:
        found = self.words[rows]
        models = unpack(found, self.n_terms)
        return models[0] if found.ndim == 1 else models

    def __iter__(self) -> Iterator[ByteArray]:
        for block in self.blocks():
            yield from block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return all models unpacked, in an array of their own."""
        models = unpack(self.words, self.n_terms)
        return models if dtype is None else models.astype(dtype, copy=False)

    def blocks(self) -> Iterator[ByteArray]:
        """Yield all models, some at a time."""
        step = max(1, NUMBERS // max(1, self.n_terms))
        for at in range(0, len(self), step):
            yield self[at : at + step]

    def sizes(self) -> IntArray:
        """Return the number of terms of each model, (m,)."""
        return np.bitwise_count(self.words).sum(axis=1, dtype=np.int64)

    def __repr__(self) -> str:
        return f"<PackedModels: {counted(len(self), 'model')} of {counted(self.n_terms, 'term')}>"
