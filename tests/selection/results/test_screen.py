"""Screening: the model of the kept terms is the one that a user would write down for the same rows."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import pyrjsel as rj
from pyrjsel.selection.comparable import same_data
from pyrjsel.selection.results.screening import _add_parents


def make_frame(n=400):
    """Rows whose response depends on b and d, on g, and on the product of a and c."""
    rng = np.random.default_rng(21)
    frame = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    frame["g"] = rng.choice(["p", "q", "r"], n)
    frame["m"] = rng.integers(1, 5, n)
    frame["o"] = rng.normal(size=n)
    eta = 1.2 * frame["b"] - 1.2 * frame["d"] + 1.5 * (frame["g"] == "q") + frame["a"] * frame["c"]
    frame["y"] = (rng.random(n) < expit(eta)).astype(int)
    frame["share"] = rng.binomial(frame["m"], expit(eta + frame["o"])) / frame["m"]
    return frame


FRAME = make_frame()


def fit(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**{"sampler": "enumerate", "rng": 1, "progress": False, **options})


def check_same_model(found, expected):
    """Both have the same terms, space and posterior; sums may differ in their last bits."""
    assert found.term_names == expected.term_names
    assert found.design.column_names == expected.design.column_names
    np.testing.assert_array_equal(found.data.X, expected.data.X)
    np.testing.assert_array_equal(found.data.y, expected.data.y)
    assert found.count_models() == expected.count_models()
    assert found.coef_prior == expected.coef_prior
    one, other = fit(found), fit(expected)
    for table in ("inclusion", "models", "coefficients"):
        pd.testing.assert_frame_equal(getattr(one, table), getattr(other, table), rtol=1e-9, atol=1e-12)
    return one, other


SPLINE = "bs(b, df=3)"
CASES = {
    "factor": ("y ~ a + g + b + e", "y ~ g + b", {}),
    "strong heredity": ("y ~ a*c + b + d*e", "y ~ a + c + b + d + a:c", {"heredity": "strong"}),
    "factor under heredity": ("y ~ g*b + e*d", "y ~ g + b + d", {"heredity": "strong"}),
    "weak heredity": ("y ~ b*d + a:e + e", "y ~ b + d", {"heredity": "weak"}),
    "transforms": (f"y ~ {SPLINE} + np.exp(a) + center(d):e + standardize(d)",
                   f"y ~ {SPLINE} + standardize(d)", {}),
    "weights and offset": ("share ~ a + g + b + e", "share ~ g + b", {"weights": "m", "offset": "o"}),
    "arrays for both": ("share ~ a + b + e", "share ~ b", {"weights": FRAME["m"].to_numpy(),
                                                         "offset": FRAME["o"]}),
    "shared variables": ("y ~ b + d + b:d + e + e:b + a:c", "y ~ b + d + a:c",
                         {"costs": dict(zip("abcde", (1.0, 2.0, 0.5, 3.0, 1.0), strict=True)), "budget": 7}),
    "variables of dropped terms": ("y ~ a + c + b + e + a:c", "y ~ b + a:c",
                                   {"costs": {"a": 1.0, "b": 2.0, "c": 1.0, "e": 1.0}, "budget": 4}),
    "largest size": ("y ~ a + b + d + e", "y ~ b + d", {"max_size": 3}),
    "always": ("y ~ a + b + e + d", "y ~ a + b + d", {"always": "a"}),
    "Poisson": ("y ~ a + b + d", "y ~ b + d", {"model_prior": rj.TruncatedPoisson(1)}),
    "expected size": ("y ~ a + b + d", "y ~ b + d", {"model_prior": rj.BetaBinomial(expected_size=0.5)}),
    "Normal": ("y ~ a + b + d", "y ~ b + d", {"coef_prior": rj.Normal(2.0, standardize=True)}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_screened_model_is_that_of_the_kept_terms(case):
    formula, kept, options = CASES[case]
    with warnings.catch_warnings():
        # The median model of a spare size is no matter here.
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        found = fit(rj.logit(formula, FRAME, **options)).screen()
        expected = rj.logit(kept, FRAME, **options)
        check_same_model(found, expected)
    count = len(expected.term_names)
    assert repr(found) == f"<LogitSelection {kept!r}: 400 rows, {count} term{'s' * (count != 1)}>"


@pytest.mark.parametrize("series", [False, True])
def test_prices_of_terms_go_with_the_terms(series):
    costs = {"b": 2.0, "d": 3.0, "e": 1.0, "a": 1.0, "b:d": 0.5, "b:e": 0.25, "g": 1.0}
    kept = {name: cost for name, cost in costs.items() if name not in ("b:d", "b:e")}
    given = pd.Series(costs) if series else costs
    results = fit(rj.logit("y ~ b*d + b:e + g", FRAME, costs=given, budget=6))
    given["b"] = 100.0  # what happens to the caller's prices later is no matter
    found = results.screen()
    one, _ = check_same_model(found, rj.logit("y ~ b + d + g", FRAME, costs=kept, budget=6))
    assert one.inclusion["cost"].to_dict() == {"g": 1.0, "b": 2.0, "d": 3.0}


@pytest.mark.parametrize(
    ("whole", "kept"),
    [
        (rj.Bernoulli({"a": 0.1, "b": 0.2, "d": 0.7}), rj.Bernoulli({"b": 0.2, "d": 0.7})),
        (rj.Bernoulli([0.1, 0.2, 0.7]), rj.Bernoulli([0.2, 0.7])),
        # The cheapest term goes, and the others are still compared with it.
        (rj.CostAdjusted({"a": 1, "b": 2, "d": 3}), rj.CostAdjusted({"b": 2, "d": 3}, baseline=1)),
    ],
)
def test_priors_of_terms_go_with_the_terms(whole, kept):
    found = fit(rj.logit("y ~ a + b + d", FRAME, model_prior=whole)).screen()
    assert found.model_prior == kept
    check_same_model(found, rj.logit("y ~ b + d", FRAME, model_prior=kept))


def test_screening_leaves_the_odds_that_costs_give():
    costs = {"a": 1.0, "b": 2.0, "c": 0.5, "d": 3.0, "e": 4.0}
    whole = rj.logit("y ~ a + b + c + d + e", FRAME, model_prior=rj.CostAdjusted(costs), always="c")
    found = fit(whole).screen()
    assert found.term_names == ("b", "c", "d")  # c is in every model, and is not the yardstick
    for name in found.term_names:
        before, after = (model.space.log_odds[model.term_names.index(name)] for model in (whole, found))
        assert before == after
    assert found.space.log_odds[0] == pytest.approx(-0.5 * np.log(400), rel=1e-14)
    assert fit(found).screen().model_prior == found.model_prior


def test_rows_stay_those_of_the_first_fit():
    frame = FRAME.copy()
    frame.index = [f"row {number}" for number in range(len(frame))]
    frame.loc[frame.index[::7], "e"] = np.nan
    frame.loc[frame.index[3], "b"] = np.nan
    with pytest.warns(rj.MissingDataWarning):
        whole = rj.logit("y ~ b + e + d + center(a)", frame, coef_prior=rj.GPrior("4n"))
    found = fit(whole).screen()
    used = frame.dropna(subset=["b", "e"])
    one, _ = check_same_model(found, rj.logit("y ~ b + d", used, coef_prior=rj.GPrior("4n")))
    assert found.nobs == len(used) < len(frame) - 1
    assert found.data.index.equals(used.index)
    assert one.predict().index.equals(used.index)
    assert f"{len(frame) - len(used)} dropped" in str(one.summary())
    # New rows may lack what the fit dropped rows for.
    assert one.predict(frame[["b", "d"]]).isna().sum() == 1


def test_prediction_needs_the_kept_variables_alone():
    options = {"offset": "o", "weights": "m"}
    found = fit(rj.logit("share ~ a + g + b + e", FRAME, **options)).screen()
    one, other = fit(found), fit(rj.logit("share ~ g + b", FRAME, **options))
    new = FRAME.loc[[5, 3, 9], ["o", "b", "g"]]
    for frame in (new, new.astype({"g": "category"}), FRAME.loc[[5, 3, 9]]):
        pd.testing.assert_series_equal(one.predict(frame), other.predict(new), rtol=1e-9)
    with pytest.raises(rj.UnknownNameError, match="'g'"):
        one.predict(new[["o", "b"]])
    with pytest.raises(rj.DataError, match="'z'"):
        one.predict(new.assign(g="z"))


def test_arrays():
    x = FRAME[list("abde")].to_numpy()
    found = fit(rj.LogitSelection(FRAME["y"], x)).screen()
    assert repr(found) == "<LogitSelection y from arrays: 400 rows, 2 terms>"
    one = fit(found)
    assert one.model.term_names == ("x2", "x3")
    # An array is one of the kept columns; a data frame may have more.
    table = pd.DataFrame(x, columns=["x1", "x2", "x3", "x4"])
    np.testing.assert_array_equal(one.predict(x[:, [1, 2]]), one.predict(table))
    np.testing.assert_allclose(one.predict(table), one.predict(), rtol=1e-12)
    with pytest.raises(rj.DataError, match="2 columns"):
        one.predict(x)


def test_columns_whose_names_are_no_text():
    x = FRAME[list("abde")].set_axis([1, 2, 3, 4], axis=1)
    costs = {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}
    found = fit(rj.LogitSelection(FRAME["y"], x, costs=costs, budget=6, always="1")).screen()
    assert fit(found).inclusion["cost"].to_dict() == {"1": 1.0, "2": 2.0, "3": 3.0}
    assert found.space.budget == 6


def test_screened_models_can_be_pickled_and_screened_again():
    first = fit(rj.logit("y ~ a*c + b + g + e", FRAME, heredity="strong", functions=None))
    second = fit(pickle.loads(pickle.dumps(first.screen(0.05))))
    third = fit(second.screen(0.9))
    check_same_model(third.model, fit(rj.logit("y ~ a*c + b + g", FRAME, heredity="strong")).screen(0.9))


def test_models_are_what_they_were_also_where_a_margin_is_screened_out():
    """The formula of the kept terms alone would code g:a in full, and so would have another model."""
    prior = rj.Bernoulli({"g": 0.5, "a": 1e-9, "b": 0.5, "g:a": 1 - 1e-9})
    results = fit(rj.logit("y ~ g*a + b", FRAME, model_prior=prior), integration="laplace")
    found = results.screen()
    assert found.term_names == ("g", "b", "g:a")
    one = fit(found, integration="laplace")
    before, after = (run.models.set_index("terms") for run in (results, one))
    pd.testing.assert_frame_equal(
        after[["log_marginal", "deviance"]], before.loc[after.index, ["log_marginal", "deviance"]], rtol=1e-9
    )
    assert len(rj.logit("y ~ g + g:a + b", FRAME).design.column_names) > len(found.design.column_names)


# ---------------------------------------------------------------------- which terms are kept


def test_a_term_is_kept_at_the_threshold_and_dropped_below():
    results = fit(rj.logit("y ~ a + b + d + e", FRAME, coef_prior=rj.Normal(1.0)))
    at = float(results.posterior.inclusion[0])
    assert 0 < at < results.posterior.inclusion[1]
    assert "a" in results.screen(at).term_names
    assert "a" not in results.screen(float(np.nextafter(at, 1))).term_names


def test_a_term_is_kept_if_one_of_the_runs_keeps_it():
    formula = "y ~ a + b + d + e"
    runs = [
        fit(rj.logit(formula, FRAME, model_prior=rj.Bernoulli({**dict.fromkeys("abde", 1e-9), name: 0.99})))
        for name in "ae"
    ]
    # Strong effects stay whatever the prior.
    assert set(runs[0].screen(0.4).term_names) == {"a", "b", "d"}
    assert set(runs[1].screen(0.4).term_names) == {"b", "d", "e"}
    found = runs[0].screen(0.4, others=(runs[1],))
    assert found.term_names == ("a", "b", "d", "e")
    # Everything but the terms is that of the results that are screened.
    assert found.model_prior == runs[0].model.model_prior
    assert runs[1].screen(0.4, others=[runs[1], runs[0]]).model_prior == runs[1].model.model_prior


def test_draws_can_be_screened_together_with_enumeration():
    model = rj.logit("y ~ a + b + d + e", FRAME)
    walks = [fit(model, sampler="rjmcmc", draws=400, chains=2, rng=seed) for seed in (1, 2)]
    assert walks[0].screen(others=[walks[1], fit(model)]).term_names == ("b", "d")


def test_strong_heredity_keeps_all_lower_order_terms():
    """Its own runs never drop them; one without heredity may."""
    formula = "y ~ a*c*e + b"
    tied = fit(rj.logit(formula, FRAME, heredity="strong", model_prior=rj.Bernoulli(1e-6)))
    free = fit(rj.logit(formula, FRAME, model_prior=rj.Bernoulli({
        **dict.fromkeys(["a", "c", "e", "b", "a:c", "c:e", "a:e"], 1e-6), "a:c:e": 0.999999999,
    })))  # fmt: skip
    assert free.screen(0.5).term_names == ("b", "a:c:e")
    found = tied.screen(0.5, others=[free])
    assert set(found.term_names) == {"a", "c", "e", "a:c", "a:e", "c:e", "a:c:e", "b"}
    assert found.space.heredity == "strong"


def test_weak_heredity_keeps_the_likeliest_of_the_terms_it_asks_for():
    formula = "y ~ a*c + e"
    results = fit(rj.logit(formula, FRAME, heredity="weak", model_prior=rj.Bernoulli(
        {"a": 0.2, "c": 0.4, "e": 0.01, "a:c": 0.5}
    )))  # fmt: skip
    inclusion = results.inclusion["posterior"]
    assert inclusion["a"] < inclusion["c"] < 0.9 < inclusion["a:c"]
    found = results.screen(0.9)
    assert found.term_names == ("c", "a:c")
    check_same_model(
        found, rj.logit("y ~ c + a:c", FRAME, heredity="weak",
                        model_prior=rj.Bernoulli({"c": 0.4, "a:c": 0.5}))
    )  # fmt: skip
    assert found.count_models() == 3
    # A kept one is enough, even if another is likelier.
    assert set(results.screen((inclusion["a"] + inclusion["c"]) / 2).term_names) == {"c", "a:c"}


def test_weak_heredity_is_followed_down():
    """The term that is kept for one of higher order needs one of lower order in its turn."""
    formula = "y ~ a + c + a:c + a:c:e"
    prior = rj.Bernoulli({"a": 0.3, "c": 0.1, "a:c": 1e-9, "a:c:e": 1e-9})
    tied = fit(rj.logit(formula, FRAME, heredity="weak", model_prior=prior))
    certain = rj.Bernoulli({"a": 1e-9, "c": 1e-9, "a:c": 1e-9, "a:c:e": 1 - 1e-15})
    free = fit(rj.logit(formula, FRAME, model_prior=certain))
    assert free.inclusion["posterior"]["a:c"] < 0.99999 < free.inclusion["posterior"]["a:c:e"]
    found = tied.screen(0.99999, others=[free])
    assert found.term_names == ("a", "a:c", "a:c:e")


@pytest.mark.parametrize(
    ("heredity", "start", "inclusion", "expected"),
    [
        ("weak", {"a:c"}, {"a": 0.1, "c": 0.2}, {"a:c", "c"}),
        # One that is kept is enough, though another is likelier.
        ("weak", {"a:c", "a"}, {"a": 0.1, "c": 0.2}, {"a:c", "a"}),
        ("weak", {"a:c:e"}, {"a:c": 0.2, "c:e": 0.1, "c": 0.2, "a": 0.1}, {"a:c:e", "a:c", "c"}),
        ("weak", {"a", "c"}, {"e": 0.2}, {"a", "c"}),
        ("strong", {"a:c", "e"}, {"c": 0.2}, {"a:c", "a", "c", "e"}),
        ("strong", {"a:c:e"}, {}, {"a", "c", "e", "a:c", "a:e", "c:e", "a:c:e"}),
        (None, {"a:c:e", "a:c"}, {"c": 0.2}, {"a:c:e", "a:c"}),
    ],
)
def test_what_heredity_adds(heredity, start, inclusion, expected):
    space = rj.logit("y ~ a*c*e", FRAME, heredity=heredity).space
    kept = {space.names.index(name) for name in start}
    _add_parents(kept, space, np.array([inclusion.get(name, 0.0) for name in space.names]))
    assert {space.names[term] for term in kept} == expected


def test_edges():
    results = fit(rj.logit("y ~ a*c + b + e", FRAME, always=["a"]))
    check_same_model(results.screen(1e-300), results.model)
    tied = fit(rj.logit("y ~ a + b + d + e", FRAME, max_size=2))
    check_same_model(tied.screen(1e-300), tied.model)
    assert tied.screen(1e-300).space.max_size == 2
    everything = fit(rj.logit("y ~ a + b", FRAME, always=["a", "b"])).screen(0.999)
    assert everything.term_names == ("a", "b")
    one = fit(rj.logit("y ~ a + b + e", FRAME)).screen(0.9)
    assert one.term_names == ("b",)
    assert fit(one).models["terms"].tolist() == [("b",), ()]


@pytest.mark.parametrize("prior", [None, rj.Bernoulli({"e": 0.2}), rj.CostAdjusted({"e": 2.0})])
def test_nothing_but_what_is_always_in(prior):
    found = fit(rj.logit("y ~ a + e", FRAME, always=["a"], model_prior=prior)).screen(0.9)
    assert fit(found).models["terms"].tolist() == [("a",)]


def test_dependence_is_looked_at_again():
    frame = FRAME.assign(twice=2 * FRAME["b"], thrice=3 * FRAME["e"])
    with pytest.warns(rj.RankWarning):
        results = fit(rj.logit("y ~ b + d + e + twice + thrice", frame))
    with pytest.warns(rj.RankWarning, match=r"2 of 3 terms: b, twice") as caught:
        results.screen()
    assert [warning.filename for warning in caught] == [__file__]


# ---------------------------------------------------------------------- what is refused


@pytest.fixture(scope="module")
def results():
    return fit(rj.logit("y ~ a + b + e", FRAME))


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, np.nan, "0.3", None, True, [0.3]])
def test_thresholds_that_are_none(results, threshold):
    with pytest.raises(rj.ParameterError, match=r"'threshold' parameter of screen must be .* in \(0, 1\)"):
        results.screen(threshold)


def test_nothing_left():
    results = fit(rj.logit("y ~ a + e", FRAME))
    highest = results.inclusion["posterior"].idxmax()
    with pytest.raises(
        rj.ParameterError, match=rf"no term reaches 0.9; .* that of {highest}, with 0\.\d+\.$"
    ):
        results.screen(0.9)
    with pytest.raises(rj.ParameterError, match="the model has no terms"):
        fit(rj.logit("y ~ 1", FRAME)).screen()


def test_an_expected_size_beyond_the_kept_terms():
    results = fit(rj.logit("y ~ a + b + e", FRAME, model_prior=rj.BetaBinomial(expected_size=1)))
    with pytest.raises(rj.ParameterError, match=r"'expected_size' .* must be in \(0, 1\)"):
        results.screen(0.9)


@pytest.mark.parametrize("others", ["results", 3, None, [3], iter(())])
def test_others_that_are_no_results(results, others):
    given = results if others == "results" else others
    with pytest.raises(rj.ParameterError, match="'others' parameter of screen must be a sequence of Sel"):
        results.screen(others=given)


OTHER = {
    "rows": ("y ~ a + b + e", FRAME[:399], {}, "400 and 399 rows"),
    "order of rows": ("y ~ a + b + e", FRAME[::-1], {}, "another response"),
    "response": ("y ~ a + b + e", FRAME.assign(y=1 - FRAME["y"]), {}, "another response"),
    "weights": ("y ~ a + b + e", FRAME, {"weights": "m"}, "other weights"),
    "offset": ("y ~ a + b + e", FRAME, {"offset": "o"}, "another offset"),
    "terms": ("y ~ a + b + d", FRAME, {}, r"other terms \(only one has d, e\)"),
    "more terms": ("y ~ a + b + e + a:e", FRAME, {}, r"other terms \(only one has a:e\)"),
    "order": ("y ~ b + a + e", FRAME, {}, "their terms in another order"),
    "columns": ("y ~ a + b + e", FRAME.assign(e=2 * FRAME["e"]), {}, "other values in the columns"),
}


@pytest.mark.parametrize("case", OTHER)
def test_others_of_other_data_or_terms(results, case):
    formula, frame, options, reason = OTHER[case]
    other = fit(rj.logit(formula, frame, **options))
    with pytest.raises(rj.ParameterError, match=rf"These and others\[1\] have {reason}"):
        results.screen(others=[results, other])


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        (FRAME.copy(), {}),
        (FRAME.set_axis(range(1, 401)), {}),
        (FRAME.astype({"y": bool}), {}),
        (FRAME, {"weights": np.ones(400), "offset": np.zeros(400)}),
        (FRAME, {"model_prior": rj.Uniform(), "coef_prior": rj.Normal(1.0), "always": "a"}),
        (pd.concat([FRAME, FRAME[:3].assign(e=np.nan)]), {}),
    ],
)
def test_same_data_is_a_matter_of_values(results, frame, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.MissingDataWarning)
        other = rj.logit("y ~ a + b + e", frame, **options)
    assert same_data(results.model, other) is None
    assert same_data(other, results.model) is None
