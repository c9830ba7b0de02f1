"""Predictions: the right numbers for the right rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from births_fits import FORMULA
from scipy.special import expit, log_expit

import pyrjsel as rj

FRAME = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]


@pytest.fixture(scope="module")
def enumerated(births):
    return rj.logit(FORMULA, births).fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def walked(births):
    return rj.logit(FORMULA, births).fit(sampler="rjmcmc", draws=2500, chains=2, rng=2, progress=False)


def columns(births):
    """The columns of the design, written out."""
    return np.column_stack(
        [
            np.ones(len(births)),
            births["age"],
            births["lwt"],
            births["race"] == "black",
            births["race"] == "other",
            births["smoke"],
        ]
    ).astype(float)


# --- the numbers ------------------------------------------------------------------------------------


def grid_posterior(x, y):
    """Predictions and their sds at each row under both models of one column, by summation over a fine grid.

    Priors: N(0, 1) on the slope, N(0, 2^2) on the intercept, one half on each model. The grid reaches eight
    standard deviations of the prior in both directions; halving its step changes no digit that matters.
    """
    a = np.linspace(-8, 8, 401)[:, None]
    b = np.linspace(-6, 6, 301)[None, :]
    log_prior_a, log_prior_b = -0.5 * (a / 2) ** 2 - np.log(2), -0.5 * b**2
    step = (a[1, 0] - a[0, 0]) / np.sqrt(2 * np.pi), (b[0, 1] - b[0, 0]) / np.sqrt(2 * np.pi)

    def log_likelihood(a, b):
        eta = a[..., None] + b[..., None] * x
        return np.where(y == 1, log_expit(eta), log_expit(-eta)).sum(axis=-1)

    with_x = np.exp(log_likelihood(a, b) + log_prior_a + log_prior_b) * step[0] * step[1]
    without = np.exp(log_likelihood(a, np.zeros_like(a)) + log_prior_a) * step[0]
    total = with_x.sum() + without.sum()
    first, second = [], []
    for value in x:
        p, q = expit(a + b * value), expit(a)
        first.append((with_x * p).sum() + (without * q).sum())
        second.append((with_x * p**2).sum() + (without * q**2).sum())
    mean = np.array(first) / total
    return mean, np.sqrt(np.array(second) / total - mean**2), with_x.sum() / total


@pytest.mark.parametrize("sampler", ["enumerate", "rjmcmc"])
def test_against_integration_on_a_grid(sampler):
    """Means and sds of predictions, at 7 standard errors of 30 rows: false alarms below 1e-9, seed fixed."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=30)
    y = (rng.random(30) < expit(0.8 * x)).astype(int)
    mean, sd, inclusion = grid_posterior(x, y)
    assert 0.2 < inclusion < 0.9
    frame = pd.DataFrame({"x": x, "y": y})
    prior = rj.Normal(1.0, intercept=rj.Normal(2.0))
    model = rj.logit("y ~ x", frame, coef_prior=prior, model_prior=rj.Uniform())
    results = model.fit(sampler=sampler, draws=4000, rng=1, progress=False)
    found = results.get_prediction(frame).summary_frame()
    # 4,000 draws made by resampling: at least 2,000 independent ones' worth.
    error = sd / np.sqrt(2000)
    assert (np.abs(found["mean"] - mean) < 7 * error).all()
    assert (np.abs(found["mean_se"] - sd) < 7 * error).all()
    assert results.inclusion.loc["x", "posterior"] == pytest.approx(inclusion, abs=0.03)


