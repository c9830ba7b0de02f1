"""KernelResults: predictions against sums over particles, updates, tables, plots."""

import pickle
import time
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from interrupts import ctrl_c
from scipy.stats import norm

import pyrjsel as rj
from pyrjsel.kernel.posterior import KernelPosterior
from pyrjsel.kernel.samplers.smc import as_passed

N = 30


def sinc_rows(rows=N, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-10, 10, rows)
    return pd.DataFrame({"x": x, "y": np.sinc(x / np.pi) + 0.1 * rng.standard_normal(rows)})


@pytest.fixture(scope="module")
def results():
    model = rj.kernel_regression("y ~ x", sinc_rows(), width=0.3)
    return model.fit(particles=60, rejuvenate=8, rng=3, runs=2)


def units(results):
    """Mean and standard deviation of the response, computed here."""
    y = sinc_rows()["y"].to_numpy()
    return y.mean(), y.std()


def by_hand(results, new):
    """Conditional mean, variance and noise variance (particles,) at points, one particle after the other."""
    posterior, frame = results.posterior, sinc_rows()
    mean_x, sd_x = frame["x"].mean(), frame["x"].std(ddof=0)
    out = []
    x = posterior.x[:, 0]
    for i in range(len(posterior.k)):
        centres = x[posterior.centres[i, : posterior.k[i]]]

        def columns(at, centres=centres):
            return np.column_stack([np.ones(len(at)), np.exp(-(((at[:, None] - centres) / 0.3) ** 2) / 2)])

        K, at = columns(x), columns((new - mean_x) / sd_x)
        cov = np.linalg.inv(K.T @ K / posterior.sigma2[i] + np.eye(K.shape[1]) / posterior.delta2[i])
        mean = at @ cov @ K.T @ posterior.y / posterior.sigma2[i]
        out.append((mean, np.einsum("ij,jk,ik->i", at, cov, at), np.full(len(new), posterior.sigma2[i])))
    return np.moveaxis(np.array(out), 0, 2)  # (3, points, particles)


def test_predictions_are_mixtures_over_particles(results):
    new = np.array([-9.0, -1.0, 0.3, 15.0])
    mean, variance, noise = by_hand(results, new)
    middle, unit = units(results)
    weight = results.posterior.weight
    assert weight.sum() == pytest.approx(1.0)
    expected = middle + unit * mean @ weight
    frame = results.get_prediction(pd.DataFrame({"x": new}, index=list("abcd"))).summary_frame(0.1)
    assert frame.index.tolist() == list("abcd")
    # Inverses here and eigenvalues there differ by the condition of the precision matrix, below 1e6.
    np.testing.assert_allclose(frame["mean"], expected, rtol=1e-8)
    total = (variance + mean**2) @ weight - (mean @ weight) ** 2
    np.testing.assert_allclose(frame["mean_se"], unit * np.sqrt(total), rtol=1e-7)
    for name, spread in (("mean_ci", variance), ("obs_ci", variance + noise)):
        for end, p in (("lower", 0.05), ("upper", 0.95)):
            at = (frame[f"{name}_{end}"].to_numpy() - middle) / unit
            below = norm.cdf((at[:, None] - mean) / np.sqrt(spread)) @ weight
            np.testing.assert_allclose(below, p, atol=1e-6)
    pd.testing.assert_series_equal(
        results.predict(pd.DataFrame({"x": new})), pd.Series(frame["mean"].to_numpy(), name="y")
    )


def test_means_are_those_that_the_filter_keeps(results):
    """The filter's own coefficient means, from its shared inner products, give the same curve."""
    state, frame = results.run.state, sinc_rows()
    fitted = np.zeros(len(state.y))
    for k, centres, mean, weight in zip(
        state.k, state.centres, state.mean, np.exp(state.log_weights), strict=True
    ):
        kernel = np.exp(-(((state.x - state.x[centres[:k]].T) / 0.3) ** 2) / 2)
        fitted += weight * (mean[0] + kernel @ mean[1 : k + 1])
    middle, unit = units(results)
    # The results are those after sweeps over all rows, which the filter's own particles have not seen.
    passed = as_passed(state)
    run = replace(results.run, given=passed, others=[])
    seen = type(results)(results.model, run).predict(frame.loc[results.path.index])
    np.testing.assert_allclose(seen, middle + unit * fitted, rtol=1e-8)


