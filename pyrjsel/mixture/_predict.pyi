import numpy as np
from numpy.typing import NDArray

def class_log_density(
    z: NDArray[np.float64],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def class_probabilities(
    z: NDArray[np.float64],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    weight: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]: ...
