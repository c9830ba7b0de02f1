"""Enumeration of the published reduced space: time on one core, and accuracy beside it."""

import time

import pytest

import pyrjsel as rj

PUBLISHED_SPACE = 7497
# Posterior of the four best models and odds against the first, by enumeration, to the digits known.
MODELS = {1: (0.52, 1.0), 2: (0.110, 4.7), 3: (0.101, 5.2), 4: (0.038, 13.8)}


@pytest.fixture(scope="module")
def model(cohort, reduced):
    return rj.LogitSelection(
        cohort.data["mortality"],
        cohort.data[reduced],
        costs=cohort.costs[reduced],
        budget=10,
        model_prior=rj.Uniform(),
    )


def seconds_of(model, rounds, **options):
    """Return the seconds of fits on one core (by the clock, in the processor) and the last result."""
    wall, processor = [], []
    for _ in range(rounds):
        start = time.perf_counter(), time.thread_time()
        found = model.fit(sampler="enumerate", rng=1, n_jobs=1, progress=False, **options)
        wall.append(time.perf_counter() - start[0])
        processor.append(time.thread_time() - start[1])
    return wall, processor, found


def test_bench_enumerate(model, table):
    group = f"enumeration of {PUBLISHED_SPACE:,} models, one core"
    runs = {
        "importance sampling, 64 pairs": (3, 20, {}),
        "importance sampling, 256 pairs": (2, 20, {"pairs": 256}),
        "Laplace alone": (3, 3, {"integration": "laplace"}),
        "long integration, 2,048 pairs": (1, None, {"pairs": 2048}),
    }
    results = {}
    for name, (rounds, target, options) in runs.items():
        wall, processor, results[name] = seconds_of(model, rounds, **options)
        table.series(group, name, processor, "s", target=target, note=f"processor; clock {min(wall):.3g} s")
    best = results.pop("long integration, 2,048 pairs")
    assert best.diagnostics["models"].iloc[0] == PUBLISHED_SPACE
    for name, found in results.items():
        error = (found.inclusion["posterior"] - best.inclusion["posterior"]).abs().max()
        table.add(group, f"  {name}: largest error of inclusion", error, "", note="against the long one")
    for name, found in {"64 pairs": results["importance sampling, 64 pairs"], "2,048 pairs": best}.items():
        for rank, (posterior, odds) in MODELS.items():
            row = found.models.loc[rank]
            note = f"± {row['mcse']:.1g}; known {posterior:g}; odds {row['odds']:.3g}, known {odds:g}"
            table.add(group, f"  {name}: posterior of model {rank}", row["posterior"], "", note=note)
