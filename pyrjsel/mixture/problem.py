"""The data of a mixture classifier as samplers see them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.mixture.priors import KernelPrior, MixturePrior
from pyrjsel.model_space import ModelSpace

BACKGROUNDS = ("gaussian", "independent", None)
TARGETS = ("labels", "joint")


@dataclass(frozen=True, eq=False)
class MixtureProblem:
    """Inputs in range units, labels, and the model of both.

    Attributes
    ----------
    z : ndarray (N, p)
        Inputs less the midpoints of their ranges, over the ranges; NaN where missing.
    label : ndarray of int32 (N,)
        Classes 0 to K - 1, -1 where missing.
    n_classes : int
        K.
    log_range : ndarray (p,)
        Logs of the ranges: without a background, densities are those of the inputs as they were given.
    prior : MixturePrior, or KernelPrior for the labels
    components : int
        Number D of kernels.
    background : {"gaussian", "independent", None}
        Density of the inputs that are not selected: one normal distribution of all inputs, given the selected
        ones; one for each input; none.
    space : ModelSpace
        Its terms are the p inputs.
    target : {"labels", "joint"}
        Labels given inputs, or both. For the labels all rows have one.
    weight_prior : float
        Concentration of the Dirichlet prior of class weights.
    rate : ndarray (p,) or None
        For the labels, the h of each beta_i in range units.
    """

    z: FloatArray
    label: NDArray[np.int32]
    n_classes: int
    log_range: FloatArray
    prior: MixturePrior | KernelPrior
    components: int
    background: str | None
    space: ModelSpace
    target: str = "joint"
    weight_prior: float = 1.0
    rate: FloatArray | None = None

    def __post_init__(self) -> None:
        n, p = self.z.shape
        good = (
            n > 0
            and self.label.shape == (n,)
            and self.label.min() >= (-1 if self.joint else 0)
            and self.label.max() < self.n_classes
            and self.log_range.shape == (p,)
            and self.components >= 1
            and self.background in BACKGROUNDS
            and self.space.n_terms == p
            and self.joint == isinstance(self.prior, MixturePrior) == (self.rate is None)
        )
        if not good:
            raise ValueError("the parts of a mixture problem do not fit together")

    @property
    def joint(self) -> bool:
        """Whether inputs are data, too."""
        return self.target == "joint"

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return len(self.z)

    @property
    def n_inputs(self) -> int:
        """Number of inputs p."""
        return self.z.shape[1]
