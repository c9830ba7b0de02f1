"""Fits that several tests look at."""

import pytest
from input_data import FRAME, arrays, build


@pytest.fixture(scope="module")
def results():
    return build().fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def results_with_offset():
    """Results of arrays, the offset an array too."""
    return arrays(offset=FRAME["o"].to_numpy()).fit(rng=1, progress=False)
