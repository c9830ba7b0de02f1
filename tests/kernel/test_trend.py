"""A linear trend beside the kernels: predictions by hand, slopes, far from the rows, files and updates."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import pyrjsel as rj

# Few particles may collapse, and some rows are far away; whether they are is not what these tests look at.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::pyrjsel.ExtrapolationWarning"),
]

NEW = pd.DataFrame({"x": [-4.0, 0.3, 9.0, np.nan], "z": [1.0, -0.5, 40.0, 0.0]})
RUN = {"rng": 3, "progress": False}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    x, z = rng.uniform(-5, 5, 60), rng.normal(10.0, 4.0, 60)
    y = 7.0 + 0.8 * x - 0.3 * z + 2.0 * np.exp(-((x - 1.0) ** 2)) + 0.2 * rng.standard_normal(60)
    return pd.DataFrame({"x": x, "z": z, "y": y})


def model(frame, **options):
    usual = {"width": 0.5, "mean_kernels": 2.0, "trend": "linear", "max_kernels": 10}
    return rj.kernel_regression("y ~ x + z", frame, **usual | options)


@pytest.fixture(scope="module", params=["smc", "mcmc"])
def results(request, frame):
    options = {"particles": 60} if request.param == "smc" else {"draws": 50, "chains": 2}
    return model(frame).fit(sampler=request.param, **options, **RUN)


def by_hand(results, new):
    """Conditional means and variances of coefficients, one draw after another, and columns of new points."""
    posterior, scaling = results.posterior, results.model.scaling
    at = (new.to_numpy() - scaling.x_mean) / scaling.x_sd
    x = posterior.x
    for i, k in enumerate(posterior.k):
        centres = x[posterior.centres[i, :k]]

        def columns(rows, centres=centres):
            square = ((rows[:, None] - centres) ** 2).sum(axis=2)
            return np.column_stack([np.ones(len(rows)), rows, np.exp(-square / (2 * 0.5**2))])

        K = columns(x)
        cov = np.linalg.inv(K.T @ K / posterior.sigma2[i] + np.eye(K.shape[1]) / posterior.delta2[i])
        yield cov @ K.T @ posterior.y / posterior.sigma2[i], cov, columns(at)


def test_predictions_are_those_by_hand(results):
    new, scaling = NEW.head(3), results.model.scaling
    mean, variance = [], []
    for coef, cov, columns in by_hand(results, new):
        mean.append(columns @ coef)
        variance.append(np.einsum("ij,jk,ik->i", columns, cov, columns))
    mean, variance, weight = np.array(mean).T, np.array(variance).T, results.posterior.weight
    frame = results.get_prediction(new).summary_frame()
    middle = mean @ weight
    # Inverses here and eigenvalues there differ by the condition of the precision matrix, below 1e6.
    np.testing.assert_allclose(frame["mean"], scaling.y_mean + scaling.y_sd * middle, rtol=1e-7)
    total = (variance + (mean - middle[:, None]) ** 2) @ weight
    np.testing.assert_allclose(frame["mean_se"], scaling.y_sd * np.sqrt(total), rtol=1e-6)
    assert frame["extrapolated"].iloc[2]
    assert np.isnan(results.predict(NEW).iloc[3])


def test_slopes_are_those_by_hand(results):
    scaling, weight = results.model.scaling, results.posterior.weight
    laws = list(by_hand(results, NEW.head(1)))
    mean = np.array([coef[1:3] for coef, _, _ in laws])
    sd = np.sqrt(np.array([np.diag(cov)[1:3] for _, cov, _ in laws]))
    table = results.trend
    unit = scaling.y_sd / scaling.x_sd
    assert table.index.tolist() == ["x", "z"]
    np.testing.assert_allclose(table["mean"], unit * (weight @ mean), rtol=1e-7)
    total = weight @ (sd**2 + mean**2) - (weight @ mean) ** 2
    np.testing.assert_allclose(table["sd"], unit * np.sqrt(total), rtol=1e-5)
    for column, p in (("ci_lower", 0.025), ("ci_upper", 0.975)):
        below = weight @ norm.cdf((table[column].to_numpy() / unit - mean) / sd)
        np.testing.assert_allclose(below, p, atol=1e-6)
    text = str(results.summary())
    assert "Trend: slopes" in text
    assert "linear" in text


def test_far_from_the_rows_predictions_are_the_trend(frame):
    # The data have slopes of 0.8 and -0.3: the fit finds them within five posterior deviations.
    results = model(frame).fit(sampler="mcmc", draws=400, **RUN)
    table = results.trend
    assert ((table["mean"] - [0.8, -0.3]).abs() < 5 * table["sd"]).all()
    far = pd.DataFrame({"x": [100.0, 200.0], "z": [10.0, 10.0]})
    predicted = results.get_prediction(far).summary_frame()
    assert predicted["extrapolated"].all()
    assert np.diff(predicted["mean"])[0] == pytest.approx(100.0 * table.loc["x", "mean"])
    flat = model(frame, trend="constant").fit(sampler="mcmc", draws=400, **RUN)
    assert np.diff(flat.predict(far))[0] == pytest.approx(0.0, abs=1e-9)
    assert results.predict(far).iloc[0] == pytest.approx(7.0 + 80.0 - 3.0, abs=15.0)


def test_evidence_prefers_the_trend_that_is_there(frame):
    linear, constant = (
        model(frame, trend=trend).evidence(particles=60, runs=4, rng=1) for trend in ("linear", "constant")
    )
    gain = linear["log_evidence"].iloc[0] - constant["log_evidence"].iloc[0]
    # Ten kernels do for a plane what two slopes do.
    assert gain > 10.0


@pytest.mark.parametrize("data", [None, True])
def test_files_have_the_trend(results, tmp_path, data):
    results.save(tmp_path / "a.rjs", data=data)
    loaded = rj.load(tmp_path / "a.rjs")
    # Without rows, what is far away is measured from the centres, which may be few beside a trend.
    kept = slice(None) if data else slice(6)
    pd.testing.assert_frame_equal(
        loaded.get_prediction(NEW).summary_frame().iloc[:, kept],
        results.get_prediction(NEW).summary_frame().iloc[:, kept],
        check_exact=True,
    )
    pd.testing.assert_frame_equal(loaded.trend, results.trend, check_exact=True)
    assert str(loaded.summary()) == str(results.summary())
    again = pickle.loads(pickle.dumps(results))
    pd.testing.assert_frame_equal(again.trend, results.trend)


def test_updates_go_on_after_loading(frame, tmp_path):
    first = model(frame.head(45)).fit(particles=40, **RUN)
    first.save(tmp_path / "a.rjs")
    loaded = rj.load(tmp_path / "a.rjs", data=frame.head(45))
    for each in (first, loaded):
        each.update(frame.tail(15))
    pd.testing.assert_series_equal(loaded.predict(NEW), first.predict(NEW), check_exact=True)
    whole = model(frame, standardize=False).fit(particles=40, row_order="given", **RUN)
    part = model(frame.head(45), standardize=False).fit(particles=40, row_order="given", **RUN)
    pd.testing.assert_frame_equal(part.update(frame.tail(15)).trend, whole.trend, check_exact=True)


def test_more_draws_are_those_of_one_longer_run(frame):
    short = model(frame).fit(sampler="mcmc", draws=30, burn_in=50, chains=2, **RUN)
    long = model(frame).fit(sampler="mcmc", draws=50, burn_in=50, chains=2, **RUN)
    np.testing.assert_array_equal(short.extend(20).run.draws.beta, long.run.draws.beta)


def test_a_trend_does_not_depend_on_units(frame):
    wide = frame.assign(x=1e3 * frame["x"] + 5.0, y=10.0 * frame["y"])
    one, other = (model(rows).fit(particles=40, **RUN).trend for rows in (frame, wide))
    # The same random numbers; standardised rows differ by rounding.
    np.testing.assert_allclose(other.loc["x", "mean"], 1e-2 * one.loc["x", "mean"], rtol=1e-4)
    np.testing.assert_allclose(other.loc["z", "mean"], 10.0 * one.loc["z", "mean"], rtol=1e-4)


def test_what_is_no_trend(frame):
    for bad in ("quadratic", True, None, 1):
        with pytest.raises(rj.ParameterError, match="'trend' parameter of KernelRegression must be"):
            model(frame, trend=bad)
    with pytest.raises(rj.ParameterError, match="'trend' parameter of KernelRegression must be"):
        rj.KernelRegression(frame["y"], frame[["x"]], trend="none")
    flat = model(frame, trend="constant").fit(particles=20, **RUN)
    with pytest.raises(rj.NotAvailableError, match="no slopes"):
        _ = flat.trend
    assert "Trend" not in str(flat.summary())
