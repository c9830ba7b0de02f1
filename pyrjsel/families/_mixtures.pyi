from typing import Final

from pyrjsel._typing import FloatArray

LARGEST_SCORE: Final[float]

def normal_quantiles(
    means: FloatArray, scale: FloatArray, p: float, weights: FloatArray, tolerance: float
) -> FloatArray: ...
