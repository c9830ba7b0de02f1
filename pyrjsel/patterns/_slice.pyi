from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray, IntArray

UPDATES: tuple[str, ...]
LOG_SIGMA_LIMIT: float

@final
class PatternChain:
    def __init__(
        self,
        cauchy: bool,
        indptr: IntArray,
        rows: NDArray[np.int32],
        cases: FloatArray,
        order_ptr: IntArray,
        order_group: NDArray[np.int32],
        order_count: FloatArray,
        parent: NDArray[np.int32] | None,
        hyper: FloatArray,
        s: FloatArray,
        log_sigma: FloatArray,
        plan: NDArray[np.int32],
        *,
        width: float = 5.0,
        steps: int = 10,
    ) -> None: ...
    def run(
        self,
        rng: np.random.Generator,
        n: int,
        *,
        done: int = 0,
        thin: int = 1,
        s: FloatArray | None = None,
        log_sigma: FloatArray | None = None,
        log_posterior: FloatArray | None = None,
    ) -> int: ...
    def state(self) -> tuple[FloatArray, FloatArray]: ...
    def log_density(self) -> float: ...
