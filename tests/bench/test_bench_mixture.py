"""Mixture classifiers, joint target: 15,000 sweeps with moves, on data of the sizes of Sykacek (1999).

The cost of a sweep of one replica at N rows, p inputs of which s are selected, and D kernels: 2 N s additions
for the sums by kernel; N D s multiplications for the densities of the rows; D s gamma and normal draws for
the kernels; and for each move N D exponentials (twice as many where two inputs are exchanged), N uniform
numbers, a draw of D gamma numbers, some 5 D logarithms, and s^2 / 2 multiplications for the null model (twice
s^2 with rotations where two inputs are exchanged). Missing inputs that are imputed add N p times the inputs
that have some for the scatter, p^3 for its inverse, and 6 p^2 for each row with one: the published runs,
whose seconds are bounded, have none.
"""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from pyrjsel.mixture.options import MixtureOptions
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.mixture.sampler import MixtureJob
from pyrjsel.model_space import BetaBinomial, ModelSpace
from pyrjsel.report import scalar_stats

SWEEPS, BURN_IN = 15_000, 5_000
# Rows, inputs, classes, kernels, and the seconds in which the run must be done where nothing is missing.
RUNS = {
    "Pima": (200, 7, 2, 3, 5.0),
    "wine": (62, 13, 3, 3, 5.0),
    "Ionosphere": (175, 33, 2, 6, 30.0),
}


def simulated(n, p, n_classes, components, missing):
    """Clusters in a third of the inputs; the others are correlated noise."""
    rng = np.random.default_rng(1)
    label = np.arange(n, dtype=np.int32) % n_classes
    x = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)) / np.sqrt(p))
    x[:, : p // 3 + 1] += 2.5 * rng.standard_normal((n_classes, p // 3 + 1))[label]
    x[rng.random(x.shape) < missing] = np.nan
    low, high = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
    terms = [
        SimpleNamespace(name=f"x{j}", columns=(f"x{j}",), variables=(f"x{j}",), parents=(), near_parents=())
        for j in range(p)
    ]
    space = ModelSpace.build(terms, prior=BetaBinomial(1, 1), n_observations=n)
    z = (x - 0.5 * (low + high)) / (high - low)
    return MixtureProblem(
        z, label, n_classes, np.log(high - low), MixturePrior(), components, "gaussian", space
    )


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("name", RUNS)
def test_bench_runs(table, name, missing):
    n, p, n_classes, components, seconds_at_most = RUNS[name]
    target = None if missing else seconds_at_most
    problem = simulated(n, p, n_classes, components, missing)
    job = MixtureJob(problem, MixtureOptions(), SWEEPS - BURN_IN, BURN_IN, 1, 10, None)
    begin = time.thread_time()
    runner = job.start(np.random.SeedSequence(1), 0)
    runner.advance(job.total)
    seconds = time.thread_time() - begin
    found = runner.finish(True)
    group = f"mixture: {name}'s size ({n} x {p}, {components} kernels), {missing:.0%} missing"
    table.add(group, f"{SWEEPS:,} sweeps of {p} moves, with the start", seconds, "s", target=target)
    size = np.bitwise_count(found.words).sum(axis=1)[found.index]
    table.add(group, "inputs selected, mean", float(size.mean()), "")
    shares = found.counts[1] / found.counts[0]
    for kind, share in zip(("added", "removed", "exchanged"), shares, strict=False):
        table.add(group, f"inputs {kind}, share of proposals", float(share), "")
    table.add(group, "exchanges of replicas, least share of proposals", float(shares[3:].min()), "")
    stats = scalar_stats(size[None])
    table.add(group, "effective numbers of inputs", stats.ess / seconds, "1/s")
    assert target is None or seconds < target
