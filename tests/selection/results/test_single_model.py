"""One model of a selection, highest-density intervals, and the best predictive model."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import pyrjsel as rj
from pyrjsel.selection.results.intervals import highest_density

FORMULA = "bwt ~ age + lwt + C(race) + smoke + ht"


@pytest.fixture(scope="module")
def births():
    return rj.datasets.birthwt().data


@pytest.fixture(scope="module")
def linear(births):
    return rj.linear(FORMULA, births).fit()


@pytest.fixture(scope="module")
def logit(births):
    return rj.logit(FORMULA.replace("bwt", "low"), births).fit(rng=1)


def test_a_linear_model(linear, births):
    """Under a g-prior slopes are g / (1 + g) times least squares, and the R-squared follows."""
    one = linear.single_model(["lwt", "smoke"])
    fit = smf.ols("bwt ~ lwt + smoke", births).fit()
    shrink = 189 / 190
    assert one.terms == ("lwt", "smoke")
    assert list(one.params.index) == ["Intercept", "lwt", "smoke"]
    np.testing.assert_allclose(one.params[1:], shrink * fit.params[1:], rtol=1e-10)
    assert one.rsquared == pytest.approx(fit.rsquared * (1 - (1 - shrink) ** 2), rel=1e-10)
    assert one.deviance == pytest.approx(-2 * fit.llf, rel=1e-12)
    np.testing.assert_allclose(one.resid, births["bwt"] - one.predict(births), rtol=1e-12)
    assert one.nobs == 189
    with pytest.raises(rj.NotAvailableError, match="rsquared"):
        _ = one.prsquared


def test_a_logistic_model(logit, births):
    one = logit.single_model(["lwt", "smoke"])
    fit = smf.logit("low ~ lwt + smoke", births).fit(disp=False)
    assert one.prsquared == pytest.approx(fit.prsquared, rel=1e-6)
    # A prior of one observation among 189.
    assert np.abs(one.params - fit.params).max() < 0.1
    np.testing.assert_allclose(one.bse, fit.bse, rtol=0.05)
    assert np.abs(one.fittedvalues - fit.predict(births)).max() < 0.02
    shown = one.get_prediction(births.head(3)).summary_frame()
    np.testing.assert_allclose(shown["mean"], one.predict(births.head(3)), rtol=1e-12)
    with pytest.raises(rj.NotAvailableError, match="prsquared"):
        _ = one.rsquared


@pytest.mark.parametrize("name", ["linear", "logit"])
def test_the_only_model_has_the_averages_of_a_fit_of_it(name, request, births):
    """With all its terms always in, a fit has one model: its averages are that model's."""
    results = request.getfixturevalue(name)
    one = results.single_model(["age", "ht"])
    make, response = (rj.linear, "bwt") if name == "linear" else (rj.logit, "low")
    alone = make(f"{response} ~ age + ht", births, always=["age", "ht"]).fit(rng=3)
    # Integrals of logistic models have errors of a few percent of a standard deviation.
    assert (np.abs(one.params - alone.params) / one.bse).max() < (0.06 if name == "logit" else 1e-9)
    np.testing.assert_allclose(one.bse, alone.bse, rtol=0.02 if name == "logit" else 1e-9)
    want = alone.models["log_marginal"].iloc[0]
    assert one.log_marginal == pytest.approx(want, abs=0.02 if name == "logit" else 1e-8)


def test_a_rank_is_a_row_of_the_table(logit):
    for rank in (1, 2, 9):
        one, row = logit.single_model(rank), logit.models.loc[rank]
        assert one.terms == row["terms"]
        assert one.posterior == row["posterior"]
        # The table has the integral with the draws of the fit.
        assert one.log_marginal == pytest.approx(row["log_marginal"], abs=0.05)
        assert one.deviance == pytest.approx(row["deviance"], rel=1e-12)
    assert logit.single_model("hpm").terms == logit.best()
    assert logit.single_model("mpm").terms == logit.best("mpm")


def test_models_that_constraints_exclude(births):
    results = rj.logit(FORMULA.replace("bwt", "low"), births, max_size=2).fit(rng=1)
    one = results.single_model(["age", "ht"])
    assert one.posterior == results.models.set_index("terms").loc[[("age", "ht")], "posterior"].iloc[0]
    with pytest.raises(rj.ParameterError, match="is not allowed"):
        results.single_model(["age", "ht", "smoke"])


