from typing import Any, Literal, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

@final
class Space:
    def __init__(self, model_space: Any) -> None: ...

def debug_flips(
    space: Space, gamma: ArrayLike, flips: NDArray[np.int32]
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]: ...
def debug_feasible(space: Space, gamma: ArrayLike, terms: list[int]) -> bool: ...
def debug_changes(space: Space, gamma: ArrayLike) -> NDArray[np.float64]: ...
@overload
def walk(
    space: Space, start: ArrayLike, order: NDArray[np.int32], limit: int, store: Literal[False]
) -> tuple[int, bool, None, None, None, None]: ...
@overload
def walk(
    space: Space, start: ArrayLike, order: NDArray[np.int32], limit: int, store: Literal[True]
) -> tuple[int, bool, NDArray[np.uint64], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]: ...
def metropolis(
    space: Space, start: ArrayLike, rng: np.random.Generator, draws: int, thin: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]: ...
