"""Every Cython file compiles without a warning or performance hint."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "pyrjsel").rglob("*.pyx"))

# All files in one process, which takes half the time of one for each. As in setup.py, what modules share
# (and Cython has nothing to say of) is left out.
COMPILE = """
import sys
from Cython.Build import cythonize
folder, *sources = sys.argv[1:]
directives = {"language_level": 3, "boundscheck": False, "wraparound": False}
directives |= {"initializedcheck": False, "cdivision": True}
shared = "pyrjsel._core._cyutility"
options = {"build_dir": folder, "force": True, "compiler_directives": directives}
cythonize(sources, shared_utility_qualified_name=shared, **options)
"""


def complaints(sources, folder):
    """Return the warnings and hints of Cython on the files `sources`, compiled in `folder`."""
    command = [sys.executable, "-P", "-c", COMPILE, str(folder), *sources]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert said.count("Cythonizing ") == len(sources), said
    return [line for line in said.splitlines() if re.match(r"(warning|performance hint): ", line)]


def test_cython_has_nothing_to_say(tmp_path):
    assert len(SOURCES) > 30
    assert complaints(SOURCES, tmp_path) == []


def test_a_hint_is_seen(tmp_path):
    slow = tmp_path / "slow.pyx"
    slow.write_text("cdef void f(double x) nogil:\n    pass\n\ndef g():\n    with nogil:\n        f(1.0)\n")
    assert complaints([SOURCES[0], str(slow)], tmp_path) != []
