from typing import final

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray, WordArray
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump

TEMPERATURES: dict[str, int]

@final
class Population:
    def __init__(
        self, chains: list[ReversibleJump], grid: FloatArray, level: IntArray, mode: int
    ) -> None: ...
    def run(
        self,
        rng: np.random.Generator,
        n: int,
        log_law: FloatArray,
        *,
        log_sums: FloatArray | None = None,
        visits: FloatArray | None = None,
        done: int = 0,
        thin: int = 1,
        words: WordArray | None = None,
        log_posterior: FloatArray | None = None,
        coefficients: FloatArray | None = None,
        every: int = 1,
        sums: FloatArray | None = None,
    ) -> tuple[int, int]: ...
    def levels(self) -> IntArray: ...
    def states(self) -> tuple[ByteArray, FloatArray]: ...
    def counts(self) -> tuple[IntArray, IntArray]: ...
    def set_counts(self, moves: IntArray, exchanges: IntArray) -> None: ...
