"""Responses of two labels: the second is the event, in summaries, predictions, files and new rows."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

BIRTHS = rj.datasets.birthwt().data[["low", "age", "lwt", "smoke"]]
WORDS = {
    "text": BIRTHS["low"].map({0: "no", 1: "yes"}),
    "quoted": BIRTHS["low"].map({0: "isn't", 1: 'so "it" is'}),
    "categorical": pd.Categorical(
        BIRTHS["low"].map({0: "well", 1: "low"}), categories=["well", "low", "none"]
    ),
    "numbers": pd.Categorical(BIRTHS["low"].map({0: 2, 1: 5})),
    "booleans": BIRTHS["low"] == 1,
    "boolean categories": pd.Categorical(BIRTHS["low"] == 1),
    "nullable": BIRTHS["low"].map({0: "no", 1: "yes"}).astype("string"),
}
EVENT = {
    "text": "'yes'",
    "quoted": "it",
    "categorical": "'low'",
    "numbers": "5",
    "booleans": "answer",
    "boolean categories": "True",
    "nullable": "'yes'",
}


@pytest.fixture(scope="module")
def plain():
    return rj.logit("low ~ age + lwt + smoke", BIRTHS).fit(rng=1)


@pytest.mark.parametrize("kind", WORDS)
def test_formulas(kind, plain, tmp_path):
    data = BIRTHS.drop(columns="low").assign(answer=WORDS[kind])
    model = rj.logit("answer ~ .", data)
    np.testing.assert_array_equal(model.data.y, BIRTHS["low"])
    results = model.fit(rng=1)
    pd.testing.assert_frame_equal(results.models, plain.models)
    facts = str(results.summary())
    assert EVENT[kind] in next(line for line in facts.splitlines() if "Response" in line)
    np.testing.assert_array_equal(results.predict(data), plain.predict(BIRTHS))
    results.save(tmp_path / "a.rjs")
    again = rj.load(tmp_path / "a.rjs", data=data)
    np.testing.assert_array_equal(again.model.data.y, BIRTHS["low"])
    assert str(again.summary()) == facts


def test_arrays(plain, tmp_path):
    columns = BIRTHS[["age", "lwt", "smoke"]]
    for words in (WORDS["text"], WORDS["text"].to_numpy(), WORDS["categorical"]):
        model = rj.LogitSelection(words, columns)
        np.testing.assert_array_equal(model.data.y, BIRTHS["low"])
    results = rj.LogitSelection(WORDS["text"], columns).fit(rng=1)
    pd.testing.assert_frame_equal(results.models, plain.models)
    results.save(tmp_path / "a.rjs")
    again = rj.load(tmp_path / "a.rjs", data=(WORDS["text"], columns))
    np.testing.assert_array_equal(again.model.data.y, BIRTHS["low"])


def test_missing_labels_are_missing_rows(plain):
    data = BIRTHS.assign(answer=WORDS["text"].where(BIRTHS["age"] != 20))
    with pytest.warns(rj.MissingDataWarning, match="answer"):
        model = rj.logit("answer ~ age + lwt", data)
    assert model.nobs == (BIRTHS["age"] != 20).sum()


def test_the_labels_are_no_term():
    data = BIRTHS.assign(answer=WORDS["text"])
    for right in ("age + answer", "age:answer", "C(answer)"):
        with pytest.raises(rj.FormulaError, match=r"has its response .* on the right-hand side"):
            rj.logit(f"answer ~ {right}", data)


def test_labels_that_are_no_events():
    """How to write an event is said where the response is one."""
    data = BIRTHS.assign(answer=np.resize(["a", "b", "c"], len(BIRTHS)), word=WORDS["text"])
    with pytest.raises(
        rj.DataError, match=r"Got 3 labels instead; write the event .* I\(answer == 'c'\), or "
    ):
        rj.logit("answer ~ age", data)
    for model in (rj.poisson, rj.linear):
        with pytest.raises(
            rj.DataError,
            match=r"^The response 'word' of .* or boolean\. Got 2 labels instead; use rj\.logit, .*\.$",
        ):
            model("word ~ age", data)
