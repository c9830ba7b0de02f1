import numpy as np

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.patterns.features import CaseArray

def predictors(
    rng: np.random.Generator,
    sums: FloatArray,
    sigma: FloatArray,
    cauchy: bool,
    first: int,
    indptr: IntArray,
    group: CaseArray,
    part: CaseArray,
    inside: FloatArray,
    outside: FloatArray,
    unseen: FloatArray,
    out: FloatArray,
) -> None: ...
