"""Runs that stop by themselves: what ends them, and that rounds are one run, wherever it is cut."""

import os
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from interrupts import interrupt_when
from turns import every

import pyrjsel as rj
from pyrjsel.kernel.samplers.mcmc import ChainRunner
from pyrjsel.runtime import checkpoint as checkpoints
from pyrjsel.runtime.accuracy import FIRST, Accuracy, Clock, Figure, above, missed, worst
from pyrjsel.runtime.checkpoint import ChainFile
from pyrjsel.selection.samplers.collapsed.chain import CollapsedChain

rng = np.random.default_rng(3)
X = pd.DataFrame(rng.normal(size=(120, 7))).add_prefix("x")
Y = X["x0"].to_numpy() + 0.3 * X["x1"].to_numpy() + rng.normal(size=120)
LOW = (rng.random(120) < 1 / (1 + np.exp(-X["x0"].to_numpy() - 0.4 * X["x1"].to_numpy()))).astype(int)
KLASS = np.where(rng.random(120) < 0.1, None, np.where(LOW == 1, "yes", "no"))
# Every sampler, small enough for some rounds of each in some tenths of a second.
FITS = {
    "logit": (rj.LogitSelection(LOW, X), {"sampler": "collapsed", "sweeps": 1, "pairs": 64, "mcse": 0.0005}),
    "linear": (rj.LinearSelection(Y, X), {"sampler": "collapsed", "mcse": 0.0015}),
    "gibbs": (rj.LinearSelection(Y, X), {"sampler": "gibbs", "mcse": 0.0015}),
    "spikes": (
        rj.LinearSelection(Y, X, coef_prior=rj.SpikeSlab(0.1, 100)),
        {"sampler": "gibbs", "mcse": 0.004, "max_draws": 1600},
    ),
    "jumps": (rj.LinearSelection(Y, X), {"sampler": "rjmcmc", "mcse": 0.02, "max_draws": 800}),
    "population": (
        rj.LogitSelection(LOW, X),
        {"sampler": "population", "mcse": 0.02, "max_draws": 400, "burn_in": 100},
    ),
    "classifier": (
        rj.MixtureClassifier(KLASS, X[["x0", "x1", "x2"]].mask(X.abs() > 2), components=2, target="joint"),
        {"mcse": 0.004, "max_draws": 2000, "burn_in": 100},
    ),
    "patterns": (
        rj.pattern_logit("low ~ interactions(race, smoke, ht, order=3)", rj.datasets.birthwt().data),
        {"mcse": 0.02, "max_draws": 1500, "burn_in": 100},
    ),
    "kernel": (
        rj.KernelRegression(Y[:40], X[["x0"]][:40], width=0.5),
        {"sampler": "mcmc", "mcse": 0.02, "max_draws": 2000, "burn_in": 100},
    ),
}
MODELS = (rj.LinearSelection, rj.LogitSelection, rj.PoissonSelection)
SELECTION = [name for name, (model, _) in FITS.items() if isinstance(model, MODELS)]


def fit(name, **changes):
    model, options = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**{"rng": 1, "n_jobs": 1, "progress": False, "thin": 2, **options, **changes})


def same(one, two):
    """Whether two results are the same to the last bit, but for how long they took."""
    a, b = parts(one), parts(two)
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    pd.testing.assert_frame_equal(
        *(
            (each if isinstance(each, rj.KernelResults) else each.posterior).diagnostics.drop(
                columns=["seconds", "cpu_seconds"], errors="ignore"
            )
            for each in (one, two)
        )
    )


def settings_of(results):
    """Return the settings of results of any room."""
    if isinstance(results, rj.KernelResults):
        return results.run.fit
    return results.settings if isinstance(results, rj.SelectionResults) else results.posterior.settings


