"""Iterations a second of the reversible-jump sampler, what they are worth, and the memory of a long run.

An iteration is as many flips as there are free terms, swaps, and one update of all coefficients. What
an iteration is worth is the effective sample size of the worst inclusion probability: the term that
mixes most slowly, among those that moved at all.
"""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

import pyrjsel as rj

SPACES = {
    "13 terms, budget 10": {"terms": "reduced", "budget": 10, "draws": 10_000},
    "83 terms, budget 10": {"terms": "all", "budget": 10, "draws": 10_000},
    "83 terms, no budget": {"terms": "all", "budget": None, "draws": 4_000},
}


@pytest.mark.parametrize("space", SPACES)
def test_bench_rates(space, cohort, reduced, table):
    choice = SPACES[space]
    x = cohort.data.drop(columns="mortality")
    x = x[reduced] if choice["terms"] == "reduced" else x
    constraint = (
        {} if choice["budget"] is None else {"budget": choice["budget"], "costs": cohort.costs[x.columns]}
    )
    model = rj.LogitSelection(cohort.data["mortality"], x, model_prior=rj.Uniform(), **constraint)
    iterations, rates = choice["draws"] + choice["draws"] // 5, []
    for seed in (1, 2):
        start = time.thread_time()
        found = model.fit(
            sampler="rjmcmc", draws=choice["draws"], chains=1, rng=seed, n_jobs=1, progress=False
        )
        seconds = time.thread_time() - start
        rates.append(iterations / seconds)
    ess = found.inclusion["ess"]
    moved = ess.dropna()
    note = f"{moved.idxmin()}; {len(ess) - len(moved)} terms without an ESS"
    group = f"rjmcmc, {space}"
    table.add(group, "iterations a second", max(rates), "1/s", median=np.median(rates))
    flips = model.space.n_terms
    table.add(group, "processor time an iteration", 1e6 / max(rates), "µs", note=f"{flips} flips")
    table.add(group, "ESS a second, worst inclusion probability", moved.min() / seconds, "1/s", note=note)
    table.add(group, "ESS a second, median inclusion probability", moved.median() / seconds, "1/s")
    for name in ("acceptance_birth", "acceptance_death", "acceptance_swap"):
        table.add(group, name, found.diagnostics.loc["all", name], "")


PROGRAM = """
import json, resource, time
import pyrjsel as rj
cohort = rj.datasets.pneumonia()
model = rj.logit("mortality ~ .", cohort.data, costs=cohort.costs, budget=10, model_prior=rj.Uniform())
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before, start = peak(), time.thread_time()
found = model.fit(sampler="rjmcmc", draws=100_000, burn_in=1_000, chains=1, rng=1, n_jobs=1, progress=False)
print(json.dumps([before, peak(), time.thread_time() - start, len(found.models)]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no getrusage")
def test_bench_memory(table):
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], check=True, capture_output=True, text=True)
    before, after, seconds, models = json.loads(done.stdout)
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kibibytes elsewhere
    group = "memory, 100,000 draws of 83 terms with budget 10"
    table.add(group, "peak resident memory", after / unit, "MiB", target=500)
    table.add(group, "  of it before the fit", before / unit, "MiB")
    table.add(group, "processor time of the fit", seconds, "s", note=f"{models:,} models visited")
