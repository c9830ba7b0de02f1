"""Run time of fits: CPU seconds and wall-clock seconds, over kills, extensions and saved files."""

import pickle
import re
import threading
import time
import warnings

import joblib
import numpy as np
import pytest

import pyrjsel as rj
from pyrjsel._errors import StoreError
from pyrjsel.runtime import Accuracy, RunTime, Stopwatch, checkpoint
from pyrjsel.storage import read, write

# CPU seconds of a fit here are at least so many: the clock of the system counts in steps of at most 1/64 s.
SPIN = 0.05


def spin(seconds=SPIN):
    """Take CPU seconds of this thread."""
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(100))


def births():
    return rj.datasets.birthwt().data


def waves():
    x = np.linspace(-3.0, 3.0, 40)[:, None]
    return rj.KernelRegression(np.sin(x[:, 0]), x)


SHORT = {"draws": 150, "burn_in": 20, "chains": 2}
FITS = {
    "logit": lambda **more: rj.logit("low ~ lwt + smoke + ht", births()).fit(
        sampler="rjmcmc", **SHORT, **more
    ),
    "enumeration": lambda **more: rj.logit("low ~ lwt + smoke + ht", births()).fit(**more),
    "linear enumeration": lambda **more: rj.linear("bwt ~ lwt + smoke + ht", births()).fit(**more),
    "patterns": lambda **more: rj.pattern_logit("low ~ interactions(smoke, ht)", births()).fit(
        **SHORT, **more
    ),
    "classifier": lambda **more: rj.mixture_classifier("low ~ lwt + age", births(), components=1).fit(
        **SHORT, **more
    ),
    "chains": lambda **more: waves().fit(sampler="mcmc", **SHORT, **more),
    "filter": lambda **more: waves().fit(particles=20, **more),
}
EXTENDED = [name for name in FITS if "enumeration" not in name and name != "filter"]


