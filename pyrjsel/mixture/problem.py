"""The data of a mixture classifier as samplers see them: in range units, and with their null model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrjsel._called import called
from pyrjsel._core import special
from pyrjsel._errors import DataError
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel._validate import listed
from pyrjsel.mixture._null import Null
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


@dataclass(frozen=True, eq=False)
class Scaling:
    """Midpoints and ranges of the inputs in the rows of a fit, shape (p,).

    Attributes
    ----------
    midpoint, spread : ndarray
        In units of the inputs.
    """

    midpoint: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, X: FloatArray, names: Sequence[str]) -> "Scaling":
        """Return those of inputs (N, p), each with two different values at least.

        Raises
        ------
        DataError
            If a range is beyond the largest number.
        """
        low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        with np.errstate(over="ignore"):
            spread = high - low
        if not np.isfinite(spread).all():
            wide = [name for name, width in zip(names, spread, strict=True) if not np.isfinite(width)]
            raise DataError(f"The data of {called()} have ranges beyond 1e308; rescale {listed(wide)}.")
        return cls(low + spread / 2, spread)

    def units(self, X: FloatArray) -> FloatArray:
        """Return inputs in range units, shape (N, p): those of the fit are from -1/2 to 1/2."""
        with np.errstate(over="ignore"):  # an infinite distance is as good as one of 1e300 ranges
            return (X - self.midpoint) / self.spread

    def restrict(self, keep: Sequence[int]) -> "Scaling":
        """Return those of some of the inputs, by position."""
        return Scaling(self.midpoint[list(keep)], self.spread[list(keep)])


def constant(X: FloatArray) -> BoolArray:
    """Return which inputs (N, p) have no two different values; missing ones do not count."""
    known = ~np.isnan(X)
    low = np.where(known, X, np.inf).min(axis=0)
    high = np.where(known, X, -np.inf).max(axis=0)
    gone: BoolArray = ~(low < high)
    return gone


def single_evidence(z: FloatArray, prior: MixturePrior, surplus: float) -> FloatArray:
    """Return the log density of the observed values of each input alone, shape (p,)."""
    n = (~np.isnan(z)).sum(axis=0)
    nu, kappa = surplus + 1.0, prior.kappa0
    scatter = prior.psi0 + np.nansum(z**2, axis=0) - np.nansum(z, axis=0) ** 2 / (kappa + n)
    value: FloatArray = (
        -0.5 * n * np.log(np.pi)
        + 0.5 * np.log(kappa / (kappa + n))
        + special.gammaln(0.5 * (nu + n))
        - special.gammaln(0.5 * nu)
        + 0.5 * nu * np.log(prior.psi0)
        - 0.5 * (nu + n) * np.log(scatter)
    )
    return value


def gains(problem: MixtureProblem) -> tuple[FloatArray, float]:
    """Return the density that each input has where it is not selected, and that of all together.

    For backgrounds under which inputs are independent; missing inputs are summed out.
    """
    assert isinstance(problem.prior, MixturePrior)
    if problem.background is None:
        return (~np.isnan(problem.z)).sum(axis=0) * problem.log_range, 0.0
    gain = single_evidence(problem.z, problem.prior, problem.prior.surplus(problem.n_inputs))
    return gain, float(gain.sum())


def make_null(problem: MixtureProblem) -> Null:
    """Return the compiled null model of a problem."""
    prior, (n, p) = problem.prior, problem.z.shape
    assert isinstance(prior, MixturePrior)
    gain, offset = (None, 0.0) if problem.background == "gaussian" else gains(problem)
    return Null(p, n, prior.kappa0, prior.surplus(p), prior.psi0, gain, offset)
