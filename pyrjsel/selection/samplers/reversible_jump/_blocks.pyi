from collections.abc import Sequence
from typing import Any

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.model_space import Space
from pyrjsel.selection.regression._problem import Problem
from pyrjsel.selection.samplers.reversible_jump._moves import Moves

class Blocks(Moves):
    def __init__(
        self,
        problem: Problem,
        space: Space,
        gamma: ByteArray,
        b: FloatArray,
        *,
        n_trades: int = 0,
        n_family_moves: int = 0,
        families: Sequence[IntArray] = (),
        entry: FloatArray | None = None,
        **rest: Any,
    ) -> None: ...
