"""Fits of rows in chunks that are killed, run out of disk, or lose a worker."""

import errno
import importlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.samplers.enumeration import passes as sampler
from pyrjsel.storage import files


def make(n=600):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    table["y"] = (rng.random(n) < 1 / (1 + np.exp(-0.4 * table["a"]))).astype(int)
    table["way"] = table["y"] + (table["b"] > 1)
    return table


def cut(data, size=200):
    return lambda: (data.iloc[at : at + size] for at in range(0, len(data), size))


def model(source=None, build=rj.logit):
    y = "way" if build == rj.multinomial else "y"
    return build(f"{y} ~ a + b + c", cut(make()) if source is None else source)


@pytest.fixture(scope="module")
def whole():
    return model().fit(rng=1)


@pytest.fixture
def made(monkeypatch):
    usual, made = sampler.Passes._pass, []

    def counted(self):
        usual(self)
        made.append(self.stage)

    monkeypatch.setattr(sampler.Passes, "_pass", counted)
    return made


@pytest.fixture
def random_state():
    """Dask draws from the global generator."""
    before = random.getstate()
    yield
    random.setstate(before)


KILLED = """
import os, signal, sys
import test_chunk_failures as test
from pyrjsel.design.stream import RowReader

usual, passes = RowReader.reduce, []

def reduce(self, work):
    passes.append(1)
    if len(passes) == int(sys.argv[2]):  # with a part of the chunks read
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(self, work)

found = test.model()
RowReader.reduce = reduce
found.fit(rng=1, checkpoint=sys.argv[1])
"""


@pytest.mark.statistical  # for its time
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed as POSIX does it")
def test_a_killed_fit_loses_the_pass_that_it_was_in(whole, made, tmp_path):
    run = [sys.executable, "-P", "-c", KILLED, str(tmp_path / "checkpoint"), "4"]
    path = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parent)])
    killed = subprocess.run(run, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert killed.returncode == -signal.SIGKILL
    again = model().fit(rng=1, checkpoint=tmp_path / "checkpoint")
    pd.testing.assert_frame_equal(again.inclusion, whole.inclusion)
    # The first pass is that of the model; three of the fit were saved.
    assert len(made) == int(whole.diagnostics["passes"].item()) - 1 - 3


@pytest.mark.parametrize("saves", [1, 3])
def test_a_full_disk_keeps_the_checkpoint_before(whole, made, tmp_path, monkeypatch, saves):
    usual = files.os.fsync

    def full(number):
        if len(made) > saves:
            raise OSError(errno.ENOSPC, "No space left on device")
        usual(number)

    with monkeypatch.context() as patch:
        patch.setattr("pyrjsel.storage.files.os.fsync", full)
        with pytest.raises(OSError, match="No space left on device"):
            model().fit(rng=1, checkpoint=tmp_path / "checkpoint")
    made.clear()
    again = model().fit(rng=1, checkpoint=tmp_path / "checkpoint")
    pd.testing.assert_frame_equal(again.inclusion, whole.inclusion)
    assert len(made) == int(whole.diagnostics["passes"].item()) - 1 - saves


def test_workers_that_die_of_a_partition_are_named(monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    parts = dd.from_pandas(make(), npartitions=3)

    def killed(self, **options):
        raise distributed.KilledWorker("work", SimpleNamespace(address="here"), 3)

    monkeypatch.setattr(importlib.import_module("dask.delayed").Delayed, "compute", killed)
    with pytest.raises(rj.WorkerError, match=r"Workers died of one partition .* smaller partitions"):
        model(parts)


@pytest.mark.statistical
@pytest.mark.parametrize("build", [rj.logit, rj.multinomial])
def test_a_pass_whose_worker_dies_is_begun_again(build, random_state):
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    parts = dd.from_pandas(make(), npartitions=3)
    deaths = []
    usual = sampler.Passes._pass

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        pytest.MonkeyPatch.context() as patch,
    ):
        slow = parts.map_partitions(slowly)
        found = model(slow, build)

        def deadly(self):
            if len(deaths) < 2:
                pids = list(client.run(os.getpid).values())
                deaths.append(client.submit(kill, pids[0], pure=False))
            usual(self)

        patch.setattr(sampler.Passes, "_pass", deadly)
        again = found.fit(rng=1)
    assert len(deaths) == 2
    whole = model(build=build).fit(rng=1)
    np.testing.assert_allclose(again.inclusion["posterior"], whole.inclusion["posterior"], rtol=1e-9)


def slowly(part):
    time.sleep(0.5)
    return part


def kill(pid):
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
