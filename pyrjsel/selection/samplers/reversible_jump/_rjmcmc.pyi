import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray, WordArray
from pyrjsel.selection.samplers.reversible_jump._trades import Trades

class ReversibleJump(Trades):
    def run(
        self,
        rng: np.random.Generator,
        n: int,
        *,
        done: int = 0,
        thin: int = 1,
        words: WordArray | None = None,
        log_posterior: FloatArray | None = None,
        coefficients: FloatArray | None = None,
        every: int = 1,
        sums: FloatArray | None = None,
    ) -> tuple[int, int]: ...
    def state(self) -> tuple[ByteArray, FloatArray]: ...
    def set_state(self, gamma: ByteArray, b: FloatArray) -> None: ...
    def set_temperature(self, t: float) -> None: ...
    def set_counts(self, counts: IntArray) -> None: ...
    def counts(self) -> IntArray: ...
    def log_density(self) -> tuple[float, float, float]: ...
    def log_ratio(
        self, move: str, j: int, k: int = -1, block: FloatArray | None = None, reach: float = 1.0
    ) -> float: ...
