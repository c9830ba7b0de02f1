from typing import Any, final

from pyrjsel._typing import FloatArray

@final
class GaussianScore:
    formula: int
    nu: float
    total: float
    def __init__(
        self,
        formula: int,
        nu: float,
        total: float,
        *,
        g: float = 1.0,
        shrinkage: Any = None,
        saturated: int = 0,
        most: int = 0,
    ) -> None: ...
    @staticmethod
    def known() -> GaussianScore: ...
    @staticmethod
    def conjugate(nu: float, total: float) -> GaussianScore: ...
    @staticmethod
    def g_prior(nu: float, total: float, g: float) -> GaussianScore: ...
    @staticmethod
    def penalised(nu: float, total: float, penalty: float) -> GaussianScore: ...
    @staticmethod
    def best_g(nu: float, total: float) -> GaussianScore: ...
    @staticmethod
    def mixture(
        nu: float, total: float, shrinkage: Any, saturated: int = 0, most: int = 0
    ) -> GaussianScore: ...
    def make(self, d: int) -> None: ...
    def value(self, d: int, log_det: float, fit: float) -> float: ...
    def moments(self, d: int, fit: float) -> FloatArray: ...
