"""Variable selection as scikit-learn estimators: a classifier, a regressor, and a selector of columns.

Every column of ``X`` is one term, named as in the data frame, or x0, x1, ... in an array. Columns of text and
categories in a data frame are factors, which enter or leave as a whole. Missing values are an error, as usual
in scikit-learn; for formulas, offsets and heredity use the package's own models.

Examples
--------
>>> from sklearn.model_selection import cross_val_score
>>> import pyrjsel as rj
>>> from pyrjsel.sklearn import SelectionClassifier
>>> births = rj.datasets.birthwt().data
>>> X, y = births[["lwt", "race", "smoke", "ht"]], births["low"]
>>> scores = cross_val_score(SelectionClassifier(random_state=1), X, y, scoring="roc_auc", cv=3)
>>> bool(scores.mean() > 0.6)
True
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pyrjsel._called import called, warn
from pyrjsel._core import special
from pyrjsel._errors import DataError, RankWarning
from pyrjsel._typing import FloatArray
from pyrjsel._validate import bad_value, check_choice, check_real, listed, unmasked
from pyrjsel.design import as_pandas
from pyrjsel.design.categories import are_numbers
from pyrjsel.mixture import MixtureClassifier, MixtureResults
from pyrjsel.model_space import ModelPrior
from pyrjsel.runtime import AUTO, MCSE
from pyrjsel.selection.models.registry import MODELS
from pyrjsel.selection.results.results import SelectionResults

__all__ = ["MixtureSelectionClassifier", "SelectionClassifier", "SelectionRegressor", "SelectionSelector"]

# Parameters of the estimators that are parameters of the model and of its `fit`, by the same names.
PRIORS_AND_CONSTRAINTS = ("coef_prior", "model_prior", "costs", "budget", "always", "max_size")
RUN = ("sampler", "draws", "mcse", "chains", "n_jobs")


class _Estimator(BaseEstimator):
    """Base class of all but the selector: columns of data, inclusion probabilities."""

    # How missing values are treated by scikit-learn's checks.
    _finite: ClassVar[bool | str] = True

    @property
    def feature_importances_(self) -> FloatArray:
        """Posterior inclusion probabilities of the columns, ndarray (n_features,)."""
        check_is_fitted(self)
        inclusion: FloatArray = self.inclusion_
        return inclusion

    def _columns(self, X: Any) -> tuple[Any, bool]:
        """Return data with other tables converted to pandas, and whether some columns are not numeric."""
        X = as_pandas(unmasked(X))
        if not isinstance(X, pd.DataFrame):
            _refuse_dates(X, "X")
        mixed = isinstance(X, pd.DataFrame) and not all(map(is_numeric_dtype, X.dtypes))
        return X, mixed

    def _frame(self, X: Any) -> pd.DataFrame:
        """Return checked columns as a data frame with the names of the features."""
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        if isinstance(X, pd.DataFrame):
            return X.set_axis(pd.Index(list(names), dtype=object), axis=1)
        return pd.DataFrame(X, columns=pd.Index(list(names), dtype=object))

    def _checked(self, X: Any, y: ArrayLike, **options: Any) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Return columns and response for a fit."""
        (X, mixed), y = self._columns(X), unmasked(y)
        if mixed:
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
        else:
            options = {"ensure_all_finite": self._finite, **options}
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, **options)
        return self._frame(X), np.asarray(y)

    def _new(self, X: Any) -> pd.DataFrame:
        """Return the columns of new rows."""
        check_is_fitted(self)
        X, mixed = self._columns(X)
        if mixed:
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            finite = "allow-nan" if getattr(self, "incomplete", "nan") == "submodels" else self._finite
            X = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=finite)
        return self._frame(X)


