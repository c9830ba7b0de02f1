"""Priors of gaussian models on the internal scale: what a coefficient prior is compiled to there."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import FloatArray
from pyrjsel.selection.priors._score import GaussianScore

# A column is linearly dependent on others if they leave less than this proportion of its sum of squares:
# rounding of cross-products leaves about 1e-14, a correlation of 1 - 1e-9 leaves 2e-9.
RANK_TOL = 1e-10
# Proportion of a sum of squares below which it is computed from the rows: marginal likelihoods from
# cross-products are then in error by some 1e-8.
DOUBTFUL = 1e-7

# Quadrature rules for 1, 2, ... columns: offsets, nodes and weights.
Rules = tuple[NDArray[np.intc], FloatArray, FloatArray]
NO_RULES: Rules = (np.zeros(2, dtype=np.intc), np.empty(0), np.empty(0))


class Integrals(Protocol):
    """Integrals over g, cached by a regression for its prior."""

    def posterior(self, d: int, odds: float) -> tuple[FloatArray, FloatArray]:
        """Return nodes of log g and their posterior probabilities, at odds R^2 / (1 - R^2)."""

    def integrals(self, d: int, odds: FloatArray) -> FloatArray:
        """Return log marginal likelihoods and moments of shrinkage factors, see ``Shrinkage``."""

    def rule(self, d: int) -> tuple[FloatArray, FloatArray]:
        """Return nodes of the shrinkage factor and their log prior weights."""

    def sample(self, d: int, odds: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw g from its posterior."""


class Sums(Protocol):
    """Properties of a gaussian regression that priors may use."""

    @property
    def nu(self) -> float:
        """Degrees of freedom of the posterior of sigma^2 in the null model."""

    @property
    def total(self) -> float:
        """The sum of squares y'Wy + 2 b."""

    @property
    def rows(self) -> int:
        """Number of rows minus one."""

    @property
    def b(self) -> float:
        """Scale of the prior of sigma^2."""

    @property
    def shrinkage(self) -> Integrals:
        """Integrals over g, for mixtures of g-priors."""


