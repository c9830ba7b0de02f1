from collections.abc import Sequence
from typing import Any

from pyrjsel._typing import ByteArray, FloatArray, IntArray
from pyrjsel.selection._moves import Moves
from pyrjsel.selection._problem import Problem
from pyrjsel.space import Space

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
