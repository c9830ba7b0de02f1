"""Modes and Laplace values of single models, against the weighted Gram matrix that they cannot do without.

The floor of a Newton step is one BLAS dsyrk of the (n, d) matrix of weighted columns. A step is timed
as a search that starts at the mode and takes one step to see that it is there; with it come the
Cholesky factor of the prior and two linear predictors. Values per model are those of enumeration, which
starts each search at the mode of the model's parent in the tree of subsets.
"""

import numpy as np
import pytest
from scipy.linalg.blas import dsyrk

import pyrjsel as rj
from pyrjsel.model_space import enumerate_models, unpack
from pyrjsel.selection.evidence.laplace import MarginalLikelihood

ROUNDS = 15


@pytest.mark.parametrize("size", [8, 13, 40])
def test_bench_newton_step(size, cohort, table, take_turns):
    names = list(cohort.data.columns[1 : size + 1])
    regression = rj.LogitSelection(cohort.data["mortality"], cohort.data[names]).regression
    gamma = np.ones(size, dtype=np.uint8)
    marginal = MarginalLikelihood(regression, b"", 64, size + 1)
    mode = marginal.mode(gamma)
    finder = marginal.finder
    mu = regression.family.mean(mode @ regression.columns)
    z = np.asfortranarray((regression.columns * np.sqrt(mu * (1 - mu))).T)
    repeats = 100

    def many(call):
        return lambda: [call() for _ in range(repeats)]

    calls = {
        "floor": many(lambda: dsyrk(1.0, z, trans=1, lower=1)),
        "step": many(lambda: finder.mode(gamma, mode)),
        "cold": many(lambda: finder.mode(gamma)),
        "integral": lambda: [marginal.integrate(gamma) for _ in range(5)],
    }
    times = take_turns(calls, ROUNDS)
    for name, values in times.items():
        times[name] = values / (5 if name == "integral" else repeats)
    group = f"one model of {size + 1} columns, n = 2,532"
    table.series(group, "floor: dsyrk of weighted columns", times["floor"], "µs", scale=1e6)
    table.series(group, "one Newton step with all that surrounds it", times["step"], "µs", scale=1e6)
    table.add(group, "  step / floor", times["step"].min() / times["floor"].min(), "ratio")
    table.series(group, "Laplace value from zero", times["cold"], "µs", scale=1e6)
    table.series(group, "Laplace value and 64 importance pairs", times["integral"], "µs", scale=1e6)


def test_bench_laplace_values(cohort, reduced, table, take_turns):
    model = rj.LogitSelection(
        cohort.data["mortality"], cohort.data[reduced], costs=cohort.costs[reduced], budget=10
    )
    gamma = np.ascontiguousarray(unpack(enumerate_models(model.space, 10_000), len(reduced)))
    regression = model.regression
    marginal = MarginalLikelihood(regression, b"", 2, regression.largest_model(gamma))
    columns = np.array([1 + row.sum() for row in gamma])
    z = {d: np.asfortranarray(regression.columns[:d].T) for d in np.unique(columns)}
    calls = {
        "values": lambda: marginal.finder.laplace_values(gamma),
        "floor": lambda: [dsyrk(1.0, z[d], trans=1, lower=1) for d in columns],
    }
    times = {name: values / len(gamma) for name, values in take_turns(calls, 3).items()}
    group = f"Laplace values of {len(gamma):,} models of up to {columns.max()} columns"
    table.series(group, "a model", times["values"], "µs", scale=1e6)
    table.series(group, "floor: one dsyrk a model", times["floor"], "µs", scale=1e6)
    table.add(group, "  value / floor", times["values"].min() / times["floor"].min(), "ratio")
