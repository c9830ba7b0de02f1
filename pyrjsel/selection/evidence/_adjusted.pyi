from typing import final

from pyrjsel._typing import FloatArray
from pyrjsel.selection.evidence._evidence import Evidence

@final
class AdjustedEvidence(Evidence):
    def __init__(self, inner: Evidence, pairs: FloatArray) -> None: ...
