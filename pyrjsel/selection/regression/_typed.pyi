from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.selection.regression._gram import Gram, KeptRows

KINDS: Mapping[str, int]

@final
class TypedColumns:
    size: int
    arrays: tuple[Any, ...]
    def __init__(
        self,
        x: np.ndarray,
        mean: FloatArray,
        scale: FloatArray,
        kept: IntArray,
        n: int,
        *,
        weight: FloatArray | None = None,
        rows: NDArray[np.intc] | None = None,
        first: IntArray | None = None,
    ) -> None: ...
    def products(self, v: FloatArray) -> FloatArray: ...
    def take(self, which: Sequence[int] | np.ndarray) -> FloatArray: ...

@final
class RowStore:
    kept: KeptRows
    def __init__(self, size: int, capacity: int) -> None: ...

@final
class TypedGram(Gram):
    def __init__(self, columns: TypedColumns, extra: FloatArray, total: float, store: RowStore) -> None: ...
    def blocks(self, start: NDArray[np.intc]) -> FloatArray: ...
