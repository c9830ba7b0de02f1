from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence._variance import VarianceEvidence

@final
class SpikeEvidence(VarianceEvidence):
    def __init__(
        self,
        columns: FloatArray,
        value: FloatArray,
        image: FloatArray,
        rest: float,
        precision: FloatArray,
        ratio: FloatArray,
        term_start: NDArray[np.intc],
        by_size: FloatArray,
        rows: float,
        volume: float,
        integrated: bool,
        capacity: int,
    ) -> None: ...

@final
class DensityEvidence(Evidence):
    def __init__(
        self,
        precision: FloatArray,
        ratio: FloatArray,
        term_start: NDArray[np.intc],
        by_size: FloatArray,
        scaled: bool,
    ) -> None: ...
    def condition(self, variance: float, b: FloatArray) -> None: ...
