from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import Space
from pyrjsel.selection.regression._problem import Problem

MOVES: tuple[str, ...]

class Moves:
    def __init__(
        self,
        problem: Problem,
        space: Space,
        gamma: ByteArray,
        b: FloatArray,
        *,
        max_columns: int,
        raw_shift: FloatArray,
        n_swaps: int,
        origin: float = ...,
        fixed_mean: FloatArray | None = None,
        fixed_factor: FloatArray | None = None,
    ) -> None: ...
