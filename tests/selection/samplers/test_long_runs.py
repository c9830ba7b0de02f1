"""What long runs keep: draws in arrays that grow, models of burn-in up to a number."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.report import errors
from pyrjsel.selection.samplers.collapsed import corrected_chain as corrected
from pyrjsel.selection.samplers.recording.recorder import Series


def test_series_grow():
    rng, series, parts = np.random.default_rng(1), Series(np.empty((0, 3))), [np.empty((0, 3))]
    assert len(series) == 0
    for n in (1, 0, 5, 2, 100, 1, 1):
        parts.append(rng.normal(size=(n, 3)))
        series.append(parts[-1])
        assert len(series) == sum(map(len, parts))
        np.testing.assert_array_equal(series.rows, np.concatenate(parts))
    index = Series(np.empty(0, dtype=np.int32))
    index.append(np.array([3, 4]))
    assert index.rows.dtype == np.int32


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    x = pd.DataFrame(rng.normal(size=(60, 6))).add_prefix("x")
    return x, x["x0"].to_numpy() + rng.normal(size=60)


def test_a_draw_takes_some_bytes(rows, monkeypatch):
    """4 of a model and 8 of a log posterior, twice that as arrays grow, 8 of a cost at the end."""
    monkeypatch.setattr(errors, "RANKED", 1000)  # of which R-hat takes some dozens, once in a run
    x, y = rows
    model, peaks = rj.LinearSelection(y, x), []
    for draws in (20_000, 120_000):
        tracemalloc.start()
        model.fit(sampler="collapsed", draws=draws, burn_in=50, chains=1, rng=1, progress=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / 100_000 < 40


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
def test_burn_in_is_learnt_from_up_to_a_number_of_models(rows, monkeypatch):
    x, y = rows
    most, learn = [], corrected.CorrectedChain.learn

    def learnt(self, gamma, log_mass):
        learn(self, gamma, log_mass)
        most.append(len(self.gammas))
        assert len(self.gammas) == len(self.log_masses)

    monkeypatch.setattr(corrected.CorrectedChain, "learn", learnt)
    model = rj.LogitSelection((y > 0).astype(int), x)
    fit = {"sampler": "collapsed", "draws": 20, "burn_in": 800, "chains": 1, "rng": 1, "progress": False}
    model.fit(**fit)
    assert max(most) > 200
    most.clear()
    monkeypatch.setattr(corrected, "LEARNT", 60)
    model.fit(**fit)
    assert 50 < max(most) <= 60
