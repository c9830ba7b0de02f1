"""Visited models of many terms, of which each has few: the numbers of the included terms."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import BoolArray, ByteArray, IntArray, WordArray
from pyrjsel.model_space.bits import WORD_BITS, PackedModels, n_words

# Models of more terms than this are stored by their included ones.
MANY_TERMS = 2**14


class SparseModels(PackedModels):
    """The same array of models as :class:`PackedModels`, by the included terms.

    Parameters
    ----------
    start : int64 array (m + 1,)
        Model i has the terms ``term[start[i]:start[i + 1]]``.
    term : int32 array
        Increasing within a model.
    n_terms : int
        Number J of terms.

    Examples
    --------
    >>> import numpy as np
    >>> from pyrjsel.model_space import SparseModels
    >>> models = SparseModels(np.array([0, 2, 2]), np.array([0, 2], dtype=np.int32), 3)
    >>> models[0].tolist(), models[[1, 0]].tolist(), models.shape
    ([1, 0, 1], [[0, 0, 0], [1, 0, 1]], (2, 3))
    """

    def __init__(self, start: IntArray, term: NDArray[np.int32], n_terms: int) -> None:
        self.start, self.term, self.n_terms = start, term, n_terms

    @classmethod
    def of_terms(cls, models: list[bytes], n_terms: int) -> "SparseModels":
        """Return the models with these terms, int32 numbers as bytes."""
        sizes = np.array([len(each) // 4 for each in models], dtype=np.int64)
        term = np.frombuffer(b"".join(models), dtype=np.int32)
        return cls(np.concatenate([[0], np.cumsum(sizes)]), term, n_terms)

    @property
    def words(self) -> WordArray:  # type: ignore[override]
        """The models packed, (m, words): a new array at each use."""
        out = np.zeros((len(self), n_words(self.n_terms)), dtype=np.uint64)
        bit = np.uint64(1) << (self.term % WORD_BITS).astype(np.uint64)
        np.bitwise_or.at(out, (self._model, self.term // WORD_BITS), bit)
        return out

    @property
    def _model(self) -> IntArray:
        """The model of each included term."""
        return np.repeat(np.arange(len(self)), self.sizes())

    def terms(self) -> Iterator[bytes]:
        """Yield the terms of each model, int32 numbers as bytes."""
        for first, last in zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True):
            yield self.term[first:last].tobytes()

    def __len__(self) -> int:
        return self.start.size - 1

    def __getitem__(self, rows: Any) -> ByteArray:
        chosen = np.arange(len(self))[rows]
        out = np.zeros((chosen.size, self.n_terms), dtype=np.uint8)
        for row, model in zip(out, chosen.ravel().tolist(), strict=True):
            row[self.term[self.start[model] : self.start[model + 1]]] = 1
        return out if chosen.ndim else out[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:] if dtype is None else self[:].astype(dtype, copy=False)

    def columns(self, terms: slice) -> "SparseModels":
        """Return the models of the terms from `terms.start` to before `terms.stop`."""
        inside = (self.term >= terms.start) & (self.term < terms.stop)
        start = np.concatenate([[0], np.cumsum(inside)])[self.start]
        return SparseModels(start, self.term[inside] - np.int32(terms.start), terms.stop - terms.start)

    def reordered(self, order: IntArray) -> "SparseModels":
        """Return the models `order`."""
        return self.chosen(order, ())

    def chosen(self, rows: IntArray, others: Sequence[ByteArray]) -> "SparseModels":
        """Return copies of the models `rows`, followed by others, each (J,)."""
        known = list(self.terms())
        more = [np.flatnonzero(each).astype(np.int32).tobytes() for each in others]
        return SparseModels.of_terms([*(known[row] for row in rows.tolist()), *more], self.n_terms)

    def sizes(self) -> IntArray:
        """Return the number of terms of each model, (m,)."""
        return np.diff(self.start)

    def ever(self) -> BoolArray:
        """Return whether some model has each term, (J,)."""
        return np.bincount(self.term, minlength=self.n_terms) > 0

    def always(self) -> BoolArray:
        """Return whether all models have each term, (J,)."""
        return np.bincount(self.term, minlength=self.n_terms) == len(self)

    def within(self, terms: BoolArray) -> BoolArray:
        """Return which models have no other than some `terms`, a mask (J,); shape (m,)."""
        return np.bincount(self._model, weights=~terms[self.term], minlength=len(self)) == 0

    def valid(self) -> bool:
        """Return whether all numbers are those of terms."""
        return bool(np.all((self.term >= 0) & (self.term < self.n_terms)))


def terms_of(words: WordArray) -> Iterator[bytes]:
    """Yield the terms of packed models, int32 numbers as bytes."""
    for row in words:
        at = np.flatnonzero(row)
        bits = np.unpackbits(row[at].astype("<u8").view(np.uint8), bitorder="little")
        word, bit = np.nonzero(bits.reshape(-1, WORD_BITS))
        yield (WORD_BITS * at[word] + bit).astype(np.int32).tobytes()


class SparseTable:
    """Models of many terms in the order of their first visits; used like :class:`ModelTable`.

    Parameters
    ----------
    n_terms : int
        Number J of terms.

    Examples
    --------
    >>> from pyrjsel.model_space import SparseTable, pack
    >>> table = SparseTable(3)
    >>> table.add(pack([[1, 0, 1], [0, 0, 0], [1, 0, 1]])).tolist()
    [0, 1, 0]
    >>> table.models[0].tolist()
    [1, 0, 1]
    """

    def __init__(self, n_terms: int) -> None:
        self.n_terms = n_terms
        # Rows by the included terms, in order.
        self._rows: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, models: WordArray | SparseModels) -> IntArray:
        """Return the row numbers (m,) of models, packed (m, words) or sparse, appending new ones."""
        given = models.terms() if isinstance(models, SparseModels) else terms_of(models)
        return np.array([self._rows.setdefault(each, len(self._rows)) for each in given], dtype=np.int64)

    @property
    def models(self) -> SparseModels:
        """The models."""
        return SparseModels.of_terms(list(self._rows), self.n_terms)

    @property
    def words(self) -> WordArray:
        """The models packed, (m, words): a new array at each use."""
        return self.models.words
