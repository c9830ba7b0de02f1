"""Predictions with intervals and predictive checks of many rows, quantiles of mixtures and groups."""

import time

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.families import Gaussian, gaussian
from pyrjsel.families.statistics import groups
from pyrjsel.selection.results.prediction import Prediction

ROWS = 100_000


def seconds(call):
    start = time.thread_time()
    result = call()
    return time.thread_time() - start, result


@pytest.mark.parametrize("name", ["linear", "logit"])
def test_bench_predictions(table, name):
    """Of 100,000 rows by a fit of as many, with 4,000 draws."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, 10))
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    eta = 0.5 * x[:, 0] + 0.3 * x[:, 1] + 0.01 * x[:, 2]
    data["y"] = eta + rng.normal(size=ROWS) if name == "linear" else 1.0 * (rng.logistic(size=ROWS) < eta)
    results = getattr(rj, name)("y ~ .", data).fit(rng=1, progress=False)
    aims = (1.0, 1.5, 3.0)
    calls = {
        "first predict": lambda: results.predict(data),
        "summary_frame": lambda: results.get_prediction(data).summary_frame(),
        "check": results.check,
    }
    for (what, call), aim in zip(calls.items(), aims, strict=True):
        table.add(f"predictions of 100,000 rows, {name}", what, seconds(call)[0], "s", target=aim)


@pytest.mark.parametrize("name", ["linear", "logit", "poisson"])
def test_bench_predictions_of_a_small_fit(table, name):
    """Of 100,000 rows by a fit of 2,500, whose draws of coefficients the first call needs."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, 12))
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(12)])
    eta = x[:, :5] @ [0.5, 0.4, 0.3, 0.2, 0.1]
    responses = {
        "linear": eta + rng.normal(size=ROWS),
        "logit": 1.0 * (rng.logistic(size=ROWS) < eta),
        "poisson": rng.poisson(np.exp(eta)),
    }
    data["y"] = responses[name]
    results = getattr(rj, name)("y ~ .", data[:2500]).fit(rng=1, progress=False)
    group = f"predictions of 100,000 rows by 2,500, {name}"
    table.add(group, "first predict", seconds(lambda: results.predict(data))[0], "s", target=1.0)
    prediction = results.get_prediction(data)
    if name != "poisson":
        table.add(group, "summary_frame", seconds(prediction.summary_frame)[0], "s", target=1.5)
    if name == "linear":
        return  # means need no draws
    again, found = seconds(prediction.mean)

    def direct():
        blocks = prediction._blocks(np.arange(ROWS))
        return np.concatenate([means.mean(axis=1) for _, means in blocks])

    slow, expected = seconds(direct)
    # Rounding of sums of 4,000 values.
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    table.add(group, "again", again, "s", target=1.0)
    table.add(group, "of the time of all expectations", again / slow, "ratio")


def test_bench_linear_predictors(table):
    """With the intercept among the columns, against a product and a sum."""
    rng = np.random.default_rng(1)
    x, coefficients = rng.normal(size=(20_000, 10)), rng.normal(size=(2000, 11))
    nothing = np.zeros(len(x))
    prediction = Prediction(x, nothing, pd.RangeIndex(len(x)), coefficients, Gaussian(), "y")
    blocks = [np.arange(at, at + 16) for at in range(0, len(x), 16)]

    def together():
        for rows in blocks:
            prediction._eta(rows, slice(None))

    def apart():
        for rows in blocks:
            eta = x[rows] @ coefficients[:, 1:].T
            eta += coefficients[:, 0]

    quick, slow = (min(seconds(call)[0] for _ in range(5)) for call in (together, apart))
    group = "linear predictors of 20,000 rows and 2,000 draws"
    table.add(group, "together", 1e3 * quick, "ms")
    table.add(group, "of the time apart", quick / slow, "ratio")


@pytest.mark.parametrize("spread", [0.01, 0.3])
def test_bench_quantiles_of_mixtures(table, monkeypatch, spread):
    """Compiled, against error functions in numpy."""
    rng = np.random.default_rng(1)
    means, scale = spread * rng.normal(size=(160, 4000)), np.exp(0.003 * rng.normal(size=4000))

    def blocks():
        return [gaussian.mixture_quantile(means[at : at + 16], scale, 0.025) for at in range(0, 160, 16)]

    blocks()
    quick = min(seconds(blocks)[0] for _ in range(5))
    monkeypatch.setattr(gaussian, "LARGEST_SCORE", -1.0)
    slow = min(seconds(blocks)[0] for _ in range(3))
    group = f"quantiles of mixtures of 4,000 normals, means spread by {spread:g}"
    table.add(group, "a row", quick / 160 * 1e6, "µs")
    table.add(group, "of the time in numpy", quick / slow, "ratio")


def test_bench_groups_of_calibration(table):
    """Against sorting all rows."""
    mean, weights = np.random.default_rng(1).random(ROWS), np.ones(ROWS)
    quick = min(seconds(lambda: groups(mean, weights))[0] for _ in range(9))
    slow = min(seconds(lambda: np.unique(mean, return_inverse=True))[0] for _ in range(9))
    table.add("groups of calibration, 100,000 rows", "of the time of sorting", quick / slow, "ratio")


@pytest.mark.parametrize("name", ["linear", "logit"])
def test_bench_submodels(table, name):
    """Of 100,000 rows with 50 patterns of missing values, each averaged over its own models."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, 12))
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(12)])
    eta = x[:, :5] @ [0.12, 0.1, 0.1, 0.05, 0.05]
    data["y"] = eta + rng.normal(size=ROWS) if name == "linear" else 1.0 * (rng.logistic(size=ROWS) < eta)
    results = getattr(rj, name)("y ~ .", data[:1000]).fit(rng=1, progress=False)
    gone = rng.random((50, 12)) < 0.3
    new = data.drop(columns="y").mask(gone[np.arange(ROWS) % 50])
    assert 45 <= len(new.isna().drop_duplicates()) <= 50
    spent, found = seconds(lambda: results.predict(new, incomplete="submodels"))
    assert found.notna().all()
    table.add("predictions of 100,000 rows, 50 patterns", name, spent, "s", target=3.0)
