"""Posterior draws of coefficients for prediction, and predictions with intervals."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called, named, warn
from pyrjsel._core import special
from pyrjsel._core._rows import ranges, summaries
from pyrjsel._errors import ConvergenceWarning, DataError, NotAvailableError, PyrjselError
from pyrjsel._once import kept_property
from pyrjsel._typing import BoolArray, ByteArray, FloatArray
from pyrjsel._validate import bad_value, check_choice, check_real, counted
from pyrjsel.design import (
    Chunks,
    Design,
    DesignData,
    MissingColumnsError,
    WideMatrix,
    as_chunks,
    as_pandas,
)
from pyrjsel.families import Family, Values, averages
from pyrjsel.report.errors import UNRELIABLE, pareto_shapes
from pyrjsel.runtime import one_blas_thread
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.evidence.importance import resample
from pyrjsel.selection.posterior import Posterior
from pyrjsel.selection.protocols import SelectionModel, SingleModel
from pyrjsel.selection.regression.summed_rows import SummedRows
from pyrjsel.selection.regression.wide import check_unchanged

# Default number of coefficient vectors for predictions and intervals.
PREDICTION_DRAWS = 4000
# Predictors: the average over all models, or a single model.
WHICH = ("bma", "hpm", "mpm", "bpm")
# Default offset and weight.
ABSENT = {"offset": 0.0, "weights": 1.0}
# Numbers in a block of rows times draws: for simulation, for two passes, and for repeated ones, which should
# fit in a cache.
BLOCK, PASSED, CACHED = 4_000_000, 524_288, 65_536
# Tails of draws are looked at where the largest is more than this multiple of their average, and more than
# this share of their sum: else averages are precise to a few per cent, whatever the shape of the tail, as
# where a model with little posterior mass predicts something else than the others.
FAR, SHARE = 5.0, 0.02


def averaged_draws(
    posterior: Posterior,
    single: SingleModel,
    size: int,
    rng: np.random.Generator,
    columns: np.ndarray | None = None,
) -> tuple[FloatArray, Values]:
    """Return `size` draws from the model-averaged posterior, in units of the design's columns.

    Coefficients (m, D + 1), or those of some `columns` of a sampler's draws, and the corresponding
    nuisance parameters (m,). Draws of a sampler are thinned to fewer than twice `size`; there may be fewer.
    """
    if posterior.draws is not None:
        vectors, nuisance = posterior.draws.vectors, posterior.draws.nuisance
        step = max(1, vectors.shape[0] // size)
        found = vectors[::step] if columns is None else vectors[::step][:, columns]
        return found.toarray(), {name: value.reshape(-1)[::step] for name, value in nuisance.items()}
    return drawn_anew(posterior, posterior.probability, single, size, rng)


def drawn_anew(
    posterior: Posterior,
    probability: FloatArray,
    single: SingleModel,
    size: int,
    rng: np.random.Generator,
    columns: np.ndarray | None = None,
    sample: Callable[..., tuple[FloatArray, Values]] | None = None,
) -> tuple[FloatArray, Values]:
    """Return independent draws as :func:`averaged_draws` does, of models with a `probability` (m,).

    `sample` draws from one of them; None means that of `single`.
    """
    sample = single.sample if sample is None else sample
    models, counts = np.unique(resample(probability, size, rng), return_counts=True)
    values: list[Values] = []
    at = 0
    coefficients = np.zeros((size, single.regression.n_columns if columns is None else columns.size))
    for model, count in zip(models, counts, strict=True):
        gamma, part = posterior.packed[model], coefficients[at : at + count]
        nuisance: Values
        if columns is None:
            part[:], nuisance = sample(gamma, int(count), rng)
        else:
            own, drawn, nuisance = own_draws(single, gamma, int(count), rng)
            part[:, np.searchsorted(columns, own)] = drawn
        values.append(nuisance)
        at += count
    if columns is None:
        coefficients = single.regression.to_raw(coefficients)
    return coefficients, {name: np.concatenate([each[name] for each in values]) for name in values[0]}


def own_draws(
    single: Any, gamma: ByteArray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, FloatArray, Values]:
    """Return columns (d,) of a linear model, draws (size, d) in units of the design, and of sigma^2."""
    columns, found, nuisance = single.sample_own(gamma, size, rng)
    found[:, 1:] /= single.regression.scale[columns[1:] - 1]
    found[:, 0] -= found[:, 1:] @ single.regression.mean[columns[1:] - 1]
    return columns, found, nuisance


def moments_of(
    single: SingleModel, gamma: ByteArray, *, quick: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means, standard deviations and probabilities of positive signs, (D + 1,), of one model.

    In units of the design's columns; means of columns outside the model are 0. `quick` are those of Laplace's
    approximation, if others have a Monte Carlo error.
    """
    regression = single.regression
    mean, square, positive = np.zeros((3, regression.n_columns))
    if isinstance(single, SingleModels):
        found = single.moments(gamma)
        mean[found.columns], square[found.columns] = found.mean, found.square
        positive[found.columns] = found.positive
    else:
        # Twice as many draws as for predictions: errors of 1 % of a standard deviation.
        integral = single.approximate(gamma) if quick else single.integrate(gamma, pairs=PREDICTION_DRAWS)
        scale = regression.units[integral.columns]
        mean[integral.columns] = integral.moments[0] / scale
        square[integral.columns] = integral.moments[1] / scale**2
        positive[integral.columns] = integral.moments[2]
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0)), positive


