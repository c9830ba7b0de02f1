from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Null:
    def __init__(
        self,
        p: int,
        n: int,
        kappa: float,
        surplus: float,
        psi: float,
        gain: NDArray[np.float64] | None,
        offset: float,
    ) -> None: ...
