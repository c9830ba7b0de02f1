"""Chains: same draws for any number of workers, Ctrl-C, blocks, progress, errors."""

import errno
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_info

from pyrjsel._called import called
from pyrjsel._errors import ParameterError
from pyrjsel.runtime import run_chains
from pyrjsel.runtime.chains import BLOCK_SECONDS, next_block
from pyrjsel.runtime.signals import Signals


class Walk:
    """A chain that draws one normal number per iteration and may dawdle, fail or notice blocks."""

    def __init__(self, total, pause=0.0, fail_in=None):
        self.total, self.pause, self.fail_in = total, pause, fail_in

    def start(self, seed, chain):
        return WalkRunner(self, seed, chain)


class WalkRunner:
    def __init__(self, job, seed, chain):
        self.job, self.chain = job, chain
        self.rng = np.random.default_rng(seed)
        self.draws, self.blocks = [], []

    def advance(self, n):
        if self.job.fail_in == self.chain:
            raise ValueError(f"a chain of {called()} fell over")
        self.blocks.append(n)
        for _ in range(n):
            self.draws.append(self.rng.standard_normal())
            if self.job.pause:
                time.sleep(self.job.pause)

    def finish(self, completed):
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return {"draws": self.draws, "blocks": self.blocks, "completed": completed, "blas": blas}


@pytest.fixture(scope="module", autouse=True)
def loky_ends():
    """Put away loky's workers."""
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.fixture
def loky():
    """Processes as workers, those of the test before."""
    with joblib.parallel_config(backend="loky"):
        yield


def draws_of(outcome):
    return [result["draws"] for result in outcome.results]


def interrupt_after(seconds, send=lambda: os.kill(os.getpid(), signal.SIGINT)):
    timer = threading.Timer(seconds, send)
    timer.start()
    return timer


def test_draws_do_not_depend_on_the_number_of_workers():
    runs = [
        run_chains(Walk(300), 4, np.random.default_rng(5), n_jobs=n_jobs, progress=False)
        for n_jobs in (1, 2, 4, -1, None)
    ]
    for run in runs:
        assert run.completed
        assert run.iterations == [300] * 4
        assert draws_of(run) == draws_of(runs[0])
    assert len({tuple(draws) for draws in draws_of(runs[0])}) == 4


def test_processes_give_the_same_draws(loky):
    expected = run_chains(Walk(300), 3, np.random.default_rng(5), n_jobs=1, progress=False)
    got = run_chains(Walk(300), 3, np.random.default_rng(5), n_jobs=2, progress=False)
    assert draws_of(got) == draws_of(expected)
    assert all(set(result["blas"]) <= {1} for result in got.results)


def test_seeds_are_children_of_the_seed_sequence():
    outcome = run_chains(Walk(3), 2, np.random.default_rng(8), progress=False)
    children = np.random.SeedSequence(8).spawn(2)
    expected = [list(np.random.default_rng(child).standard_normal(3)) for child in children]
    assert draws_of(outcome) == expected


def test_one_blas_thread_during_the_run_and_as_before_after_it():
    before = threadpool_info()
    outcome = run_chains(Walk(2), 2, np.random.default_rng(0), progress=False)
    assert all(set(result["blas"]) <= {1} for result in outcome.results)
    assert threadpool_info() == before


class Together:
    """Chains that count how many of them run at a time, and may wait for each other."""

    total = 1

    def __init__(self, barrier=None):
        self.barrier, self.lock, self.running, self.most = barrier, threading.Lock(), 0, 0

    def start(self, seed, chain):
        return self

    def advance(self, n):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.01) if self.barrier is None else self.barrier.wait()
        with self.lock:
            self.running -= 1

    def finish(self, completed):
        return completed


@pytest.mark.parametrize(
    ("n_jobs", "configured", "passed", "alone"),
    [(None, None, 0.0, True), (None, None, 9.0, False), (2, None, 0.0, False), (None, 2, 0.0, False)],
)
def test_chains_run_one_at_a_time_at_first_unless_told_otherwise(
    monkeypatch, n_jobs, configured, passed, alone
):
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda workers: 2)
    job = Together(None if alone else threading.Barrier(2, timeout=20.0))
    with joblib.parallel_config("threading", n_jobs=configured) if configured else nullcontext():
        run_chains(job, 4, np.random.default_rng(1), n_jobs=n_jobs, progress=False, passed=passed)
    assert job.most == (1 if alone else 2)


