"""Checkpoints of every sampler: a killed run goes on to the draws, bit for bit, of one left alone."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from by_path import module
from turns import every

import pyrjsel as rj
from pyrjsel.runtime import checkpoint as checkpoints
from pyrjsel.runtime.checkpoint import ChainFile

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="processes are forked and killed as POSIX systems do it"
)

PROGRAM = Path(__file__).parent / "fits.py"
fits = module(PROGRAM)


@pytest.fixture(scope="module")
def wanted():
    """Digests of the fits without checkpoints."""
    return {name: fits.digest_of(fits.fit(name)) for name in fits.FITS}


class Stop(Exception):
    """A crash."""


def run_with_crashes(monkeypatch, name, folder, seed):
    """Return the results, and after how many iterations each crash came.

    Every crash comes right after a write, before the end; one in four writes.
    """
    rng, save, crashes = np.random.default_rng(seed), ChainFile.save, []

    def saved(self, done, seconds, runner):
        save(self, done, seconds, runner)
        if len(crashes) < 10 and rng.random() < 0.25:
            crashes.append(done)
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(fits.chains, "BLOCK_SECONDS", 0.002)
        patch.setattr(checkpoints, "INTERVAL", 0.0)
        patch.setattr(ChainFile, "save", saved)
        while True:
            try:
                return fits.fit(name, checkpoint=folder, n_jobs=1), crashes
            except Stop:
                pass


@pytest.mark.parametrize("name", every(2, fits.FITS))
def test_runs_go_on_to_the_same_draws(wanted, monkeypatch, tmp_path, name):
    results, crashes = run_with_crashes(monkeypatch, name, tmp_path / "run", seed=len(name))
    # Enumeration writes a few times.
    assert len(crashes) >= (1 if "enumerated" in name else 2)
    assert fits.digest_of(results) == wanted[name]
    # What is done is not done again.
    begin = time.perf_counter()
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    monkeypatch.setattr(ChainFile, "save", None)
    assert fits.digest_of(fits.fit(name, checkpoint=tmp_path / "run")) == wanted[name]
    assert time.perf_counter() - begin < 30


@pytest.mark.parametrize(
    "kills", [8, pytest.param(100, marks=pytest.mark.statistical)], ids=["8 kills", "100 kills"]
)
def test_whenever_a_process_is_killed(wanted, tmp_path, kills):
    """All fits, one after the other, in a child process; SIGKILL comes 0 to 0.5 s after its beginning."""
    rng, struck, rounds = np.random.default_rng(kills), 0, 0
    while struck < kills:
        folder = tmp_path / f"round {rounds}"
        folder.mkdir()
        rounds += 1
        with subprocess.Popen(
            [sys.executable, PROGRAM, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            while len(list(folder.glob("*.txt"))) < len(wanted):
                server.stdin.write("\n")
                server.stdin.flush()
                child = int(server.stdout.readline())
                if struck < kills:
                    time.sleep(0.5 * rng.random())
                    with contextlib.suppress(ProcessLookupError):  # it has ended before
                        os.kill(child, signal.SIGKILL)
                status = int(server.stdout.readline())
                assert status in (0, -signal.SIGKILL)
                struck += status != 0
            server.stdin.close()
        assert {file.stem: file.read_text() for file in folder.glob("*.txt")} == wanted


def test_results_do_not_depend_on_workers(wanted, tmp_path, monkeypatch):
    """A run begun with one worker is ended by two."""
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    with monkeypatch.context() as patch:
        run = run_with_crashes(patch, "linear tempered", tmp_path / "run", seed=3)
    assert run[1]
    assert (
        fits.digest_of(fits.fit("linear tempered", checkpoint=tmp_path / "run", n_jobs=2))
        == (wanted["linear tempered"])
    )


# ---------------------------------------------------------------------- what is refused

COLUMNS = ["x0", "x1", "x2"]


def frame(seed=0):
    rng = np.random.default_rng(seed)
    data = fits.pd.DataFrame(rng.normal(size=(60, 3)), columns=COLUMNS)
    data["y"] = data["x0"] + rng.normal(size=60)
    return data


def linear(data=None, formula="y ~ x0 + x1 + x2", **priors):
    return rj.linear(formula, frame() if data is None else data, **priors)


FIT = {"sampler": "collapsed", "draws": 200, "chains": 2, "rng": 1, "progress": False}


@pytest.mark.parametrize(
    ("model", "changed", "reason"),
    [
        ({"data": frame(1)}, {}, "data differs"),
        ({"data": frame().iloc[::-1]}, {}, "data differs"),
        ({"formula": "y ~ x0 + x1"}, {}, "formula was 'y ~ x0 [+] x1 [+] x2' and is 'y ~ x0 [+] x1'"),
        ({"coef_prior": rj.GPrior(7.0)}, {}, "coefficient prior differs"),
        ({"model_prior": rj.Uniform()}, {}, "model prior differs"),
        ({"sigma_prior": rj.InverseGamma(1, 1)}, {}, "error variance prior differs"),
        ({"max_size": 2}, {}, "max_size was None and is 2"),
        ({"always": "x1"}, {}, "always differs"),
        ({}, {"sampler": "gibbs"}, "sampler was 'collapsed' and is 'gibbs'"),
        ({}, {"draws": 201}, "draws was 200 and is 201"),
        ({}, {"burn_in": 41}, "burn_in was '40 or more' and is 41"),
        ({}, {"thin": 2}, "thin was 1 and is 2"),
        ({}, {"chains": 3}, "chains was 2 and is 3"),
        ({}, {"temperatures": 2}, "option temperatures was 'auto' and is 2"),
        ({}, {"rng": 2}, "its random numbers had another seed"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else "",
)
def test_checkpoints_of_other_runs(tmp_path, model, changed, reason):
    linear().fit(checkpoint=tmp_path / "run", **FIT)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(rj.StoreError, match=f"belongs to another run: .*{reason}"):
        linear(**model).fit(checkpoint=tmp_path / "run", **{**FIT, **changed})
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.filterwarnings("ignore:The run has .* effective draws")
def test_of_other_models_of_patterns_and_kernels(tmp_path):
    births = rj.datasets.birthwt().data
    short = {"draws": 20, "burn_in": 20, "chains": 1, "rng": 1, "progress": False}

    def pattern(data=births, order=2, **priors):
        return rj.pattern_logit(f"low ~ interactions(race, smoke, ht, order={order})", data, **priors)

    pattern().fit(checkpoint=tmp_path / "a", **short)
    for other, reason in (
        (pattern(births.iloc[1:]), "data differs"),
        (pattern(order=1), "order was 2 and is 1"),
        (pattern(prior="gaussian"), "priors differs"),
        (pattern(sigma_0=2.0), "priors differs"),
        (pattern(compress=False), "compress was True and is False"),
    ):
        with pytest.raises(rj.StoreError, match=reason):
            other.fit(checkpoint=tmp_path / "a", **short)
    with pytest.raises(rj.StoreError, match="model was 'PatternLogit' and is 'LinearSelection'"):
        linear().fit(checkpoint=tmp_path / "a", **FIT)
    y, x = frame()["y"], frame()[COLUMNS]

    def kernel(y=y, **more):
        return rj.KernelRegression(y, x, **{"kernel": lambda a, b: np.exp(-((a @ b.T) ** 2)), **more})

    kernel().fit(checkpoint=tmp_path / "b", rng=1, particles=20)
    for other, more, reason in (
        (kernel(-y), {}, "data differs"),
        (kernel(kernel=lambda a, b: np.exp(-((a @ b.T) ** 4))), {}, "values of the kernel differs"),
        (kernel(width=2.0), {}, "width differs"),
        (kernel(mean_kernels=2.0), {}, r"mean_kernels was 1\.0 and is 2\.0"),
        (kernel(), {"particles": 21}, "particles was 20 and is 21"),
        (kernel(), {"row_order": "given"}, "row_order was 'random' and is 'given'"),
        (kernel(), {"runs": 2}, "runs was 1 and is 2"),
        (kernel(), {"rng": 2}, "its random numbers had another seed"),
    ):
        with pytest.raises(rj.StoreError, match=reason):
            other.fit(checkpoint=tmp_path / "b", **{"rng": 1, "particles": 20, **more})
    kernel().fit(checkpoint=tmp_path / "b", rng=1, particles=20)


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
def test_of_other_classifiers(tmp_path):
    short = {"draws": 30, "burn_in": 20, "chains": 1, "rng": 1, "progress": False}

    def classifier(**changes):
        return rj.mixture_classifier("species ~ a + b", fits.flowers(), **changes)

    first = classifier().fit(checkpoint=tmp_path / "run", **short)
    for changes, reason in (
        ({"target": "joint"}, "target was 'labels' and is 'joint'"),
        ({"weight_prior": 0.5}, r"weight prior was 0\.1 and is 0\.5"),
        ({"prior": rj.KernelPrior(h=0.16)}, "prior differs"),
        ({"components": 2}, "components differs"),
        ({"proposal": "prior"}, "option proposal was 'conditional' and is 'prior'"),
    ):
        with pytest.raises(rj.StoreError, match=reason):
            classifier(**changes).fit(checkpoint=tmp_path / "run", **short)
    again = classifier().fit(checkpoint=tmp_path / "run", **short)
    assert fits.digest_of(again) == fits.digest_of(first)


def test_no_seed_is_the_seed_that_is_there(tmp_path):
    """What was drawn for ``rng=None`` is kept."""
    options = {**FIT, "rng": None, "draws": 3000}
    first = linear().fit(checkpoint=tmp_path / "run", **options)
    again = linear().fit(checkpoint=tmp_path / "run", **options)
    assert fits.digest_of(first) == fits.digest_of(again)
    other = linear().fit(checkpoint=tmp_path / "other", **options)
    assert fits.digest_of(first) != fits.digest_of(other)
    # A run with a seed can be called without it, too.
    seeded = linear().fit(checkpoint=tmp_path / "seeded", **FIT)
    assert fits.digest_of(seeded) == fits.digest_of(
        linear().fit(checkpoint=tmp_path / "seeded", **{**FIT, "rng": None})
    )


def test_checkpoints_hold_no_rows_and_run_nothing(tmp_path):
    data = frame()
    data["y"] = 1234.5 + np.arange(60.0) ** 2
    linear(data).fit(checkpoint=tmp_path / "run", **FIT)
    whole = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    for value in [*data["y"].head(), *data["x0"].head()]:
        assert np.float64(value).tobytes() not in whole
