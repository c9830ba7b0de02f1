import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import IntArray

def distinct_rows(codes: NDArray[np.int32], width: int) -> tuple[NDArray[np.int32], IntArray]: ...
