"""Simulated responses and posterior predictive checks."""

import numpy as np
import pandas as pd
import pytest
from births_fits import FORMULA
from scipy import stats
from scipy.special import expit
from threadpoolctl import threadpool_info, threadpool_limits

import pyrjsel as rj
from pyrjsel.families import Gaussian
from pyrjsel.selection.results.checks.predictive import simulated_responses
from pyrjsel.selection.results.prediction import Prediction

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def enumerated(births):
    return rj.logit(FORMULA, births).fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def walked(births):
    return rj.logit(FORMULA, births).fit(sampler="rjmcmc", draws=2500, chains=2, rng=2, progress=False)


def count_frame(n=80, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "log_time": rng.normal(size=n)})
    return frame.assign(events=rng.poisson(np.exp(0.5 + 0.4 * frame["x"] + frame["log_time"])))


def trial_frame(n=40, seed=4, spread=0.0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "trials": rng.integers(5, 20, n)})
    eta = -0.3 + 0.8 * frame["x"] + spread * rng.normal(size=n)
    return frame.assign(share=rng.binomial(frame["trials"], expit(eta)) / frame["trials"])


@pytest.fixture(scope="module")
def counts():
    return rj.poisson("events ~ x + z", count_frame(), offset="log_time").fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def trials():
    return rj.logit("share ~ x + z", trial_frame(), weights="trials").fit(rng=1, progress=False)


# --- simulated responses ----------------------------------------------------------------------------


def test_shape_and_labels(results, births):
    found = results.posterior_predictive(draws=50)
    assert found.shape == (189, 50)
    pd.testing.assert_index_equal(found.index, births.index)
    assert found.columns.name == "draw"
    assert np.isin(found.to_numpy(), [0.0, 1.0]).all()


def test_means_are_the_predictions(results):
    """Shares of 20,000 simulated outcomes, at 7 binomial standard errors: false alarms below 1e-9 in all."""
    found = results.posterior_predictive(draws=20_000, rng=1)
    p = results.predict()
    assert (np.abs(found.mean(axis=1) - p) < 7 * np.sqrt(p * (1 - p) / 20_000)).all()


def test_a_draw_has_one_set_of_coefficients(enumerated, births):
    """The variance of the number of events has two parts, of outcomes and of coefficients.

    Estimates of a variance from 20,000 draws have a relative error of 1 %, and 7 of these are allowed; half
    of the variance would be missing if each row had coefficients of its own.
    """
    x = enumerated.model.data.X
    b, _ = enumerated._averaged
    p = expit(b[:, :1] + b[:, 1:] @ x.T)
    within, between = (p * (1 - p)).sum(axis=1).mean(), p.sum(axis=1).var()
    assert between > 0.5 * within
    total = enumerated.posterior_predictive(draws=20_000, rng=2).sum()
    assert total.var() == pytest.approx(within + between, rel=0.07)


def test_trials(trials):
    found = trials.posterior_predictive(draws=20_000, rng=1)
    n = trial_frame()["trials"].to_numpy()[:, None]
    successes = found.to_numpy() * n
    np.testing.assert_allclose(successes, np.round(successes), atol=1e-9)
    assert found.to_numpy().max() <= 1
    # A proportion of n trials varies by p (1 - p) / n and what the posterior adds: far below p (1 - p).
    p = trials.predict().to_numpy()
    assert (found.var(axis=1) < 2.5 * p * (1 - p) / n[:, 0]).all()
    assert (found.var(axis=1) > 0.9 * p * (1 - p) / n[:, 0]).all()


def test_counts_with_an_offset(counts):
    """Means at 7 standard errors, whole numbers."""
    found = counts.posterior_predictive(draws=20_000, rng=1)
    assert (found == np.floor(found)).all(axis=None)
    error = found.std(axis=1) / np.sqrt(20_000)
    assert (np.abs(found.mean(axis=1) - counts.predict()) < 7 * error).all()


def test_same_on_every_call_unless_told_otherwise(results, births):
    first = results.posterior_predictive(draws=20)
    pd.testing.assert_frame_equal(first, results.posterior_predictive(births, draws=20))
    pd.testing.assert_frame_equal(
        results.posterior_predictive(draws=20, rng=5),
        results.posterior_predictive(draws=20, rng=np.random.default_rng(5)),
    )
    assert not first.equals(results.posterior_predictive(draws=20, rng=5))


