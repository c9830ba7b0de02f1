"""Labels of rows in files of results, and paths of these: what can be kept is kept, what cannot is named."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj


def births():
    return rj.datasets.birthwt().data


def test_rows_keep_any_labels(tmp_path):
    """Hashes, other large ints and labels of several types are what they were."""
    frame = births()
    n = len(frame)
    for labels in (
        pd.util.hash_array(np.arange(n)),
        pd.Index([2**70 + k for k in range(n)]),
        pd.Index([None, "a", *range(2, n)], dtype=object),
    ):
        frame.index = labels
        results = rj.linear("lwt ~ age + smoke", frame).fit(rng=1)
        results.save(tmp_path / "a.rjs", data=True)
        found = rj.load(tmp_path / "a.rjs").predict()
        pd.testing.assert_series_equal(found, results.predict(), check_exact=True)


SHORT = {"draws": 20, "chains": 2, "rng": 1, "progress": False}
FITS = {
    "selection": lambda: rj.linear("lwt ~ age", births()).fit(rng=1),
    "kernel": lambda: rj.kernel_regression("lwt ~ age", births()[:20], width=5.0).fit(particles=10, rng=1),
    "patterns": lambda: rj.pattern_logit("low ~ interactions(race, smoke, order=2)", births()).fit(**SHORT),
    "mixture": lambda: rj.mixture_classifier("low ~ age", births(), components=2).fit(**SHORT),
}


@pytest.fixture(scope="module", params=FITS)
def results(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        return FITS[request.param]()


NO_PATHS = ["", 7, None, b"a.rjs", True, "a\0b", "a\ud800b", ["a"]]


@pytest.mark.parametrize("path", [*NO_PATHS, ".", Path("..")], ids=repr)
def test_what_is_no_path_is_named(tmp_path, monkeypatch, results, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rj.ParameterError, match=r"'path' parameter of save must be the path of a file.*Got"):
        results.save(path)
    with pytest.raises(rj.ParameterError, match=r"'path' parameter of load must be the path of a file.*Got"):
        rj.load(path)
    assert list(tmp_path.iterdir()) == []


def test_labels_that_no_file_can_hold_are_named(tmp_path):
    frame = births()
    frame.index = pd.Index([f"\ud800{k}" for k in range(len(frame))], dtype=object)
    results = rj.linear("lwt ~ age", frame).fit(rng=1)
    with pytest.raises(rj.StoreError, match=r"The text '\\ud8000' cannot be written to a file"):
        results.save(tmp_path / "a.rjs", data=True)
    assert list(tmp_path.iterdir()) == []
    results.save(tmp_path / "a.rjs")
