from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.regression._gram import Gram

class VarianceEvidence(ConjugateEvidence):
    integrated: bool
    residual: float
    def condition(self, variance: float) -> None: ...
    def draws(self, variance: float, rng: np.random.Generator) -> tuple[FloatArray, float]: ...
    def draw_variance(self, rng: np.random.Generator, b: FloatArray | None = None) -> float: ...
    def log_density(self, variance: float, b: FloatArray) -> float: ...

@final
class NormalEvidence(VarianceEvidence):
    def __init__(
        self,
        base: Gram,
        data: FloatArray,
        term_start: NDArray[np.intc],
        square: float,
        precision: FloatArray,
        mean: FloatArray,
        by_size: FloatArray,
        rows: float,
        volume: float,
    ) -> None: ...
