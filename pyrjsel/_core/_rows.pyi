from collections.abc import Sequence

import numpy as np

from pyrjsel._typing import FloatArray

def summaries(
    values: FloatArray, probabilities: Sequence[float]
) -> tuple[FloatArray, FloatArray, FloatArray]: ...
def ranges(values: FloatArray) -> FloatArray: ...
def polynomial_averages(
    values: FloatArray, middle: FloatArray, rate: FloatArray, degree: np.ndarray, coefficients: FloatArray
) -> FloatArray: ...
