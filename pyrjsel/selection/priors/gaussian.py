"""Coefficient priors of gaussian models on the internal scale."""

from dataclasses import dataclass

import numpy as np

from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperG, HyperGN, Mixture, ZellnerSiow
from pyrjsel.selection.priors.spike_slab import SpikeSlab

CoefPrior = GPrior | Normal | Mixture | SpikeSlab

# A column that keeps less than this share of its sum of squares given the others is dependent on them:
# rounding of cross-products leaves about 1e-14, a correlation of 1 - 1e-9 leaves 2e-9.
RANK_TOL = 1e-10


@dataclass(frozen=True)
class GaussianPrior:
    """A coefficient prior on the internal scale, the intercept flat.

    Attributes
    ----------
    kind : {"normal", "unscaled", "g", "mixture", "spike", "unscaled spike"}
        Normal in units of sigma, normal whatever sigma is, a g-prior, a mixture of them; spikes and slabs in
        units of sigma, or whatever sigma is.
    precision, mean : ndarray (D,)
        Of a normal prior, or of spikes; 0 for the others.
    log_weights : ndarray (D,)
        Logarithms of the precisions; 0 for the others.
    g : float
        Of a g-prior.
    mixture : Mixture or None
    rank_tol : float
        Columns that keep no more than this share of their sum of squares given the others are dependent,
        and a model with such columns has no prior; 0 where every model has one.
    flat : bool
        Always True.
    ratio : ndarray (D,) or None
        Variances of slabs over those of spikes.
    """

    kind: str
    precision: FloatArray
    mean: FloatArray
    log_weights: FloatArray
    g: float = np.nan
    mixture: Mixture | None = None
    rank_tol: float = RANK_TOL
    flat: bool = True
    ratio: FloatArray | None = None

    @property
    def numbers(self) -> FloatArray:
        """The kind of the prior, and its numbers that are not precisions of single columns."""
        kinds = ("normal", "unscaled", "g", HyperG, HyperGN, ZellnerSiow, "spike", "unscaled spike")
        kind = next(k for k, known in enumerate(kinds) if known == self.kind or type(self.mixture) is known)
        own = self.g if self.kind == "g" else getattr(self.mixture, "a", 0.0)
        ratio = np.empty(0) if self.ratio is None else self.ratio
        return np.concatenate([[float(kind), own], ratio])

    @classmethod
    def compile(cls, prior: CoefPrior, scale: FloatArray, n: int, owner: str) -> "GaussianPrior":
        """Return `prior` for columns with standard deviations `scale` (D,) over `n` rows.

        Raises
        ------
        ParameterError
            If the intercept's prior is not flat.
        """
        zero = np.zeros(scale.size)
        if isinstance(prior, Mixture):
            return cls("mixture", zero, zero, zero, mixture=prior)
        if isinstance(prior, SpikeSlab) and not scale.size:
            return cls("normal" if prior.scaled else "unscaled", zero, zero, zero, rank_tol=0.0)
        if isinstance(prior, SpikeSlab):
            precision, ratio = prior.compile(scale)
            kind = "spike" if prior.scaled else "unscaled spike"
            return cls(kind, precision, zero, np.log(precision), rank_tol=0.0, ratio=ratio)
        if prior.intercept is not None and prior.intercept != "flat":
            raise bad_value("intercept", type(prior).__name__, f"None or 'flat' for {owner}", prior.intercept)
        if isinstance(prior, GPrior):
            return cls("g", zero, zero, zero, g=prior.value(n))
        unit = np.ones(scale.size) if prior.standardize else scale
        deviation = unit * float(prior.scale)
        return cls(
            "unscaled" if prior.scaled is False else "normal",
            deviation**-2.0,
            unit * float(prior.mean),
            -2.0 * np.log(deviation),
            rank_tol=0.0,
        )