def test_single_models(enumerated, births):
    """The best model has no terms: all rows have one law."""
    assert enumerated.best() == ()
    found = enumerated.posterior_predictive(which="hpm", draws=4000, rng=1)
    # 189 shares with standard error 0.0073 each, at 6 of these: false alarms below 1e-6.
    assert (np.abs(found.mean(axis=1) - 59 / 189) < 6 * 0.0074 + 0.005).all()
    same = enumerated.posterior_predictive(births, "mpm", draws=4000, rng=1)
    pd.testing.assert_frame_equal(found, same)


def test_more_draws_than_coefficients_use_each_as_often(enumerated):
    b = np.arange(3.0)[:, None] * 5.0 - 5.0  # three draws of the intercept alone
    prediction = Prediction(
        np.empty((1, 0)), np.zeros(1), pd.RangeIndex(1), b, enumerated.model.regression.family, "y"
    )
    blocks = list(prediction.simulate(np.arange(1), np.ones(1), 300, np.random.default_rng(1)))
    means = np.concatenate([mean for _, mean, _ in blocks], axis=1)
    assert sorted(np.unique(means, return_counts=True)[1]) == [100, 100, 100]


def test_blocks_do_not_lose_draws(enumerated, monkeypatch):
    monkeypatch.setattr("pyrjsel.selection.results.prediction.BLOCK", 189 * 7)
    found = enumerated.posterior_predictive(draws=50)
    assert not found.isna().any(axis=None)
    assert 0.2 < found.to_numpy().mean() < 0.45
    assert found.nunique().min() == 2


@pytest.mark.parametrize("name", ["enumerated", "trials"])
def test_parts_of_blocks_have_the_same_draws(name, request, monkeypatch):
    results = request.getfixturevalue(name)
    whole, checks = results.posterior_predictive(draws=50), results.check(draws=50)
    monkeypatch.setattr("pyrjsel.selection.results.prediction.CACHED", 50 * 11)  # 11 rows in each
    pd.testing.assert_frame_equal(whole, results.posterior_predictive(draws=50))
    pd.testing.assert_frame_equal(checks, results.check(draws=50))


def test_rows_without_inputs_or_weight_are_missing(trials):
    new = trial_frame().iloc[:6].set_axis(list("abcdef"))
    new.loc["b", "x"] = np.nan
    new["trials"] = new["trials"].astype(float)
    new.loc["c", "trials"] = np.nan
    new.loc["d", "trials"] = 0
    found = trials.posterior_predictive(new, draws=5)
    assert list(found.index) == list("abcdef")
    assert list(found.index[found.isna().all(axis=1)]) == list("bcd")
    assert found.drop(list("bcd")).notna().all(axis=None)


def test_weights_of_new_rows(births):
    frame = trial_frame()
    array = rj.logit("share ~ x + z", frame.drop(columns="trials"), weights=frame["trials"]).fit(
        rng=1, progress=False
    )
    named = rj.logit("share ~ x + z", frame, weights="trials").fit(rng=1, progress=False)
    wanted = named.posterior_predictive(frame, draws=10, rng=1)
    found = array.posterior_predictive(frame, draws=10, rng=1, weights=frame["trials"])
    pd.testing.assert_frame_equal(found, wanted)
    with pytest.raises(rj.DataError, match="array as weights: posterior_predictive needs 'weights'"):
        array.posterior_predictive(frame)
    with pytest.raises(rj.DataError, match="'weights' parameter of posterior_predictive goes with new rows"):
        array.posterior_predictive(weights=frame["trials"])
    with pytest.raises(rj.UnknownNameError, match=r"'trials' as 'weights'"):
        named.posterior_predictive(frame[["x", "z"]])
    with pytest.raises(rj.DataError, match=r"'weights' of posterior.*non-negative\. Got -1"):
        named.posterior_predictive(frame.assign(trials=-1))
    # Single outcomes of new rows, for who asks for them; a fit without weights takes trials all the same.
    single = named.posterior_predictive(frame, draws=10, weights=np.ones(40))
    assert np.isin(single.to_numpy(), [0.0, 1.0]).all()
    plain = rj.logit(FORMULA, births).fit(rng=1, progress=False)
    some = plain.posterior_predictive(births.iloc[:3], draws=200, weights=np.full(3, 4))
    assert set(np.unique(some)) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert np.unique(some).size > 2


