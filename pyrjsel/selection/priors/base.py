"""Interfaces of coefficient priors: for users, and compiled for the columns of a regression.

Internally columns are centred and scaled, ``x~_k = (x_k - m_k) / s_k``, and the linear predictor is ``a + sum
b_k x~_k``. Users specify a :class:`CoefficientPrior`. For the columns of a regression it is compiled to a
:class:`CompiledPrior`, or to a :class:`GaussianPrior` if there is an error variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import ClassVar, Protocol, Self

import numpy as np

from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel.selection.priors.gaussian import GaussianPrior


@dataclass(frozen=True)
class Columns:
    """Moments of the columns that a prior may use; of the response it may use only the mean.

    Attributes
    ----------
    mean, scale : ndarray (D,)
        Weighted mean and standard deviation of each column (scale 1 for a constant one).
    gram : ndarray (D, D)
        Cross-products of the standardised columns, with the weights of the information of the prior
        (:attr:`CoefficientPrior.of_null_model`), and centred with the same weights.
    total_weight : float
        Sum of the weights; the number of rows if there are none.
    predictors : int
        Number of linear predictors, each of which has a slope for each column.
    level : float or None
        Log mean response (:meth:`Family.level`), at which intercepts have a prior by default; None if their
        default does not depend on it.
    """

    mean: FloatArray
    scale: FloatArray
    gram: FloatArray
    total_weight: float
    level: float | None = None
    predictors: int = 1


class DistributionOfG(Protocol):
    """A prior on g, as integrals over g use it.

    It may depend on the number of rows n and of columns d of a model. The variable of integrals is t, which
    is ``log(g - least)`` with the smallest possible g: log g, if that is 0.
    """

    by_size: ClassVar[bool]
    """Whether it depends on d."""

    @property
    def tail(self) -> float:
        """Power of 1 / g with which the density of log g decreases."""

    @property
    def narrow(self) -> float:
        """Number of columns whose data determine log g as closely as the prior does; 0 if it is wide."""

    @property
    def has_conditional(self) -> bool:
        """Whether g has a full conditional distribution in closed form, which reversible jumps need."""

    def log_g_at(self, t: FloatArray, n: float, d: int, /) -> FloatArray:
        """Return log g at values of t."""

    def density_at(self, t: FloatArray, n: float, d: int, /) -> FloatArray:
        """Return the log prior density of t."""

    def conditional(self, n: float, /) -> tuple[float, float, float]:
        """Return shape, power and unit of the prior as a mixture of gamma distributions of 1 / g."""


class Rule(IntEnum):
    """How g is found for each model, numbered as in ``_problem.pxd``.

    All but the last expand likelihoods at their maxima.
    """

    KNOWN_G = 1
    UNKNOWN_G = 2
    BEST_G = 3
    PENALTY = 4
    BEST_AT_MODES = 5


@dataclass(frozen=True)
class CompiledPrior:
    """A coefficient prior on the internal scale, in a common exponential form.

    With K the `precision` restricted to the columns of a model, intercepts first,

    ``log f(b) = (log det K - d log 2 pi - b'K b) / 2 + shift'b - sum(penalty) / 2``;

    flat intercepts have precision 0 and are excluded from d and from the determinant. If coefficients are
    independent on some scale, log det K is the sum of `log_weights` over the columns, which avoids the
    rounding errors of the matrix for intercepts far from the data. Compiled loops use only this form.

    With a `mixture`, this is the prior at g = 1, K is divided by an unknown g, and the intercept is flat.

    With a `rule`, marginal likelihoods are no integrals over a prior. `at_maxima` they are those of quadratic
    expansions of the log-likelihood at the maximum of each model, whose information takes the place of K,
    which serves for the rank rule and for surrogates alone. Otherwise K is multiplied by the factor at which
    Laplace's approximation is largest.

    Attributes
    ----------
    joint : bool
        Whether the intercept is a column of a g-prior.
    leading : int
        Number of intercepts.
    mixture : DistributionOfG or None
        The prior on g.
    total_weight : float
        Number of rows, on which it may depend.
    rule : Rule or None
        How g is found for each model.
    rule_value : float
        Log g of ``KNOWN_G``, or the penalty of ``PENALTY`` for one coefficient.
    """

    precision: FloatArray
    shift: FloatArray
    penalty: FloatArray
    flat: bool
    rank_tol: float
    log_weights: FloatArray | None = None
    joint: bool = False
    leading: int = 1
    mixture: DistributionOfG | None = None
    total_weight: float = 1.0
    rule: Rule | None = None
    rule_value: float = 0.0

    @property
    def at_maxima(self) -> bool:
        """Whether expansions at the maxima of likelihoods define marginal likelihoods, without an error."""
        return self.rule is not None and self.rule is not Rule.BEST_AT_MODES

    @property
    def typical_log_g(self) -> float:
        """A typical log g of a mixture: that of the unit-information prior."""
        return float(np.log(self.total_weight))

    def given(self, log_g: float) -> "CompiledPrior":
        """Return the prior at a known g."""
        return replace(self, precision=self.precision * np.exp(-log_g), mixture=None, rule=None)

    def rescaled(self, factor: float) -> "CompiledPrior":
        """Return the prior with `factor` times the precision of all coefficients."""
        log_weights = self.log_weights
        if log_weights is not None:
            log_weights = log_weights + np.where(np.diag(self.precision) > 0, np.log(factor), 0.0)
        shift, penalty = factor * self.shift, factor * self.penalty
        return replace(
            self, precision=factor * self.precision, shift=shift, penalty=penalty, log_weights=log_weights
        )

    def times(self, factor: float) -> "CompiledPrior":
        """Return the prior whose precision is multiplied by `factor`, with the same mean."""
        logs = None if self.log_weights is None else self.log_weights + np.log(factor)
        return replace(
            self,
            precision=factor * self.precision,
            shift=factor * self.shift,
            penalty=factor * self.penalty,
            log_weights=logs,
        )

    def stacked(self, across: FloatArray) -> "CompiledPrior":
        """Return the prior of coefficients of L linear predictors, with information `across` (L, L) them.

        Independent coefficients are so across linear predictors too, as are intercepts with priors of their
        own.
        """
        lead = len(across)
        independent = self.log_weights is not None
        precision = np.asarray(np.kron(self.precision, np.eye(lead) if independent else across), float)
        if not self.joint:
            precision[:lead, :lead] = self.precision[0, 0] * np.eye(lead)
        shift, penalty = np.repeat(self.shift, lead), np.repeat(self.penalty, lead)
        logs = None if self.log_weights is None else np.repeat(self.log_weights, lead)
        return replace(
            self, precision=precision, shift=shift, penalty=penalty, log_weights=logs, leading=lead
        )

    def logpdf(self, b: FloatArray, columns: np.ndarray) -> float:
        """Return the log density of coefficients `b` (d,) of `columns` (d,), intercepts first."""
        k = self.precision[np.ix_(columns, columns)]
        flat = self.leading if self.flat else 0
        proper = k[flat:, flat:]
        if self.log_weights is None:
            sign, log_det = np.linalg.slogdet(proper)
            if sign <= 0:
                return -np.inf
        else:
            log_det = self.log_weights[columns[flat:]].sum()
        exponent = -0.5 * b @ k @ b + self.shift[columns] @ b - 0.5 * self.penalty[columns].sum()
        return float(exponent + 0.5 * log_det - 0.5 * proper.shape[0] * np.log(2 * np.pi))


class CoefficientPrior:
    """A prior on the coefficients of a model, as specified by users.

    A subclass has ``_compile`` if it supports families without an error variance, and ``_compile_gaussian``
    if it supports gaussian models; see the registry.
    """

    # Whether the prior depends on the columns of a model by their span alone.
    of_span: ClassVar[bool] = False
    # Whether the prior of the error variance may depend on the number of terms.
    variance_by_size: ClassVar[bool] = False

    @property
    def of_null_model(self) -> bool:
        """Whether the prior uses the information in the fitted null model."""
        return False

    @property
    def shares_g(self) -> bool:
        """Whether g is the same in all models, and found from all of them: then ``at`` gives the prior."""
        return False

    def compile(self, columns: Columns) -> CompiledPrior:
        """Return the prior on the internal scale.

        Parameters
        ----------
        columns : Columns
            Moments of the columns, with cross-products for the `information` of the prior.

        Returns
        -------
        CompiledPrior
            Prior for centred and scaled columns.

        Raises
        ------
        ParameterError
            If a parameter of the prior does not fit the family or the number of rows.
        """
        return self._compile(columns)

    def compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        """Return the prior of a gaussian model on the internal scale.

        Parameters
        ----------
        scale : ndarray (D,)
            Standard deviations of the columns.
        n : int
            Number of rows of positive weight.

        Returns
        -------
        GaussianPrior
            Prior for centred and scaled columns.

        Raises
        ------
        ParameterError
            If the intercept's prior is not flat, or there are too few rows.
        """
        return self._compile_gaussian(scale, n)

    def _compile(self, columns: Columns) -> CompiledPrior:
        raise NotImplementedError(f"{type(self).__name__} is for gaussian models alone")

    def _compile_gaussian(self, scale: FloatArray, n: int) -> GaussianPrior:
        raise NotImplementedError(f"{type(self).__name__} is not for gaussian models")

    def by_column(self, terms: Sequence[tuple[str, Sequence[str]]]) -> Self:
        """Return the prior with one number for each column, if it has parameters of single columns.

        Parameters
        ----------
        terms : sequence of (str, sequence of str)
            Names of the terms, and of the columns of each.

        Returns
        -------
        CoefficientPrior
            The prior itself if it has none.
        """
        return self

    def restrict(self, inside: BoolArray) -> Self:
        """Return the prior restricted to the columns `inside`.

        Parameters
        ----------
        inside : bool array (D,)
            Mask of the columns.

        Returns
        -------
        CoefficientPrior
            The prior itself if it has no parameters of single columns.
        """
        return self
