from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray

class Gram:
    size: int
    def rows(self, which: Sequence[int]) -> FloatArray: ...

@final
class FullGram(Gram):
    def __init__(self, matrix: FloatArray) -> None: ...
    def blocks(self, start: NDArray[np.intc]) -> FloatArray: ...

@final
class KeptRows:
    size: int
    capacity: int
    def __init__(self, size: int, capacity: int) -> None: ...
    def __contains__(self, j: int, /) -> bool: ...

class ColumnGram(Gram):
    def __init__(self, columns: FloatArray, extra: FloatArray, capacity: int) -> None: ...
    def blocks(self, start: NDArray[np.intc]) -> FloatArray: ...

@final
class SummedGram(ColumnGram):
    def __init__(self, columns: FloatArray, added: FloatArray) -> None: ...
