import numpy as np
from numpy.typing import NDArray

from pyrjsel.mixture._gibbs import Gibbs

class Jumps(Gibbs):
    def log_ratio(
        self,
        out: int,
        into: int,
        precision: NDArray[np.float64] | None = None,
        mean: NDArray[np.float64] | None = None,
    ) -> float: ...
