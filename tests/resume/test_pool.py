"""Pooled runs are, bit for bit, one run of all their chains."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from by_path import module
from turns import every

import pyrjsel as rj
from pyrjsel.runtime.settings import Anew
from pyrjsel.selection.samplers.recording import recorder

fits = module(Path(__file__).parent / "fits.py")

PATTERNS = ("patterns", "sequence")
SELECTION = (rj.LogitSelection, rj.PoissonSelection, rj.LinearSelection)
SAMPLED = [name for name in fits.FITS if "smc" not in name and "draws" in fits.FITS[name][1]]


@pytest.fixture(autouse=True)
def _few_draws():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        yield


def seeds_from(chain):
    """Return a generator whose first chain has the seed of chain `chain` of ``seeds_from(0)``."""
    sequence = np.random.SeedSequence(5, n_children_spawned=chain)
    return np.random.Generator(np.random.PCG64(sequence))


def run(name, first, chains, **more):
    draws = max(20, fits.FITS[name][1]["draws"] // 4)
    own = {"draws": draws, "burn_in": fits.FITS[name][1].get("burn_in", draws // 5)}
    if isinstance(model_of(name), SELECTION):  # else the first chain of a run would not start like the others
        own["start"] = "empty"
    return fits.fit(name, rng=seeds_from(first), chains=chains, **{**own, **more})


def model_of(name):
    return fits.make_models()[fits.FITS[name][0]]


@pytest.mark.parametrize("name", every(2, [name for name in SAMPLED if not name.startswith(PATTERNS)]))
def test_pooled_runs_are_one_run(name):
    pooled = rj.pool([run(name, 0, 2), run(name, 2, 1), run(name, 3, 1)])
    assert fits.digest_of(pooled) == fits.digest_of(run(name, 0, 4))


@pytest.mark.parametrize("name", [name for name in SAMPLED if name.startswith(PATTERNS)])
def test_pooled_runs_of_patterns(name):
    """Chain 2 starts as the first chain of its run, and the others as in the run of four."""
    parts = [run(name, 0, 2), run(name, 2, 2)]
    pooled, whole = rj.pool(parts), run(name, 0, 4)
    np.testing.assert_array_equal(pooled.posterior.draws.s[[0, 1, 3]], whole.posterior.draws.s[[0, 1, 3]])
    np.testing.assert_array_equal(pooled.posterior.draws.s[2], parts[1].posterior.draws.s[0])


@pytest.mark.parametrize("name", ["logit collapsed", "linear gibbs", "labels classifier", "kernel mcmc"])
def test_pooled_runs_are_saved_and_extended(name, tmp_path):
    pooled = rj.pool([run(name, 0, 2), run(name, 2, 2)])
    pooled.save(tmp_path / "pooled.rjs", data=True)
    loaded = rj.load(tmp_path / "pooled.rjs")
    assert str(loaded.summary()) == str(pooled.summary())
    assert fits.digest_of(loaded.extend(7, progress=False)) == fits.digest_of(
        run(name, 0, 4).extend(7, progress=False)
    )


def test_runs_from_files(tmp_path):
    """As of other machines: with the training data, and not without."""
    parts = [run("logit rjmcmc", first, 2) for first in (0, 2)]
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number}.rjs", data=True)
        part.save(tmp_path / f"{number}-bare.rjs", data=False)
    loaded = [rj.load(tmp_path / f"{number}.rjs") for number in (0, 1)]
    pooled = rj.pool(loaded)
    assert fits.digest_of(pooled) == fits.digest_of(rj.pool(parts))
    spent = [part.settings.run_time.cpu for part in parts]
    assert pooled.settings.run_time.cpu >= sum(spent)
    with pytest.raises(rj.NotAvailableError, match="training data"):
        rj.pool([rj.load(tmp_path / f"{number}-bare.rjs") for number in (0, 1)])


def test_pooled_errors_are_smaller():
    """Twice the chains: errors of inclusion probabilities shrink by a root of two, give or take their own."""
    parts = [fits.fit("logit rjmcmc", rng=seed, draws=2000, chains=4) for seed in (1, 2)]
    pooled = rj.pool(parts)
    one, both = (np.nanmean(results.inclusion["mcse"] ** 2) for results in (parts[0], pooled))
    assert 0.3 < both / one < 0.8
    middle = (parts[0].inclusion["posterior"] + parts[1].inclusion["posterior"]) / 2
    np.testing.assert_allclose(pooled.inclusion["posterior"], middle, rtol=1e-12)


def test_chains_may_start_anywhere():
    parts = [run("logit rjmcmc", 0, 2), run("logit rjmcmc", 2, 2, start=["x1", "x2"])]
    assert rj.pool(parts).draws.model.shape == (4, 500)


def test_runs_that_ended_by_themselves(monkeypatch):
    """They are pooled as they are: without further rounds, and with the coefficients that they kept."""
    monkeypatch.setattr(recorder, "MOST_COEFFICIENT_BYTES", 60_000)
    parts = [
        fits.fit("logit rjmcmc", rng=seed, draws="auto", max_draws=800, mcse=1e-4, chains=2)
        for seed in (1, 2)
    ]
    assert {part.draws.coefficients_every for part in parts} == {2}
    for part in parts:  # as if audits had begun them anew
        starts = np.zeros((2, 7), dtype=np.uint8)
        part.settings = replace(part.settings, anew=Anew(starts[:1], starts))
    pooled = rj.pool(parts)
    assert pooled.draws.coefficients_every == 2
    for name in ("coefficients", "log_posterior"):
        both = np.concatenate([getattr(part.draws, name) for part in parts])
        np.testing.assert_array_equal(getattr(pooled.draws, name), both)
    assert pooled.settings.accuracy is None
    assert pooled.settings.anew is None


def test_a_run_that_was_interrupted():
    parts = [run("logit rjmcmc", first, 2) for first in (0, 2)]
    parts[1].posterior.ends = replace(parts[1].posterior.ends, complete=False)
    with pytest.raises(rj.NotAvailableError, match=r"results\[1\] of pool come from an interrupted run"):
        rj.pool(parts)


def test_bad_input():
    parts = {"one": run("logit rjmcmc", 0, 2), "poisson": run("poisson collapsed", 2, 2)}
    for given, match in [
        (parts["one"], "must be a sequence of at least two results"),
        ([parts["one"]], "must be a sequence of at least two results"),
        ([parts["one"], 3], "must be results of draws of one class"),
        ([parts["one"], run("classifier", 2, 2)], "must be results of draws of one class"),
        ([parts["one"], parts["one"]], "different random numbers. Got one chain twice"),
        ([parts["one"], run("logit rjmcmc", 0, 3)], "Got one chain twice"),
        ([parts["one"], parts["poisson"]], r"results\[0\] and results\[1\] differ in model, data,.*sampler"),
        (
            [parts["one"], run("logit rjmcmc", 2, 2, draws=501)],
            r"differ in draws \(500; 501\)\. Make them equal with 'extend'",
        ),
        (
            [parts["one"], run("logit rjmcmc", 2, 2, burn_in=9, thin=2)],
            r"burn_in \(100; 9\), thin \(1; 2\)",
        ),
        ([parts["one"], run("logit rjmcmc", 2, 2, swaps=2)], "differ in option swaps"),
    ]:
        with pytest.raises(rj.ParameterError, match=match):
            rj.pool(given)
    with pytest.raises(rj.NotAvailableError, match="no chains to extend or to pool"):
        rj.pool([fits.fit("logit enumerated"), fits.fit("logit enumerated")])
    with pytest.raises(rj.NotAvailableError, match="no chains to extend or to pool"):
        rj.pool([fits.fit("kernel smc"), fits.fit("kernel smc", rng=2)])
