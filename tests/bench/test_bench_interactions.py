"""Interactions under heredity, against the same terms without it, for the same number of draws."""

import time

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj


def problem(columns, rows=1000):
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(rows, columns)), columns=[f"x{i}" for i in range(columns)])
    return data.assign(
        y=data["x0"] - 0.3 * data["x1"] + 0.5 * data["x0"] * data["x1"] + rng.normal(size=rows)
    )


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
def test_bench_interactions(table):
    columns = " + ".join(f"x{i}" for i in range(60))
    data, times = problem(60), {"strong": [], None: []}
    for _ in range(2):
        for heredity, used in times.items():
            model = rj.linear(f"y ~ ({columns})**2", data, heredity=heredity)
            begun = time.process_time()
            model.fit(draws=800, n_jobs=1, rng=1)
            used.append(time.process_time() - begun)
    group = "1,830 terms of 60 columns and their pairs, 3,200 draws"
    table.series(group, "strong heredity, processor time", times["strong"], "s")
    table.series(group, "without heredity", times[None], "s")
    table.add(group, "ratio", min(times["strong"]) / min(times[None]), "times")