def test_kernels_that_are_all_but_equal_do_no_harm():
    x = np.array([[0.0], [1e-9], [1.0]])
    posterior = KernelPosterior(
        x=x, y=np.array([1.0, 1.0, 0.0]), k=np.array([2], dtype=np.int32),
        centres=np.array([[0, 1]], dtype=np.int32), sigma2=np.array([1e-12]), delta2=np.array([1.0]),
        weight=np.ones(1), kernel=rj.KernelRegression([0, 1, 2.0], [0.0, 1, 2]).kernels[0],
    )  # fmt: skip
    mean, sd = posterior.mean_function(x)
    # With next to no noise the rows are interpolated by an intercept and two equal kernels.
    np.testing.assert_allclose(mean[:, 0], [1.0, 1.0, 0.0], atol=1e-4)
    assert (sd < 1e-4).all()


def test_rows_with_missing_inputs_and_no_rows(results):
    new = pd.DataFrame({"x": [0.0, np.nan]})
    assert results.predict(new).isna().tolist() == [False, True]
    frame = results.get_prediction(new).summary_frame()
    assert frame.drop(columns="extrapolated").isna().all(axis=1).tolist() == [False, True]
    assert results.predict(new.iloc[:0]).empty
    pd.testing.assert_index_equal(results.predict().index, sinc_rows().index)
    for alpha in (0, 1, "a"):
        with pytest.raises(rj.ParameterError, match="'alpha' parameter of summary_frame"):
            results.get_prediction(new).summary_frame(alpha)
    with pytest.raises(rj.UnknownNameError, match="'x'"):
        results.predict(pd.DataFrame({"z": [0.0]}))
    with pytest.raises(rj.DataError, match="infinite"):
        results.predict(pd.DataFrame({"x": [np.inf]}))


def test_tables(results):
    posterior = results.posterior
    counts = results.n_kernels
    assert counts.sum() == pytest.approx(1.0)
    assert counts.index[0] == 0
    for k in counts.index:
        assert counts[k] == pytest.approx(posterior.weight[posterior.k == k].sum())
    assert results.mean_kernels == pytest.approx(counts @ counts.index)

    centres = results.centres
    assert centres["occupancy"].is_monotonic_decreasing
    assert centres["occupancy"].sum() == pytest.approx(results.mean_kernels)
    np.testing.assert_allclose(centres["x"], sinc_rows().loc[centres.index, "x"], rtol=1e-12)
    order = results.path.index
    first = centres.index[0]
    held = [first in order[row[:k]] for row, k in zip(posterior.centres, posterior.k, strict=True)]
    assert centres["occupancy"].iloc[0] == pytest.approx(posterior.weight[held].sum())

    sigma, unit = results.sigma, units(results)[1]
    values = unit * np.sqrt(posterior.sigma2)
    assert sigma["mean"] == pytest.approx(values @ posterior.weight)
    assert sigma["ci_lower"] < sigma["median"] < sigma["ci_upper"]
    assert posterior.weight[values <= sigma["median"]].sum() == pytest.approx(0.5, abs=0.05)


def test_the_log_evidence_is_in_units_of_the_response(results):
    state = results.run.state
    lost = N * np.log(units(results)[1])
    both = np.array([each.log_evidence for each in results.run.states])
    assert results.log_evidence == pytest.approx(np.log(np.exp(both).mean()) - lost)
    ratio = np.exp(both - both.max())
    spread = max(ratio.std(ddof=1) / ratio.mean(), both.std(ddof=1))
    assert results.log_evidence_se == pytest.approx(spread / np.sqrt(2))
    assert results.path["log_evidence"].iloc[-1] == pytest.approx(state.log_evidence - lost)
    # Ten times the response with ten times the unit: the same run, a density 10^-n as high.
    frame = sinc_rows().eval("y = 10 * y")
    wide = rj.kernel_regression("y ~ x", frame, width=0.3).fit(particles=60, rejuvenate=8, rng=3, runs=2)
    assert wide.log_evidence == pytest.approx(results.log_evidence - N * np.log(10))
    np.testing.assert_allclose(wide.predict(), 10 * results.predict(), rtol=1e-6)
    assert wide.sigma["mean"] == pytest.approx(10 * results.sigma["mean"])


def test_a_width_is_chosen_by_evidence():
    frame = sinc_rows()
    options = {"particles": 60, "rejuvenate": 4, "rng": 7, "evidence": "stream"}
    results = rj.kernel_regression("y ~ x", frame, width=[0.003, 0.3]).fit(**options)
    table = results.widths
    assert table.index.tolist() == [0.003, 0.3]
    assert table["posterior"].sum() == pytest.approx(1.0)
    assert table["se"].isna().all()
    # Kernels that no two rows share cannot predict: the wide one has the evidence.
    assert (results.width, results.run.settings.kernel.width) == (0.3, 0.3)
    assert table.loc[0.3, "log_evidence"] == pytest.approx(results.log_evidence)
    assert "Width: evidence of 30 rows of the fit" in str(results.summary())
    with pytest.raises(rj.ParameterError, match="must be 'smc' where widths are compared"):
        results.model.fit(sampler="mcmc")