@pytest.mark.parametrize(
    ("which", "error", "said"),
    [
        (0, rj.ParameterError, "an int in"),
        (10**6, rj.ParameterError, "an int in"),
        (True, rj.ParameterError, "a rank"),
        ("bma", rj.ParameterError, "a rank, 'hpm', 'mpm', 'bpm'"),
        (1.5, rj.ParameterError, "a rank"),
        (["weight"], rj.UnknownNameError, "unknown term 'weight'"),
    ],
)
def test_what_is_no_model(logit, which, error, said):
    with pytest.raises(error, match=said):
        logit.single_model(which)


@pytest.mark.parametrize("name", ["linear", "logit"])
def test_the_best_predictive_model(name, request, births):
    """Nearest in squares of linear predictors at posterior means, computed row by row."""
    results = request.getfixturevalue(name)
    x = results.model.data.X
    average = results.params.to_numpy()
    target = average[0] + x @ average[1:]
    names = results.model.design.column_names
    distance = {}
    for terms in results.models["terms"]:
        params = results.single_model(list(terms)).params
        b = np.array([params.get(column, 0.0) for column in names])
        distance[terms] = np.sum((params["Intercept"] + x @ b - target) ** 2)
    ranked = sorted(distance, key=distance.get)
    # The search has Laplace's means: among the two nearest.
    assert results.best("bpm") in ranked[: 2 if name == "logit" else 1]
    np.testing.assert_allclose(
        results.predict(births, "bpm"), results.single_model("bpm").predict(births), rtol=1e-12
    )


def test_summaries(linear, logit):
    for results, fact in ((linear, "R-squared:"), (logit, "Pseudo R-squared:")):
        text = str(results.single_model(1).summary())
        assert f"{results.model.title}: one model" in text
        assert fact in text
        assert ", ".join(results.best()) in text or "Terms:" in text
    shown = linear.single_model(1).coefficients
    assert list(shown) == ["mean", "sd", "ci_lower", "ci_upper", "prob_positive"]
    assert np.all((shown["ci_lower"] < shown["mean"]) & (shown["mean"] < shown["ci_upper"]))


def test_highest_density_intervals():
    """An exponential variate from 0 on, a normal one as by quantiles, and a point of enough mass alone."""
    # Quantiles in the place of draws, in random order: ends are exact to the distance of neighbours, which is
    # below 4e-4 where densities are as high as at these ends.
    p = (np.random.default_rng(5).permutation(100_000) + 0.5) / 100_000
    point = np.repeat([0.0, 3.0], [96_000, 4_000])
    draws = np.column_stack([stats.expon.ppf(p), stats.norm.ppf(p), point])
    found = highest_density(draws, 0.95)
    assert found[0] == pytest.approx([0, -np.log(0.05)], abs=1e-3)
    assert found[1] == pytest.approx(stats.norm.ppf([0.025, 0.975]), abs=1e-3)
    assert found[2].tolist() == [0.0, 0.0]


def test_kinds_of_intervals(logit):
    tails, dense = logit.conf_int(), logit.conf_int(kind="highest-density")
    assert np.all(dense[1] - dense[0] <= tails[1] - tails[0] + 1e-12)
    # A coefficient of probability 0.1 or so is 0 in most draws.
    assert dense.loc["age"].abs().max() < 0.1
    one = logit.single_model(["lwt"])
    assert np.all(one.conf_int(kind="highest-density")[0] < one.params)
    for results in (logit, one):
        with pytest.raises(rj.ParameterError, match=r"'kind' parameter of .* must be one of 'equal-tailed'"):
            results.conf_int(kind="hpd")


def test_without_rows_single_models_say_what_they_need(logit, tmp_path):
    logit.save(tmp_path / "fit.zip")
    loaded = rj.load(tmp_path / "fit.zip")
    with pytest.raises(rj.NotAvailableError, match="data"):
        _ = loaded.single_model(1).params
    back = rj.load(tmp_path / "fit.zip", data=rj.datasets.birthwt().data)
    pd.testing.assert_series_equal(back.single_model(1).params, logit.single_model(1).params)
