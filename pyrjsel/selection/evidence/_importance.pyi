from pyrjsel._typing import FloatArray

def interpolated(table: FloatArray, end: float, p: FloatArray) -> tuple[FloatArray, FloatArray]: ...
def controlled(weights: FloatArray, radius: FloatArray, log_c: FloatArray) -> tuple[float, float]: ...
def weighted_moments(
    points: FloatArray,
    weights: FloatArray,
    log_c: FloatArray,
    shift: FloatArray,
    close: float,
    normal: FloatArray | None = None,
) -> FloatArray: ...