# Few particles may collapse; whether they do is not what these tests look at.
quiet = pytest.mark.filterwarnings("ignore:The particles have collapsed:pyrjsel.ConvergenceWarning")


@quiet
@pytest.mark.parametrize("runs", [1, 2])
def test_updates_are_one_pass(runs):
    frame = sinc_rows(40)
    options = {"row_order": "given", "particles": 50, "rejuvenate": 2, "rng": 11, "runs": runs}

    def model(rows):
        return rj.kernel_regression("y ~ x", rows, width=1.6, standardize=False)

    whole = model(frame).fit(**options)
    part = model(frame.iloc[:20]).fit(**options)
    part = pickle.loads(pickle.dumps(part))
    assert part.update(frame.iloc[20:21]) is part
    part.update(frame.iloc[21:])
    assert part.nobs == 40
    for one, other in zip(part.run.states, whole.run.states, strict=True):
        for name in ("k", "centres", "beta", "sigma2", "delta2", "log_weights", "ess", "x", "y"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert part.log_evidence == whole.log_evidence
    pd.testing.assert_series_equal(part.predict(frame), whole.predict(frame))
    pd.testing.assert_frame_equal(part.path, whole.path)


@quiet
def test_an_update_of_arrays_and_its_constants():
    frame = sinc_rows(40)
    first, rest = frame.iloc[:20], frame.iloc[20:]
    results = rj.KernelRegression(first["y"], first[["x"]]).fit(particles=30, rng=1)
    before = results.model.scaling
    results.update(rest[["x"]], rest["y"])
    assert results.model.scaling is before
    np.testing.assert_allclose(
        results.posterior.y[20:], (rest["y"] - first["y"].mean()) / first["y"].std(ddof=0), rtol=1e-12
    )
    assert results.path.index[20:].tolist() == rest.index.tolist()


@quiet
def test_an_update_that_is_refused_leaves_everything_as_it_was():
    frame = sinc_rows(20).assign(g=["u", "v"] * 10)
    results = rj.kernel_regression("y ~ x + g", frame).fit(particles=20, rng=1)
    before = pickle.dumps(results.run.state)
    new = frame.tail(3)
    for bad, error, said in (
        (new.assign(x=[0.0, np.nan, 1.0]), rj.DataError, "1 of 3 have missing values, the first .* 18; none"),
        (new.assign(y=[0.0, np.nan, np.nan]), rj.DataError, "2 of 3"),
        (new.assign(x=[0.0, 1.0, np.inf]), rj.DataError, "infinite"),
        (new.assign(y=[0.0, 1.0, -np.inf]), rj.DataError, "infinite"),
        (new.assign(g="w"), rj.DataError, "'w'"),
        (new.assign(x=["a", "b", "c"]), rj.DataError, "'x'"),
        (new.drop(columns="x"), rj.UnknownNameError, "'x'"),
        (new.drop(columns="y"), rj.UnknownNameError, "'y'"),
    ):
        with pytest.raises(error, match=said):
            results.update(bad)
        assert (pickle.dumps(results.run.state), results.nobs) == (before, 20)
    with pytest.raises(rj.DataError, match=r"response of update must be at most 1e\+150"):
        results.update(new.assign(y=1e200))
    assert (pickle.dumps(results.run.state), results.nobs) == (before, 20)
    with pytest.raises(rj.DataError, match="rows of update are 3, their responses 2"):
        results.update(new, [1.0, 2.0])
    results.update(new)
    assert results.nobs == 23
    results.update(new.iloc[:0])
    assert results.nobs == 23


@quiet
def test_the_order_of_rows():
    frame = sinc_rows(20)
    model = rj.kernel_regression("y ~ x", frame)
    given = model.fit(particles=20, rng=1, row_order="given")
    assert given.path.index.tolist() == list(range(20))
    mixed = model.fit(particles=20, rng=1)
    assert sorted(mixed.path.index) == list(range(20)) != mixed.path.index.tolist()
    again = model.fit(particles=20, rng=1)
    pd.testing.assert_frame_equal(mixed.path, again.path)


def test_collapsed_particles_are_said(results):
    frame = sinc_rows(30)
    model = rj.kernel_regression("y ~ x", frame, width=0.3, noise_variance=1e-4)
    with pytest.warns(rj.ConvergenceWarning, match="particles have collapsed: at row") as caught:
        alone = model.fit(particles=50, rejuvenate=0, rng=1)
    assert caught[0].filename == __file__
    assert "collapsed" in str(alone.summary())
    assert "collapsed" not in str(results.summary())
    assert alone.diagnostics["tried"].sum() == 0
    assert "Rejuvenation" not in alone.summary().as_text().split("Notes")[0].split("Centres")[1]


def test_models_may_be_lost_without_rejuvenation():
    """Where all weights are even enough: of these six rows the log evidence is 0.9 too low, in every run."""
    rng = np.random.default_rng(4)
    x = rng.normal(scale=2.0, size=6)
    frame = pd.DataFrame({"x": x, "y": 1.2 * np.sinc(x) + 0.4 * rng.normal(size=6)})
    fixed = {"noise_variance": 0.005, "coef_variance": 0.5, "mean_kernels": 1.5}
    model = rj.kernel_regression("y ~ x", frame, width=1.0, standardize=False, **fixed)
    options = {"rng": 1, "row_order": "given", "particles": 5000}
    with pytest.warns(rj.ConvergenceWarning, match=r"resampled at \d rows and not rejuvenated") as caught:
        alone = model.fit(rejuvenate=0, **options)
    assert caught[0].filename == __file__
    assert alone.path["ess"].min() > 0.2 * 5000
    assert "not rejuvenated" in str(alone.summary())
    assert "rejuvenated" not in str(model.fit(**options | {"particles": 200}).summary())
    # Nothing is lost where nothing is resampled, and no effective number is too small.
    assert "rejuvenated" not in str(model.fit(rejuvenate=0, ess_threshold=0.0, **options).summary())


@quiet
def test_the_papers_weights_are_said_to_be_biased():
    results = rj.kernel_regression("y ~ x", sinc_rows(20)).fit(particles=20, importance="paper", rng=1)
    assert "which are biased" in str(results.summary())


def test_summary_and_repr(results):
    text = str(results.summary(top=3))
    assert {("Sampler", "smc"), ("Particles", "60")} <= set(results.summary().info)
    assert "gaussian, width 0.3" in text
    assert "Centres: the 3 most probable of" in text
    assert repr(results).startswith("<KernelResults of smc: 30 rows, ")
    assert results.summary().as_html()
    assert results.summary().as_latex()
    with pytest.raises(rj.ParameterError, match="'top'"):
        results.summary(0)


def test_plots(results):
    ax = results.plot_fit(alpha=0.2, points=50)
    line = ax.lines[0]
    frame = pd.DataFrame({"x": line.get_xdata()})
    np.testing.assert_allclose(line.get_ydata(), results.predict(frame), rtol=1e-9)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["new response, 80 %", "mean, 80 %"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    # A tick for each row that is a centre, and the rows.
    assert len(ax.lines) == 1 + len(results.centres)
    points = ax.collections[-1].get_offsets()
    seen = sinc_rows().loc[results.path.index, ["x", "y"]]
    np.testing.assert_allclose(points, seen, rtol=1e-9, atol=1e-12)

    ax = results.plot_kernels()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), results.path["mean_kernels"])
    ax = results.plot_ess()
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), results.path["ess"])
    assert len(ax.collections[0].get_offsets()) == results.path["resampled"].sum()
    _, own = plt.subplots()
    assert results.plot_ess(ax=own) is own
    plt.close("all")
    for plot in (results.plot_fit, results.plot_kernels, results.plot_ess):
        with pytest.raises(rj.ParameterError, match="'ax'"):
            plot(ax=3)


