"""The tests run on the installed package, and that is the one that the sources here make."""

import importlib.metadata
import os
from pathlib import Path

import pytest

import pyrjsel

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = Path(pyrjsel.__file__).resolve().parent

# While developing, the checkout itself may be tested, with extensions built in place.
installed_only = pytest.mark.skipif(
    os.environ.get("PYRJSEL_TEST_INPLACE", "") not in ("", "0"),
    reason="PYRJSEL_TEST_INPLACE is set: the checkout itself is tested",
)


@installed_only
def test_the_installed_package_is_tested():
    assert INSTALLED != ROOT / "pyrjsel", "the checkout is on sys.path; run `python -P -m pytest`"


@installed_only
def test_the_installed_package_is_the_checkout():
    """No module is stale, missing or left over."""
    checkout = ROOT / "pyrjsel"
    patterns = ("*.py", "*.pxd", "*.pyi", "*.csv", "*.gz", "*.md", "py.typed")

    def texts(folder):
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for pattern in patterns
            for path in folder.rglob(pattern)
        }

    ours, theirs = texts(checkout), texts(INSTALLED)
    assert sorted(ours) == sorted(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []


def test_every_cython_file_has_its_extension():
    sources = {
        path.relative_to(ROOT / "pyrjsel").with_suffix("") for path in (ROOT / "pyrjsel").rglob("*.pyx")
    }
    compiled = {
        path.relative_to(INSTALLED).parent / path.name.split(".")[0] for path in INSTALLED.rglob("*.so")
    }
    assert sources <= compiled
    # What modules share of Cython is made, and has no source.
    assert Path("_core/_cyutility") in compiled


@installed_only
def test_the_version_is_that_of_the_metadata():
    assert importlib.metadata.version("pyrjsel") == pyrjsel.__version__
