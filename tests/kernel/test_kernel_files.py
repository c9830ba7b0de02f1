"""Predictions after loading without rows, and which of them are extrapolated."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

RUN = {"progress": False, "rng": 1}
# Some of the rows that are predicted are far away.
pytestmark = pytest.mark.filterwarnings("ignore::pyrjsel.ExtrapolationWarning")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    x = rng.uniform(-4, 4, 40)
    return pd.DataFrame(
        {"x": x, "z": rng.standard_normal(40), "y": np.sin(x) + 0.1 * rng.standard_normal(40)}
    )


def fits(frame):
    model = rj.kernel_regression("y ~ x + z", frame, width=[0.5, 1.0], mean_kernels=4.0)
    one = rj.kernel_regression("y ~ x + z", frame, width=0.8, mean_kernels=4.0)
    return {
        "smc": model.fit(particles=60, evidence="stream", **RUN),
        "mcmc": one.fit(sampler="mcmc", draws=150, chains=2, **RUN),
    }


@pytest.fixture(scope="module", params=["smc", "mcmc"])
def results(request, frame):
    with warnings.catch_warnings():
        # Few particles and draws.
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return fits(frame)[request.param]


NEW = pd.DataFrame({"x": [0.0, 3.0, 40.0, np.nan], "z": [0.1, -0.5, 0.0, 0.0]})


def test_loaded_results_predict_without_rows(results, tmp_path):
    results.save(tmp_path / "a.rjs")
    loaded = rj.load(tmp_path / "a.rjs")
    wanted = results.get_prediction(NEW).summary_frame()
    found = loaded.get_prediction(NEW).summary_frame()
    pd.testing.assert_frame_equal(found, wanted, check_exact=True)
    pd.testing.assert_frame_equal(
        loaded.centres.reset_index(drop=True), results.centres.reset_index(drop=True), check_exact=True
    )
    with pytest.raises(rj.NotAvailableError, match="needs the training data"):
        loaded.predict()
    loaded.save(tmp_path / "b.rjs")
    again = rj.load(tmp_path / "b.rjs")
    pd.testing.assert_frame_equal(again.get_prediction(NEW).summary_frame(), wanted, check_exact=True)


def test_centres_are_left_out_on_request(results, tmp_path, frame):
    results.save(tmp_path / "a.rjs", data=False)
    loaded = rj.load(tmp_path / "a.rjs")
    with pytest.raises(rj.NotAvailableError, match=r"rj.load\(path, data=...\)"):
        loaded.predict(NEW)
    assert loaded.centres.columns.tolist() == ["occupancy"]
    whole = rj.load(tmp_path / "a.rjs", data=frame)
    pd.testing.assert_series_equal(whole.predict(NEW), results.predict(NEW))


def test_predictions_far_from_all_rows_are_extrapolated(results):
    found = results.get_prediction(NEW).summary_frame()
    assert found["extrapolated"].tolist() == [False, False, True, False]
    assert np.isnan(found["mean"].iloc[3])
    # In standardised inputs, a width of about 1: three widths beyond the last row.
    edge = results.model.data.X[:, 0].max()
    sd = results.model.data.X[:, 0].std(ddof=1)
    ends = pd.DataFrame({"x": edge + np.array([0.1, 6.0]) * sd, "z": results.model.data.X[:, 1].mean()})
    assert results.get_prediction(ends).summary_frame()["extrapolated"].tolist() == [False, True]


@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
def test_rows_that_come_later_replace_what_a_file_had(frame, tmp_path):
    first = rj.kernel_regression("y ~ x + z", frame.head(30), width=0.8).fit(particles=40, **RUN)
    first.save(tmp_path / "a.rjs")
    loaded = rj.load(tmp_path / "a.rjs", data=frame.head(30))
    loaded.update(frame.tail(10))
    first.update(frame.tail(10))
    pd.testing.assert_series_equal(loaded.predict(NEW), first.predict(NEW))


def test_data_must_be_a_flag(results, tmp_path):
    with pytest.raises(rj.ParameterError, match="'data' parameter"):
        results.save(tmp_path / "a.rjs", data="yes")
