"""Linear models from chunks: rows a second from Parquet files, against the rows in memory.

The floor is to read the columns from the file and to form the cross-products of what is read. Data are
numeric, which takes one pass, or with a factor and a standardised column, which takes two.
"""

import time

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import pyrjsel as rj

ROWS, COLUMNS = 1_000_000, 20
FORMULAS = {"numbers, one pass": "y ~ {}", "factor and transform, two passes": "y ~ {} + g + standardize(x0)"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(ROWS, COLUMNS)), columns=[f"x{i}" for i in range(COLUMNS)])
    data["y"] = data["x0"] + rng.normal(size=ROWS)
    data["g"] = rng.choice(["p", "q", "r"], ROWS)
    path = tmp_path_factory.mktemp("chunks") / "rows.parquet"
    data.to_parquet(path, row_group_size=100_000)
    return path


def read(path, names):
    parquet = pytest.importorskip("pyarrow.parquet")
    total = np.zeros((len(names), len(names)))
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=100_000, columns=names, use_threads=False):
        z = batch.to_pandas().to_numpy()
        total += z.T @ z
    return total


@pytest.mark.parametrize("kind", FORMULAS)
def test_bench_parquet(kind, path, table):
    names = [f"x{i}" for i in range(1, COLUMNS)]
    formula = FORMULAS[kind].format(" + ".join(names))
    memory = pd.read_parquet(path)
    calls = {
        "chunks": lambda: rj.linear(formula, path),
        "memory": lambda: rj.linear(formula, memory),
        "floor": lambda: read(path, ["y", *names]),
    }
    times = {name: [] for name in calls}
    with threadpool_limits(1, user_api="blas"):
        for _ in range(3):
            for name, call in calls.items():
                # Wall time: pyarrow reads in threads of its own.
                start = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - start)
    group = f"linear model of {COLUMNS} columns from {ROWS:,} rows ({kind})"
    for name, what in (
        ("chunks", "from a Parquet file"),
        ("memory", "from a data frame in memory"),
        ("floor", "floor: read the file, form cross-products"),
    ):
        table.series(group, what, times[name], "s")
    table.add(group, "rows a second from the file", ROWS / min(times["chunks"]), "rows/s")
