"""Regression problems of generalised linear models: standardised columns, response and prior."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._once import kept_property
from pyrjsel._typing import FloatArray, IntArray
from pyrjsel._validate import listed
from pyrjsel.families import Binomial, Family, Nuisance
from pyrjsel.selection.priors.base import CoefficientPrior, Columns, CompiledPrior, Rule
from pyrjsel.selection.regression._problem import Problem, grid_of_g
from pyrjsel.selection.regression.columns import TermColumns, dependent_terms, pairs_of, starts_of

# Rows are combined if their number decreases at least by this factor. A row with a weight takes 1.2 to 1.5
# times as long as one without in a mode search, and up to 1.9 times in an importance integral (measured).
PAYS = 2.0
# Proportion of a column's sum of squares (or precision) that others must leave: of dependent columns rounding
# leaves up to 1e-14 (measured for up to 20,000 rows and 25 columns). Log marginal likelihoods are in error by
# 1e-16 over the proportion.
ROWS_TOL = 1e-12
# An odd number with well-spread bits, for multiplicative hashing of low bits.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Distinct rows, and the distinct row of each row.

    Attributes
    ----------
    first : ndarray of int64 (m,)
        First position of each distinct row.
    codes : ndarray of int64 (n,)
        Number of the distinct row of each row.
    """

    first: IntArray
    codes: IntArray

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sums of `values` (n,) over equal rows, (m,)."""
        return np.bincount(self.codes, values, self.first.size).astype(np.float64, copy=False)

    def merge(self, y: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return weighted mean responses and total weights of equal rows, (m,) each."""
        w = np.ones(y.size) if weights is None else weights
        total = self.sum(w)
        mean = np.divide(self.sum(w * y), total, out=np.zeros(total.size), where=total > 0)
        return mean, total


def equal_rows(x: FloatArray, offset: FloatArray | None, pays: float | None = None) -> EqualRows | None:
    """Return the equal rows of `x` (n, D) and offset, or None if they are not `pays` times fewer.

    None stands for `PAYS`, for which combining them pays.

    Rows are grouped by a 64-bit hash, in O(n D), and then compared: None is returned in case of a collision.
    """
    n, pays = len(x), PAYS if pays is None else pays
    columns = [*x.T] if offset is None else [*x.T, offset]
    mixed = np.zeros(n, dtype=np.uint64)
    for seen, column in enumerate(reversed(columns)):
        # 0 is added since 0.0 and -0.0 are equal with different bits.
        mixed ^= (column + 0.0).view(np.uint64)
        mixed *= SPREAD
        mixed ^= mixed >> np.uint64(32)
        # Quick check: the last column is numeric in most designs, and its distinct values are distinct rows.
        if seen == 0 and pays * len(pd.unique(mixed)) > n:
            return None
    codes, distinct = pd.factorize(mixed)
    if pays * len(distinct) > n:
        return None
    first = np.empty(len(distinct), dtype=np.int64)
    first[codes[::-1]] = np.arange(n - 1, -1, -1)
    if not all(np.array_equal(column, column[first][codes]) for column in columns):
        return None
    return EqualRows(first, codes.astype(np.int64))


def null_information(
    family: Family, columns: FloatArray, y: FloatArray, weights: FloatArray, offset: FloatArray | None = None
) -> FloatArray:
    """Return ``X'W0 X`` (D, D) of `columns` (D, n) centred by W0, the weights of the fitted null model.

    Raises
    ------
    DataError
        If W0 is 0 in all rows, as if the offset determines the response.
    """
    # mathematics: selection-null
    linear = family.null_predictor(y, weights, offset)
    w0 = family.working(y, linear, weights)[1]
    total = float(w0.sum())
    if not 0.0 < total < np.inf:
        raise DataError(
            "The model of intercept and offset alone has no information, since its fitted responses have no "
            "variance: the offset determines the response. Scale the offset, or use a coefficient prior that "
            "does not ask for that model, such as GPrior('4n')."
        )
    centred = columns if offset is None else columns - (columns @ w0 / total)[:, None]
    gram = np.asarray((centred * w0) @ centred.T)
    pooled = family.pooled(centred, y, linear)
    if pooled is not None:
        whole = np.diag(gram)
        gram = gram - pooled @ pooled.T
        constant = np.diag(gram) <= 1e-12 * whole  # in each risk set, up to rounding
        gram[constant] = 0.0
        gram[:, constant] = 0.0
    # A column may be constant up to rounding on the rows of positive weight.
    largest = np.max(np.abs(columns), axis=1, initial=0.0)
    constant = np.sqrt(np.diag(gram) / total) <= 1e-13 * largest
    gram[constant] = 0.0
    gram[:, constant] = 0.0
    return gram


