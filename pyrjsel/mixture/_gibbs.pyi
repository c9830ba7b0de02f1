import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrjsel.mixture._chain import Chain
from pyrjsel.mixture._null import Null
from pyrjsel.model_space import Space

class Gibbs(Chain):
    def __init__(
        self,
        z: NDArray[np.float64],
        missing: NDArray[np.uint8],
        label: NDArray[np.int32],
        null: Null,
        space: Space,
        hyper: NDArray[np.float64],
        gamma: ArrayLike,
        beta: ArrayLike,
        precision: ArrayLike,
        mean: ArrayLike,
        weight: ArrayLike,
        prior: ArrayLike,
        kernel: ArrayLike,
        klass: ArrayLike,
        *,
        conditional: bool,
        power: float = 1.0,
    ) -> None: ...
    def state(self) -> tuple[np.ndarray, ...]: ...
