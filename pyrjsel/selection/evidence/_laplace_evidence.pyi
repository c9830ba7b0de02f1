from collections.abc import Callable
from typing import final

from pyrjsel.selection.evidence._evidence import Evidence

@final
class LaplaceEvidence(Evidence):
    def __init__(self, n_terms: int, find: Callable[[bytes], float], known: dict[bytes, float]) -> None: ...