class _Selection(_Estimator):
    """Base class of classifier and regressor."""

    # Short names of models, the default first.
    _families: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        *,
        family: str | None = None,
        coef_prior: Any = None,
        model_prior: ModelPrior | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        max_size: int | None = None,
        which: str = "bma",
        incomplete: str = "nan",
        sampler: str = "auto",
        draws: int | str = AUTO,
        mcse: float = MCSE,
        chains: int = 4,
        fit_options: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.coef_prior = coef_prior
        self.model_prior = model_prior
        self.costs = costs
        self.budget = budget
        self.always = always
        self.max_size = max_size
        self.which = which
        self.incomplete = incomplete
        self.sampler = sampler
        self.draws = draws
        self.mcse = mcse
        self.chains = chains
        self.fit_options = fit_options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _family(self) -> str:
        """Return the short name of the model."""
        if self.family is None:
            return self._families[0]
        check_choice(self.family, "family", self._families)
        return self.family

    def _fit(self, X: pd.DataFrame, y: NDArray[Any], sample_weight: ArrayLike | None) -> None:
        """Fit the model of checked columns and response."""
        family = self._family()
        if sample_weight is not None:
            _refuse_dates(sample_weight, "sample_weight")
            sample_weight = _check_sample_weight(
                unmasked(sample_weight), X, dtype=np.float64, ensure_non_negative=True
            )
        name = "y"
        while name in X.columns:
            name += "_"
        chosen = {name: getattr(self, name) for name in PRIORS_AND_CONSTRAINTS}
        alike = X.eq(X.iloc[0]).all() & X.notna().all()
        constant = alike.index[alike].to_list()
        if constant:
            warn(
                f"Columns of 'X' have the same value in all rows of {called()}: {listed(constant)}. They are "
                "left out, with an inclusion probability of 0.",
                RankWarning,
            )
            for option in ("always", "costs"):
                chosen[option] = _without(chosen[option], constant)
        self._used = [column for column in X if column not in constant]
        model = MODELS[family](
            pd.Series(y, index=X.index, name=name),
            X[self._used],
            weights=sample_weight,
            missing="raise",
            **chosen,
        )
        self.results_: SelectionResults = model.fit(
            rng=_rng(self.random_state),
            **_options(self, RUN),
        )
        inclusion = self.results_.inclusion["posterior"].reindex(X.columns, fill_value=0.0)
        self.inclusion_: FloatArray = inclusion.to_numpy()

    def _predicted(self, X: Any) -> FloatArray:
        """Return expected responses of new rows."""
        rows = self._new(X)[self._used]
        found: FloatArray = self.results_.predict(rows, self.which, incomplete=self.incomplete).to_numpy()
        return found


