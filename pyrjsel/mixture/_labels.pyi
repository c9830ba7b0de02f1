from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrjsel.mixture._chain import Chain
from pyrjsel.model_space import Space

@final
class LabelChain(Chain):
    def __init__(
        self,
        z: NDArray[np.float64],
        label: NDArray[np.int32],
        space: Space,
        hyper: NDArray[np.float64],
        rate: NDArray[np.float64],
        gamma: ArrayLike,
        beta: ArrayLike,
        precision: ArrayLike,
        mean: ArrayLike,
        weight: ArrayLike,
        prior: ArrayLike,
        steps: ArrayLike,
        *,
        conditional: bool,
        power: float = 1.0,
    ) -> None: ...
    def state(self) -> tuple[np.ndarray, ...]: ...
    def log_ratio(
        self,
        out: int,
        into: int,
        beta: float = 1.0,
        precision: NDArray[np.float64] | None = None,
        mean: NDArray[np.float64] | None = None,
    ) -> float: ...
