"""The strict harness: tests leave no trace in global states, and can send what they define to workers."""

import os

# Tests run side by side: more threads of BLAS would wait for one another. Before numpy is imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import random
import signal
import sys
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

# Reference implementations in plain numpy, and what several files of tests share.
for _pattern in ("support", "*/support", "*/reference"):
    sys.path += [str(folder) for folder in sorted(Path(__file__).parent.glob(_pattern))]

# Before anything imports matplotlib: tests draw without a display.
os.environ["MPLBACKEND"] = "Agg"
# A shell ignores Ctrl-C in what it starts in the background, and so would the runs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Begin with the longest tests, the pages of the documentation, so that workers end together.

    What a test module defines is sent to worker processes by value: no worker can import that module.
    """
    items.sort(key=lambda item: "vignettes" not in item.path.parts)
    for name in {item.module.__name__ for item in items if isinstance(item, pytest.Function)}:
        cloudpickle.register_pickle_by_value(sys.modules[name])


def _numpy_state():
    name, keys, position, has_gauss, gauss = np.random.get_state()  # noqa: NPY002 - watched, not used
    return name, keys.tobytes(), position, has_gauss, gauss


@pytest.fixture(autouse=True)
def global_random_states_are_untouched():
    """Fail a test after which numpy's or the standard library's global generator has moved."""
    numpy_before, python_before = _numpy_state(), random.getstate()
    yield
    assert _numpy_state() == numpy_before, "the test changed numpy's global random state"
    assert random.getstate() == python_before, "the test changed the global state of `random`"


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    """Fail a test that leaves a matplotlib figure open."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        left = pyplot.get_fignums()
        pyplot.close("all")
        assert not left, f"the test left {len(left)} matplotlib figure(s) open"


@pytest.fixture(scope="module")
def _dask_client():
    distributed = pytest.importorskip("distributed", reason="pyrjsel[dask] is not installed")
    state = random.getstate()
    options = {
        "threads_per_worker": 1,
        "dashboard_address": ":0",  # any port: another cluster may have the usual one
        "memory_limit": 0,
        "silence_logs": "CRITICAL",
        "env": {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"},
    }
    with (
        distributed.LocalCluster(n_workers=2, processes=True, **options) as cluster,
        distributed.Client(cluster) as made,
    ):
        yield made
    random.setstate(state)


@pytest.fixture
def dask_client(_dask_client):
    """A client of a cluster of two worker processes, one for a file of tests; it draws from `random`."""
    state = random.getstate()
    _dask_client.wait_for_workers(2)
    yield _dask_client
    random.setstate(state)
