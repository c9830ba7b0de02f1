"""Gaussian models: whole fits by enumeration, the steps of walks, and the memory of a wide fit."""

import json
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.evidence.gaussian import evidence_of
from pyrjsel.selection.regression.gaussian import GaussianRegression


def crime():
    logged = rj.datasets.uscrime().data.astype(float)
    others = [column for column in logged if column != "So"]
    logged[others] = np.log(logged[others])
    return logged["y"], logged.drop(columns="y")


def columns(n, p):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    return x, x[:, :5].sum(axis=1) + 2 * rng.normal(size=n)


def seconds_of(model, rounds):
    wall, processor = [], []
    for _ in range(rounds):
        start = time.perf_counter(), time.thread_time()
        model.fit(rng=1, n_jobs=1, progress=False)
        wall.append(time.perf_counter() - start[0])
        processor.append(time.thread_time() - start[1])
    return wall, processor


def test_bench_enumeration(table):
    y, x = crime()
    large, response = columns(200, 20)
    cases = {
        "UScrime, 32,768 models": (lambda prior: rj.LinearSelection(y, x, coef_prior=prior), 5, 0.15),
        "20 terms, 1,048,576 models": (
            lambda prior: rj.LinearSelection(response, pd.DataFrame(large), coef_prior=prior),
            2,
            6.0,
        ),
    }
    for name, (make, rounds, target) in cases.items():
        for prior in (rj.GPrior("n"), rj.Normal(1.0), rj.HyperG(3), rj.ZellnerSiow()):
            wall, processor = seconds_of(make(prior), rounds)
            aim = target if isinstance(prior, rj.GPrior) else None
            note = f"processor; clock {min(wall):.3g} s"
            table.series(
                f"linear: {name}, whole fit on one core", repr(prior), processor, "s", target=aim, note=note
            )


def test_bench_steps(table, take_turns):
    """All changes of a model of 12 columns, and flips there and back."""
    for n, p in ((500, 200), (1000, 5000)):
        x, y = columns(n, p)
        for prior in (rj.GPrior("n"), rj.Normal(1.0), rj.ZellnerSiow()):
            evidence = evidence_of(GaussianRegression.build(x, y, [1] * p, prior))
            gamma = np.zeros(p, dtype=np.uint8)
            gamma[:12] = 1
            evidence.changes_at(gamma)
            flips = np.repeat(np.arange(12, 62), 2).astype(np.intc)
            evidence.walk(flips)
            calls = {"changes": evidence.neighbours, "flips": partial(evidence.walk, flips)}
            times = take_turns(calls, 20)
            group = f"linear: n = {n:,}, {p:,} columns, 12 in the model, {prior!r}"
            aim = 15.0 if isinstance(prior, rj.ZellnerSiow) else 8.0
            table.series(
                group, "changes by all flips, a term", times["changes"], "ns", scale=1e9 / p, target=aim
            )
            table.series(group, "a flip", times["flips"], "µs", scale=1e6 / flips.size)


# Peaks are those of resident memory above that of the process with its packages and the data.
WIDE = """
import json, sys, warnings
import numpy as np, pandas as pd
import pyrjsel as rj
warnings.simplefilter("ignore")

def memory(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

rng = np.random.default_rng(1)
x = rng.normal(size=(1000, 5000)) + 0.5 * rng.normal(size=(1000, 1))
y = x[:, :5].sum(axis=1) + 2 * rng.normal(size=1000)
data = pd.DataFrame(x, columns=[f"x{j}" for j in range(5000)]).assign(y=y)
size = x.nbytes
del x, y
rj.linear("y ~ x0 + x1", data.iloc[:50]).fit(draws=50, rng=1, progress=False)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = memory("VmRSS")
model = rj.linear("y ~ .", data)
built = memory("VmHWM")
model.fit(chains=int(sys.argv[1]), rng=1, progress=False)
print(json.dumps([(built - before) / size, (memory("VmHWM") - before) / size]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read where Linux has it")
def test_bench_memory_of_a_wide_fit(table):
    for chains in (1, 4):
        done = subprocess.run(
            [sys.executable, "-P", "-c", WIDE, str(chains)], capture_output=True, text=True, check=True
        )
        built, peak = json.loads(done.stdout)
        group = f"linear: n = 1,000, 5,000 columns (40 MB), default fit of {chains} chains, peak memory"
        table.add(group, "model", built, "x data")
        table.add(group, "model and fit", peak, "x data", target=4.0)
