"""Every import of the package goes down, or to a listed sibling; the table is the architecture."""

import ast
import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# A unit is a module or package directly below `pyrjsel`. "" is pyrjsel/__init__.py itself.
FLOORS = {
    0: [
        "_called",
        "_compiled",
        "_docstrings",
        "_errors",
        "_lazy",
        "_once",
        "_typing",
        "_validate",
        "_version",
    ],
    1: ["_core"],
    2: ["storage", "families", "distributions", "design", "model_space", "runtime"],
    3: ["report"],
    4: ["results"],
    5: ["selection", "patterns", "kernel", "mixture"],
    6: ["", "_loading", "__main__", "sklearn"],
}
FLOOR = {unit: floor for floor, units in FLOORS.items() for unit in units}
# Siblings of its own floor that a unit may import.
SIBLINGS = {
    "_typing": {"_errors"},
    "_validate": {"_called", "_errors", "_typing"},
    "design": {"storage"},
    "model_space": {"design"},
    "runtime": {"storage"},
    "": {"_loading"},
    "__main__": {""},
    "sklearn": {""},
}
# Aside: imports floor 0 and is imported by floor 6.
ASIDE = {"datasets"}

# Third parties that a user may lack; imported where they are used, inside functions.
OPTIONAL = {
    "arviz", "arviz_base", "arviz_plots", "arviz_stats", "xarray",
    "cloudpickle", "dask", "distributed", "matplotlib", "narwhals", "pyarrow",
}  # fmt: skip
# Required, but costly to import and used by few fits: imported in this file alone, inside functions.
AT_USE = {"joblib": "runtime/workers.py", "tqdm": "runtime/signals.py"}
# Only this unit may import that package, at the top or anywhere.
RESERVED = {"sklearn": "sklearn"}
# Only this file may import that package.
ONE_FILE = {"patsy": "design/formula.py"}
# The packages that the lowest floors may import besides the standard library.
LOW_THIRD_PARTIES = {0: {"numpy"}, 1: {"numpy", "scipy"}}

RUNTIME = {
    re.match(r"[\w-]+", requirement)[0].replace("-", "_")
    for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
}


@dataclass(frozen=True)
class Import:
    """One imported module: its full name, and where the import stands."""

    module: str
    line: int
    nested: bool = False  # inside a function
    typing_only: bool = False  # inside `if TYPE_CHECKING:`
    compiled: bool = False  # a cimport


def unit_of(path):
    """Return the unit that a file, given by its path below `pyrjsel/`, belongs to."""
    first = path.split("/")[0]
    stem = first.split(".")[0]
    return first if "/" in path else "" if stem == "__init__" else stem


def absolute(module, level, path):
    """Return the absolute name of a relative import found in the file `path` below `pyrjsel/`."""
    if level == 0:
        return module
    package = ["pyrjsel", *path.split("/")[:-1]]
    base = package[: len(package) - level + 1]
    return ".".join([*base, *([module] if module else [])])


class Finder(ast.NodeVisitor):
    """Collects the imports of one Python source, those made by function calls included."""

    def __init__(self, path):
        self.path, self.found = path, []
        self.nested = self.typing_only = False

    def add(self, module, node):
        self.found.append(Import(module, node.lineno, self.nested, self.typing_only))

    def visit_Import(self, node):
        for alias in node.names:
            self.add(alias.name, node)

    def visit_ImportFrom(self, node):
        module = absolute(node.module or "", node.level, self.path)
        for alias in node.names:
            # `from pyrjsel import x` may name a module; of any other package the module is enough.
            self.add(f"pyrjsel.{alias.name}" if module == "pyrjsel" else module, node)

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("import_module", "__import__", "late"):
            literal = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else "?"
            self.add(str(literal), node)
        self.generic_visit(node)

    def visit_scope(self, node):
        outer, self.nested = self.nested, True
        self.generic_visit(node)
        self.nested = outer

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_scope

    def visit_If(self, node):
        outer = self.typing_only
        test = node.test
        self.typing_only = outer or "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))
        for child in node.body:
            self.visit(child)
        self.typing_only = outer
        for child in node.orelse:
            self.visit(child)