def test_chains_run_together_once_a_run_lasts(monkeypatch):
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda workers: 2)
    job = Together(threading.Barrier(2, timeout=20.0))  # the first waits for the second, which begins later
    assert run_chains(job, 2, np.random.default_rng(1), progress=False).completed


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_first_interrupt_returns_what_there_is(n_jobs):
    former = signal.getsignal(signal.SIGINT)
    interrupt_after(0.3)
    begin = time.perf_counter()
    outcome = run_chains(Walk(10**6, 0.001), 2, np.random.default_rng(2), n_jobs=n_jobs, progress=False)
    # 0.3 s until the signal, a block of 0.1 s, and room for a busy machine; the whole run takes 1,000 s.
    assert time.perf_counter() - begin < 30.0
    assert not outcome.completed
    assert 0 < outcome.iterations[0] < 10**6
    # With one worker the second chain had not begun: it gives an empty result.
    assert (outcome.iterations[1] == 0) == (n_jobs == 1)
    for result, done in zip(outcome.results, outcome.iterations, strict=True):
        assert len(result["draws"]) == done
        assert result["completed"] is False
    assert signal.getsignal(signal.SIGINT) is former


def test_partial_draws_are_the_beginning_of_the_full_ones():
    interrupt_after(0.2)
    part = run_chains(Walk(10**6, 0.001), 1, np.random.default_rng(2), progress=False)
    done = part.iterations[0]
    full = run_chains(Walk(done + 10), 1, np.random.default_rng(2), progress=False)
    assert draws_of(part)[0] == draws_of(full)[0][:done]


def test_first_interrupt_reaches_processes(loky):
    run_chains(Walk(1), 2, np.random.default_rng(2), n_jobs=2, progress=False)  # workers are up
    interrupt_after(1.5)
    begin = time.perf_counter()
    outcome = run_chains(Walk(10**6, 0.001), 2, np.random.default_rng(2), n_jobs=2, progress=False)
    # The signal, a block, and a busy machine, on which workers take a while to begin.
    assert time.perf_counter() - begin < 30.0
    assert not outcome.completed
    assert all(0 < done < 10**6 for done in outcome.iterations)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_second_interrupt_raises_at_once(n_jobs):
    former = signal.getsignal(signal.SIGINT)
    interrupt_after(0.2)
    # An iteration of 8 s: a chain cannot answer the first interrupt in time.
    interrupt_after(0.4)
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_chains(Walk(20, 8.0), 2, np.random.default_rng(2), n_jobs=n_jobs, progress=False)
    assert time.perf_counter() - begin < 7.5  # before the first iteration would have ended
    assert signal.getsignal(signal.SIGINT) is former


