"""Predictions that average over widths: against sums by hand, after updates, and from files."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from scipy.stats import norm

import pyrjsel as rj

# Few particles may collapse, and some rows are far away; whether they are is not what these tests look at.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::pyrjsel.ExtrapolationWarning"),
]

WIDTHS = [1.2, 1.6, 2.0]
NEW = pd.DataFrame({"x": [-9.0, 0.3, 4.0, 16.0, np.nan]})


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    x = rng.uniform(-10, 10, 40)
    return pd.DataFrame({"x": x, "y": np.sinc(x / np.pi) + 0.4 * rng.standard_normal(40)})


def fit(rows, **options):
    model = rj.kernel_regression("y ~ x", rows, width=WIDTHS, mean_kernels=4.0, standardize=False)
    usual = {"particles": 60, "rng": 3, "row_order": "given", "evidence": "stream", "progress": False}
    return model.fit(**usual | options)


@pytest.fixture(scope="module")
def results(frame):
    return fit(frame)


def test_predictions_are_mixtures_over_widths(results):
    new = NEW.iloc[:4]
    probability = results.widths["posterior"]
    assert np.sort(probability)[1] > 0.05, "one width has it all"
    by_width = {results.width: results.posterior}
    by_width |= {WIDTHS[other.place]: other.posterior for other in results.run.others}
    assert sorted(by_width) == WIDTHS
    laws, weights, noise = [], [], []
    for width in WIDTHS:
        posterior = by_width[width]
        assert posterior.kernel.width == width
        laws.append(posterior.mean_function(new.to_numpy()))
        weights.append(probability[width] * posterior.weight)
        noise.append(posterior.sigma2)
    mean, sd = (np.hstack(each) for each in zip(*laws, strict=True))
    weight, variance = np.concatenate(weights), np.concatenate(noise)
    frame = results.get_prediction(new, width_average=True).summary_frame(0.1)
    np.testing.assert_allclose(frame["mean"], mean @ weight, rtol=1e-12)
    # The law of total variance, where widths differ in the mean.
    total = (sd**2 + mean**2) @ weight - (mean @ weight) ** 2
    np.testing.assert_allclose(frame["mean_se"], np.sqrt(total), rtol=1e-9)
    for name, spread in (("mean_ci", sd), ("obs_ci", np.sqrt(sd**2 + variance))):
        for end, p in (("lower", 0.05), ("upper", 0.95)):
            at = frame[f"{name}_{end}"].to_numpy()[:, None]
            np.testing.assert_allclose(norm.cdf((at - mean) / spread) @ weight, p, atol=1e-6)
    pd.testing.assert_series_equal(
        results.predict(new, width_average=True), frame["mean"].rename("y"), check_exact=True
    )
    alone = results.predict(new)
    np.testing.assert_allclose(alone, laws[WIDTHS.index(results.width)][0] @ results.posterior.weight)
    assert np.abs(alone - frame["mean"]).max() > 1e-3


def test_rows_are_extrapolated_if_more_than_half_say_so(results, monkeypatch):
    far = pd.DataFrame({"x": results.model.data.X.max() + np.array([3.2, 4.5, 5.4, 6.4])})
    for probability, wanted in (
        ([0.4, 0.3, 0.3], [False, False, True, True]),
        ([0.6, 0.3, 0.1], [False, True, True, True]),
        ([0.1, 0.3, 0.6], [False, False, False, True]),
    ):
        weights = np.array(probability)
        monkeypatch.setattr(type(results.run), "width_posterior", lambda _, weights=weights: weights)
        assert results.get_prediction(far, width_average=True).extrapolated.tolist() == wanted


def test_updates_weigh_widths_by_their_predictions(results, frame):
    """All widths at 40 rows are those of one pass, and so are their probabilities."""
    part = fit(frame.head(15)).update(frame.iloc[15:30]).update(frame.iloc[30:])
    # The width that was chosen after 15 rows may be another: the average does not depend on it.
    np.testing.assert_allclose(part.run.width_posterior(), results.widths["posterior"], rtol=1e-9)
    np.testing.assert_allclose(part.widths["posterior"], results.widths["posterior"], rtol=1e-9)
    assert (part.run.widths["posterior"] - results.widths["posterior"]).abs().max() > 1e-3
    pd.testing.assert_series_equal(
        part.predict(NEW, width_average=True), results.predict(NEW, width_average=True), rtol=1e-9
    )


def test_probabilities_after_an_update_begin_with_those_of_tempering(frame):
    results = fit(frame.head(15), evidence="tempering", runs=2)
    np.testing.assert_allclose(results.run.width_posterior(), results.widths["posterior"], rtol=1e-12)
    before = {other.place: other.state.log_evidence for other in results.run.others}
    before[results.run.place] = results.run.state.log_evidence
    results.update(frame.tail(10))
    after = {other.place: other.state.log_evidence for other in results.run.others}
    after[results.run.place] = results.run.state.log_evidence
    gain = np.array([after[place] - before[place] for place in range(3)])
    wanted = softmax(np.log(results.run.widths["posterior"]) + gain)
    np.testing.assert_allclose(results.run.width_posterior(), wanted, rtol=1e-9)
    assert np.isfinite(results.predict(NEW.head(4), width_average=True)).all()


@pytest.mark.parametrize("data", [None, True])
def test_files_have_all_widths(results, tmp_path, data):
    results.save(tmp_path / "a.rjs", data=data)
    loaded = rj.load(tmp_path / "a.rjs")
    loaded.save(tmp_path / "b.rjs")
    wanted = results.get_prediction(NEW, width_average=True).summary_frame()
    for found in (loaded, rj.load(tmp_path / "b.rjs")):
        pd.testing.assert_frame_equal(
            found.get_prediction(NEW, width_average=True).summary_frame(), wanted, check_exact=True
        )


def test_rows_that_come_later_are_taken_by_all_widths(frame, tmp_path):
    first = fit(frame.head(30))
    first.save(tmp_path / "a.rjs")
    loaded = rj.load(tmp_path / "a.rjs", data=frame.head(30))
    for each in (first, loaded):
        each.update(frame.tail(10))
    pd.testing.assert_series_equal(
        loaded.predict(NEW, width_average=True), first.predict(NEW, width_average=True), check_exact=True
    )


def test_centres_of_all_widths_are_left_out_on_request(results, tmp_path):
    results.save(tmp_path / "a.rjs", data=False)
    with pytest.raises(rj.NotAvailableError, match=r"rj.load\(path, data=...\)"):
        rj.load(tmp_path / "a.rjs").predict(NEW, width_average=True)


def test_one_width_is_its_own_average(frame):
    model = rj.kernel_regression("y ~ x", frame, width=1.6, standardize=False)
    for results in (
        model.fit(particles=50, rng=1, progress=False),
        model.fit(sampler="mcmc", draws=300, burn_in=300, rng=1, progress=False),
    ):
        pd.testing.assert_series_equal(results.predict(NEW, width_average=True), results.predict(NEW))


def test_widths_that_are_not_there_cannot_be_averaged_over(frame):
    results = fit(frame.head(10), particles=30)
    lost = results.run.others.pop()
    said = (
        rf"predict cannot average over widths: there are no particles of width '?{WIDTHS[lost.place]:g}'?\."
    )
    with pytest.raises(rj.NotAvailableError, match=said):
        results.predict(NEW, width_average=True)
    assert np.isfinite(results.predict(NEW.head(4))).all()
    with pytest.raises(rj.ParameterError, match="'width_average' parameter of get_prediction"):
        results.get_prediction(NEW, width_average="yes")
