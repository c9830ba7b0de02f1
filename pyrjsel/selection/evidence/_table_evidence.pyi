from typing import final

from numpy.typing import ArrayLike

from pyrjsel.selection.evidence._evidence import Evidence

@final
class TableEvidence(Evidence):
    def __init__(self, values: ArrayLike) -> None: ...
