"""Predictions of pattern models after loading without rows."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.storage import read, write

RUN = {"draws": 40, "burn_in": 40, "chains": 2, "thin": 1, "rng": 1, "progress": False}
TEXT = "abracadabra abracadabra and again abracadabra " * 4


def fit(name):
    births = rj.datasets.birthwt().data
    models = {
        "interactions": lambda: rj.pattern_logit("low ~ interactions(race, smoke, ht, order=2)", births),
        "without compression": lambda: rj.pattern_logit(
            "low ~ interactions(race, smoke, ht, order=2)", births, compress=False
        ),
        "sequence": lambda: rj.PatternLogit.from_sequence(TEXT, order=4),
    }
    return models[name]().fit(**RUN)


def new_rows(results):
    if results.model.features.kind == "sequence":
        return pd.DataFrame([list("brac"), list("cada"), list("dnda")], columns=results.model.design.names)
    return pd.DataFrame({"race": ["white", "other"], "smoke": [1, 0], "ht": [0, 1]})


@pytest.fixture(scope="module", params=["interactions", "without compression", "sequence"])
def results(request):
    with pytest.warns(rj.ConvergenceWarning):
        return fit(request.param)


def test_loaded_results_predict_without_rows(results, tmp_path):
    results.save(tmp_path / "a.rjs")
    loaded = rj.load(tmp_path / "a.rjs")
    new = new_rows(results)
    pd.testing.assert_frame_equal(loaded.predict(new), results.predict(new), check_exact=True)
    np.testing.assert_array_equal(loaded.groups["cases"], results.groups["cases"])
    with pytest.raises(rj.NotAvailableError, match="training data"):
        loaded.score()
    loaded.save(tmp_path / "b.rjs")
    again = rj.load(tmp_path / "b.rjs")
    pd.testing.assert_frame_equal(again.predict(new), results.predict(new), check_exact=True)


def test_features_are_left_out_on_request(results, tmp_path):
    results.save(tmp_path / "a.rjs", data=False)
    loaded = rj.load(tmp_path / "a.rjs")
    with pytest.raises(rj.NotAvailableError, match="training data"):
        loaded.predict(new_rows(results))
    assert read(tmp_path / "a.rjs").content["codes"] is None


def test_other_features_are_refused(results, tmp_path):
    results.save(tmp_path / "a.rjs")
    document = read(tmp_path / "a.rjs")
    codes = document.content["codes"]
    document.content["codes"] = np.ascontiguousarray(codes[:, ::-1])
    write(tmp_path / "b.rjs", document)
    with pytest.raises(rj.PyrjselError):
        rj.load(tmp_path / "b.rjs")
