"""Names and modules of the package are imported when they are first used."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import pyrjsel
from pyrjsel import families, report


def for_types(node):
    """The test of a block for type checkers."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@pytest.mark.parametrize("package", [pyrjsel, families, report], ids=lambda package: package.__name__)
def test_type_checkers_see_the_names_that_users_get(package):
    """Every line of the stub is an import that works, and nothing else is public."""
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text())
    lines = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert len(lines) == len(stub.body) - 1  # the docstring
    home = {alias.asname: node.module for node in lines for alias in node.names}
    assert package.__all__ == dir(package) == sorted(home)
    for name, module in home.items():
        assert getattr(package, name) is getattr(import_module(module), name)


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
assert not {"statsmodels", "pyrjsel.report.render"} & set(sys.modules)
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
