from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel.mixture._chain import Chain
from pyrjsel.mixture._jumps import Jumps

@final
class MixtureChain(Jumps): ...

@final
class MixtureLadder:
    def __init__(self, chains: Sequence[Chain], powers: NDArray[np.float64]) -> None: ...
    def set_powers(self, powers: NDArray[np.float64]) -> None: ...
    def run(
        self,
        rng: np.random.Generator,
        n: int,
        moves: int,
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
        adapt: bool = False,
    ) -> tuple[int, int]: ...
    def states(self) -> list[tuple[np.ndarray, ...]]: ...
    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def set_counts(self, moves: NDArray[np.int64], exchanges: NDArray[np.int64]) -> None: ...
