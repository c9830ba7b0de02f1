"""Rows and models for tests of fits of rows in chunks."""

import numpy as np
import pandas as pd

import pyrjsel as rj

N = 1_500
FORMULA = "y ~ a + b + c + standardize(d) + g"


def make(n=N, seed=2):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    table["g"] = np.where(np.arange(n) > 0.7 * n, "late", rng.choice(["p", "q"], n))
    eta = 0.5 * table["a"] - 0.2 * table["b"] + 0.3 * (table["g"] == "late") - 0.7
    table["y"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    table["count"] = rng.poisson(np.exp(0.3 * eta))
    table["w"] = rng.integers(0, 4, n)
    table["rate"] = rng.binomial(table["w"], 1 / (1 + np.exp(-eta))) / np.maximum(table["w"], 1)
    table["o"] = 0.4 * rng.normal(size=n)
    table["visits"] = rng.poisson(np.exp(0.3 * eta) * rng.gamma(2.0, 0.5, n))
    table["cost"] = np.exp(0.2 * eta) * rng.gamma(3.0, 1 / 3, n)
    utility = np.column_stack([0 * eta, eta, 0.2 * table["c"] - 0.5 * eta])
    table["way"] = np.array(["walk", "bus", "car"])[(utility + rng.gumbel(size=(n, 3))).argmax(axis=1)]
    table["z"] = 0.4 * eta + rng.standard_t(3, n)
    return table


def cut(data, size):
    return lambda: (data.iloc[at : at + size] for at in range(0, len(data), size))


CASES = {
    "logit": (rj.logit, FORMULA, {}),
    "trials and offset": (rj.logit, FORMULA.replace("y", "rate"), {"weights": "w", "offset": "o"}),
    "probit": (rj.probit, FORMULA, {"offset": "o"}),
    "cloglog": (rj.cloglog, FORMULA, {"coef_prior": rj.Normal(1.0)}),
    "poisson": (rj.poisson, FORMULA.replace("y", "count"), {"offset": "o", "always": "b"}),
    "4n": (rj.logit, FORMULA, {"coef_prior": rj.GPrior("4n")}),
    "negbin": (rj.negbin, FORMULA.replace("y", "visits"), {"offset": "o"}),
    "gamma": (rj.gamma, FORMULA.replace("y", "cost"), {"weights": "w"}),
    "classes": (rj.multinomial, FORMULA.replace("y", "way", 1), {"weights": "w"}),
    "classes, normal": (rj.multinomial, FORMULA.replace("y", "way", 1), {"coef_prior": rj.Normal(4.0)}),
    "two classes": (rj.multinomial, FORMULA, {}),
    "student": (rj.linear, FORMULA.replace("y", "z", 1), {"errors": "student", "offset": "o"}),
    "student, df": (
        rj.linear,
        FORMULA.replace("y", "z", 1),
        {"errors": "student", "df": "estimate", "coef_prior": rj.Normal(4.0, mean=0.1)},
    ),
    "known theta": (rj.negbin, FORMULA.replace("y", "visits"), {"theta": 2.0, "weights": "w"}),
}
