"""Fixtures."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Return a generator that is the same for every test."""
    return np.random.default_rng(19990101)
