"""Labels of rows and tables in files: they come back as they were, however many there are."""

import zipfile

import numpy as np
import pandas as pd
import pytest

from pyrjsel import StoreError
from pyrjsel.storage import Content, Document, labels_from_plain, labels_to_plain, read, write


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.rjs"


LABELS = {
    "range": pd.RangeIndex(3, 40, 4, name="case"),
    "far range": pd.RangeIndex(2**62 + 1, 2**62 + 4),
    "ints": pd.Index([5, -(2**63), 2**63 - 1], name=7),
    "small ints": pd.Index([5, 6], dtype=np.int8),
    "hashes": pd.Index([2**63, 2**64 - 1, 0]),
    "larger ints": pd.Index([-1, 2**64, 2**200]),
    "large and missing": pd.Index([2**63, None], dtype=object),
    "floats": pd.Index([0.1, float("nan"), -0.0]),
    "flags": pd.Index([True, False]),
    "text": pd.Index(["a", "", "Größe", "\U0001f600 \0", "a" * 1000], name="ä"),
    "mixed": pd.Index([1, "1", None, True, 2**53 + 1, 0.5], dtype=object),
    "none": pd.Index([], dtype=object),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back(path, name):
    labels = LABELS[name]
    write(path, Document("test", labels_to_plain(labels)))
    found = labels_from_plain(Content(read(path).content, "the file"), len(labels))
    pd.testing.assert_index_equal(found, labels, exact="equiv" if name == "far range" else True)
    assert list(map(repr, found)) == list(map(repr, labels))


def test_other_labels_become_text_or_numbers(path):
    dates = pd.date_range("2020-02-28", periods=3)
    for labels, expected in [
        (dates, pd.Index(list(map(str, dates)))),
        (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), pd.Index(["('a', 1)", "('b', 2)"])),
        (pd.Index([1, 2], dtype=object), pd.Index([1, 2])),
        (pd.Index([1, 2], dtype="Int32"), pd.Index([1, 2])),
        (pd.CategoricalIndex(["x", "y", "x"]), pd.Index(["x", "y", "x"])),
    ]:
        write(path, Document("test", labels_to_plain(labels)))
        found = labels_from_plain(Content(read(path).content, "the file"))
        pd.testing.assert_index_equal(found, expected, exact=True)


def test_labels_of_many_rows_are_not_in_the_header(path):
    """A list of them would soon be larger than a header may be."""
    for labels in (pd.Index(np.arange(10**5)).delete(7), pd.Index([f"row {k}" for k in range(10**5)])):
        write(path, Document("test", labels_to_plain(labels)))
        with zipfile.ZipFile(path) as archive:
            assert archive.getinfo("header.json").file_size < 300


def test_labels_of_earlier_files_are_read():
    for labels in ([3, 5], ["a", "b"], [0.5, float("nan")], []):
        found = labels_from_plain(Content({"name": None, "labels": labels}, "the file"))
        assert found.tolist() == labels or labels[1] != labels[1]
        assert found.dtype == (pd.Index(labels).dtype if labels else object)


TEXT = np.frombuffer("abß".encode(), np.uint8)


@pytest.mark.parametrize(
    "held",
    [
        {"range": [0, 2**62, 0]},
        {"range": [-(2**62), 2**62, 1]},
        {"range": [0, 2**63, 1]},
        {"range": [0, 2.0, 1]},
        {"numbers": [1, 2]},
        {"numbers": np.zeros((2, 1))},
        {"numbers": np.array(1)},
        {"text": TEXT, "ends": np.array([1, 2])},
        {"text": TEXT, "ends": np.array([1, 5])},
        {"text": TEXT, "ends": np.array([2, 1, 4])},
        {"text": TEXT, "ends": np.array([-1, 4])},
        {"text": TEXT, "ends": np.array([3, 4])},
        {"text": TEXT, "ends": np.array([1.0, 4.0])},
        {"text": TEXT},
        {"text": "ab", "ends": np.array([1, 2])},
        {"labels": [[1], 2]},
        {},
    ],
)
def test_wrong_labels_are_refused(held):
    with pytest.raises(StoreError):
        labels_from_plain(Content({"name": None, **held}, "the file"))
