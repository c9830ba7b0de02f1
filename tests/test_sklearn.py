"""The estimators keep scikit-learn's contract, and predict what the package's own models do."""

import random

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import get_tags, shuffle
from sklearn.utils.estimator_checks import parametrize_with_checks

from pyrjsel.sklearn import (
    MixtureSelectionClassifier,
    SelectionClassifier,
    SelectionRegressor,
    SelectionSelector,
)

# Small spaces: scikit-learn's checks have up to 30 columns and 15 rows.
CLASSIFIER = SelectionClassifier(max_size=2, random_state=0, fit_options={"integration": "laplace"})
REGRESSOR = SelectionRegressor(max_size=2, random_state=0)
PROBIT = clone(CLASSIFIER).set_params(family="probit")
GAMMA = clone(REGRESSOR).set_params(family="gamma", fit_options={"integration": "laplace"})
MIXTURE = MixtureSelectionClassifier(
    draws=100, chains=1, random_state=0, fit_options={"burn_in": 200, "temperatures": 1}
)
WEIGHTS = (
    "weights of linear models are precisions, as in weighted least squares: a row of weight 2 has half the "
    "error variance, and is not two rows"
)
PERFECT = "the columns determine the response, so that the shape has no estimate, which is an error"
ROWS = "the check leaves one of three classes a single row of positive weight, which is an error"
EXPECTED_FAILURES = {
    repr(CLASSIFIER): {"check_sample_weight_equivalence_on_dense_data": ROWS},
    repr(SelectionSelector(CLASSIFIER)): {"check_sample_weight_equivalence_on_dense_data": ROWS},
    repr(REGRESSOR): {"check_sample_weight_equivalence_on_dense_data": WEIGHTS},
    repr(SelectionSelector(REGRESSOR)): {"check_sample_weight_equivalence_on_dense_data": WEIGHTS},
    repr(GAMMA): {
        "check_sample_weight_equivalence_on_dense_data": "a response of weight 2 is the mean of two",
        "check_sample_weights_shape": PERFECT,
        "check_sample_weights_not_overwritten": PERFECT,
    },
}


