"""Expected responses of models with log link, which need not have posterior means."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pyrjsel as rj
from pyrjsel.report.errors import UNRELIABLE, pareto_shapes

MODELS = {"negbin": (rj.negbin, rj.NegbinSelection), "gamma": (rj.gamma, rj.GammaSelection)}


@pytest.fixture(scope="module")
def rare():
    """Counts of which four in a hundred are above zero, and large."""
    rng = np.random.default_rng(204)
    x, y = rng.normal(size=100), np.zeros(100, int)
    y[:4] = rng.poisson(20, 4) + 1
    return pd.DataFrame({"x": x, "y": y})


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    n = 80
    frame = pd.DataFrame({"x": rng.normal(3, 2, n), "z": rng.normal(size=n), "o": rng.normal(size=n)})
    frame["w"] = rng.integers(1, 4, n)
    frame["y"] = rng.poisson(np.exp(1 + 0.2 * frame["x"] + frame["o"])) + 1.0
    return frame


@pytest.mark.parametrize("kind", MODELS)
def test_default_prior_of_intercepts(table, kind):
    """Normal(log(sum w y / sum w exp(offset)), 2.5) at the mean of the columns, however data are given."""
    formula, arrays = MODELS[kind]
    whole, table = table, table.assign(y=table["y"] + (table["w"] == 3) / 3)  # means of w counts
    y, w, o = (table[name] for name in ("y", "w", "o"))
    level = np.log((w * y).sum() / (w * np.exp(o)).sum())
    given = rj.Normal(2.5, mean=level)
    want = formula(
        "y ~ x + z", table, weights="w", offset="o", coef_prior=rj.GPrior("n", "null", given)
    ).regression.prior
    chunks = [table[:30], table[30:]]
    models = [
        formula("y ~ x + z", table, weights="w", offset="o"),
        formula("y ~ x + z", chunks, weights="w", offset="o"),
        arrays(y, table[["x", "z"]], weights=w, offset=o),
    ]
    for model in models:
        prior = model.regression.prior
        assert not prior.flat
        assert prior.shift[0] / prior.precision[0, 0] == pytest.approx(level, rel=1e-12)
        assert prior.precision[0, 0] == pytest.approx(2.5**-2, rel=1e-12)
        # Chunks find the null model and its size by another search, which stops at some 1e-7 of them.
        np.testing.assert_allclose(prior.precision, want.precision, rtol=1e-6)
    # Without weights and offset it is the log mean; normal priors have it at the mean of the columns too.
    for standardize in (True, False):
        prior = formula(
            "y ~ x + z", whole, coef_prior=rj.Normal(1.0, standardize=standardize)
        ).regression.prior
        assert prior.shift[0] * 2.5**2 == pytest.approx(np.log(whole["y"].mean()), rel=1e-12)
        np.testing.assert_array_equal(prior.precision[0, 1:], 0.0)
        scale = np.ones(2) if standardize else table[["x", "z"]].std(ddof=0).to_numpy()
        np.testing.assert_allclose(np.diag(prior.precision)[1:], scale**-2.0)
        assert prior.log_weights == pytest.approx(np.log(np.diag(prior.precision)))
    for coef_prior in (rj.HyperGN(), rj.GPrior("n", "null", "flat"), rj.EmpiricalBayes("global", "null")):
        assert formula("y ~ x + z", whole, coef_prior=coef_prior).regression.prior.flat


def test_other_intercepts_stay_flat(table):
    """Of Poisson models, and of known sizes, for which means exist above 1 / n."""
    for model in (
        rj.poisson("y ~ x + z", table),
        rj.negbin("y ~ x + z", table, theta=2.0),
        rj.gamma("y ~ x + z", table, shape=2.0),
    ):
        assert model.regression.prior.flat


@pytest.mark.parametrize("prior", [None, rj.GPrior("n", "null", "flat"), rj.HyperGN()], ids=repr)
def test_heavy_tails_have_no_mean(rare, prior):
    """Means by seed were 2e6, 4e5 and 8e3 for a mean count of .96."""
    results = rj.negbin("y ~ x", rare, coef_prior=prior).fit(rng=1)
    with pytest.warns(rj.ConvergenceWarning, match=r"of \d+ of 100 rows have no posterior mean.*'median' of"):
        predicted = results.predict()
    # Shapes of the rows are alike and near .7 under the default prior, above it under the others.
    assert predicted.isna().mean() > 0.3
    some = rare[predicted.isna()][:1]
    with pytest.warns(rj.ConvergenceWarning, match="of 1 of 2 rows have no posterior mean"):
        frame = results.get_prediction(pd.concat([some.assign(x=np.nan), some])).summary_frame()
    assert frame.iloc[0].isna().all()
    assert frame.columns[frame.iloc[1].isna()].tolist() == ["mean", "mean_se"]
    assert 0.0 < frame["median"].iloc[1] < 10.0
    with pytest.warns(rj.ConvergenceWarning, match="have no posterior mean"):
        parts = list(results.get_prediction([some]).summary_frame())
    assert parts[0].columns.tolist() == frame.columns.tolist()


def test_held_out_errors_have_no_mean(rare):
    with pytest.warns(rj.ConvergenceWarning, match="have no posterior mean"):
        cv = rj.negbin("y ~ x", rare).cross_validate(2, which="bma", rng=1)
    assert cv.scores["rmse"].isna().all()
    assert cv.scores["log_score"].notna().all()


@pytest.mark.parametrize("family", [rj.poisson, rj.negbin, rj.gamma])
def test_ordinary_responses_have_means(table, family):
    results = family("y ~ x + z", table, offset="o").fit(rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = results.get_prediction().summary_frame()
    assert frame.notna().all(axis=None)
    # A mean and a median of a nearly normal log mean with a deviation of some tenths.
    np.testing.assert_allclose(frame["mean"], frame["median"], rtol=0.1)


def test_a_small_second_mode_is_no_heavy_tail():
    """A hundredth of the draws at twice the mean: the shape of their tail is large, their average exact."""
    results = rj.poisson("y ~ x", pd.DataFrame({"x": [0.0, 1, 2, 3] * 5, "y": [1, 2, 3, 4] * 5})).fit(rng=1)
    made = results.get_prediction(pd.DataFrame({"x": [0.0]}))
    intercepts = np.where(np.arange(4000) % 100 == 0, np.log(2.0), 1e-6 * np.sin(np.arange(4000)))
    object.__setattr__(made, "coefficients", np.column_stack([intercepts, np.zeros(4000)]))
    assert made.mean().iloc[0] == pytest.approx(1.01, rel=1e-6)


def test_rare_draws_of_larger_means_leave_the_average(table):
    """2 % of draws are those of a model that predicts more: the tail looks heavy, the average is precise."""
    made = rj.poisson("y ~ x", table, weights="w", offset="o").fit(rng=1).get_prediction(table[:1])
    most = stats.norm.ppf((np.arange(3900) + 0.5) / 3900) / 10
    few = 1.0 + 0.4 * stats.norm.ppf((np.arange(100) + 0.5) / 100)
    mixed = np.concatenate([most, few])
    endless = -1.2 * np.log((np.arange(4000) + 0.5) / 4000)  # logarithms of Pareto draws without a mean
    for eta, found in ((mixed, True), (endless, False)):
        assert pareto_shapes(np.exp(eta)[None])[0] > UNRELIABLE
        draws = replace(made, coefficients=np.column_stack([eta - table["o"].iloc[0], np.zeros(4000)]))
        if found:
            assert draws.mean().iloc[0] == pytest.approx(np.exp(eta).mean(), rel=1e-9)
            assert draws.summary_frame()["mean"].iloc[0] == pytest.approx(np.exp(eta).mean(), rel=1e-9)
        else:
            with pytest.warns(rj.ConvergenceWarning, match="no posterior mean"):
                assert draws.mean().isna().all()
