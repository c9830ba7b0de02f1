"""Population reversible jumps: iterations a second, memory; what an iteration is worth.

The published comparison on the reduced space: for the same Monte Carlo error of the best model, the
population needs about a third of the iterations of the simple sampler (three chains each, so that the
work is about the same). Here the ratio of iterations and that of processor time.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

import pyrjsel as rj

FULL = """
import json, resource, sys, time
import pyrjsel as rj
cohort = rj.datasets.pneumonia()
model = rj.logit("mortality ~ .", cohort.data, costs=cohort.costs, budget=10, model_prior=rj.Uniform())
before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
found = model.fit(
    sampler="population", draws=100_000, burn_in=5_000, chains=1, rng=int(sys.argv[1]), n_jobs=1,
    progress=False, start=sys.argv[2].split(",") if sys.argv[2] else "empty",
)
seconds = time.thread_time() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([seconds, before, peak, found.inclusion["posterior"].to_dict()]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no getrusage")
def test_bench_full_space_from_two_starts(table):
    runs = []
    # The smallest model, and the one that spends the whole budget on a single variable.
    for seed, start in ((1, ""), (2, "apache_total")):
        command = [sys.executable, "-P", "-c", FULL, str(seed), start]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(done.stdout))
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kibibytes elsewhere
    group = "population, 83 terms, budget 10, 105,000 iterations of three chains"
    rates = [105_000 / run[0] for run in runs]
    table.add(group, "iterations a second (to exceed 150)", max(rates), "1/s", median=np.median(rates))
    table.add(group, "peak resident memory", max(run[2] for run in runs) / unit, "MiB", target=286)
    table.add(group, "  of it before the fit", max(run[1] for run in runs) / unit, "MiB")
    first, second = (run[3] for run in runs)
    apart = {name: abs(first[name] - second[name]) for name in first}
    worst = max(apart, key=apart.get)
    table.add(group, "most that the starts disagree on inclusion", apart[worst], "", target=0.05, note=worst)


# Without swaps, the simple sampler's chains do not agree after so many draws, and say so.
@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("swaps", ["swaps", "flips alone"])
def test_bench_same_error_of_the_best_model(swaps, cohort, reduced, table):
    model = rj.LogitSelection(
        cohort.data["mortality"],
        cohort.data[reduced],
        model_prior=rj.Uniform(),
        costs=cohort.costs[reduced],
        budget=10,
    )
    options = {} if swaps == "swaps" else {"swaps": 0}
    fits = {
        sampler: model.fit(
            sampler=sampler, draws=30_000, chains=2, rng=1, n_jobs=1, progress=False, **options
        )
        for sampler in ("rjmcmc", "population")
    }
    needed, spent = {}, {}
    group = f"reduced space, {swaps}: the same error of the best model"
    for sampler, found in fits.items():
        best = found.models.iloc[0]
        variance = best["mcse"] ** 2
        needed[sampler] = 60_000 * variance
        spent[sampler] = found.diagnostics.loc["all", "seconds"] * variance
        table.add(group, f"MCSE of the best model, 60,000 of {sampler}", 100 * best["mcse"], "%")
    ratio = needed["population"] / needed["rjmcmc"]
    table.add(group, "iterations, population / rjmcmc (slides: 0.3)", ratio, "")
    table.add(group, "seconds, population / rjmcmc", spent["population"] / spent["rjmcmc"], "")