GROUP = """
import os, signal, threading, joblib, numpy as np
from test_chains import Walk
from pyrjsel.runtime import run_chains

if __name__ == "__main__":
    with joblib.parallel_config(backend="loky"):
        run_chains(Walk(1), 2, np.random.default_rng(1), n_jobs=2, progress=False)
        threading.Timer(0.7, os.killpg, (os.getpgrp(), signal.SIGINT)).start()
        outcome = run_chains(Walk(10**6, 0.001), 2, np.random.default_rng(1), n_jobs=2, progress=False)
    print(outcome.completed, min(outcome.iterations) > 0)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_processes_survive_a_signal_to_the_whole_group(tmp_path):
    script = tmp_path / "group.py"
    script.write_text(GROUP)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_no_handler_outside_the_main_thread():
    former = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        outcome = run_chains(Walk(50, 0.001), 2, np.random.default_rng(1), progress=False)
        seen.append((outcome.completed, signal.getsignal(signal.SIGINT) is former))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(True, True)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_names_its_chain(n_jobs):
    former = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="fell over") as caught:
        run_chains(Walk(200, 0.001, fail_in=1), 2, np.random.default_rng(1), n_jobs=n_jobs, progress=False)
    assert any("chain 1" in note for note in caught.value.__notes__)
    assert signal.getsignal(signal.SIGINT) is former


def test_an_error_in_a_process_names_its_chain_and_the_call(loky):
    with pytest.raises(ValueError, match="a chain of run_chains fell over") as caught:
        run_chains(Walk(50, fail_in=1), 2, np.random.default_rng(1), n_jobs=2, progress=False)
    assert any("chain 1" in note for note in caught.value.__notes__)


def test_blocks_cover_the_total_and_stay_short():
    outcome = run_chains(Walk(1500, 0.0005), 1, np.random.default_rng(1), progress=False)
    blocks = outcome.results[0]["blocks"]
    assert sum(blocks) == 1500
    assert blocks[0] == 1
    # 0.1 s at 0.5 ms or more an iteration is 200 at most; int() of a timing may round up once.
    assert 20 < max(blocks) <= 201


@pytest.mark.parametrize(
    ("n", "seconds", "expected"),
    [(1, 0.0, 4), (100, 0.001, 400), (100, 0.05, 200), (100, 0.1, 100), (100, 0.4, 25), (1, 5.0, 1)],
)
def test_next_block_aims_at_the_target(n, seconds, expected):
    assert BLOCK_SECONDS == 0.1
    assert next_block(n, seconds) == expected


def test_progress_writes_to_standard_error(capsys):
    run_chains(Walk(400, 0.001), 2, np.random.default_rng(1), progress=True, label="sampling")
    error = capsys.readouterr().err
    assert "sampling" in error
    assert "800/800" in error
    assert "100%" in error


def test_progress_of_processes(capsys, loky):
    run_chains(Walk(400, 0.001), 2, np.random.default_rng(1), n_jobs=2, progress=True)
    assert "800/800" in capsys.readouterr().err


@pytest.mark.parametrize("progress", [None, False])
def test_no_progress_where_nobody_watches(capsys, progress):
    run_chains(Walk(5), 2, np.random.default_rng(1), progress=progress)
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""


class Meeting:
    """Chains that count how many of them are at work at the same time."""

    total = 1

    def __init__(self):
        self.now, self.most, self.lock = 0, 0, threading.Lock()

    def start(self, seed, chain):
        return self

    def advance(self, n):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.2)
        with self.lock:
            self.now -= 1

    def finish(self, completed):
        return None


@pytest.mark.parametrize(("n_jobs", "config", "expected"), [(2, None, 2), (None, 1, 1), (2, 1, 2), (1, 2, 1)])
def test_config_sets_the_number_of_workers_unless_n_jobs_does(n_jobs, config, expected):
    meeting = Meeting()
    with joblib.parallel_config(n_jobs=config):
        run_chains(meeting, 3, np.random.default_rng(1), n_jobs=n_jobs, progress=False)
    assert meeting.most == expected


def test_a_full_disk_ends_no_chain(monkeypatch):
    """What chains of processes tell the parent is not worth one of them."""
    signals = Signals(2)
    remote = pickle.loads(pickle.dumps(signals))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr("pyrjsel.runtime.signals.open", full, raising=False)
        assert remote.begin(0)
        remote.report(0, 5)
        remote.stop()
        signals.stop()
    assert signals.stopped
    assert not remote.stopped
    assert signals.total() == 0
    remote.report(0, 7)
    remote.stop()
    assert signals.total() == 7
    assert remote.stopped
    signals.close()
    remote.report(1, 3)  # the run has ended
    remote.stop()


def test_board_tells_other_processes_through_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    signals = Signals(2)
    signals.report(0, 3)
    remote = pickle.loads(pickle.dumps(signals))
    remote.report(1, 5)
    assert signals.total() == 8
    assert not remote.stopped
    signals.stop()
    assert remote.stopped
    late = pickle.loads(pickle.dumps(signals))
    assert late.stopped
    signals.close()
    assert list(tmp_path.iterdir()) == []
    remote.report(1, 6)  # without the directory it is silent
    remote.stop()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"chains": 0}, "'chains' parameter of run_chains must be an int in"),
        ({"n_jobs": 0}, "'n_jobs' parameter of run_chains must be None or an int other than 0"),
        ({"n_jobs": True}, "'n_jobs' parameter"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter"),
        ({"progress": "yes"}, "'progress' parameter"),
        (
            {"rng": np.random.Generator(np.random.RandomState(1)._bit_generator)},
            "created from a SeedSequence",
        ),
    ],
)
def test_bad_arguments(arguments, match):
    call = {"chains": 2, "rng": np.random.default_rng(1), **arguments}
    with pytest.raises(ParameterError, match=match):
        run_chains(Walk(5), **call)