def stacked_columns(columns: FloatArray, predictors: int) -> FloatArray:
    """Return `columns` (D + 1, n) for each of L linear predictors, (L (D + 1), L n)."""
    out = np.zeros((len(columns), predictors, predictors, columns.shape[1]))
    for k in range(predictors):
        out[:, k, k] = columns
    return out.reshape(len(columns) * predictors, -1)


@dataclass(frozen=True)
class Regression(TermColumns):
    """A regression problem: standardised columns, response and coefficient prior.

    Attributes
    ----------
    columns : ndarray (D + 1, n)
        The constants of intercepts, then the standardised columns of the design. With L linear predictors of
        a row, all rows of the first come before those of the second, and so on: n is the number of all of
        them, and each column is zero in the rows of others than its own.
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
        family = family.for_rows(y, weights, offset)
        saturated, log_constant = family.saturated(y, weights), family.log_constant(y, weights)
        equal = equal_rows(x, offset) if family.combines else None
        if equal is not None:
            y, weights = equal.merge(y, weights)
            x, offset = x[equal.first], None if offset is None else offset[equal.first]
        order = family.order(y)
        if order is not None:
            y, x = y[order], x[order]
            weights, offset = (None if each is None else each[order] for each in (weights, offset))
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
        # With a scale the information of the null model is that of the columns, in units of the scale.
        lead, null = family.predictors, coef_prior.of_null_model and not family.scaled
        if null and lead == 1:
            gram = null_information(family, columns[1:], y, w, offset)
        else:
            gram = (columns[1:] * w) @ columns[1:].T
        level = family.level(y, w, np.zeros(n) if offset is None else offset)
        prior = coef_prior.compile(Columns(mean, scale, gram, family.observations(y, weights), level, lead))
        if prior.rule is Rule.PENALTY and not family.has_intercept:
            log_constant = prior.rule_value  # an intercept that is not there costs nothing
        if lead > 1:
            prior = prior.stacked(family.across(y, w, null))
            y, columns = family.responses(y).ravel(), stacked_columns(columns, lead)
            weights, offset = (None if each is None else np.tile(each, lead) for each in (weights, offset))
            mean, scale = np.repeat(mean, lead), np.repeat(scale, lead)
        if family.scaled:
            prior = prior.times(family.size**-2.0)
        if prior.rank_tol > 0:
            prior = replace(prior, rank_tol=ROWS_TOL)
        if family.expanded and prior.rule is not None:
            unknown = listed(family.expanded)
            raise NotAvailableError(
                f"A {family.name} model with an unknown {unknown} supports Normal priors, GPrior and "
                "mixtures of g-priors without information='observed', and EmpiricalBayes('global', "
                f"information='null'). Got {coef_prior!r}: use one of these, or give {unknown}."
            )
        return cls(
            columns,
            mean,
            scale,
            y,
            np.zeros(y.size) if offset is None else offset,
            None if weights is None or np.all(weights == 1) else weights,
            starts_of(sizes, lead),
            prior,
            saturated,
            family,
            log_constant,
        )

    @property
    def row_weights(self) -> FloatArray:
        """The weights, ones if there are none."""
        return np.ones(self.y.size) if self.weights is None else self.weights

    @property
    def nuisance(self) -> Nuisance:
        """Parameters of the states of chains besides coefficients: log g under a mixture of g-priors."""
        inner = () if self.prior.mixture is None else ("log_g",)
        return replace(self.family.nuisance, inner=inner)

    @kept_property
    def compiled(self) -> Problem:
        """The same arrays for compiled loops."""
        wy, w, offset = self.family.rows(self.y, self.weights, self.offset)
        return Problem(
            columns=self.columns,
            wy=wy,
            w=w,
            offset=offset,
            term_start=self.term_start,
            precision=np.ascontiguousarray(self.prior.precision),
            shift=self.prior.shift,
            penalty=self.prior.penalty,
            family=self.family.passes,
            flat=self.prior.flat,
            log_weights=self.prior.log_weights,
            intercepts=self.family.starts(self.y, self.offset, self.row_weights),
            rank_tol=self.prior.rank_tol,
            typical_g=self.prior.typical_log_g,
            rule=self.prior.rule or 0,
            rule_value=self.prior.rule_value,
            **self._grid_of_g(),
        )

    def _grid_of_g(self) -> dict[str, Any]:
        """Return the prior of g on the grid of compiled loops; empty if g is known."""
        prior, t = self.prior.mixture, grid_of_g()
        if prior is None:
            return {}
        # A row for each number of columns besides the intercept; that for none is not used.
        sizes = [max(d, 1) for d in range(self.n_columns if prior.by_size else 1)]
        n = self.prior.total_weight
        return {
            "g_columns": prior.narrow,
            "log_prior_g": np.stack([prior.density_at(t, n, d) for d in sizes]),
            "log_g": np.stack([prior.log_g_at(t, n, d) for d in sizes]),
        }

    def first(self) -> tuple["Regression", FloatArray]:
        """Return the regression for starting modes of chains, and the other parameters of states."""
        found, values = self, np.empty(0)
        if self.family.expanded:
            known, values = self.family.known()
            found = replace(found, family=known)
        if self.prior.mixture is None:
            return found, values
        log_g = self.prior.typical_log_g
        return replace(found, prior=self.prior.given(log_g)), np.append(values, log_g)

    def scores(self) -> FloatArray:
        """Return the score statistic of each column (D,) in the null model.

        For a column without effect, approximately chi-squared with one degree of freedom; 0 for constant
        columns.
        """
        x, y, w = self.columns[self.leading :], self.y, self.row_weights
        linear = self.family.null_predictor(y, w, self.offset)
        residual, w0 = self.family.working(y, linear, w)
        pooled = self.family.pooled(x, y, linear)
        with np.errstate(invalid="ignore", divide="ignore"):
            less = (x @ w0) ** 2 / w0.sum() if pooled is None else np.sum(pooled**2, axis=1)
            information = x**2 @ w0 - less
        known = information > 1e-12 * w0.sum()  # columns have variance 1, or 0 up to rounding
        score = x @ residual
        return np.where(known, score**2 / np.where(known, information, 1.0), 0.0)

    def least_power(self, max_size: int) -> float:
        """Return the t above which powers t of posteriors of at most `max_size` terms are integrable.

        Only a scale of errors s limits it. As it goes to infinity, the likelihood of n rows is s^-n, the
        prior of d scaled coefficients s^-d, and their posteriors and that of the intercept are as wide as s:
        the integral over log s of s^(d + 1 - t (n + d)) must exist.
        """
        # mathematics: jumps-least-power
        if not (self.family.expanded and self.family.scaled):
            return 0.0
        d = self.widest(max_size) - 1
        return (d + 1.0) / (self.y.size + d)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("compiled", None)  # raw pointers; recreated when needed
        return state

    def widest(self, max_size: int) -> int:
        """Return the largest number of columns, with intercept, of a model of `max_size` terms with a prior.

        Under a g-prior that is at most the number of rows.
        """
        sizes = np.sort(np.diff(self.term_start))[::-1]
        most = self.leading + int(sizes[:max_size].sum())
        return min(most, self.y.size) if self.prior.rank_tol > 0 else most

    def gram_of(self, columns: np.ndarray) -> FloatArray:
        """Return X'WX (..., d, d) of some `columns` (..., d), numbered without the intercept."""
        x = self.columns[columns + self.leading]
        return (x if self.weights is None else x * self.weights) @ x.swapaxes(-1, -2)

    @property
    def most_columns(self) -> int:
        """Largest number of independent columns besides the intercept."""
        return self.y.size - self.leading

    def rank_gram(self, columns: np.ndarray) -> FloatArray:
        """Return the cross-products (..., d, d) of `columns` (..., d) for the rank rule.

        For a g-prior, its precision, with weights that can be 0 for rows of positive weight.
        """
        if self.prior.rank_tol == 0:
            return self.gram_of(columns)
        return pairs_of(self.prior.precision, columns + self.leading)

    @property
    def least_share(self) -> float:
        """Proportion of a sum of squares that is due to rounding of cross-products."""
        return ROWS_TOL

    def rank_rows(self, columns: np.ndarray) -> None:
        """Return None: compiled loops have the precision of a g-prior, and no rows of it."""

    @property
    def rank_squares(self) -> FloatArray:
        """Sums of squares of all columns in the same, (D,)."""
        if self.prior.rank_tol == 0:
            x = self.columns[self.leading :]
            return np.einsum("ij,ij->i", x, x if self.weights is None else x * self.weights)
        return np.diag(self.prior.precision)[self.leading :]

    def dependent(self) -> list[int]:
        """Return the terms with columns in a linear dependence."""
        return dependent_terms(self)

    def loglik(self, b: FloatArray) -> float:
        """Return the log-likelihood at internal coefficients `b` (D + 1,)."""
        return self.family.log_likelihood(self.y, self.offset + b @ self.columns, self.weights)
