from typing import final

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray, IntArray, WordArray
from pyrjsel.selection.samplers._walk import Walk

@final
class KnownModels:
    def __init__(self, n_words: int, width: int) -> None: ...
    def __len__(self) -> int: ...
    def clear(self) -> None: ...
    def find(self, words: WordArray) -> int: ...
    def add(self, words: WordArray, log_mass: float, columns: IntArray, moments: FloatArray) -> int: ...

@final
class CorrectedWalk:
    @property
    def before(self) -> int: ...
    @property
    def found(self) -> int: ...
    @property
    def ratio_before(self) -> float: ...
    @property
    def ratio_found(self) -> float: ...
    @property
    def accepted(self) -> bool: ...
    def __init__(self, walk: Walk, known: KnownModels) -> None: ...
    def run(
        self,
        rng: np.random.Generator,
        n: int,
        time: float,
        *,
        done: int = 0,
        thin: int = 1,
        counts: IntArray | None = None,
        reference: FloatArray | None = None,
        sums: FloatArray | None = None,
        moments: FloatArray | None = None,
        words: WordArray | None = None,
        log_mass: FloatArray | None = None,
        rows: IntArray | None = None,
    ) -> tuple[int, int]: ...
    def models(self) -> ByteArray: ...
