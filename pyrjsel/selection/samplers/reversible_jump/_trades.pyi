import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel.selection.samplers.reversible_jump._blocks import Blocks

class Trades(Blocks):
    def block_ratio(
        self,
        move: str,
        j: int,
        pattern: int,
        path: np.ndarray | None = None,
        block: FloatArray | None = None,
    ) -> float: ...
