"""Regressions of generalised linear models whose rows come in chunks: sums over rows, pass by pass."""

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel.design import DesignData, Reduced, RowReader, Work
from pyrjsel.families import NONE, Family, Nuisance
from pyrjsel.families._family import derivatives, log_likelihoods
from pyrjsel.selection.priors.base import CoefficientPrior, Columns, CompiledPrior
from pyrjsel.selection.regression.columns import TermColumns, dependent_terms, pairs_of
from pyrjsel.selection.regression.glm import PAYS, Regression
from pyrjsel.selection.regression.sufficient_statistics import SufficientStatistics
from pyrjsel.selection.regression.summed_rows import ChunkSums, SummedRows

# Largest number of distinct rows that are kept, as counts, in place of passes.
MOST_DISTINCT = 20_000
# Products of pairs of columns are formed for blocks of rows of about this many numbers.
NUMBERS = 2**19
# Largest number of columns: information matrices of many models are kept.
MOST_COLUMNS = 200
# Passes that find the intercept of the null model, if there is an offset, and its precision.
MOST_NULL, NULL_STEP = 60, 1e-9


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct rows with the sums over equal ones.

    Attributes
    ----------
    rows : ndarray (m, D + 1)
        Columns of the design, and the offset, in the order of their first occurrence.
    weight, response : ndarray (m,)
        Sums of weights, and of weighted responses.
    """

    rows: FloatArray
    weight: FloatArray
    response: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, weight: FloatArray, response: FloatArray) -> "DistinctRows | None":
        """Sum over equal rows; None if there are more than 20,000 distinct ones."""
        if any(len(pd.unique(column)) > MOST_DISTINCT for column in rows.T):
            return None
        frame = pd.DataFrame(rows + 0.0)  # 0.0 and -0.0 are equal
        codes = frame.groupby(list(frame), sort=False).ngroup().to_numpy()
        size = int(codes.max(initial=-1)) + 1
        if size > MOST_DISTINCT:
            return None
        first = np.empty(size, dtype=np.int64)
        first[codes[::-1]] = np.arange(len(rows) - 1, -1, -1)
        sums = [np.bincount(codes, each, size).astype(np.float64, copy=False) for each in (weight, response)]
        return cls(rows[first], sums[0], sums[1])

    def merge(self, other: "DistinctRows") -> "DistinctRows | None":
        """Return the distinct rows of both."""
        pairs = zip(
            (self.rows, self.weight, self.response), (other.rows, other.weight, other.response), strict=True
        )
        return DistinctRows.of(*(np.concatenate(pair) for pair in pairs))

    def regression(self, sizes: list[int], prior: CoefficientPrior, family: Family) -> Regression:
        """Return the regression of the rows in memory."""
        mean = np.divide(self.response, self.weight, out=np.zeros(len(self.rows)), where=self.weight > 0)
        offset = np.ascontiguousarray(self.rows[:, -1])
        return Regression.build(
            np.asfortranarray(self.rows[:, :-1]),
            mean,
            sizes,
            prior,
            weights=self.weight,
            offset=offset if offset.any() else None,
            family=family,
        )


@dataclass(frozen=True, eq=False)
class GeneralisedSums(ChunkSums):
    """Sums over the rows of a chunk for a generalised linear model.

    Attributes
    ----------
    ends : ndarray (2, 2)
        Smallest and largest response of positive weight, each with its weight.
    zeros : float
        Weight of the responses of 0.
    saturated, log_constant : float
        Sums of what :class:`Family` says of single rows.
    """

    ends: FloatArray = field(default_factory=lambda: np.zeros((2, 2)))
    zeros: float = 0.0
    saturated: float = 0.0
    log_constant: float = 0.0


@dataclass(frozen=True, eq=False)
class FirstPass:
    """Sums over the rows of a chunk, and its distinct rows if these are few."""

    sums: GeneralisedSums
    distinct: DistinctRows | None

    @classmethod
    def of(cls, data: DesignData, family: Family, response: str) -> "FirstPass":
        """Return the sums over the rows of `data`.

        Raises
        ------
        DataError
            If responses or weights cannot be used.
        """
        weights, offset = data.extras.get("weights"), data.extras.get("offset")
        w = np.ones(data.n) if weights is None else weights
        # What is required of all rows together, such as both classes, holds with these two.
        family.check(
            np.append(data.y, [0.0, 1.0]), None if weights is None else np.append(w, [1.0, 1.0]), response
        )
        base = ChunkSums.of(data)
        used = np.flatnonzero(w > 0) if np.any(w > 0) else np.arange(data.n)
        ends = [used[np.argmin(data.y[used])], used[np.argmax(data.y[used])]]
        sums = GeneralisedSums(
            base.statistics,
            base.response,
            base.largest,
            base.extras,
            np.stack([data.y[ends], w[ends]], axis=1),
            float(w[data.y == 0].sum()),
            family.saturated(data.y, weights),
            family.log_constant(data.y, weights),
        )
        rows = np.column_stack([data.X, np.zeros(data.n) if offset is None else offset])
        return cls(sums, DistinctRows.of(rows, w, w * data.y))

    def merge(self, other: "FirstPass") -> "FirstPass":
        """Return the sums over the rows of both."""
        one, two = self.sums, other.sums
        base = ChunkSums.merge(one, two)
        ends = np.concatenate([one.ends, two.ends])
        usable = ends[:, 1] > 0
        ends = ends[usable] if usable.any() else ends
        distinct = None
        if self.distinct is not None and other.distinct is not None:
            distinct = self.distinct.merge(other.distinct)
        sums = GeneralisedSums(
            base.statistics,
            base.response,
            base.largest,
            base.extras,
            ends[[np.argmin(ends[:, 0]), np.argmax(ends[:, 0])]],
            one.zeros + two.zeros,
            one.saturated + two.saturated,
            one.log_constant + two.log_constant,
        )
        return FirstPass(sums, distinct)


def first_pass(family: Family, response: str) -> Work[FirstPass]:
    """Return the reduction of the first pass."""
    return Work(partial(FirstPass.of, family=family, response=response), FirstPass.merge)


@dataclass(frozen=True, eq=False)
class ChunkedRows(SummedRows):
    """Rows of a generalised linear model in chunks: their sums, and what reads them again.

    Attributes
    ----------
    reader : RowReader
    inside : ndarray of int64 (D,)
        Columns in use, out of those that the reader computes.
    distinct : DistinctRows or None
        All rows as counts of distinct ones, if these are few.
    """

    sums: GeneralisedSums
    reader: RowReader
    inside: IntArray
    distinct: DistinctRows | None

    def facts(self, family: Family) -> list[tuple[str, str]]:
        """Return labels and values that describe the response in a summary."""
        total, mean = self.sums.response.weight, float(self.sums.response.mean[0])
        rest = total - self.sums.zeros
        # As rows of 0 and rows of the mean of the others.
        return family.facts(np.array([0.0, mean * total / rest]), np.array([self.sums.zeros, rest]))

    def regression(
        self, sizes: list[int], prior: CoefficientPrior, family: Family
    ) -> "Regression | ChunkedRegression":
        """Return the regression: of distinct rows in memory if these are few."""
        if self.distinct is None:
            return ChunkedRegression.build(self, sizes, prior, family)
        found = self.distinct.regression(sizes, prior, family)
        return replace(found, saturated=self.sums.saturated, log_constant=self.sums.log_constant)

    @classmethod
    def read(cls, reduced: Reduced[FirstPass]) -> "ChunkedRows":
        """Return the rows of a first pass."""
        found = reduced.value
        distinct = found.distinct
        if distinct is not None and PAYS * len(distinct.rows) > reduced.n:
            distinct = None
        return cls(
            found.sums,
            reduced.n,
            reduced.n_rows,
            reduced.missing,
            reduced.n_dropped,
            reduced.reader,
            np.arange(found.sums.statistics.mean.size - 1),
            distinct,
        )

    def restrict(self, inside: BoolArray) -> "ChunkedRows":
        """Return the same rows with the columns `inside` (D,)."""
        base = super().restrict(inside)
        distinct = self.distinct
        if distinct is not None:
            rows = distinct.rows[:, np.append(inside, True)]
            distinct = DistinctRows.of(rows, distinct.weight, distinct.response)
        sums = cast(GeneralisedSums, base.sums)
        return replace(self, sums=sums, inside=self.inside[inside], distinct=distinct)


# ---------------------------------------------------------------------- passes


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Log-likelihoods with their derivatives at m points.

    Attributes
    ----------
    value : ndarray (m,)
    gradient : ndarray (m, D + 1)
    information : ndarray (m, P)
        Lower triangles of minus the second derivatives, row by row.
    ends : ndarray (m, 2)
        Smallest and largest linear predictor.
    """

    value: FloatArray
    gradient: FloatArray
    information: FloatArray
    ends: FloatArray

    def merge(self, other: "Derivatives") -> "Derivatives":
        """Return the sums over the rows of both."""
        low, high = np.minimum(self.ends, other.ends), np.maximum(self.ends, other.ends)
        return Derivatives(
            self.value + other.value,
            self.gradient + other.gradient,
            self.information + other.information,
            np.stack([low[:, 0], high[:, 1]], axis=1),
        )


