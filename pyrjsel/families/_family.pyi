from typing import Final, final

from pyrjsel._typing import FloatArray

@final
class Passes:
    quadratic: bool

@final
class JointPass: ...

LOGIT: Final[Passes]
LOG: Final[Passes]
POSITIVE: Final[Passes]
NORMAL: Final[Passes]

def log_likelihoods(
    passes: Passes,
    eta: FloatArray,
    wy: FloatArray,
    base: FloatArray,
    slope: FloatArray,
    factor: FloatArray,
) -> FloatArray: ...
def pair_values(
    joint: JointPass,
    eta: FloatArray,
    images: FloatArray,
    radius: FloatArray,
    y: FloatArray,
    w: FloatArray,
    t: FloatArray,
) -> FloatArray: ...
def derivatives(
    passes: Passes,
    eta: FloatArray,
    wy: FloatArray,
    base: FloatArray,
    slope: FloatArray,
    factor: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]: ...