@pytest.fixture
def global_states_are_put_back():
    """Some of scikit-learn's checks draw from the global generators themselves."""
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    yield
    np.random.set_state(numpy_state)  # noqa: NPY002
    random.setstate(python_state)


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning", "ignore:No features were selected")
@pytest.mark.usefixtures("global_states_are_put_back")
@parametrize_with_checks(
    [
        *(CLASSIFIER, REGRESSOR, PROBIT, GAMMA, MIXTURE),
        *(SelectionSelector(CLASSIFIER), SelectionSelector(REGRESSOR)),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(repr(estimator), {}),
)
def test_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def births():
    return rj.datasets.birthwt().data


def test_the_classifier_is_the_logistic_model(births):
    X, y = births[["age", "lwt", "race", "smoke"]], births["low"]
    options = {"costs": {"age": 1, "lwt": 1, "race": 3, "smoke": 1}, "budget": 4, "always": "lwt"}
    words = np.where(y == 1, "yes", "no")
    found = SelectionClassifier(coef_prior=rj.GPrior("n"), random_state=1, **options).fit(X, words)
    model = rj.LogitSelection(y, X, coef_prior=rj.GPrior("n"), **options)
    expected = model.fit(rng=1, progress=False)
    pd.testing.assert_frame_equal(found.results_.inclusion, expected.inclusion, check_exact=True)
    np.testing.assert_array_equal(found.feature_importances_, expected.inclusion["posterior"])
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.feature_names_in_.tolist() == list(X)
    new = X[5:40]
    np.testing.assert_array_equal(found.predict_proba(new)[:, 1], expected.predict(new))
    np.testing.assert_array_equal(found.predict(new) == "yes", expected.predict(new) > 0.5)
    np.testing.assert_array_equal(found.decision_function(new) > 0, expected.predict(new) > 0.5)
    best = found.set_params(which="hpm").predict_proba(new)
    np.testing.assert_array_equal(best[:, 1], expected.predict(new, "hpm"))


def test_the_regressor_is_the_linear_model(births):
    X, y = births[["age", "lwt", "smoke", "ht"]], births["bwt"]
    weights = 1.0 + births["ui"]
    found = SelectionRegressor(
        sampler="collapsed", draws=200, chains=2, fit_options={"burn_in": 50}, random_state=3
    ).fit(X.to_numpy(), y, sample_weight=weights)
    model = rj.LinearSelection(y, X.set_axis(["x0", "x1", "x2", "x3"], axis=1), weights=weights)
    expected = model.fit(sampler="collapsed", draws=200, chains=2, burn_in=50, rng=3, progress=False)
    pd.testing.assert_frame_equal(found.results_.inclusion, expected.inclusion, check_exact=True)
    np.testing.assert_array_equal(found.predict(X.to_numpy()), expected.predict())
    assert not hasattr(found, "feature_names_in_")


@pytest.mark.parametrize(
    ("estimator", "family", "response"),
    [
        (SelectionClassifier, "probit", "low"),
        (SelectionRegressor, "poisson", "ftv"),
        (SelectionRegressor, "negbin", "ftv"),
        (SelectionRegressor, "gamma", "bwt"),
    ],
)
@pytest.mark.filterwarnings("ignore::pyrjsel.DispersionWarning")
def test_families(births, estimator, family, response):
    """They are the models of the same names."""
    X, y, weights = births[["age", "lwt", "smoke"]], births[response], np.ones(len(births))
    found = estimator(family=family, random_state=1).fit(X, y, sample_weight=weights)
    expected = getattr(rj, family)(f"{response} ~ age + lwt + smoke", births).fit(rng=1, progress=False)
    pd.testing.assert_frame_equal(found.results_.inclusion, expected.inclusion, check_exact=True)
    if estimator is SelectionRegressor:
        np.testing.assert_array_equal(found.predict(X), expected.predict())


def test_more_classes_are_a_multinomial_model(births):
    X, y = births[["age", "lwt", "smoke"]], births["race"].astype(str)
    found = SelectionClassifier(random_state=1).fit(X, y)
    expected = rj.MultinomialSelection(y, X).fit(rng=1, progress=False)
    assert found.classes_.tolist() == ["black", "other", "white"]
    pd.testing.assert_frame_equal(found.results_.inclusion, expected.inclusion, check_exact=True)
    probabilities = found.predict_proba(X)
    # Orders of sums differ between the models: rounding.
    np.testing.assert_allclose(probabilities, expected.predict(), rtol=1e-12)
    np.testing.assert_array_equal(found.predict(X), found.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_array_equal(
        np.exp(found.decision_function(X)).argmax(axis=1), probabilities.argmax(axis=1)
    )
    twice = SelectionClassifier(random_state=1).fit(X, y, sample_weight=np.full(len(X), 2.0))
    repeated = SelectionClassifier(random_state=1).fit(pd.concat([X, X]), pd.concat([y, y]))
    # Integrals of importance draws whose factors differ by rounding: .003 is their error.
    np.testing.assert_allclose(twice.inclusion_, repeated.inclusion_, atol=0.003)
    two = SelectionClassifier(family="multinomial", random_state=1).fit(X, births["low"])
    assert two.predict_proba(X).shape == (len(X), 2)
    assert two.decision_function(X).shape == (len(X),)


def test_families_of_other_responses_are_errors(births):
    X = births[["age", "lwt"]]
    with pytest.raises(rj.ParameterError, match=r"'family' .* 'linear', 'poisson', 'negbin', 'gamma'"):
        SelectionRegressor(family="logit").fit(X, births["bwt"])
    with pytest.raises(rj.ParameterError, match=r"'family' .* 'logit', 'probit', 'cloglog'"):
        SelectionClassifier(family="gamma").fit(X, births["low"])
    with pytest.raises(rj.DataError, match="must be above 0"):
        SelectionRegressor(family="gamma").fit(X, births["ftv"])


def test_the_selector_keeps_columns_with_their_names(births):
    X, y = births[["age", "lwt", "race", "smoke", "ui"]], births["bwt"]
    selector = SelectionSelector(SelectionRegressor(random_state=1), threshold=0.4)
    kept = selector.fit(X, y).get_feature_names_out().tolist()
    inclusion = rj.LinearSelection(y, X).fit(rng=1, progress=False).inclusion["posterior"]
    assert kept == [name for name in X if inclusion[name] >= 0.4]
    assert 0 < len(kept) < 5
    pd.testing.assert_frame_equal(selector.set_output(transform="pandas").transform(X), X[kept])
    numbers = X.drop(columns="race")
    pipeline = make_pipeline(
        StandardScaler(), SelectionSelector(SelectionRegressor(random_state=1)), LinearRegression()
    )
    assert 0 < pipeline.fit(numbers, y).score(numbers, y) < 1


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
def test_search_and_cross_validation(births):
    X, y = births[["age", "lwt", "smoke", "ht"]], births["low"]
    search = GridSearchCV(
        SelectionClassifier(random_state=1), {"max_size": [1, 2], "which": ["bma", "hpm"]}, cv=2
    )
    search.fit(X, y)
    assert set(search.best_params_) == {"max_size", "which"}
    held_out = cross_val_predict(SelectionClassifier(random_state=1), X, y, cv=3, method="predict_proba")
    assert held_out.shape == (189, 2)
    np.testing.assert_allclose(held_out.sum(axis=1), 1.0)


def test_tables_of_other_packages(births):
    pa = pytest.importorskip("pyarrow")
    frame = births[["age", "race", "smoke"]].astype({"race": str})
    table = pa.table({name: frame[name].to_numpy() for name in frame})
    one, other = (SelectionClassifier(random_state=1).fit(X, births["low"]) for X in (frame, table))
    assert other.feature_names_in_.tolist() == list(frame)
    np.testing.assert_array_equal(one.predict_proba(frame), other.predict_proba(table))


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_random_states(births):
    X, y = births[["lwt", "smoke", "ht"]], births["bwt"]
    options = {"sampler": "collapsed", "draws": 50, "chains": 1}

    def draws(state):
        return SelectionRegressor(random_state=state, **options).fit(X, y).results_.draws.model

    same = [draws(7), draws(7), draws(np.random.RandomState(7)), draws(np.random.RandomState(7))]
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[2], same[3])
    np.testing.assert_array_equal(draws(np.random.default_rng(7)), draws(np.random.default_rng(7)))
    # None is fresh entropy; that numpy's global state does not move is watched in every test.
    assert draws(None).shape == (1, 50)


def test_names_that_the_response_has(births):
    X = births[["lwt", "smoke"]].set_axis(["y", "y_"], axis=1)
    found = SelectionClassifier(random_state=1).fit(X, births["low"])
    assert found.results_.model.term_names == ("y", "y_")
    assert found.results_.model.design.response == "y__"


def test_errors(births):
    X, y = births[["age", "race"]], births["low"]
    with pytest.raises(rj.ParameterError, match=r"'family' .* None or 'multinomial' with the 6 classes"):
        SelectionClassifier(family="logit").fit(X, births["ftv"])
    with pytest.raises(rj.ParameterError, match="labels of two classes or more, not of one"):
        SelectionClassifier().fit(X, np.ones(189, dtype=int))
    with pytest.raises(rj.DataError, match=r"missing values \(race: 1\)"):
        SelectionClassifier().fit(X.assign(race=X["race"].mask(X.index == X.index[3])), y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SelectionClassifier().fit(X[["age"]].where(X["age"] > 20), y)
    with pytest.raises(NotFittedError):
        clone(CLASSIFIER).predict_proba(X)
    with pytest.raises(
        rj.ParameterError, match=r"'estimator' parameter of SelectionSelector\.fit must be a Sel"
    ):
        SelectionSelector(LinearRegression()).fit(X, y)
    with pytest.raises(rj.ParameterError, match="'threshold' parameter of SelectionSelector"):
        SelectionSelector(CLASSIFIER, threshold=2).fit(X, y)
    with pytest.raises(rj.UnknownNameError, match="unknown sampler 'magic'"):
        SelectionRegressor(sampler="magic").fit(X, y)
    with pytest.raises(rj.ParameterError, match="'draws' parameter"):
        SelectionRegressor(fit_options={}, draws=0).fit(X, y)


@pytest.fixture(scope="module")
def flowers():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True, as_frame=True)
    return X.assign(constant=1.0), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
def test_mixtures_predict_what_their_model_does(flowers):
    X, y = flowers
    estimator = MixtureSelectionClassifier(
        draws=300, chains=2, always=[X.columns[2]], random_state=3, fit_options={"burn_in": 300}
    ).fit(X, y)
    model = rj.MixtureClassifier(y, X, always=[X.columns[2]])
    results = model.fit(draws=300, burn_in=300, chains=2, rng=3, progress=False)
    assert estimator.classes_.tolist() == list(model.classes)
    assert estimator.feature_importances_.tolist()[-1] == 0.0  # the constant is left out
    assert estimator.feature_importances_[2] == 1.0
    assert estimator.predict_proba(X).shape == (150, 3)
    assert (estimator.predict(X) == results.classify(X)).mean() > 0.95
    assert estimator.score(X, y) > 0.9
    gaps = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    assert np.isfinite(clone(estimator).fit(gaps, y).predict_proba(gaps)).all()
    with pytest.raises(rj.ParameterError, match="two or more classes"):
        MixtureSelectionClassifier().fit(X, np.ones(150, dtype=int))


@pytest.mark.parametrize(
    "given", [[("thin", 2)], "thin", np.zeros(3), {3: 4}, {"draws": 5}, {"rng": 1}], ids=str
)
@pytest.mark.parametrize("kind", [SelectionClassifier, SelectionRegressor, MixtureSelectionClassifier])
def test_options_of_fit_are_a_mapping_without_parameters(kind, given):
    X = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20) % 3})
    with pytest.raises(rj.ParameterError, match=r"'fit_options' parameter of .* must be None or a mapping"):
        kind(fit_options=given).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[D]", "timedelta64[s]"])
