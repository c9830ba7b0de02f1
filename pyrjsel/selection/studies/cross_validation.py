"""Cross-validation of selection models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pyrjsel import report
from pyrjsel._called import called, warn
from pyrjsel._errors import DataError, ExtrapolationWarning, NotAvailableError
from pyrjsel._typing import BoolArray, FloatArray
from pyrjsel._validate import bad_value, check_bool
from pyrjsel.design import Aliases, DesignData, WideRows
from pyrjsel.families import Family
from pyrjsel.report import results_html
from pyrjsel.runtime import Refits
from pyrjsel.selection.protocols import SelectionModel
from pyrjsel.selection.results.prediction import WHICH, rows_of_fit
from pyrjsel.selection.studies.refits import make_folds, refit

if TYPE_CHECKING:
    from pyrjsel.report import Report

FORMATS = dict.fromkeys(("log_score", "se", "difference", "brier", "error_rate", "concordance"), "fixed3")


class CrossValidation:
    """Held-out predictions of all rows, and their scores; returned by ``cross_validate``.

    Parameters
    ----------
    model : SelectionModel
        The validated model.
    log_density : DataFrame, shape (rows, predictors)
        Log posterior predictive density of each response under the fit without its fold.
    predicted : DataFrame, shape (rows, predictors)
        Expected responses under the same fits; of classes, columns for each class of each predictor.
    fold : Series, shape (rows,)
        The fold of each row.
    y, weights : ndarray, shape (rows,)
        Responses and weights.

    Attributes
    ----------
    model : SelectionModel

    Examples
    --------
    >>> import pyrjsel as rj
    >>> births = rj.datasets.birthwt().data
    >>> cv = rj.logit("low ~ lwt + smoke + ht", births).cross_validate(5, rng=1)
    >>> cv.scores["brier"].round(2).to_dict()
    {'bma': 0.21, 'hpm': 0.22, 'mpm': 0.21}
    """

    def __init__(
        self,
        model: SelectionModel,
        log_density: pd.DataFrame,
        predicted: pd.DataFrame,
        fold: pd.Series,
        y: FloatArray,
        weights: FloatArray,
    ) -> None:
        self.model = model
        self._log_density, self._predicted, self._fold = log_density, predicted, fold
        self._y, self._weights = y, weights
        # Rows in all scores: those with a held-out prediction.
        self._scored = ~log_density.isna().any(axis=1).to_numpy()

    @property
    def log_density(self) -> pd.DataFrame:
        """Log posterior predictive density of each row under the fit without its fold, by predictor.

        NaN for rows with a level or a cell that the other folds lack, which are left out of all scores.
        """
        return self._log_density.copy()

    @property
    def predicted(self) -> pd.DataFrame:
        """Expected response of each row under the fit without its fold, by predictor.

        Of a model with classes, the probability of each, by predictor and class.
        """
        return self._predicted.copy()

    @property
    def fold(self) -> pd.Series:
        """The fold of each row.

        Can be passed as ``folds=`` for another model of the same rows, for a paired comparison.
        """
        return self._fold.copy()

    @property
    def _family(self) -> Family:
        return self.model.regression.family

    def _error(self, which: str, rows: Any) -> float:
        mean = self._predicted[which].to_numpy()
        return self._family.error(self._y[rows], mean[rows], self._weights[rows])

    @property
    def scores(self) -> pd.DataFrame:
        """Scores over all rows, by predictor.

        Columns ``log_score`` (mean over the rows of the log predictive densities; higher is better), ``se``
        (its standard error, if rows are independent), and ``brier`` (binomial: mean squared error of the
        probabilities of single outcomes), ``error_rate`` (multinomial: proportion of rows whose most probable
        class is not theirs), ``concordance`` (Cox models: Harrell's index) or ``rmse``. The log score times
        the number of rows is the expected log pointwise predictive density (elpd) of ArviZ and loo; that of
        Cox models is the log probability that, of the rows of a fold at risk, that of an event has it, and 0
        for censored rows.
        """
        rows = []
        for which in self._log_density.columns:
            scores = self._log_density[which].to_numpy()[self._scored]
            rows.append((*_mean(scores), self._error(which, self._scored)))
        columns = ["log_score", "se", self._family.error_name]
        return pd.DataFrame(rows, index=self._log_density.columns.copy(), columns=columns)

    @property
    def differences(self) -> pd.DataFrame:
        """Differences of log scores between two predictors, paired by row.

        By ``first`` and ``second``: ``difference`` (positive if the first predicts better) and its
        standard error ``se``.
        """
        pairs = list(combinations(self._log_density.columns, 2))
        scores = self._log_density[self._scored]
        rows = [_mean((scores[one] - scores[two]).to_numpy()) for one, two in pairs]
        index = pd.MultiIndex.from_tuples(pairs, names=["first", "second"])
        return pd.DataFrame(rows, index=index, columns=["difference", "se"], dtype=float)

    @property
    def folds(self) -> pd.DataFrame:
        """Scores by fold and predictor: ``rows``, ``log_score``, and the last of :attr:`scores`."""
        rows, keys = [], []
        codes, labels = pd.factorize(self._fold, sort=True)
        for code, label in enumerate(labels):
            inside = np.flatnonzero((codes == code) & self._scored)
            for which in self._log_density.columns:
                if not inside.size:
                    rows.append((0, np.nan, np.nan))
                else:
                    score = float(self._log_density[which].to_numpy()[inside].mean())
                    rows.append((inside.size, score, self._error(which, inside)))
                keys.append((label, which))
        index = pd.MultiIndex.from_tuples(keys, names=["fold", "which"])
        columns = ["rows", "log_score", self._family.error_name]
        return pd.DataFrame(rows, index=index, columns=columns)

    def summary(self) -> Report:
        """Return the summary: scores, and their differences.

        Returns
        -------
        statsmodels Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.
        """
        info = [
            ("Response", self.model.design.response),
            ("Rows", f"{int(self._scored.sum()):,}"),
            ("Folds", str(self._fold.nunique())),
        ]
        differences = self.differences
        differences.index = pd.Index([f"{one} - {two}" for one, two in differences.index])
        tables = [("Held-out scores", self.scores, FORMATS)]
        if len(differences):
            tables.append(("Differences, paired by row", differences, FORMATS))
        notes = [
            "Standard errors take rows as independent; fits of different folds share most of their rows."
        ]
        return report.Report(f"{self.model.title}: cross-validation", info, tables, notes)

    _repr_html_ = results_html

    def __repr__(self) -> str:
        score = self.scores["log_score"]
        return (
            f"<CrossValidation: {self._fold.nunique()} folds, {len(self._fold)} rows, best {score.idxmax()} "
            f"with log score {score.max():.3f}>"
        )


def cross_validated(
    model: SelectionModel,
    folds: Any,
    which: Any,
    stratify: Any,
    rng: np.random.Generator,
    options: Mapping[str, Any],
) -> CrossValidation:
    """Fit `model` without each fold, and score the predictions of that fold."""
    chosen = _predictors(which)
    check_bool(stratify, "stratify")
    rows = rows_of_fit(model)
    if isinstance(rows, WideRows):
        raise NotAvailableError(
            f"{called()} needs columns in float64, and a matrix of this size is used as it is given: screen "
            "it first, or give it as float64 in memory."
        )
    weights = rows.extras.get("weights", np.ones(rows.n))
    used = weights > 0
    codes, labels = make_folds(rows, used, folds, stratify, rng.spawn(1)[0])
    data, weights = some_rows(rows, used), weights[used]
    y, offset = model._response(data), data.extras.get("offset", np.zeros(data.y.size))
    log_density = np.empty((data.y.size, len(chosen)))
    predicted: dict[str, list[Any]] = {name: [] for name in chosen}
    refits = Refits("Fold")
    for code, (label, stream) in enumerate(zip(labels, rng.spawn(len(labels)), strict=True)):
        test = np.flatnonzero(codes == code)
        with refits.named(str(label)):
            results = refit(model, some_rows(data, codes != code), model._choices, stream, options)
            x, unlike = _kept(results.model._aliases, data.X[test])
            for column, name in enumerate(chosen):
                gamma = None if name == "bma" else results._model(name)
                prediction = results._predict_at(x, offset[test], data.index[test], gamma)
                log_density[test, column] = prediction.log_density(y[test], weights[test])
                log_density[test[unlike], column] = np.nan
                mean = prediction.mean().astype(float)
                mean.iloc[np.flatnonzero(unlike)] = np.nan
                predicted[name].append(mean)
    refits.warn()
    lost = int(np.isnan(log_density).any(axis=1).sum())
    if lost == data.y.size:
        raise DataError(
            f"No row has a held-out prediction in {called()}: the rows without its fold lack its level or "
            "cell. Leave out the factor that the 'folds' divide, or use a Normal prior."
        )
    if lost:
        warn(
            f"{lost:,} of {data.y.size:,} rows have no held-out prediction in {called()}: the rows without "
            "their fold lack their level or cell. They are left out of all scores.",
            ExtrapolationWarning,
        )
    columns = pd.Index(chosen, name="which")
    fold = pd.Series(pd.Index(labels).take(codes), index=data.index, name="fold")
    return CrossValidation(
        model,
        pd.DataFrame(log_density, index=data.index, columns=columns),
        _joined(predicted, codes, data.index),
        fold,
        y,
        weights,
    )


def _kept(aliases: Aliases | None, X: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the columns that a fit has kept, and the rows that are unlike its rows in the others."""
    if aliases is None:
        return X, np.zeros(len(X), bool)
    return np.asfortranarray(X[:, aliases.inside]), aliases.unlike(X)


def _joined(parts: Mapping[str, list[Any]], codes: np.ndarray, index: pd.Index) -> pd.DataFrame:
    """Return predictions of all rows from those of each fold, by predictor (and class, if tables)."""
    # Rows come in the order of their folds.
    order = np.argsort(np.argsort(codes, kind="stable"), kind="stable")
    whole = {name: pd.concat(each).iloc[order].set_axis(index) for name, each in parts.items()}
    several = next(iter(whole.values())).ndim == 2
    return pd.concat(whole, axis=1, names=["which", *(["class"] if several else [])])


def some_rows(data: DesignData, rows: np.ndarray) -> DesignData:
    """Return the rows of a design where `rows` (n,) is true, with the same columns."""
    return replace(
        data,
        y=data.y[rows],
        X=np.asfortranarray(data.X[rows]),
        extras={key: values[rows] for key, values in data.extras.items()},
        index=data.index[rows],
        positions=data.positions[rows],
    )


def _predictors(which: Any) -> list[str]:
    names = [which] if isinstance(which, str) else which
    if (
        not isinstance(names, (list, tuple))
        or not names
        or any(not isinstance(name, str) or name not in WHICH for name in names)
        or len(set(names)) < len(names)
    ):
        raise bad_value("which", "some of 'bma', 'hpm', 'mpm' and 'bpm', each once", which)
    return list(names)


def _mean(values: FloatArray) -> tuple[float, float]:
    """Return the mean of independent values (n,) and its standard error."""
    with np.errstate(invalid="ignore"):  # an infinite mean has no known error
        return float(values.mean()), float(np.sqrt(values.var(ddof=1) / values.size))
