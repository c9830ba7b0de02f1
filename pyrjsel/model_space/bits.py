"""Models as packed bits: bit ``j % 64`` of word ``j // 64`` is term ``j``, on machines of any byte order."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel._typing import BoolArray, ByteArray, IntArray, WordArray
from pyrjsel._validate import counted

WORD_BITS = 64
# Entries that are unpacked at a time.
NUMBERS = 2**19


def n_words(n_terms: int) -> int:
    """Return the number of 64-bit words that hold `n_terms` terms (at least one)."""
    return max(1, -(-n_terms // WORD_BITS))


def as_gamma(gamma: ArrayLike, n_terms: int | None = None) -> ByteArray:
    """Return models as a two-dimensional array of 0 and 1.

    Parameters
    ----------
    gamma : array_like, shape (J,) or (m, J)
        Models; 1 or True for included terms.
    n_terms : int, optional
        Required number of columns.

    Returns
    -------
    ndarray of uint8, shape (m, J)

    Raises
    ------
    ParameterError
        If the shape is wrong or an entry is neither 0 nor 1.
    """
    given = np.asarray(gamma)
    if given.ndim not in (1, 2) or (n_terms is not None and given.shape[-1] != n_terms):
        columns = "J" if n_terms is None else str(n_terms)
        raise ParameterError(
            f"The 'gamma' parameter of {called()} must have shape ({columns},) or (m, {columns}). "
            f"Got shape {given.shape} instead."
        )
    if given.dtype != np.bool_ and not bool(np.all((given == 0) | (given == 1))):
        raise ParameterError(f"The 'gamma' parameter of {called()} must hold only 0 and 1.")
    return np.ascontiguousarray(np.atleast_2d(given), dtype=np.uint8)


def pack(gamma: ArrayLike) -> WordArray:
    """Pack models into 64-bit words.

    Parameters
    ----------
    gamma : array_like, shape (m, J) or (J,)
        Models as 0 and 1.

    Returns
    -------
    ndarray of uint64, shape (m, words)
        One row per model; unused bits are 0. A single model gives one row.

    Raises
    ------
    ParameterError
        If `gamma` does not have one or two dimensions or has entries other than 0 and 1.

    Examples
    --------
    >>> from pyrjsel.model_space import pack
    >>> pack([[1, 0, 1], [0, 0, 0]]).tolist()
    [[5], [0]]
    """
    models = as_gamma(gamma)
    words = n_words(models.shape[1])
    packed = np.packbits(models, axis=1, bitorder="little")
    padded: NDArray[np.uint8] = np.zeros((models.shape[0], words * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    # The bytes are little-endian by construction; astype brings them to the machine's order.
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack(words: ArrayLike, n_terms: int) -> ByteArray:
    """Unpack 64-bit words into models.

    Parameters
    ----------
    words : array_like of uint64, shape (m, words) or (words,)
        Packed models.
    n_terms : int
        Number J of terms.

    Returns
    -------
    ndarray of uint8, shape (m, J)
        Models as 0 and 1.

    Raises
    ------
    ParameterError
        If the number of words does not fit `n_terms`.

    Examples
    --------
    >>> from pyrjsel.model_space import pack, unpack
    >>> unpack(pack([[1, 0, 1]]), 3).tolist()
    [[1, 0, 1]]
    """
    rows = np.atleast_2d(np.asarray(words, dtype=np.uint64))
    if rows.ndim != 2 or rows.shape[1] != n_words(n_terms):
        raise ParameterError(
            f"The 'words' parameter of unpack must have shape (m, {n_words(n_terms)}) for {n_terms} terms. "
            f"Got shape {rows.shape} instead."
        )
    as_bytes = np.ascontiguousarray(rows.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(as_bytes, axis=1, count=n_terms, bitorder="little")


class PackedModels:
    """An array (m, J) of models as 0 and 1; rows are unpacked when they are accessed.

    Parameters
    ----------
    words : ndarray of uint64, shape (m, words)
        Packed models; see :func:`pack`.
    n_terms : int
        Number J of terms.

    Examples
    --------
    >>> from pyrjsel.model_space import PackedModels
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
        """Return all models as a new, unpacked array."""
        models = unpack(self.words, self.n_terms)
        return models if dtype is None else models.astype(dtype, copy=False)

    def blocks(self) -> Iterator[ByteArray]:
        """Yield all models in blocks."""
        step = max(1, NUMBERS // max(1, self.n_terms))
        for at in range(0, len(self), step):
            yield self[at : at + step]

    def columns(self, terms: slice) -> "PackedModels":
        """Return the models of the terms from `terms.start`, a multiple of 64, to before `terms.stop`.

        Later ones may be in the last word.
        """
        words = self.words[:, terms.start // WORD_BITS : -(-terms.stop // WORD_BITS)]
        return PackedModels(words, terms.stop - terms.start)

    def reordered(self, order: IntArray) -> "PackedModels":
        """Return the models `order`, in the memory of these, which are lost: without a copy of all words."""
        words, step = self.words, max(1, NUMBERS // max(1, len(self)))
        for at in range(0, words.shape[1], step):
            words[: order.size, at : at + step] = words[order, at : at + step]
        return PackedModels(words[: order.size], self.n_terms)

    def chosen(self, rows: IntArray, others: Sequence[ByteArray]) -> "PackedModels":
        """Return copies of the models `rows`, followed by others, each (J,)."""
        return PackedModels(np.concatenate([self.words[rows], *map(pack, others)]), self.n_terms)

    def ever(self) -> BoolArray:
        """Return whether some model has each term, (J,)."""
        return np.asarray(unpack(np.bitwise_or.reduce(self.words, axis=0), self.n_terms)[0], dtype=bool)

    def always(self) -> BoolArray:
        """Return whether all models have each term, (J,)."""
        return np.asarray(unpack(np.bitwise_and.reduce(self.words, axis=0), self.n_terms)[0], dtype=bool)

    def within(self, terms: BoolArray) -> BoolArray:
        """Return which models have no other than some `terms`, a mask (J,); shape (m,)."""
        return np.asarray(~np.any(self.words & ~pack(terms), axis=1))

    def sizes(self) -> IntArray:
        """Return the number of terms of each model, (m,)."""
        return np.bitwise_count(self.words).sum(axis=1, dtype=np.int64)

    def valid(self) -> bool:
        """Return whether no bit beyond the terms is set, and the number of words is that of the terms."""
        wide = n_words(self.n_terms)
        if self.words.ndim != 2 or self.words.shape[1] != wide:
            return False
        used = np.uint64((1 << (self.n_terms - 64 * (wide - 1))) - 1)
        return not np.any(self.words[:, -1] & ~used)

    def __repr__(self) -> str:
        return f"<PackedModels: {counted(len(self), 'model')} of {counted(self.n_terms, 'term')}>"