def cython_imports(text, path):
    """Return the imports and cimports of one Cython source; `ast` cannot read it."""

    def blank(match):
        return "\n" * match[0].count("\n")

    text = re.sub(r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'', blank, text)
    text = re.sub(r"#.*", "", text)
    found = []
    plain = r"^([ \t]*)(c?import)[ \t]+([\w. \t,]+)"
    for match in re.finditer(plain, text, re.M):
        line = text.count("\n", 0, match.start()) + 1
        modules = [part.split()[0] for part in match[3].split(",")]
        found += [Import(name, line, bool(match[1]), compiled=match[2] == "cimport") for name in modules]
    several = r"^([ \t]*)from[ \t]+(\.*)([\w.]*)[ \t]+(c?import)[ \t]+(\([^)]*\)|[^\n]*)"
    for match in re.finditer(several, text, re.M):
        line = text.count("\n", 0, match.start()) + 1
        module = absolute(match[3], len(match[2]), path)
        names = [name.split()[0] for name in match[5].strip("()\n ").split(",") if name.strip()]
        targets = [f"pyrjsel.{name}" if module == "pyrjsel" else module for name in names]
        found += [Import(name, line, bool(match[1]), compiled=match[4] == "cimport") for name in targets]
    return found


def imports_of(text, path):
    """Return the imports of the source `text` of the file `path` below `pyrjsel/`."""
    if path.endswith((".pyx", ".pxd")):
        return cython_imports(text, path)
    finder = Finder(path)
    finder.visit(ast.parse(text))
    return finder.found


def own_fault(unit, item):
    """Return what is wrong with an import of the package itself, or None."""
    target = item.module.split(".")[1] if "." in item.module else ""
    if target not in FLOOR and target not in ASIDE:
        target = ""  # a name that pyrjsel/__init__.py defines
    if target == unit and unit != "":
        fault = None
    elif unit in ASIDE:
        fault = None if FLOOR.get(target) == 0 else "datasets/ may import floor 0 only"
    elif target in ASIDE:
        fault = None if FLOOR[unit] == 6 else "only floor 6 may import datasets/"
    elif FLOOR[target] > FLOOR[unit]:
        fault = f"floor {FLOOR[unit]} imports floor {FLOOR[target]}"
    elif FLOOR[target] == FLOOR[unit] and target not in SIBLINGS.get(unit, set()):
        fault = "not a listed sibling"
    else:
        fault = None
    if fault is None and item.nested:
        fault = "imports inside functions are for optional third parties alone"
    return fault


def foreign_fault(unit, path, item):
    """Return what is wrong with an import of another package, or None."""
    top = item.module.split(".")[0]
    floor = FLOOR.get(unit, 0)
    standard = top in sys.stdlib_module_names
    if item.compiled and (top in ("cython", "libc", "cpython", "libcpp")):
        return None
    if item.compiled and item.module.startswith("scipy.linalg.cython_") and floor != 1:
        return "BLAS and LAPACK are reached through _core/"
    if top in RESERVED:
        return None if RESERVED[top] == unit else f"only {RESERVED[top]} may import {top}"
    if top in ONE_FILE and ONE_FILE[top] != path:
        return f"only {ONE_FILE[top]} may import {top}"
    if top in OPTIONAL:
        return None if item.nested or item.typing_only else f"{top} is optional: import it inside a function"
    if top in AT_USE:
        return (
            None if path == AT_USE[top] and item.nested else f"only functions of {AT_USE[top]} import {top}"
        )
    if path == "_lazy.py" and top == "?":
        return None  # modules by the names that `__init__.py` hands over
    if item.nested and not item.typing_only:
        return "imports inside functions are for optional third parties alone"
    if standard:
        return None
    # `aside` data need tables; the floors below the rooms do without.
    if unit not in ASIDE and top not in LOW_THIRD_PARTIES.get(floor, RUNTIME):
        return f"floor {floor} may not import {top}"
    return None if top in RUNTIME else f"{top} is not a dependency"


def faults(sources):
    """Return a line for each forbidden import in `sources`, a mapping of paths to texts."""
    found = []
    for path, text in sorted(sources.items()):
        unit = unit_of(path)
        if unit not in FLOOR and unit not in ASIDE:
            found.append(f"{path}: {unit!r} has no floor")
            continue
        for item in dict.fromkeys(imports_of(text, path)):
            own = item.module.split(".")[0] == "pyrjsel"
            fault = own_fault(unit, item) if own else foreign_fault(unit, path, item)
            if fault is not None:
                found.append(f"{path}:{item.line}: {item.module}: {fault}")
    return found


def package_sources():
    package = ROOT / "pyrjsel"
    paths = [path for suffix in ("py", "pyi", "pyx", "pxd") for path in package.rglob(f"*.{suffix}")]
    return {path.relative_to(package).as_posix(): path.read_text() for path in paths}


def test_every_import_goes_down():
    sources = package_sources()
    assert "__init__.py" in sources
    assert "datasets/__init__.py" in sources
    assert sum(len(imports_of(text, path)) for path, text in sources.items()) > 20
    assert faults(sources) == []


