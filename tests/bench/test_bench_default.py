"""What `fit()` costs when nothing is said: processor seconds on one core, model building included.

The errors that it stops at are beside them: the largest MCSE of an inclusion probability.
"""

import time
import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

warnings.filterwarnings("ignore", category=rj.RankWarning)


def make_rows(n, terms, seed=11):
    """Columns with correlations of 0.6 between neighbours, ten of which have modest effects."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, terms))
    for j in range(1, terms):
        x[:, j] = 0.6 * x[:, j - 1] + 0.8 * x[:, j]
    effects = np.zeros(terms)
    sizes = [0.4, -0.35, 0.3, -0.25, 0.22, 0.2, -0.18, 0.16, 0.15, -0.13]
    effects[rng.choice(terms, 10, replace=False)] = sizes
    return pd.DataFrame(x).add_prefix("x"), x @ effects, rng


def logit(prior):
    x, eta, rng = make_rows(2532, 83)
    y = (rng.random(2532) < 1 / (1 + np.exp(1.7 - eta))).astype(int)
    return lambda: rj.LogitSelection(y, x, coef_prior=prior, model_prior=rj.Bernoulli(0.5))


def linear(n, terms, prior):
    x, eta, rng = make_rows(n, terms)
    y = eta + rng.standard_normal(n)
    return lambda: rj.LinearSelection(y, x, coef_prior=prior, model_prior=rj.Bernoulli(10 / terms))


CASES = {
    "logit, 83 terms, normal": lambda: logit(rj.Normal(2.0)),
    "logit, 83 terms, g-prior": lambda: logit(rj.GPrior("4n")),
    "linear, 200 terms, g-prior": lambda: linear(500, 200, rj.GPrior("n")),
    "linear, 200 terms, Zellner-Siow": lambda: linear(500, 200, rj.ZellnerSiow()),
    "linear, 5000 terms, g-prior": lambda: linear(1000, 5000, rj.GPrior("n")),
}


@pytest.mark.parametrize("case", CASES)
def test_bench_default_fit(case, table):
    make, seconds, errors = CASES[case](), [], []
    for seed in range(3):
        start = time.process_time()
        results = make().fit(rng=seed, n_jobs=1, progress=False)
        seconds.append(time.process_time() - start)
        errors.append(results.inclusion["mcse"].max())
    table.series(case, "default fit", seconds, "s")
    table.series(case, "largest MCSE", errors, "")
