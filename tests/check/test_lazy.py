"""Names and modules of the package are imported when they are first used."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import pyrjsel
from pyrjsel import families, report

PUBLIC = ["datasets", "histories", "load", "logit", "pool"]
INNER = [
    "design",
    "families",
    "lazy",
    "report",
    "runtime",
    "selection",
    "storage",
    "TYPE_CHECKING",
    "_OWNERS",
]


def for_types(node):
    """The test of a block for type checkers."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@pytest.mark.parametrize("package", [pyrjsel, families, report], ids=lambda package: package.__name__)
def test_type_checkers_see_the_names_that_users_get(package):
    """Imports for type checkers, `__all__` and the modules of lazy names are one list."""
    seen = {}
    for node in filter(for_types, ast.parse(inspect.getsource(package)).body):
        seen |= {alias.name: part.module for part in node.body for alias in part.names}
    assert seen.pop("datasets", "pyrjsel") == "pyrjsel"
    own = package.__name__
    lazy = {name: f"{own}.{module}" for module, names in package._OWNERS.items() for name in names.split()}
    assert lazy == seen
    eager = {name for name in package.__all__ if name not in lazy}
    assert set(lazy) <= set(package.__all__)
    assert all(name.endswith(("Error", "Warning")) for name in eager - {"datasets", "__version__"})


def test_type_checkers_see_the_modules_that_are_imported_late():
    found = 0
    for path in Path(pyrjsel.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for node in filter(for_types, ast.parse(text).body if "late(" in text else ()):
            late = {part.targets[0].id: part.value.args[0].value for part in node.orelse}
            seen = {a.asname or a.name: f"{part.module}.{a.name}" for part in node.body for a in part.names}
            assert late.items() <= seen.items(), path
            found += len(late)
    assert found > 10


def test_dir_shows_what_is_public():
    """Modules that have been imported are attributes, but not what users look for."""
    hasattr(pyrjsel, "LogitSelection"), hasattr(pyrjsel, "report")
    shown = [name for name in dir(pyrjsel) if not name.startswith("__")]
    assert shown == sorted(set(pyrjsel.__all__) - {"__version__"})
    assert {"__doc__", "__version__"} <= set(dir(pyrjsel))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'pyrjsel' has no attribute 'lgoit'"):
        pyrjsel.lgoit  # noqa: B018
    assert not hasattr(pyrjsel, "_nothing")


def test_imports_wait_for_their_use():
    program = """
import sys, pyrjsel as rj
assert not {"pandas", "statsmodels", "patsy", "joblib", "pyrjsel.selection"} & set(sys.modules)
rj.linear, rj.logit, rj.datasets.birthwt
assert "pyrjsel.selection" in sys.modules
assert not {"statsmodels", "pyrjsel.report", "pyrjsel.results"} & set(sys.modules)
assert not {"pyrjsel.mixture", "pyrjsel.kernel", "pyrjsel.patterns"} & set(sys.modules)
parts = {"special", "sparse", "stats", "optimize", "spatial", "interpolate"}
assert not {*(f"scipy.{part}" for part in parts), "joblib", "tqdm"} & set(sys.modules)
hald = rj.datasets.hald().data
rj.linear("y ~ x1 + x2", hald).fit(), rj.logit("y > 90 ~ x1", hald).fit(rng=1)
samplers = ("collapsed.sampler", "gibbs.sampler", "reversible_jump.rjmcmc")
assert not {f"pyrjsel.selection.samplers.{name}" for name in samplers} & set(sys.modules)
assert "statsmodels" not in sys.modules
rj.load
assert {"pyrjsel.mixture", "pyrjsel.kernel", "pyrjsel.patterns"} < set(sys.modules)
from pyrjsel import *
assert logit is rj.logit and KernelResults is rj.kernel.KernelResults
"""
    subprocess.run([sys.executable, "-P", "-c", program], check=True)
