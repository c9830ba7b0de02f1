from typing import Final

from pyrjsel._typing import FloatArray
from pyrjsel.families._family import Passes

PROBIT: Final[Passes]
CLOGLOG: Final[Passes]

def evaluated(
    family: Passes, eta: FloatArray, wy: FloatArray, w: FloatArray | None = None
) -> tuple[float, float, FloatArray, FloatArray]: ...
