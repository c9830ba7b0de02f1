"""Reported errors and posteriors over many runs: Monte Carlo errors, effective sizes, calibration.

All of these are long. Every test fails with probability below 1e-6 if the package is right.
"""

import numpy as np
import pytest
from scipy import stats
from selection_cases import load
from selection_checks import (
    LEVEL,
    Scenario,
    build,
    fit,
    holm,
    probabilities,
    terms_in_order,
)
from selection_world import World

from pyrjsel.runtime import FitSettings
from pyrjsel.selection.samplers.enumeration.glm import Enumeration
from pyrjsel.selection.samplers.options import EnumerateOptions

pytestmark = pytest.mark.statistical

COSTS = {"stage": 2.0, "age": 1.0, "bp": 1.5, "smoke": 1.0}
SEEDS = 60


def spread_faults(z, names, low, high):
    """Return quantities whose z-scores over independent seeds (seeds, m) do not spread as they should.

    Their mean square must be between `low` and `high`: it is refused where it lies outside by more than the
    chi-square law of that many squares allows (Holm at LEVEL).
    """
    seeds = np.isfinite(z).sum(axis=0)
    squares = np.nansum(z**2, axis=0)
    p = np.minimum(stats.chi2.sf(squares / high, seeds), stats.chi2.cdf(squares / low, seeds))
    return holm(2 * p, names)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("ward", "raw", ("uniform",), {"heredity": "strong"}),
        Scenario("ward", "g joint", ("betabinomial", 1.0, 1.0), {"costs": COSTS, "budget": 3.0}),
        Scenario("cells", "n joint"),
    ],
    ids=str,
)
def test_monte_carlo_errors_are_honest(scenario):
    """Errors of inclusion, model probabilities and odds in sixty independent runs of 4 x 1500 draws.

    Batch means underestimate the variance of chains whose memory is not short against a batch (here 50
    draws) by some ten percent; a mean square of up to 1.4 is taken as honest, and down to 0.8.
    """
    model, posterior, share = build(scenario), scenario.posterior(), scenario.inclusion()
    problem = load(scenario.problem)[0]
    order = np.argsort(-posterior)
    # Probabilities of at least three percent have 180 visits and normal errors.
    top = order[posterior[order] > 0.03]
    scores, ess, found_shares, disagreements = [], [], [], 0
    for seed in range(SEEDS):
        results = fit(model, sampler="rjmcmc", draws=1500, burn_in=300, rng=1000 + seed)
        name = scenario.problem
        found_shares.append(terms_in_order(results, name))
        of_terms = (found_shares[-1] - share) / terms_in_order(results, name, "mcse")
        found = probabilities(results, name)
        of_models = (found - posterior)[top] / probabilities(results, name, "mcse")[top]
        best = int(np.argmax(found))
        odds, odds_error = (probabilities(results, name, key)[top] for key in ("odds", "odds_mcse"))
        of_odds = np.full(top.size, np.nan)
        others = top != best
        truth = np.log(posterior[best] / posterior[top])
        of_odds[others] = ((np.log(odds) - truth)[others]) / (odds_error / odds)[others]
        scores.append(np.concatenate([of_terms, of_models, of_odds]))
        ess.append(terms_in_order(results, name, "ess"))
        disagreements += int(results.posterior.disagree.any())
    names = [term.name for term in problem.terms]
    names += [problem.models[row] for row in top] + [f"odds {problem.models[row]}" for row in top]
    scores = np.array(scores)
    # The odds of a model are known in the runs in which it is not the best.
    kept = np.isfinite(scores).sum(axis=0) >= 30
    names = [label for label, use in zip(names, kept, strict=True) if use]
    assert spread_faults(scores[:, kept], names, 0.8, 1.4) == {}
    # All of them together, each run counting once: a tighter look than at any one.
    whole = np.nanmean(scores[:, kept] ** 2, axis=1)
    slack = stats.t.isf(LEVEL / 2, SEEDS - 1) * whole.std(ddof=1) / np.sqrt(SEEDS)
    assert 0.8 - slack < whole.mean() < 1.4 + slack
    # The spread of the estimates over the runs is what the effective sizes say.
    size = np.array(ess)
    assert np.all((size > 100) & (size < 1.5 * 4 * 1500))
    spread = np.array(found_shares).var(axis=0, ddof=1) / (share * (1 - share) * np.mean(1 / size, axis=0))
    low, high = stats.chi2.ppf([LEVEL / 20, 1 - LEVEL / 20], SEEDS - 1) / (SEEDS - 1)
    assert np.all((0.8 * low < spread) & (spread < 1.4 * high))
    # Chains seem to disagree with probability 1e-3 a run: more than six runs of sixty are too many.
    assert disagreements <= 6


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("ward", "4n joint"),
        Scenario("ward", "raw"),
        Scenario("cells", "standard"),
        Scenario("short", "standard"),
    ],
    ids=str,
)
def test_integration_errors_are_honest(scenario):
    """Errors of enumerated probabilities over sixty seeds, 512 pairs of draws a model.

    Differences of neighbouring strata overstate the error of what varies smoothly from one to the next
    (mean squares down to 0.2); a few large weights, where a posterior is skewed, raise an integral together
    with its reported error and so make low ones look too sure (up to 1.6).
    """
    posterior, share = scenario.posterior(), scenario.inclusion()
    problem, model = load(scenario.problem)[0], build(scenario)
    top = np.argsort(-posterior)[:8]
    scores = []
    for seed in range(SEEDS):
        settings = FitSettings(1, 0, 1, 1, np.random.default_rng(seed), 1, False)
        found = Enumeration().posterior(model.regression, model.space, settings, EnumerateOptions(pairs=512))
        rows = ["".join(str(digit) for digit in gamma) for gamma in found.gamma]
        order = [rows.index(problem.models[row]) for row in top]
        of_models = (found.probability[order] - posterior[top]) / found.mcse[order]
        scores.append(np.concatenate([(found.inclusion - share) / found.inclusion_mcse, of_models]))
    names = [term.name for term in problem.terms] + [problem.models[row] for row in top]
    assert spread_faults(np.array(scores), names, 0.15, 1.6) == {}


