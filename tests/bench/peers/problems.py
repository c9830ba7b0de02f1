"""The data of the comparison: two synthetic problems with fixed seeds, and UScrime."""

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

import pyrjsel as rj

EFFECTS = np.array([0.40, -0.35, 0.30, -0.25, 0.22, 0.20, -0.18, 0.16, 0.15, -0.13])


def standardized(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def crime():
    """UScrime in logarithms (15 terms), whose 32,768 models are enumerated by many packages."""
    logged = rj.datasets.uscrime().data.astype(float)
    others = logged.columns.drop("So")
    logged[others] = np.log(logged[others])
    return logged[["y", *logged.columns.drop("y")]]


def linear(rows=500, terms=200, correlation=0.6, seed=11):
    """Standardised columns that are an autoregression, ten of them with effects, errors of variance 1."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, terms))
    for j in range(1, terms):
        x[:, j] = correlation * x[:, j - 1] + np.sqrt(1 - correlation**2) * x[:, j]
    where = np.sort(rng.choice(terms, EFFECTS.size, replace=False))
    y = x[:, where] @ EFFECTS + rng.standard_normal(rows)
    frame = pd.DataFrame(standardized(x), columns=[f"x{j + 1}" for j in range(terms)])
    frame.insert(0, "y", y - y.mean())
    return frame


def logistic(rows=2532, terms=83, events=0.16, seed=20240701):
    """A cohort: binary, three-valued and continuous columns in correlated blocks, standardised.

    16 % of the responses are events. Each of the ten blocks has one column with an effect.
    """
    rng = np.random.default_rng(seed)
    kinds = np.array(["b"] * 37 + ["o"] * 29 + ["c"] * 17)[rng.permutation(terms)]
    sizes = [10, 10, 9, 9, 9, 8, 8, 8, 6, 6]
    correlations = [0.65, 0.60, 0.55, 0.50, 0.45, 0.40, 0.35, 0.30, 0.20, 0.0]
    block = np.repeat(np.arange(len(sizes)), sizes)
    common = rng.standard_normal(rows)
    latent = []
    for size, correlation in zip(sizes, correlations, strict=True):
        factor = rng.standard_normal(rows)
        loading = np.clip(np.sqrt(correlation) * rng.uniform(0.8, 1.15, size), 0, 0.95)
        noise = rng.standard_normal((rows, size))
        inside = factor[:, None] * loading + np.sqrt(1 - loading**2) * noise
        latent.append(0.15 * common[:, None] + np.sqrt(1 - 0.15**2) * inside)
    x = np.hstack(latent)
    for j, kind in enumerate(kinds):
        if kind == "b":
            x[:, j] = x[:, j] > norm.ppf(1 - rng.uniform(0.05, 0.40))
        elif kind == "o":
            first = rng.uniform(-0.3, 0.9)
            second = first + rng.uniform(0.6, 1.1)
            x[:, j] = (x[:, j] > first).astype(float) + (x[:, j] > second)
    x = standardized(x)
    effects = np.array([0.35, -0.30, 0.28, -0.25, 0.22, 0.20, -0.18, 0.16, 0.15, -0.13])
    where = [rng.choice(np.flatnonzero(block == b)) for b in range(len(sizes))]
    eta = x[:, where] @ effects
    intercept = brentq(lambda a: expit(a + eta).mean() - events, -6, 2)
    y = np.zeros(rows, dtype=int)
    while abs(y.mean() - events) >= 0.003:
        y = (rng.random(rows) < expit(intercept + eta)).astype(int)
    frame = pd.DataFrame(x, columns=[f"x{j + 1:02d}_{kind}" for j, kind in enumerate(kinds)])
    frame.insert(0, "y", y)
    return frame