def test_arrays_of_dates_are_refused(kind):
    dates, numbers = np.arange(20).astype(kind), np.arange(20.0)
    X = np.column_stack([numbers, numbers**2])
    for estimator, y in ((SelectionRegressor(), numbers), (MixtureSelectionClassifier(), numbers % 2)):
        for wrong in (np.column_stack([dates, dates]), [[date] for date in dates]):
            with pytest.raises(rj.DataError, match=r"The 'X' of \w+\.fit must hold numbers. Got (date|time)"):
                estimator.fit(wrong, y)
    with pytest.raises(rj.DataError, match=r"The 'y' of SelectionRegressor\.fit must hold numbers"):
        SelectionRegressor().fit(X, dates)
    with pytest.raises(rj.DataError, match="The 'sample_weight' of SelectionRegressor"):
        SelectionRegressor().fit(X, numbers % 7, dates)
    fitted = SelectionRegressor(random_state=1).fit(X, numbers % 7)
    with pytest.raises(rj.DataError, match=r"The 'X' of SelectionRegressor\.predict"):
        fitted.predict(np.column_stack([dates, dates]))


def test_tags_are_those_of_the_family():
    for family in (None, "logit", "probit", "cloglog", "multinomial"):
        for estimator in (
            SelectionClassifier(family=family),
            SelectionSelector(SelectionClassifier(family=family)),
        ):
            several = get_tags(estimator).classifier_tags.multi_class
            assert several == (family in (None, "multinomial"))
    for family in (None, "linear", "poisson", "negbin", "gamma"):
        for estimator in (
            SelectionRegressor(family=family),
            SelectionSelector(SelectionRegressor(family=family)),
        ):
            assert get_tags(estimator).target_tags.positive_only == (family not in (None, "linear"))


