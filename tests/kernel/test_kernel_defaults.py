"""Fits without options: widths, largest numbers of kernels, sweeps after a pass, and warnings."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from kernel_quadrature import quadrature

import pyrjsel as rj
from pyrjsel.kernel.kernels import usual_widths
from pyrjsel.kernel.samplers import smc
from pyrjsel.kernel.samplers.tempering import HOPELESS

RUN = {"progress": False, "n_jobs": 1}
NEW = pd.DataFrame({"x": np.linspace(-1.8, 1.8, 9)})


def quiet_rows(n, seed, function, noise):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, n)
    return pd.DataFrame({"x": x, "y": function(x) + noise * rng.normal(size=n)})


def sine(x):
    return np.sin(2.0 * x)


def fast(n, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 10.0, n)
    return pd.DataFrame({"x": x, "y": np.sin(3.0 * x) + 0.1 * rng.normal(size=n)})


# ---------------------------------------------------------------------- little noise

# Small enough for all sets of centres: rows, seed, function, noise, width.
LITTLE_NOISE = [
    (8, 11, sine, 0.05, 0.6),
    (9, 12, lambda x: np.cos(3.0 * x), 0.03, 0.5),
    # The null model, and sets of three that leave next to nothing, with few models between them.
    (10, 13, sine, 0.02, 0.6),
    (11, 14, np.abs, 0.02, 0.5),
]


def deviations(case, seeds):
    """Deviations from quadrature in posterior deviations (seeds, 11): nine points, kernels and log sigma."""
    *data, width = case
    model = rj.kernel_regression("y ~ x", quiet_rows(*data), width=width)
    exact, found = quadrature(model, NEW.to_numpy()), []
    for seed in range(seeds):
        fit = model.fit(rng=seed, **RUN)
        posterior, log_unit = fit.posterior, np.log(model.scaling.y_sd)
        log_sigma = 0.5 * np.log(posterior.sigma2) @ posterior.weight + log_unit
        values = np.array([*fit.predict(NEW), fit.mean_kernels, log_sigma])
        found.append((values - exact.mean) / exact.sd)
    return np.array(found)


def test_little_noise_is_found():
    """15 rows of a sine: some passes ended at one kernel and a sigma of 0.55, where 0.05 is right."""
    model = rj.kernel_regression("y ~ x", quiet_rows(15, 1501, sine, 0.05), width=0.6)
    for seed in (1, 2):
        fit = model.fit(rng=seed, **RUN)
        # By sums over all sets of up to nine rows 4.37 and 0.054, with deviations of 0.6 and 0.013.
        assert fit.mean_kernels == pytest.approx(4.37, abs=0.2)
        assert fit.sigma["mean"] == pytest.approx(0.054, abs=0.005)


@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore::pyrjsel.ExtrapolationWarning")
@pytest.mark.parametrize("case", LITTLE_NOISE)
def test_fits_of_little_noise_are_right(case):
    """On average over 40 seeds the fit is within 0.1 posterior deviations of the exact means.

    Of 250 independent draws the mean of absolute deviations is 0.05, with an error of 0.006 over 40 seeds:
    0.1 is eight of these away, a false alarm in less than one of a million. Passes alone are off by 0.1 to
    0.8 in the second and third problem.
    """
    off = np.abs(deviations(case, 40)).mean(axis=0)
    print(off.round(3))
    assert off.mean() < 0.1


@pytest.mark.statistical
@pytest.mark.parametrize("case", LITTLE_NOISE)
def test_evidences_of_little_noise_have_honest_errors(case):
    """The root mean square of 40 deviates is at most 1.3.

    Errors allow for eight runs, so that 1 is expected; squares of Student deviates of seven degrees have a
    standard deviation of 2 beside a mean of 1, and 40 of them one of 0.31: 1.69 is exceeded by chance in 2 %
    of other seeds, and these are fixed. With powers chosen by the particles that are weighted it is 2 to 9.
    """
    *data, width = case
    model = rj.kernel_regression("y ~ x", quiet_rows(*data), width=width)
    exact = quadrature(model, NEW.to_numpy()).log_evidence - model.nobs * np.log(model.scaling.y_sd)
    tables = [model.evidence(rng=seed).iloc[0] for seed in range(40)]
    deviates = [(table["log_evidence"] - exact) / table["se"] for table in tables]
    found = float(np.sqrt(np.mean(np.square(deviates))))
    print(f"r.m.s. {found:.2f}")
    assert found < 1.3


def test_a_pass_that_missed_is_said(monkeypatch):
    """An update says that its pass was far from the posterior, and continues from the swept particles."""
    frame = quiet_rows(24, 3, sine, 0.03)
    model = rj.kernel_regression("y ~ x", frame.head(20), width=0.6, standardize=False)
    fit = model.fit(particles=60, rng=1, row_order="given", **RUN)

    def poor(settings, state, settle=smc.settle):
        """Settle as if all particles of the pass had fitted badly."""
        return settle(settings, replace(state, log_marginal=state.log_marginal - 50.0))

    monkeypatch.setattr("pyrjsel.kernel.samplers.smc.settle", poor)
    with pytest.warns(rj.ConvergenceWarning, match=r"pass has missed the posterior: .* by \+(49|5\d)\.\d"):
        fit.update(frame.tail(4), progress=False)
    np.testing.assert_array_equal(fit.run.state.centres, fit.posterior.centres)
    np.testing.assert_allclose(np.exp(fit.run.state.log_weights), 1 / 60)
    assert "missed the posterior" in str(fit.summary())
    monkeypatch.undo()
    fit.update(frame.head(4), progress=False)
    assert fit.nobs == 28


def test_results_are_swept_and_passes_are_not():
    frame = quiet_rows(20, 4, sine, 0.3)
    fit = rj.kernel_regression("y ~ x", frame, width=0.6).fit(particles=40, rng=1, **RUN)
    assert not np.array_equal(fit.run.state.centres, fit.posterior.centres)
    np.testing.assert_allclose(fit.posterior.weight, 1 / 40)
    again = smc.settle(fit.run.settings, fit.run.state)
    np.testing.assert_array_equal(again.particles.beta, fit.run.settled.particles.beta)
    for options in ({"rejuvenate": 0}, {"importance": "paper"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rj.ConvergenceWarning)
            alone = fit.model.fit(particles=40, rng=1, **options, **RUN)
        np.testing.assert_array_equal(alone.run.state.centres, alone.posterior.centres)


# ---------------------------------------------------------------------- widths


def test_the_default_compares_widths_around_the_median_distance():
    frame = fast(60).eval("y = sin(x) + 0.1 * (y - sin(3 * x)) / 0.1")
    model = rj.kernel_regression("y ~ x", frame, max_kernels=30)
    median = rj.kernel_regression("y ~ x", frame, width="median").widths[0]
    np.testing.assert_allclose(model.widths, median * np.array([0.25, 0.5, 1.0, 2.0, 4.0]))
    fit = model.fit(rng=1, particles=60, **RUN)
    table = fit.widths
    assert table["posterior"].sum() == pytest.approx(1.0)
    assert fit.width == table["log_evidence"].idxmax()
    # Widths of next to no probability have no particles.
    kept = {fit.run.place, *(other.place for other in fit.run.others)}
    assert kept == set(np.flatnonzero(table["posterior"] >= 0.01))
    assert fit.run.lacking() == []
    assert np.sqrt(np.mean((fit.predict() - np.sin(frame["x"])) ** 2)) < 0.05
    # Those without hope have one run, without an error.
    behind = table["log_evidence"].max() - table["log_evidence"]
    np.testing.assert_array_equal(table["se"].isna(), behind > HOPELESS)
    # The comparison does not depend on the seed, and MCMC uses it too.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)  # of few draws
        chains = model.fit(sampler="mcmc", draws=20, burn_in=20, chains=2, rng=2, **RUN)
    assert chains.width == fit.width == chains.run.settings.kernel.width


def test_default_predictions_average_over_widths(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.uniform(-10.0, 10.0, 40)
    frame = pd.DataFrame({"x": x, "y": np.sinc(x / np.pi) + 0.3 * rng.standard_normal(40)})
    fit = rj.kernel_regression("y ~ x", frame).fit(rng=1, particles=60, **RUN)
    assert fit.run.others
    pd.testing.assert_series_equal(fit.predict(), fit.predict(width_average=True))
    assert np.abs(fit.predict() - fit.predict(width_average=False)).max() > 1e-6
    fit.save(tmp_path / "a.rjs")
    loaded = rj.load(tmp_path / "a.rjs", data=frame)
    pd.testing.assert_series_equal(loaded.predict(frame), fit.predict(frame), check_exact=True)
    pd.testing.assert_frame_equal(loaded.widths, fit.widths)
    for each in (fit, loaded):
        each.update(frame.head(5), progress=False)
    pd.testing.assert_series_equal(loaded.predict(frame), fit.predict(frame), check_exact=True)


def test_inputs_of_two_values_have_widths():
    half = np.repeat([0.0, 1.0], [30, 10])[:, None]
    assert usual_widths(half)[2] == 1.0
    rare = np.repeat([0.0, 1.0], [3000, 1])[:, None]
    assert usual_widths(rare)[2] == 1.0
    assert all(low < high for low, high in pairwise(usual_widths(half)))


def test_widths_are_weighed_again_after_an_update():
    """Eight rows of a line are for wide kernels, and 142 of a wave for narrow ones."""
    line = pd.DataFrame({"x": np.linspace(0.0, 10.0, 8), "y": np.linspace(-1.0, 1.0, 8)})
    fit = rj.kernel_regression("y ~ x", line, width=[0.15, 1.0]).fit(rng=1, particles=100, **RUN)
    assert fit.width == 1.0
    with pytest.warns(
        rj.ConvergenceWarning, match=r"The width 1, chosen on .* Predict with width_average=True"
    ):
        fit.update(fast(142), progress=False)
    assert fit.width == 1.0
    assert fit.widths.loc[0.15, "posterior"] > 0.999
    grid = pd.DataFrame({"x": np.linspace(0.2, 9.8, 50)})
    error = {
        average: np.sqrt(np.mean((fit.predict(grid, width_average=average) - np.sin(3.0 * grid["x"])) ** 2))
        for average in (False, True)
    }
    assert error[True] < 0.2 < 0.5 < error[False]


def test_far_rows_are_counted():
    frame = fast(40)
    fit = rj.kernel_regression("y ~ x", frame, width=0.2).fit(rng=1, particles=40, **RUN)
    new = pd.DataFrame({"x": [5.0, 30.0, 40.0, np.nan]})
    with pytest.warns(rj.ExtrapolationWarning, match=r"2 of 4 rows are further than 3 widths") as caught:
        fit.predict(new)
    assert caught[0].filename == __file__
    with pytest.warns(rj.ExtrapolationWarning):
        assert fit.get_prediction(new).extrapolated.tolist() == [False, True, True, False]
    fit.predict(frame)
    fit.predict()


# ---------------------------------------------------------------------- numbers of kernels, units, rounding


def test_the_largest_number_of_kernels_follows_the_prior():
    frame = fast(100)
    of = {
        mean: rj.kernel_regression("y ~ x", frame, mean_kernels=mean).settings.max_kernels
        for mean in (1, 10.1, 60)
    }
    assert of == {1: 50, 10.1: 51, 60: 200}


@pytest.mark.parametrize("sampler", ["smc", "mcmc"])
def test_numbers_of_kernels_that_are_cut_are_said(sampler):
    options = {"particles": 60} if sampler == "smc" else {"draws": 200, "burn_in": 500}
    model = rj.kernel_regression("y ~ x", fast(40), width=0.1, mean_kernels=12, max_kernels=6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = model.fit(sampler=sampler, rng=1, **options, **RUN)
    said = [str(each.message) for each in caught]
    assert any("largest number of kernels, 6, has a probability of" in text for text in said)
    assert "The largest number of kernels, 6, has" in str(fit.summary())


def test_log_sigma_is_in_units_of_the_response():
    frame = fast(30).eval("y = 100 * y")
    fit = rj.kernel_regression("y ~ x", frame, width=0.15).fit(
        sampler="mcmc", draws=200, burn_in=300, chains=2, rng=1, **RUN
    )
    log_sigma = 0.5 * np.log(fit.posterior.sigma2).mean() + np.log(frame["y"].std(ddof=0))
    assert fit.diagnostics.loc["log_sigma", "mean"] == pytest.approx(log_sigma)


@pytest.mark.statistical
def test_wide_kernels_on_many_rows_are_finite():
    """At a width of 1.6 deviations 1,600 rows of a sinc had weights that overflowed; the seed is fixed."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-10.0, 10.0, (1600, 1))
    y = np.sinc(x[:, 0] / np.pi) + 0.1 * rng.normal(size=1600)
    with pytest.warns(rj.ConvergenceWarning, match="dependent up to rounding"):
        fit = rj.KernelRegression(y, x, width=1.6).fit(rng=1, **RUN)
    assert fit.sigma["mean"] == pytest.approx(0.1, abs=0.03)
    assert np.isfinite(fit.predict()).all()
