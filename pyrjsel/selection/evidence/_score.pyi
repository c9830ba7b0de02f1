from typing import Any, Final, final

from pyrjsel._typing import FloatArray

KINDS: Final[dict[str, int]]

@final
class GaussianScore:
    kind: int
    nu: float
    total: float
    def __init__(
        self,
        kind: str,
        nu: float,
        total: float,
        *,
        g: float = 1.0,
        shrinkage: Any = None,
        saturated: int = 0,
        most: int = 0,
    ) -> None: ...
    def make(self, d: int) -> None: ...
    def value(self, d: int, log_det: float, fit: float) -> float: ...
    def moments(self, d: int, fit: float) -> FloatArray: ...
