"""Poisson selection as its users meet it: input, separation, prediction of counts, summaries."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pyrjsel as rj

N = 120
FRAME = ["mean", "mean_se", "median", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]


@pytest.fixture(scope="module")
def wards():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.normal(size=N), "income": rng.normal(size=N)})
    frame["region"] = list("abc") * (N // 3)
    frame["people"] = rng.uniform(0.5, 8.0, N)
    frame["log_people"] = np.log(frame["people"])
    rate = np.exp(0.2 + 0.4 * frame["age"] + 0.5 * (frame["region"] == "c"))
    return frame.assign(cases=rng.poisson(frame["people"] * rate))


FORMULA = "cases ~ age + income + region"


@pytest.fixture(scope="module")
def enumerated(wards):
    return rj.poisson(FORMULA, wards, offset="log_people").fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def walked(wards):
    model = rj.poisson(FORMULA, wards, offset="log_people")
    return model.fit(sampler="rjmcmc", draws=1500, chains=2, rng=2, progress=False)


@pytest.fixture(params=["enumerated", "walked"])
def results(request):
    return request.getfixturevalue(request.param)


# --- input -------------------------------------------------------------------------------------------


def test_formula_and_arrays_are_the_same_model(wards):
    first = rj.poisson("cases ~ age + income + region", wards, offset="log_people")
    second = rj.PoissonSelection(
        wards["cases"], wards[["age", "income", "region"]], offset=wards["log_people"].to_numpy()
    )
    assert isinstance(first, rj.PoissonSelection)
    assert repr(first).startswith("<PoissonSelection 'cases ~")
    assert first.count_models() == second.count_models() == 8
    one, other = (model.fit(rng=1, progress=False) for model in (first, second))
    found = other.inclusion["posterior"][one.inclusion.index]
    # Terms in another order have sums in another order, and other random numbers.
    np.testing.assert_allclose(found, one.inclusion["posterior"], atol=0.01)


def test_the_default_prior_is_that_of_the_documentation(wards):
    model = rj.poisson("cases ~ age", wards)
    assert model.coef_prior == rj.GPrior("n", information="null")
    weighted = rj.poisson("cases ~ age", wards.assign(w=3.0), weights="w")
    for prior in (model.regression.prior, weighted.regression.prior):
        assert prior.flat
        # Standardised columns: the information of one row is the mean count.
        assert prior.precision[1, 1] == pytest.approx(wards["cases"].mean())


BAD = {
    "negative": ({"cases": lambda f: f["cases"] - 5}, {}, "at least 0. Got -5"),
    "fractions": ({"cases": lambda f: f["cases"] / 2}, {}, "'cases' must be whole numbers"),
    "rates with exposures as weights": (
        {"cases": lambda f: f["cases"] / f["people"] + 0.013},
        {"weights": "people"},
        "whole numbers, or mean counts",
    ),
    "no events": ({"cases": lambda f: 0 * f["cases"]}, {}, "must have a positive count"),
    "text": ({"cases": lambda f: f["cases"].astype(str)}, {}, "'cases'.*numeric or boolean"),
    "infinite": ({"cases": lambda f: f["cases"] / (f["cases"] > 0)}, {}, "infinite|missing"),
    "no exposure": ({"e": lambda f: np.log(0 * f["people"])}, {"offset": "e"}, "infinite.*'e'|'e'.*infinite"),
    "negative weights": ({"w": lambda f: -f["people"]}, {"weights": "w"}, "'weights' must be non-negative"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_name(wards, name):
    columns, options, message = BAD[name]
    with np.errstate(divide="ignore", invalid="ignore"):
        frame = wards.assign(**columns)
    with pytest.raises(rj.DataError, match=message):
        rj.poisson("cases ~ age", frame, missing="raise", **options)


def test_a_prior_of_another_kind_is_refused(wards):
    message = (
        r"'coef_prior' parameter of PoissonSelection must be a GPrior, HyperG, .* or Normal.*Got 'g' instead"
    )
    with pytest.raises(rj.ParameterError, match=message):
        rj.poisson("cases ~ age", wards, coef_prior="g")
    with pytest.raises(rj.UnknownNameError, match="'gibbs'"):
        rj.poisson("cases ~ age", wards).fit(sampler="gibbs")


def test_booleans_are_counts_of_at_most_one(wards):
    frame = wards.assign(any=wards["cases"] > 3)
    found = rj.poisson("any ~ age", frame).fit(rng=1, progress=False)
    same = rj.poisson("any ~ age", frame.assign(any=frame["any"].astype(int))).fit(rng=1, progress=False)
    pd.testing.assert_frame_equal(found.models, same.models)


# --- rows without events -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def barren(wards):
    """A region without a single case."""
    return wards.assign(cases=wards["cases"].where(wards["region"] != "b", 0))


@pytest.mark.filterwarnings("ignore:The run has:pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("sampler", ["enumerate", "rjmcmc"])
def test_a_level_without_events(barren, sampler):
    """Its maximum likelihood estimate is minus infinity: said and named; the posterior is proper."""
    model = rj.poisson(FORMULA, barren, offset="log_people")
    with pytest.warns(rj.SeparationWarning, match="without events are separated by region in ") as caught:
        results = model.fit(sampler=sampler, draws=500, rng=1, progress=False)
    assert caught[0].filename == __file__
    assert set(results.separated.values()) == {("region",)}
    assert all("region" in terms for terms in results.separated)
    assert np.isfinite(results.coefficients.to_numpy()).all()
    assert results.params["region[T.b]"] < -1
    text = " ".join(str(results.summary()).split())
    assert "The observations without events are separated by region in the model" in text
    # The deviance is its limit: rows of the region fitted perfectly, the others as without them.
    rest = barren[barren["region"] != "b"]
    alone = rj.poisson(FORMULA, rest, offset="log_people", always=("age", "income", "region"))
    limit = alone.fit(rng=1, progress=False).models["deviance"].iloc[0]
    full = [set(terms) == {"age", "income", "region"} for terms in results.models["terms"]]
    if any(full):
        assert results.models["deviance"][full].iloc[0] == pytest.approx(limit, abs=1e-5)


@pytest.mark.parametrize("size", [1e4, 1e9])
def test_a_level_without_events_among_very_many(barren, size):
    """Whose likelihood is so large that gains of the search drown in its rounding."""
    many = barren.assign(cases=np.round(size * barren["cases"]))
    with pytest.warns(rj.SeparationWarning, match="by region in the best model"):
        rj.poisson(FORMULA, many, offset="log_people").fit(rng=1, progress=False)


def test_combinations_of_columns_that_set_rows_apart():
    """Neither column does it alone, and no column is constant on the rows with events."""
    rng = np.random.default_rng(4)
    x, above = rng.normal(size=60), np.arange(60) % 3 == 0
    # Rows with events lie on the plane x + z = 0, the others above it.
    z = np.where(above, rng.uniform(0.2, 2.0, 60), 0.0) - x
    frame = pd.DataFrame({"x": x, "z": z, "y": np.where(above, 0, 2 + rng.poisson(2.0, 60))})
    model = rj.poisson("y ~ x + z", frame, coef_prior=rj.Normal(2.0), always=("x", "z"))
    with pytest.warns(rj.SeparationWarning, match="by x, z in the best model"):
        results = model.fit(rng=1, progress=False)
    assert results.separated == {("x", "z"): ("x", "z")}


def test_what_is_no_separation(wards):
    """Large counts, tiny rates, and zeros that events surround."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", rj.SeparationWarning)
        big = wards.assign(cases=wards["cases"] * 100_000)
        assert rj.poisson("cases ~ age", big).fit(rng=1, progress=False).separated == {}
        rare = wards.assign(cases=(wards.index % 40 == 0).astype(int), o=-25.0)
        rare = rj.poisson("cases ~ age", rare, offset="o", coef_prior=rj.GPrior("n", intercept="flat"))
        assert rare.fit(rng=1, progress=False).separated == {}
        far = wards.assign(age=np.where(wards.index == 3, 1e3, wards["age"]))
        assert rj.poisson("cases ~ age + income", far).fit(rng=1, progress=False).separated == {}


