"""Methods of results for predictions, simulated responses and posterior predictive checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._typing import BoolArray, ByteArray, FloatArray, IntArray, RNGLike, SeedLike
from pyrjsel._validate import bad_value, check_choice, check_int, check_rng
from pyrjsel.design import MissingColumnsError
from pyrjsel.families import Statistic, Values
from pyrjsel.model_space import PackedModels
from pyrjsel.report import plot_check, plot_checks
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.results.checks.predictive import (
    COLUMNS,
    Compared,
    chosen_statistics,
    compare,
    named_statistic,
    simulated_responses,
)
from pyrjsel.selection.results.measured.needs import (
    check_incomplete,
    columns_of,
    terms_of,
    terms_with,
    with_advice,
)
from pyrjsel.selection.results.measured.submodels import (
    FEWEST_DRAWS,
    NEW_DRAWS,
    SubmodelPrediction,
    Submodels,
)
from pyrjsel.selection.results.prediction import (
    PREDICTION_DRAWS,
    WHICH,
    Averaging,
    ChunkedPrediction,
    NewRows,
    OfRows,
    Prediction,
    averaged_draws,
    chosen_columns,
    chunks_of,
    drawn_anew,
    mean_of,
    own_draws,
    prediction_rows,
    rows_of_fit,
)
from pyrjsel.selection.results.tables import PosteriorTables
from pyrjsel.selection.samplers.recording.gaussian_average import averaged_moments

# Limit of simulated responses per row, and of draws of coefficients.
MOST_DRAWS = 10**7


class Predictive(PosteriorTables):
    """Methods of :class:`SelectionResults` that predict or simulate responses."""

    # Class of predictions.
    _prediction_kind: ClassVar[type[Prediction]] = Prediction

    def get_prediction(
        self,
        new: Any = None,
        which: str = "bma",
        *,
        draws: int = PREDICTION_DRAWS,
        offset: ArrayLike | None = None,
        invalid: str = "raise",
        incomplete: str = "nan",
    ) -> Prediction | Any:
        """Predict rows, with intervals.

        Parameters
        ----------
        new : DataFrame, or data in chunks, optional
            Data with the columns of :meth:`required_columns`; others may be missing, in part or as a whole.
            None means the training data. Chunks are an iterable of data frames, a function that returns one,
            the path of a Parquet file or of a folder of them, a pyarrow data set or a Dask data frame.
        which : {"bma", "hpm", "mpm", "bpm"}
            Average over all models, highest-probability model, median probability model, or best predictive
            model, as for :meth:`best`.
        draws : int, default 4000
            Number of posterior draws of the coefficients. After sampling they are the kept draws, thinned to
            fewer than twice this number; there may be fewer.
        offset : array_like, optional
            Offset of the new rows, if that of the fit was an array; for chunks the name of a column.
        invalid : {"raise", "nan"}
            Treatment of new rows with infinite values, levels that did not occur in the fit, or terms that
            are not finite, such as the logarithm of 0: an error that names them, or NaN with a warning.
        incomplete : {"nan", "submodels"}
            Treatment of new rows with missing inputs, and of columns that `new` lacks: NaN, and an error; or
            each row is averaged over the models all of whose variables it has ("pattern submodels" [1]_), as
            if only these had been fitted: with their posterior probabilities, made to sum to 1.

        Returns
        -------
        Prediction, SubmodelPrediction or ChunkedPrediction
            Predictions, with methods ``mean()`` and ``summary_frame(alpha)``; with
            ``incomplete="submodels"`` this has a column ``mass``, the posterior mass of the models that a row
            is averaged over, 1 for complete rows. For chunks they return an
            iterator over the predictions of each chunk, or a Dask series or data frame; with ``to=path`` they
            write a Parquet file.

        Raises
        ------
        ParameterError
            If `which`, `draws`, `incomplete` or the `offset` of chunks is not valid, or
            ``incomplete="submodels"`` goes with another `which` than ``"bma"``.
        UnknownNameError
            If needed columns are missing from `new`: all are listed, and the predictions that need only what
            is there. With ``incomplete="submodels"`` those of terms in `always` are needed.
        DataError
            If a factor level did not occur in the fit, an input is infinite, and ``invalid="raise"``; if
            the offset is missing; or if `new` has no column of the fit.
        NotAvailableError
            If `new` is None and the training data came in chunks, of which only sums were kept; if draws are
            needed and the results were loaded without data, see :func:`pyrjsel.load`; with
            ``incomplete="submodels"`` under a spike and slab, where every model has all columns.

        Warns
        -----
        MissingDataWarning
            With ``incomplete="submodels"``, if rows have no prediction: they lack a variable of a term that
            is always in, or models that need only what they have hold less than 1e-6 of the posterior. It
            counts them, and gives the call that fits the terms of such rows.

        Notes
        -----
        Under a budget the average over all models needs more variables than the budget buys, see
        :meth:`prediction_cost`: ``which="hpm"``, or ``incomplete="submodels"`` with the columns that were
        measured, stays within it.

        Averages over submodels use those of the draws that are of these models, or new ones where there are
        fewer than 200: up to 1,000, or `draws` if it is above its default. The empty model needs nothing, and
        is among them if it was visited.
        ``EmpiricalBayes("global")`` keeps the g of the fit.

        For linear models, ``mean`` is computed from the posterior means of the coefficients (those in
        `coefficients` for the average over all models), without further error. For logistic and Poisson
        models it is an average over the draws. With independent draws, as after enumeration and for single
        models, its Monte Carlo standard error is at most about ``mean_se`` / sqrt(`draws`), 1.6 % of
        ``mean_se`` with 4,000; dependent draws of chains are worth fewer. Intervals and ``mean_se`` are
        computed from the draws. The same call gives the same numbers.

        References
        ----------
        .. [1] Fletcher Mercaldo, S. and Blume, J. D. (2020). Missing data and prediction: the pattern
           submodel. Biostatistics 21, 236-252.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> results = rj.linear("bwt ~ lwt + smoke + ht", births).fit()
        >>> new = births[["lwt", "smoke"]].head(2)
        >>> results.get_prediction(new, incomplete="submodels").summary_frame()["mass"].round(3).tolist()
        [0.208, 0.208]
        """
        return self._new_rows(new, which, offset, draws, invalid, incomplete)

    def predict(
        self,
        new: Any = None,
        which: str = "bma",
        *,
        draws: int = PREDICTION_DRAWS,
        offset: ArrayLike | None = None,
        to: str | os.PathLike[str] | None = None,
        invalid: str = "raise",
        incomplete: str = "nan",
    ) -> pd.Series | Any:
        """Predict expected responses: means, success probabilities, or counts.

        For a response with two labels, such as "no" and "yes", these are probabilities of the second, which
        the summary names.

        Parameters
        ----------
        new : DataFrame, or data in chunks, optional
            Data with the columns of :meth:`required_columns`, as for :meth:`get_prediction`; None means the
            training data.
        which : {"bma", "hpm", "mpm", "bpm"}
            Average over all models, highest-probability model, median probability model, or best predictive
            model, as for :meth:`best`.
        draws : int, default 4000
            Number of posterior draws of the coefficients for the average of a logistic or Poisson model, as
            for :meth:`get_prediction`, which gives the error. Linear models need none.
        offset : array_like, optional
            Offset of the new rows, if that of the fit was an array; for chunks the name of a column.
        to : path, optional
            A Parquet file for the predictions of data in chunks.
        invalid : {"raise", "nan"}
            Treatment of rows that cannot be used, as for :meth:`get_prediction`.
        incomplete : {"nan", "submodels"}
            Treatment of new rows with missing inputs, and of columns that `new` lacks: NaN, and an error; or
            each row is averaged over the models that need only the variables which it has.

        Returns
        -------
        Series, iterator of Series, Dask series or None
            The ``mean`` of :meth:`get_prediction`, in the order and with the index of `new`; NaN for rows
            with missing inputs. For data in chunks an iterator over series, each computed when its turn
            comes, or a Dask series; None with `to`.

        Raises
        ------
        ParameterError, UnknownNameError, DataError, NotAvailableError
            As for :meth:`get_prediction`; for data in chunks the error names the chunk.

        Warns
        -----
        MissingDataWarning
            As for :meth:`get_prediction`.

        Notes
        -----
        Under a budget the average over all models needs more variables than the budget buys, see
        :meth:`prediction_cost`: ``which="hpm"``, or ``incomplete="submodels"`` with the columns that were
        measured, stays within it.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> results = rj.linear("bwt ~ lwt + smoke + ht", births).fit()
        >>> [len(part) for part in results.predict([births[:100], births[100:]])]
        [100, 89]
        """
        return mean_of(self._new_rows(new, which, offset, draws, invalid, incomplete, spread=False), to)

    def required_columns(self, which: str = "bma") -> list[str]:
        """Return the columns of new data that predictions need.

        Parameters
        ----------
        which : {"bma", "hpm", "mpm", "bpm"}
            As for :meth:`predict`. The average over all models needs the variables of all terms that some
            model in it has, with the default number of draws; a single model needs its own.

        Returns
        -------
        list of str
            Names, in the order of the design, and that of the offset, if it was a column.

        Raises
        ------
        ParameterError
            If `which` is invalid.
        NotAvailableError
            If ``"bpm"`` needs rows that are not available.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> results = rj.linear("bwt ~ age + lwt + smoke", births).fit()
        >>> results.required_columns("hpm"), results.required_columns()
        (['lwt', 'smoke'], ['age', 'lwt', 'smoke'])
        """
        return columns_of(self.model.design, self._needed(self._chosen(which)))

    def prediction_cost(self, which: str = "bma") -> float:
        """Return what the variables cost that predictions need.

        The average over all models needs more variables than any of its models, and its cost can exceed a
        budget that all of them are within. ``which="hpm"`` stays within it, and so does
        ``predict(new, incomplete="submodels")`` with the columns that were measured.

        Parameters
        ----------
        which : {"bma", "hpm", "mpm", "bpm"}
            As for :meth:`required_columns`.

        Returns
        -------
        float
            In units of the costs.

        Raises
        ------
        NotAvailableError
            If the model has no costs, or as for :meth:`required_columns`.
        ParameterError
            If `which` is invalid.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> minutes = {"lwt": 1, "smoke": 2, "ht": 5}
        >>> results = rj.logit("low ~ lwt + smoke + ht", births, costs=minutes, budget=6).fit(rng=1)
        >>> results.prediction_cost("hpm"), results.prediction_cost()
        (6.0, 8.0)
        """
        return self._price(self._needed(self._chosen(which)))

    def _needed(self, gamma: ByteArray | None) -> BoolArray:
        """Return the terms (J,) that predictions by a model (J,), or by all if None, need."""
        if gamma is not None:
            return terms_of(self.model, gamma)
        return self._averaging(None, PREDICTION_DRAWS, False).terms

    def _new_rows(
        self,
        new: Any,
        which: str,
        offset: ArrayLike | None,
        draws: int,
        invalid: str,
        incomplete: str,
        *,
        spread: bool = True,
    ) -> Any:
        """Return predictions for rows as :meth:`get_prediction` asks for them."""
        submodels, gamma = check_incomplete(self, which, incomplete), self._chosen(which)
        return self._predict_new(
            new, gamma, offset, draws, spread=spread, invalid=invalid, submodels=submodels
        )

    def _predict_new(
        self,
        new: Any,
        gamma: ByteArray | None,
        offset: ArrayLike | None,
        draws: int,
        *,
        spread: bool = True,
        invalid: str = "raise",
        submodels: bool = False,
        alone: bool = False,
    ) -> Prediction | SubmodelPrediction | ChunkedPrediction:
        """Return predictions for rows, or for chunks of them, by one model (J,), or by all if None."""
        draws = check_int(draws, "draws", low=1, high=MOST_DRAWS)
        terms, required, predict = self._predictor(gamma, draws, spread, submodels)
        error = partial(with_advice, results=None if alone else self, partly=True)
        chunks = chunks_of(self.model, new)
        if chunks is not None:
            design = self.model.design
            return ChunkedPrediction.of(chunks, design, offset, predict, invalid, terms, required, error)
        try:
            rows = prediction_rows(self.model, new, {"offset": offset}, invalid, terms, required)
        except MissingColumnsError as lacking:
            raise error(lacking) from None
        return predict(rows)

    def _predictor(
        self, gamma: ByteArray | None, draws: int, spread: bool, submodels: bool = False
    ) -> tuple[BoolArray, BoolArray | None, Callable[[NewRows], Any]]:
        """Return the terms (J,) that predictions use, those that rows must have, and what predicts rows."""
        if submodels:
            models = Submodels(self, draws, spread)
            return models.terms, models.required, models.prediction
        averaged = self._averaging(gamma, draws, spread)
        columns = averaged.columns
        none = np.empty((0, len(self.model.design.column_names) if columns is None else columns.size - 1))
        made = self._predicted_by(replace(averaged, columns=None), none, np.empty(0), pd.RangeIndex(0))
        return averaged.terms, None, OfRows(made, columns)

    def _chosen(self, which: str) -> ByteArray | None:
        """Return the model (J,) of a predictor, None for the average over all."""
        check_choice(which, "which", WHICH)
        return None if which == "bma" else self._model(which)

    def _prediction(
        self,
        new: Any,
        which: str,
        given: Mapping[str, ArrayLike | None],
        draws: int,
        *,
        spread: bool = True,
    ) -> tuple[Prediction, dict[str, FloatArray]]:
        """Return predictions for rows, with offset and weights as needed, see prediction_rows."""
        gamma = self._chosen(which)
        draws = check_int(draws, "draws", low=1, high=MOST_DRAWS)
        terms, _, predict = self._predictor(gamma, draws, spread)
        try:
            rows = prediction_rows(self.model, new, given, None, terms)
        except MissingColumnsError as lacking:
            raise with_advice(lacking, self, False) from None
        return predict(rows), rows.extras

    def _predict_at(self, x: Any, offset: FloatArray, index: pd.Index, gamma: ByteArray | None) -> Prediction:
        """Return predictions for columns of the design (rows, D), by one model (J,), or by all if None."""
        return self._predicted_by(self._averaging(gamma, PREDICTION_DRAWS, True), x, offset, index)

    def _predicted_by(
        self, averaged: Averaging, x: Any, offset: FloatArray, index: pd.Index, rows: IntArray | None = None
    ) -> Prediction:
        """Return predictions for some rows of columns of the design (n, D), by draws of coefficients."""
        model = self.model
        made = self._prediction_kind(
            chosen_columns(x, averaged.columns, rows), offset, index, averaged.coefficients,
            model.regression.family, model.design.response, averaged.nuisance, averaged.means,
        )  # fmt: skip
        return cast(Prediction, model._predicted(made, self._stream(b"baseline")))

    def _averaging(self, gamma: ByteArray | None, draws: int, spread: bool) -> Averaging:
        """Return the coefficients of one model (J,), or of all if None.

        Without `spread` they have means only, and draws only if the means need them.
        """
        regression, narrow = self.model.regression, self._narrow(gamma)
        # Means of single models with Student-t errors are integrals, of which draws are a part.
        exact = regression.family.link == "identity" and (gamma is None or not regression.family.expanded)
        means = self._mean_coefficients(gamma) if exact else None
        if means is not None and narrow is not None:
            means = means[narrow]
        width = regression.n_columns if narrow is None else narrow.size
        coefficients: FloatArray = np.empty((0, width))
        nuisance: Values = {}
        if spread or means is None:
            coefficients, nuisance = self._coefficient_draws(gamma, draws)
        if gamma is not None:
            return Averaging(coefficients, nuisance, means, narrow, terms_of(self.model, gamma))
        used = np.zeros(regression.n_columns, bool)
        used[slice(None) if narrow is None else narrow] = np.any(coefficients != 0, axis=0)
        if means is not None:
            used[slice(None) if narrow is None else narrow] |= means != 0
        terms = terms_with(regression.term_start, used)
        return Averaging(coefficients, nuisance, means, narrow, terms)

    def _averaging_within(
        self,
        inside: BoolArray,
        draws: int,
        spread: bool,
        label: bytes,
        sample: Callable[..., tuple[FloatArray, Values]] | None = None,
    ) -> Averaging:
        """Return the coefficients of some of the models (m,), with a label of the stream of new draws.

        `sample` is that of :func:`drawn_anew`.
        """
        posterior, model, regression = self.posterior, self.model, self.model.regression
        chosen = PackedModels(posterior.packed.chosen(np.flatnonzero(inside), ()).words, model.space.n_terms)
        probability = np.where(inside, posterior.probability, 0.0) / posterior.probability[inside].sum()
        terms, narrow, means = chosen.ever(), None, None
        if self._prediction_kind is Prediction and model._family.independent:
            narrow = regression.model_columns(terms)
        if regression.family.link == "identity" and not regression.family.expanded:
            _ = cast(SingleModels, self._marginal).moments  # which needs the training data
            means = averaged_moments(regression, model.space, chosen, probability[inside]).mean
            means = means if narrow is None else means[narrow]
        width = regression.n_columns if narrow is None else narrow.size
        if means is not None and not spread:
            return Averaging(np.empty((0, width)), {}, means, narrow, terms)
        own = posterior.draws
        if own is not None:
            kept = np.flatnonzero(inside[own.model[:, :: own.coefficients_every]].ravel())
            if kept.size >= FEWEST_DRAWS:
                kept = kept[:: max(1, kept.size // draws)]
                found = own.vectors[kept] if narrow is None else own.vectors[kept][:, narrow]
                values = {name: value.reshape(-1)[kept] for name, value in own.nuisance.items()}
                return Averaging(found.toarray(), values, means, narrow, terms)
        elif draws <= PREDICTION_DRAWS and not model.design.wide:
            # Independent draws of all models: those of these models have no other coefficients.
            known, behind = self._averaged
            outside = np.ones(regression.n_columns, bool)
            outside[regression.model_columns(terms)] = False
            kept = np.flatnonzero(~np.any(known[:, outside] != 0, axis=1))
            if kept.size >= FEWEST_DRAWS:
                kept = kept[:: max(1, kept.size // draws)]
                part = known[kept] if narrow is None else known[np.ix_(kept, narrow)]
                values = {name: each[kept] for name, each in behind.items()}
                return Averaging(part, values, means, narrow, terms)
        few, stream = narrow if model.design.wide else None, self._stream(label)
        size = draws if draws > PREDICTION_DRAWS else min(draws, NEW_DRAWS)
        single = self._marginal
        coefficients, nuisance = drawn_anew(posterior, probability, single, size, stream, few, sample)
        if few is None and narrow is not None:
            coefficients = coefficients[:, narrow]
        return Averaging(coefficients, nuisance, means, narrow, terms)

    def _mean_coefficients(self, gamma: ByteArray | None) -> FloatArray:
        """Return posterior means (D + 1,) of coefficients of a linear model; averages over all if None."""
        results = self
        if gamma is None:
            return results.posterior.moments.mean
        moments = cast(SingleModels, results._marginal).moments(gamma)
        means = np.zeros(results.model.regression.n_columns)
        means[moments.columns] = moments.mean
        return means

    def _coefficient_draws(self, gamma: ByteArray | None, draws: int) -> tuple[FloatArray, Values]:
        """Return draws of coefficients (m, D + 1) and of nuisance parameters (m,).

        For one model (J,), or for all if None.
        """
        results, columns = self, self._narrow(gamma)
        if gamma is not None and columns is not None:
            _, found, nuisance = own_draws(results._marginal, gamma, draws, results._stream(b"single"))
            return found, nuisance
        if gamma is not None:
            found, nuisance = results._marginal.sample(gamma, draws, results._stream(b"single"))
            return results.model.regression.to_raw(found), nuisance
        if draws == PREDICTION_DRAWS:
            return results._averaged
        stream = results._stream(b"averaged")
        return averaged_draws(results.posterior, results._marginal, draws, stream, columns)

    def _narrow(self, gamma: ByteArray | None) -> np.ndarray | None:
        """Return the columns of the regression that predictions use if there are many; None means all.

        Those of one model (J,), or of the visited ones.
        """
        if not self.model.design.wide:
            return None
        return self._visited_columns if gamma is None else self.model.regression.model_columns(gamma)

    def posterior_predictive(
        self,
        new: Any = None,
        which: str = "bma",
        *,
        draws: int = 1000,
        rng: RNGLike | SeedLike | None = None,
        weights: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> pd.DataFrame:
        """Simulate responses from their posterior predictive distribution.

        Parameters
        ----------
        new : DataFrame, optional
            Data with the columns of :meth:`required_columns`; None means the training data.
        which : {"bma", "hpm", "mpm", "bpm"}
            Average over all models, highest-probability model, median probability model, or best predictive
            model, as for :meth:`best`.
        draws : int, default 1000
            Responses per row. Those of the same draw share the model, its coefficients and sigma^2.
        rng : None, int, SeedSequence or Generator
            Source of randomness; None gives the same responses on every call.
        weights : array_like, optional
            Weights of the new rows (numbers of trials, or of rows behind a mean count; for linear models,
            error variances are sigma^2 / w), if those of the fit were an array. If the fit had no weights,
            they are one.
        offset : array_like, optional
            Offset of the new rows, if that of the fit was an array.

        Returns
        -------
        DataFrame, shape (rows, draws)
            Responses, in the order and with the index of `new`: real numbers, 0 and 1, proportions of trials,
            counts, or mean counts. NaN for rows with missing inputs and rows of weight zero.

        Raises
        ------
        ParameterError
            If `which`, `draws` or `rng` is not valid.
        UnknownNameError
            If a variable is missing from `new`.
        DataError
            If a factor level did not occur in the fit, an input is infinite, weights or offset are missing,
            or a number of trials is not whole.
        NotAvailableError
            If `new` is None and the training data came in chunks, of which only sums were kept.
        """
        results = self
        draws = check_int(draws, "draws", low=1, high=MOST_DRAWS)
        stream = _generator(results, rng, b"predictive")
        given = {"offset": offset, "weights": weights}
        prediction, extras = self._prediction(new, which, given, PREDICTION_DRAWS)
        return simulated_responses(prediction, extras["weights"], draws, stream)

    def check(
        self,
        statistics: Mapping[str, Callable[..., float]] | None = None,
        *,
        draws: int = 1000,
        rng: RNGLike | SeedLike | None = None,
    ) -> pd.DataFrame:
        """Compare the data with responses simulated from the posterior for the same rows.

        Parameters
        ----------
        statistics : mapping of str to callable, optional
            Functions of the responses, shape (n,), or of the responses and their expectations, both (n,); a
            function with two parameters without default gets both. None means the statistics of the family.
            Logistic: ``mean`` (proportion of successes), ``brier`` (mean squared error of the probabilities),
            ``calibration`` (chi-square of successes in ten groups of rows by their probability [1]_) and, for
            numbers of trials, ``pearson`` (chi-square over rows, large under overdispersion). Poisson:
            ``mean``, ``dispersion_index`` (variance over mean), ``zeros`` (proportion of rows) and ``max``.
            Linear: ``mean``, ``sd``, ``min``, ``max`` and ``skewness``; the first two and the last are
            weighted.
        draws : int, default 1000
            Number of simulated data sets, from the average over all models.
        rng : None, int, SeedSequence or Generator
            Source of randomness; None gives the same table on every call.

        Returns
        -------
        DataFrame
            One row per statistic: ``observed``, its value for the data (the posterior mean for a function of
            expectations); ``mean``, ``sd``, ``ci_lower`` and ``ci_upper`` (95 %) for simulated data;
            ``p_value``, twice the smaller of the probabilities that the statistic of simulated data is larger
            or smaller than that of the data under the same coefficients [2]_, with ties counted half.

        Raises
        ------
        ParameterError
            If a parameter is not valid, or a statistic is not a finite number.
        DataError
            If a number of trials is not whole.
        NotAvailableError
            If the training data came in chunks, of which only sums were kept.

        Notes
        -----
        The data are used twice, for the posterior and for the check, so these p-values are conservative: if
        the model is correct, they are closer to 1 than uniform ones [3]_, and a p-value that is not small
        does not imply a good fit. A small one implies that the model does not reproduce the statistic. Rows
        of weight zero are omitted.

        References
        ----------
        .. [1] Hosmer, D. W. and Lemeshow, S. (1980). Goodness of fit tests for the multiple logistic
           regression model. Communications in Statistics - Theory and Methods 9, 1043-1069.
        .. [2] Gelman, A., Meng, X.-L. and Stern, H. (1996). Posterior predictive assessment of model
           fitness via realized discrepancies. Statistica Sinica 6, 733-807.
        .. [3] Bayarri, M. J. and Berger, J. O. (2000). P values for composite null models. Journal of the
           American Statistical Association 95, 1127-1142.

        Examples
        --------
        >>> import pyrjsel as rj
        >>> births = rj.datasets.birthwt().data
        >>> results = rj.logit("low ~ lwt + smoke + ht", births).fit(rng=1)
        >>> (results.check()["p_value"] > 0.05).to_dict()
        {'mean': True, 'brier': True, 'calibration': True}
        """
        results = self
        known = results.model.regression.family.statistics(_weights(results))
        found = _compare(results, chosen_statistics(statistics, known), draws, rng)
        rows = [compared.row() for compared in found.values()]
        return pd.DataFrame(rows, index=pd.Index(list(found), name="statistic"), columns=COLUMNS)

    def plot_check(
        self,
        statistic: str | Callable[..., float] | None = None,
        ax: Any = None,
        *,
        draws: int = 1000,
        rng: RNGLike | SeedLike | None = None,
    ) -> Any:
        """Plot statistics of simulated data and of the data.

        Parameters
        ----------
        statistic : str or callable, optional
            Name of a statistic of the family, or a function, as for :meth:`check`. None means all statistics
            of the family, each in a panel of a new figure.
        ax : matplotlib Axes, optional
            Where to draw one statistic; a new figure by default.
        draws : int, default 1000
            Number of simulated data sets, from the average over all models.
        rng : None, int, SeedSequence or Generator
            Source of randomness; None gives the same plot on every call.

        Returns
        -------
        matplotlib Axes, or ndarray of them
            A histogram for simulated data; the data are shown as a line, or as a second histogram if the
            statistic is a function of the expectations and thus has a posterior distribution.

        Raises
        ------
        NotAvailableError
            If matplotlib is not installed, or as for :meth:`check`.
        UnknownNameError
            If the family has no statistic of this name.
        ParameterError, DataError
            As for :meth:`check`, or if `ax` is not valid.
        """
        results = self
        known = results.model.regression.family.statistics(_weights(results))
        if statistic is None:
            if ax is not None:
                raise bad_value("ax", "None where all statistics are drawn (statistic=None)", ax)
            every = _compare(results, known, draws, rng)
            return plot_checks(
                [(name, each.replicated, each.observed, each.row()[-1]) for name, each in every.items()]
            )
        name, chosen = named_statistic(statistic, known)
        found = _compare(results, {name: chosen}, draws, rng)[name]
        return plot_check(name, found.replicated, found.observed, found.row()[-1], ax=ax)


def _weights(results: PosteriorTables) -> FloatArray:
    """Return the weights of the training data."""
    rows = rows_of_fit(results.model)
    return rows.extras.get("weights", np.ones(rows.n))


def _generator(results: PosteriorTables, rng: RNGLike | SeedLike | None, label: bytes) -> np.random.Generator:
    """Return the generator of a call, by default a stream of the fit."""
    return results._stream(label) if rng is None else check_rng(rng)


def _compare(
    results: Predictive,
    statistics: Mapping[str, Statistic],
    draws: int,
    rng: RNGLike | SeedLike | None,
) -> dict[str, Compared]:
    draws = check_int(draws, "draws", low=2, high=MOST_DRAWS)
    stream = _generator(results, rng, b"check")
    wanted = dict.fromkeys(("offset", "weights"))
    prediction, extras = results._prediction(None, "bma", wanted, PREDICTION_DRAWS)
    y = results.model._response(results.model.data)
    return compare(prediction, y, extras["weights"], statistics, draws, stream)
