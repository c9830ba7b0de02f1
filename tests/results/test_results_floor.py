"""The results of all models share one summary, one file format and one extend."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.results import Description, RecordedRun, SampledResults, pairs_from_plain, stuck_notes
from pyrjsel.runtime import Accuracy
from pyrjsel.storage import Content, read

ROOMS = [rj.SelectionResults, rj.PatternResults, rj.KernelResults, rj.MixtureResults]
TEXTS = {
    "top": "Rows to list.",
    "rows in files": "Whether the rows\nare in it.",
    "in every file": "",
    "accuracy": "Its error.",
    "not in one run": "",
    "without chains": "",
    "variables": "None.",
}


class Draws(SampledResults):
    """Results of a model that is only a title."""

    _texts = TEXTS
    _file = "test results"
    _usual = Accuracy(mcse=0.5, max_draws=70)

    def _describe(self):
        return Description([("Draws", "3")], ["A note."])

    def _tables(self, top):
        return [("Rows", pd.DataFrame({"posterior": [0.25, 0.75]}).iloc[:top])]

    def _content(self, with_rows):
        return {"rows": with_rows, "description": self._description().to_plain()}

    def _recorded_run(self):
        settings = SimpleNamespace(extended=lambda ends, **named: {"ends": ends, **named})
        return RecordedRun(settings, "the ends", 3, list, dict, lambda longer: longer, every=2)

    def _arviz(self):
        return {}, {}


MODEL = SimpleNamespace(title="A model", nobs=5)


@pytest.mark.parametrize("kind", ROOMS)
@pytest.mark.parametrize("name", ["summary", "save", "extend"])
def test_rooms_share_the_methods_and_tell_of_them_in_their_words(kind, name):
    shared, own = getattr(SampledResults, name), getattr(kind, name)
    assert own.__code__ is shared.__code__
    assert own.__kwdefaults__ == shared.__kwdefaults__
    assert own.__qualname__ == shared.__qualname__
    assert "<" in shared.__doc__
    others = [getattr(room, name).__doc__ for room in ROOMS if room is not kind]
    assert own.__doc__ not in others


def test_extend_tells_what_it_returns():
    for kind in ROOMS:
        assert f"\n        {kind.__name__}\n            Results of all draws" in kind.extend.__doc__


def test_texts_that_are_missing_are_noticed():
    with pytest.raises(KeyError, match="accuracy"):

        class Silent(SampledResults):
            """Results that say nothing of themselves."""

            _texts = dict.fromkeys(TEXTS.keys() - {"accuracy"}, "")


def test_summaries_say_what_is_described():
    results = Draws(MODEL)
    text = str(results.summary(top=1))
    assert text.split("\n", maxsplit=1)[0].strip() == "A model"
    assert "Draws:" in text
    assert "0.250" in text
    assert "0.750" not in text
    assert "[1] A note." in text
    assert "<table" in results._repr_html_()
    assert results.nobs == 5
    with pytest.raises(rj.ParameterError, match="'top' parameter of summary"):
        results.summary(top=0)


def test_what_was_described_with_rows_stays(tmp_path):
    first = Draws(MODEL, description=Description([("Rows", "9")], []))
    assert "Rows:" in str(first.summary())
    first.save(tmp_path / "a.rjs", data=True)
    document = read(tmp_path / "a.rjs")
    assert document.kind == "test results"
    assert document.content["rows"] is True
    known = Description.from_plain(Content(document.content["description"], "a file"))
    assert (list(known.facts), list(known.notes)) == ([("Rows", "9")], [])
    with pytest.raises(rj.ParameterError, match="'data' parameter of save"):
        first.save(tmp_path / "a.rjs", data="yes")


@pytest.mark.parametrize("pairs", [[["one"]], [["one", 2]], [["one", "two", "three"]]])
def test_what_are_no_pairs_of_text(pairs):
    with pytest.raises(rj.StoreError, match="pairs of text"):
        pairs_from_plain(Content({"info": pairs}, "a file"), "info")


def test_runs_go_on_as_asked():
    asked = Draws(MODEL).extend(4, n_jobs=2)
    assert asked["ends"] == "the ends"
    assert (asked["have"], asked["every"], asked["draws"], asked["n_jobs"]) == (3, 2, 4, 2)
    assert (asked["max_draws"], asked["usual"]) == (70, Accuracy(mcse=0.5, max_draws=70))
    assert Draws(MODEL).extend(mcse=0.1, max_draws=50)["max_draws"] == 50


def test_streams_are_those_of_seed_and_label():
    def drawn(entropy, label):
        return Draws(MODEL, entropy)._stream(label).random(3).tolist()

    assert drawn(b"seed", b"one") == drawn(b"seed", b"one")
    assert (
        len({tuple(drawn(*key)) for key in ((b"seed", b"one"), (b"seed", b"two"), (b"other", b"one"))}) == 3
    )


def test_terms_that_never_moved_are_named():
    """Chains that hold a term always or never and differ: none of them says that all do."""
    stuck, inclusion = np.array([True, True, False, True, True]), np.array([1.0, 0.0, 0.5, 0.5, 0.75])
    mcse = np.array([np.nan, np.nan, 0.01, 0.3, 0.25])
    notes = stuck_notes(["a", "b", "c", "d", "e"], stuck, inclusion, mcse)
    starts = ["Included in every draw of all", "Included in no draw of all", "Included in every draw of some"]
    assert all(note.startswith(start) for note, start in zip(notes, starts, strict=True))
    assert [note.rsplit(": ", 1)[1] for note in notes] == ["a.", "b.", "d, e."]
    assert stuck_notes(["a"], np.array([False]), np.array([1.0]), np.array([np.nan])) == []
