"""More columns than rows under a g-prior: prior probabilities over the models that exist, for summaries."""

import time
import tracemalloc

import numpy as np
import pytest

import pyrjsel as rj
from pyrjsel.model_space.counting import prior_inclusion
from pyrjsel.selection.regression.columns import independent

ROWS = 300


@pytest.mark.parametrize("columns", [1000, 5000, 20_000])
@pytest.mark.filterwarnings("ignore::pyrjsel.RankWarning")
def test_bench_wide(columns, table, take_turns):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, columns))
    y = x[:, :5].sum(axis=1) + rng.standard_normal(ROWS)
    model = rj.LinearSelection(y, x, coef_prior=rj.GPrior("n"), model_prior=rj.Bernoulli(10 / columns))
    existence, regression = model._existence, model.regression
    gamma = (rng.random((1000, columns)) < 10 / columns).astype(np.uint8)

    def one_by_one():
        found = [regression.rank_gram(regression.model_columns(one)[1:] - 1) for one in gamma]
        return [independent(gram, regression.most_columns) for gram in found]

    assert np.array_equal(existence.exists(gamma), one_by_one())
    times = take_turns({"together": lambda: existence.exists(gamma), "one by one": one_by_one}, 5)
    group = f"{columns:,} columns and {ROWS} rows"
    for name, spent in times.items():
        table.series(group, f"existence of 1,000 models, {name}", spent, "ms", scale=1e3)
    ratio = times["one by one"].min() / times["together"].min()
    table.add(group, "  one by one / together", ratio, "ratio")
    start = time.thread_time()
    prior_inclusion(model.space, 1, existence)
    table.add(group, "prior probabilities of terms", 1e3 * (time.thread_time() - start), "ms")
    usual = rj.LinearSelection(y, x)
    start = time.thread_time()
    usual.prior_inclusion  # noqa: B018 - computed on first access
    spent = 1e3 * (time.thread_time() - start)
    table.add(group, "  under the default prior over models", spent, "ms", target=50.0)
    tracemalloc.start()
    prior_inclusion(model.space, 1, existence)
    table.add(group, "  largest memory", tracemalloc.get_traced_memory()[1] / 2**20, "MB")
    tracemalloc.stop()
