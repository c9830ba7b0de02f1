from typing import Final

from pyrjsel._typing import FloatArray

LARGEST_SCORE: Final[float]

def normal_quantiles(
    means: FloatArray, scale: FloatArray, p: FloatArray, weights: FloatArray, tolerance: float
) -> FloatArray: ...