# --- predictions -------------------------------------------------------------------------------------


def test_expected_counts(results, wards):
    prediction = results.get_prediction(wards)
    frame = prediction.summary_frame(alpha=0.1)
    assert list(frame.columns) == FRAME
    eta = prediction.x @ prediction.coefficients[:, 1:].T + prediction.coefficients[:, 0]
    mu = np.exp(eta) * wards["people"].to_numpy()[:, None]
    np.testing.assert_allclose(frame["mean"], mu.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(frame["mean_se"], mu.std(axis=1, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(frame["median"], np.median(mu, axis=1), rtol=1e-12)
    np.testing.assert_allclose(frame["mean_ci_lower"], np.quantile(mu, 0.05, axis=1), rtol=1e-12)
    pd.testing.assert_series_equal(results.predict(wards), results.predict())
    # As many cases as there were: the posterior is that of a model with an intercept, hardly shrunk.
    assert frame["mean"].sum() == pytest.approx(wards["cases"].sum(), rel=0.02)
    for side, p in (("obs_ci_lower", 0.05), ("obs_ci_upper", 0.95)):
        k = frame[side].to_numpy()[:, None]
        assert np.all(stats.poisson.cdf(k, mu).mean(axis=1) >= p - 1e-12)
        assert np.all(stats.poisson.cdf(k - 1, mu).mean(axis=1) < p + 1e-12)


@pytest.mark.statistical
def test_new_counts_fall_into_their_intervals():
    """Over 75 new data sets 90 % intervals hold 90 % of new counts, and a little more, being discrete.

    One prediction a data set, so that they are independent; binomial, refused with probability 1e-6.
    """
    rng = np.random.default_rng(12)
    inside, sets = 0, 75
    x = np.append(rng.normal(size=40), 0.7)
    for seed in range(sets):
        # From the prior, whose predictive law the intervals then have.
        a, b = rng.normal(1.5, 0.5), rng.normal(0, 0.5)
        y = rng.poisson(np.exp(a + b * x))
        prior = rj.Normal(0.5, intercept=rj.Normal(0.5, mean=1.5))
        frame = pd.DataFrame({"x": x[:-1], "y": y[:-1]})
        results = rj.poisson("y ~ x", frame, coef_prior=prior, always="x").fit(rng=seed, progress=False)
        new = results.get_prediction(pd.DataFrame({"x": x[-1:]})).summary_frame(alpha=0.1)
        inside += int(new["obs_ci_lower"].iloc[0] <= y[-1] <= new["obs_ci_upper"].iloc[0])
    assert stats.binom.cdf(inside, sets, 0.9) > 1e-6
    # Six expected counts are spread over some ten values: an interval holds at most 97 %.
    assert stats.binom.sf(inside - 1, sets, 0.97) > 1e-6


def test_exposure_of_new_rows(enumerated, wards):
    base = enumerated.predict(wards)
    twice = wards.assign(log_people=wards["log_people"] + np.log(2))
    np.testing.assert_allclose(enumerated.predict(twice), 2 * base, rtol=1e-12)
    given = enumerated.predict(wards.drop(columns="log_people"), offset=np.zeros(N))
    np.testing.assert_allclose(given * wards["people"], base, rtol=1e-12)
    missing = wards.assign(log_people=wards["log_people"].where(wards.index != 4))
    frame = enumerated.get_prediction(missing).summary_frame()
    assert list(frame.index[frame.isna().any(axis=1)]) == [4]


def test_extreme_rows_warn_of_nothing(enumerated, wards):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far = enumerated.get_prediction(wards.assign(age=1e5)).summary_frame()
        near = enumerated.get_prediction(wards.assign(age=-1e5)).summary_frame()
    assert (far["mean"] == np.inf).all()
    assert (far["obs_ci_upper"] == np.inf).all()
    assert (near[["mean", "obs_ci_lower", "obs_ci_upper"]] == 0).all(axis=None)


# --- what is printed ---------------------------------------------------------------------------------


def test_summary(results, wards):
    text = str(results.summary())
    assert "Poisson model selection" in text
    assert f"{wards['cases'].sum():,} ({wards['cases'].mean():.4g} per observation)" in text
    zeros = int((wards["cases"] == 0).sum())
    assert re.search(rf"Zero counts: +{zeros} \({100 * zeros / N:.1f} %\)", text)
    assert "log_people" in text


def test_summary_of_grouped_rows(wards):
    grouped = wards.groupby("region", as_index=False).agg(cases=("cases", "mean"), rows=("cases", "size"))
    results = rj.poisson("cases ~ region", grouped, weights="rows").fit(rng=1, progress=False)
    text = str(results.summary())
    assert re.search(rf"Events: +{wards['cases'].sum():,} ", text)
    assert re.search(r"Weights: +rows", text)


def test_screening_keeps_the_family(enumerated, wards):
    as_classes = rj.logit("any ~ age", wards.assign(any=wards["cases"] > 5)).fit(rng=1, progress=False)
    counts = rj.poisson("any ~ age", wards.assign(any=wards["cases"] > 5)).fit(rng=1, progress=False)
    with pytest.raises(rj.ParameterError, match="another family"):
        counts.screen(others=[as_classes])
    model = enumerated.screen(0.5)
    assert type(model) is rj.PoissonSelection
    assert model.term_names == ("age", "region")
    again = model.fit(rng=1, progress=False)
    assert again.inclusion.loc["age", "posterior"] > 0.9
    np.testing.assert_array_equal(model.regression.offset, wards["log_people"])
