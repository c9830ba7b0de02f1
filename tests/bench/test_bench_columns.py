"""A hundred thousand columns in their own types: one pass, and a default fit in a process of its own.

The floor of a pass is to add up the bytes of the matrix. Memory is what the process holds beyond the
matrix and the imported package, including that of the first summary.
"""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from pyrjsel.design import as_wide
from pyrjsel.selection.regression.wide import WideColumns

ROWS, COLUMNS, EFFECTS = 1000, 100_000, 10

FIT = """
import json, resource, sys, time, warnings
import numpy as np
import pyrjsel as rj

warnings.simplefilter("ignore")
dtype, rows, columns, effects = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
if dtype == "int8":
    x = rng.integers(0, 3, (rows, columns), dtype=np.int8)
else:
    x = rng.standard_normal((rows, columns), dtype=np.float32)
places = rng.choice(columns, effects, replace=False)
y = x[:, places] @ np.where(np.arange(effects) % 2, 0.5, -0.5) + rng.standard_normal(rows)


def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


# Modules are imported as they are used.
small = rng.integers(0, 3, (60, 1100), dtype=np.int8)
small = rj.LinearSelection(rng.standard_normal(60), small)
str(small.fit(draws=20, burn_in=20, rng=1, progress=False).summary())
before = held()
clock = time.process_time(), time.perf_counter()
found = rj.LinearSelection(y, x).fit(rng=1, progress=False)
seconds = time.process_time() - clock[0], time.perf_counter() - clock[1]
best = np.argsort(-found.posterior.inclusion)[:effects]
clock = time.process_time()
found.summary(), found.inclusion
summary = time.process_time() - clock
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
print(json.dumps({
    "cpu": seconds[0], "wall": seconds[1], "summary": summary, "found": len(set(best) & set(places)),
    "mcse": float(np.nanmax(found.posterior.inclusion_mcse)), "memory": most / x.nbytes,
}))
"""


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_bench_pass(dtype, order, table, take_turns):
    rng = np.random.default_rng(0)
    x = np.asarray(rng.integers(0, 3, (ROWS, COLUMNS // 5)), dtype=dtype, order=order)
    if dtype == "float64":
        x = x.view(np.memmap)  # float64 in memory is converted
    columns = WideColumns.of(as_wide(x), np.ones(ROWS))
    v, flat = rng.standard_normal(ROWS), x.ravel(order="K").view(np.int64)
    times = take_turns({"pass": lambda: columns.products(v), "floor": flat.sum}, 7)
    group = f"one pass over {ROWS:,} x {COLUMNS // 5:,}, {dtype} in {order} order"
    table.series(group, "products of all columns with a vector", times["pass"], "ms", scale=1e3)
    table.series(group, "floor: the sum of the bytes as int64", times["floor"], "ms", scale=1e3)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_bench_default_fit(dtype, table):
    command = [sys.executable, "-P", "-c", FIT, dtype, *map(str, (ROWS, COLUMNS, EFFECTS))]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    group = f"default fit of {ROWS:,} x {COLUMNS:,}, {dtype}, {EFFECTS} effects"
    table.add(group, "processor time", found["cpu"], "s")
    whole = f"{time.perf_counter() - start:.0f} s in all"
    table.add(group, "elapsed", found["wall"], "s", target=180.0, note=whole)
    table.add(group, "first summary, and the table of inclusion", found["summary"], "s")
    table.add(group, "effects among the best", found["found"], "of 10")
    table.add(group, "largest MCSE", found["mcse"], "", target=0.005)
    table.add(group, "memory beyond the matrix, in units of it", found["memory"], "ratio", target=0.5)
