"""Rows with levels that no training case has, against importance sampling over all coefficients."""

import numpy as np
import pandas as pd
import pytest
import reference_importance as reference

import pyrjsel as rj
from pyrjsel.patterns.matching import match
from pyrjsel.patterns.prediction import class_probabilities, linear_predictors
from pyrjsel.report import scalar_stats

FAMILIES = ["cauchy", "gaussian"]


def problem(seed, family):
    """A small model with large effects, its cases, and rows with an unseen level."""
    rng = np.random.default_rng(seed)
    kind = ["interactions", "sequence"][seed % 2]
    n, p, n_classes = int(rng.integers(6, 12)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    levels = int(rng.integers(2, 4))
    while True:
        codes = rng.integers(levels, size=(n, p))
        classes = np.minimum(codes[:, -1] + (rng.random(n) < 0.4), n_classes - 1)
        if len(np.unique(classes)) == n_classes and (codes != codes[0]).any(axis=0).all():
            break
    new = rng.integers(levels, size=(3, p))
    new[0, 0] = new[1, -1] = new[2, int(rng.integers(p))] = levels
    scales = [rj.LogNormal(float(rng.uniform(-0.5, 1.0)), 0.5) for _ in range(p)]
    model = rj.PatternLogit(classes, codes, kind=kind, prior=family, sigma_prior=scales, sigma_0=1.0)
    return model, codes, classes, new


def predicted(results, new, draws):
    """Probabilities of new rows under both rules, and the Monte Carlo error of the first."""
    frame = pd.DataFrame(new, columns=results.model.features.names)
    found, ignored = (results.predict(frame, unseen=rule, draws=draws) for rule in ("prior", "ignore"))
    model = results.model
    codes = model.features.encode(frame, unseen="mark")
    (matches,) = match(model.compression, model.features, codes, unseen_levels=True)
    rng = np.random.default_rng(0)
    blocks = linear_predictors(results._sums, results._sigma, model.prior.family, matches, rng)
    chance = np.concatenate([class_probabilities(block) for block in blocks])
    shape = results.draws.log_posterior.shape
    error = [[scalar_stats(column.reshape(shape)).mcse for column in row.T] for row in chance]
    return found.to_numpy(), ignored.to_numpy(), np.array(error)


def deviations(seed, family, n_draws, draws, thin):
    """Deviations in standard errors of both rules from the truth."""
    model, codes, classes, new = problem(seed, family)
    results = model.fit(draws=draws, thin=thin, chains=2, rng=seed, progress=False)
    found, ignored, error = predicted(results, new, draws=4)
    mean, own, effective = reference.predict(
        model, codes, classes, new, n_draws, np.random.default_rng(seed + 100)
    )
    # Errors of weighted means are themselves known to some 5 % then.
    assert effective > 200
    total = np.hypot(error, own)
    return (found - mean) / total, (ignored - mean) / total


@pytest.mark.parametrize("family", FAMILIES)
def test_unseen_levels_have_coefficients_from_the_prior(family):
    # Nine or fewer probabilities, each with a false-alarm rate of 2e-9 at 6 errors if errors were known;
    # these are, to some 5 %, and 1e-6 allows for it.
    drawn, ignored = deviations(18, family, 300_000, 3000, 4)
    assert np.abs(drawn).max() < 6
    assert np.abs(ignored).max() > 6


@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES)
def test_unseen_levels_on_random_problems(family):
    # 20 problems of up to 9 probabilities, in which 6 to 9 are independent: beyond 4.5 with probability 1e-3.
    found = [deviations(seed, family, 2_000_000, 5000, 10) for seed in range(20)]
    drawn = np.array([np.abs(first).max() for first, _ in found])
    print(drawn.round(2), np.array([np.abs(second).max() for _, second in found]).round(1))
    assert (drawn < 4.5).all()
    assert np.mean([np.abs(second).max() > 4.5 for _, second in found]) > 0.5
