"""Building mixture classifiers: rows, labels, constraints, and what bad input gets."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.mixture import cross_validation

QUICK = {"draws": 60, "burn_in": 60, "chains": 2, "rng": 3, "progress": False, "n_jobs": 1}


@pytest.fixture
def frame():
    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b"], 20)
    return pd.DataFrame(
        {
            "y": y,
            "x1": rng.standard_normal(40) + 3 * (y == "b"),
            "x2": rng.standard_normal(40),
            "x3": rng.random(40),
            "flat": 4.0,
            "race": list("uv") * 20,
        }
    )


def make(frame, formula="y ~ x1 + x2 + x3", **options):
    return rj.mixture_classifier(formula, frame, **{"target": "joint"} | options)


def fit(model, **changes):
    with warnings.catch_warnings():
        # 60 draws are too few to agree.
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**(QUICK | changes))


def test_formula_and_arrays_make_the_same_model(frame):
    one = make(frame)
    other = rj.MixtureClassifier(frame["y"], frame[["x1", "x2", "x3"]], target="joint")
    assert one.term_names == other.term_names == ("x1", "x2", "x3")
    assert one.classes == other.classes == ("a", "b")
    np.testing.assert_array_equal(one.z, other.z)
    assert one.z.min() == -0.5
    assert one.z.max() == 0.5
    pd.testing.assert_frame_equal(fit(one).predict(), fit(other).predict())
    assert repr(one) == ("<MixtureClassifier 'y ~ x1 + x2 + x3': 40 rows, 2 classes, 3 inputs, 3 components>")
    assert one.count_models() == 8
    assert rj.MixtureClassifier([0, 1, 0, 1], np.arange(8.0).reshape(4, 2)).term_names == ("x1", "x2")


def test_the_same_seed_gives_the_same_draws(frame):
    one, other = fit(make(frame)), fit(make(frame), n_jobs=2)
    np.testing.assert_array_equal(one.draws.log_posterior, other.draws.log_posterior)
    pd.testing.assert_frame_equal(one.predict(frame), other.predict(frame))


def test_units_of_inputs_do_not_matter(frame):
    scaled = frame.assign(x1=1000 * frame["x1"] - 7, x2=frame["x2"] / 1024)
    one, other = fit(make(frame)), fit(make(scaled))
    # Midpoints and ranges of x1 round differently.
    np.testing.assert_allclose(one.model.z, other.model.z, atol=1e-13)
    np.testing.assert_array_equal(one.draws.model[:, :20], other.draws.model[:, :20])


def test_unlabelled_rows_are_used(frame):
    hidden = frame.copy()
    hidden.loc[hidden.index % 5 > 0, "y"] = None
    model = make(hidden)
    assert model.nobs == 40
    assert (model.y == -1).sum() == 32
    results = fit(model)
    # x1 tells the classes apart, whose labels are 8.
    assert (results.classify(frame) == frame["y"]).mean() > 0.8
    assert "32 without label" in str(results.summary())
    # Rows of the fit are scored where they have labels.
    assert results.score()["rows"].tolist() == [8] * 3


def test_missing_inputs_are_used(frame):
    gaps = frame.copy()
    gaps.loc[:9, "x2"] = np.nan
    gaps.loc[30, ["x1", "x3"]] = np.nan
    model = make(gaps)
    assert model.nobs == 40
    results = fit(model)
    assert "12 of 120 values, imputed" in str(results.summary())
    assert np.isfinite(results.predict(gaps).to_numpy()).all()
    with pytest.warns(rj.MissingDataWarning, match="11 of 40 rows have missing values"):
        assert make(gaps, missing="drop").nobs == 29
    with pytest.raises(rj.DataError, match="Use missing='drop' to drop"):
        make(gaps, missing="raise")


def test_rows_without_any_input(frame):
    gaps = frame.copy()
    gaps.loc[:1, ["x1", "x2", "x3"]] = np.nan
    with pytest.warns(rj.MissingDataWarning, match="2 of 40 rows have no observed input"):
        model = make(gaps)
    assert model.nobs == 38
    results = fit(model)
    assert "38 (2 dropped)" in str(results.summary())
    # A new row without inputs has the class probabilities P, here 18 and 20 rows and the prior's 1 each.
    found = results.predict(gaps.loc[:0])
    assert found.index.tolist() == [0]
    # Means of 120 draws of Beta(21, 19), whose sd is .08: 5 errors.
    assert found.loc[0, "b"] == pytest.approx(21 / 40, abs=5 * 0.08 / np.sqrt(60))
    with (
        pytest.warns(rj.MissingDataWarning),
        pytest.raises(rj.DataError, match="in class 'a' has an observed input"),
    ):
        make(gaps.assign(**{name: frame[name].where(frame["y"] == "b") for name in ("x1", "x2", "x3")}))


def test_constant_inputs_are_left_out(frame):
    with pytest.warns(rj.PyrjselWarning, match="1 of 3 inputs .* were left out: flat") as caught:
        model = make(frame, "y ~ x1 + flat + x2")
    assert caught[0].filename == __file__
    assert model.term_names == ("x1", "x2")
    assert model.left_out == ("flat",)
    results = fit(model)
    assert "Left out, since constant or missing: flat." in str(results.summary())
    # Nor do new rows need it.
    assert results.predict(frame[["x1", "x2"]]).shape == (40, 2)
    with pytest.warns(rj.PyrjselWarning, match="were left out: empty"):
        assert make(frame.assign(empty=np.nan), "y ~ x1 + empty").left_out == ("empty",)
    with pytest.raises(rj.DataError, match="All inputs of MixtureClassifier are constant or missing: flat"):
        make(frame, "y ~ flat")


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"y": "a"}, rj.DataError, r"response 'y' .* at least two levels .* only 'a'"),
        ({"y": None}, rj.DataError, "missing in every row"),
        ({"x1": np.inf}, rj.DataError, "infinite values"),
        ({"x1": [-1e308, 1e308] * 20}, rj.DataError, "ranges beyond 1e308; rescale x1"),
        ({"x1": "p"}, rj.DataError, "factors are not supported as inputs"),
    ],
)
def test_data_that_are_refused(change, error, match, frame):
    with pytest.raises(error, match=match):
        make(frame.assign(**change))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"components": 0}, rj.ParameterError, r"'components' .* int in \[1, inf\). Got 0"),
        ({"components": 41}, rj.ParameterError, "at most the number of rows, 40. Got 41"),
        ({"components": []}, rj.ParameterError, "a number of components, or several"),
        ({"components": [2, 2]}, rj.ParameterError, "several different ones"),
        ({"components": "3"}, rj.ParameterError, "'components'"),
        ({"components": 2.5}, rj.ParameterError, "'components'"),
        ({"background": "student"}, rj.ParameterError, "'background' .* None"),
        ({"proposal": "best"}, rj.ParameterError, "'proposal'"),
        ({"prior": 3}, rj.ParameterError, "'prior' .* a MixturePrior or None"),
        ({"prior": rj.MixturePrior(nu0=2)}, rj.ParameterError, "'nu0'"),
        ({"model_prior": 3}, rj.ParameterError, "'model_prior'"),
        ({"always": "x9"}, rj.UnknownNameError, "'x9'"),
        ({"costs": {"x9": 1}}, rj.UnknownNameError, "'x9'"),
        ({"budget": 1}, rj.ParameterError, "costs"),
        ({"max_size": -1}, rj.ParameterError, "'max_size'"),
        ({"max_size": 0}, rj.ParameterError, "'max_size'.*at least 1.*Got 0"),
        (
            {"costs": {"x1": 2, "x2": 3, "x3": 4}, "budget": 1.5},
            rj.ParameterError,
            r"'budget'.*MixtureClassifier.*at least 2, .*\(x1\).*Got 1.5",
        ),
        ({"missing": "zero"}, rj.ParameterError, "'missing'"),
    ],
)
def test_parameters_that_are_refused(options, error, match, frame):
    with pytest.raises(error, match=match):
        make(frame, **options)


def test_fit_refuses(frame):
    model = make(frame)
    with pytest.raises(rj.ParameterError, match=r"'draws' parameter of MixtureClassifier\.fit"):
        model.fit(draws=0)
    with pytest.raises(rj.UnknownNameError, match=r"unknown option 'move'.*'moves'"):
        model.fit(move=3)
    with pytest.raises(rj.ParameterError, match="'moves'"):
        model.fit(moves=-1)
    with pytest.raises(rj.UnknownNameError, match="x9"):
        model.fit(start=["x9"])


def test_a_class_with_one_row_and_one_without(frame):
    frame.loc[0, "y"] = "c"
    results = fit(make(frame, classes=["a", "b", "c", "d"]))
    assert results.model.classes == ("a", "b", "c", "d")
    found = results.predict(frame)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found > 0).all().all()
    assert "rest on their prior, for lack of rows: c (1), d (0)" in str(results.summary())


def test_all_labels_missing(frame):
    model = make(frame.assign(y=None), classes=["a", "b"])
    results = fit(model)
    assert results.predict(frame).columns.tolist() == ["a", "b"]
    with pytest.raises(rj.DataError, match="one row with a label"):
        results.score()
    assert results.score(frame)["rows"].tolist() == [40] * 3


def test_constraints(frame):
    costs = {"x1": 1.0, "x2": 2.0, "x3": 4.0}
    results = fit(make(frame, costs=costs, budget=3, always="x2"))
    assert (results.draws.cost <= 3).all()
    assert results.inclusion.loc["x2", ["posterior", "mcse", "cost"]].tolist() == [1.0, 0.0, 2.0]
    assert results.inclusion.loc["x3", "prior"] == 0
    assert "Budget:" in str(results.summary())
    assert fit(make(frame, max_size=1)).draws.size.max() <= 1


def test_no_background_warns(frame):
    with pytest.warns(rj.PyrjselWarning, match="depends on these units") as caught:
        model = make(frame, background=None)
    assert caught[0].filename == __file__
    assert "depends on the units of the inputs" in str(fit(model).summary())
    with pytest.warns(rj.PyrjselWarning, match="depends on these units") as caught:
        rj.MixtureClassifier(frame["y"], frame[["x1"]], target="joint", background=None)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("options", [{"background": "independent"}, {"proposal": "prior"}])
def test_other_samplers_and_backgrounds(options, frame):
    # Proposals from the prior are hardly ever accepted.
    results = fit(make(frame, **options), start=["x1"])
    assert (results.classify() == frame["y"]).mean() > 0.8


def test_numbers_of_kernels_are_compared(frame):
    results = fit(make(frame, components=[1, 2]), folds=3)
    table = results.comparison
    assert table.index.tolist() == [1, 2]
    # One kernel says the same of all rows; two are enough for two classes.
    assert results.components == 2
    assert table.loc[1, "log_score"] == pytest.approx(np.log(0.5), abs=0.05)
    assert table.loc[2, "log_score"] > -0.45
    assert table.loc[2, "difference"] == 0
    assert table.loc[1, "difference"] == pytest.approx(table["log_score"][1] - table["log_score"][2])
    assert (table["se"] > 0).all()
    assert "Numbers of components by the log score" in str(results.summary())
    with pytest.raises(rj.NotAvailableError, match="compares several"):
        _ = fit(make(frame)).comparison
    with pytest.raises(rj.ParameterError, match="'folds'"):
        make(frame, components=[1, 2]).fit(folds=1)
    with pytest.raises(rj.ParameterError, match="fewer than two rows have labels"):
        make(frame.assign(y=None), classes=["a", "b"], components=[1, 2]).fit()


def test_rows_held_out_are_not_fitted(frame, monkeypatch):
    model, seen = make(frame, components=[1, 2]), []
    original = cross_validation.run

    def watched(problem, *args, **options):
        seen.append((problem.components, problem.z))
        return original(problem, *args, **options)

    monkeypatch.setattr(cross_validation, "run", watched)
    fit(model, folds=4)
    assert [components for components, _ in seen] == [1] * 4 + [2] * 4
    for half in (seen[:4], seen[4:]):
        # Each row is missing in one of the four fits, and in the same one for both numbers of kernels.
        assert sum(len(z) for _, z in half) == 3 * 40
        counts = [sum((z == row).all(axis=1).any() for _, z in half) for row in model.z]
        assert counts == [3] * 40
    for (_, one), (_, other) in zip(seen[:4], seen[4:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_folds_that_disagree_are_named(frame):
    model = make(frame, components=[2, 3])
    with pytest.warns(rj.ConvergenceWarning) as caught:
        model.fit(**(QUICK | {"draws": 8, "burn_in": 0, "chains": 2}), folds=2)
    assert any(str(item.message).startswith("Fold") for item in caught)


def test_numbers_of_kernels_are_compared_by_a_number_of_draws(frame):
    """Where a run stops by itself, so that every number of kernels has as many."""
    model = make(frame, components=[1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        auto = model.fit(**(QUICK | {"draws": "auto", "max_draws": 60}), folds=2)
    pd.testing.assert_frame_equal(auto.comparison, fit(model, folds=2).comparison)
    assert auto.posterior.settings.accuracy.max_draws == 60
