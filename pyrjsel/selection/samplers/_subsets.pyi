from collections.abc import Callable
from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import ByteArray, FloatArray, WordArray
from pyrjsel.selection.evidence._student import StudentCdf
from pyrjsel.selection.priors._score import GaussianScore

@final
class Subsets:
    def __init__(
        self,
        score: GaussianScore,
        matrix: FloatArray,
        cross: FloatArray,
        term_start: NDArray[np.intc],
        log_weights: FloatArray,
        penalty: FloatArray,
        form: FloatArray,
        most: int,
        doubtful: float = ...,
        refined: Callable[[tuple[int, ...], int], tuple[float, FloatArray, float, FloatArray, float]]
        | None = None,
    ) -> None: ...
    def values(self, models: WordArray, digits: bool = False) -> tuple[FloatArray, FloatArray]: ...
    def average(
        self,
        models: WordArray,
        weights: FloatArray,
        signs: ByteArray,
        student: StudentCdf,
        centre: float,
        total_weight: float,
        rules: tuple[NDArray[np.intc], FloatArray, FloatArray],
        sums: FloatArray,
    ) -> None: ...
    def check(self, models: WordArray) -> None: ...
    def check_memory(self) -> None: ...
