"""Fits on clusters beside fits in one process, and the memory of long runs."""

import json
import random
import subprocess
import sys
import time

import joblib
import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

# Draws of all four chains together, by kind of model and sampler; of several lengths, to see what one takes.
# A line through two of them lies above what ten million take, since new models become rarer: of rjmcmc for
# linear models, measured in 17 minutes, that was 491 MB.
LENGTHS = {
    ("linear", "collapsed"): (1_000_000, 4_000_000, 10_000_000),
    ("linear", "rjmcmc"): (400_000, 1_600_000),
    ("logit", "rjmcmc"): (100_000, 400_000),
    ("logit", "collapsed"): (2_000, 10_000),
}
MOST = 500.0  # MB, of the whole process, for ten million draws at p = 100

LONG = """
import json, resource, sys, time, warnings
import numpy as np, pandas as pd, pyrjsel as rj

kind, sampler, draws = sys.argv[1], sys.argv[2], int(sys.argv[3])
warnings.simplefilter("ignore")  # short runs have not converged
rng = np.random.default_rng(0)
x = pd.DataFrame(rng.normal(size=(500, 100))).add_prefix("x")
eta = x.iloc[:, :8].to_numpy() @ [1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.15, 0.1]
if kind == "linear":
    model = rj.LinearSelection(eta + rng.normal(size=500), x)
else:
    model = rj.LogitSelection((rng.random(500) < 1 / (1 + np.exp(-eta))).astype(int), x)
unit = 2**20 if sys.platform == "darwin" else 2**10
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
before, start = peak(), time.process_time()
found = model.fit(sampler=sampler, draws=draws // 4, burn_in=1000, rng=1, n_jobs=1, progress=False)
str(found.summary())
visited = len(found.posterior.packed)
print(json.dumps([before, peak(), time.process_time() - start, visited]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the peak is read where POSIX has it")
@pytest.mark.parametrize(("kind", "sampler"), LENGTHS)
def test_bench_memory_of_long_runs(table, kind, sampler):
    group = f"{kind}, p = 100, sampler={sampler!r}: peak memory of the process against draws"
    found = []
    for draws in LENGTHS[kind, sampler]:
        done = subprocess.run(
            [sys.executable, "-P", "-c", LONG, kind, sampler, str(draws)],
            capture_output=True,
            text=True,
            check=True,
        )
        before, peak, seconds, visited = json.loads(done.stdout)
        found.append((draws, peak))
        note = f"{before:.0f} MB before; {visited:,} models; {seconds:.0f} s of processor"
        table.add(group, f"{draws:,} draws", peak, "MB", target=MOST, note=note)
    (few, low), (many, high) = found[0], found[-1]
    if many < 10_000_000:
        ahead = high + (high - low) / (many - few) * (10_000_000 - many)
        table.add(group, "10,000,000 draws, on the line through these", ahead, "MB", target=MOST)


def test_bench_workers_of_a_cluster(table):
    """A fit of 20 s or more; joblib runs what is for a cluster of one processor in the client's process."""
    distributed = pytest.importorskip("distributed", reason="pyrjsel[dask] is not installed")
    state = random.getstate()  # Dask draws names from it
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(2_000, 40))).add_prefix("x")
    eta = x.iloc[:, :5].to_numpy() @ [1.0, 0.8, 0.6, 0.4, 0.2]
    model = rj.LogitSelection((rng.random(2_000) < 1 / (1 + np.exp(-eta))).astype(int), x)
    group, clock, work = "logit, n = 2,000, p = 40, rjmcmc, 4 chains on a local Dask cluster", {}, {}
    for workers in (1, 2):
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
            ) as cluster,
            distributed.Client(cluster) as client,
            joblib.parallel_config(backend="dask"),
        ):

            def processor(client=client):
                return time.process_time() + sum(client.run(time.process_time).values())

            model.fit(sampler="rjmcmc", draws=100, rng=1, progress=False)  # the package is imported
            start = time.perf_counter(), processor()
            model.fit(sampler="rjmcmc", draws=32_000, rng=1, progress=False)
            clock[workers], work[workers] = time.perf_counter() - start[0], processor() - start[1]
        note = f"{work[workers]:.3g} s of processor in all processes"
        table.add(group, f"workers: {workers}", clock[workers], "s", note=note)
    random.setstate(state)
    table.add(group, "one over two", clock[1] / clock[2], "times", note="aim: at least 1.7")
    ideal = 2 * work[1] / work[2]
    table.add(group, "what the processor's time would allow", ideal, "times", note="for a busy machine")