def parts(results):
    """Return the numbers of results of any room by name."""
    found = results.posterior
    if isinstance(results, rj.MixtureResults):
        names = ["packed", "index", "log_posterior", "log_likelihood", "mean", "variance", "weight", "prior"]
        arrays = {name: np.asarray(getattr(found, name)) for name in names}
        arrays |= {f"inclusion_{name}": value for name, value in vars(found.inclusion).items()}
    elif isinstance(results, rj.PatternResults):
        arrays = dict(vars(found.draws))
    elif isinstance(results, rj.KernelResults):
        arrays = dict(vars(results.run.draws))
    else:
        names = ["inclusion", "inclusion_mcse", "probability", "mcse", "odds", "ess", "r_hat"]
        arrays = {name: getattr(found, name) for name in names}
        arrays |= {"model": found.draws.model, "log_posterior": found.draws.log_posterior}
        arrays |= {"vectors": found.draws.vectors.toarray(), "moments": found.moments.mean}
    return {"draws": settings_of(results).draws, **arrays}


@pytest.fixture(scope="module")
def wanted():
    return {name: fit(name) for name in FITS}


@pytest.mark.parametrize("name", every(2, FITS, 1))
def test_rounds_are_one_run(wanted, name):
    """The draws of a run that stops by itself are those of one of as many draws."""
    auto = wanted[name]
    settings = settings_of(auto)
    assert settings.draws > settings.accuracy.first  # so that there were rounds at all
    options = {key: value for key, value in FITS[name][1].items() if key not in ("mcse", "max_draws")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        number = FITS[name][0].fit(
            **{**options, "draws": settings.draws, "burn_in": settings.burn_in},
            rng=1, n_jobs=1, thin=2, progress=False,
        )  # fmt: skip
    if name in SELECTION:  # where coefficients of longer runs are thinned, and moments of others are drawn
        np.testing.assert_array_equal(auto.posterior.draws.model, number.posterior.draws.model)
        np.testing.assert_array_equal(auto.posterior.inclusion, number.posterior.inclusion)
        np.testing.assert_array_equal(auto.posterior.moments.mean, number.posterior.moments.mean)
    else:
        same(auto, number)


@pytest.mark.parametrize("name", FITS)
def test_workers_do_not_matter(wanted, name):
    same(wanted[name], fit(name, n_jobs=3))


@pytest.mark.parametrize("name", ["logit", "linear", "spikes", "jumps", "classifier", "patterns", "kernel"])
def test_processes_do_not_matter(wanted, name):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        same(wanted[name], fit(name, n_jobs=None))


@pytest.mark.cluster
@pytest.mark.parametrize("name", FITS)
def test_clusters_do_not_matter(dask_client, wanted, name):
    with joblib.parallel_config(backend="dask", n_jobs=2):
        found = fit(name, n_jobs=None)
    same(wanted[name], found)
    assert settings_of(found).draws > settings_of(found).accuracy.first  # so that chains went on there
    # Chains are in other processes, whose CPU seconds come with what they have drawn.
    assert settings_of(found).run_time.cpu > 0.0


class Stop(Exception):
    """A crash."""


@pytest.mark.parametrize("name", every(2, FITS))
def test_killed_runs_go_on(monkeypatch, tmp_path, wanted, name):
    """Crashes right after a write, in any round, leave no trace."""
    chance, save, crashes = np.random.default_rng(4), ChainFile.save, []
    settings = settings_of(wanted[name])
    first = settings.burn_in + settings.accuracy.first * settings.thin

    def saved(self, done, seconds, runner):
        save(self, done, seconds, runner)
        # Some in the first round, and some after it.
        if sum((at > first) == (done > first) for at in crashes) < 5 and chance.random() < 0.4:
            crashes.append(done)
            raise Stop

    monkeypatch.setattr("pyrjsel.runtime.chains.BLOCK_SECONDS", 0.004)
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    monkeypatch.setattr(ChainFile, "save", saved)
    results = None
    while results is None:
        try:
            results = fit(name, checkpoint=tmp_path / "run")
        except Stop:
            continue
    assert min(crashes) <= first < max(crashes)
    same(wanted[name], results)


def test_checkpoint_of_another_accuracy(tmp_path):
    fit("linear", checkpoint=tmp_path / "run")
    with pytest.raises(rj.StoreError, match=r"mcse was 0\.0015 and is 0\.001"):
        fit("linear", checkpoint=tmp_path / "run", mcse=0.001)


@pytest.mark.parametrize("name", ["logit", "linear", "gibbs", "spikes", "classifier", "patterns", "kernel"])
def test_extending_is_one_longer_run(wanted, name):
    """Rounds are where they always are."""
    loose = fit(name, mcse=0.01, max_draws=800)
    target = FITS[name][1]["mcse"]
    assert settings_of(loose).draws < settings_of(wanted[name]).draws
    most = FITS[name][1].get("max_draws", 100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        longer = loose.extend(mcse=target, max_draws=most, n_jobs=2, progress=False)
    same(wanted[name], longer)
    if most < 100_000:  # which has not reached it
        return
    again = longer.extend(mcse=10 * target, progress=False)
    assert again.settings.draws == longer.settings.draws
    np.testing.assert_array_equal(again.posterior.inclusion, longer.posterior.inclusion)


@pytest.mark.parametrize("name", ["linear", "classifier", "patterns", "kernel"])
def test_extending_by_a_number(wanted, name):
    before = settings_of(wanted[name]).draws
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        longer = wanted[name].extend(100, progress=False)
    assert settings_of(longer).draws == before + 100
    assert settings_of(longer).accuracy is None


def test_patterns_stop_where_their_scales_are_accurate():
    model = FITS["patterns"][0]
    results = model.fit(rng=1, progress=False)
    found = results.posterior.diagnostics
    scales = found.drop("log_posterior")
    assert 200 <= settings_of(results).draws < 1500
    assert (scales["mcse"] <= 0.05 * scales["sd"]).all()
    assert found["r_hat"].max() <= 1.05
    assert found["ess"].min() >= 100
    limit = r"stopped at 250 draws per chain \('max_draws'\) before .* accuracy: the MCSE of the log sigma"
    with pytest.warns(rj.ConvergenceWarning, match=limit):
        short = model.fit(rng=1, progress=False, mcse=0.01, max_draws=250)
    assert short.draws.s.shape[:2] == (4, 250)
    with pytest.warns(
        rj.ConvergenceWarning, match=r"seconds \('max_seconds'\) before reaching the requested accuracy"
    ):
        timed = model.fit(rng=1, progress=False, mcse=0.01, max_seconds=1e-6)
    assert settings_of(timed).draws == 200


@pytest.mark.parametrize("name", ["classifier", "patterns", "kernel"])
def test_no_further_than_is_asked_for(wanted, name):
    """Results that are accurate enough have all that more of them would be asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        again = wanted[name].extend(mcse=0.5, max_draws=2000, progress=False)
    same(wanted[name], again)


def test_mixtures_stop_where_they_are_accurate():
    easy = rj.MixtureClassifier(
        np.repeat(["a", "b"], 60), X[["x0", "x1"]].add(np.repeat([[3, 0], [0, 0]], 60, 0))
    )
    results = easy.fit(rng=1, progress=False, mcse=0.02, max_draws=12_800)
    assert settings_of(results).accuracy.mcse == 0.02
    assert 800 <= settings_of(results).draws < 12_800
    assert results.inclusion["mcse"].fillna(0.0).max() <= 0.02
    assert results.diagnostics.loc["all", ["r_hat_size", "r_hat_log_posterior"]].fillna(1.0).max() <= 1.05
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        short = easy.fit(rng=1, progress=False, mcse=1e-4, max_draws=100, burn_in=100)
        assert short.posterior.index.shape == (4, 100)
        timed = easy.fit(rng=1, progress=False, mcse=1e-4, max_seconds=0.01, burn_in=100)
        assert settings_of(timed).draws == 800
    said = [str(each.message) for each in caught if issubclass(each.category, rj.ConvergenceWarning)]
    for limit in ("stopped at 100 draws per chain ('max_draws')", "seconds ('max_seconds')"):
        assert any(f"{limit} before reaching the requested accuracy: " in text for text in said)
    assert all("This needs about" in text for text in said if "stopped at" in text)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
@pytest.mark.parametrize("name", ["logit", "linear"])
@pytest.mark.parametrize("after", [250, 700])
def test_interrupted_runs_have_draws_and_go_on(monkeypatch, wanted, name, after):
    model, options = FITS[name]
    settings = {"rng": 1, "n_jobs": 2, "progress": False, "thin": 2, **options}
    with monkeypatch.context() as patch:
        patch.setattr("pyrjsel.runtime.chains.BLOCK_SECONDS", 0.002)
        interrupt_when(patch, CollapsedChain, lambda chain: chain.done > after)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            some = model.fit(**settings)
    assert any("Interrupted: " in str(each.message) for each in caught)
    assert some.draws.coefficients is not None
    assert some.draws.model.shape[1] < wanted[name].settings.draws
    longer = some.extend(mcse=options["mcse"], progress=False)
    same(wanted[name], longer)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
@pytest.mark.parametrize("after", [250, 1500])
def test_interrupted_kernel_runs_go_on(monkeypatch, wanted, after):
    with monkeypatch.context() as patch:
        patch.setattr("pyrjsel.runtime.chains.BLOCK_SECONDS", 0.002)
        interrupt_when(patch, ChainRunner, lambda chain: chain.done > after)
        some = fit("kernel", n_jobs=2)
    assert any("Interrupted: " in note for note in some.run.notes)
    assert 0 < some.run.draws.k.shape[1] < wanted["kernel"].run.fit.draws
    with pytest.warns(rj.ConvergenceWarning, match="'max_draws'"):  # as the run that it is compared with
        longer = some.extend(mcse=0.02, max_draws=2000, progress=False)
    same(wanted["kernel"], longer)


def test_limits_are_said():
    model = FITS["linear"][0]
    with pytest.warns(
        rj.ConvergenceWarning, match=r"stopped at 300 draws per chain \('max_draws'\)"
    ) as caught:
        results = model.fit(sampler="collapsed", mcse=1e-4, max_draws=300, rng=1, progress=False)
    text = str(caught[0].message)
    assert "the MCSE of the inclusion of x" in text
    assert "above 0.0001" in text
    assert "This needs about" in text
    assert text in results.summary().as_text().replace("\n", " ") or "stopped at 300" in text
    assert results.settings.draws == results.draws.model.shape[1] == 300
    with pytest.warns(
        rj.ConvergenceWarning, match=r"seconds \('max_seconds'\) before reaching the requested accuracy"
    ):
        results = model.fit(sampler="collapsed", mcse=1e-5, max_seconds=0.3, rng=1, progress=False)
    assert FIRST <= results.settings.draws < 100_000


def test_one_draw():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = FITS["linear"][0].fit(sampler="collapsed", max_draws=1, rng=1, progress=False)
    assert results.draws.model.shape == (4, 1)
    assert any("'max_draws'" in str(each.message) for each in caught)


def test_what_the_results_show_is_what_was_asked(wanted):
    for name, mcse in (("linear", 0.0015), ("gibbs", 0.0015)):
        assert wanted[name].inclusion["mcse"].max() <= mcse
        assert wanted[name].diagnostics.loc["all", "r_hat_size"] <= 1.05


def test_a_figure_of_another_rank_ends_no_run(monkeypatch):
    """A rule that is never met runs to the end of the draws: every round asks it."""
    asked = []

    def never(chains, draws):
        asked.append(draws)
        return [Figure("it is bad", 2.0)]

    where = "pyrjsel.selection.samplers.base.stopping"
    monkeypatch.setattr(where, lambda *given, **more: never)
    with pytest.warns(rj.ConvergenceWarning, match=r"it is bad\. This needs about 2,000 draws"):
        results = FITS["linear"][0].fit(sampler="collapsed", max_draws=1000, rng=1, progress=False)
    assert asked == [200, 440, 968, 1000]
    assert results.settings.draws == 1000


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mcse": 0}, r"'mcse' parameter of LinearSelection\.fit must be a finite number in \(0"),
        ({"mcse": -0.1}, "'mcse' parameter"),
        ({"mcse": float("nan")}, "'mcse' parameter"),
        ({"mcse": "small"}, "'mcse' parameter"),
        ({"draws": "many"}, "'draws' parameter of .* must be 'auto' or an int"),
        ({"draws": 0}, "'draws' parameter"),
        ({"max_seconds": 0}, "'max_seconds' parameter"),
        ({"max_seconds": float("inf")}, "'max_seconds' parameter"),
        ({"max_draws": 0}, "'max_draws' parameter"),
        ({"max_draws": 1.5}, "'max_draws' parameter"),
        (
            {"draws": 100, "mcse": 0.03},
            "'mcse' parameter .* must be left out (unless draws='auto'|if 'draws' is a number)",
        ),
        ({"draws": 100, "max_draws": 50}, "'max_draws' parameter .* must be left out"),
        ({"draws": 100, "max_seconds": 1.0}, "'max_seconds' parameter .* must be left out"),
    ],
)
@pytest.mark.parametrize(
    ("name", "more"),
    [
        *(("linear", {"sampler": each}) for each in ("auto", "collapsed", "gibbs", "rjmcmc", "population")),
        *(("logit", {"sampler": each}) for each in ("auto", "collapsed", "rjmcmc", "population")),
        ("classifier", {}),
        ("patterns", {}),
    ],
)
def test_bad_input(options, match, name, more):
    model = FITS[name][0]
    with pytest.raises(rj.ParameterError, match=match.replace("LinearSelection", type(model).__name__)):
        model.fit(**options, **more)


def test_bad_input_of_extend(wanted):
    for options, match in (
        ({"mcse": -1.0}, "'mcse' parameter of extend"),
        ({"mcse": float("nan")}, "'mcse' parameter of extend"),
        ({"max_seconds": 0}, "'max_seconds' parameter of extend"),
        ({"draws": 10, "mcse": 0.1}, "'mcse' parameter of extend must be left out"),
        ({"mcse": 0}, "'mcse' parameter of extend"),
        ({"draws": 10, "max_draws": 5}, "'max_draws' parameter of extend must be left out"),
    ):
        for name in ("linear", "classifier", "patterns", "kernel"):
            with pytest.raises(rj.ParameterError, match=match):
                wanted[name].extend(**options)


def test_words():
    assert above(0.0050004, 0.005) == "0.0050004, above 0.005"
    assert above(0.0071234, 0.005) == "0.0071, above 0.005"
    figures = [Figure.of_error("the MCSE of a", 0.01, 0.005), Figure("b is bad", 3.0)]
    assert worst(figures).needed == pytest.approx(4.0)
    assert worst([]) is None
    (text,) = missed(figures, 1000, "1,000 draws")
    assert "the MCSE of a is 0.01, above 0.005, and 1 more figure is above the target" in text
    assert "about 4,000 draws per chain" in text
    assert missed([], 1000, "x") == []


def test_clock():
    clock = Clock.of(Accuracy(max_draws=1000))
    # A tenth more than is needed, at least a quarter and at most three times as many more.
    needed = {(200, 2.0): 440, (200, 1.01): 250, (200, 50.0): 800, (800, 2.0): 1000, (1000, 2.0): 1000}
    assert [clock.after(*given, 1.0) for given in needed] == list(needed.values())
    short = Clock.of(Accuracy(max_seconds=10.0))
    assert 290 <= short.after(200, 2.0, 10.0) <= 300  # ten draws a second for ten seconds
