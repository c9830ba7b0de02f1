"""Docstrings of the public names: numpydoc's rules, and examples that run."""

import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections import ChainMap
from pathlib import Path

import matplotlib as mpl
import pytest
from numpydoc.docscrape_sphinx import get_doc_object
from numpydoc.validate import validate

import pyrjsel
import pyrjsel.sklearn

# A line of a shared docstring that another text is to stand for.
PLACE = re.compile(r"^\s*<[a-z -]+>$", re.MULTILINE)
ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]


def public_items():
    """Return the public functions and classes, and the public methods of these, by dotted name.

    Objects and not names are checked: looking `pyrjsel.datasets.pneumonia` up by its name would import
    the folder of the data, which has the same name as the function.
    """
    items = {}
    for prefix, module in (
        ("pyrjsel", pyrjsel),
        ("pyrjsel.datasets", pyrjsel.datasets),
        ("pyrjsel.sklearn", pyrjsel.sklearn),
    ):
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isclass(item) or inspect.isfunction(item):
                items[f"{prefix}.{name}"] = item
            if inspect.isclass(item):
                methods = (property, classmethod, staticmethod)
                own = [base for base in item.__mro__ if base.__module__.startswith("pyrjsel")]
                # What is inherited from a base of the package is public too.
                for attribute, value in ChainMap(*map(vars, own)).items():
                    if not attribute.startswith("_") and (
                        inspect.isfunction(value) or isinstance(value, methods)
                    ):
                        items[f"{prefix}.{name}.{attribute}"] = getattr(item, attribute)
    return items


ITEMS = public_items()


def module_names():
    found = pkgutil.walk_packages(pyrjsel.__path__, "pyrjsel.")
    return sorted(info.name for info in found if info.name != "pyrjsel.__main__")


def excused(name, code):
    """Whether a rule does not fit: errors have no parameters of their own, methods share examples."""
    item = ITEMS[name]
    if inspect.isclass(item) and issubclass(item, Exception):
        return code in ("EX01", "PR01")
    owner = ITEMS.get(name.rpartition(".")[0])
    return code == "EX01" and owner is not None


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_docstring_follows_numpydoc(name):
    errors = validate(get_doc_object(ITEMS[name]))["errors"]
    wanted = [(code, text) for code, text in errors if code in SETTINGS["checks"]]
    assert [(code, text) for code, text in wanted if not excused(name, code)] == []


def test_no_docstring_sends_the_reader_to_that_of_a_class():
    sent = [name for name, item in ITEMS.items() if "As for the class" in (inspect.getdoc(item) or "")]
    assert sent == []


def test_no_place_is_left_in_a_docstring():
    """No placeholder of a base class or decorator, such as ``<results>``, is left in a docstring."""
    left = [name for name, item in ITEMS.items() if PLACE.search(inspect.getdoc(item) or "")]
    assert left == []
    assert PLACE.search("Returns\n-------\n<results>\n    New.")
    assert "rj.load(path, data=...)" in pyrjsel.PatternResults.save.__doc__


def test_there_are_public_names():
    assert "pyrjsel.datasets.pneumonia" in ITEMS
    assert "pyrjsel.SelectionResults.plot_trace" in ITEMS
    assert set(pyrjsel.__all__) <= set(dir(pyrjsel))
    assert all(hasattr(pyrjsel, name) for name in pyrjsel.__all__)
    assert len(set(pyrjsel.__all__)) == len(pyrjsel.__all__)


@pytest.mark.parametrize("name", ["pyrjsel", *module_names()])
def test_examples_run(name, monkeypatch, tmp_path):
    # Examples may write files and draw figures.
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    failures = []
    for test in finder.find(module, name):
        runner.run(test, out=failures.append)
    if "pyplot" in vars(mpl):
        mpl.pyplot.close("all")
    assert not failures, "\n".join(failures)
