from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.selection.regression._gram import ColumnGram, Gram

@final
class WeightedGram(ColumnGram):
    def __init__(
        self, columns: FloatArray, weights: FloatArray, extra: FloatArray, capacity: int
    ) -> None: ...

@final
class ShiftedGram(Gram):
    def __init__(self, base: Gram, shift: FloatArray) -> None: ...
    def blocks(self, start: NDArray[np.intc]) -> FloatArray: ...
