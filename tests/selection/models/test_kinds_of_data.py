"""The same data in another dress, and the same fit in another process, give the same results."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from births_fits import COSTS, FORMULA, fit

import pyrjsel as rj

COLUMNS = ["Intercept", "race[T.black]", "race[T.other]", "age", "lwt", "smoke"]


def variants(births):
    plain = births[["low", "age", "lwt", "race", "smoke"]]
    yield "nullable", plain.convert_dtypes()
    yield "text", plain.assign(race=plain["race"].astype(str).astype(object))
    yield "string dtype", plain.assign(race=plain["race"].astype("string"))
    yield "bool", plain.assign(smoke=plain["smoke"] == 1)
    yield "nullable bool", plain.assign(smoke=(plain["smoke"] == 1).astype("boolean"))
    yield "response bool", plain.assign(low=plain["low"] == 1)
    yield "floats", plain.astype({"low": float, "age": float, "smoke": "float32"})
    yield "small integers", plain.astype({"low": "int8", "age": "uint8", "lwt": "int16"})
    yield "unused category", plain.assign(race=plain["race"].cat.add_categories(["none"]))
    yield "objects", plain.astype({"age": object, "lwt": object})
    yield "lists", {name: list(column) for name, column in plain.items()}
    yield "other index", plain.set_index(np.arange(len(plain)) * 10 + 3)
    yield "labels", plain.set_index(pd.Index([f"r{k}" for k in range(len(plain))]))
    yield "rows by time", plain.set_index(pd.date_range("2020", periods=len(plain)))
    yield "columns turned round", plain[list(plain.columns[::-1])]


@pytest.mark.parametrize("which", range(15))
def test_kinds_of_data(which, births, enumerated):
    """The same rows in another dress give the same posterior, to rounding."""
    name, data = list(variants(births))[which]
    # Without random numbers, whose directions depend on which level of a factor is the reference.
    found = fit(rj.logit(FORMULA, data, costs=COSTS), integration="laplace")
    want = fit(enumerated.model, integration="laplace").inclusion["posterior"]
    np.testing.assert_allclose(found.inclusion["posterior"].to_numpy(), want, rtol=1e-8, err_msg=name)
    assert len(found.params) == len(COLUMNS)


def test_arrays_and_formula_agree(births, enumerated):
    exog = births[["age", "lwt", "race", "smoke"]]
    by_frame = rj.LogitSelection(births["low"], exog)
    assert by_frame.term_names == enumerated.model.term_names
    found = fit(by_frame)
    np.testing.assert_allclose(found.inclusion["posterior"], enumerated.inclusion["posterior"], rtol=1e-12)
    assert "low" in str(found.summary())
    numbers = fit(rj.LogitSelection(births["low"].to_numpy(), exog[["age", "lwt", "smoke"]].to_numpy()))
    assert list(numbers.inclusion.index) == ["x1", "x2", "x3"]
    assert list(numbers.params.index) == ["Intercept", "x1", "x2", "x3"]
    assert repr(numbers.model) == "<LogitSelection y from arrays: 189 rows, 3 terms>"


def test_dot_stands_for_all_other_columns(births):
    data = births.drop(columns="bwt").assign(trials=1.0)
    model = rj.logit("low ~ .", data, weights="trials")
    assert set(model.term_names) == set(data.columns) - {"low", "trials"}
    fewer = rj.logit("low ~ . - ftv", data, weights="trials")
    assert set(fewer.term_names) == set(model.term_names) - {"ftv"}


def test_names_that_are_no_identifiers(births):
    names = {"age": "age (years)", "lwt": "class", "smoke": "1st", "ptl": "größe"}
    data = births[["low", *names]].rename(columns=names)
    by_dot = fit(rj.logit("low ~ .", data, costs=dict.fromkeys(names.values(), 1.0)))
    assert list(by_dot.inclusion.index) == list(names.values())
    quoted = rj.logit("low ~ Q('age (years)') + Q('class') + Q('1st') + größe", data)
    assert quoted.term_names == by_dot.model.term_names
    pd.testing.assert_frame_equal(
        fit(quoted).inclusion.drop(columns="cost"), by_dot.inclusion.drop(columns="cost")
    )
    assert "age (years)" in str(by_dot.summary())
    assert by_dot.predict(data.head()).notna().all()


def test_columns_named_by_numbers(births):
    exog = pd.DataFrame(births[["age", "lwt"]].to_numpy())
    endog = births["low"].reset_index(drop=True)
    for costs in ({0: 1.0, 1: 2.0}, {"0": 1.0, "1": 2.0}, pd.Series([1.0, 2.0], index=exog.columns)):
        model = rj.LogitSelection(endog, exog, costs=costs, budget=2)
        assert fit(model).inclusion["cost"].to_dict() == {"0": 1.0, "1": 2.0}
        assert model.count_models() == 3


def test_weights_and_offset_by_name_and_by_value(births):
    rng = np.random.default_rng(4)
    data = births.assign(w=rng.integers(1, 4, len(births)), o=rng.normal(size=len(births)))
    named = fit(rj.logit("low ~ lwt + smoke", data, weights="w", offset="o"))
    for change in (np.asarray, list, lambda s: s.sample(frac=1, random_state=1)):  # a Series is aligned
        given = fit(rj.logit("low ~ lwt + smoke", data, weights=change(data["w"]), offset=change(data["o"])))
        pd.testing.assert_frame_equal(given.models, named.models)
    without = fit(rj.logit("low ~ lwt + smoke", data, weights="w"))
    assert np.abs(without.params - named.params).max() > 1e-3


def test_grouped_rows_change_nothing(births):
    """Equal rows as one with their number as weight, and proportions: the posterior stays."""
    data = births[["low", "race", "smoke", "ht"]].astype({"race": str})
    groups = data.groupby(["race", "smoke", "ht"])["low"].agg(["mean", "size"]).reset_index()
    assert len(groups) < 12
    single = fit(rj.logit("low ~ race + smoke + ht", data))
    grouped = fit(rj.logit("mean ~ race + smoke + ht", groups, weights="size"))
    changed = ["deviance", "log_marginal"]  # by the saturated model, and by binomial coefficients
    ours = single.models.drop(columns=changed)
    # The same random numbers: rounding, and what is left of Newton's steps.
    pd.testing.assert_frame_equal(grouped.models.drop(columns=changed), ours, rtol=1e-6, check_exact=False)
    for column in changed:
        gap = single.models[column] - grouped.models[column]
        np.testing.assert_allclose(gap, gap.iloc[0], atol=1e-6)


def test_missing_rows_are_dropped_counted_and_said(births):
    data = births.copy()
    data.loc[data.index[[0, 5]], "age"] = np.nan
    data.loc[data.index[5], "lwt"] = np.nan
    data["unused"] = np.nan
    with pytest.warns(rj.MissingDataWarning, match=r"2 of 189 rows .*\(age: 2, lwt: 1\)") as caught:
        model = rj.logit("low ~ age + lwt", data)
    assert caught[0].filename == __file__
    assert model.nobs == 187
    complete = fit(rj.logit("low ~ age + lwt", births.drop(index=births.index[[0, 5]])))
    results = fit(model)
    pd.testing.assert_frame_equal(results.models, complete.models)
    assert "187 (2 dropped)" in str(results.summary())
    assert list(results.predict().index) == list(births.index.drop(births.index[[0, 5]]))


def test_pickled_results_are_the_same(results, births):
    results.predict(births, which="hpm")  # compiled scratch space exists now
    again = pickle.loads(pickle.dumps(results))
    assert str(again.summary()) == str(results.summary())
    for which in ("bma", "hpm", "mpm"):
        pd.testing.assert_series_equal(again.predict(births, which), results.predict(births, which))
    pd.testing.assert_frame_equal(copy.deepcopy(results).models, results.models)


def test_pickled_model_fits_the_same(model):
    again = pickle.loads(pickle.dumps(model))
    assert repr(again) == repr(model)
    for sampler in ("enumerate", "rjmcmc"):
        pd.testing.assert_frame_equal(
            fit(again, sampler=sampler, draws=50).inclusion, fit(model, sampler=sampler, draws=50).inclusion
        )


def test_worker_processes(model, enumerated):
    """Processes give what threads give."""
    walked = fit(model, sampler="rjmcmc", draws=50, chains=2)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        pd.testing.assert_frame_equal(fit(model).models, enumerated.models)
        other = fit(model, sampler="rjmcmc", draws=50, chains=2)
    np.testing.assert_array_equal(other.draws.coefficients, walked.draws.coefficients)
