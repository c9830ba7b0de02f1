"""Posteriors of linear models under g-priors for random formulas, against least squares of our own.

Factors with rare levels and empty cells, and powers of columns far from 0. The reference orthogonalises the
columns of each model by Gram and Schmidt, three times over, in 80 bits; where `long double` has no more than
64 bits, errors of the reference are those of double precision, and tolerances are wider.
"""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

EXTENDED = np.finfo(np.longdouble).eps < 1e-18
PRIORS = (rj.GPrior("n"), rj.GPrior(7.0), rj.BIC(), rj.EmpiricalBayes())


def left_by(columns, others, limit):
    """Return what is left of columns (n, k) by others and the earlier ones, or None for those that depend."""
    basis, found = list(others), []
    for column in columns.T:
        centred = column - column.mean()
        left = centred.copy()
        for _ in range(3):
            for each in basis:
                left -= each * (each @ left)
        length, size = np.sqrt(centred @ centred), np.sqrt(left @ left)
        if size <= max(limit * length, 2e-14 * np.sqrt(column @ column)):
            found.append(None)
            continue
        found.append(float(size / length))
        basis.append(left / size)
    return basis, found


def log_value(prior, total, left, d, n):
    if isinstance(prior, rj.BIC):
        return -n / 2 * np.log(left / total) - d / 2 * np.log(n)
    g = float(prior.value(n)) if isinstance(prior, rj.GPrior) else 0.0
    if isinstance(prior, rj.EmpiricalBayes) and d:
        g = max(float((total - left) / d / (left / (n - 1 - d))) - 1, 0.0)
    return (n - 1 - d) / 2 * np.log1p(g) - (n - 1) / 2 * np.log1p(g * left / total)


def reference(terms, x, y, prior):
    """Posterior probabilities of all models by terms, and the smallest proportion left of a column."""
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    y = y - y.mean()
    kept, least = [], 1.0
    for term in terms:
        parents = [k for p in term.parents for k in kept[p]]
        own = np.arange(term.start, term.stop)
        above = left_by(x[:, parents], [], 1e-8)[0]
        found = left_by(x[:, own], above, 1e-8)[1]
        inside = [k for k, value in zip(own, found, strict=True) if value is not None]
        kept.append(inside if inside else own.tolist())
    value = {}
    for gamma in product((0, 1), repeat=len(terms)):
        columns = [k for j, inside in enumerate(gamma) if inside for k in kept[j]]
        basis, found = left_by(x[:, columns], [], 1e-8)
        if len(columns) > len(y) - 1 or None in found:
            continue
        least = min([least, *found])
        left = y.copy()
        for _ in range(2):
            for each in basis:
                left -= each * (each @ left)
        names = frozenset(term.name for term, inside in zip(terms, gamma, strict=True) if inside)
        value[names] = float(log_value(prior, y @ y, left @ left, len(columns), len(y)))
    top = max(value.values())
    mass = {names: np.exp(each - top) for names, each in value.items()}
    whole = sum(mass.values())
    return {names: each / whole for names, each in mass.items()}, least


def case(seed):
    """A random data frame and formula."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 70))
    f, g = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2]), rng.choice(list("uvw"), n)
    f[:3], g[:3] = ["a", "b", "c"], ["u", "v", "w"]
    f[3 : 3 + rng.integers(1, 3)] = "rare"
    for cell in rng.permutation([(a, b) for a in "abc" for b in "uvw"])[: rng.integers(0, 3)]:
        g[(f == cell[0]) & (g == cell[1]) & (np.arange(n) > 3)] = "u" if cell[1] == "w" else "w"
    shift = rng.choice([0.0, 30.0, 300.0, 2000.0])
    x = shift + rng.uniform(-1, 1, n) * rng.choice([1.0, 17.0])
    centred = (x - x.mean()) / x.std()
    frame = pd.DataFrame({"f": f, "g": g, "x": x, "z": rng.normal(size=n)})
    frame["y"] = (
        rng.choice([0, 1]) * (f == "b")
        + rng.choice([0, 1]) * (f == "c") * (g == "v")
        + rng.choice([0, 0.5]) * centred**2
        + rng.choice([0, 0.5]) * centred**3
        + rng.normal(size=n)
    )
    parts = ["f * g", "x", "I(x**2)", "I(x**3)", "f:x", "z", "z:x", "g:z"]
    chosen = [part for part in parts if rng.random() < 0.5] or ["f * g"]
    return frame, "y ~ " + " + ".join(chosen), PRIORS[seed % len(PRIORS)]


def check(seed):
    frame, formula, prior = case(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.PyrjselWarning)
        whole = rj.linear(formula, frame, coef_prior=rj.Normal(1))
        fit = rj.linear(formula, frame, coef_prior=prior, model_prior=rj.Uniform()).fit(
            rng=1, sampler="enumerate"
        )
    expected, least = reference(whole.design.terms, whole.data.X, frame["y"].to_numpy(), prior)
    found = {frozenset(row.terms): row.posterior for row in fit.models.itertuples() if row.posterior > 0}
    tolerance = (1e-8 if least > 1e-5 else 1e-6) if EXTENDED else 1e-5
    for names in expected.keys() | found.keys():
        assert found.get(names, 0.0) == pytest.approx(expected.get(names, 0.0), abs=tolerance), formula
    return least


@pytest.mark.parametrize("seed", range(10))
def test_posteriors_are_those_of_least_squares(seed):
    assert 0 < check(seed) <= 1


@pytest.mark.statistical
def test_posteriors_of_many_formulas():
    least = [check(seed) for seed in range(10, 200)]
    assert sum(each < 1e-5 for each in least) > 10
    assert sum(each > 1e-3 for each in least) > 50