# ---------------------------------------------------------------------- simulation-based calibration

WORLDS = [
    Scenario("ward", "g joint", ("betabinomial", 1.0, 1.0), {"costs": COSTS, "budget": 3.0}),
    Scenario("ward offset", "standard shifted", ("bernoulli", 0.4), {"heredity": "weak"}),
    Scenario("cells", "n joint", ("uniform",)),
    Scenario("visits", "g joint", ("betabinomial", 1.0, 1.0), {"heredity": "strong"}),
]
SIMULATIONS, KEPT, APART = 400, 59, 25


def of_one_chain(world, row, y, rng):
    """Return summaries of draws (KEPT, k) of reversible jumps, from a model on."""
    loop = world.chain(row, np.zeros(world.columns.shape[1]), y)
    loop.run(rng, 200)
    draws = []
    for _ in range(KEPT):
        loop.run(rng, APART)
        draws.append(world.summary(*world.state(loop)))
    return np.array(draws)


def of_a_population(world, row, y, rng):
    """Return the same of a population, whose temperatures are tuned in burn-in."""
    rows, beta = world.populate(row, y, rng, 300, KEPT, APART)
    return np.array([world.summary(*draw) for draw in zip(rows, beta, strict=True)])


def uneven_ranks(world, draw, seed, simulations=SIMULATIONS):
    """Return the quantities whose true values are not uniform among draws that start from the first model."""
    rng = np.random.default_rng(seed)
    smallest = int(np.flatnonzero(world.probability)[0])
    ranks = []
    for _ in range(simulations):
        row, beta, y = world.simulate(rng)
        values, truth = draw(world, smallest, y, rng), world.summary(row, beta)
        below = (values < truth).sum(axis=0)
        ties = (values == truth).sum(axis=0)
        ranks.append(below + rng.integers(0, ties + 1))
    counts = np.array([np.bincount(column * 10 // (KEPT + 1), minlength=10) for column in np.array(ranks).T])
    p = stats.chi2.sf(((counts - simulations / 10) ** 2).sum(axis=1) / (simulations / 10), 9)
    return holm(p, [str(k) for k in range(p.size)])


@pytest.mark.parametrize("draw", [of_one_chain, of_a_population], ids=["rjmcmc", "population"])
@pytest.mark.parametrize("scenario", WORLDS, ids=str)
def test_ranks_of_the_truth_among_draws_are_uniform(scenario, draw):
    """Simulation-based calibration of samplers that start far from the truth, with burn-in.

    Ranks of size, of the number of successes that the coefficients predict, and of every coefficient, ties
    broken at random, in ten classes; chi-square, Holm at level 1e-6.
    """
    assert uneven_ranks(World(scenario), draw, seed=61) == {}


def test_ranks_see_a_wrong_population():
    """A predictor shifted by a half. (The joint law, in test_invariance.py, sees much smaller faults.)"""
    world = World(WORLDS[0], fault=("offset", 0.5))
    assert uneven_ranks(world, of_a_population, seed=61) != {}


def untrue_probabilities(world, seed):
    """Return which of the enumerated probabilities do not come true over simulated data sets.

    Standardised sums of (in or out) - probability for every term, over all sets and over those where the
    probability is low, middling and high, and for the most probable model; Holm at level 1e-6.
    """
    rng = np.random.default_rng(seed)
    problem, truth, stated, best = world.problem, [], [], []
    for _ in range(SIMULATIONS):
        row, _, y = world.simulate(rng)
        settings = FitSettings(1, 0, 1, 1, rng, 1, False)
        found = Enumeration().posterior(world.given(y), world.space, settings, EnumerateOptions())
        truth.append([int(digit) for digit in problem.models[row]])
        stated.append(found.inclusion)
        best.append((np.array_equal(found.gamma[0], truth[-1]), found.probability[0]))
    inside, p = np.array(truth, dtype=float), np.array(stated)
    z, names = [], []

    def look(hits, chances, label):
        spread = (chances * (1 - chances)).sum()
        if spread > 5:  # enough for a normal law of the sum
            z.append((hits - chances).sum() / np.sqrt(spread))
            names.append(label)

    for j, term in enumerate(problem.terms):
        for low, high in ((0, 1), (0, 0.3), (0.3, 0.7), (0.7, 1)):
            rows = (p[:, j] >= low) & (p[:, j] <= high)
            look(inside[rows, j], p[rows, j], f"{term.name} in [{low}, {high}]")
    hits, chances = np.array(best, dtype=float).T
    look(hits, chances, "best model")
    assert len(z) > 5
    return holm(2 * stats.norm.sf(np.abs(z)), names)


@pytest.mark.parametrize("scenario", WORLDS, ids=str)
def test_enumerated_probabilities_come_true(scenario):
    """Over many simulated data sets the terms are in as often as their posterior probabilities say."""
    assert untrue_probabilities(World(scenario), seed=62) == {}


def test_probabilities_under_another_prior_do_not_come_true():
    """Odds of one more term too large by a factor of 2.7: the check above sees it."""
    assert untrue_probabilities(World(WORLDS[2], fault=("sizes", 1.0)), seed=62) != {}
