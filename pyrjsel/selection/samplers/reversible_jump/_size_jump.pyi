from typing import Any, final

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import Space
from pyrjsel.selection.regression._problem import Problem
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump

class SliceJump(ReversibleJump):
    def __init__(
        self,
        problem: Problem,
        space: Space,
        gamma: ByteArray,
        b: FloatArray,
        *,
        parameters: int = 1,
        mixture: tuple[float, float, float] | None = None,
        **rest: Any,
    ) -> None: ...
    def draw(self, rng: np.random.Generator) -> None: ...

@final
class MixtureJump(SliceJump):
    def __init__(
        self,
        problem: Problem,
        space: Space,
        gamma: ByteArray,
        b: FloatArray,
        *,
        mixture: tuple[float, float, float],
        **rest: Any,
    ) -> None: ...

@final
class SizeJump(SliceJump):
    def __init__(
        self,
        problem: Problem,
        space: Space,
        gamma: ByteArray,
        b: FloatArray,
        *,
        weights: FloatArray,
        offset: FloatArray,
        share: float,
        gammas: FloatArray,
        linear: tuple[float, float],
        log_prior: tuple[float, float],
        **rest: Any,
    ) -> None: ...

@final
class ScaleJump(SliceJump):
    def __init__(
        self,
        problem: Problem,
        space: Space,
        gamma: ByteArray,
        b: FloatArray,
        *,
        errors: tuple[float, float],
        tails: bool,
        **rest: Any,
    ) -> None: ...
