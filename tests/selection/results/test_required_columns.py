"""Predictions need the columns of the models that they average, and no others."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

MINUTES = {"age": 1, "lwt": 2, "race": 1, "smoke": 0.5, "ht": 5, "ui": 4, "ptl": 1}
FORMULA = "low ~ " + " + ".join(MINUTES)


@pytest.fixture(scope="module")
def births():
    return rj.datasets.birthwt().data


@pytest.fixture(scope="module", params=["enumerate", "rjmcmc"])
def bought(request, births):
    options = {} if request.param == "enumerate" else {"draws": 3000, "chains": 2}
    model = rj.logit(FORMULA, births, costs=MINUTES, budget=6, model_prior=rj.Uniform())
    return model.fit(sampler=request.param, rng=1, progress=False, **options)


@pytest.mark.parametrize("which", ["bma", "hpm", "mpm", "bpm"])
def test_only_the_needed_columns(which, bought, births):
    """Equal to the last bit to predictions from all columns, with NaN in the others, and without them."""
    needed = bought.required_columns(which)
    whole = bought.predict(births, which)
    pd.testing.assert_series_equal(bought.predict(births[needed], which), whole, rtol=0, atol=0)
    gone = births.astype(object).assign(**{name: np.nan for name in births if name not in needed})
    gone = gone.astype(births[needed].dtypes.to_dict())
    pd.testing.assert_series_equal(bought.predict(gone, which), whole, rtol=0, atol=0)
    frames = [bought.get_prediction(rows, which).summary_frame() for rows in (births[needed], births)]
    pd.testing.assert_frame_equal(*frames, rtol=0, atol=0)
    drawn = [bought.posterior_predictive(rows, which, draws=20) for rows in (births[needed], births)]
    pd.testing.assert_frame_equal(*drawn)
    if which != "bma":
        one = bought.single_model(which)
        pd.testing.assert_series_equal(one.predict(births[needed]), whole, rtol=0, atol=0)
        assert set(needed) == set(bought.best(which))
        assert bought.prediction_cost(which) == sum(MINUTES[name] for name in needed) <= 6
    for name in needed:
        with pytest.raises(rj.UnknownNameError, match=f"needs the column '{name}'"):
            bought.predict(births[[*needed, "bwt"]].drop(columns=name), which)


def test_an_average_costs_more_than_the_budget(bought):
    assert set(bought.required_columns()) > set(bought.required_columns("hpm"))
    assert bought.prediction_cost() == sum(MINUTES[name] for name in bought.required_columns()) > 6
    note = bought.frontier().attrs["note"]
    assert f"all models need variables that cost {bought.prediction_cost():g}" in note
    assert f"(which='hpm') {bought.prediction_cost('hpm'):g}" in note


def test_missing_columns_are_listed_with_what_would_do(bought, births):
    new = births[list(bought.best())]
    with pytest.raises(rj.UnknownNameError) as caught:
        bought.predict(new)
    text = str(caught.value)
    lacking = [name for name in bought.required_columns() if name not in new]
    assert all(repr(name) in text for name in lacking)
    assert "use which='hpm'" in text
    assert text.endswith("or incomplete='submodels'.")
    assert "Did you mean" not in text
    with pytest.raises(rj.UnknownNameError) as caught:
        bought.predict([new, new])
    assert "use which='hpm'" in str(caught.value)
    with pytest.raises(rj.UnknownNameError) as caught:
        bought.single_model(["smoke", "age"]).predict(births[["lwt"]])
    assert str(caught.value) == "predict needs 2 columns that the data do not have: 'age', 'smoke'."


def test_names_that_are_misspelt(bought, births):
    """A name of the model is not offered in place of another; one of the data alone is."""
    name = bought.required_columns("hpm")[0]
    with pytest.raises(rj.UnknownNameError, match=f"Did you mean '{name}s'"):
        bought.predict(births.rename(columns={name: f"{name}s"}), "hpm")
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 3)), columns=["y", "albumin", "albumins"])
    results = rj.linear("y ~ albumin + albumins", frame).fit(rng=1, progress=False)
    with pytest.raises(
        rj.UnknownNameError, match=r"needs the column 'albumin', which the data do not have[.]"
    ) as caught:
        results.single_model(["albumin", "albumins"]).predict(frame[["albumins"]])
    assert "Did you mean" not in str(caught.value)


def test_many_missing_columns():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(80, 15)), columns=[f"v{j}" for j in range(14)] + ["y"])
    results = rj.linear("y ~ .", frame, model_prior=rj.Uniform()).fit(rng=1, progress=False)
    with pytest.raises(rj.UnknownNameError) as caught:
        results.predict(frame[["v0"]])
    assert "needs 13 columns that the data do not have: 'v1', 'v2'," in str(caught.value)
    assert "'v10' and 3 more. With" in str(caught.value)


@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_arrays(kind):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=range(4) if kind == "numbers" else list("abcd"))
    results = rj.LinearSelection((X.iloc[:, 1] + rng.normal(size=60)).to_numpy(), X).fit(
        rng=1, progress=False
    )
    needed = results.required_columns("hpm")
    assert needed == list(results.best())
    own = X[[name for name in X if str(name) in needed]]
    np.testing.assert_array_equal(results.predict(own, "hpm"), results.predict(X, "hpm"))
    matrix = X.to_numpy(copy=True)
    matrix[:, [str(name) not in needed for name in X]] = np.nan
    np.testing.assert_array_equal(results.predict(matrix, "hpm"), results.predict(X, "hpm"))


def test_infinite_values_of_other_columns(births):
    """They matter where the column is used, and only there."""
    results = rj.linear("bwt ~ smoke + age", births).fit(rng=1, progress=False)
    new = births.head(3).astype({"age": float})
    new.loc[0, "age"] = np.inf
    assert results.best() == ("smoke",)
    np.testing.assert_array_equal(results.predict(new, "hpm"), results.predict(births.head(3), "hpm"))
    with pytest.raises(rj.DataError, match="infinite"):
        results.predict(new)


def test_without_costs(births):
    results = rj.linear("bwt ~ smoke + age", births).fit(rng=1, progress=False)
    with pytest.raises(rj.NotAvailableError, match="prediction_cost needs costs"):
        results.prediction_cost()
    for method in (results.required_columns, results.prediction_cost):
        with pytest.raises((rj.ParameterError, rj.NotAvailableError)):
            method("best")


def test_a_best_model_without_terms(births):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("yab"))
    frame["y"] = np.tile([1.0, -1.0], 30)
    results = rj.linear("y ~ a + b", frame).fit(rng=1, progress=False)
    assert results.best() == ()
    assert results.required_columns("hpm") == []
    new = pd.DataFrame(index=[5, 6])
    assert results.predict(new, "hpm").tolist() == pytest.approx([frame["y"].mean()] * 2)
