from collections.abc import Callable
from typing import final

from pyrjsel._typing import ByteArray
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.evidence._evidence import Evidence

@final
class RefittedEvidence(Evidence):
    def __init__(
        self,
        n_terms: int,
        inner: ConjugateEvidence,
        find: Callable[[ByteArray], float],
        known: dict[bytes, float],
    ) -> None: ...
