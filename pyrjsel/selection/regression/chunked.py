"""Regressions of generalised linear models whose rows come in chunks: sums over rows, pass by pass."""

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import block_diag

from pyrjsel._core import special
from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._typing import BoolArray, FloatArray, IntArray
from pyrjsel.design import DesignData, Reduced, RowReader, Work
from pyrjsel.families import Family, Nuisance
from pyrjsel.families._family import log_likelihoods
from pyrjsel.selection.priors.base import CoefficientPrior, Columns, CompiledPrior
from pyrjsel.selection.regression.chunk_passes import (
    Derivatives,
    Modes,
    PointPrior,
    StandardColumns,
    chunk_derivatives,
    chunk_values,
    find_modes,
    row_arrays,
)
from pyrjsel.selection.regression.columns import TermColumns, dependent_terms, pairs_of, starts_of
from pyrjsel.selection.regression.glm import PAYS, Regression
from pyrjsel.selection.regression.summed_rows import ChunkSums, SufficientStatistics, SummedRows

# Largest number of distinct rows that are kept, as counts, in place of passes.
MOST_DISTINCT = 20_000
# Largest number of columns of the table of an unknown size.
MOST_KEYS = 2**20
# Largest number of columns: information matrices of many models are kept.
MOST_COLUMNS = 200
# Passes that find the intercept of the null model, if there is an offset, and its precision.
MOST_NULL, NULL_STEP = 60, 1e-9


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct rows with the sums over equal ones.

    Attributes
    ----------
    rows : ndarray (m, D + 1) or (m, D + 2)
        Columns of the design, the offset, and the class if there are classes, in the order of their first
        occurrence.
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
        width = sum(sizes)
        if family.classes:
            y = self.rows[:, -1]
        else:
            y = np.divide(self.response, self.weight, out=np.zeros(len(self.rows)), where=self.weight > 0)
        offset = np.ascontiguousarray(self.rows[:, width])
        return Regression.build(
            np.asfortranarray(self.rows[:, :width]),
            y,
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
    ends : ndarray (k, 2)
        Responses of positive weight that tell of all, such as the smallest and the largest, each with its
        weight.
    zeros : float
        Weight of the responses of 0.
    saturated, log_constant : float
        Sums of what :class:`Family` says of single rows.
    table : ndarray or None
        What :meth:`Family.tabulate` keeps of all responses.
    log_exposure : float
        Logarithm of the sum of the weights times ``exp(offset)``.
    """

    ends: FloatArray = field(default_factory=lambda: np.zeros((2, 2)))
    zeros: float = 0.0
    saturated: float = 0.0
    log_constant: float = 0.0
    table: FloatArray | None = None
    log_exposure: float = 0.0


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
        # What is required of all rows together, such as both classes, holds with these.
        family.check(
            np.append(data.y, family.both),
            None if weights is None else np.append(w, np.ones(len(family.both))),
            response,
        )
        base = ChunkSums.of(data, family.responses(data.y))
        used = np.flatnonzero(w > 0) if np.any(w > 0) else np.arange(data.n)
        ends = used[family.extremes(data.y[used])]
        sums = GeneralisedSums(
            base.statistics,
            base.response,
            base.largest,
            base.extras,
            np.stack([data.y[ends], w[ends]], axis=1),
            float(w[data.y == 0].sum()),
            family.saturated(data.y, weights),
            family.log_constant(data.y, weights),
            family.tabulate(data.y[w > 0], w[w > 0], 0.0 if offset is None else offset[w > 0]),
            float(special.logsumexp(np.zeros(data.n) if offset is None else offset, b=w)),
        )
        apart = [data.y] if family.classes else []
        rows = np.column_stack([data.X, np.zeros(data.n) if offset is None else offset, *apart])
        counted = family.combines or family.classes
        return cls(sums, DistinctRows.of(rows, w, w * data.y) if counted else None)

    def merge(self, other: "FirstPass", family: Family) -> "FirstPass":
        """Return the sums over the rows of both.

        Raises
        ------
        NotAvailableError
            If an unknown size needs a table of more than a million columns.
        """
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
            ends[family.extremes(ends[:, 0])],
            one.zeros + two.zeros,
            one.saturated + two.saturated,
            one.log_constant + two.log_constant,
            _merged(one.table, two.table, family),
            float(np.logaddexp(one.log_exposure, two.log_exposure)),
        )
        return FirstPass(sums, distinct)


def _merged(one: FloatArray | None, two: FloatArray | None, family: Family) -> FloatArray | None:
    if one is None or two is None:
        return None
    found = family.gather(np.concatenate([one, two], axis=1))
    if found.shape[1] > MOST_KEYS:
        name = " and ".join(family.expanded)
        raise NotAvailableError(
            f"The likelihood of {name} needs each distinct weight (and count) of rows in chunks, and there "
            f"are more than {MOST_KEYS:,}: give {name}, round the weights, or give a DataFrame."
        )
    return found


def first_pass(family: Family, response: str) -> Work[FirstPass]:
    """Return the reduction of the first pass."""
    return Work(
        partial(FirstPass.of, family=family, response=response), partial(FirstPass.merge, family=family)
    )


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

    @property
    def classes(self) -> tuple[FloatArray, FloatArray]:
        """The positions of all classes, and their weights."""
        rest, weight = self.sums.response.mean, self.sums.response.weight
        return np.arange(rest.size + 1.0), weight * np.append(1.0 - rest.sum(), rest)

    def facts(self, family: Family) -> list[tuple[str, str]]:
        """Return labels and values that describe the response in a summary."""
        if family.classes:
            return family.facts(*self.classes)
        response, zeros = self.sums.response, self.sums.zeros
        rest = response.weight - zeros
        middle = float(response.mean[0]) * response.weight / rest
        squares = float(response.products[0, 0] + response.weight * response.mean[0] ** 2)
        away = np.sqrt(max(squares / rest - middle**2, 0.0))
        # As rows of 0, and two more with the same mean and mean square.
        return family.facts(
            np.array([0.0, middle - away, middle + away]), np.array([zeros, 0.5 * rest, 0.5 * rest])
        )

    def regression(
        self, sizes: list[int], prior: CoefficientPrior, family: Family
    ) -> "Regression | ChunkedRegression":
        """Return the regression: of distinct rows in memory if these are few."""
        if self.sums.table is not None:
            family = family.learned(self.sums.ends[:, 0], self.sums.table, self.n)
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
            behind = np.ones(distinct.rows.shape[1] - inside.size, bool)
            rows = distinct.rows[:, np.append(inside, behind)]
            distinct = DistinctRows.of(rows, distinct.weight, distinct.response)
        sums = cast(GeneralisedSums, base.sums)
        return replace(self, sums=sums, inside=self.inside[inside], distinct=distinct)


def _null(data: DesignData, family: Family, a: float) -> tuple[float, SufficientStatistics]:
    """Return the score of the intercept `a` of the null model, and the statistics weighted by information."""
    w, offset = data.extras.get("weights", np.ones(data.n)), data.extras["offset"]
    mean = family.mean(a + offset)
    with np.errstate(invalid="ignore"):  # infinite means are refused after the pass
        score = float(w @ family.score(data.y, mean))
        return score, SufficientStatistics.of(data.X, data.y, w * family.curvature(mean))


def _add_null(
    one: tuple[float, SufficientStatistics], two: tuple[float, SufficientStatistics]
) -> tuple[float, SufficientStatistics]:
    with np.errstate(invalid="ignore"):
        return one[0] + two[0], one[1].merge(two[1])


def _add(one: FloatArray, two: FloatArray) -> FloatArray:
    return one + two


def _typical(family: Family, rows: ChunkedRows, start: float) -> tuple[Family, float, int]:
    """Return the family at its most probable size beside the offset, the intercept there, and the passes.

    The intercept `start` and the size of the family are those without the offset, from which the search goes.
    """
    none, zero = np.empty(0), np.zeros(1)
    columns = StandardColumns(none.astype(np.int64), none, none, none.astype(bool), family)
    flat = CompiledPrior(np.zeros((1, 1)), zero, zero, True, 0.0)
    point = np.append(start, family.typical)[None]
    modes = Modes(np.ones(point.shape, bool), PointPrior(flat, family), point)
    made = find_modes(modes, lambda points: _derivatives(rows, columns, points))
    a, *t = modes.point[0] + modes.step[0]
    return family.at(*family.parameters(np.array(t)).tolist()), float(a), made


def _derivatives(rows: ChunkedRows, columns: StandardColumns, points: FloatArray) -> Derivatives:
    """Return derivatives at points (m, W), in one pass."""
    task = partial(
        chunk_derivatives, columns=replace(columns, family=columns.family.of_terms()), points=points
    )
    found = rows.reader.reduce(Work(task, Derivatives.merge))
    return found.stacked(columns.family.predictors).with_rest(columns.family, points, rows.n)


def _null_statistics(
    family: Family, rows: ChunkedRows, start: float
) -> tuple[Family, float, SufficientStatistics, int]:
    """Return the family, and the intercept of the null model beside the offset, its statistics, and passes.

    Newton's method within a bracket, see :meth:`Family.null_intercept`. The family has the most probable size
    there if that is unknown.
    """
    made, ends = 0, rows.sums.extras["offset"]
    low, high = start - float(ends[1]) - 1.0, start - float(ends[0]) + 1.0
    a = start - float(rows.sums.response.mean[0] - rows.sums.statistics.mean[-1])
    if family.expanded:
        family, a, made = _typical(family, rows, a)
    for number in range(made + 1, made + MOST_NULL + 1):
        score, found = rows.reader.reduce(Work(partial(_null, family=family.of_terms(), a=a), _add_null))
        if not 0.0 < found.weight < np.inf:
            raise DataError(
                "The model of intercept and offset alone has no information: the offset determines the "
                "response. Scale the offset, or use a coefficient prior such as GPrior('4n')."
            )
        step = score / found.weight
        if abs(step) <= NULL_STEP:
            return family, a, found, number
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
    zero : bool array
        Constant columns of the design.
    intercepts : ndarray (L,)
        Intercepts of the null model, without an offset.
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
    intercepts: FloatArray
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
        width, lead = statistics.mean.size - 1, family.predictors
        most = MOST_COLUMNS // lead
        if width > most:
            raise NotAvailableError(
                f"Data in chunks support at most {most} columns of the design, unless few rows are "
                f"distinct. Got {width}: use fewer terms, or a DataFrame."
            )
        total, mean = statistics.weight, statistics.mean[:-1]
        products = statistics.products[:-1, :-1]
        scale = np.sqrt(np.diag(products) / total)
        zero = scale <= 1e-13 * sums.largest[:-1]
        scale = np.where(zero, 1.0, scale)
        gram = _standard(products, scale, zero)
        event, passes, null = sums.response.mean, 1, None
        if family.scaled:
            event = statistics.mean[-1:]
        family = family.of_sums(event, _least_squares(statistics, scale, gram)[1], total)
        if family.scaled:
            intercepts = family.starts(event, np.zeros(1), np.ones(1))
        else:
            intercepts = family.null_predictor(event, np.full(lead, total), None)
        if "offset" in sums.extras and not family.scaled:
            family, intercept, null, more = _null_statistics(family, rows, float(intercepts[0]))
            intercepts = np.array([intercept])
            passes += more
        information = gram
        if coef_prior.of_null_model and lead == 1 and not family.scaled:
            if null is None:
                information = float(family.curvature(event)[0]) * gram
            else:
                inside = np.append(rows.inside, -1)
                information = _standard(null.products[np.ix_(inside, inside)][:-1, :-1], scale, zero)
        # The mean response is that of all rows.
        level = family.level(
            sums.response.mean[:1], np.array([total]), np.array([sums.log_exposure - np.log(total)])
        )
        prior = coef_prior.compile(Columns(mean, scale, information, total, level, lead))
        if prior.mixture is not None or prior.rule is not None:
            raise NotAvailableError(
                "Data in chunks support Normal priors, and GPrior with a known g, unless few rows are "
                f"distinct. Got {coef_prior!r}: use one of these, or a DataFrame."
            )
        if lead > 1:
            prior = prior.stacked(family.across(*rows.classes, null=coef_prior.of_null_model))
            gram = np.asarray(np.kron(gram, np.eye(lead)), float)
        if family.scaled:
            prior = prior.times(family.size**-2.0)
        return cls(
            np.repeat(mean, lead),
            np.repeat(scale, lead),
            starts_of(sizes, lead),
            prior,
            family,
            statistics.n,
            gram,
            zero,
            intercepts,
            passes,
            sums.saturated,
            sums.log_constant,
            rows,
        )

    @property
    def nuisance(self) -> Nuisance:
        """Parameters of the family that are not known."""
        return self.family.nuisance

    @property
    def start(self) -> FloatArray:
        """A point (W,) from which searches start: coefficients, and the parameters of the family behind them.

        The null model; least squares with all columns, if that has the scale.
        """
        b = np.zeros(self.n_columns)
        b[: self.leading] = self.intercepts
        if self.family.scaled:
            b[1:] = _least_squares(self.rows.sums.statistics, self.scale, self.gram)[0]
        return np.append(b, self.family.typical) if self.family.expanded else b

    @property
    def point_prior(self) -> PointPrior:
        """The prior of points."""
        return PointPrior(self.prior, self.family, self.family.scaled)

    def modes(self, inside: BoolArray, start: FloatArray, prior: PointPrior | None = None) -> Modes:
        """Return a search for modes; see :class:`Modes`."""
        prior = self.point_prior if prior is None else prior
        return Modes(inside, prior, start, self.expected if self.family.scaled else None)

    def expected(self, t: FloatArray) -> FloatArray:
        """Return the expected information (D + 1, D + 1) at parameters `t`, for the identity link."""
        family = self.family.at(*self.family.parameters(t).tolist())
        of_row = family.expected_share * float(family.curvature(np.zeros(1))[0])
        return np.asarray(of_row * block_diag(float(self.n), self.gram), float)

    def shifts(self, columns: np.ndarray) -> FloatArray:
        """Return the shifts (d, L) of raw-scale intercepts for a unit of some coordinates."""
        some = columns < self.n_columns
        out = np.zeros((columns.size, self.leading))
        out[some] = super().shifts(columns[some])
        return out

    def coefficients(self, coordinates: IntArray, moments: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return those of `coordinates` (d,) and moments (3, d) that are of columns."""
        some = coordinates < self.n_columns
        return coordinates[some], moments[:, some]

    @property
    def most_columns(self) -> int:
        """Largest number of independent columns besides intercepts."""
        return self.leading * (self.n - 1)

    def gram_of(self, columns: np.ndarray) -> FloatArray:
        """Return X'WX (..., d, d) of some `columns` (..., d), numbered without intercepts."""
        return pairs_of(self.gram, columns)

    def rank_gram(self, columns: np.ndarray) -> FloatArray:
        """Return the cross-products (..., d, d) of `columns`; for a g-prior, its precision."""
        if self.prior.rank_tol == 0:
            return self.gram_of(columns)
        return pairs_of(self.prior.precision, columns + self.leading)

    def rank_rows(self, columns: np.ndarray) -> None:
        """Return None: rows are not in memory."""

    @property
    def rank_squares(self) -> FloatArray:
        """Sums of squares of all columns in the same, (D,)."""
        known = self.prior.precision[self.leading :, self.leading :] if self.prior.rank_tol > 0 else self.gram
        return np.diag(known)

    def dependent(self) -> list[int]:
        """Return the terms with columns in a linear dependence."""
        return dependent_terms(self)

    @property
    def _columns(self) -> StandardColumns:
        mean, scale = (each[:: self.leading] for each in (self.mean, self.scale))
        return StandardColumns(self.rows.inside, mean, scale, self.zero, self.family)

    def derivatives(self, points: FloatArray) -> Derivatives:
        """Return the derivatives at coefficients and parameters of the family, (m, W), in one pass."""
        return _derivatives(self.rows, self._columns, points)

    def evaluation_seconds(self) -> float:
        """Return the time that the log-likelihood of one row at one point takes."""
        zero, count = np.zeros(4096), 16
        wy, weights, _ = row_arrays(self.family, zero, zero + 1.0, zero)
        eta = np.zeros((count, wy.size))
        begun = time.perf_counter()
        log_likelihoods(self.family.passes, eta, wy, weights, np.zeros(weights.size), np.zeros(count))
        return (time.perf_counter() - begun) / (count * zero.size)

    def log_likelihoods(self, points: FloatArray) -> FloatArray:
        """Return log-likelihoods (m,) at the same points (m, W), in one pass."""
        columns = replace(self._columns, family=self.family.of_terms())
        found = self.rows.reader.reduce(Work(partial(chunk_values, columns=columns, points=points), _add))
        extra = len(self.family.expanded)
        return found + self.family.rest(points[:, -extra:], self.n)[0] if extra else found


def _least_squares(
    statistics: SufficientStatistics, scale: FloatArray, gram: FloatArray
) -> tuple[FloatArray, float]:
    """Return least squares coefficients (D,) of standardised columns, and the sd of residuals.

    With the ridge of one row, for columns that depend on each other.
    """
    cross = statistics.products[:-1, -1] / scale
    b = np.linalg.solve(gram + np.eye(scale.size), cross)
    square = max(float(statistics.products[-1, -1] - cross @ b), 1e-12 * float(statistics.products[-1, -1]))
    return np.asarray(b, float), float(np.sqrt(square / statistics.weight))


def _standard(products: FloatArray, scale: FloatArray, zero: BoolArray) -> FloatArray:
    """Return cross-products of standardised columns, 0 for constant ones."""
    found = products / np.outer(scale, scale)
    found[zero] = 0.0
    found[:, zero] = 0.0
    return np.asarray(found)
