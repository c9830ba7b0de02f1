"""Runs that go on where they ended: to the last bit what one longer run gives."""

import contextlib
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from by_path import module
from interrupts import ctrl_c
from turns import by_turns, every

import pyrjsel as rj
from pyrjsel.mixture import sampler as mixtures
from pyrjsel.runtime import checkpoint as checkpoints
from pyrjsel.runtime.checkpoint import ChainFile
from pyrjsel.selection.regression.columns import TermColumns
from pyrjsel.selection.samplers.recording import recorder as collect
from pyrjsel.storage import Document, read, write

fits = module(Path(__file__).parent / "fits.py")

SAMPLED = [name for name in fits.FITS if "smc" not in name and "draws" in fits.FITS[name][1]]


@pytest.fixture(autouse=True)
def _few_draws():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        yield


def plan(name):
    """Return draws, some more, and burn-in of a fit that is short."""
    options = fits.FITS[name][1]
    draws = max(20, options["draws"] // 4)
    return draws, draws // 3 + 1, options.get("burn_in", draws // 5)


def short(name, **more):
    draws, _, burn_in = plan(name)
    return fits.fit(name, **{"draws": draws, "burn_in": burn_in, **more})


def long(name, **more):
    draws, extra, burn_in = plan(name)
    return fits.fit(name, draws=draws + 2 * extra, burn_in=burn_in, **more)


@pytest.fixture(scope="module")
def wanted():
    """Digests of the longer runs, made once each."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = fits.digest_of(long(name))
        return known[name]

    return of


@pytest.mark.parametrize("name", every(2, SAMPLED))
def test_two_extensions_are_one_longer_run(wanted, name):
    extra = plan(name)[1]
    first = short(name)
    before = fits.digest_of(first)
    second = first.extend(extra)
    assert fits.digest_of(first) == before
    assert fits.digest_of(second.extend(extra, n_jobs=2, progress=False)) == wanted(name)
    assert fits.digest_of(first.extend(2 * extra)) == wanted(name)


@pytest.mark.parametrize("name", SAMPLED)
def test_after_loading(wanted, tmp_path, name):
    extra = plan(name)[1]
    short(name).extend(extra).save(tmp_path / "a.rjs", data=True)
    again = rj.load(tmp_path / "a.rjs").extend(extra)
    assert fits.digest_of(again) == wanted(name)
    again.summary()


def test_after_loading_with_rows_given_again(wanted, tmp_path):
    """Files without rows have none in the states of chains either."""
    births = rj.datasets.birthwt().data
    for name, data in (
        ("patterns interweaving", births),
        ("long kernel mcmc", fits.waves(1100)),
        ("classifier", fits.flowers()),
        ("labels classifier", fits.flowers()),
        ("compared classifiers", fits.flowers()),
    ):
        short(name).save(tmp_path / "a.rjs")
        with pytest.raises(rj.NotAvailableError, match=r"rj\.load\(path, data=\.\.\.\)"):
            rj.load(tmp_path / "a.rjs").extend(5)
        found = rj.load(tmp_path / "a.rjs", data=data).extend(2 * plan(name)[1])
        assert fits.digest_of(found) == wanted(name)


@pytest.mark.parametrize(
    "name", ["logit rjmcmc", "linear rjmcmc", "spikes conditional", "linear collapsed", "logit population"]
)
def test_draws_of_coefficients_are_thinned_as_in_one_run(monkeypatch, name):
    """The shorter run keeps every fourth vector of coefficients, the longer one every eighth."""
    extra = plan(name)[1]
    monkeypatch.setattr(
        "pyrjsel.selection.samplers.recording.recorder.COEFFICIENT_BYTES", 8 * 8 * 2 * plan(name)[0] // 4
    )
    first, once = short(name), long(name)
    every = [found.posterior.draws.coefficients_every for found in (first, once)]
    assert every[1] > every[0] >= 4
    assert fits.digest_of(first.extend(2 * extra)) == fits.digest_of(once)


def test_what_a_draw_becomes_does_not_depend_on_the_draws_beside_it():
    """To the last bit: a longer run works on other blocks of draws."""
    rng, width = np.random.default_rng(0), 37
    columns = TermColumns()
    columns.mean, columns.scale = rng.normal(size=width), rng.uniform(1, 2, width)
    columns.term_start = np.arange(1, width + 2, dtype=np.intc)
    b, gamma = rng.normal(size=(101, width + 1)), rng.integers(2, size=(101, width), dtype=np.uint8)
    for of, rows in ((columns.to_raw, b), (columns.log_scale, gamma)):
        for cuts in ([43], range(1, 101)):
            np.testing.assert_array_equal(np.concatenate([of(x) for x in np.split(rows, cuts)]), of(rows))


# ---------------------------------------------------------------------- interrupts, crashes


def interrupted(monkeypatch, name, after, run):
    """Return what `run` gives where Ctrl-C comes once some chain has done `after` iterations."""
    step, sent = fits.chains._advance, []

    def advance(job, start, signals):
        class Watched:
            total = job.total

            def __init__(self, runner):
                self.runner = runner

            def __getattr__(self, key):
                return getattr(self.runner, key)

            def advance(self, n):
                self.runner.advance(n)
                self.done_here = getattr(self, "done_here", 0) + n
                if not sent and self.done_here >= after:
                    sent.append(True)
                    ctrl_c()

        class Job:
            total = job.total

            def start(self, *args):
                return Watched(job.start(*args))

            def resume(self, *args):
                return Watched(job.resume(*args))

        return step(Job(), start, signals)

    with monkeypatch.context() as patch:
        patch.setattr(fits.chains, "BLOCK_SECONDS", 0.001)
        patch.setattr(fits.chains, "_advance", advance)
        found = run()
    assert sent
    return found


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
@pytest.mark.parametrize(
    ("workers", "name"), by_turns([1, 2], [name for name in SAMPLED if name != "compared classifiers"])
)
def test_interrupted_runs_go_on(monkeypatch, wanted, name, workers, tmp_path):
    """Chains that had got further than the shortest, or had no draw, go on from where they were."""
    draws, extra, burn_in = plan(name)
    thin = fits.FITS[name][1].get("thin", 10 if "patterns" in name else 1)
    found = interrupted(monkeypatch, name, burn_in + 3 * thin, lambda: short(name, n_jobs=workers))
    have = len(series(found)[0])
    assert have < draws
    found.save(tmp_path / "a.rjs", data=True)
    for each in (found, rj.load(tmp_path / "a.rjs")):
        assert fits.digest_of(each.extend(draws + 2 * extra - have)) == wanted(name)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
@pytest.mark.parametrize("name", ["classifier", "logit rjmcmc", "spikes gibbs", "linear population"])
def test_runs_that_were_planned_longer_go_on(monkeypatch, name):
    """They kept large arrays of fewer draws than the run that they end as would have kept."""
    monkeypatch.setattr(collect, "COEFFICIENT_BYTES", 2_000)
    monkeypatch.setattr(mixtures, "KERNEL_BYTES", 20_000)
    burn_in = plan(name)[2]
    first = interrupted(
        monkeypatch, name, burn_in + 20, lambda: short(name, draws=1_000_000, n_jobs=1, thin=1)
    )
    have = series(first).shape[1]
    assert have < 900_000
    longer = first.extend(30)
    once = short(name, draws=series(longer).shape[1], thin=1)
    np.testing.assert_array_equal(series(longer), series(once))
    step = every(longer) // every(once)
    assert every(longer) == every(first) > every(once)
    for found, among in zip(kept(longer), kept(once), strict=True):
        np.testing.assert_array_equal(found, among[:, ::step])


def every(results):
    """Return how many draws there are to one whose large arrays are kept."""
    if hasattr(results.posterior, "every"):
        return results.posterior.every
    return results.posterior.draws.coefficients_every


def kept(results):
    """Return large arrays, (chains, kept, ...)."""
    if hasattr(results.posterior, "every"):
        return [results.posterior.mean, results.posterior.weight]
    return [results.posterior.draws.coefficients]


def series(results):
    """Return something of each draw, (chains, draws)."""
    if hasattr(results, "run"):
        return results.run.draws.k
    return results.draws.log_posterior


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
@pytest.mark.parametrize("name", ["linear rjmcmc", "spikes gibbs", "logit collapsed", "kernel mcmc"])
def test_interrupted_extensions_go_on(monkeypatch, wanted, name):
    """Some draws are those of the results, others are of the chains."""
    draws, extra, _ = plan(name)
    first = short(name)
    found = interrupted(monkeypatch, name, 2, lambda: first.extend(extra, n_jobs=1))
    have = len(series(found)[0])
    assert draws <= have < draws + extra
    assert fits.digest_of(found.extend(draws + 2 * extra - have)) == wanted(name)


class Stop(Exception):
    """A crash."""


@pytest.mark.parametrize("name", ["linear rjmcmc", "logit collapsed", "patterns slice", "kernel mcmc"])
def test_extensions_have_checkpoints(monkeypatch, wanted, name, tmp_path):
    extra, first = plan(name)[1], short(name)
    rng, save, crashes = np.random.default_rng(3), ChainFile.save, []

    def saved(self, done, seconds, runner):
        save(self, done, seconds, runner)
        if len(crashes) < 5 and rng.random() < 0.4:
            crashes.append(done)
            raise Stop

    found = None
    with monkeypatch.context() as patch:
        patch.setattr(fits.chains, "BLOCK_SECONDS", 0.001)
        patch.setattr(checkpoints, "INTERVAL", 0.0)
        patch.setattr(ChainFile, "save", saved)
        while found is None:
            with contextlib.suppress(Stop):
                found = first.extend(2 * extra, n_jobs=1, checkpoint=tmp_path / "run")
    assert crashes
    assert fits.digest_of(found) == wanted(name)
    with pytest.raises(rj.StoreError, match="belongs to another run: draws was"):
        first.extend(extra, checkpoint=tmp_path / "run")
    with pytest.raises(rj.StoreError, match="chains that go on differs"):
        found.extend(1, checkpoint=tmp_path / "run")


# ---------------------------------------------------------------------- what is refused


def test_results_without_chains():
    model = fits.make_models()["linear"]
    with pytest.raises(rj.NotAvailableError, match="Enumeration has no chains"):
        model.fit(sampler="enumerate", rng=1).extend(10)
    with pytest.raises(rj.NotAvailableError, match="it takes more rows, by 'update'"):
        fits.fit("kernel smc").extend(10)


@pytest.mark.parametrize("name", ["linear rjmcmc", "patterns slice", "kernel mcmc"])
def test_numbers_that_are_none(name):
    found = short(name)
    for draws in (0, -1, 2.5, "10", True):
        with pytest.raises(rj.ParameterError, match="'draws' parameter of extend must be an int in"):
            found.extend(draws)
    with pytest.raises(rj.ParameterError, match="n_jobs"):
        found.extend(10, n_jobs=0)


def test_states_that_somebody_changed(tmp_path):
    """Archives that are whole: what does not fit is found when a chain goes on from it."""
    for name, change, must in (
        ("linear rjmcmc", lambda end: end["state"]["chain"].update(gamma=np.zeros(3, np.uint8)), "'gamma'"),
        ("linear rjmcmc", lambda end: end["state"]["totals"].update(sums=None), "'sums'"),
        ("logit collapsed", lambda end: end["recorded"].update(effective=np.zeros(1)), "do not match the"),
        ("patterns slice", lambda end: end["state"].update(s=np.zeros((1, 2))), "'s'"),
        ("kernel mcmc", lambda end: end["state"].update(bit_generator=3), "bit_generator"),
    ):
        short(name).save(tmp_path / "a.rjs", data=True)
        document = read(tmp_path / "a.rjs")
        content = document.content
        ends = content.get("run", content)["ends"]
        change(ends["chains"][0])
        write(tmp_path / "b.rjs", Document(document.kind, content))
        with pytest.raises(rj.StoreError, match=must):
            rj.load(tmp_path / "b.rjs").extend(5, n_jobs=1)
