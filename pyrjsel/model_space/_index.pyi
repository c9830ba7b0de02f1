import numpy as np
from numpy.typing import NDArray

def index_rows(
    slots: NDArray[np.int64],
    table: NDArray[np.uint64],
    n: int,
    block: NDArray[np.uint64],
    insert: bool,
) -> tuple[NDArray[np.int64], int]: ...
