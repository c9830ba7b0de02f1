"""Interfaces of coefficient priors: for models when they are built, for evidence and loops when they run.

Inside the package columns are centred and scaled, ``x~_k = (x_k - m_k) / s_k``, so that the linear
predictor is ``a + sum b_k x~_k``. A :class:`CoefficientPrior` is what users write. For the columns of a
regression it becomes a :class:`CompiledPrior`, or a :class:`GaussianPrior` where there is an error variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel.selection.priors._score import GaussianScore

# A column that keeps less than this share of its sum of squares given the others is dependent on them:
# rounding of cross-products leaves about 1e-14, a correlation of 1 - 1e-9 leaves 2e-9.
RANK_TOL = 1e-10

# Of 1, 2, ... columns: where quadrature rules begin, nodes and weights.
Rules = tuple[NDArray[np.intc], FloatArray, FloatArray]
NO_RULES: Rules = (np.zeros(2, dtype=np.intc), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Columns:
    """The data as a prior may use them: moments of the columns, and of the response its mean at most.

    Attributes
    ----------
    mean, scale : ndarray (D,)
        Weighted mean and standard deviation of each column (scale 1 for a constant one).
    gram : ndarray (D, D)
        Cross-products of the standardised columns, weighted as the information of the prior asks for
        (:attr:`CoefficientPrior.of_null_model`) and centred by the same weights.
    total_weight : float
        Sum of the weights; the number of rows where there are none.
    """

    mean: FloatArray
    scale: FloatArray
    gram: FloatArray
    total_weight: float


@dataclass(frozen=True)
class CompiledPrior:
    """A coefficient prior on the internal scale: of a model's columns, one exponential form.

    With K the `precision` restricted to the columns of a model, intercept first,

    ``log f(b) = (log det K - d log 2 pi - b'K b) / 2 + shift'b - sum(penalty) / 2``;

    a flat intercept has precision 0 and counts neither in d nor in the determinant. Where coefficients are
    independent on some scale, log det K is the sum of `log_weights` over the columns: taken from there,
    since intercepts far from the data make the matrix lose it to rounding. Compiled loops know this form
    alone, which keeps them free of cases.
    """

    precision: FloatArray
    shift: FloatArray
    penalty: FloatArray
    flat: bool
    rank_tol: float
    log_weights: FloatArray | None = None

    def logpdf(self, b: FloatArray, columns: FloatArray) -> float:
        """Return the log density of coefficients `b` (d,) of `columns` (d,), intercept (0) first."""
        k = self.precision[np.ix_(columns, columns)]
        proper = k[1:, 1:] if self.flat else k
        if self.log_weights is None:
            sign, log_det = np.linalg.slogdet(proper)
            if sign <= 0:
                return -np.inf
        else:
            log_det = self.log_weights[columns[1:] if self.flat else columns].sum()
        exponent = -0.5 * b @ k @ b + self.shift[columns] @ b - 0.5 * self.penalty[columns].sum()
        return float(exponent + 0.5 * log_det - 0.5 * proper.shape[0] * np.log(2 * np.pi))


class Integrals(Protocol):
    """Integrals over g, which a regression keeps for its prior."""

    def posterior(self, d: int, r2: float) -> tuple[FloatArray, FloatArray]:
        """Return nodes of log g and their posterior probabilities."""

    def rule(self, d: int) -> tuple[FloatArray, FloatArray]:
        """Return nodes of the shrinkage factor and their log prior weights."""

    def sample(self, d: int, r2: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw g from its posterior."""


class Sums(Protocol):
    """Properties of a gaussian regression that priors may use."""

    @property
    def nu(self) -> float:
        """Degrees of freedom of the posterior of sigma^2."""

    @property
    def total(self) -> float:
        """The sum of squares y'Wy + 2 b."""

    @property
    def rows(self) -> int:
        """Rows less one."""

    @property
    def b(self) -> float:
        """Scale of the prior of sigma^2."""

    @property
    def shrinkage(self) -> Integrals:
        """Integrals over g, for a prior that has one."""


@dataclass(frozen=True)
class GaussianPrior:
    """A coefficient prior of a gaussian model on the internal scale, the intercept flat.

    As it stands the prior is normal, in units of sigma or whatever sigma is; other priors are subclasses.

    Attributes
    ----------
    precision, mean : ndarray (D,)
        Of the normal law (of spikes that of them); 0 for g-priors.
    log_weights : ndarray (D,)
        Logarithms of the precisions; 0 for g-priors.
    scaled : bool
        Whether prior variances are multiples of sigma^2.
    rank_tol : float
        Columns that keep no more than this share of their sum of squares given the others are dependent,
        and a model with such columns has no prior; 0 where every model has one.
    ratio : ndarray (D,) or None
        Variances of slabs over those of spikes; then all columns are in every model.
    """

    precision: FloatArray
    mean: FloatArray
    log_weights: FloatArray
    scaled: bool = True
    ratio: FloatArray | None = None
    rank_tol: ClassVar[float] = 0.0
    flat: ClassVar[bool] = True

    @property
    def in_state(self) -> bool:
        """Whether Gibbs samplers have sigma^2 and coefficients in their state.

        Under the other priors these are integrated out in closed form, and drawn afterwards.
        """
        return not self.scaled or self.ratio is not None

    @property
    def given_variance(self) -> bool:
        """Whether models have some of the columns, and closed marginal likelihoods given sigma^2 alone."""
        return not self.scaled and self.ratio is None

    @property
    def quadrature(self) -> bool:
        """Whether marginal likelihoods are integrals over sigma^2 or g.

        They are infinite for perfect fits where p(sigma^2) is improper.
        """
        return not self.scaled

    @property
    def numbers(self) -> tuple[str, list[FloatArray]]:
        """A word and arrays that tell the prior from others, however they are written."""
        slabs = [] if self.ratio is None else [self.ratio]
        word = "spikes and slabs" if slabs else "normal"
        return word, [self.precision, self.mean, np.array([float(self.scaled)]), *slabs]

    def matrix(self, gram: FloatArray) -> FloatArray:
        """Return the precision (D, D) of all coefficients, at sigma^2 = 1 and an unknown g of 1."""
        return np.diag(self.precision)

    def log_g(self, n: float) -> float:
        """Return a likely log g over `n` rows; 0 where g is no parameter."""
        return 0.0

    def conditional(self, n: float) -> tuple[float, float, float] | None:
        """Return how g is drawn given the rest, as ``Mixture.conditional`` says; None where it is known."""
        return None

    def integrals(self, n: float, nu: float, least: float) -> Integrals:
        """Return integrals over g, for ``1 - R^2`` down to `least`."""
        raise NotImplementedError(f"{type(self).__name__} has no g")

    def score(self, sums: Sums, most: int) -> GaussianScore:
        """Return the last line of log marginal likelihoods of up to `most` columns, for scaled priors."""
        return GaussianScore.conjugate(sums.nu, sums.total)

    def shrinkage_nodes(self, sums: Sums, d: int, fit: float) -> tuple[FloatArray, FloatArray]:
        """Return nodes of the shrinkage factor of a model and their posterior probabilities, (k,)."""
        return np.ones(1), np.ones(1)

    def draw_shrinkage(
        self, sums: Sums, d: int, fit: float, size: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the shrinkage factor of a model of `d` columns from its posterior, (size,)."""
        return np.full(size, self.shrinkage_nodes(sums, d, fit)[0][0])

    def rules(self, sums: Sums, most: int) -> Rules:
        """Return quadrature rules over the shrinkage factor for up to `most` columns, where it is unknown."""
        return NO_RULES


class CoefficientPrior:
    """A prior on the coefficients of a model, as users write it.

    A subclass has :meth:`compile` if it is known to families without an error variance, and
    :meth:`compile_gaussian` if it is to gaussian models; the registry says which.
    """

    # Whether the error variance may have a prior for each number of terms beside this one.
    variance_by_size: ClassVar[bool] = False

    @property
    def of_null_model(self) -> bool:
        """Whether the prior asks for information in the fitted model of intercept and offset alone."""
        return False

    def compile(self, columns: Columns) -> CompiledPrior:
        """Return the prior on the internal scale.

        Parameters
        ----------
        columns : Columns
            What the prior may know of the data, cross-products for its `information`.

        Returns
        -------
        CompiledPrior
            For columns that are centred and scaled.
        """
        raise NotImplementedError(f"{type(self).__name__} is for gaussian models alone")

    def compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        """Return the prior of a gaussian model on the internal scale.

        Parameters
        ----------
        scale : ndarray (D,)
            Standard deviations of the columns.
        n : int
            Rows of positive weight.

        Returns
        -------
        GaussianPrior
            For columns that are centred and scaled.

        Raises
        ------
        ParameterError
            If the intercept's prior is not flat.
        """
        raise NotImplementedError(f"{type(self).__name__} is not for gaussian models")

    def by_column(self, terms: Sequence[tuple[str, Sequence[str]]]) -> Self:
        """Return the prior with one number for each column, where it has numbers of single columns.

        Parameters
        ----------
        terms : sequence of (str, sequence of str)
            Names of the terms, and of the columns of each.

        Returns
        -------
        CoefficientPrior
            Itself where it has none.
        """
        return self

    def restrict(self, inside: BoolArray) -> Self:
        """Return the prior for those columns that are `inside`.

        Parameters
        ----------
        inside : bool array (D,)
            One a column.

        Returns
        -------
        CoefficientPrior
            Itself where it has no numbers of single columns.
        """
        return self
