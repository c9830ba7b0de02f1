"""Freed memory goes back to the system."""

import os
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from pyrjsel.runtime import chains, resources


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read where Linux has it")
@pytest.mark.skipif(resources._trim() is None, reason="the C library has no pools that can be trimmed")
def test_what_a_thread_has_freed_is_given_back():
    """Arrays below the least size that has pages of its own come from the thread's pool."""
    last = []

    def work():
        arrays = [np.ones(10_000) for _ in range(1000)]
        # Above all of them: the pool cannot shrink by itself.
        last.append(np.ones(10_000))
        arrays.clear()

    thread = Thread(target=work)
    thread.start()
    thread.join()
    before = resident()
    resources.release()
    # 80 MB less what other threads of the process took meanwhile.
    assert before - resident() > 40e6


@pytest.mark.parametrize(("workers", "times"), [(1, 0), (2, 1)])
def test_runs_of_several_threads_give_back_what_they_used(monkeypatch, workers, times):
    class Nothing:
        total = 1

        def start(self, seed, chain):
            return self

        def advance(self, n):
            pass

        def finish(self, completed):
            return None

    given = []
    monkeypatch.setattr(chains, "release", lambda: given.append(True))
    chains.run_chains(Nothing(), 2, np.random.default_rng(1), n_jobs=workers, progress=False)
    assert len(given) == times


def test_systems_without_such_pools_do_nothing(monkeypatch):
    resources._trim.cache_clear()
    monkeypatch.setattr(sys, "platform", "win32")
    assert resources._trim() is None
    resources.release()
    resources._trim.cache_clear()
