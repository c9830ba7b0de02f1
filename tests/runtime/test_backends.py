"""Fits of every room under every backend of joblib: same draws, one BLAS thread, data that are sent once."""

import os
import signal
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from by_path import module
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_info, threadpool_limits
from turns import by_turns

import pyrjsel as rj
from pyrjsel.runtime import run_chains
from pyrjsel.selection.samplers import listing

fits = module(Path(__file__).parents[1] / "resume" / "fits.py")

BACKENDS = ("threading", "loky", pytest.param("dask", marks=pytest.mark.cluster))
NAMES = (
    "logit rjmcmc", "logit population", "logit collapsed", "poisson collapsed", "linear rjmcmc",
    "linear collapsed", "linear gibbs", "spikes conditional", "patterns interweaving", "patterns slice",
    "kernel smc", "kernel mcmc",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def loky_ends():
    """Put away loky's workers."""
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.fixture
def backends(request):
    """Return a function that gives the context of a backend by its name, with two workers."""

    def context(name, **options):
        if name == "dask":
            request.getfixturevalue("dask_client")
        return joblib.parallel_config(backend=name, n_jobs=2, **options)

    return context


def classifier():
    data = rj.datasets.pima().data.iloc[:150]
    model = rj.mixture_classifier("type ~ glu + bmi + age", data, components=2)
    return model.fit(draws=200, burn_in=50, chains=2, rng=1, progress=False)


def listed(name, **options):
    return fits.make_models()[name].fit(sampler="enumerate", rng=1, progress=False, **options)


def widths():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(40, 1))
    model = rj.KernelRegression(np.sin(3 * z[:, 0]), z, width=[0.3, 0.6])
    return model.fit(particles=40, rng=1, progress=False)


OTHERS = {
    "mixture classifier": classifier,
    "logit enumerate": lambda: listed("logit"),
    "linear enumerate": lambda: listed("linear"),
    "kernel widths": widths,
}


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
@pytest.mark.parametrize(
    ("backend", "name"),
    [
        *by_turns(["threading", "loky"], [*NAMES, *OTHERS]),
        *[pytest.param("dask", name, marks=pytest.mark.cluster) for name in [*NAMES, *OTHERS]],
    ],
)
def test_fits_are_the_same_under_every_backend(backends, name, backend):
    fit = OTHERS.get(name, lambda: fits.fit(name))
    with joblib.parallel_config(backend="sequential"):
        wanted = fits.digest_of(fit())
    with backends(backend):
        assert fits.digest_of(fit()) == wanted


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("linear", {}),
        ("mixture", {}),
        ("spikes", {}),
        ("unscaled", {}),
        ("logit", {}),
        ("logit", {"integration": "laplace"}),
    ],
)
def test_lists_of_models_do_not_depend_on_blocks(monkeypatch, name, options):
    """To the last bit: blocks are as long as the machine makes them."""
    monkeypatch.setattr(listing, "UNIT", 5)  # three and a bit to a part
    wanted = fits.digest_of(listed(name, **options))
    monkeypatch.setattr(fits.chains, "BLOCK_SECONDS", 1e-9)
    assert fits.digest_of(listed(name, **options)) == wanted


class Look:
    """Chains that hold data, and tell of themselves."""

    total = 40

    def __init__(self, size, pause=0.001):
        self.data, self.pause, self.pickled = np.arange(float(size)), pause, 0

    def __getstate__(self):
        self.pickled += 1
        return self.__dict__

    def start(self, seed, chain):
        return Looker(self, seed)


class Looker:
    def __init__(self, job, seed):
        self.job, self.draw, self.done = job, np.random.default_rng(seed).random(), 0

    def advance(self, n):
        time.sleep(n * self.job.pause)
        self.done += n

    def finish(self, completed):
        data = self.job.data
        return {
            "blas": {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"},
            "place": os.getpid(),
            "file": getattr(data, "filename", None),
            "sum": data.sum() + self.draw,
            "address": data.ctypes.data,
            "back": np.ones(3),
            "done": self.done,
        }


def look(chains=4, size=10, seed=3, **options):
    job = Look(size, **options)
    return job, run_chains(job, chains, np.random.default_rng(seed), progress=False)


@pytest.mark.parametrize("backend", BACKENDS)
def test_chains_have_one_blas_thread_each(backends, backend):
    """This process and workers had two before."""
    more = {"inner_max_num_threads": 2} if backend == "loky" else {}
    with backends(backend, **more), threadpool_limits(2, user_api="blas"):
        outcome = look()[1]
        assert {frozenset(result["blas"]) for result in outcome.results} == {frozenset({1})}
        away = {result["place"] for result in outcome.results} - {os.getpid()}
        assert bool(away) == (backend != "threading")
        if backend == "loky":  # workers of a cluster may not find this file
            outside = joblib.Parallel()(joblib.delayed(threads_of_blas)() for _ in range(4))
            assert set(outside) == {2}  # without the limit, and after it


def threads_of_blas():
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@pytest.mark.cluster
def test_data_go_to_a_cluster_once(backends):
    """And chains are dealt to its workers evenly."""
    with backends("dask"):
        few, (job, outcome) = look(chains=2)[0], look(chains=8)
    assert few.pickled == job.pickled
    places = [result["place"] for result in outcome.results]
    assert sorted(places.count(place) for place in set(places)) == [4, 4]
    # As numpy itself has them, on either side: sums of others can differ in the last bit.
    assert all(result["address"] % 16 == 0 for result in outcome.results)
    assert all(result["back"].ctypes.data % 16 == 0 for result in outcome.results)


@pytest.mark.cluster
def test_a_cluster_of_one_processor(backends, monkeypatch):
    """joblib runs in the client what is for one."""
    wanted = look()[1]
    with backends("dask"):
        monkeypatch.setattr(type(get_active_backend()[0]), "effective_n_jobs", lambda self, n_jobs: 1)
        found = look()[1]
    assert [result["sum"] for result in found.results] == [result["sum"] for result in wanted.results]
    assert {result["place"] for result in found.results} == {os.getpid()}


def test_processes_of_a_machine_share_large_arrays(backends):
    with backends("loky"):
        files = {result["file"] for result in look(size=200_000)[1].results}
    assert len(files) == 1
    assert None not in files


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_interrupt_keeps_what_there_is(backends, backend):
    with backends(backend):
        look(chains=2)  # workers are up
        threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.perf_counter()
        outcome = run_chains(Long(), 2, np.random.default_rng(1), progress=False)
    # The signal, a block of 0.1 s, and a busy machine; the whole run takes an hour.
    assert time.perf_counter() - begin < 30
    assert not outcome.completed
    assert all(0 < done < Long.total for done in outcome.iterations)
    assert [result["done"] for result in outcome.results] == outcome.iterations


class Long(Look):
    total = 10**6

    def __init__(self):
        super().__init__(1, pause=0.004)


@pytest.mark.parametrize("backend", BACKENDS)
def test_progress_is_seen(backends, backend, capsys):
    with backends(backend):
        run_chains(Look(1, pause=0.01), 2, np.random.default_rng(1), progress=True)
    assert "80.0/80.0" in capsys.readouterr().err


def test_a_backend_that_hands_out_results_at_the_end_alone():
    """That of `multiprocessing`, of which that of Ray is made."""
    wanted = look()[1]
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        found = look()[1]
    assert [result["sum"] for result in found.results] == [result["sum"] for result in wanted.results]
    assert os.getpid() not in {result["place"] for result in found.results}
