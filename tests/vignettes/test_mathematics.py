"""Equations of the mathematics pages and the code that computes them name each other."""

import re
from collections import Counter

import pytest
from pages import FOLDER

PACKAGE = FOLDER.parent / "pyrjsel"
PAGES = sorted((FOLDER / "mathematics").glob("*.md"))
CODE = {path: path.read_text() for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyx", ".pxd", ".c")}
LABEL = re.compile(r"^\$\$ \(([\w-]+)\)$", re.MULTILINE)
NAMED = re.compile(r"mathematics: ([\w-]+)")
# Names of code in parentheses, or in the last column of a table.
NAMES = re.compile(r"(?<=[(|;, ])`([a-z_]\w*(?:\.\w+)+)`(?=[),;|]| \|)")


def labels_of(page):
    return LABEL.findall(page.read_text())


def is_there(name):
    """Return whether a module of the package ends with the first parts of a name, and has the others.

    A name can also be that of a file.
    """
    if name.endswith((".py", ".pyx", ".c")):
        return name in {path.name for path in CODE}
    parts = name.split(".")
    for path, text in CODE.items():
        place = path.relative_to(PACKAGE).with_suffix("").parts
        for k in range(1, len(parts)):
            if place[-k:] == tuple(parts[:k]) and all(
                re.search(rf"^.*\b{part}\b.*[(:]", text, re.MULTILINE) for part in parts[k:]
            ):
                return True
    return False


def test_code_and_pages_have_the_same_labels():
    of_pages = Counter(label for page in PAGES for label in labels_of(page))
    of_code = {label for text in CODE.values() for label in NAMED.findall(text)}
    assert of_pages
    assert {label for label, number in of_pages.items() if number > 1} == set()
    assert of_code - set(of_pages) == set()
    assert set(of_pages) - of_code == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_labels_have_the_name_of_their_page_and_references_exist(page):
    text, labels = page.read_text(), labels_of(page)
    assert [label for label in labels if not label.startswith(f"{page.stem}-")] == []
    assert text.count("\n$$ (") == len(labels)
    everywhere = {label for other in PAGES for label in labels_of(other)}
    assert set(re.findall(r"\{eq\}`([^`]+)`", text)) - everywhere == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_that_a_page_names_exists(page):
    names = set(NAMES.findall(page.read_text()))
    assert sorted(name for name in names if not is_there(name)) == []


def test_names_of_code_are_found_and_others_are_not():
    assert is_there("priors.confluent.Robust")
    assert is_there("evidence._mode_search.ModeSearch.with_volume")
    assert is_there("_mode_search.pyx")
    assert not is_there("_mode_search.py")
    assert not is_there("priors.confluent.Robustness")
    assert not is_there("evidence.confluent.Robust")
    text = "| `priors.a.B` |\n(`c.d`), (`e.F`; Green 1995) and (`g.h.i`, `j.k`). `rj.logit`"
    assert NAMES.findall(text) == ["priors.a.B", "c.d", "e.F", "g.h.i", "j.k"]
