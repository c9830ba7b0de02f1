"""Makes the files of ``data``: rows of the small problems, and the integrals of all their models.

Run as ``python tests/selection/support/make_oracle.py [problem] [prior]``; about half an hour for
everything on one processor. It uses numpy, scipy and pandas alone.

A marginal likelihood takes 16 independent scrambled Sobol nets of 2**16 draws each, 1,048,576 in all, from
a Student law (5 degrees of freedom) with mean and covariance of the posterior. The relative standard error
over the 16 nets is stored beside it; the largest of a table is in its head. Moments come from the same
draws; their errors are of the same order relative to the posterior standard deviation.
"""

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from selection_cases import (
    AVERAGED,
    AVERAGED_MODEL_PRIOR,
    COEFFICIENT_PRIORS,
    DATA,
    TABLES,
    load,
    table,
    table_path,
)
from selection_oracle import Problem, Sample, mean, model_prior, sample_model

LOG2, SCRAMBLES = 16, 16
HOW = (
    "made by make_oracle.py: importance sampling, 16 scrambled Sobol nets of 2**16 draws a model; "
    "integral: log marginal likelihood and its relative standard error"
)
GRID = 601


def make_rows() -> None:
    """Write the rows of the problems; numbers are rounded, so that the files hold them exactly."""
    rng = np.random.default_rng(20)
    n = 48
    age = np.round(5 + rng.standard_normal(n), 1)
    worse = np.clip((age + 1.2 * rng.standard_normal(n) - 3.6) // 1.3, 0, 2).astype(int)
    stage = np.array(list("abc"))[worse]
    bp = np.round(2.5 + 0.7 * (age - 5) + 0.7 * rng.standard_normal(n), 2)
    smoke = (rng.random(n) < 0.45).astype(int)
    shift = np.round(0.6 * rng.standard_normal(n), 1)
    eta = -0.6 + 0.8 * (age - 5) + 1.1 * (stage == "c") + 0.9 * smoke * (age > 5) + 0.5 * shift
    y = (rng.random(n) < expit(eta)).astype(int)
    frame = pd.DataFrame({"y": y, "stage": stage, "age": age, "bp": bp, "smoke": smoke, "shift": shift})
    frame.to_csv(DATA / "ward.csv", index=False)

    cells = pd.DataFrame([(f, a, b) for f in "uvw" for a in (0, 1) for b in (0, 1)], columns=["f", "a", "b"])
    cells["rows"] = rng.integers(3, 9, len(cells))
    rate = expit(-0.8 + 1.3 * cells["a"] * cells["b"] + 0.9 * (cells["f"] == "w"))
    cells["events"] = rng.binomial(cells["rows"], rate)
    cells.to_csv(DATA / "cells.csv", index=False)

    n = 20
    x = np.round(rng.standard_normal(n), 2)
    z = np.round(x * 0.5 + rng.standard_normal(n), 2)
    u = np.round(rng.standard_normal(n), 2)
    wall = pd.DataFrame({"y": (z > np.median(z)).astype(int), "x": x, "z": z, "u": u})
    wall.to_csv(DATA / "wall.csv", index=False)

    values = np.round(rng.standard_normal((5, 6)) + rng.standard_normal((5, 1)), 2)
    short = pd.DataFrame(values, columns=[f"x{k}" for k in range(1, 7)])
    short.insert(0, "y", [0, 1, 1, 0, 1])
    short.to_csv(DATA / "short.csv", index=False)
    make_counts(frame, cells[["f", "a", "b"]])


def make_counts(ward: pd.DataFrame, cells: pd.DataFrame) -> None:
    """Write the rows of the problems with counts: few events, and a group of rows without any."""
    rng = np.random.default_rng(21)
    eta = -0.4 + 0.35 * (ward["age"] - 5) + 0.6 * (ward["stage"] == "c") + 0.4 * ward["smoke"]
    visits = ward.assign(y=rng.poisson(np.exp(eta + ward["shift"])))
    visits.to_csv(DATA / "visits.csv", index=False)

    sheets = cells.assign(rows=rng.integers(2, 7, len(cells)))
    rate = np.exp(-0.3 + 0.7 * sheets["a"] * sheets["b"] + 0.5 * (sheets["f"] == "w"))
    sheets["events"] = rng.poisson(sheets["rows"] * rate)
    sheets.to_csv(DATA / "sheets.csv", index=False)

    n = 24
    drought = pd.DataFrame(np.round(rng.standard_normal((n, 2)), 2), columns=["x", "u"])
    drought.insert(1, "z", np.arange(n) % 4 == 0)
    y = rng.poisson(np.exp(0.2 + 0.5 * drought["x"])) * ~drought["z"]
    drought.astype({"z": int}).assign(y=y).to_csv(DATA / "drought.csv", index=False)


def digits(values: Any) -> list[float]:
    return [float(f"{x:.8g}") for x in np.asarray(values).ravel()]


def predictors(problem: Problem, model: str, beta: np.ndarray) -> np.ndarray:
    """Return linear predictors of the new rows, (rows, draws)."""
    rows = len(problem.new_offset)
    X = np.column_stack([np.ones(rows), *(problem.new[j] for j in problem.inside(model))])
    return problem.new_offset[:, None] + X @ beta.T


def entry(problem: Problem, model: str, found: Sample) -> dict[str, Any]:
    """Return what a table says of one model."""
    size, rows = len(problem.column_names), len(problem.new_offset)
    if not np.isfinite(found.log_m):
        unknown = {"first": size, "second": size, "positive": size, "mean": rows, "square": rows}
        return {"integral": [None, None]} | {key: [None] * count for key, count in unknown.items()}
    moments = np.zeros((3, size))
    places = problem.places(model)
    moments[:, places] = [
        found.weight @ found.beta,
        found.weight @ found.beta**2,
        found.weight @ (found.beta > 0),
    ]
    eta = predictors(problem, model, found.beta) if rows else np.zeros((0, found.weight.size))
    p = mean(problem, eta)
    return {
        "integral": [float(f"{found.log_m:.10g}"), float(f"{found.error:.2g}")],
        "first": digits(moments[0]),
        "second": digits(moments[1]),
        "positive": digits(moments[2]),
        "mean": digits(p @ found.weight),
        "square": digits(p**2 @ found.weight),
    }


def make_table(problem_name: str, prior_name: str) -> None:
    problem, _ = load(problem_name)
    prior = COEFFICIENT_PRIORS[prior_name]
    entries = {}
    for number, model in enumerate(problem.models):
        found = sample_model(problem, model, prior, LOG2, SCRAMBLES, seed=number)
        entries[model] = entry(problem, model, found)
        ess = 1 / np.sum(found.weight**2) if found.weight.size else np.nan
        print(problem_name, prior_name, model, f"{found.log_m:.8f} {found.error:.1e} {ess:.0f}", flush=True)
    worst = max(e["integral"][1] or 0.0 for e in entries.values())
    write(
        table_path(problem_name, prior_name),
        {"how": HOW, "problem": problem_name, "prior": prior, "largest_error": worst},
        entries,
    )


def write(path: Any, head: dict[str, Any], entries: dict[str, Any]) -> None:
    """Write JSON with one line a model."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    body = ",\n".join(f"{json.dumps(model)}: {json.dumps(value)}" for model, value in entries.items())
    path.write_text("{\n" + ",\n".join(lines) + ',\n"models": {\n' + body + "\n}}\n")


def make_averaged() -> None:
    """Write model-averaged distribution functions of coefficients and of the new rows' predictors.

    ``below``: probability that a column is in and its coefficient at most the grid's value; the rest of the
    mass, where the column is out, lies at 0.
    """
    problem, _ = load(AVERAGED[0])
    found = table(*AVERAGED)
    weights = found.posterior(model_prior(problem, AVERAGED_MODEL_PRIOR, {}))
    size, rows = len(problem.column_names), len(problem.new_offset)
    cumulative = {"coefficients": np.zeros((size, GRID)), "predictors": np.zeros((rows, GRID))}
    grids: dict[str, np.ndarray] = {}
    order = sorted(range(len(problem.models)), key=lambda row: -problem.models[row].count("1"))
    for row in order:
        model = problem.models[row]
        sample = sample_model(problem, model, found.prior, LOG2, SCRAMBLES, seed=row)
        places = problem.places(model)
        eta = predictors(problem, model, sample.beta)
        if not grids:
            # The full model, which comes first, has the widest coefficients.
            grids["coefficients"] = np.array([_grid(b, sample.weight) for b in sample.beta.T])
            grids["predictors"] = np.array([_grid(e, sample.weight) for e in eta])
        for key, values, where in (
            ("coefficients", sample.beta.T, places),
            ("predictors", eta, range(rows)),
        ):
            for place, value in zip(where, values, strict=True):
                edges = np.concatenate([[-np.inf], grids[key][place], [np.inf]])
                mass, _ = np.histogram(value, edges, weights=sample.weight)
                cumulative[key][place] += weights[row] * np.cumsum(mass)[:-1]
    lines = {
        key: [
            {
                "start": float(grid[0]),
                "step": float(grid[1] - grid[0]),
                "below": [round(x, 6) for x in values],
            }
            for grid, values in zip(grids[key], cumulative[key], strict=True)
        ]
        for key in cumulative
    }
    head = f'{{\n"how": {json.dumps(HOW)},\n"table": {json.dumps(AVERAGED)},\n'
    parts = [
        f"{json.dumps(key)}: [\n" + ",\n".join(json.dumps(line) for line in lines[key]) + "\n]"
        for key in lines
    ]
    (DATA / "averaged.json").write_text(head + ",\n".join(parts) + "\n}\n")


def _grid(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    mean = weight @ values
    sd = np.sqrt(weight @ values**2 - mean**2)
    low, high = np.round([mean - 9 * sd, mean + 9 * sd], 3)
    return np.linspace(low, high, GRID)


if __name__ == "__main__":
    wanted = sys.argv[1:]
    DATA.mkdir(exist_ok=True)
    if not wanted or wanted == ["rows"]:
        make_rows()
    for case in TABLES:
        if not wanted or list(case)[: len(wanted)] == wanted:
            make_table(*case)
    if not wanted or wanted == ["averaged"]:
        make_averaged()