def linear_mean(x: FloatArray, offset: FloatArray, means: FloatArray) -> FloatArray:
    """Return expectations (rows,) of a linear model from posterior means (D + 1,) of its coefficients."""
    return np.asarray(x @ means[1:] + (means[0] + offset))


def rows_of_fit(model: SelectionModel) -> DesignData:
    """Return the training data.

    Raises
    ------
    NotAvailableError
        If they are not available.
    DataError
        If they are a matrix that has changed since the model was made.
    """
    if isinstance(model.data, SummedRows):
        raise NotAvailableError(
            f"{called()} needs rows: the data of the fit came in chunks, of which only sums were kept. Give "
            "rows as 'new', which may be the same chunks, where it takes them."
        )
    check_unchanged(model.data)
    return model.data


@dataclass(frozen=True)
class Averaging:
    """Coefficients that predictions are averaged over.

    Attributes
    ----------
    coefficients : ndarray (m, d)
        Draws in units of the design's columns.
    nuisance : mapping of str to ndarray (m,)
        Corresponding draws of nuisance parameters.
    means : ndarray (d,) or None
        Posterior means, for linear models.
    columns : int array (d,) or None
        Columns of the regression that these are, intercept first; None means all.
    terms : bool array (J,)
        Terms whose columns predictions need.
    """

    coefficients: FloatArray
    nuisance: Values
    means: FloatArray | None
    columns: np.ndarray | None
    terms: BoolArray


@dataclass(frozen=True)
class NewRows:
    """Rows that are predicted.

    Attributes
    ----------
    x : ndarray (rows, D) or WideMatrix
        Columns of the design.
    extras : dict of str to ndarray (rows,)
        Offset and the like.
    index : Index
        Labels of the rows.
    observed : bool array (rows, J) or None
        The terms that each row has, if it may lack some.
    """

    x: Any
    extras: dict[str, FloatArray]
    index: pd.Index
    observed: np.ndarray | None = None


def prediction_rows(
    model: SelectionModel,
    new: Any,
    given: Mapping[str, ArrayLike | None],
    invalid: str | None = None,
    terms: BoolArray | None = None,
    required: BoolArray | None = None,
) -> NewRows:
    """Return new rows or the training data.

    `given` has the needed ones of ``offset`` and ``weights``, as given by the user or None. For None they are
    read from the new rows if they were columns in the fit, and 0 or 1 if the fit had none. `invalid`, `terms`
    and `required` are those of :meth:`pyrjsel.design.Design.transform`.

    Raises
    ------
    UnknownNameError, DataError
        If the rows cannot be used, their offset or weights are missing, or weights are negative.
    NotAvailableError
        If the training data are not available.
    """
    if new is None:
        for name, values in given.items():
            if values is not None:
                raise DataError(
                    f"The {name!r} parameter of {called()} goes with new rows, and none are given: the "
                    "rows of the fit have their own."
                )
        data = rows_of_fit(model)
        found = {name: data.extras.get(name, np.full(data.n, ABSENT[name])) for name in given}
        return NewRows(data.X, found, data.index)
    return new_rows(model.design, new, given, invalid, terms, required)