@dataclass(frozen=True, eq=False)
class _Columns:
    """The standardisation of columns in each chunk."""

    inside: IntArray
    mean: FloatArray
    scale: FloatArray
    zero: BoolArray
    family: Family

    def blocks(
        self, data: DesignData, size: int
    ) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Return columns (n, D + 1), weighted responses, weights and offsets of blocks of `size` rows."""
        w = data.extras.get("weights", np.ones(data.n))
        offset = data.extras.get("offset", np.zeros(data.n))
        found = []
        for at in range(0, data.n, size):
            some = slice(at, at + size)
            x = np.empty((len(w[some]), self.mean.size + 1))
            x[:, 0] = 1.0
            x[:, 1:] = (data.X[some][:, self.inside] - self.mean) / self.scale
            x[:, 1:][:, self.zero] = 0.0
            wy, weight, shift = self.family.rows(data.y[some], w[some], offset[some])
            assert weight is not None
            found.append((x, np.ascontiguousarray(wy), np.ascontiguousarray(weight), shift))
        return found


def _derivatives(data: DesignData, columns: _Columns, points: FloatArray) -> Derivatives:
    """Return the derivatives over the rows of a chunk at `points` (m, D + 1)."""
    m, width = points.shape
    low, high = np.tril_indices(width)
    size = max(64, NUMBERS // max(low.size, 4 * m))
    total: Derivatives | None = None
    for x, wy, w, offset in columns.blocks(data, size):
        eta = points @ x.T + offset
        value, residual, weight = derivatives(columns.family.passes, np.ascontiguousarray(eta), wy, w)
        information = weight @ (x[:, low] * x[:, high])
        ends = np.stack([eta.min(axis=1), eta.max(axis=1)], axis=1)
        part = Derivatives(value, residual @ x, information, ends)
        total = part if total is None else total.merge(part)
    assert total is not None
    return total


def _values(data: DesignData, columns: _Columns, points: FloatArray) -> FloatArray:
    """Return log-likelihoods (m,) over the rows of a chunk at `points` (m, D + 1)."""
    m = len(points)
    total, one = np.zeros(m), np.zeros(m)
    for x, wy, w, offset in columns.blocks(data, max(64, NUMBERS // m)):
        eta = np.ascontiguousarray(points @ x.T + offset)
        total += log_likelihoods(columns.family.passes, eta, wy, w, np.zeros(len(w)), one)
    return total


def _null(data: DesignData, family: Family, a: float) -> tuple[float, SufficientStatistics]:
    """Return the score of the intercept `a` of the null model, and the statistics weighted by information."""
    w, offset = data.extras.get("weights", np.ones(data.n)), data.extras["offset"]
    mean = family.mean(a + offset)
    score = float(w @ family.score(data.y, mean))
    return score, SufficientStatistics.of(data.X, data.y, w * family.curvature(mean))


def _add_null(
    one: tuple[float, SufficientStatistics], two: tuple[float, SufficientStatistics]
) -> tuple[float, SufficientStatistics]:
    return one[0] + two[0], one[1].merge(two[1])


def _add(one: FloatArray, two: FloatArray) -> FloatArray:
    return one + two


def _null_statistics(
    family: Family, rows: ChunkedRows, start: float
) -> tuple[float, SufficientStatistics, int]:
    """Return the intercept of the null model beside the offset, its statistics, and the number of passes.

    Newton's method within a bracket, see :meth:`Family.null_intercept`.
    """
    ends = rows.sums.extras["offset"]
    low, high = start - float(ends[1]) - 1.0, start - float(ends[0]) + 1.0
    a = start - float(rows.sums.response.mean[0] - rows.sums.statistics.mean[-1])
    for number in range(1, MOST_NULL + 1):
        score, found = rows.reader.reduce(Work(partial(_null, family=family, a=a), _add_null))
        if not 0.0 < found.weight < np.inf:
            raise DataError(
                "The model of intercept and offset alone has no information: the offset determines the "
                "response. Scale the offset, or use a coefficient prior such as GPrior('4n')."
            )
        step = score / found.weight
        if abs(step) <= NULL_STEP:
            return a, found, number
        low, high = (a, high) if step > 0 else (low, a)
        a = a + step if low < a + step < high else 0.5 * (low + high)
    raise DataError(
        "The intercept of the model of intercept and offset alone was not found: scale the offset."
    )


@dataclass(frozen=True, eq=False)
class ChunkedRegression(TermColumns):
    """A generalised linear regression whose rows are read again in each pass.

    Attributes
    ----------
    mean, scale : ndarray (D,)
    term_start : int32 array (J + 1,)
    prior : CompiledPrior
    family : Family
    n : int
        Number of rows.
    gram : ndarray (D, D)
        Cross-products of the standardised columns.
    zero : bool array (D,)
        Constant columns.
    intercept : float
        Intercept of the null model, without an offset.
    passes : int
        Number of passes that were needed so far.
    saturated, log_constant : float
        As of :class:`Regression`.
    rows : ChunkedRows
    """

    mean: FloatArray
    scale: FloatArray
    term_start: NDArray[np.intc]
    prior: CompiledPrior
    family: Family
    n: int
    gram: FloatArray
    zero: BoolArray
    intercept: float
    passes: int
    saturated: float
    log_constant: float
    rows: ChunkedRows

    chunked: ClassVar[bool] = True

    @classmethod
    def build(
        cls, rows: ChunkedRows, sizes: list[int], coef_prior: CoefficientPrior, family: Family
    ) -> "ChunkedRegression":
        """Standardise the columns and compile the prior; an offset needs passes for the null model.

        Raises
        ------
        NotAvailableError
            For more than 200 columns, and for mixtures of g-priors and rules.
        """
        sums = rows.sums
        assert isinstance(sums, GeneralisedSums)
        statistics = sums.statistics
        width = statistics.mean.size - 1
        if width > MOST_COLUMNS:
            raise NotAvailableError(
                f"Data in chunks support at most {MOST_COLUMNS} columns of the design, unless few rows are "
                f"distinct. Got {width}: use fewer terms, or a DataFrame."
            )
        total, mean = statistics.weight, statistics.mean[:-1]
        products = statistics.products[:-1, :-1]
        scale = np.sqrt(np.diag(products) / total)
        zero = scale <= 1e-13 * sums.largest[:-1]
        scale = np.where(zero, 1.0, scale)
        event = float(sums.response.mean[0])
        intercept, passes, null = family.linear(event), 1, None
        if "offset" in sums.extras:
            intercept, null, more = _null_statistics(family, rows, intercept)
            passes += more
        gram = _standard(products, scale, zero)
        information = gram
        if coef_prior.of_null_model:
            if null is None:
                information = float(family.curvature(np.array([event]))[0]) * gram
            else:
                inside = np.append(rows.inside, -1)
                information = _standard(null.products[np.ix_(inside, inside)][:-1, :-1], scale, zero)
        prior = coef_prior.compile(Columns(mean, scale, information, total))
        if prior.mixture is not None or prior.rule is not None:
            raise NotAvailableError(
                "Data in chunks support Normal priors, and GPrior with a known g, unless few rows are "
                f"distinct. Got {coef_prior!r}: use one of these, or a DataFrame."
            )
        return cls(
            mean,
            scale,
            np.concatenate([[1], 1 + np.cumsum(sizes)]).astype(np.intc),
            prior,
            family,
            statistics.n,
            gram,
            zero,
            intercept,
            passes,
            sums.saturated,
            sums.log_constant,
            rows,
        )

    @property
    def nuisance(self) -> Nuisance:
        """No parameters besides coefficients."""
        return NONE

    @property
    def most_columns(self) -> int:
        """Largest number of independent columns besides the intercept."""
        return self.n - 1

    def gram_of(self, columns: np.ndarray) -> FloatArray:
        """Return X'WX (..., d, d) of some `columns` (..., d), numbered without the intercept."""
        return pairs_of(self.gram, columns)

    def rank_gram(self, columns: np.ndarray) -> FloatArray:
        """Return the cross-products (..., d, d) of `columns`; for a g-prior, its precision."""
        if self.prior.rank_tol == 0:
            return self.gram_of(columns)
        return pairs_of(self.prior.precision, columns + 1)

    def dependent(self) -> list[int]:
        """Return the terms with columns in a linear dependence."""
        return dependent_terms(self)

    @property
    def _columns(self) -> _Columns:
        return _Columns(self.rows.inside, self.mean, self.scale, self.zero, self.family)

    def derivatives(self, points: FloatArray) -> Derivatives:
        """Return the derivatives at internal coefficients `points` (m, D + 1), in one pass."""
        task = partial(_derivatives, columns=self._columns, points=points)
        return self.rows.reader.reduce(Work(task, Derivatives.merge))

    def evaluation_seconds(self) -> float:
        """Return the time that the log-likelihood of one row at one point takes."""
        eta, y, zero = np.zeros((16, 4096)), np.zeros(4096), np.zeros(4096)
        begun = time.perf_counter()
        log_likelihoods(self.family.passes, eta, y, np.ones(4096), zero, np.zeros(16))
        return (time.perf_counter() - begun) / eta.size

    def log_likelihoods(self, points: FloatArray) -> FloatArray:
        """Return log-likelihoods (m,) at internal coefficients `points` (m, D + 1), in one pass."""
        task = partial(_values, columns=self._columns, points=points)
        return self.rows.reader.reduce(Work(task, _add))


def _standard(products: FloatArray, scale: FloatArray, zero: BoolArray) -> FloatArray:
    """Return cross-products of standardised columns, 0 for constant ones."""
    found = products / np.outer(scale, scale)
    found[zero] = 0.0
    found[:, zero] = 0.0
    return np.asarray(found)