def test_trials_that_are_not_whole():
    frame = trial_frame().assign(trials=lambda f: f["trials"] + 0.5)
    model = rj.logit("share ~ x + z", frame, weights="trials").fit(rng=1, progress=False)
    with pytest.raises(rj.DataError, match="whole numbers of trials"):
        model.posterior_predictive()
    with pytest.raises(rj.DataError, match="whole numbers of trials"):
        model.check()


def test_variance_goes_with_its_draw():
    """Error variances belong to coefficient vectors: here the draw says which of two it is."""
    b = np.array([[0.0], [100.0]])
    prediction = Prediction(
        np.empty((3, 0)),
        np.zeros(3),
        pd.RangeIndex(3),
        b,
        Gaussian(),
        "y",
        {"variance": np.array([1.0, 400.0])},
    )
    weights = np.array([1.0, 1.0, 4.0])
    found = simulated_responses(prediction, weights, 4000, np.random.default_rng(1)).to_numpy()
    first = found[0] < 30  # 3.5 of the larger standard deviations and 30 of the smaller
    assert first.sum() == pytest.approx(2000, abs=4)
    # A standard deviation from 2,000 draws errs by 1.6 %; six of these are 10 %.
    for row, scale in enumerate([1.0, 1.0, 0.5]):
        assert found[row][first].std() == pytest.approx(scale, rel=0.1)
        assert found[row][~first].std() == pytest.approx(20 * scale, rel=0.1)
    y = np.array([0.0, 100.0, 50.0])
    density = prediction.log_density(y, weights)
    wanted = [
        np.mean([stats.norm.pdf(v, 0, np.sqrt(1 / w)), stats.norm.pdf(v, 100, 20 / np.sqrt(w))])
        for v, w in zip(y, weights, strict=True)
    ]
    np.testing.assert_allclose(np.exp(density), wanted, rtol=1e-12)


# --- checks -----------------------------------------------------------------------------------------


def test_table_is_that_of_simulated_responses(results, births):
    """The same stream gives the same responses; everything in the table follows from them."""
    functions = {"mean": np.mean, "first": lambda y: y[:20].sum()}
    found = results.check(functions, draws=400, rng=7)
    assert list(found.columns) == ["observed", "mean", "sd", "ci_lower", "ci_upper", "p_value"]
    assert list(found.index) == ["mean", "first"]
    simulated = results.posterior_predictive(draws=400, rng=7)
    for name, function in functions.items():
        values = np.array([function(y) for y in simulated.to_numpy().T])
        seen = function(births["low"].to_numpy())
        above = np.mean(values > seen) + np.mean(values == seen) / 2
        wanted = [seen, values.mean(), values.std(ddof=1), *np.quantile(values, [0.025, 0.975])]
        np.testing.assert_allclose(found.loc[name], [*wanted, 2 * min(above, 1 - above)], rtol=1e-12)


def test_discrepancies_meet_the_coefficients_of_their_draw(enumerated, births):
    """A function of responses and means: both responses of a draw are held against its own means."""
    y = births["low"].to_numpy(float)
    seen = []

    def gap(response, mean):
        seen.append((response.copy(), mean.copy()))
        return response @ mean

    found = enumerated.check({"gap": gap}, draws=60, rng=3)
    assert len(seen) == 120
    replicated, observed = seen[0::2], seen[1::2]
    for (one, mean), (two, again) in zip(replicated, observed, strict=True):
        np.testing.assert_array_equal(mean, again)
        np.testing.assert_array_equal(two, y)
        assert np.isin(one, [0, 1]).all()
    a = np.array([one @ mean for one, mean in replicated])
    b = np.array([two @ mean for two, mean in observed])
    # Under the model without terms all rows have the same mean, and equal counts of cases are ties.
    above = np.mean(a > b) + 0.5 * np.mean(a == b)
    assert found.loc["gap", "observed"] == pytest.approx(b.mean())
    assert found.loc["gap", "p_value"] == pytest.approx(2 * min(above, 1 - above))


