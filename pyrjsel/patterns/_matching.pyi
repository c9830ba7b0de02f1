from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray, IntArray
from pyrjsel.patterns.features import CaseArray, CodeArray

def walk(
    new: CodeArray,
    order: int,
    closure: CodeArray,
    lo: CaseArray,
    hi: CaseArray,
    first_child: IntArray,
    children: CaseArray,
    groups: CaseArray,
    n_groups: CaseArray,
    depth: CaseArray,
) -> None: ...
def contained(
    new: CodeArray, first: int, indptr: IntArray, features: CaseArray, levels: CaseArray
) -> tuple[IntArray, CaseArray]: ...

@final
class Matcher:
    def __init__(
        self,
        codes: CodeArray,
        indptr: IntArray,
        cases: CaseArray,
        closure: CodeArray,
        totals: FloatArray,
        n_levels: NDArray[np.intp],
    ) -> None: ...
    def run(
        self, new: CodeArray, first: int
    ) -> tuple[IntArray, CaseArray, CaseArray, FloatArray, FloatArray]: ...
