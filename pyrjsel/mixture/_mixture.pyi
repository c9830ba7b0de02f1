from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrjsel.mixture._null import Null
from pyrjsel.space import Space

@final
class MixtureChain:
    def __init__(
        self,
        z: ArrayLike,
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
        moves: int,
        conditional: bool,
    ) -> None: ...
    def run(
        self,
        rng: np.random.Generator,
        n: int,
        *,
        done: int = 0,
        thin: int = 1,
        words: NDArray[np.uint64] | None = None,
        log_posterior: NDArray[np.float64] | None = None,
        log_likelihood: NDArray[np.float64] | None = None,
        occupied: NDArray[np.int32] | None = None,
        mean: NDArray[np.float64] | None = None,
        variance: NDArray[np.float64] | None = None,
        weight: NDArray[np.float64] | None = None,
        prior: NDArray[np.float64] | None = None,
        every: int = 1,
        moving: bool = True,
    ) -> tuple[int, int]: ...
    def state(self) -> tuple[np.ndarray, ...]: ...
    def log_density(self) -> float: ...
    def counts(self) -> NDArray[np.int64]: ...
    def set_counts(self, counts: NDArray[np.int64]) -> None: ...
    def log_ratio(
        self,
        out: int,
        into: int,
        precision: NDArray[np.float64] | None = None,
        mean: NDArray[np.float64] | None = None,
    ) -> float: ...