def new_rows(
    design: Design,
    new: Any,
    given: Mapping[str, ArrayLike | None],
    invalid: str | None = None,
    terms: BoolArray | None = None,
    required: BoolArray | None = None,
) -> NewRows:
    """Return new rows, see :func:`prediction_rows`."""
    known = design.extra_columns
    extras = {name: values for name, values in given.items() if values is not None}
    chosen = {**dict.fromkeys(set(known) - set(given)), **extras}
    rows = design.transform(new, extras=chosen, invalid=invalid, terms=terms, required=required)
    found = {}
    for name in given:
        values = rows.extras.get(name)
        if values is None and name in known:
            raise DataError(f"The fit had an array as {name}: {called()} needs {name!r} for new rows.")
        found[name] = np.full(len(rows.index), ABSENT[name]) if values is None else values
    if "weights" in found and np.any(found["weights"] < 0):
        smallest = np.nanmin(found["weights"])
        raise DataError(f"The 'weights' of {called()} must be non-negative. Got {smallest:g}.")
    return NewRows(rows.X, found, rows.index, rows.observed)


def warn_of_endless(rows: np.ndarray) -> None:
    """Warn of the rows (mask) without a posterior mean, if there are any."""
    count = int(rows.sum())
    if count:
        warn(
            f"The expected responses of {count:,} of {counted(rows.size, 'row')} have no posterior mean, or "
            "none that draws can tell, and are NaN: their draws have too heavy a tail (Pareto k above 0.7). "
            "Use the 'median' of get_prediction(new).summary_frame(), or tighter priors.",
            ConvergenceWarning,
        )


