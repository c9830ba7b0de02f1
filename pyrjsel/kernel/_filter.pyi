from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray, IntArray

BIRTH_SHARE: float
DEATH_SHARE: float

@final
class ParticleLoop:
    def __init__(
        self,
        *,
        mean_kernels: float,
        most: int,
        a_y: float,
        b_y: float,
        a_beta: float,
        b_beta: float,
        draw_noise: bool,
        draw_coef: bool,
        move_fraction: float,
        literal: bool,
        fixed: int = 1,
    ) -> None: ...
    def propose(
        self,
        rng: np.random.Generator,
        t: int,
        k: NDArray[np.int32],
        centres: NDArray[np.int32],
        log_factor: FloatArray,
    ) -> None: ...
    def weigh(
        self,
        rng: np.random.Generator,
        chance: FloatArray,
        k: NDArray[np.int32],
        centres: NDArray[np.int32],
        sigma2: FloatArray,
        delta2: FloatArray,
        out: FloatArray,
    ) -> None: ...
    def set_priors(self, a_y: float, b_y: float, a_beta: float, b_beta: float) -> None: ...
    def see(
        self,
        slot: NDArray[np.int32],
        gram: FloatArray,
        moments: FloatArray,
        yy: float,
        power: float = 1.0,
    ) -> None: ...
    def log_marginals(
        self,
        k: NDArray[np.int32],
        centres: NDArray[np.int32],
        sigma2: FloatArray,
        delta2: FloatArray,
        out: FloatArray,
    ) -> None: ...
    def refresh(
        self,
        rng: np.random.Generator,
        pool: NDArray[np.int32],
        moves: int,
        particles: Sequence[np.ndarray],
        tried: IntArray,
        accepted: IntArray,
    ) -> None: ...
    def iterate(
        self,
        rng: np.random.Generator,
        n: int,
        pool: NDArray[np.int32] | None,
        moves: int,
        particle: Sequence[np.ndarray],
        draws: Sequence[np.ndarray],
        tried: IntArray,
        accepted: IntArray,
        *,
        after: int,
        thin: int,
    ) -> int: ...