@quiet
def test_a_fit_of_several_inputs_is_not_drawn():
    frame = sinc_rows(20).assign(z=np.arange(20) % 7)
    results = rj.kernel_regression("y ~ x + z", frame).fit(particles=10, rng=1)
    with pytest.raises(rj.NotAvailableError, match="This one has 2"):
        results.plot_fit()


def test_draws_for_arviz(results):
    pytest.importorskip("arviz")
    found = results.to_arviz()
    assert found.posterior["kernels"].shape == (1, 60)
    # Systematic resampling: the count of each number of kernels is within a particle a place.
    assert abs(float(found.posterior["kernels"].mean()) - results.mean_kernels) < 0.1
    np.testing.assert_allclose(
        np.asarray(found.observed_data["y"]), sinc_rows().loc[results.path.index, "y"], rtol=1e-12
    )


def assert_chains_for_arviz(chains):
    arviz = pytest.importorskip("arviz")
    found = chains.to_arviz()
    assert found.posterior["kernels"].shape == (2, 800)
    table = arviz.summary(found, round_to="none")
    assert table.loc["kernels", "mean"] == pytest.approx(chains.mean_kernels)
    assert table["r_hat"].max() < 1.1


def test_wide_kernels_have_large_coefficients():
    """A width of several waves of the function: columns are nearly dependent."""
    model = rj.kernel_regression("y ~ x", sinc_rows(300), width=1.0)
    filtered, chains = model.fit(rng=2), model.fit(sampler="mcmc", rng=1)
    # Errors of both together, from repeated runs: 0.05 of a kernel and 0.001 of a mean, five of each.
    assert abs(chains.mean_kernels - filtered.mean_kernels) < 0.25
    np.testing.assert_allclose(chains.predict(), filtered.predict(), atol=0.005)