class SelectionClassifier(ClassifierMixin, _Selection):
    """Bayesian variable selection in a logistic regression, of two or more classes.

    Parameters
    ----------
    family : {"logit", "probit", "cloglog", "multinomial"}, optional
        The model; None is "logit" for two classes and "multinomial" for more.
    coef_prior, model_prior, costs, budget, always, max_size : optional
        Priors and constraints, as for :class:`pyrjsel.LogitSelection` and
        :class:`pyrjsel.MultinomialSelection`.
    which : {"bma", "hpm", "mpm"}
        Predict with the average over all models, the highest-probability or the median probability model.
    incomplete : {"nan", "submodels"}
        With ``"submodels"`` missing values are allowed in predictions: each row is averaged over the models
        that need only the columns which it has, as by ``SelectionResults.predict``. A fit allows none. Rows
        must have the columns of the fit, as everywhere in scikit-learn:
        ``X.reindex(columns=model.feature_names_in_)`` adds those that were not measured.
    sampler, draws, mcse, chains : optional
        As for ``LogitSelection.fit``.
    fit_options : mapping of str to object, optional
        More parameters of ``fit``: ``burn_in``, ``thin``, ``progress``, and options of the sampler.
    random_state : None, int, RandomState or Generator
        Source of randomness. None is fresh entropy, not numpy's global state.
    n_jobs : int, optional
        Workers; None follows ``joblib.parallel_config``.

    Attributes
    ----------
    results_ : SelectionResults
        The posterior: tables, plots and predictions with intervals.
    inclusion_ : ndarray of float, shape (n_features,)
        Posterior inclusion probabilities; 0 for constant columns.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the columns, if they have any.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> from pyrjsel.sklearn import SelectionClassifier
    >>> births = rj.datasets.birthwt().data
    >>> X = births[["lwt", "smoke", "ht"]]
    >>> classifier = SelectionClassifier(random_state=1).fit(X, births["low"])
    >>> classifier.inclusion_.round(1)
    array([0.8, 0.5, 0.7])
    >>> classifier.predict_proba(X[:2]).round(2)
    array([[0.85, 0.15],
           [0.8 , 0.2 ]])
    """

    _families = ("logit", "probit", "cloglog", "multinomial")

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: families of binary responses have two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.family in (None, "multinomial")
        return tags

    def _family(self) -> str:
        """Return the short name of the model."""
        return "multinomial" if self.family is None and self.classes_.size > 2 else super()._family()

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n, n_features)
            Columns.
        y : array_like, shape (n,)
            Classes.
        sample_weight : array_like, shape (n,), optional
            Number of identical rows that each row represents.

        Returns
        -------
        SelectionClassifier
            Itself.

        Raises
        ------
        ParameterError
            If there is one class, or there are more than the family has, or a parameter is invalid.
        DataError
            If the data cannot be used.

        Warns
        -----
        RankWarning
            If columns are constant: they are left out.
        """
        X, y = self._checked(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise bad_value("y", "labels of two classes or more, not of one", y)
        if self.classes_.size > 2 and self._family() != "multinomial":
            raise bad_value(
                "family",
                f"None or 'multinomial' with the {self.classes_.size} classes of 'y'. Only binary "
                "classification is supported by others",
                self.family,
            )
        self._fit(X, codes, sample_weight)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities of the classes.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, n_features)
            Columns.

        Returns
        -------
        ndarray of float, shape (m, n_classes)
            One row per observation, in the order of ``classes_``.
        """
        found = self._predicted(X)
        return np.column_stack([1.0 - found, found]) if found.ndim == 1 else found

    def decision_function(self, X: Any) -> FloatArray:
        """Return log odds of the second of two classes, or logs of the probabilities of more.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, n_features)
            Columns.

        Returns
        -------
        ndarray of float, shape (m,) or (m, n_classes)
            The logit, or the logs, of averaged probabilities.
        """
        probabilities = self.predict_proba(X)
        two = self.classes_.size == 2
        found: FloatArray = special.logit(probabilities[:, 1]) if two else np.log(probabilities)
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, n_features)
            Columns.

        Returns
        -------
        ndarray, shape (m,)
            Classes.
        """
        probabilities = self.predict_proba(X)
        if np.isnan(probabilities).any():
            count = int(np.isnan(probabilities).any(axis=1).sum())
            raise DataError(
                f"{count:,} of {len(probabilities):,} rows given to {called()} have no prediction: "
                "predict_proba, which is NaN there, says why."
            )
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


class SelectionRegressor(RegressorMixin, _Selection):
    """Bayesian variable selection in a linear regression, or one of counts or of positive responses.

    Parameters
    ----------
    family : {"linear", "poisson", "negbin", "gamma"}, optional
        The model; None is "linear". A theta or shape is estimated.
    coef_prior, model_prior, costs, budget, always, max_size : optional
        Priors and constraints, as for :class:`pyrjsel.LinearSelection`.
    which : {"bma", "hpm", "mpm"}
        Predict with the average over all models, the highest-probability or the median probability model.
    incomplete : {"nan", "submodels"}
        With ``"submodels"`` missing values are allowed in predictions: each row is averaged over the models
        that need only the columns which it has, as by ``SelectionResults.predict``. A fit allows none. Rows
        must have the columns of the fit, as everywhere in scikit-learn:
        ``X.reindex(columns=model.feature_names_in_)`` adds those that were not measured.
    sampler, draws, mcse, chains : optional
        As for ``LinearSelection.fit``.
    fit_options : mapping of str to object, optional
        More parameters of ``fit``: ``burn_in``, ``thin``, ``progress``, and options of the sampler.
    random_state : None, int, RandomState or Generator
        Source of randomness. None is fresh entropy, not numpy's global state.
    n_jobs : int, optional
        Workers; None follows ``joblib.parallel_config``.

    Attributes
    ----------
    results_ : SelectionResults
        The posterior: tables, plots and predictions with intervals.
    inclusion_ : ndarray of float, shape (n_features,)
        Posterior inclusion probabilities; 0 for constant columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the columns, if they have any.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> from pyrjsel.sklearn import SelectionRegressor
    >>> hald = rj.datasets.hald().data
    >>> X, y = hald.drop(columns="y"), hald["y"]
    >>> regressor = SelectionRegressor(random_state=1).fit(X, y)
    >>> regressor.inclusion_.round(1)
    array([0.9, 0.7, 0.5, 0.6])
    >>> round(regressor.score(X, y), 2)
    0.98
    """

    _families = ("linear", "poisson", "negbin", "gamma")

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: counts, costs and the like are positive."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family not in (None, "linear")
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n, n_features)
            Columns.
        y : array_like, shape (n,)
            Response.
        sample_weight : array_like, shape (n,), optional
            Precisions in a linear regression, as in weighted least squares: the error variance of a row is
            sigma^2 over its weight, and a row of weight 2 is not two rows. In others, numbers of responses of
            which each is the mean.

        Returns
        -------
        SelectionRegressor
            Itself.

        Raises
        ------
        ParameterError
            If a parameter is invalid.
        DataError
            If the data cannot be used: counts that are none, or positive responses of 0 or less, too.

        Warns
        -----
        RankWarning
            If columns are constant: they are left out.
        """
        _refuse_dates(y, "y")
        _refuse_labels(y)
        X, y = self._checked(X, y, y_numeric=True)
        self._fit(X, y.astype(np.float64), sample_weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return expected responses.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, n_features)
            Columns.

        Returns
        -------
        ndarray of float, shape (m,)
            Posterior means.
        """
        return self._predicted(X)


class MixtureSelectionClassifier(ClassifierMixin, _Estimator):
    """Gaussian components that all classes share, with selection of inputs: a mixture classifier.

    Missing values of inputs are allowed, and integrated out.

    Parameters
    ----------
    components, weight_prior, prior, model_prior, costs, budget, always, max_size : optional
        Number of components, priors and constraints, as for :class:`pyrjsel.MixtureClassifier`.
    draws, mcse, chains : optional
        As for ``MixtureClassifier.fit``.
    fit_options : mapping of str to object, optional
        More parameters of ``fit``: ``burn_in``, ``thin``, ``progress``, and options of the sampler.
    random_state : None, int, RandomState or Generator
        Source of randomness. None is fresh entropy, not numpy's global state.
    n_jobs : int, optional
        Workers; None follows ``joblib.parallel_config``.

    Attributes
    ----------
    results_ : MixtureResults
        The posterior: tables, plots, calibration.
    inclusion_ : ndarray of float, shape (n_features,)
        Posterior inclusion probabilities; 0 for constant columns.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the columns, if they have any.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> from pyrjsel.sklearn import MixtureSelectionClassifier
    >>> pima = rj.datasets.pima().data
    >>> train, test = (pima[pima["split"] == part] for part in ("train", "test"))
    >>> inputs = ["glu", "bmi", "age"]
    >>> classifier = MixtureSelectionClassifier(random_state=1).fit(train[inputs], train["type"])
    >>> bool(classifier.score(test[inputs], test["type"]) > 0.75)
    True
    """

    _finite = "allow-nan"

    def __init__(
        self,
        *,
        components: int | Sequence[int] | None = None,
        weight_prior: float | None = None,
        prior: Any = None,
        model_prior: ModelPrior | None = None,
        costs: Mapping[str, float] | pd.Series | None = None,
        budget: float | None = None,
        always: str | Iterable[str] = (),
        max_size: int | None = None,
        draws: int | str = AUTO,
        mcse: float = 0.01,
        chains: int = 4,
        fit_options: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.components = components
        self.weight_prior = weight_prior
        self.prior = prior
        self.model_prior = model_prior
        self.costs = costs
        self.budget = budget
        self.always = always
        self.max_size = max_size
        self.draws = draws
        self.mcse = mcse
        self.chains = chains
        self.fit_options = fit_options
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: missing values are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n, n_features)
            Columns of numbers.
        y : array_like, shape (n,)
            Classes.

        Returns
        -------
        MixtureSelectionClassifier
            Itself.

        Raises
        ------
        ParameterError
            If there is one class only, or a parameter is invalid.
        DataError
            If the data cannot be used.
        """
        X, y = self._checked(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise bad_value("y", "labels of two or more classes, not of one", y)
        options = (
            "components",
            "weight_prior",
            "prior",
            "model_prior",
            "costs",
            "budget",
            "always",
            "max_size",
        )
        model = MixtureClassifier(codes, X, **{name: getattr(self, name) for name in options})
        self.results_: MixtureResults = model.fit(
            rng=_rng(self.random_state),
            **_options(self, ("draws", "mcse", "chains", "n_jobs")),
        )
        inclusion = self.results_.inclusion["posterior"].reindex(X.columns, fill_value=0.0)
        self.inclusion_: FloatArray = inclusion.to_numpy()
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities of the classes.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, n_features)
            Columns.

        Returns
        -------
        ndarray of float, shape (m, n_classes)
            One row per observation, in the order of ``classes_``.
        """
        rows = self._new(X)
        found: FloatArray = self.results_.predict(rows).to_numpy()
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, n_features)
            Columns.

        Returns
        -------
        ndarray, shape (m,)
            Classes.
        """
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])