# The folders and files of selection/ in the order in which data flow: each imports those before it alone.
SELECTION = [
    ["priors"],
    ["regression"],
    ["evidence"],
    ["posterior", "specification"],
    ["protocols"],
    ["comparable"],
    ["samplers"],
    ["results"],
    ["studies"],
    ["models"],
]


@cache
def module_graph():
    """Return which modules of the package each one imports, for types alone and by `cimport` too."""
    sources = package_sources()
    names = {path: "pyrjsel." + re.sub(r"(/__init__)?\.\w+$", "", path).replace("/", ".") for path in sources}
    known, graph = set(names.values()), {name: set() for name in names.values()}
    for path, text in sources.items():
        targets = {item.module for item in imports_of(text, path)}
        folders, packages = set(), set()
        if path.endswith((".py", ".pyi")):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    inner = {f"{node.module}.{alias.name}" for alias in node.names}
                    (folders if inner <= known else packages).add(node.module)
                    targets |= inner
            targets -= folders - packages  # of these, modules alone are imported
        targets.discard("pyrjsel")  # every module is in it
        graph[names[path]] |= {target for target in targets if target in known} - {names[path]}
    return graph


def circles(graph):
    """Return the sets of modules that import one another, directly or through others."""
    reached = {}
    for start in graph:
        found, left = set(), [start]
        while left:
            for module in graph[left.pop()] - found:
                found.add(module)
                left.append(module)
        reached[start] = found
    return {
        frozenset(m for m in reached[name] if name in reached[m]) for name in graph if name in reached[name]
    }


def test_no_modules_import_one_another():
    assert circles(module_graph()) == set()


def test_no_module_imports_the_package_that_it_is_in():
    faults = [
        f"{name} imports {to}"
        for name, targets in module_graph().items()
        for to in targets
        if f"{name}.".startswith(f"{to}.")
    ]
    assert faults == []


def test_a_circle_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()


def test_folders_of_selection_import_those_before_them():
    place = {name: rank for rank, names in enumerate(SELECTION) for name in names}
    faults = []
    for module, targets in module_graph().items():
        parts = module.split(".")
        if parts[1] != "selection" or len(parts) < 3:
            continue
        for target in targets:
            there = target.split(".")
            if there[1] == "selection" and (len(there) < 3 or place[there[2]] > place[parts[2]]):
                faults.append(f"{module} imports {target}")
    assert faults == []


def test_no_sampler_imports_another():
    own, seen = "pyrjsel.selection.samplers.", set()
    folders = {path.parent.name for path in (ROOT / "pyrjsel/selection/samplers").glob("*/__init__.py")}
    folders -= {"recording", "mode_search"}  # which all samplers share
    assert folders >= {"collapsed", "enumeration", "gibbs", "reversible_jump"}
    for module, targets in module_graph().items():
        here = module.removeprefix(own).split(".")[0]
        if here in folders:
            there = {target.removeprefix(own).split(".")[0] for target in targets}
            assert not (there & folders) - {here}, module
            seen.add(here)
    assert seen == folders


# Modules of a room, in the order in which data flow.
INNER = [
    *("priors", "options", "protocols", "sampler", "prediction", "plots", "summary", "saving"),
    *("results", "model", "loading"),
]


@pytest.mark.parametrize("room", ["patterns", "kernel", "mixture"])
def test_rooms_have_the_same_inner_names(room):
    folder = ROOT / "pyrjsel" / room
    have = {path.stem for path in folder.glob("*.py")} | {"sampler" for _ in folder.glob("samplers/*.py")}
    assert set(INNER) <= have


