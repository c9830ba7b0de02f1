from collections.abc import Sequence

from pyrjsel._typing import FloatArray

def summaries(
    values: FloatArray, probabilities: Sequence[float]
) -> tuple[FloatArray, FloatArray, FloatArray]: ...
