"""Results of models of classes: probabilities, predicted classes and scores."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pyrjsel._called import called
from pyrjsel._errors import DataError, NotAvailableError
from pyrjsel._once import kept_property
from pyrjsel._typing import IntArray, RNGLike, SeedLike
from pyrjsel.design import Design
from pyrjsel.report import class_scores
from pyrjsel.results import true_classes
from pyrjsel.selection.regression.checks import INTERCEPT
from pyrjsel.selection.results.classes.prediction import ClassPrediction
from pyrjsel.selection.results.prediction import PREDICTION_DRAWS, each_of, mean_of, rows_of_fit
from pyrjsel.selection.results.results import SelectionResults
from pyrjsel.selection.results.single import SingleModelResults
from pyrjsel.selection.results.tables import Presented


class ClassModelResults(SingleModelResults):
    """One model of a selection in a model of classes, returned by :meth:`ClassResults.single_model`.

    Coefficients are by class and column; fitted values and residuals have a column for each class.

    Parameters
    ----------
    results : ClassResults
        The results of the selection.
    gamma : ndarray (J,)
        The model.

    Attributes
    ----------
    terms : tuple of str
        Terms of the model.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import pyrjsel as rj
    >>> rng = np.random.default_rng(1)
    >>> age = rng.normal(size=200)
    >>> place = np.digitize(age + rng.logistic(size=200), [-1, 1])
    >>> people = pd.DataFrame({"age": age, "choice": np.array(["bus", "car", "train"])[place]})
    >>> one = rj.multinomial("choice ~ age", people).fit(rng=1).single_model(["age"])
    >>> one.params.loc["train"].round(1).to_dict()
    {'Intercept': -0.4, 'age': 1.7}
    """

    @property
    def _shown(self) -> pd.DataFrame:
        """Coefficients as in the summary, with one label for class and column."""
        table = self.coefficients
        return table.set_axis([f"{level}: {column}" for level, column in table.index])

    @property
    def resid(self) -> pd.DataFrame:  # type: ignore[override]
        """1 for the class of a row and 0 for others, minus :attr:`fittedvalues`."""
        data, fitted = rows_of_fit(self._results.model), self.fittedvalues
        own = data.y[:, None] == np.arange(fitted.shape[1])
        return own.astype(float) - fitted


class ClassResults(SelectionResults):
    """The posterior over models and coefficients of classes, returned by ``fit``.

    As :class:`SelectionResults`, with probabilities of classes in place of expected responses: coefficients
    are differences of log odds from the first class, by class and column of the design.

    Parameters
    ----------
    model : SelectionModel
        The fitted model.
    posterior : Posterior
        Full-precision arrays behind the tables.
    settings : FitSettings
        The parameters of ``fit``.
    options : object, optional
        Options of the sampler, if known.
    known : Known, optional
        Values from a file that otherwise need the training data.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import pyrjsel as rj
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"age": rng.normal(size=200)})
    >>> utility = np.column_stack([np.zeros(200), people["age"], 1.5 * people["age"]])
    >>> choice = np.array(["bus", "car", "train"])[(utility + rng.gumbel(size=(200, 3))).argmax(axis=1)]
    >>> results = rj.MultinomialSelection(choice, people).fit(rng=1)
    >>> results.coefficients["mean"].round(1).to_dict()
    {('car', 'Intercept'): -0.4, ('car', 'age'): 1.2, ('train', 'Intercept'): -0.3, ('train', 'age'): 1.9}
    >>> results.classify(pd.DataFrame({"age": [-2.0, 2.0]})).tolist()
    ['bus', 'train']
    """

    _prediction_kind = ClassPrediction
    _single_kind = ClassModelResults

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, the base class first."""
        return tuple(self.model._family.levels)  # type: ignore[attr-defined]

    # ------------------------------------------------------------------ tables

    @kept_property
    def _pairs(self) -> pd.MultiIndex:
        """Class and column of each coefficient, in the order of the regression."""
        columns, classes = [INTERCEPT, *self.model.design.column_names], self.classes[1:]
        return pd.MultiIndex.from_tuples(
            [(level, column) for column in columns for level in classes], names=["class", "column"]
        )

    @property
    def _column_names(self) -> pd.Index:
        names = [f"{level}: {column}" for level, column in self._pairs]
        return pd.Index(names, name="column", dtype=object)

    def _presented(self, table: Presented) -> Presented:
        """Return a table by class and column."""
        places = self._column_names.get_indexer(table.index)
        order = np.argsort(places % (len(self.classes) - 1), kind="stable")
        return table.iloc[order].set_axis(self._pairs[places[order]])

    # ------------------------------------------------------------------ rows

    def predict(  # type: ignore[override]
        self,
        new: Any = None,
        which: str = "bma",
        *,
        draws: int = PREDICTION_DRAWS,
        offset: None = None,
        to: str | os.PathLike[str] | None = None,
        invalid: str = "raise",
        incomplete: str = "nan",
    ) -> pd.DataFrame | Any:
        """Predict probabilities of the classes.

        Parameters
        ----------
        new : DataFrame, or data in chunks, optional
            Data with the columns of :meth:`required_columns`; None means the training data.
        which : {"bma", "hpm", "mpm", "bpm"}
            Average over all models, highest-probability model, median probability model, or best predictive
            model, as for :meth:`best`.
        draws : int, default 4000
            Number of posterior draws of the coefficients, as for :meth:`get_prediction`.
        offset : None
            There are no offsets.
        to : path, optional
            A Parquet file for the predictions of data in chunks.
        invalid : {"raise", "nan"}
            Treatment of rows that cannot be used, as for :meth:`SelectionResults.get_prediction`.
        incomplete : {"nan", "submodels"}
            Treatment of rows with missing inputs, as for :meth:`SelectionResults.get_prediction`.

        Returns
        -------
        DataFrame, shape (rows, classes)
            Posterior means, in the order and with the index of `new`; NaN for rows with missing inputs. For
            data in chunks an iterator over data frames, a Dask data frame, or None with `to`.

        Raises
        ------
        ParameterError, UnknownNameError, DataError, NotAvailableError
            As for :meth:`get_prediction`.
        """
        _refuse(offset)
        return mean_of(self._new_rows(new, which, None, draws, invalid, incomplete, spread=False), to)

    def get_prediction(
        self,
        new: Any = None,
        which: str = "bma",
        *,
        draws: int = PREDICTION_DRAWS,
        offset: ArrayLike | None = None,
        invalid: str = "raise",
        incomplete: str = "nan",
    ) -> ClassPrediction | Any:
        """Predict probabilities of the classes, with intervals.

        Parameters
        ----------
        new, which, draws, offset, invalid, incomplete : optional
            As for :meth:`predict`.

        Returns
        -------
        ClassPrediction or ChunkedPrediction
            Predictions, with a method ``summary_frame(alpha)``: probability of each class by row, with its
            posterior standard deviation and interval.

        Raises
        ------
        ParameterError, UnknownNameError, DataError, NotAvailableError
            As for :meth:`SelectionResults.get_prediction`.
        """
        _refuse(offset)
        return self._new_rows(new, which, None, draws, invalid, incomplete)

    def classify(
        self,
        new: Any = None,
        which: str = "bma",
        *,
        draws: int = PREDICTION_DRAWS,
        to: str | os.PathLike[str] | None = None,
        invalid: str = "raise",
        incomplete: str = "nan",
    ) -> pd.Series | Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        new, which, draws, to, invalid, incomplete : optional
            As for :meth:`predict`.

        Returns
        -------
        Series
            Classes, in the type of the response, the first of equally probable ones; missing for rows with
            missing inputs. For data in chunks as :meth:`predict`, of series.

        Raises
        ------
        ParameterError, UnknownNameError, DataError, NotAvailableError
            As for :meth:`get_prediction`.
        """
        found = self._new_rows(new, which, None, draws, invalid, incomplete, spread=False)
        return each_of(found, partial(_most_probable, design=self.model.design), to)

    def score(
        self,
        new: Any = None,
        endog: ArrayLike | None = None,
        which: str = "bma",
        *,
        draws: int = PREDICTION_DRAWS,
    ) -> pd.DataFrame:
        """Return error rate, log score and Brier score of the class probabilities.

        Parameters
        ----------
        new : DataFrame, optional
            Rows with the variables of the formula, with the response unless `endog` has it. None is the
            training data, which flatters: see ``model.cross_validate``.
        endog : array_like, optional
            True classes of the rows.
        which, draws : optional
            As for :meth:`predict`.

        Returns
        -------
        DataFrame
            Rows ``error_rate``; ``log_score``, the mean log probability of the true class; ``brier``, half
            the mean squared distance of the probabilities from 1 for the true class and 0 for the others.
            Columns ``value``, ``se``, the standard error over rows, and ``rows``.

        Raises
        ------
        ParameterError, UnknownNameError, DataError, NotAvailableError
            As for :meth:`predict`; if the response is missing, or of a class that the fit does not have.
        """
        found = self._prediction(new, which, {"offset": None}, draws, spread=False)[0]
        probability = found.mean().to_numpy()
        gone = int(np.isnan(probability).any(axis=1).sum())
        if gone:
            raise DataError(
                f"The rows of {called()} must have predictions: all inputs, and no cell that the fit lacks. "
                f"{gone} of {len(probability)} have none."
            )
        labels = self.model.design.labels
        return class_scores(probability, true_classes(labels, new, endog, self._fitted, len(probability)))

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
        """Simulate classes from their posterior predictive distribution.

        Parameters
        ----------
        new, which : optional
            As for :meth:`predict`.
        draws : int, default 1000
            Classes per row. Those of the same draw share the model and its coefficients.
        rng : None, int, SeedSequence or Generator
            Source of randomness; None gives the same classes on every call.
        weights : array_like, optional
            Weights of the new rows, if those of the fit were an array; rows of weight zero are left out.
        offset : None
            There are no offsets.

        Returns
        -------
        DataFrame, shape (rows, draws)
            Classes, in the order and with the index of `new`; NaN for rows with missing inputs and rows of
            weight zero.

        Raises
        ------
        ParameterError, UnknownNameError, DataError, NotAvailableError
            As for :meth:`get_prediction`.
        """
        _refuse(offset)
        found = super().posterior_predictive(new, which, draws=draws, rng=rng, weights=weights)
        labels = np.array([*self.classes, np.nan], dtype=object)
        places = np.nan_to_num(found.to_numpy(), nan=len(self.classes)).astype(np.intp)
        return pd.DataFrame(labels[places], index=found.index, columns=found.columns)

    def _fitted(self) -> IntArray:
        """Return the classes of the training data, as positions."""
        return np.asarray(rows_of_fit(self.model).y, dtype=np.int64)


def _most_probable(found: ClassPrediction, design: Design) -> pd.Series:
    return design.decode(found.classify(), found.index)


def _refuse(offset: object) -> None:
    if offset is not None:
        raise NotAvailableError(
            f"{called()} has no offsets: each class but the first has a linear predictor."
        )
