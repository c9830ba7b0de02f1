"""Worker processes that die: what they were doing is begun again, and what has ended is kept."""

import os
import pickle
import signal
import time

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_info

import pyrjsel as rj
from pyrjsel.runtime import Checkpoint, FitSettings, chains, checkpoint, run_chains, workers
from pyrjsel.runtime.resources import one_blas_thread
from pyrjsel.runtime.signals import Signals

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="processes are killed as POSIX does it"
)

AGAIN = r"A worker died. Restarted, with the same draws: chains [\d, ]+ \(counting from 0\)"


class Mortal:
    """Chains of 40 steps, whose worker dies in the middle of some, a given number of times.

    Parameters
    ----------
    folder : Path
        Where each beginning of a chain leaves a mark, which says what was behind it.
    deaths : dict
        By chain, how many times.
    """

    total = 40

    def __init__(self, folder, deaths):
        self.folder, self.deaths = folder, deaths

    def start(self, seed, chain):
        return self.begin(np.random.Generator(np.random.PCG64(seed)), chain, [])

    def resume(self, state, recorded, chain):
        rng = np.random.Generator(np.random.PCG64(0))
        rng.bit_generator.state = state.pcg64("rng")
        return self.begin(rng, chain, list(recorded["draws"]))

    def begin(self, rng, chain, draws):
        before = self.marks(chain)
        (self.folder / f"{chain}-{len(before)}").write_text(str(len(draws)))
        return MortalRunner(self, rng, chain, draws, dies=len(before) < self.deaths.get(chain, 0))

    def marks(self, chain):
        return [int(path.read_text()) for path in sorted(self.folder.glob(f"{chain}-*"))]


class MortalRunner:
    def __init__(self, job, rng, chain, draws, dies):
        self.job, self.rng, self.chain, self.draws, self.dies = job, rng, chain, draws, dies
        self.begun = self.seen = len(draws)

    def advance(self, n):
        for _ in range(n):
            self.draws.append(self.rng.standard_normal())
            time.sleep(0.002)
            if self.dies and len(self.draws) >= self.begun + 10:
                os.kill(os.getpid(), signal.SIGKILL)

    def plain_state(self):
        return {"rng": self.rng.bit_generator.state}

    def news(self):
        new, self.seen = np.array(self.draws[self.seen :]), len(self.draws)
        return {"draws": new}

    def finish(self, completed):
        return list(self.draws)


def wanted(tmp_path, n=4):
    job = Mortal(tmp_path, {})
    found = run_chains(job, n, np.random.default_rng(1), n_jobs=1, progress=False).results
    for path in tmp_path.glob("*-*"):
        path.unlink()
    return found


def run(job, n=4, **options):
    return run_chains(job, n, np.random.default_rng(1), n_jobs=2, progress=False, **options)


@pytest.fixture
def loky():
    with joblib.parallel_config(backend="loky"):
        yield
    get_reusable_executor().shutdown(wait=True)


@pytest.mark.statistical  # the last one, with a checkpoint, has deaths as well
def test_what_died_once_is_begun_again(tmp_path, loky):
    right = wanted(tmp_path)
    job = Mortal(tmp_path, {1: 1})
    with pytest.warns(rj.WorkerWarning, match=AGAIN):
        outcome = run(job)
    assert outcome.results == right
    assert outcome.completed
    assert outcome.lost == []
    assert job.marks(1) == [0, 0]


@pytest.mark.statistical
def test_a_chain_that_kills_every_worker_costs_no_other(tmp_path, loky, monkeypatch):
    monkeypatch.setattr(workers, "ATTEMPTS", 2)  # the second alone; the third is as the second
    monkeypatch.setattr(chains, "ATTEMPTS", 2)
    right = wanted(tmp_path)
    job = Mortal(tmp_path, {1: 99})
    with pytest.warns(rj.WorkerWarning, match=AGAIN):
        drawn = FitSettings.check(draws=40, burn_in=0, thin=1, chains=4, rng=1, n_jobs=2, progress=False).run(
            job, "walk", len
        )
    assert drawn.results == [right[0], right[2], right[3]]
    assert job.marks(1) == [0, 0]
    assert len(drawn.notes) == 1
    assert drawn.notes[0].startswith("3 of 4 chains. The worker of chain 1 (counting from 0) died 2 times. ")


def test_where_none_are_left_or_none_can_be_spared(tmp_path, loky, monkeypatch):
    monkeypatch.setattr(workers, "ATTEMPTS", 1)
    monkeypatch.setattr(chains, "ATTEMPTS", 1)
    died = r"died 1 times\. If the system ended it for lack of memory, use fewer workers"
    with pytest.raises(rj.WorkerError, match=rf"worker of chains 0, 1 \(counting from 0\) {died}"):
        run(Mortal(tmp_path, {0: 99, 1: 99}), n=2, spare=True)

    def one_is_missing(job, make, tasks, workers, **options):
        return {0: (1.0, Mortal.total, 0.1)}

    monkeypatch.setattr(chains, "run_tasks", one_is_missing)
    with pytest.raises(rj.WorkerError, match=rf"worker of chain 1 \(counting from 0\) {died}"):
        run(Mortal(tmp_path, {}), n=2)


def test_with_a_checkpoint_chains_go_on_where_they_were(tmp_path, loky):
    """They write down where they are at every block, of one step here; the worker dies in the tenth."""
    right = wanted(tmp_path, n=2)
    folder = tmp_path / "run"
    place, generator = Checkpoint.open(folder, {"what": "a walk"}, 1)
    file = Eager(place)
    job = Mortal(tmp_path, {1: 2})
    with pytest.warns(rj.WorkerWarning, match=AGAIN):
        outcome = run_chains(job, 2, generator, n_jobs=2, progress=False, checkpoint=file, label="walk")
    assert outcome.results == right
    begun = job.marks(1)
    assert len(begun) == 3
    assert 0 == begun[0] < begun[1] < begun[2]


class Eager:
    """A checkpoint whose chains write at every block."""

    def __init__(self, place):
        self.place, self.begin = place, place.begin

    def chain(self, label, chain):
        return EagerFile(self.place.folder, f"{label}-{chain}", "digest of the run", time.time())


class EagerFile(checkpoint.ChainFile):
    def due(self):
        return True


@pytest.mark.cluster
def test_a_worker_of_a_cluster_that_dies(tmp_path, dask_client):
    right = wanted(tmp_path)
    job = Mortal(tmp_path, {1: 1})
    with joblib.parallel_config(backend="dask"), pytest.warns(rj.WorkerWarning, match=AGAIN):
        outcome = run(job)
    assert outcome.results == right
    assert outcome.lost == []
    assert job.marks(1) == [0, 0]


def test_a_board_that_is_renewed_ends_what_was_begun_before():
    """What was sent before, and still runs, ends; each attempt begins a chain once, and the parent none."""
    signals = Signals(2)
    former = pickle.loads(pickle.dumps(signals))
    assert [former.begin(0), former.begin(0), former.begin(1)] == [True, False, True]
    assert signals.begin(0)
    signals.renew()
    assert former.stopped
    assert not signals.stopped
    assert not signals.begin(0)
    now = pickle.loads(pickle.dumps(signals))
    assert not now.stopped
    assert now.begin(0)
    now.report(0, 7)
    assert signals.total() == 7
    signals.close()
    assert now.begin(1)  # as on another machine


def test_chains_of_one_process_share_the_limit_of_blas():
    """The first to leave does not lift the limit of the others; the last does."""

    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before = threads()
    with one_blas_thread:
        with one_blas_thread:
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before
