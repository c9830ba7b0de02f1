"""What `fit()` costs when nothing is said: processor seconds on one core, model building included.

Beside them is how accurate it is: the largest MCSE that is reported, and the root mean square error of the
inclusion probabilities nearest to one half against references (see ``reference_cases.py``). The notes are
what fits warn of.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from by_path import module

import pyrjsel as rj

_CASES = module(Path(__file__).with_name("reference_cases.py"))
REFERENCES, binary_rows, linear_rows = _CASES.REFERENCES, _CASES.binary_rows, _CASES.linear_rows

SEEDS = (1, 2, 3)


def logit(prior):
    y, x = binary_rows()
    return lambda: rj.LogitSelection(y, x, coef_prior=prior, model_prior=rj.Bernoulli(0.5))


def linear(n, terms, seed, prior):
    y, x = linear_rows(n, terms, seed)
    return lambda: rj.LinearSelection(y, x, coef_prior=prior, model_prior=rj.Bernoulli(10 / terms))


def cohort():
    found = rj.datasets.pneumonia()
    return lambda: rj.logit("mortality ~ .", found.data, costs=found.costs, budget=10)


def breast_cancer():
    datasets = pytest.importorskip("sklearn.datasets")
    found = datasets.load_breast_cancer(as_frame=True)
    x = found.data.rename(columns=lambda name: name.replace(" ", "_"))
    return lambda: rj.LogitSelection(found.target, x)


def crowded():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((30, 60))
    y = (rng.random(30) < 1 / (1 + np.exp(x[:, 1] - 1.5 * x[:, 0]))).astype(int)
    return lambda: rj.LogitSelection(y, x, coef_prior=rj.Normal(1))


# What makes them, and the seconds they are to take.
CASES = {
    "logit_ind": (lambda: logit(rj.Normal(2.0)), 3.0),
    "logit_g": (lambda: logit(rj.GPrior("4n")), 3.0),
    "lin500_g": (lambda: linear(500, 200, 11, rj.GPrior("n")), 0.6),
    "lin500_zs": (lambda: linear(500, 200, 11, rj.ZellnerSiow()), 2.0),
    "linbig_g": (lambda: linear(1000, 5000, 12, rj.GPrior("n")), 4.0),
    "cohort": (cohort, 10.0),
    "breast_cancer": (breast_cancer, 20.0),
    "30 rows, 60 columns": (crowded, None),
}


@pytest.mark.parametrize("case", CASES)
def test_bench_default_fit(case, table):
    prepare, target = CASES[case]
    make, reference = prepare(), REFERENCES.get(case)
    seconds, mcse, errors, said = [], [], [], set()
    for seed in SEEDS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.process_time()
            results = make().fit(rng=seed, n_jobs=1, progress=False)
            seconds.append(time.process_time() - start)
        said |= {
            str(item.message)[:60] for item in caught if issubclass(item.category, rj.ConvergenceWarning)
        }
        found = results.inclusion["posterior"]
        mcse.append(results.inclusion["mcse"].max())
        if reference is not None:
            errors.append(np.sqrt(np.mean([(found[name] - p) ** 2 for name, p in reference.items()])))
    sampler = f"{results.sampler}, {results.settings.draws} draws a chain"
    table.series(case, f"default fit ({sampler})", seconds, "s", target=target)
    table.series(case, "largest MCSE", mcse, "", note="; ".join(sorted(said)))
    if errors:
        table.series(case, "error against the reference, largest", [max(errors)], "", target=0.006)
