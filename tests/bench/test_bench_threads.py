"""Chains in two threads: elapsed time of one over that of two, with the same draws.

The machine must be quiet: runs beside which other processes took more than 4 % of a processor are left out,
and a ratio without any run is NaN. It is below 2 also where two busy processors are slower than one.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

ROUNDS = 5
BUSY = 0.04


def rows(n, p):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, p))
    return pd.DataFrame(x).add_prefix("x"), x[:, :4] @ [0.6, 0.4, -0.5, 0.2], rng


def linear():
    data, eta, rng = rows(500, 200)
    return rj.linear("y ~ .", data.assign(y=eta + rng.normal(size=500))), "collapsed", 4000


def logit(n, p, sampler, draws):
    data, eta, rng = rows(n, p)
    return rj.logit("y ~ .", data.assign(y=1 * (rng.logistic(size=n) < eta))), sampler, draws


def patterns():
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.integers(2, size=(300, 5))).add_prefix("x").astype(str)
    data["y"] = (rng.random(300) < 0.3 + 0.3 * (data["x0"] == "1")).astype(int)
    return rj.pattern_logit("y ~ interactions(x0, x1, x2, x3, x4)", data), None, 800


def mixture():
    data, eta, rng = rows(200, 8)
    return rj.mixture_classifier("y ~ .", data.assign(y=rng.logistic(size=200) < 2 * eta)), None, 1000


def kernel():
    rng = np.random.default_rng(1)
    x = rng.uniform(-10, 10, 50)
    data = pd.DataFrame({"x": x, "y": np.sinc(x / np.pi) + 0.1 * rng.normal(size=50)})
    return rj.kernel_regression("y ~ x", data), "mcmc", 60_000


ROOMS = {
    "collapsed, linear": linear,
    "collapsed, logistic, 200 rows": lambda: logit(200, 20, "collapsed", 4000),
    "collapsed, logistic, 2,500 rows": lambda: logit(2500, 83, "collapsed", 1000),
    "rjmcmc": lambda: logit(2500, 30, "rjmcmc", 1500),
    "population": lambda: logit(500, 20, "population", 3000),
    "patterns": patterns,
    "mixture": mixture,
    "kernel regression": kernel,
}


def busy():
    """Processor seconds of all processes."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def timed(fit, n_jobs):
    """Elapsed and processor seconds, and the share of a processor that others had."""
    other, own, start = busy(), time.process_time(), time.perf_counter()
    fit(n_jobs=n_jobs)
    elapsed, own = time.perf_counter() - start, time.process_time() - own
    return elapsed, own, (busy() - other - own) / elapsed


@pytest.mark.skipif(not os.path.exists("/proc/stat") or os.cpu_count() < 2, reason="no two processors")
@pytest.mark.parametrize("room", ROOMS)
def test_bench_two_threads(table, room):
    model, sampler, draws = ROOMS[room]()
    options = {"draws": draws, "chains": 2, "rng": 1, "progress": False}
    options |= {} if sampler is None else {"sampler": sampler}

    def fit(n_jobs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(n_jobs=n_jobs, **options)

    fit(1)
    runs = np.array([[timed(fit, n_jobs) for n_jobs in (1, 2)] for _ in range(ROUNDS)])
    note = f"processor time {runs[:, 1, 1].min() / runs[:, 0, 1].min():.2f} times that of one"
    quiet = np.where(runs[:, :, 2] < BUSY, runs[:, :, 0], np.nan)
    least = [np.nan if np.isnan(series).all() else np.nanmin(series) for series in quiet.T]
    table.add("two threads", room, least[0] / least[1], "ratio", note=note)
