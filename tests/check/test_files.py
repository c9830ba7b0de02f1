"""Rules about the files themselves: their length, and that nothing generated is kept."""

import ast
import io
import re
import shutil
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {".py": 500, ".pyx": 700}
# Python modules in a folder besides `__init__`: more are a list to search, and not a place.
CROWD, CROWD_OF_SELECTION = 25, 12
GENERATED = re.compile(r"\.(so|pyd|o|py[co]|html|ipynb)$|\.egg-info/|__pycache__/|^(build|dist)/|_build/")
HAND_WRITTEN_C = {
    "pyrjsel/_core/vecmath.c",
    "pyrjsel/families/binary.c",
    "pyrjsel/families/mixtures.c",
    "tests/bench/floor.c",
}
HAND_WRITTEN_C |= {"pyrjsel/selection/evidence/entering.c", "pyrjsel/selection/priors/score.c"}
HAND_WRITTEN_C |= {"pyrjsel/selection/regression/typed.c"}


def files_of(*suffixes):
    folders = ("pyrjsel", "tests", "vignettes")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    return [ROOT / "setup.py", *(path for path in found if not {"_build", "__pycache__"} & {*path.parts})]


def lines_of_code(text, suffix):
    """Return how many lines hold code: no comments, docstrings or blank lines."""
    if suffix == ".pyx":  # neither `ast` nor `tokenize` reads Cython
        text = re.sub(r'"""(?:.|\n)*?"""', '""', text)
        return sum(bool(line.split("#")[0].strip(' "')) for line in text.splitlines())
    kept = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (
            tokenize.COMMENT,
            tokenize.NL,
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
        ):
            kept.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            kept.difference_update(range(node.lineno, node.end_lineno + 1))
    return len(kept)


def test_no_file_is_too_long():
    long = {}
    for path in files_of(*LIMITS):
        lines = lines_of_code(path.read_text(), path.suffix)
        if lines > LIMITS[path.suffix]:
            long[path.relative_to(ROOT).as_posix()] = lines
    assert long == {}


def test_no_folder_is_too_full():
    full = {}
    for folder in [ROOT / "pyrjsel", *(ROOT / "pyrjsel").rglob("*/")]:
        modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
        within = folder.relative_to(ROOT).parts
        if len(modules) > (CROWD_OF_SELECTION if "selection" in within else CROWD):
            full["/".join(within)] = len(modules)
    assert full == {}


def test_comments_and_docstrings_are_no_code():
    text = (
        '"""What it is."""\n\n# why\nx = (\n    1,  # one\n)\n\n\ndef f():\n    """Return."""\n    return x\n'
    )
    assert lines_of_code(text, ".py") == 5 + 1  # and the end of the file
    assert (
        lines_of_code('cdef int x  # a number\n\n# why\ncdef f():\n    """Return."""\n    return 1\n', ".pyx")
        == 3
    )


def test_package_initialisers_hold_re_exports_alone():
    """Docstring, imports and `__all__`: code in `__init__.py` is found last."""
    faults = []
    for path in (ROOT / "pyrjsel").rglob("__init__.py"):
        for node in ast.parse(path.read_text()).body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            assigned = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
            names = assigned in ("__all__", "(__getattr__, __dir__, __all__)")
            if not (docstring or names or isinstance(node, (ast.Import, ast.ImportFrom))):
                faults.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert faults == []


def test_test_files_have_names_of_their_own():
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
    assert not list((ROOT / "tests").rglob("__init__.py"))
    assert not (ROOT / "conftest.py").exists()


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None,
    reason="not a git checkout: nothing is tracked",
)
def test_no_generated_file_is_tracked():
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    tracked = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    generated = [name for name in tracked if GENERATED.search(name)]
    generated += [name for name in tracked if name.endswith((".c", ".cpp")) and name not in HAND_WRITTEN_C]
    assert generated == []
