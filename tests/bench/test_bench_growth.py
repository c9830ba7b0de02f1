"""How processor time grows with observations and columns: slopes of logs over four sizes."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.kernel.kernels import make_kernel
from pyrjsel.kernel.samplers.filter import FilterRunner
from pyrjsel.kernel.state import KernelSettings

QUIET = {"rng": 1, "progress": False, "n_jobs": 1}


def selection(name, n, p, **options):
    """Build and fit a selection with three effects."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, p))
    eta = x[:, :3] @ [1.0, -0.8, 0.6]
    y = eta + rng.normal(size=n) if name == "linear" else 1.0 * (rng.logistic(size=n) < eta)
    make = rj.LinearSelection if name == "linear" else rj.LogitSelection
    make(y, pd.DataFrame(x).add_prefix("x")).fit(**QUIET, **options)


def patterns(n):
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.integers(0, 2, size=(n, 10)).astype(str)).add_prefix("x")
    data["y"] = 1 * (data["x0"] == data["x1"])
    formula = f"y ~ interactions({', '.join(data.columns[:-1])}, order=3)"
    rj.pattern_logit(formula, data).fit(draws=40, chains=1, **QUIET)


def mixture(n):
    rng = np.random.default_rng(1)
    label = np.arange(n) % 2
    data = pd.DataFrame(rng.normal(size=(n, 6)) + 2.0 * label[:, None] * (np.arange(6) < 2)).add_prefix("x")
    rj.mixture_classifier("y ~ .", data.assign(y=label)).fit(draws=400, burn_in=200, chains=1, **QUIET)


CHAIN = {"draws": 300, "burn_in": 300, "chains": 1}
FITS = {
    "linear, observations": ((25_000, 50_000, 100_000, 200_000), lambda n: selection("linear", n, 8), 1.0),
    "logit, observations": ((5_000, 10_000, 20_000, 40_000), lambda n: selection("logit", n, 6), 1.0),
    "linear, columns": ((500, 1000, 2000, 4000), lambda p: selection("linear", 300, p, **CHAIN), 1.3),
    "logit, columns": ((500, 1000, 2000, 4000), lambda p: selection("logit", 300, p, **CHAIN), 1.3),
    "patterns, observations": ((4_000, 8_000, 16_000, 32_000), patterns, 1.05),
    "mixture, observations": ((500, 1000, 2000, 4000), mixture, 1.05),
}  # fmt: skip


def exponent(sizes, seconds):
    return np.polyfit(np.log(sizes), np.log(seconds), 1)[0]


@pytest.mark.parametrize("what", FITS)
def test_bench_growth(what, table):
    sizes, fit, target = FITS[what]
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains have not converged
        fit(sizes[0])
        for size in sizes:
            start = time.process_time()
            fit(size)
            seconds.append(time.process_time() - start)
    note = "; ".join(f"{size:,}: {second:.2g} s" for size, second in zip(sizes, seconds, strict=True))
    table.add("growth of build and fit", what, exponent(sizes, seconds), "exponent", target=target, note=note)


@pytest.mark.parametrize("grouped", [True, False])
def test_bench_growth_of_a_kernel_row(grouped, table, monkeypatch):
    """Of the last 100 rows before each size, with groups of particles that move and with all at each row."""
    sizes = (625, 1250, 2500, 5000, 10_000) if grouped else (625, 1250, 2500, 5000)
    if not grouped:
        monkeypatch.setattr("pyrjsel.kernel.samplers.filter.GROUPED", 10**6)
    rng = np.random.default_rng(1)
    x = rng.uniform(-10, 10, size=(10_000, 1))
    y = np.sinc(x[:, 0] / np.pi) + 0.1 * rng.normal(size=len(x))
    settings = KernelSettings(make_kernel("gaussian", 1.6, "2w2"), mean_kernels=1.0)
    runner = FilterRunner(settings, x, (y - y.mean()) / y.std(), np.random.default_rng(1))
    seconds, at = [], 0
    for size in sizes:
        runner.advance(size - 100 - at)
        start = time.process_time()
        runner.advance(100)
        seconds.append((time.process_time() - start) / 100)
        at = size
    note = "; ".join(f"{size:,}: {1e3 * each:.2g} ms" for size, each in zip(sizes, seconds, strict=True))
    what = "kernel filter, a row" + ("" if grouped else ", all particles move")
    target = 0.3 if grouped else None
    table.add("growth", what, exponent(sizes, seconds), "exponent", target=target, note=note)
