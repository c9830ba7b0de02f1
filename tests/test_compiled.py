"""Importing a checkout whose compiled modules are not there says how to build them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyrjsel
from pyrjsel._compiled import COMMAND, missing_modules

PACKAGE = Path(pyrjsel.__file__).parent


def test_a_package_that_is_built_lacks_nothing():
    assert missing_modules(str(PACKAGE)) == []
    assert missing_modules(str(PACKAGE / "no such folder")) == []


def test_a_checkout_says_what_to_do(tmp_path):
    without = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__", "data")
    shutil.copytree(PACKAGE, tmp_path / "pyrjsel", ignore=without)
    # The checkout has files of sources and stubs alone, and is imported from its folder.
    script = "import sys; sys.path.insert(0, sys.argv[1]); import pyrjsel"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, str(tmp_path)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: The compiled module pyrjsel._core._linalg and ")
    assert COMMAND in last


def test_one_missing_module_is_named(tmp_path):
    (tmp_path / "pyrjsel" / "model_space").mkdir(parents=True)
    (tmp_path / "pyrjsel" / "model_space" / "_space.pyi").touch()
    assert missing_modules(str(tmp_path / "pyrjsel")) == ["pyrjsel.model_space._space"]
