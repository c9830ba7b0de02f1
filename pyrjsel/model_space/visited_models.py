"""The table of visited models, each packed and stored once, and draws as row numbers of this table."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._errors import ParameterError
from pyrjsel._typing import ByteArray, FloatArray, IntArray, WordArray
from pyrjsel._validate import check_int, counted
from pyrjsel.model_space._index import index_rows
from pyrjsel.model_space.bits import PackedModels, n_words, unpack
from pyrjsel.model_space.sparse_models import MANY_TERMS, SparseModels, SparseTable

_BLOCK = 2**16  # rows looked up at a time, which limits the space reserved for new ones


class ModelTable:
    """Packed models in the order of their first visits.

    Draws are stored as row numbers of this table, so that a long run stores each visited model once.

    Parameters
    ----------
    n_terms : int
        Number J of terms.

    Raises
    ------
    ParameterError
        If `n_terms` is not an int >= 0.

    Examples
    --------
    >>> from pyrjsel.model_space import ModelTable, pack
    >>> table = ModelTable(3)
    >>> table.add(pack([[1, 0, 1], [0, 0, 0], [1, 0, 1]])).tolist()
    [0, 1, 0]
    >>> len(table)
    2
    >>> table.lookup(pack([[1, 1, 1], [0, 0, 0]])).tolist()
    [-1, 1]
    """

    def __init__(self, n_terms: int) -> None:
        self.n_terms = check_int(n_terms, "n_terms", low=0)
        self._rows: WordArray = np.zeros((16, n_words(self.n_terms)), dtype=np.uint64)
        self._slots: IntArray = np.full(64, -1, dtype=np.int64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return f"<ModelTable: {counted(self._n, 'model')} of {counted(self.n_terms, 'term')}>"

    def _block(self, packed: ArrayLike, method: str) -> WordArray:
        given = np.asarray(packed)
        wide = self._rows.shape[1]
        if given.dtype != np.uint64 or given.ndim != 2 or given.shape[1] != wide:
            raise ParameterError(
                f"The 'packed' parameter of ModelTable.{method} must be a uint64 array of shape (m, {wide}). "
                f"Got {given.dtype} of shape {given.shape} instead."
            )
        used = self.n_terms - 64 * (wide - 1)
        allowed = np.uint64((1 << used) - 1)
        if np.any(given[:, -1] & ~allowed):
            raise ParameterError(
                f"The 'packed' parameter of ModelTable.{method} has bits set beyond the {self.n_terms} terms."
            )
        return np.ascontiguousarray(given)

    def _make_room(self, rows: int) -> None:
        needed = self._n + rows
        if needed > len(self._rows):
            grown = np.zeros((max(needed, 3 * len(self._rows) // 2), self._rows.shape[1]), dtype=np.uint64)
            grown[: self._n] = self._rows[: self._n]
            self._rows = grown
        if 2 * needed > len(self._slots):
            self._slots = np.full(1 << (4 * needed - 1).bit_length(), -1, dtype=np.int64)
            # The rows are distinct, so adding them to an empty index preserves their numbers.
            index_rows(self._slots, self._rows, 0, self._rows[: self._n], True)

    def add(self, packed: ArrayLike) -> IntArray:
        """Return the row numbers of models, appending new ones.

        Parameters
        ----------
        packed : ndarray of uint64, shape (m, words)
            Packed models; see :func:`pack`.

        Returns
        -------
        ndarray of int64, shape (m,)
            Row numbers in the table.

        Raises
        ------
        ParameterError
            If `packed` does not have the shape or type of packed models of this many terms.
        """
        block = self._block(packed, "add")
        index = np.empty(len(block), dtype=np.int64)
        for low in range(0, len(block), _BLOCK):
            part = block[low : low + _BLOCK]
            self._make_room(len(part))
            index[low : low + _BLOCK], self._n = index_rows(self._slots, self._rows, self._n, part, True)
        return index

    def lookup(self, packed: ArrayLike) -> IntArray:
        """Return the row numbers of models, -1 for those that are not in the table.

        Parameters
        ----------
        packed : ndarray of uint64, shape (m, words)
            Packed models.

        Returns
        -------
        ndarray of int64, shape (m,)
            Row numbers in the table.

        Raises
        ------
        ParameterError
            If `packed` does not have the shape or type of packed models of this many terms.
        """
        index, _ = index_rows(self._slots, self._rows, self._n, self._block(packed, "lookup"), False)
        return index

    @property
    def words(self) -> WordArray:
        """The packed models, shape (n, words), read-only."""
        view = self._rows[: self._n]
        view.flags.writeable = False
        return view

    @property
    def models(self) -> PackedModels:
        """The models, in the memory of the table."""
        return PackedModels(self._rows[: self._n], self.n_terms)

    def gamma(self) -> ByteArray:
        """Return the models unpacked.

        Returns
        -------
        ndarray of uint8, shape (n, J)
            Models as 0 and 1.
        """
        return unpack(self.words, self.n_terms)

    def merge(self, other: "ModelTable") -> IntArray:
        """Merge another table into this one.

        Parameters
        ----------
        other : ModelTable
            A table of models over the same terms; it is not changed.

        Returns
        -------
        ndarray of int64, shape (len(other),)
            Number in this table of each model of `other`.

        Raises
        ------
        ParameterError
            If `other` has another number of terms.
        """
        if other.n_terms != self.n_terms:
            raise ParameterError(
                f"The 'other' parameter of ModelTable.merge must have {self.n_terms} terms. "
                f"Got {other.n_terms} terms instead."
            )
        return self.add(other.words)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays.

        Returns
        -------
        dict of str to ndarray
            `words`, shape (n, words), and `n_terms`, a single number.
        """
        return {"words": self.words.copy(), "n_terms": np.array(self.n_terms, dtype=np.int64)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "ModelTable":
        """Return the table with the state of :meth:`to_arrays`.

        Parameters
        ----------
        arrays : dict of str to ndarray
            Result of :meth:`to_arrays`.

        Returns
        -------
        ModelTable
            A table with the same models under the same numbers.

        Raises
        ------
        ParameterError
            If an array is missing or has the wrong shape, or a model occurs twice.
        """
        missing = {"words", "n_terms"} - set(arrays)
        if missing:
            raise ParameterError(f"The state of a ModelTable lacks {', '.join(sorted(missing))}.")
        table = cls(int(arrays["n_terms"]))
        index = table.add(arrays["words"])
        if len(table) != len(index):
            raise ParameterError("The state of a ModelTable lists a model twice.")
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        return ModelTable.from_arrays, (self.to_arrays(),)


def table_of(n_terms: int) -> ModelTable | SparseTable:
    """Return an empty table of models of `n_terms` terms."""
    return SparseTable(n_terms) if n_terms > MANY_TERMS else ModelTable(n_terms)


def chain_visits(draws: np.ndarray, words: WordArray) -> tuple[WordArray, np.ndarray]:
    """Return the models that one chain visited, in the order of first visits, and the row of each draw.

    The inverse of :func:`merge_visits` for one chain.

    Parameters
    ----------
    draws : ndarray (draws,)
        The model of each draw, as a row of `words`.
    words : ndarray of uint64, shape (m, words)
        Packed models.

    Returns
    -------
    words : ndarray of uint64, shape (visited, words)
    index : ndarray of int32, shape (draws,)

    Examples
    --------
    >>> import numpy as np
    >>> from pyrjsel.model_space import chain_visits, pack
    >>> words, index = chain_visits(np.array([1, 0, 1]), pack([[0, 1], [1, 0], [1, 1]]))
    >>> words.tolist(), index.tolist()
    ([[1], [2]], [0, 1, 0])
    """
    rows, first, place = np.unique(draws, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return words[rows[order]], rank[place]


def merge_visits(
    chains: Iterable[tuple[WordArray | SparseModels, np.ndarray]], draws: int, n_terms: int
) -> tuple[np.ndarray, PackedModels]:
    """Merge the models that chains visited.

    Parameters
    ----------
    chains : iterable of (ndarray or SparseModels, ndarray)
        Distinct packed models of each chain, sparse ones of many terms, and the row of each of its draws.
    draws : int
        Number of draws to use from each chain.
    n_terms : int
        Number J of terms.

    Returns
    -------
    index : ndarray of int32, shape (chains, draws)
        The model of each draw.
    models : PackedModels (m, J)
        The models of these draws, most visited first.

    Examples
    --------
    >>> import numpy as np
    >>> from pyrjsel.model_space import merge_visits, pack
    >>> merge_visits([(pack([[1, 0], [0, 1]]), np.array([0, 1, 1]))], 3, 2)[0].tolist()
    [[1, 0, 0]]
    """
    table: Any = table_of(n_terms)
    found = [table.add(words).astype(np.int32)[rows[:draws]] for words, rows in chains]
    index = np.empty((len(found), draws), dtype=np.int32)
    for row in index:
        row[:] = found.pop(0)  # which frees memory
    visits = count_visits(index, len(table))
    order = np.argsort(-visits, kind="stable")
    order = order[visits[order] > 0]
    rank = np.empty(len(table), dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    for row in index:
        row[:] = rank[row]
    return index, table.models.reordered(order)


def count_visits(index: np.ndarray, models: int) -> IntArray:
    """Return how often each of `models` models (m,) is among draws (chains, draws)."""
    # In parts: numpy makes a copy with 8 bytes per number.
    size, row, found = 2**20, index.reshape(-1), np.zeros(models, dtype=np.int64)
    for at in range(0, row.size, size):
        found += np.bincount(row[at : at + size], minlength=models)
    return found


class ByModel:
    """Values of draws that are functions of their models, looked up when accessed.

    A slice selects chains; two indices return values.

    Parameters
    ----------
    values : ndarray (m,)
        Value of each model.
    model : ndarray of int, shape (chains, draws)
        Model of each draw.

    Examples
    --------
    >>> import numpy as np
    >>> from pyrjsel.model_space import ByModel
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
        Row of `packed` of each draw; row 0 is the most visited model.
    packed : PackedModels (visited, J)
        The visited models.
    model_cost : ndarray (visited,)
        Cost of each model.
    log_posterior : ndarray (chains, draws)
        Unnormalised log posterior density.
    """

    model: np.ndarray
    packed: PackedModels
    model_cost: FloatArray
    log_posterior: FloatArray

    @property
    def size(self) -> np.ndarray:
        """Number of terms of each draw, int32, shape (chains, draws); computed on demand."""
        return self.packed.sizes().astype(np.int32)[self.model]

    @property
    def models(self) -> ByteArray:
        """The visited models, uint8, shape (visited, J), one column per term; unpacked on demand."""
        return np.asarray(self.packed)

    @property
    def cost(self) -> FloatArray:
        """Cost of the model of each draw, shape (chains, draws)."""
        return self.model_cost[self.model]

    @property
    def changes(self) -> np.ndarray:
        """Number of terms that differ between consecutive draws, shape (chains, draws - 1)."""
        words = self.packed.words
        return np.stack(
            [
                np.bitwise_count(words[chain[1:]] ^ words[chain[:-1]]).sum(axis=1, dtype=np.int64)
                for chain in self.model
            ]
        )

    @property
    def included(self) -> np.ndarray:
        """Inclusion of each term in each draw, bool, shape (chains, draws, J); computed on demand."""
        return self.models.astype(bool)[self.model]

    def __repr__(self) -> str:
        chains, draws = self.model.shape
        models = counted(len(self.packed), "model")
        return f"<Draws: {counted(chains, 'chain')} x {counted(draws, 'draw')}, {models} visited>"
