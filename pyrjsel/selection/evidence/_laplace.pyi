from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.evidence._mode_search import ModeSearch

@final
class ModeFinder(ModeSearch):
    @property
    def columns(self) -> NDArray[np.intp]: ...
    @property
    def at(self) -> FloatArray: ...
    @property
    def factor(self) -> FloatArray: ...
    def mode(self, gamma: ByteArray, start: FloatArray | None = None) -> FloatArray: ...
    def laplace_values(self, gammas: ByteArray) -> tuple[FloatArray, NDArray[np.int32]]: ...
    def maximum_likelihood(self, gamma: ByteArray) -> tuple[float, float, float]: ...
    def hessian(self, at: FloatArray) -> FloatArray: ...
    def integrate(
        self,
        radius: FloatArray,
        direction: FloatArray,
        df: float,
        uniform: FloatArray | None = None,
    ) -> tuple[float, FloatArray, FloatArray]: ...
    def integrate_at(
        self,
        gamma: ByteArray,
        mode: FloatArray,
        factor: FloatArray,
        log_posterior: float,
        radius: FloatArray,
        direction: FloatArray,
        df: float,
    ) -> tuple[float, FloatArray, FloatArray]: ...
    @property
    def node_weights(self) -> FloatArray: ...
    @property
    def node_shrinkage(self) -> FloatArray: ...
    def visit(self, k: int) -> None: ...
    def _room(self, count: int, sides: int = 2) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    def _check_pairs(self, radius: FloatArray, direction: FloatArray) -> None: ...
    def reweigh(
        self,
        center: FloatArray,
        rays: FloatArray,
        radius: FloatArray,
        log_density: FloatArray,
        paired: bool = True,
    ) -> tuple[float, FloatArray, FloatArray]: ...
