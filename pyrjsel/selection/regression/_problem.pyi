from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.families._family import Passes

def grid_of_g() -> FloatArray: ...

@final
class Problem:
    def __init__(
        self,
        *,
        columns: FloatArray,
        wy: FloatArray,
        w: FloatArray | None,
        offset: FloatArray,
        term_start: NDArray[np.int32],
        precision: FloatArray,
        shift: FloatArray,
        penalty: FloatArray,
        family: Passes,
        flat: bool,
        rank_tol: float,
        intercepts: FloatArray,
        log_weights: FloatArray | None = None,
        log_prior_g: FloatArray | None = None,
        log_g: FloatArray | None = None,
        g_columns: float = 0.0,
        typical_g: float = 0.0,
        rule: int = 0,
        rule_value: float = 0.0,
    ) -> None: ...
