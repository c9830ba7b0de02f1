"""Names of the package are imported when they are first used."""

import ast
import inspect
import subprocess
import sys

import pytest

import pyrjsel


def test_type_checkers_see_the_names_that_users_get():
    """Imports for type checkers, `__all__` and the modules of lazy names are one list."""
    seen = {}
    for node in ast.parse(inspect.getsource(pyrjsel)).body:
        if isinstance(node, ast.If):
            seen |= {alias.name: part.module for part in node.body for alias in part.names}
    assert seen.pop("datasets") == "pyrjsel"
    lazy = {name: f"pyrjsel.{module}" for module, names in pyrjsel._OWNERS.items() for name in names.split()}
    assert lazy == seen
    eager = {name for name in pyrjsel.__all__ if name not in lazy}
    assert set(lazy) < set(pyrjsel.__all__)
    assert all(name.endswith(("Error", "Warning")) for name in eager - {"datasets", "__version__"})


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'pyrjsel' has no attribute 'lgoit'"):
        pyrjsel.lgoit  # noqa: B018
    assert not hasattr(pyrjsel, "_nothing")


def test_imports_wait_for_their_use():
    program = """
import sys, pyrjsel as rj
assert not {"pandas", "statsmodels", "patsy", "joblib", "pyrjsel.selection"} & set(sys.modules)
rj.linear, rj.datasets.birthwt
assert "pyrjsel.selection" in sys.modules
assert not {"pyrjsel.mixture", "pyrjsel.kernel", "pyrjsel.patterns"} & set(sys.modules)
parts = {"special", "sparse", "stats", "optimize", "spatial", "interpolate"}
assert not {*(f"scipy.{part}" for part in parts), "joblib", "tqdm"} & set(sys.modules)
rj.load
assert {"pyrjsel.mixture", "pyrjsel.kernel", "pyrjsel.patterns"} < set(sys.modules)
from pyrjsel import *
assert logit is rj.logit and KernelResults is rj.kernel.KernelResults
"""
    subprocess.run([sys.executable, "-P", "-c", program], check=True)