@pytest.mark.parametrize("sampler", ["smc", "mcmc"])
def test_kernels_that_are_dependent_up_to_rounding(sampler):
    """A smooth function, almost without noise, and kernels that are wider than the rows."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-10, 10, 300)
    frame = pd.DataFrame({"x": x, "y": np.exp(x / 5) + 1e-3 * rng.standard_normal(300)})
    model = rj.kernel_regression("y ~ x", frame, width=5)
    with pytest.warns(rj.ConvergenceWarning, match="draws are linearly dependent up to rounding"):
        results = model.fit(sampler=sampler, rng=1)
    # Coefficients of some 1e7 times the noise are out of reach; the fit is finite, and near the function.
    assert np.all(np.isfinite([*results.sigma, results.mean_kernels]))
    assert np.abs(results.predict() - np.exp(x / 5)).max() < 0.3
    # It was in the millions where columns explained more than there is.
    assert sampler == "mcmc" or results.log_evidence < 1e4


def test_batch_chains_and_the_filter_agree():
    model = rj.kernel_regression("y ~ x", sinc_rows(), width=0.3)
    chains = model.fit(sampler="mcmc", draws=800, chains=2, rng=4)
    assert_chains_for_arviz(chains)
    filtered = model.fit(particles=400, rng=2)
    assert chains.diagnostics["r_hat"].max() < 1.1
    # Errors of both, from repeated runs: 0.1 of a kernel and 0.01 of a mean, five of each.
    assert abs(chains.mean_kernels - filtered.mean_kernels) < 0.5
    np.testing.assert_allclose(chains.predict(), filtered.predict(), atol=0.05)
    text = str(chains.summary())
    assert "mcmc" in text
    assert "Chains x draws" in text
    for what in ("widths", "path"):
        with pytest.raises(rj.NotAvailableError, match="after sampler='mcmc'"):
            getattr(chains, what)
    for call in (chains.plot_ess, chains.plot_kernels, lambda: chains.update(sinc_rows(2))):
        with pytest.raises(rj.NotAvailableError, match="after sampler='mcmc'"):
            call()
    chains.plot_fit()
    plt.close("all")
    assert chains.run.equal_draws()[0].shape == (2, 800)


@quiet
def test_an_interrupted_pass_has_the_rows_so_far():
    frame = sinc_rows(60)
    calls = []

    def slow(x, centres):
        calls.append(len(x))
        time.sleep(0.005)  # blocks of 0.1 s have some rows only
        if len(calls) == 6:
            ctrl_c()
        return np.exp(-((x - centres.T) ** 2) / 2)

    model = rj.kernel_regression("y ~ x", frame, kernel=slow, width=1.6, standardize=False)
    with pytest.warns(rj.ConvergenceWarning, match=r"Interrupted: \d+ rows were left out") as caught:
        results = model.fit(particles=20, row_order="given", rng=1)
    assert caught[0].filename == __file__
    seen = results.nobs
    assert 0 < seen < 60
    assert np.isfinite(results.predict(frame)).all()
    # And it can go on.
    results.update(frame.iloc[seen:])
    assert results.path.index.tolist() == list(range(60))
    assert f"Interrupted passes have left out {60 - seen} rows" in str(results.summary())


def test_all_missing_columns_are_listed():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcy"))
    results = rj.kernel_regression("y ~ a + b + c", data).fit(particles=50, rng=1, progress=False)
    with pytest.raises(rj.UnknownNameError, match="needs 2 columns that the data do not have: 'a', 'c'"):
        results.predict(data[["b"]])