def test_averages_are_those_of_the_coefficient_draws(walked, births):
    draws = walked.draws.coefficients.reshape(-1, 6)
    means = expit(columns(births) @ draws.T)
    step = max(1, len(draws) // 4000)  # predictions use about 4,000 draws
    used = means[:, ::step]
    found = walked.get_prediction(births).summary_frame(alpha=0.2)
    np.testing.assert_allclose(walked.predict(births), used.mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(found["mean_se"], used.std(axis=1, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(found["mean_ci_lower"], np.quantile(used, 0.1, axis=1), rtol=1e-9)
    np.testing.assert_allclose(found["mean_ci_upper"], np.quantile(used, 0.9, axis=1), rtol=1e-9)


def test_average_of_models(enumerated, births):
    """BMA is the average over models of their own predictions, weighted by their probabilities.

    One model at a time through `always`; at 7 standard errors, seeds fixed.
    """
    total = np.zeros(len(births))
    for terms, posterior in zip(enumerated.models["terms"], enumerated.models["posterior"], strict=True):
        if posterior < 1e-3:
            continue
        formula = f"low ~ {' + '.join(terms) or '1'}"
        alone = rj.logit(formula, births, always=terms).fit(rng=3, progress=False)
        total += posterior * alone.predict()
    sd = enumerated.get_prediction().summary_frame()["mean_se"]
    # 4,000 draws on each side, and models of 0.3 % left out, whose predictions differ by less than 0.5.
    gap = np.abs(enumerated.predict() - total)
    assert (gap < 7 * sd * np.sqrt(2 / 2000) + 0.002).all()


def test_single_models(enumerated, births):
    """The best model alone predicts as a fit of that model alone; here it has no terms."""
    assert enumerated.best() == ()
    hpm = enumerated.predict(births, which="hpm")
    # Products of blocks of rows add in their own order: equal rows differ by the rounding of one sum.
    assert np.ptp(hpm) < 1e-15
    # The prior of the intercept is so wide that its posterior mean is the share of events, 59 / 189.
    assert hpm.iloc[0] == pytest.approx(59 / 189, abs=0.005)
    assert enumerated.best("mpm") == ()
    pd.testing.assert_series_equal(enumerated.predict(births, which="mpm"), hpm)
    assert np.ptp(enumerated.predict(births)) > 0.2


def test_same_on_every_call(results, births):
    pd.testing.assert_series_equal(results.predict(births), results.predict(births))
    for which in ("bma", "hpm", "mpm"):
        pd.testing.assert_series_equal(
            results.predict(births, which),
            results.get_prediction(births, which).summary_frame()["mean"],
            check_names=False,
        )


def test_summary_frame(results, births):
    frame = results.get_prediction(births).summary_frame()
    assert list(frame.columns) == FRAME
    pd.testing.assert_index_equal(frame.index, births.index)
    assert frame["mean"].between(0, 1).all()
    assert (frame["mean_ci_lower"] < frame["mean"]).all()
    assert (frame["mean"] < frame["mean_ci_upper"]).all()
    wide = results.get_prediction(births).summary_frame(alpha=0.01)
    assert (wide["mean_ci_lower"] < frame["mean_ci_lower"]).all()
    assert (wide["mean_ci_upper"] > frame["mean_ci_upper"]).all()
    # Quantiles of one 0/1 observation: 0 below 1 - P(1), 1 above.
    for alpha in (0.05, 0.4, 0.9):
        obs = results.get_prediction(births).summary_frame(alpha)
        np.testing.assert_array_equal(obs["obs_ci_lower"], (1 - obs["mean"] < alpha / 2).astype(float))
        np.testing.assert_array_equal(obs["obs_ci_upper"], (1 - obs["mean"] < 1 - alpha / 2).astype(float))


def test_blocks_of_rows_make_no_difference(enumerated, births, monkeypatch):
    whole = enumerated.get_prediction(births).summary_frame()
    monkeypatch.setattr("pyrjsel.selection.results.prediction.CACHED", 4000 * 7)
    # Rounding of matrix products of other shapes.
    pd.testing.assert_frame_equal(enumerated.get_prediction(births).summary_frame(), whole, rtol=1e-12)


def test_number_of_draws(enumerated, walked, births):
    usual = enumerated.get_prediction(births)
    assert len(usual.coefficients) == 4000
    pd.testing.assert_series_equal(enumerated.predict(births, draws=4000), usual.mean())
    for which in ("bma", "hpm"):
        found = enumerated.get_prediction(births, which, draws=50)
        assert len(found.coefficients) == 50
        pd.testing.assert_series_equal(enumerated.predict(births, which, draws=50), found.mean())
        # Errors of 50 draws are those of 4,000 times nine: at least a fifth of a standard error somewhere.
        gap = (found.mean() - enumerated.predict(births, which)).abs()
        assert (gap / usual.summary_frame()["mean_se"]).max() > 0.2 / np.sqrt(50)
    alone = enumerated.get_prediction(births.head(2), draws=1).summary_frame()
    assert (alone["mean"] == alone["mean_ci_lower"]).all()
    assert (alone["mean"] == alone["mean_ci_upper"]).all()
    assert alone["mean_se"].isna().all()
    # The chains have kept 5,000.
    assert [len(walked.get_prediction(births, draws=draws).coefficients) for draws in (300, 2000, 9000)] == [
        313,
        2500,
        5000,
    ]


def test_error_of_predictions(births):
    """What the docstring says: about mean_se / sqrt(draws), or less, between fits that differ by their seed.

    Sixteen fits know a standard deviation to 18 %, and the mean over all rows, which go together, no better.
    """
    fits = [rj.logit(FORMULA, births).fit(rng=seed, progress=False) for seed in range(16)]
    sd = fits[0].get_prediction().summary_frame()["mean_se"]
    for draws in (250, 4000):
        errors = np.std([fit.predict(draws=draws) for fit in fits], axis=0, ddof=1)
        assert 0.2 < (errors / sd).mean() * np.sqrt(draws) < 1.5


# --- the rows ---------------------------------------------------------------------------------------


def test_rows_of_the_fit(results, births):
    pd.testing.assert_series_equal(results.predict(), results.predict(births))
    assert results.predict().name == "low"


def test_index_and_order_of_new_rows(enumerated, births):
    whole = enumerated.predict(births)
    some = births.sample(n=50, random_state=1)
    # One row predicted alone or among others: rounding of the matrix product.
    pd.testing.assert_series_equal(enumerated.predict(some), whole.loc[some.index], rtol=1e-12)
    labelled = some.set_index(pd.Index([f"patient {k}" for k in range(50)], name="who"))
    found = enumerated.predict(labelled)
    pd.testing.assert_index_equal(found.index, labelled.index)
    np.testing.assert_allclose(found.to_numpy(), whole.loc[some.index].to_numpy(), rtol=1e-12)
    twice = births.iloc[[4, 4, 2]]
    assert list(enumerated.predict(twice).index) == list(twice.index)
    one = enumerated.predict(births.iloc[[7]])
    assert one.iloc[0] == pytest.approx(whole.iloc[7], rel=1e-12)
    assert enumerated.predict(births.iloc[:0]).empty


def test_only_the_variables_of_the_formula_are_needed(enumerated, births):
    new = births[["smoke", "race", "lwt", "age"]]
    np.testing.assert_allclose(enumerated.predict(new), enumerated.predict(births), rtol=1e-12)


def test_missing_inputs_give_missing_predictions(enumerated, births):
    new = births.astype({"age": float}).iloc[:6].copy()
    new.iloc[1, new.columns.get_loc("age")] = np.nan
    new.iloc[4, new.columns.get_loc("race")] = None
    new.iloc[2, new.columns.get_loc("low")] = np.nan if new["low"].dtype == float else 0  # not an input
    found = enumerated.get_prediction(new).summary_frame()
    assert list(found.isna().any(axis=1)) == [False, True, False, False, True, False]
    assert found.iloc[[1, 4]].isna().all(axis=None)
    np.testing.assert_allclose(
        found["mean"].dropna(), enumerated.predict(births.iloc[[0, 2, 3, 5]]), rtol=1e-12
    )
    assert enumerated.predict(new.assign(age=np.nan)).isna().all()


def test_levels_are_matched_by_name(enumerated, births):
    whole = enumerated.predict(births)
    dresses = {
        "text": births.assign(race=births["race"].astype(str)),
        "another order": births.assign(
            race=births["race"].cat.reorder_categories(["other", "black", "white"])
        ),
        "more levels": births.assign(race=births["race"].cat.add_categories(["unknown"])),
        "lists": {name: list(births[name]) for name in ("race", "age", "lwt", "smoke")},
        "nullable": births.convert_dtypes(),
    }
    for name, new in dresses.items():
        found = enumerated.predict(new)
        np.testing.assert_allclose(found, whole, rtol=1e-12, err_msg=name)
    # A part of the rows, in which one level only is left.
    white = births[births["race"] == "white"]
    part = white.assign(race=white["race"].cat.remove_unused_categories())
    np.testing.assert_allclose(enumerated.predict(part), whole[white.index], rtol=1e-12)


def test_transforms_remember_the_fit(births):
    """Splines, scales and centres are those of the fit, not of the new rows."""
    formula = "low ~ bs(age, df=4) + standardize(lwt) + center(ptl) + smoke:race"
    results = rj.logit(formula, births).fit(rng=1, progress=False)
    whole = results.predict(births)
    part = births.iloc[20:40]
    np.testing.assert_allclose(results.predict(part), whole.iloc[20:40], rtol=1e-12)


def test_arrays(births):
    x = births[["age", "lwt"]].to_numpy(dtype=float)
    results = rj.LogitSelection(births["low"].to_numpy(), x).fit(rng=1, progress=False)
    whole = results.predict()
    np.testing.assert_allclose(results.predict(x[:5]), whole.iloc[:5], rtol=1e-12)
    np.testing.assert_allclose(results.predict(pd.DataFrame(x, columns=["x1", "x2"])), whole, rtol=1e-12)


# --- the offset -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shifted(births):
    return births.assign(o=np.linspace(-1, 1, len(births)), w=1.0 + births["smoke"])


def test_offset_by_name_is_taken_from_new_rows(shifted):
    results = rj.logit("low ~ lwt", shifted, offset="o", weights="w").fit(rng=1, progress=False)
    base = results.predict(shifted)
    pd.testing.assert_series_equal(results.predict(), base)
    moved = results.predict(shifted.assign(o=shifted["o"] + 2))
    assert (moved > base + 0.1).all()
    given = results.predict(shifted.drop(columns=["o", "w"]), offset=shifted["o"] + 2)  # no weights needed
    pd.testing.assert_series_equal(given, moved)
    one_missing = shifted["o"].where(shifted.index != shifted.index[3])
    found = results.predict(shifted.assign(o=one_missing))
    assert list(found.index[found.isna()]) == [shifted.index[3]]
    with pytest.raises(rj.UnknownNameError, match="'o'"):
        results.predict(shifted.drop(columns="o"))


def test_offset_by_value_is_asked_for(shifted):
    results = rj.logit("low ~ lwt", shifted, offset=shifted["o"].to_numpy()).fit(rng=1, progress=False)
    base = results.predict()
    pd.testing.assert_series_equal(results.predict(shifted, offset=shifted["o"].to_numpy()), base)
    with pytest.raises(rj.DataError, match="predict needs 'offset'"):
        results.predict(shifted)
    with pytest.raises(rj.DataError, match="get_prediction needs 'offset'"):
        results.get_prediction(shifted)


def test_offset_without_one_in_the_fit(enumerated, births):
    """Adds to the linear predictor of every draw."""
    zero = enumerated.predict(births, offset=np.zeros(len(births)))
    pd.testing.assert_series_equal(zero, enumerated.predict(births))
    assert (enumerated.predict(births, offset=np.full(len(births), 1e3)) == 1).all()
    assert (enumerated.predict(births, offset=np.full(len(births), -1e3)) == 0).all()


def test_offset_shifts_the_intercept_alone(births):
    """A constant offset changes predictions by nothing when new rows have it too, under a flat intercept."""
    prior = rj.GPrior("n", intercept="flat")
    plain = rj.logit("low ~ lwt + smoke", births, coef_prior=prior).fit(rng=1, progress=False)
    moved = rj.logit("low ~ lwt + smoke", births, coef_prior=prior, offset=np.full(189, 3.0)).fit(
        rng=1, progress=False
    )
    # The same random numbers; Newton's method ends at slightly different points, so that a few of the 4,000
    # resampled draws are others.
    np.testing.assert_allclose(moved.predict(), plain.predict(), atol=1e-3)
    assert moved.params["Intercept"] == pytest.approx(plain.params["Intercept"] - 3, abs=1e-6)


def test_no_warning_at_extremes(enumerated, births):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far = enumerated.predict(births.assign(lwt=1e6, age=-1e6))
    assert far.between(0, 1).all()
