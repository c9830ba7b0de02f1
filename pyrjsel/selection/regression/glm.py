"""Regression problems of generalised linear models: standardised columns, response and prior."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray
from pyrjsel.families import Binomial, Family, Nuisance
from pyrjsel.selection.priors.base import CoefficientPrior, Columns, CompiledPrior
from pyrjsel.selection.regression._problem import Problem
from pyrjsel.selection.regression.layout import TermColumns
from pyrjsel.selection.regression.null_model import null_information, null_intercept
from pyrjsel.selection.regression.rank import dependent_terms
from pyrjsel.selection.regression.replicates import equal_rows


@dataclass(frozen=True)
class Regression(TermColumns):
    """A regression problem: standardised columns, response and coefficient prior.

    Attributes
    ----------
    columns : ndarray (D + 1, n)
        The constant of the intercept, then the standardised columns of the design.
    mean, scale : ndarray (D,)
        Means and standard deviations of the columns.
    y, offset : ndarray (n,)
    weights : ndarray (n,) or None
    term_start : int32 array (J + 1,)
        Term j has the rows ``term_start[j]:term_start[j + 1]`` of `columns`.
    prior : CompiledPrior
    saturated : float
        Log-likelihood of the saturated model, for the original rows.
    family : Family
    log_constant : float
        Constant omitted in the log-likelihood, for the original rows: logs of binomial coefficients, or minus
        those of factorials of counts.

    Notes
    -----
    Rows with equal columns and offset are combined if that pays (see `EqualRows`): `y` is then their mean
    response and the weight the sum of their weights, with the same likelihood.
    """

    columns: FloatArray
    mean: FloatArray
    scale: FloatArray
    y: FloatArray
    offset: FloatArray
    weights: FloatArray | None
    term_start: NDArray[np.intc]
    prior: CompiledPrior
    saturated: float
    family: Family = field(default_factory=Binomial)
    log_constant: float = 0.0

    @classmethod
    def build(
        cls,
        x: FloatArray,
        y: FloatArray,
        sizes: list[int],
        coef_prior: CoefficientPrior,
        *,
        weights: FloatArray | None = None,
        offset: FloatArray | None = None,
        family: Family | None = None,
    ) -> "Regression":
        """Standardise the columns `x` (n, D), of which term j has ``sizes[j]``, and compile the prior."""
        family = Binomial() if family is None else family
        saturated, log_constant = family.saturated(y, weights), family.log_constant(y, weights)
        equal = equal_rows(x, offset)
        if equal is not None:
            y, weights = equal.merge(y, weights)
            x, offset = x[equal.first], None if offset is None else offset[equal.first]
        n, size = x.shape
        w = np.ones(n) if weights is None else weights
        total = float(w.sum())
        mean = w @ x / total
        columns = np.empty((size + 1, n))
        columns[0] = 1.0
        np.subtract(x.T, mean[:, None], out=columns[1:])
        scale = np.sqrt(columns[1:] ** 2 @ w / total)
        constant = scale <= 1e-13 * np.max(np.abs(x), axis=0, initial=0.0)
        scale[constant] = 1.0
        columns[1:][constant] = 0.0
        columns[1:] /= scale[:, None]
        if coef_prior.of_null_model:
            gram = null_information(family, columns[1:], y, w, offset)
        else:
            gram = (columns[1:] * w) @ columns[1:].T
        prior = coef_prior.compile(Columns(mean, scale, gram, total))
        return cls(
            columns,
            mean,
            scale,
            y,
            np.zeros(n) if offset is None else offset,
            None if weights is None or np.all(weights == 1) else weights,
            np.concatenate([[1], 1 + np.cumsum(sizes)]).astype(np.intc),
            prior,
            saturated,
            family,
            log_constant,
        )

    @property
    def nuisance(self) -> Nuisance:
        """Parameters of the states of chains besides coefficients."""
        return self.family.nuisance

    @kept_property
    def compiled(self) -> Problem:
        """The same arrays for compiled loops."""
        w = self.weights
        return Problem(
            columns=self.columns,
            wy=self.y if w is None else w * self.y,
            w=w,
            offset=self.offset,
            term_start=self.term_start,
            precision=np.ascontiguousarray(self.prior.precision),
            shift=self.prior.shift,
            penalty=self.prior.penalty,
            family=self.family.passes,
            flat=self.prior.flat,
            log_weights=self.prior.log_weights,
            intercept=self.family.intercept(self.y, self.offset, np.ones(self.y.size) if w is None else w),
            rank_tol=self.prior.rank_tol,
        )

    def first(self) -> tuple["Regression", FloatArray]:
        """Return the regression for starting modes of chains, and the other parameters of states."""
        return self, np.empty(0)

    def scores(self) -> FloatArray:
        """Return the score statistic of each column (D,) in the null model.

        For a column without effect, approximately chi-squared with one degree of freedom; 0 for constant
        columns.
        """
        x, y = self.columns[1:], self.y
        w = np.ones(y.size) if self.weights is None else self.weights
        mean = self.family.mean(null_intercept(self.family, y, w, self.offset) + self.offset)
        w0 = w * self.family.curvature(mean)
        with np.errstate(invalid="ignore", divide="ignore"):
            information = x**2 @ w0 - (x @ w0) ** 2 / w0.sum()
        known = information > 1e-12 * w0.sum()  # columns have variance 1, or 0 up to rounding
        score = x @ (w * self.family.score(y, mean))
        return np.where(known, score**2 / np.where(known, information, 1.0), 0.0)

    def least_power(self, max_size: int) -> float:
        """Return the t above which powers t of posteriors of at most `max_size` terms are integrable."""
        return 0.0

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("compiled", None)  # raw pointers; recreated when needed
        return state

    def widest(self, max_size: int) -> int:
        """Return the largest number of columns, with intercept, of a model of `max_size` terms with a prior.

        Under a g-prior that is at most the number of rows.
        """
        sizes = np.sort(np.diff(self.term_start))[::-1]
        most = 1 + int(sizes[:max_size].sum())
        return min(most, self.y.size) if self.prior.rank_tol > 0 else most

    def gram_of(self, columns: np.ndarray) -> FloatArray:
        """Return X'WX of some columns, (d, d), numbered without the intercept."""
        x = self.columns[columns + 1]
        return (x if self.weights is None else x * self.weights) @ x.T

    @property
    def most_columns(self) -> int:
        """Largest number of independent columns besides the intercept."""
        return self.y.size - 1

    def rank_gram(self, columns: np.ndarray) -> FloatArray:
        """Return the cross-products (d, d) of columns for the rank rule.

        For a g-prior, its precision, with weights that can be 0 for rows of positive weight.
        """
        if self.prior.rank_tol == 0:
            return self.gram_of(columns)
        return self.prior.precision[np.ix_(columns + 1, columns + 1)]

    def dependent(self) -> list[int]:
        """Return the terms with columns in a linear dependence."""
        return dependent_terms(self)

    def loglik(self, b: FloatArray) -> float:
        """Return the log-likelihood at internal coefficients `b` (D + 1,)."""
        return self.family.log_likelihood(self.y, self.offset + b @ self.columns, self.weights)
