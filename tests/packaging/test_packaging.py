"""From the sources to an installed package: nothing missing, nothing that should not be there."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.packaging

# In every source archive and wheel, whatever the tree holds.
DATA = {
    "pyrjsel/py.typed",
    "pyrjsel/datasets/data/pneumonia/README.md",
    "pyrjsel/datasets/data/pneumonia/cohort.csv.gz",
    "pyrjsel/datasets/data/pneumonia/costs.csv",
    "pyrjsel/datasets/data/pneumonia/published.csv",
    "pyrjsel/datasets/data/english/README.md",
    "pyrjsel/datasets/data/english/article.md",
    "pyrjsel/datasets/data/english/technical.md",
    "pyrjsel/datasets/data/classic/birthwt.csv",
    "pyrjsel/datasets/data/classic/hald.csv",
    "pyrjsel/datasets/data/classic/uscrime.csv",
    "pyrjsel/datasets/data/classify/ionosphere.csv",
    "pyrjsel/datasets/data/classify/pima.csv",
}
TOP_LEVEL = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile", "README.md"}
TOP_LEVEL |= {"pyproject.toml", "setup.py"}
HAND_WRITTEN_C = {"pyrjsel/_core/vecmath.c", "pyrjsel/families/binary.c", "pyrjsel/families/mixtures.c"}
HAND_WRITTEN_C |= {"pyrjsel/selection/evidence/entering.c", "pyrjsel/selection/priors/score.c"}
HAND_WRITTEN_C |= {"pyrjsel/selection/regression/typed.c"}

FIT = """
import warnings
warnings.simplefilter("error")
import pyrjsel as rj
data = rj.datasets.birthwt().data
fit = rj.logit("low ~ age + smoke", data).fit(sampler="enumerate")
assert len(fit.models) == 4, fit.models
assert abs(fit.models["posterior"].sum() - 1) < 1e-12, fit.models
assert list(fit.inclusion.index) == ["age", "smoke"], fit.inclusion
print(rj.__file__)
"""


def run(*command, cwd):
    """Run a command outside the checkout; its output is shown if it fails."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # Compiled little, and of the packages that are installed only what is imported.
    clean |= {"PYRJSEL_CFLAGS": "-O0", "PIP_NO_COMPILE": "1"}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the checkout, with left-overs of builds that must not be packaged."""
    tree = tmp_path_factory.mktemp("packaging") / "source"
    made = (".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", "*.so", "_build", ".*_cache")
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*made))
    for stray in (
        "_core/_linalg.c",
        "_core/_linalg.cpython-311.so",
        "model_space/_space.c",
        "selection/_laplace.html",
    ):
        (tree / "pyrjsel" / stray).write_text("stray")
    (tree / "pyrjsel" / "__pycache__").mkdir()
    (tree / "pyrjsel" / "__pycache__" / "stray.cpython-311.pyc").write_text("stray")
    (tree / "build" / "lib" / "pyrjsel").mkdir(parents=True)
    (tree / "build" / "lib" / "pyrjsel" / "removed.py").write_text("stray")
    return tree


@pytest.fixture(scope="module")
def archives(tree):
    """The source archive, and the wheel made from it, as `python -m build` makes them; optimised little."""
    run(sys.executable, "-m", "build", "--outdir", str(tree / "dist"), str(tree), cwd=tree.parent)
    (sdist,) = (tree / "dist").glob("*.tar.gz")
    (wheel,) = (tree / "dist").glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def sdist_names(archives):
    with tarfile.open(archives[0]) as archive:
        return {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}


@pytest.fixture(scope="module")
def wheel_names(archives):
    with zipfile.ZipFile(archives[1]) as archive:
        return set(archive.namelist())


def in_tree(*patterns):
    """Return the files of the package, by path below the root, that match one of the patterns."""
    found = {path.relative_to(ROOT) for pattern in patterns for path in (ROOT / "pyrjsel").rglob(pattern)}
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def test_the_source_archive_has_every_source_and_nothing_generated(sdist_names):
    expected = in_tree("*.py", "*.pyx", "*.pxd", "*.pyi", "*.csv", "*.csv.gz", "*.md", "*.h", "py.typed")
    expected |= HAND_WRITTEN_C
    assert expected >= DATA
    assert {name for name in sdist_names if name.startswith("pyrjsel/")} == expected
    assert sdist_names >= TOP_LEVEL


def test_the_source_archive_has_the_tests_and_vignettes(sdist_names):
    for folder, patterns in (("tests", ["*.py", "*.csv", "*.json", "*.R"]), ("vignettes", ["*.md", "*.py"])):
        paths = {path for pattern in patterns for path in (ROOT / folder).rglob(pattern)}
        expected = {path.relative_to(ROOT).as_posix() for path in paths if "_build" not in path.parts}
        assert {name for name in expected if ".ipynb_checkpoints" not in name} <= sdist_names


def test_the_source_archive_has_no_other_folders(sdist_names):
    folders = {name.split("/")[0] for name in sdist_names if "/" in name}
    assert folders <= {"pyrjsel", "pyrjsel.egg-info", "tests", "vignettes"}
    files = {name for name in sdist_names if "/" not in name}
    assert files == TOP_LEVEL | {"PKG-INFO", "setup.cfg"}


def test_the_wheel_has_every_module_extension_and_data_file(wheel_names):
    expected = in_tree("*.py", "*.pxd", "*.pyi", "py.typed") | in_tree("*.csv", "*.csv.gz", "*.md")
    assert expected >= DATA
    extensions = {name for name in wheel_names if name.endswith((".so", ".pyd"))}
    others = {name for name in wheel_names if ".dist-info/" not in name} - extensions
    assert others == expected
    compiled = {name.split(".")[0] for name in extensions}
    # Beside the modules of the sources, what they share of Cython.
    shared = {"pyrjsel/_core/_cyutility"}
    assert compiled == {name.removesuffix(".pyx") for name in in_tree("*.pyx")} | shared
    assert len(compiled) == len(extensions) >= 5


def test_the_wheel_has_the_licence(wheel_names):
    assert [name for name in wheel_names if name.endswith(".dist-info/licenses/LICENSE")] != []


def test_the_wheel_installs_and_fits_in_a_fresh_environment(archives, tmp_path):
    run(sys.executable, "-m", "venv", str(tmp_path / "env"), cwd=tmp_path)
    python = str(tmp_path / "env" / "bin" / "python")
    # Of what it depends on, only the modules that are imported need bytecode.
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", str(archives[1]), cwd=tmp_path)
    printed = run(python, "-c", FIT, cwd=tmp_path)
    assert Path(printed.strip()).is_relative_to(tmp_path / "env")
    run(python, "-m", "pip", "check", cwd=tmp_path)
