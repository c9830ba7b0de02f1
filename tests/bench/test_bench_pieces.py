"""Enumeration in pieces: time of a model, one thread against two; interactions under heredity.

The reference of the latter is the same model space without heredity, for the same number of draws.
"""

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


def test_bench_pieces(table):
    model = rj.linear("y ~ .", problem(23))
    times, group = {1: [], 2: []}, "enumeration in pieces, 2^23 linear models"
    used = []
    for _ in range(3):
        for jobs, walls in times.items():
            wall, cpu = time.perf_counter(), time.process_time()
            model.fit(max_models=2**23, n_jobs=jobs, rng=1)
            walls.append(time.perf_counter() - wall)
            used.append(time.process_time() - cpu)
    table.series(group, "processor time of a model", used, "us", scale=1e6 / 2**23)
    for jobs, walls in times.items():
        table.series(group, f"{jobs} thread(s), wall", walls, "s")
    table.add(group, "two threads against one", min(times[1]) / min(times[2]), "times")


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
