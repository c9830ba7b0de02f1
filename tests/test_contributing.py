"""The page for contributors names the files and folders that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Folders whose files of code the page may name; all folders of code in the first must be in it.
FOLDERS = ("pyrjsel", "tests")
PATH = re.compile(r"(?<![\w/>])\w[\w/]*?(?:\.py[xi]?|/)(?![\w.<])")


def paths_of_house():
    """Return the paths of files of code and their folders, from the root, folders with a slash at the end."""
    code = [path for name in FOLDERS for path in (ROOT / name).rglob("*.py*") if path.suffix != ".pyc"]
    files = {path.relative_to(ROOT) for path in [*code, *ROOT.glob("*.py")]}
    folders = {folder for path in files for folder in path.parents if folder != Path()}
    return {path.as_posix() for path in files} | {f"{folder.as_posix()}/" for folder in folders}


def unknown_paths(text, known):
    """Return the paths in a text that no path ends with."""
    ends = {"/" + path for path in known}
    return [
        name for name in sorted(set(PATH.findall(text))) if not any(end.endswith("/" + name) for end in ends)
    ]


def folders_not_named(text, known):
    """Return the folders of the package whose names are not in a text."""
    folders = {path for path in known if path.startswith("pyrjsel/") and path.endswith("/")}
    return sorted(folder for folder in folders if f"{Path(folder).name}/" not in text)


def test_the_page_names_what_there_is():
    text, known = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), paths_of_house()
    assert unknown_paths(text, known) == []
    assert folders_not_named(text, known) == []
    assert len(PATH.findall(text)) > 100  # the pattern finds the paths of the page


def test_other_names_are_found():
    known = {"pyrjsel/", "pyrjsel/design/", "pyrjsel/design/formula.py"}
    assert unknown_paths("`design/formula.py`, formula.py in design/", known) == []
    assert unknown_paths("`design/formulas.py` and ormula.py in designs/", known) == [
        "design/formulas.py",
        "designs/",
        "ormula.py",
    ]
    assert folders_not_named("pyrjsel/ alone", known) == ["pyrjsel/design/"]
