from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from pyrjsel._typing import ByteArray, FloatArray, IntArray, WordArray
from pyrjsel.model_space import Space
from pyrjsel.selection.evidence._evidence import Evidence

MOVES: tuple[str, ...]

class SingularModelError(ValueError): ...

@final
class Walk:
    def __init__(
        self,
        evidences: list[Evidence],
        space: Space,
        gamma: ArrayLike,
        powers: ArrayLike,
        *,
        slots: float = 0.0,
        exchanges: float = 1.0,
        families: Sequence[IntArray] = (),
        family_rate: float = 0.0,
        trades: float = 0.0,
    ) -> None: ...
    def run(
        self,
        rng: np.random.Generator,
        n: int,
        time: float,
        *,
        done: int = 0,
        thin: int = 1,
        words: WordArray | None = None,
        log_mass: FloatArray | None = None,
        sums: FloatArray | None = None,
    ) -> int: ...
    def check_memory(self) -> None: ...
    def set_state(self, gamma: ArrayLike, powers: ArrayLike | None = None) -> None: ...
    def set_family_rate(self, rate: float) -> None: ...
    def reload(self) -> None: ...
    def gamma(self) -> ByteArray: ...
    def powers(self) -> FloatArray: ...
    def log_mass(self) -> FloatArray: ...
    def log_evidence(self) -> FloatArray: ...
    def rates(self, k: int = 0) -> FloatArray: ...
    def conditionals(self) -> FloatArray: ...
    def counts(self) -> tuple[IntArray, IntArray]: ...
    def set_counts(self, moves: IntArray, exchanged: IntArray) -> None: ...