def test_defaults(enumerated, trials, counts):
    assert list(enumerated.check().index) == ["mean", "brier", "calibration"]
    assert list(trials.check().index) == ["mean", "brier", "calibration", "pearson"]
    assert list(counts.check().index) == ["mean", "dispersion_index", "zeros", "max"]
    for each in (enumerated, trials, counts):
        table = each.check()
        assert table["p_value"].between(0.02, 1).all()  # the data are from the model
        assert (table["ci_lower"] <= table["mean"]).all()
        pd.testing.assert_frame_equal(table, each.check())


def test_counts_that_are_too_dispersed():
    """Negative binomial counts: variance 1 + mean / 2 times the mean, more zeros than in Poisson ones."""
    rng = np.random.default_rng(8)
    frame = count_frame(200)
    rate = np.exp(0.5 + 0.4 * frame["x"] + frame["log_time"])
    frame["events"] = rng.poisson(rate * rng.gamma(2.0, 0.5, 200))
    table = rj.poisson("events ~ x + z", frame, offset="log_time").fit(rng=1, progress=False).check()
    assert table.loc["zeros", "p_value"] < 0.01
    assert table.loc["zeros", "observed"] > table.loc["zeros", "ci_upper"]
    assert table.loc["mean", "p_value"] > 0.3  # the intercept sees to that


def test_trials_that_are_too_dispersed():
    frame = trial_frame(spread=1.0)
    fit = rj.logit("share ~ x + z", frame, weights="trials").fit(rng=1, progress=False)
    assert fit.check().loc["pearson", "p_value"] < 0.005