@dataclass(frozen=True)
class GaussianPrior:
    """A coefficient prior of a gaussian model on the internal scale, with a flat intercept.

    This class is a normal prior, with variances that scale with sigma^2 or not; other priors are subclasses.

    Attributes
    ----------
    precision, mean : ndarray (D,)
        Precisions and means of normal priors (of the spikes for a spike and slab); 0 for g-priors.
    log_weights : ndarray (D,)
        Logarithms of the precisions; 0 for g-priors.
    scaled : bool
        Whether prior variances are multiples of sigma^2.
    rank_tol : float
        A column is dependent on others if they leave at most this proportion of its sum of squares, and a
        model with such columns has no prior; 0 if every model has one.
    ratio : ndarray (D,) or None
        Variance ratios of slabs and spikes, with which all columns are in every model.
    """

    precision: FloatArray
    mean: FloatArray
    log_weights: FloatArray
    scaled: bool = True
    ratio: FloatArray | None = None
    rank_tol: ClassVar[float] = 0.0
    flat: ClassVar[bool] = True
    # Whether it is a distribution given sigma^2 and g, and not a rule that depends on the fit of each model.
    proper: ClassVar[bool] = True

    @property
    def in_state(self) -> bool:
        """Whether the state of Gibbs samplers includes sigma^2 and coefficients.

        Otherwise these are integrated out in closed form and drawn afterwards.
        """
        return not self.scaled or self.ratio is not None

    @property
    def given_variance(self) -> bool:
        """Whether models have subsets of the columns, with closed marginal likelihoods only given sigma^2."""
        return not self.scaled and self.ratio is None

    @property
    def quadrature(self) -> bool:
        """Whether marginal likelihoods are integrals over sigma^2 or g.

        They are infinite for perfect fits if p(sigma^2) is improper.
        """
        return not self.scaled

    @property
    def numbers(self) -> tuple[str, list[FloatArray]]:
        """A word and arrays that identify the prior, regardless of its notation."""
        slabs = [] if self.ratio is None else [self.ratio]
        word = "spikes and slabs" if slabs else "normal"
        return word, [self.precision, self.mean, np.array([float(self.scaled)]), *slabs]

    def matrix(self, gram: FloatArray) -> FloatArray:
        """Return the precision (D, D) of all coefficients, at sigma^2 = 1 and an unknown g of 1."""
        return np.diag(self.precision)

    def log_g(self, n: float) -> float:
        """Return a typical log g for `n` rows; 0 if g is not a parameter."""
        return 0.0

    def conditional(self, n: float) -> tuple[float, float, float] | None:
        """Return the conditional distribution of g, see ``Mixture.conditional``; None if g is fixed."""
        return None

    def integrals(self, n: float, nu: float, least: float) -> Integrals:
        """Return integrals over g, for ``1 - R^2`` down to `least`."""
        raise NotImplementedError(f"{type(self).__name__} has no g")

    def score(self, sums: Sums, most: int) -> GaussianScore:
        """Return the score for models of up to `most` columns, for scaled priors."""
        return GaussianScore.conjugate(sums.nu, sums.total)

    def freedom(self, sums: Sums, most: int) -> FloatArray:
        """Return the degrees of freedom of sigma^2 in models of 0, 1, ..., up to `most` columns.

        Those with more than the last number given have as many as the last one.
        """
        return np.array([sums.nu])

    def log_value(self, sums: Sums, d: int, left: float) -> float:
        """Return the score of a model of `d` columns that leave `left` of y'Wy + 2 b, for g-priors."""
        raise NotImplementedError(f"{type(self).__name__} depends on more than the columns' span")

    def shrinkage_nodes(self, sums: Sums, d: int, fit: float, left: float) -> tuple[FloatArray, FloatArray]:
        """Return nodes of the shrinkage factor of a model and their posterior probabilities, (k,).

        `left` is what the fit leaves of y'Wy + 2 b, more accurately than the difference.
        """
        return np.ones(1), np.ones(1)

    def draw_shrinkage(
        self, sums: Sums, d: int, fit: float, left: float, size: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the shrinkage factor of a model of `d` columns from its posterior, (size,)."""
        return np.full(size, self.shrinkage_nodes(sums, d, fit, left)[0][0])

    def rules(self, sums: Sums, most: int) -> Rules:
        """Return quadrature rules over the shrinkage factor for up to `most` columns, if it is unknown."""
        return NO_RULES


@dataclass(frozen=True)
class FixedG(GaussianPrior):
    """A g-prior of a gaussian model.

    Attributes
    ----------
    g : float
    """

    rank_tol: ClassVar[float] = RANK_TOL
    g: float = field(kw_only=True)

    @property
    def numbers(self) -> tuple[str, list[FloatArray]]:
        """A word and arrays that identify the prior, regardless of its notation."""
        return "g", [np.array([self.g])]

    def matrix(self, gram: FloatArray) -> FloatArray:
        """Return the precision (D, D) of all coefficients, at sigma^2 = 1."""
        return gram / self.g

    def score(self, sums: Sums, most: int) -> GaussianScore:
        """Return the score of the prior."""
        return GaussianScore.g_prior(sums.nu, sums.total, self.g)

    def log_value(self, sums: Sums, d: int, left: float) -> float:
        """Return the score of a model that leaves `left` of y'Wy + 2 b."""
        residual = (sums.total + self.g * left) / (1.0 + self.g)
        return float(-0.5 * d * np.log1p(self.g) - 0.5 * sums.nu * np.log(residual))

    def shrinkage_nodes(self, sums: Sums, d: int, fit: float, left: float) -> tuple[FloatArray, FloatArray]:
        """Return the known g / (1 + g)."""
        return np.array([self.g / (1.0 + self.g)]), np.ones(1)
