from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._typing import ByteArray, FloatArray, IntArray, WordArray
from pyrjsel.model_space import Space
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence._spike import DensityEvidence
from pyrjsel.selection.evidence._variance import VarianceEvidence

MOVES: tuple[str, ...]

@final
class Gibbs:
    def __init__(
        self,
        evidence: Evidence,
        space: Space,
        gamma: ArrayLike,
        variance: float,
        *,
        slots: int = 0,
        coefficients: VarianceEvidence | None = None,
        density: DensityEvidence | None = None,
        families: Sequence[IntArray] = (),
        trades: int = 0,
    ) -> None: ...
    def run(
        self,
        rng: np.random.Generator,
        n: int,
        *,
        done: int = 0,
        thin: int = 1,
        words: WordArray | None = None,
        log_posterior: FloatArray | None = None,
        averages: FloatArray | None = None,
        variance: FloatArray | None = None,
        coefficients: FloatArray | None = None,
        every: int = 1,
        sums: FloatArray | None = None,
        intercept: tuple[FloatArray, float, float] | None = None,
    ) -> tuple[int, int]: ...
    def state(self) -> tuple[ByteArray, float]: ...
    def counts(self) -> IntArray: ...
    def set_counts(self, counts: IntArray) -> None: ...
    def set_families(self, count: int) -> None: ...
