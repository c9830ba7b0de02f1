from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.selection.regression._gram import Gram

@final
class Tableau:
    n_columns: int
    n_groups: int
    n_active: int
    log_det: float
    fit: float
    failed: bool
    def __init__(self, gram: Gram, cross: FloatArray, start: NDArray[np.intc]) -> None: ...
    def sweep(self, column: int) -> float: ...
    def state(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]: ...