class SelectionSelector(MetaEstimatorMixin, SelectorMixin, BaseEstimator):
    """Selection of columns by their posterior inclusion probability, for pipelines.

    Parameters
    ----------
    estimator : SelectionClassifier or SelectionRegressor
        Estimator of the probabilities.
    threshold : float, default 0.5
        Smallest posterior inclusion probability of a kept column; 0.5 gives the median probability
        model.

    Attributes
    ----------
    estimator_ : SelectionClassifier or SelectionRegressor
        The fitted estimator.
    inclusion_ : ndarray of float, shape (n_features,)
        Posterior inclusion probabilities.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the columns, if they have any.

    Examples
    --------
    >>> import pyrjsel as rj
    >>> from pyrjsel.sklearn import SelectionRegressor, SelectionSelector
    >>> hald = rj.datasets.hald().data
    >>> X, y = hald.drop(columns="y"), hald["y"]
    >>> SelectionSelector(SelectionRegressor(random_state=1)).fit(X, y).get_feature_names_out()
    array(['x1', 'x2', 'x4'], dtype=object)
    """

    def __init__(self, estimator: Any, *, threshold: float = 0.5) -> None:
        self.estimator = estimator
        self.threshold = threshold

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: those of the estimator about its input."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n, n_features)
            Columns.
        y : array_like, shape (n,)
            Response, as for the estimator.
        sample_weight : array_like, shape (n,), optional
            As for the estimator.

        Returns
        -------
        SelectionSelector
            Itself.

        Raises
        ------
        ParameterError
            If `estimator` is not one of the two classes, or `threshold` is not in [0, 1].
        """
        if not isinstance(self.estimator, _Selection):
            must = "a SelectionClassifier or SelectionRegressor"
            raise bad_value("estimator", must, self.estimator)
        check_real(self.threshold, "threshold", low=0.0, high=1.0)
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight)
        self.inclusion_: FloatArray = self.estimator_.inclusion_
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.inclusion_ >= self.threshold


def _options(estimator: Any, own: Sequence[str]) -> dict[str, Any]:
    """Return options of ``fit``: parameters of an estimator, and its `fit_options`."""
    given = {} if estimator.fit_options is None else estimator.fit_options
    must = f"None or a mapping of options to values, without rng, {', '.join(own)}, which are parameters"
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise bad_value("fit_options", must, given)
    if not {"rng", *own}.isdisjoint(given):
        raise bad_value("fit_options", must, given)
    return {"progress": False, **{name: getattr(estimator, name) for name in own}, **given}


def _without(value: Any, names: Sequence[str]) -> Any:
    """Return columns or costs of columns without some `names`; anything else as it is."""
    if isinstance(value, str):
        return () if value in names else value
    if isinstance(value, Mapping | pd.Series):
        return {name: each for name, each in value.items() if name not in names}
    return [each for each in value if each not in names] if isinstance(value, Iterable) else value


def _rng(random_state: Any) -> Any:
    """Return a generator for scikit-learn's random state; None is never numpy's global state."""
    if isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    return random_state


def _refuse_labels(y: Any) -> None:
    """Raise :class:`DataError` if a response to be numeric is of text that is no numbers."""
    array = np.asarray(y)
    labels = (
        {str(label) for label in array.ravel() if isinstance(label, str)}
        if array.dtype.kind in "OUT"
        else set()
    )
    if labels and not are_numbers(sorted(labels)):
        raise DataError(
            f"The 'y' of {called()} must be numeric. Got the label {min(labels)!r}; use SelectionClassifier "
            "for classes."
        )


def _refuse_dates(values: Any, name: str) -> None:
    """Raise :class:`DataError` for an array of dates, which scikit-learn would take for integers."""
    kind = None if scipy.sparse.issparse(values) else np.asarray(values).dtype
    if kind is not None and kind.kind in "mM":
        raise DataError(
            f"The {name!r} of {called()} must hold numbers. Got {kind} instead: convert it to a number, such "
            "as days since a date."
        )