def test_probabilities_that_bend():
    """A quadratic that the formula leaves out shows in the calibration, and not once it is put in."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": (rng.random(400) < expit(-1.0 + x + 0.9 * x**2)).astype(int)})
    fits = [rj.logit(f, frame).fit(rng=1, progress=False) for f in ("y ~ x", "y ~ x + I(x ** 2)")]
    bent, right = (fit.check().loc["calibration", "p_value"] for fit in fits)
    assert bent < 0.005
    assert right > 0.05


def test_rows_of_weight_zero_are_left_out():
    frame = trial_frame()
    more = pd.concat([frame, frame.iloc[:3].assign(trials=0, share=1.0)], ignore_index=True)
    sizes = []
    fit = rj.logit("share ~ x + z", more, weights="trials").fit(rng=1, progress=False)
    fit.check({"size": lambda y: sizes.append(y.size) or 0.0}, draws=5)
    assert set(sizes) == {40}
    assert fit.posterior_predictive(draws=3).isna().all(axis=1).sum() == 3


def test_functions_cannot_change_the_data(enumerated):
    def sort(y):
        y.sort()
        return 0.0

    with pytest.raises(ValueError, match="read-only"):
        enumerated.check({"sort": sort}, draws=5)


def test_predictions_and_checks_have_one_blas_thread(enumerated, monkeypatch):
    family = type(enumerated.model.regression.family)
    seen, plain = [], family.mean

    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    def watched(self, eta):
        seen.append(threads())
        return plain(self, eta)

    monkeypatch.setattr(family, "mean", watched)
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        enumerated.get_prediction().summary_frame()
        enumerated.predict()
        enumerated.check(draws=2, rng=1)
        assert threads() == before
    assert len(seen) >= 3
    assert all(each <= {1} for each in seen)


def test_kinds_of_functions(enumerated):
    class Callable:
        def __call__(self, y, mean):
            return (y - mean).sum()

    functions = {
        "compiled": np.sum,
        "with defaults": lambda y, power=2: np.sum(y**power),
        "any": lambda *args: float(len(args)),
        "object": Callable(),
        "whole": lambda y: int(y.sum()),
        "truth": lambda y: y.sum() > 50,
    }
    table = enumerated.check(functions, draws=20)
    assert table["observed"].to_dict() == pytest.approx(
        {"compiled": 59, "with defaults": 59, "any": 1, "whole": 59, "truth": 1}
        | {"object": table.loc["object", "observed"]}
    )
    assert abs(table.loc["object", "observed"]) < 30


BAD = {
    "draws 1": (lambda r: r.check(draws=1), rj.ParameterError, r"'draws' parameter of check.*\[2, .*Got 1"),
    "draws 0": (
        lambda r: r.posterior_predictive(draws=0),
        rj.ParameterError,
        r"'draws' parameter of posterior_predictive.*\[1, .*Got 0",
    ),
    "rng": (lambda r: r.check(rng="x"), rj.ParameterError, "'rng' parameter of check"),
    "rng of plot": (lambda r: r.plot_check(rng=-1), rj.ParameterError, "'rng' parameter of plot_check"),
    "which": (
        lambda r: r.posterior_predictive(which="best"),
        rj.ParameterError,
        "'which' parameter of posterior_predictive",
    ),
    "list of functions": (lambda r: r.check([np.mean]), rj.ParameterError, "'statistics'.*mapping of names"),
    "no functions": (lambda r: r.check({}), rj.ParameterError, "'statistics'.*mapping of names.*Got {}"),
    "names not text": (lambda r: r.check({1: np.mean}), rj.ParameterError, "'statistics'.*mapping"),
    "no function": (lambda r: r.check({"a": 3}), rj.ParameterError, r"statistics\['a'\].*a function.*Got 3"),
    "three parameters": (
        lambda r: r.check({"a": lambda y, mean, w: 0.0}),
        rj.ParameterError,
        r"statistics\['a'\].*of the responses and their means",
    ),
    "keyword needed": (lambda r: r.check({"a": lambda y, *, k: 0.0}), rj.ParameterError, "a function of"),
    "no parameter": (lambda r: r.check({"a": lambda: 0.0}), rj.ParameterError, "a function of"),
    "not finite": (
        lambda r: r.check({"odds": lambda y: np.float64(np.nan)}),
        rj.ParameterError,
        "statistic 'odds' of check must be a finite number.*Got .*nan",
    ),
    "a vector": (lambda r: r.check({"y": lambda y: y}), rj.ParameterError, "statistic 'y'.*finite number"),
    "nothing": (lambda r: r.check({"y": lambda y: None}), rj.ParameterError, "statistic 'y'.*Got None"),
    "unknown statistic": (
        lambda r: r.plot_check("brierr"),
        rj.UnknownNameError,
        "plot_check got an unknown statistic 'brierr'.*'brier'",
    ),
    "no statistic": (lambda r: r.plot_check(3), rj.ParameterError, "'statistic' parameter of plot_check"),
    "ax": (lambda r: r.plot_check(ax=3), rj.ParameterError, "'ax' parameter of plot_check"),
    "missing column": (
        lambda r: r.posterior_predictive(pd.DataFrame({"age": [3]})),
        rj.UnknownNameError,
        "needs 3 columns that the data do not have: 'lwt', 'race', 'smoke'[.] With .* which='hpm'",
    ),
    "offset without rows": (
        lambda r: r.posterior_predictive(offset=np.zeros(189)),
        rj.DataError,
        "'offset' parameter of posterior_predictive",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_calls(case, enumerated):
    call, kind, pattern = BAD[case]
    with pytest.raises(kind, match=pattern):
        call(enumerated)


# --- plot -------------------------------------------------------------------------------------------


def heights(ax):
    return np.array([bar.get_height() for bar in ax.patches if type(bar).__name__ == "Rectangle"])


def test_plot_of_a_statistic(enumerated):
    ax = enumerated.plot_check("mean", draws=300)
    assert ax.get_xlabel() == "mean"
    assert heights(ax).sum() == 300
    line = ax.lines[0]
    assert line.get_xdata()[0] == pytest.approx(59 / 189)
    table = enumerated.check(draws=300)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["simulated", f"data (p = {table.loc['mean', 'p_value']:.3f})"]
    plt.close(ax.figure)


def test_plot_of_a_discrepancy(enumerated):
    ax = enumerated.plot_check("brier", draws=300)
    assert not ax.lines
    assert heights(ax).sum() == 300
    outline = next(patch for patch in ax.patches if type(patch).__name__ == "Polygon")
    low, high = outline.get_xy()[:, 0].min(), outline.get_xy()[:, 0].max()
    seen = enumerated.check(draws=300).loc["brier"]
    assert low < seen["observed"] < high
    plt.close(ax.figure)


def test_plot_of_a_function_in_given_axes(counts):
    fig, ax = plt.subplots()

    def events(y):
        return y.sum()

    assert counts.plot_check(events, ax, draws=100) is ax
    assert ax.get_xlabel() == "events"
    plt.close(fig)
