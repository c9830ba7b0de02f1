import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray, WordArray
from pyrjsel.selection._moves import Moves

class ReversibleJump(Moves):
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
    def set_counts(self, counts: IntArray) -> None: ...
    def counts(self) -> IntArray: ...
