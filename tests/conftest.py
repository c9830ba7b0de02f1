"""The strict harness: tests leave no trace in global states, and can send what they define to workers."""

import os
import random
import sys

import cloudpickle
import numpy as np
import pytest

# Before anything imports matplotlib: tests draw without a display.
os.environ["MPLBACKEND"] = "Agg"


def pytest_collection_modifyitems(items):
    """Send what a test module defines to worker processes by value: no worker can import that module."""
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
