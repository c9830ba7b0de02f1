import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray

def exp_neg(x: FloatArray) -> FloatArray: ...
def exp_any(x: FloatArray) -> FloatArray: ...
def log1p_unit(z: FloatArray) -> FloatArray: ...
def logit_loglik(
    eta: FloatArray,
    wy: FloatArray,
    w: FloatArray | None = None,
    *,
    x: FloatArray | None = None,
    delta: float = 0.0,
) -> tuple[float, FloatArray]: ...
def logit_score(
    eta: FloatArray, wy: FloatArray, w: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray]: ...
def poisson_loglik(
    eta: FloatArray,
    wy: FloatArray,
    w: FloatArray | None = None,
    *,
    x: FloatArray | None = None,
    delta: float = 0.0,
) -> tuple[float, FloatArray]: ...
def poisson_score(
    eta: FloatArray, wy: FloatArray, w: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray]: ...
def normal_loglik(
    eta: FloatArray,
    wy: FloatArray,
    w: FloatArray | None = None,
    *,
    x: FloatArray | None = None,
    delta: float = 0.0,
) -> tuple[float, FloatArray]: ...
def normal_score(
    eta: FloatArray, wy: FloatArray, w: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray]: ...
def weighted_dot(x: FloatArray, z: FloatArray, weight: FloatArray | None = None) -> float: ...
def weighted_dots(x: FloatArray, r: FloatArray, weight: FloatArray) -> tuple[float, float]: ...
def gram_matrix(columns: FloatArray, weight: FloatArray, cols: NDArray[np.int32]) -> FloatArray: ...
