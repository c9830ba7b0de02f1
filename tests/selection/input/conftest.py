"""Makes the helper module of this folder importable by its tests, and fits what they look at."""

import importlib.util
import sys
from pathlib import Path

import pytest

if "input_data" not in sys.modules:
    _spec = importlib.util.spec_from_file_location("input_data", Path(__file__).parent / "input_data.py")
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["input_data"] = _module
    _spec.loader.exec_module(_module)

from input_data import FRAME, arrays, build


@pytest.fixture(scope="module")
def results():
    return build().fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def results_with_offset():
    """Results of arrays, the offset an array too."""
    return arrays(offset=FRAME["o"].to_numpy()).fit(rng=1, progress=False)
