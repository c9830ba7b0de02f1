"""Warnings about labels that look like misread numbers, and about factors of hardly any rows for a level."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel import DataError, DataWarning

N = 40


def rows():
    rng = np.random.default_rng(13)
    x = np.round(rng.normal(size=N // 2), 2).repeat(2)
    frame = pd.DataFrame({"y": rng.normal(size=N), "x": x, "z": rng.normal(size=N)})
    frame["b"] = np.where(frame["z"] > 0, "yes", "no")
    frame["typed"] = [*x[:-1].astype(str), "l.3"]
    frame["marked"] = ["1", "2", "?", "3"] * 10
    frame["person"] = [f"p{i}" for i in range(N // 2 + 1)] + ["p0"] * (N // 2 - 1)
    return frame


BUILDS = {
    "formula": lambda data, name: rj.linear(f"y ~ {name} + z", data),
    "another family": lambda data, name: rj.logit(f"b ~ {name} + z", data),
    "arrays": lambda data, name: rj.LinearSelection(data["y"], data[[name, "z"]]),
    "chunks": lambda data, name: rj.linear(f"y ~ {name} + z", lambda: iter([data[:15], data[15:]])),
    "categories": lambda data, name: rj.linear(f"y ~ {name}", data.astype({name: "category"})),
    "merged levels": lambda data, name: rj.linear(f"y ~ C({name}, merge=True)", data),
    "patterns": lambda data, name: rj.pattern_logit(f"b ~ interactions({name}, order=1)", data),
    "classes": lambda data, name: rj.mixture_classifier(f"{name} ~ z", data),
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("typed", r"'typed' .*levels, all numbers but 'l\.3'.*to_numeric\(data\['typed'\]"),
        ("marked", r"'marked' .*has 4 levels, all numbers but '\?'.*C\(marked\)"),
        ("person", "'person' .*has 21 levels in 40 rows"),
    ],
)
@pytest.mark.parametrize("build", BUILDS)
def test_labels_that_look_wrong_are_named(build, name, said):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BUILDS[build](rows(), name)
    found = [str(one.message) for one in caught if one.category is DataWarning]
    if (build == "merged levels") == (name != "person") and build in ("merged levels", "classes"):
        assert not found  # labels inside C() are meant, and families say how many rows a class needs
    else:
        assert len(found) == 1
        assert re.search(said, found[0])


def test_a_number_as_the_response_is_refused_by_the_label_that_is_none():
    with pytest.raises(DataError, match=r"'typed' .*all numbers but 'l\.3'"):
        rj.linear("typed ~ z", rows())


# Each is a factor as text-books have them.
USUAL = {
    "numbers as codes": ["1", "2", "3", "4"],
    "a last open class": ["0", "1", "2", "3+"],
    "a class of its own": ["1", "2", "unknown", "3"],
    "signs": ["+", "-", "+", "0"],
    "grades": ["1", "2", "3", "4", "5", "6", "7", "8", "8+", "x"],
    "classes of ages": ["0-9", "10-19", "20-29", "30+"],
}


@pytest.mark.parametrize("labels", USUAL.values(), ids=USUAL)
def test_usual_labels_pass(labels):
    data = rows().assign(g=(labels * N)[:N])
    design = rj.linear("y ~ g + b", data).design
    assert len(design.layout.factors[0].levels) == len(set(labels))  # without a warning, which is an error


def test_numbers_of_columns_are_in_the_table_and_where_they_differ_in_the_summary():
    data = rows().assign(g=["u", "v", "w", "v"] * 10)
    results = rj.linear("y ~ z + g + poly(x, 2)", data).fit()
    assert results.inclusion["columns"].to_dict() == {"z": 1, "g": 2, "x": 1, "I(x ** 2)": 1}
    assert "columns" in str(results.summary())
    assert "columns" not in str(rj.linear("y ~ z + x", data).fit().summary())
