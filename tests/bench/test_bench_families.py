"""Costs of `fit()` by family, in processor seconds on one core, and relative to a logistic model.

2,500 rows and 83 standard normal columns, of which 12 have moderate effects. The last two are logistic models
with other priors, relative to the one with a `GPrior`; the goal is a ratio of 3. How many draws a run takes
until it is accurate varies with the seed: the median of three.
"""

import time

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

ROWS, TERMS, EFFECTS = 2500, 83, 12
SEEDS = (1, 2, 3)


def columns():
    """Columns, and a linear predictor with a standard deviation of one."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, TERMS))
    eta = x[:, :EFFECTS] @ (rng.choice([-1, 1], EFFECTS) * rng.uniform(0.1, 0.4, EFFECTS))
    return pd.DataFrame(x, columns=[f"x{k}" for k in range(TERMS)]), eta, rng


def cases():
    """Name, function, response and options of each model."""
    x, eta, rng = columns()
    rate, uniform = np.exp(0.5 * eta), rng.random(ROWS)
    binary = uniform < 1 / (1 + np.exp(1.5 - eta))
    mixed = rate * rng.gamma(2, 0.5, ROWS)
    latent = np.stack([0 * eta, eta - 1, -0.5 * eta], axis=1) + rng.gumbel(size=(ROWS, 3))
    life, end = rng.exponential(1 / rate), rng.exponential(1.0, ROWS)
    died = {"event": (life < end).astype(float)}
    yield "logit", rj.LogitSelection, binary, x, {}
    yield "probit", rj.ProbitSelection, eta + rng.normal(size=ROWS) > 1, x, {}
    yield "cloglog", rj.CloglogSelection, uniform < 1 - np.exp(-np.exp(0.7 * eta - 1.7)), x, {}
    yield "poisson", rj.PoissonSelection, rng.poisson(rate), x, {}
    yield "negbin", rj.NegbinSelection, rng.poisson(mixed), x, {}
    yield "gamma", rj.GammaSelection, mixed, x, {}
    yield "student", rj.LinearSelection, eta + rng.standard_t(4, ROWS), x, {"errors": "student"}
    yield "cox", rj.CoxSelection, np.minimum(life, end), x, died
    yield "multinomial", rj.MultinomialSelection, np.array([*"abc"])[latent.argmax(axis=1)], x, {}
    yield "g-prior", rj.LogitSelection, binary, x, {"coef_prior": rj.GPrior("n")}
    yield "hyper-g/n", rj.LogitSelection, binary, x, {"coef_prior": rj.HyperGN()}


def seconds(make, y, x, options, seed):
    """Return the processor time of a fit."""
    start = time.process_time()
    make(y.astype(float) if y.dtype == bool else y, x, **options).fit(rng=seed, n_jobs=1, progress=False)
    return time.process_time() - start


@pytest.mark.filterwarnings("ignore::pyrjsel.PyrjselWarning")
def test_default_fits_by_family(table):
    group = f"default fits of {ROWS:,} rows and {TERMS} columns, one core"
    spent = {}
    for name, make, y, x, options in cases():
        if not spent:
            seconds(make, y[:100], x.iloc[:100, :2], options, 0)  # imports
        spent[name] = [seconds(make, y, x, options, seed) for seed in SEEDS]
        base = "g-prior" if name == "hyper-g/n" else "logit"
        ratio = np.median(spent[name]) / np.median(spent[base])
        table.series(group, name, spent[name], "s")
        table.add(group, f"  {name}, median relative to {base}", ratio, "", target=3.0)
