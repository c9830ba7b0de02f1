"""Rules about the files themselves: their length, and that nothing generated is kept."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {".py": 500, ".pyx": 700}
GENERATED = re.compile(r"\.(so|pyd|o|py[co]|html|ipynb)$|\.egg-info/|__pycache__/|^(build|dist)/|_build/")
HAND_WRITTEN_C = {"pyrjsel/_core/vecmath.c", "tests/bench/floor.c"}


def files_of(*suffixes):
    folders = ("pyrjsel", "tests", "vignettes")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    return [ROOT / "setup.py", *(path for path in found if not {"_build", "__pycache__"} & {*path.parts})]


def test_no_file_is_too_long():
    long = {}
    for path in files_of(*LIMITS):
        lines = len(path.read_text().splitlines())
        if lines > LIMITS[path.suffix]:
            long[path.relative_to(ROOT).as_posix()] = lines
    assert long == {}


def test_package_initialisers_hold_re_exports_alone():
    """Docstring, imports and `__all__`: code in `__init__.py` is found last."""
    faults = []
    for path in (ROOT / "pyrjsel").rglob("__init__.py"):
        for node in ast.parse(path.read_text()).body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            names = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
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
