import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence._tableau import Tableau
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.regression._gram import Gram

LOST: str

class ConjugateEvidence(Evidence):
    score: GaussianScore
    tableau: Tableau
    prior: Tableau | None
    def __init__(
        self,
        score: GaussianScore,
        gram: Gram,
        cross: FloatArray,
        term_start: NDArray[np.intc],
        *,
        log_weights: FloatArray | None = None,
        prior: Gram | None = None,
        flat: int = 0,
        penalty: FloatArray | None = None,
        rank_tol: float = 0.0,
        most: int | None = None,
        most_fit: float = ...,
    ) -> None: ...
    def model(self) -> tuple[ByteArray, float]: ...
