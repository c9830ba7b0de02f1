"""The time that an import takes in a fresh interpreter, against the packages that it stands on."""

import subprocess
import sys

import numpy as np

ROUNDS = 9
BASE = "numpy, pandas, scipy.linalg, statsmodels.iolib.summary"
ROWS = "pd.DataFrame({'a': range(9), 'y': [0, 1, 1] * 3})"
FIT = "pandas as pd, pyrjsel; pyrjsel.{}('y ~ a', {}).fit(rng=1)"
MODULES = {
    "pyrjsel": "pyrjsel",
    "linear": "pyrjsel; pyrjsel.linear",
    "logit": "pyrjsel; pyrjsel.logit",
    "first linear fit": FIT.format("linear", ROWS),
    "first logit fit": FIT.format("logit", ROWS),
    "base": BASE,
}
# statsmodels imports polars where it is installed, which takes longer than all of this package.
PROGRAM = """
import sys, time
sys.modules["polars"] = None
wall, processor = time.perf_counter(), time.process_time()
import {module}
print(time.perf_counter() - wall, time.process_time() - processor)
"""


def test_bench_import(table):
    def seconds(module):
        command = [sys.executable, "-P", "-c", PROGRAM.format(module=module)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return [float(value) for value in out.split()]

    for module in MODULES.values():
        seconds(module)
    times = {name: [] for name in MODULES}
    for _ in range(ROUNDS):
        for name, module in MODULES.items():
            times[name].append(seconds(module))
    times = {name: np.array(values) for name, values in times.items()}
    for name in MODULES:
        table.series("import", name, times[name][:, 0], "ms", scale=1e3, note="by the clock")
        table.series("import", name, times[name][:, 1], "ms", scale=1e3, note="processor")
    medians = {name: np.median(values, axis=0) for name, values in times.items()}
    for name in ("pyrjsel", "linear", "logit"):
        wall, processor = medians[name] / medians["base"]
        table.add("import", f"  {name}: ratio of medians, by the clock", wall, "ratio", target=1.2)
        table.add("import", f"  {name}: ratio of medians, processor", processor, "ratio", target=1.2)
