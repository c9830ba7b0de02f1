"""Makes the helper modules of this folder importable by its tests, under importlib mode too; fixtures."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

# In the order in which they import one another.
for _name in ("mixture_kit", "mixture_oracle"):
    if _name not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_name, Path(__file__).parent / f"{_name}.py")
        _module = importlib.util.module_from_spec(_spec)
        sys.modules[_name] = _module
        _spec.loader.exec_module(_module)


@pytest.fixture
def rng():
    """Return a generator that is the same for every test."""
    return np.random.default_rng(19990101)
