"""What the benchmarks share: the cohort, a compiled floor, paired timings, and the table at the end.

Nothing here asserts a speed: a machine may be busy. Timings of compiled loops are in processor time of
their thread, things that are compared are timed in turns, and the table gives the least time of a
series with the median behind it (how far apart they are says how noisy the machine was).
"""

import ctypes
import json
import os
import platform
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from pyrjsel import datasets

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / ".benchmarks"  # ignored by git, removed by `make clean`
ROWS = pytest.StashKey[list]()

# For this machine alone, with fused multiply-add. Reassociation would undo the rounding by addition.
FLOOR_FLAGS = ["-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno"]
FLOOR_FLAGS += ["-fno-trapping-math", "-ffinite-math-only", "-fno-signed-zeros"]
# Those of setup.py.
PACKAGE_FLAGS = ["-O3", "-fno-math-errno", "-ffp-contract=off"]
PASSES = ("floor", "scalar", "shift", "working", "dot", "dot3", "floor_dots", "axpy", "copy")


def pytest_configure(config):
    config.stash[ROWS] = []


class Table:
    """Rows of the table that ends a run."""

    def __init__(self, rows):
        self.rows = rows

    def add(self, group, what, value, unit, *, median=None, target=None, note=""):
        row = {"group": group, "what": what, "value": float(value), "unit": unit, "note": note}
        row["median"] = None if median is None else float(median)
        row["target"] = target
        self.rows.append(row)

    def series(self, group, what, times, unit, *, scale=1.0, target=None, note=""):
        """Add the least of `times` and their median, both multiplied by `scale`."""
        times = np.asarray(times) * scale
        self.add(group, what, times.min(), unit, median=np.median(times), target=target, note=note)


@pytest.fixture(scope="session")
def table(pytestconfig):
    return Table(pytestconfig.stash[ROWS])


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash[ROWS]
    if not rows:
        return
    out = terminalreporter
    out.section("timings: least (median), against their targets")
    group = None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            out.write_line(f"{group}:")
        median = "" if row["median"] is None else f"({row['median']:.4g})"
        target = "" if row["target"] is None else f"  target < {row['target']:g}"
        out.write_line(
            f"  {row['what']:<52} {row['value']:>10.4g} {median:<10} {row['unit']:<9}{target}  {row['note']}"
        )
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "pyrjsel.json"
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": load}
    path.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))
    out.write_line(f"load average {load}; also in {path.relative_to(ROOT)}")


@pytest.fixture(scope="session")
def take_turns():
    """Return a function that times calls in turns: processor seconds by name, one a round."""

    def timed(call):
        start = time.thread_time()
        call()
        return time.thread_time() - start

    def take(calls, rounds):
        with threadpool_limits(1, user_api="blas"):
            for call in calls.values():
                call()
            times = [[timed(call) for call in calls.values()] for _ in range(rounds)]
        return dict(zip(calls, np.array(times).T, strict=True))

    return take


@pytest.fixture(scope="session")
def cohort():
    return datasets.pneumonia()


@pytest.fixture(scope="session")
def reduced(cohort):
    """Names of the 13 variables of the published reduced space."""
    return list(cohort.variables.index[cohort.variables["reduced"]])


class Floor:
    """The passes of ``floor.c`` over given arrays."""

    def __init__(self, passes, columns, eta, y):
        self.passes = passes
        self.columns = np.ascontiguousarray(columns)
        self.eta, self.y = np.ascontiguousarray(eta), np.ascontiguousarray(y)
        n = self.eta.size
        self.out, self.sink = self.eta.copy(), np.zeros(1)
        mu = 1 / (1 + np.exp(-self.eta))
        self.residual, self.weight = self.y - mu, mu * (1 - mu)
        self.n = ctypes.c_ssize_t(n)

    def seconds(self, which, order):
        """Return the seconds that a pass takes, visiting columns in `order`."""
        order = np.ascontiguousarray(order, dtype=np.intc)
        return self.passes.bench_time(
            PASSES.index(which),
            self.n,
            self.columns.ctypes.data,
            order.ctypes.data,
            order.size,
            *(a.ctypes.data for a in (self.eta, self.y, self.out, self.residual, self.weight, self.sink)),
        )

    def value(self, which, column, delta):
        """Return what a pass returns, and what it writes."""
        arrays = self.columns[column], self.eta, self.y
        rest = self.out, self.residual, self.weight
        value = self.passes.bench_pass(
            PASSES.index(which),
            self.n,
            *(a.ctypes.data for a in arrays),
            ctypes.c_double(delta),
            *(a.ctypes.data for a in rest),
        )
        return value, self.out.copy()


@pytest.fixture(scope="session")
def floor_library(tmp_path_factory):
    """Compile ``floor.c`` and the package's own passes into one library."""
    compiler = shlex.split(os.environ.get("CC", "")) or [shutil.which("gcc") or "cc"]
    if shutil.which(compiler[0]) is None:
        pytest.skip("no C compiler")
    folder, core = tmp_path_factory.mktemp("floor"), ROOT / "pyrjsel" / "_core"
    jobs = ((ROOT / "tests/bench/floor.c", FLOOR_FLAGS), (core / "vecmath.c", PACKAGE_FLAGS))
    objects = []
    for source, flags in jobs:
        objects.append(str(folder / f"{source.stem}.o"))
        command = [*compiler, "-std=gnu11", "-fPIC", *flags, f"-I{core}", "-c", str(source)]
        subprocess.run([*command, "-o", objects[-1]], check=True)
    library = folder / "floor.so"
    subprocess.run([*compiler, "-shared", *objects, "-o", str(library), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    pointer, size = ctypes.c_void_p, ctypes.c_ssize_t
    loaded.bench_time.restype = loaded.bench_pass.restype = ctypes.c_double
    loaded.bench_time.argtypes = [ctypes.c_int, size, pointer, pointer, ctypes.c_int, *[pointer] * 6]
    loaded.bench_pass.argtypes = [ctypes.c_int, size, *[pointer] * 3, ctypes.c_double, *[pointer] * 3]
    return loaded


@pytest.fixture
def make_floor(floor_library):
    """Return a function of columns, linear predictor and response that gives their `Floor`."""
    return lambda columns, eta, y: Floor(floor_library, columns, eta, y)