@pytest.mark.parametrize(("value", "kind"), [(1.0, object), (0.0, "category"), (3.5, "string")])
def test_columns_that_are_constant_in_a_fold(value, kind):
    """A dummy is the same in all rows of a fold: a column of ones was an error, of zeros a warning."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=40), "d": value, "z": rng.normal(size=40), "g": "one"}).astype(
        {"g": kind}
    )
    y = X["x"] + rng.normal(size=40)
    options = {"always": ["d", "x"], "costs": {"x": 1.0, "d": 2.0, "z": 1.0}, "budget": 2.0}
    for given in ({}, options, {"always": "d"}, {"costs": pd.Series(options["costs"]), "budget": 3.0}):
        with pytest.warns(rj.RankWarning, match=r"'X' have the same value in all rows of .*fit: d, g\. They"):
            found = SelectionRegressor(random_state=1, **given).fit(X, y)
        kept = {**given, "always": [name for name in given.get("always", ()) if name == "x"]}
        if "costs" in given:
            kept["costs"] = {"x": 1.0, "z": 1.0}
        want = rj.LinearSelection(y.rename("y"), X[["x", "z"]], **kept).fit(rng=1)
        x, z = want.inclusion["posterior"]
        assert found.inclusion_.tolist() == [x, 0.0, z, 0.0]
        # New rows may have other values.
        np.testing.assert_array_equal(found.predict(X.assign(d=7.0, g="two")), want.predict())
    with pytest.warns(rj.RankWarning, match="have the same value"):
        SelectionClassifier(random_state=1).fit(X[["d"]], (y > 0).astype(int))
    with pytest.warns(rj.RankWarning, match="x0"):
        make_pipeline(PolynomialFeatures(2), SelectionRegressor(random_state=1)).fit(X[["x"]].to_numpy(), y)


@pytest.mark.filterwarnings("ignore::pyrjsel.SeparationWarning")
def test_probabilities_are_at_most_one():
    """Averages of rounded values could exceed one by 2e-16, whose logit is not a number."""
    X, y = shuffle(*make_blobs(n_samples=300, random_state=0), random_state=7)
    X, y = StandardScaler().fit_transform(X)[y != 2], y[y != 2]
    found = clone(PROBIT).set_params(family="cloglog").fit(X, y)
    assert found.predict_proba(X).max() <= 1.0
    np.testing.assert_array_equal(found.decision_function(X) > 0, found.predict(X) == 1)


def test_rows_with_missing_columns():
    """Averages over submodels, as of the results; a class needs a prediction."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3))
    y = (X[:, 0] + rng.logistic(size=100) > 0).astype(int)
    usual = SelectionClassifier(random_state=1).fit(X, y)
    new = X[:4].copy()
    new[0, 0] = new[1, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        usual.predict_proba(new)
    made = SelectionClassifier(random_state=1, incomplete="submodels").fit(X, y)
    found = made.predict_proba(new)
    frame = pd.DataFrame(new, columns=["x0", "x1", "x2"])
    np.testing.assert_array_equal(found[:, 1], made.results_.predict(frame, incomplete="submodels"))
    np.testing.assert_allclose(found[2:], usual.predict_proba(new[2:]), atol=1e-12)
    assert set(made.predict(new)) <= {0, 1}
    # Columns that nobody measured are NaN, with the names of the fit as everywhere in scikit-learn.
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = SelectionClassifier(random_state=1, incomplete="submodels").fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        named.predict_proba(frame[["b"]])
    some = frame[["b"]].reindex(columns=named.feature_names_in_)
    np.testing.assert_array_equal(
        named.predict_proba(some)[:, 1], named.results_.predict(frame[["b"]], incomplete="submodels")
    )
    made.which = "hpm"
    with pytest.raises(rj.ParameterError, match="'nan' with which='hpm'"):
        made.predict(new)
    strong = SelectionClassifier(random_state=1, incomplete="submodels")
    strong.fit(np.tile(X, (20, 1)), np.tile(y, 20))
    with (
        pytest.warns(rj.MissingDataWarning),
        pytest.raises(rj.DataError, match=r"1 of 4 rows .* no prediction"),
    ):
        strong.predict(new)
