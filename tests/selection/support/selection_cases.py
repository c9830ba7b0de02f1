"""The small problems that samplers are held against, as data frames and as the oracle's arrays."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from selection_oracle import Problem, Table, Term

DATA = Path(__file__).parents[1] / "data"
INTERCEPT = [0.0, 10.0]  # mean and standard deviation where Normal says nothing

# The response of each problem: proportions with the logit link, or counts with the logarithm.
FAMILIES = dict.fromkeys(("ward", "cells", "wall", "short"), "binomial")
FAMILIES |= dict.fromkeys(("visits", "sheets", "drought"), "poisson")

COEFFICIENT_PRIORS: dict[str, dict] = {
    "g joint": {"kind": "g", "g": 20.0, "intercept": "joint"},
    "4n joint": {"kind": "g", "g": "4n", "intercept": "joint"},
    "n flat": {"kind": "g", "g": "n", "intercept": "flat"},
    "n normal": {"kind": "g", "g": "n", "intercept": [-0.5, 1.5]},
    "raw": {"kind": "normal", "mean": 0.0, "sd": 1.0, "standardize": False, "intercept": INTERCEPT},
    "raw flat": {"kind": "normal", "mean": 0.2, "sd": 0.7, "standardize": False, "intercept": "flat"},
    "standard": {"kind": "normal", "mean": 0.0, "sd": 1.5, "standardize": True, "intercept": INTERCEPT},
    "standard shifted": {
        "kind": "normal", "mean": 0.4, "sd": 1.0, "standardize": True, "intercept": [-1, 0.8],
    },
    "wide": {"kind": "normal", "mean": 0.0, "sd": 10.0, "standardize": False, "intercept": INTERCEPT},
    "n joint": {"kind": "g", "g": "n", "intercept": "joint"},
}  # fmt: skip

# The stored tables: (problem, coefficient prior).
TABLES = [
    *(("ward", name) for name in ("g joint", "4n joint", "n flat", "n normal")),
    *(("ward", name) for name in ("raw", "raw flat", "standard", "standard shifted")),
    ("ward offset", "n joint"),
    ("ward offset", "raw"),
    ("cells", "n joint"),
    ("cells", "standard"),
    ("cells", "n flat"),
    ("wall", "wide"),
    ("wall", "4n joint"),
    ("short", "standard"),
    ("short", "n joint"),
    *(("visits", name) for name in ("4n joint", "n flat", "raw", "standard shifted")),
    ("visits offset", "n joint"),
    ("visits offset", "raw"),
    ("sheets", "n joint"),
    ("sheets", "standard"),
    ("drought", "wide"),
    ("drought", "4n joint"),
]
# The table whose model-averaged distribution functions are stored too, under this prior over models.
AVERAGED = ("ward", "4n joint")
AVERAGED_MODEL_PRIOR = ("uniform",)


@dataclass(frozen=True)
class Case:
    """A problem as the package sees it: a formula, a frame, further arguments, rows to predict."""

    formula: str
    frame: pd.DataFrame
    arguments: dict[str, Any]
    new: pd.DataFrame | None = None


def _numeric(frame: pd.DataFrame, name: str) -> np.ndarray:
    return frame[name].to_numpy(float)[:, None]


def _indicators(frame: pd.DataFrame, name: str, levels: str) -> np.ndarray:
    return np.column_stack([(frame[name] == level).to_numpy(float) for level in levels[1:]])


def _ward_terms(frame: pd.DataFrame) -> tuple[Term, ...]:
    age, smoke = _numeric(frame, "age"), _numeric(frame, "smoke")
    return (
        Term("stage", _indicators(frame, "stage", "abc"), ("stage",)),
        Term("age", age, ("age",)),
        Term("bp", _numeric(frame, "bp"), ("bp",)),
        Term("smoke", smoke, ("smoke",)),
        Term("age:smoke", age * smoke, ("age", "smoke"), ("age", "smoke")),
    )


WARD_COLUMNS = ("Intercept", "stage[T.b]", "stage[T.c]", "age", "bp", "smoke", "age:smoke")
NEW_ROWS = pd.DataFrame(
    {
        "stage": ["a", "c", "b", "a"],
        "age": [3.5, 6.4, 5.1, 5.0],
        "bp": [1.1, 3.0, 2.2, 4.5],
        "smoke": [0, 1, 1, 0],
        "shift": [0.0, 0.8, -1.2, 0.3],
    }
)


def _ward(name: str, offset: bool) -> tuple[Problem, Case]:
    frame = pd.read_csv(DATA / f"{name}.csv")
    n = len(frame)
    shift = frame["shift"].to_numpy(float) if offset else np.zeros(n)
    problem = Problem(
        _ward_terms(frame),
        frame["y"].to_numpy(float),
        np.ones(n),
        shift,
        WARD_COLUMNS,
        tuple(term.columns for term in _ward_terms(NEW_ROWS)),
        NEW_ROWS["shift"].to_numpy() if offset else np.zeros(len(NEW_ROWS)),
        FAMILIES[name],
    )
    formula = "y ~ stage + age + bp + smoke + age:smoke"
    return problem, Case(formula, frame, {"offset": "shift"} if offset else {}, NEW_ROWS)


def _cells(name: str) -> tuple[Problem, Case]:
    frame = pd.read_csv(DATA / f"{name}.csv")
    frame["rate"] = frame["events"] / frame["rows"]
    a, b = _numeric(frame, "a"), _numeric(frame, "b")
    terms = (
        Term("f", _indicators(frame, "f", "uvw"), ("f",)),
        Term("a", a, ("a",)),
        Term("b", b, ("b",)),
        Term("a:b", a * b, ("a", "b"), ("a", "b")),
    )
    problem = Problem(
        terms,
        frame["rate"].to_numpy(float),
        frame["rows"].to_numpy(float),
        np.zeros(len(frame)),
        ("Intercept", "f[T.v]", "f[T.w]", "a", "b", "a:b"),
        family=FAMILIES[name],
    )
    return problem, Case("rate ~ f + a + b + a:b", frame, {"weights": "rows"})


def single_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows behind grouped ones, shuffled, with their events dealt out one after the other."""
    rows = frame.loc[frame.index.repeat(frame["rows"])].copy()
    rank = rows.groupby(level=0).cumcount()
    rows["rate"] = ((rows["events"] - rank - 1) // rows["rows"] + 1).astype(float)
    return rows.sample(frac=1.0, random_state=np.random.default_rng(5)).reset_index(drop=True)


def _columns(name: str, terms: list[str]) -> tuple[Problem, Case]:
    frame = pd.read_csv(DATA / f"{name}.csv")
    problem = Problem(
        tuple(Term(term, _numeric(frame, term), (term,)) for term in terms),
        frame["y"].to_numpy(float),
        np.ones(len(frame)),
        np.zeros(len(frame)),
        ("Intercept", *terms),
        family=FAMILIES[name],
    )
    return problem, Case("y ~ " + " + ".join(terms), frame, {})


@cache
def load(name: str) -> tuple[Problem, Case]:
    """Return a problem for the oracle and the same for the package."""
    first = name.split(maxsplit=1)[0]
    if first in ("ward", "visits"):
        return _ward(first, name.endswith("offset"))
    if name in ("cells", "sheets"):
        return _cells(name)
    return _columns(name, [f"x{k}" for k in range(1, 7)] if name == "short" else ["x", "z", "u"])


def table_path(problem: str, prior: str) -> Path:
    return DATA / f"{problem}-{prior}.json".replace(" ", "_")


@cache
def table(problem: str, prior: str) -> Table:
    """Return a stored table of integrals."""
    stored = json.loads(table_path(problem, prior).read_text())
    assert stored["prior"] == COEFFICIENT_PRIORS[prior]
    models = stored["models"]
    assert list(models) == load(problem)[0].models

    def rows(key: str) -> np.ndarray:
        return np.array([[np.nan if x is None else x for x in models[m][key]] for m in models])

    values = rows("integral")
    values[np.isnan(values[:, 0])] = -np.inf, 0.0
    return Table(
        stored["prior"],
        values[:, 0],
        values[:, 1],
        *(rows(key) for key in ("first", "second", "positive", "mean", "square")),
    )


@cache
def averaged() -> dict[str, Any]:
    """Return the stored model-averaged distribution functions."""
    return json.loads((DATA / "averaged.json").read_text())