def fit(name, **more):
    """Small fits, whose few draws are no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return FITS[name](rng=1, progress=False, **more)


def settings_of(results):
    if isinstance(results, rj.SelectionResults):
        return results.settings
    return results.run.fit if isinstance(results, rj.KernelResults) else results.posterior.settings


def run_time_of(results):
    return results.run.run_time if isinstance(results, rj.KernelResults) else settings_of(results).run_time


def line_of(results):
    (line,) = re.findall(r"Run time: +(.*?) *(?=   |\n)", str(results.summary()))
    return line


def test_a_stopwatch_counts_the_time_of_its_own_thread():
    other = threading.Thread(target=spin, args=(4 * SPIN,))
    watch = Stopwatch(RunTime(10.0, 20.0))
    other.start()
    spin()
    other.join()
    found = watch.read()
    assert 10 + SPIN <= found.cpu < 10 + 3 * SPIN
    assert found.clock >= 20 + 4 * SPIN
    watch.add(5.0, found.cpu - 10.0)  # as if all of it had been that of chains, which say so themselves
    assert 15.0 <= watch.read().cpu < 15.0 + SPIN


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_room_has_a_line(name, n_jobs):
    """CPU seconds of all chains, wherever they ran, none of them twice; the clock is that of the call."""
    begin, cpu = time.perf_counter(), time.process_time()
    results = fit(name, n_jobs=n_jobs)
    clock, cpu = time.perf_counter() - begin, time.process_time() - cpu
    found = run_time_of(results)
    # The process has also made the model, and waited in threads of joblib.
    assert 0.3 * cpu - SPIN <= found.cpu <= cpu + SPIN
    assert 0.0 < found.clock <= clock
    assert line_of(results) == f"{found.cpu:.1f} s CPU, {found.clock:.1f} s elapsed"
    assert "Run time" in results._repr_html_()


def test_processes_are_counted():
    """Their CPU seconds are not those of this process."""
    with joblib.parallel_config(backend="loky", n_jobs=2):
        results = fit("logit", n_jobs=None)
    per_chain = results.diagnostics["cpu_seconds"]
    assert 0.0 < per_chain["all"] == pytest.approx(per_chain[[0, 1]].sum())
    assert run_time_of(results).cpu >= per_chain["all"]


@pytest.mark.parametrize("name", FITS)
def test_files_and_copies_keep_it(name, tmp_path):
    results = fit(name)
    assert run_time_of(pickle.loads(pickle.dumps(results))) == run_time_of(results)
    path = tmp_path / "x.rjs"
    results.save(path, data=True)
    loaded = rj.load(path)
    assert run_time_of(loaded) == run_time_of(results)
    assert line_of(loaded) == line_of(results)


@pytest.mark.parametrize("name", EXTENDED)
def test_extensions_add_up(name, tmp_path):
    results = fit(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        begin, cpu = time.perf_counter(), time.process_time()
        longer = results.extend(50, progress=False)
        clock, cpu = time.perf_counter() - begin, time.process_time() - cpu
    added = run_time_of(longer) + RunTime(-run_time_of(results).cpu, -run_time_of(results).clock)
    assert 0.0 < added.clock <= clock
    assert 0.0 < added.cpu <= cpu + SPIN
    if name == "logit":
        assert (longer.diagnostics["cpu_seconds"] > results.diagnostics["cpu_seconds"]).all()


def test_updates_add_up():
    results = fit("filter")
    before = run_time_of(results)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        x = np.linspace(-2.9, 2.9, 5)[:, None]
        longer = results.update(x, np.sin(x[:, 0]), progress=False) or results
    assert run_time_of(longer).cpu > before.cpu
    assert run_time_of(longer).clock > before.clock


@pytest.mark.parametrize("name", ["logit", "filter", "enumeration"])
def test_killed_runs_add_up(monkeypatch, tmp_path, name):
    """The clock of the killed call is as of its last write, CPU seconds are those of the chains."""
    save, spent = checkpoint.ChainFile.save, []

    def saved(self, done, run_time, runner):
        spin()
        time.sleep(SPIN)
        save(self, done, RunTime(run_time.cpu + 100.0, run_time.clock), runner)
        spent.append(time.perf_counter() - begin)
        raise RuntimeError("crash")

    begin = time.perf_counter()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.ChainFile, "save", saved)
        patch.setattr(checkpoint, "INTERVAL", 0.0)
        with pytest.raises(RuntimeError, match="crash"):
            fit(name, checkpoint=tmp_path / "run", n_jobs=1)
    (first,) = spent
    begin = time.perf_counter()
    found = run_time_of(fit(name, checkpoint=tmp_path / "run", n_jobs=1))
    second = time.perf_counter() - begin
    assert 100.0 < found.cpu < 100.0 + first + second + SPIN
    # The time of day is what chains write: it may be set, by hundredths of a second.
    assert SPIN <= found.clock <= first + second + SPIN


def test_what_was_asked_is_kept(tmp_path):
    """So that a run that goes on from a file aims at what the run of the file aimed at."""
    asked = {"mcse": 0.03, "max_draws": 700, "max_seconds": 90.0}
    model = rj.logit("low ~ lwt + smoke + ht + age + ui", births())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        results = model.fit(sampler="rjmcmc", rng=1, progress=False, **asked)
        path = tmp_path / "x.rjs"
        results.save(path, data=True)
        loaded = rj.load(path)
        assert loaded.settings.accuracy == results.settings.accuracy == Accuracy(**asked)
        here, there = (one.extend(progress=False) for one in (results, loaded))
    assert here.settings.accuracy.mcse == there.settings.accuracy.mcse == 0.03
    assert here.settings.draws == there.settings.draws
    np.testing.assert_array_equal(here.posterior.inclusion, there.posterior.inclusion)


@pytest.mark.parametrize(
    "part",
    [
        {"run_time": {"cpu": -1.0, "clock": 1.0}},
        {"run_time": {"cpu": "x", "clock": 1.0}},
        {"run_time": 3},
        {"accuracy": {"mcse": -0.1, "max_draws": 10, "max_seconds": None, "first": 200}},
        {"accuracy": {"mcse": 0.1, "max_draws": 0, "max_seconds": None, "first": 200}},
        {"accuracy": {"mcse": 0.1, "max_draws": 10, "max_seconds": 0.0, "first": 200}},
        {"accuracy": {"mcse": 0.1, "max_draws": 10, "max_seconds": None, "first": 0}},
        {"accuracy": {"mcse": 0.1}},
    ],
)
def test_files_made_by_hand_are_refused(tmp_path, part):
    path = tmp_path / "x.rjs"
    fit("logit").save(path)
    document = read(path)
    document.content["settings"].update(part)
    write(path, document)
    with pytest.raises((StoreError, rj.ParameterError)):
        rj.load(path)


def test_columns_of_a_table():
    assert RunTime(1.25, 0.5).columns() == {"seconds": [0.5], "cpu_seconds": [1.25]}