@dataclass(frozen=True)
class Prediction:
    """Predictions for rows, from posterior draws of the coefficients.

    Attributes
    ----------
    x : ndarray (rows, D)
        Columns of the design; rows with missing inputs are NaN.
    offset : ndarray (rows,)
    index : Index
        Labels of the rows.
    coefficients : ndarray (m, D + 1)
        Posterior draws in units of the columns, intercept first.
    family : Family
    name : str
        Name of the response.
    nuisance : mapping of str to ndarray (m,)
        Corresponding draws of the nuisance parameters.
    means : ndarray (D + 1,) or None
        Posterior means of the coefficients of linear models, which give expected responses without draws.
    tell : callable
        Gets the mask of rows whose posterior mean does not exist.
    """

    x: FloatArray
    offset: FloatArray
    index: pd.Index
    coefficients: FloatArray
    family: Family
    name: str
    nuisance: Values = field(default_factory=dict)
    means: FloatArray | None = None
    tell: Callable[[np.ndarray], None] = warn_of_endless

    @property
    def complete(self) -> np.ndarray:
        """Mask of the rows with all inputs, bool (rows,)."""
        return ~(np.isnan(self.x).any(axis=1) | np.isnan(self.offset))

    @kept_property
    def _by_column(self) -> FloatArray:
        """Coefficients (D + 1, m), contiguous: products with few rows take half the time."""
        return np.ascontiguousarray(self.coefficients.T)

    def _eta(self, rows: np.ndarray, draws: np.ndarray | slice) -> FloatArray:
        """Return linear predictors (rows, draws)."""
        # With a column of ones: a sum of its own takes as long as the product.
        x = np.ones((rows.size, self.coefficients.shape[1]))
        x[:, 1:] = self.x[rows]
        eta = x @ self._by_column[:, draws]
        offset = self.offset[rows]
        if offset.any():
            eta += offset[:, None]
        return np.asarray(eta)

    def _means(self, eta: FloatArray) -> FloatArray:
        """Return expectations at linear predictors (rows, draws)."""
        return self.family.mean(eta)

    def _predictors(self, rows: np.ndarray, size: int = CACHED) -> Iterator[tuple[np.ndarray, FloatArray]]:
        """Yield positions of rows and their linear predictors, (rows, m), in blocks of `size` numbers."""
        step = max(1, size // len(self.coefficients))
        for begin in range(0, rows.size, step):
            part = rows[begin : begin + step]
            yield part, self._eta(part, slice(None))

    def _blocks(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, FloatArray]]:
        """Yield positions of rows and their means, (rows, m), in blocks."""
        for part, eta in self._predictors(rows):
            yield part, self._means(eta)

    def _endless(self, eta: FloatArray, mean: FloatArray, top: FloatArray | None = None) -> np.ndarray:
        """Return which rows of linear predictors (rows, m), of some `mean`, have none that draws can tell.

        `top` (rows,) are the largest of each row, if they are known.
        """
        out = np.zeros(len(eta), bool)
        if self.family.unbounded:
            top = eta.max(axis=1) if top is None else top
            with np.errstate(over="ignore"):
                limit = np.log(max(FAR, SHARE * eta.shape[1]))
                wide = np.flatnonzero((np.exp(top - limit) > mean) | np.isinf(mean))
            if wide.size:
                out[wide] = pareto_shapes(np.exp(eta[wide] - top[wide, None])) > UNRELIABLE
        return out

    def simulate(
        self, rows: np.ndarray, weights: FloatArray, draws: int, rng: np.random.Generator
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield blocks of `draws` simulated responses of some complete rows, and their expectations.

        Coefficient vectors are used equally often, up to one. `weights` are those of `rows` and positive. A
        block has the positions of its draws, and expectations and responses, both (rows, positions), those of
        a draw side by side.
        """
        chosen = resample(np.ones(len(self.coefficients)), draws, rng)
        step = max(1, BLOCK // max(rows.size, 1))
        for begin in range(0, draws, step):
            part = chosen[begin : begin + step]
            nuisance = {name: value[part] for name, value in self.nuisance.items()}
            wholes: list[FloatArray] = []
            each = max(1, CACHED // part.size)
            for first in range(0, max(rows.size, 1), each):
                some = slice(first, first + each)
                mean = self._means(self._eta(rows[some], part))
                both = mean, self.family.simulate(mean, weights[some], nuisance, rng)
                if not wholes:
                    wholes = [np.empty((part.size, rows.size, *one.shape[2:]), one.dtype) for one in both]
                for whole, one in zip(wholes, both, strict=True):
                    whole[:, some] = one.swapaxes(0, 1)
            yield slice(begin, begin + part.size), wholes[0].swapaxes(0, 1), wholes[1].swapaxes(0, 1)

    @one_blas_thread
    def log_density(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Return log posterior predictive densities of responses `y` of all rows, which must be complete.

        Densities are averaged over the draws before the logarithm. Shapes (rows,); `weights` are positive.
        """
        out = np.empty(y.size)
        step = max(1, CACHED // len(self.coefficients)) if self.family.independent else max(1, y.size)
        for begin in range(0, y.size, step):
            part = np.arange(begin, min(begin + step, y.size))
            each = self.family.log_density(
                y[part], self._eta(part, slice(None)), weights[part], self.nuisance
            )
            out[part] = special.logsumexp(each, axis=1) - np.log(each.shape[1])
        return out

    @one_blas_thread
    def log_densities(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Return log densities (rows, m) of responses of all rows given each draw; 0 for rows of weight 0."""
        out = np.zeros((y.size, len(self.coefficients)))
        used = np.flatnonzero(weights > 0)
        out[used] = self.family.log_density(
            y[used], self._eta(used, slice(None)), weights[used], self.nuisance
        )
        return out

    @one_blas_thread
    def mean(self) -> pd.Series:
        """Return the posterior mean of each row's expected response.

        NaN for rows with missing inputs, and, with a warning, where it does not exist or cannot be told from
        draws.
        """
        if self.means is not None:
            out = linear_mean(self.x, self.offset, self.means)
        else:
            out = np.full(len(self.index), np.nan)
            endless = np.zeros(out.size, bool)
            for part, eta in self._predictors(np.flatnonzero(self.complete), PASSED):
                with np.errstate(over="ignore"):  # expected counts far outside the data may be infinite
                    ends = ranges(eta)
                    out[part] = averages(self.family.mean, eta, ends)
                endless[part] = self._endless(eta, out[part], ends[:, 1])
            out[endless] = np.nan
            if self.family.events:
                np.clip(out, 0.0, 1.0, out=out)  # rounding errors of averages
            self.tell(endless)
        return pd.Series(out, index=self.index.copy(), name=self.name)

    @one_blas_thread
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return predictions with intervals.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            By row: ``mean`` and ``mean_se``, posterior mean and standard deviation of the expected response
            (a success probability, or a count); ``mean_ci_lower`` and ``mean_ci_upper``, its equal-tailed
            interval; ``obs_ci_lower`` and ``obs_ci_upper``, quantiles of a single new response (a number, 0
            or 1, or a count) of weight one under its posterior predictive distribution. Models with log link
            also have the ``median`` of the expected response. Rows with missing inputs are NaN. All are
            computed from draws, except `mean` of a linear model.

        Raises
        ------
        ParameterError
            If `alpha` is not in (0, 1).

        Warns
        -----
        ConvergenceWarning
            If rows have no posterior mean that draws can tell: it and `mean_se` are then NaN.
        """
        alpha = check_real(alpha, "alpha", low=0, high=1, open_low=True, open_high=True)
        columns = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]
        median = (0.5,) if self.family.unbounded else ()
        ends = len(median) + 4
        out = np.full((len(self.index), ends + 2), np.nan)
        endless = np.zeros(len(out), bool)
        for part, eta in self._predictors(np.flatnonzero(self.complete)):
            means = self._means(eta)
            # Expected counts far outside the data may be infinite; their standard deviation is then NaN.
            out[part, 0], out[part, 1], out[part, 2:ends] = summaries(
                means, (*median, alpha / 2, 1 - alpha / 2)
            )
            endless[part] = self._endless(eta, out[part, 0])
            out[part, ends:] = self.family.interval(means, alpha, self.nuisance)
        if self.family.events:
            out[:, 0] = np.clip(out[:, 0], 0.0, 1.0)  # rounding errors of averages
        out[endless, :2] = np.nan
        self.tell(endless)
        if self.means is not None:
            out[:, 0] = linear_mean(self.x, self.offset, self.means)
        if median:
            columns.insert(2, "median")
        return pd.DataFrame(out, index=self.index.copy(), columns=columns)


@dataclass(frozen=True)
class _OfChunk:
    """Predictions for the rows of a chunk; sent to workers.

    Attributes
    ----------
    design : Design
    offset : str or None
        Column of the offset, if another than that of the fit.
    predict : callable
        Returns predictions for :class:`NewRows`.
    terms, required : bool array (J,) or None
        As of :meth:`pyrjsel.design.Design.transform`.
    caller : str
        What the user called, for messages.
    invalid : {"raise", "nan"}
        Treatment of rows that cannot be used.
    """

    design: Design
    offset: str | None
    predict: Callable[[NewRows], Any]
    terms: BoolArray
    required: BoolArray | None
    caller: str
    invalid: str

    def __call__(self, frame: pd.DataFrame, number: int, of: Callable[[Any], Any]) -> Any:
        with named(f"{self.caller} (chunk {number})" if number else self.caller):
            given = {"offset": self.offset}
            rows = new_rows(self.design, frame, given, self.invalid, self.terms, self.required)
            return of(self.predict(rows))

    def columns(self, names: list[str]) -> list[str]:
        """Return the columns that are read, among their `names`."""
        offset = self.design.extra_columns.get("offset") if self.offset is None else self.offset
        known = [*self.design.variables_of(self.terms), *([] if offset is None else [offset])]
        return [name for name in known if name in set(names)]


@dataclass(frozen=True)
class OfRows:
    """Predictions for :class:`NewRows` by the draws of a prediction for no rows."""

    prediction: Prediction
    columns: np.ndarray | None = None

    def __call__(self, rows: NewRows) -> Prediction:
        """Predict rows."""
        x = chosen_columns(rows.x, self.columns)
        return replace(self.prediction, x=x, offset=rows.extras["offset"], index=rows.index)


def chosen_columns(x: Any, columns: np.ndarray | None, rows: np.ndarray | None = None) -> Any:
    """Return columns of a regression, intercept first, of some rows of a design; None means all."""
    if columns is not None:
        x = x.dense(columns[1:] - 1) if isinstance(x, WideMatrix) else x[:, columns[1:] - 1]
    return x if rows is None else x[rows]


class ChunkedPrediction:
    """Predictions for rows in chunks, computed as they are used.

    Parameters
    ----------
    chunks : Chunks
    of_chunk : callable
        Returns the predictions for the rows of a chunk.
    advice : callable
        Returns the error for missing columns with advice.

    Raises
    ------
    ParameterError
        If `offset` is not a column.
    """

    def __init__(
        self,
        chunks: Chunks,
        of_chunk: _OfChunk,
        advice: Callable[[MissingColumnsError], PyrjselError],
    ) -> None:
        self._chunks, self._of_chunk, self._advice = chunks, of_chunk, advice

    @classmethod
    def of(
        cls,
        chunks: Chunks,
        design: Design,
        offset: Any,
        predict: Callable[[NewRows], Any],
        invalid: str,
        terms: BoolArray,
        required: BoolArray | None,
        advice: Callable[[MissingColumnsError], PyrjselError],
    ) -> ChunkedPrediction:
        """Check the choices of a user."""
        check_choice(invalid, "invalid", ("raise", "nan"))
        if offset is not None and not isinstance(offset, str):
            raise bad_value("offset", "None or the name of a column, since 'new' comes in chunks", offset)
        return cls(chunks, _OfChunk(design, offset, predict, terms, required, called(), invalid), advice)

    def mean(self, to: str | os.PathLike[str] | None = None) -> Any:
        """Return the posterior mean of each row's expected response; NaN for rows with missing inputs.

        Parameters
        ----------
        to : path, optional
            A new Parquet file for the predictions, in the order of the rows.

        Returns
        -------
        iterator of Series, Dask series or None
            Like the rows: a Dask series for a Dask data frame, else an iterator over the chunks. None with
            `to`.

        Raises
        ------
        UnknownNameError
            If a variable is missing.
        DataError
            If a factor level did not occur in the fit, or an input is infinite; the message names the chunk.
        ParameterError
            If `to` is not the path of a file, or that of the rows.
        NotAvailableError
            If `to` needs pyarrow, which is not installed.
        """
        return self.each(_mean, to)

    def summary_frame(self, alpha: float = 0.05, to: str | os.PathLike[str] | None = None) -> Any:
        """Return predictions with intervals, see :meth:`Prediction.summary_frame`.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the probability of the intervals.
        to : path, optional
            As for :meth:`mean`.

        Returns
        -------
        iterator of DataFrames, Dask data frame or None
            As for :meth:`mean`.

        Raises
        ------
        ParameterError, UnknownNameError, DataError, NotAvailableError
            As for :meth:`mean`, or if `alpha` is not in (0, 1).
        """
        return self.each(partial(_summary_frame, alpha=alpha), to)

    def each(self, of: Callable[[Any], Any], to: str | os.PathLike[str] | None) -> Any:
        """Return ``of`` the :class:`Prediction` of each chunk, as :meth:`mean` does."""
        columns = self._of_chunk.columns(self._chunks.names)
        # Chunks without any column that is needed have rows nevertheless.
        columns = columns or self._chunks.names[:1]
        try:
            return self._chunks.map(partial(self._of_chunk, of=of), columns, to)
        except MissingColumnsError as error:
            raise self._advice(error) from None


def _mean(found: Prediction) -> pd.Series:
    return found.mean()


def _summary_frame(found: Prediction, alpha: float) -> pd.DataFrame:
    return found.summary_frame(alpha)


def chunks_of(model: SelectionModel, new: Any) -> Chunks | None:
    """Return new rows as chunks, or None if they are a table; for a design from arrays also a matrix."""
    return as_chunks(as_pandas(new), "new") if model.design.formula else None


def mean_of(found: Any, to: str | os.PathLike[str] | None) -> Any:
    """Return expected responses; of chunks, written to a file `to` unless it is None."""
    return each_of(found, _mean, to)


def each_of(found: Any, of: Callable[[Any], Any], to: str | os.PathLike[str] | None) -> Any:
    """Return ``of(found)``; of chunks, ``of`` each, written to a file `to` unless it is None."""
    if isinstance(found, ChunkedPrediction):
        return found.each(of, to)
    if to is not None:
        raise bad_value("to", "None, unless 'new' comes in chunks", to)
    return of(found)
