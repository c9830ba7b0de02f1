"""Every Cython file compiles without a warning or performance hint."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "pyrjsel").rglob("*.pyx"))


def complaints(source, folder):
    """Return the warnings and hints of Cython on the file `source`, compiled in `folder`."""
    command = [sys.executable, "-P", "-m", "cython", "-3", "-X", "boundscheck=False"]
    command += ["-X", "wraparound=False", "-X", "initializedcheck=False", "-X", "cdivision=True"]
    command += [source, "-o", str(folder / "made.c")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return [line for line in said.splitlines() if re.match(r"(warning|performance hint): ", line)]


@pytest.mark.parametrize("source", SOURCES)
def test_cython_has_nothing_to_say(source, tmp_path):
    assert complaints(source, tmp_path) == []


def test_a_hint_is_seen(tmp_path):
    slow = tmp_path / "slow.pyx"
    slow.write_text("cdef void f(double x) nogil:\n    pass\n\ndef g():\n    with nogil:\n        f(1.0)\n")
    assert complaints(str(slow), tmp_path) != []