@pytest.mark.parametrize("room", ["patterns", "kernel", "mixture"])
def test_parts_of_results_know_neither_results_nor_model(room):
    graph, own = module_graph(), f"pyrjsel.{room}."
    for rank, name in enumerate(INNER[:-1]):
        later = {own + other for other in INNER[max(rank + 1, INNER.index("saving") + 1) :]}
        targets = set().union(
            *(found for module, found in graph.items() if f"{module}.".startswith(own + name))
        )
        assert not targets & later, name


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("_validate.py", "from pyrjsel import _core"),
        ("_errors.py", "from pyrjsel._validate import show"),
        ("_errors.py", "import scipy"),
        ("_core/x.py", "import pandas"),
        ("_core/x.py", "from pyrjsel.storage import write"),
        ("_core/_x.pyx", "from pyrjsel.model_space._space cimport Space"),
        ("_core/_x.pxd", "from ..space cimport _space"),
        ("_core/_x.pyx", "cimport pyrjsel.model_space._space as sp"),
        ("storage/x.py", "from pyrjsel.design import Design"),
        ("families/x.py", "from pyrjsel.distributions import normal"),
        ("distributions/x.py", "from ..families import link"),
        ("distributions/x.py", "from .. import families"),
        ("design/x.py", "from pyrjsel.model_space import Space"),
        ("model_space/x.py", "from pyrjsel.runtime import run"),
        ("runtime/x.py", "import pyrjsel.report"),
        ("report/x.py", "from pyrjsel.selection.results.results import SelectionResults"),
        ("report/x.py", "import pyrjsel"),
        ("report/x.py", "from pyrjsel.results import Results"),
        ("results/x.py", "from pyrjsel.patterns.results import PatternResults"),
        ("results/x.py", "if TYPE_CHECKING:\n    from pyrjsel.mixture import model"),
        ("report/x.py", "from pyrjsel import load"),
        ("report/x.py", "from pyrjsel import report, selection"),
        ("selection/x.py", "from pyrjsel.patterns import model"),
        ("selection/x.py", "from pyrjsel.datasets import hald"),
        ("selection/x.py", "if TYPE_CHECKING:\n    from pyrjsel.kernel import model"),
        ("selection/x.py", "import importlib\nimportlib.import_module('pyrjsel.kernel')"),
        ("selection/x.py", "def f():\n    from pyrjsel.report import table"),
        ("selection/x.py", "def f():\n    import statsmodels.api"),
        ("selection/x.py", "class A:\n    def f(self):\n        import json"),
        ("selection/x.py", "f = lambda: __import__('pyrjsel.kernel')"),
        ("selection/_x.pyx", "def f():\n    from pyrjsel.report import table"),
        ("selection/_x.pyx", "from scipy.linalg.cython_blas cimport ddot"),
        (
            "selection/_x.pyx",
            "from pyrjsel.model_space._space cimport (\n    Space,\n)\nimport pyrjsel.mixture",
        ),
        ("runtime/workers.py", "import joblib"),
        ("runtime/x.py", "def f():\n    import joblib"),
        ("selection/x.py", "import patsy"),
        ("design/x.py", "from patsy import dmatrix"),
        ("report/x.py", "import matplotlib.pyplot as plt"),
        ("report/x.py", "from sklearn.base import BaseEstimator"),
        ("report/x.py", "import requests"),
        ("__init__.py", "import sklearn"),
        ("__init__.py", "from pyrjsel import sklearn"),
        ("datasets/x.py", "from pyrjsel.storage import read"),
        ("attic/x.py", ""),
        ("helpers.py", ""),
    ],
)
def test_the_checker_refuses(path, text):
    assert len(faults({path: text})) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("__init__.py", "from pyrjsel import datasets\nfrom pyrjsel.selection import linear"),
        ("__main__.py", "import pyrjsel as rj\nfrom pyrjsel import datasets, linear"),
        ("sklearn.py", "from sklearn.base import BaseEstimator\nfrom pyrjsel import linear"),
        ("selection/x.py", "from pyrjsel.selection import y\nfrom . import z\nfrom .y import z"),
        ("selection/a/x.py", "from ..y import z\nfrom ...report import table\nfrom ... import _errors"),
        ("selection/x.py", "from pyrjsel.model_space import Space\nimport pyrjsel._core._linalg"),
        ("selection/_x.pyx", '"""\nfrom pyrjsel.kernel import x\n"""\n# import pyrjsel.kernel\n'),
        ("selection/_x.pyx", "cimport cython\nfrom libc.math cimport exp\ncimport numpy as np"),
        ("selection/_x.pyx", "from pyrjsel._core cimport _linalg\nfrom pyrjsel.model_space._space cimport a"),
        ("_core/_linalg.pyx", "from scipy.linalg.cython_blas cimport ddot"),
        ("design/formula.py", "import patsy\nfrom pyrjsel.storage import register"),
        ("design/x.py", "import pandas as pd\nimport json"),
        ("runtime/workers.py", "def f():\n    import joblib"),
        ("report/x.py", "def f():\n    import matplotlib.pyplot as plt"),
        ("report/x.py", "if TYPE_CHECKING:\n    from matplotlib.axes import Axes"),
        ("model_space/x.py", "from pyrjsel.design import Design"),
        ("datasets/x.py", "import pandas as pd\nfrom pyrjsel._errors import DataError"),
    ],
)
def test_the_checker_allows(path, text):
    assert faults({path: text}) == []
