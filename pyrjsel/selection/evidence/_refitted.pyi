from collections.abc import Callable
from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.evidence._evidence import Evidence

@final
class RefittedEvidence(Evidence):
    def __init__(
        self,
        n_terms: int,
        inner: ConjugateEvidence,
        rows: FloatArray,
        rounding: FloatArray,
        start: NDArray[np.intc],
        spare: float,
        most_fit: float,
        find: Callable[[bytes], float],
    ) -> None: ...
