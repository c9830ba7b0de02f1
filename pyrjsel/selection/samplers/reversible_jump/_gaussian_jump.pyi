from typing import Any, final

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import Space
from pyrjsel.selection.regression._problem import Problem
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump

@final
class GaussianJump(ReversibleJump):
    def __init__(
        self,
        problem: Problem,
        space: Space,
        gamma: ByteArray,
        b: FloatArray,
        *,
        rows: float,
        sigma: tuple[float, float],
        scaled: bool,
        typical: float,
        mixture: tuple[float, float, float] | None = None,
        **rest: Any,
    ) -> None: ...
    def draw(self, rng: np.random.Generator) -> None: ...
