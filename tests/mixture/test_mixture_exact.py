"""Chains against the posterior over subsets by numerical integration."""

import mixture_kit as kit
import mixture_oracle as oracle
import numpy as np
import pytest
from scipy.stats import multivariate_t

from pyrjsel.mixture.background import normal_evidence, single_evidence
from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.report import indicator_stats
from pyrjsel.space import Bernoulli, merge_visits

BACKGROUNDS = ("gaussian", "independent", None)
# One under which the kernels that the prior proposes are taken now and then, and moves a sweep.
PRIOR = {"conditional": {}, "prior": {"g": 2.0, "h": 20.0}}
MOVES = {"conditional": 2, "prior": 20}
# Inclusion probabilities under which no subset of the two inputs is too rare to be tested.
INCLUSION = {"gaussian": 0.4, "independent": 0.15, None: 0.5}


def small(background, *, gaps=(), unlabelled=(), **prior):
    """Twelve rows of two inputs that depend on the class and on one another."""
    rng = np.random.default_rng(8 if background == "independent" else 7)
    shift, slope = (2.5, 0.1) if background == "independent" else (1.5, 0.3)
    label = np.arange(12, dtype=np.int32) % 2
    x = rng.standard_normal((12, 2))
    x[:, 0] += shift * label
    x[:, 1] = 0.8 * x[:, 1] + slope * x[:, 0]
    # In units in which densities with and without an input are about as large.
    x *= 0.2 if background is None else 1.0
    for row, column in gaps:
        x[row, column] = np.nan
    label[list(unlabelled)] = -1
    space = kit.space_of(2, Bernoulli(INCLUSION[background]))
    prior = {"nu0": 4.0, "psi0": 0.03, **prior}
    return kit.problem_of(x, label, background=background, space=space, n_classes=2, **prior)


def errors(problem, sweeps, seed=1, **options):
    """Differences to the exact probabilities of subsets, in Monte Carlo errors."""
    exact, subsets = oracle.subset_posterior(problem)
    job = kit.job_of(problem, draws=sweeps, burn_in=200, every=sweeps, **options)
    runner = job.start(np.random.SeedSequence(seed), 0)
    runner.advance(job.total)
    found = runner.finish(True)
    index, visited = merge_visits([(found.words, found.index)], sweeps, problem.n_inputs)
    gamma = np.asarray(visited)
    # Each subset as an indicator of its own.
    is_subset = (gamma[:, None, :] == subsets[None, :, :]).all(axis=2)
    assert np.all(is_subset.any(axis=1))
    stats = indicator_stats(index, is_subset)
    assert np.all(exact > 0.002), exact
    # Batches say little of chains with few effective draws.
    assert np.min(stats.ess) > 100, stats.ess
    return (stats.mean - exact) / stats.mcse


# A Student deviate of about 30 batches is beyond 6 with probability 1.5e-6: a right sampler would fail in
# one of these two dozen comparisons of four subsets with probability 1.5e-4 if seeds were not fixed.
LARGEST = 6.0


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("proposal", ["conditional", "prior"])
def test_subsets_of_two_inputs(background, proposal):
    problem = small(background, **PRIOR[proposal])
    found = errors(problem, 300_000, proposal=proposal, moves=MOVES[proposal])
    assert np.max(np.abs(found)) < LARGEST, found


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("proposal", ["conditional", "prior"])
def test_missing_inputs_and_labels(background, proposal):
    """Under the gaussian background one missing input, which is integrated over too."""
    gaps = [(4, 0)] if background == "gaussian" else [(4, 0), (7, 1), (8, 1)]
    problem = small(background, gaps=gaps, unlabelled=(2, 5, 9), **PRIOR[proposal])
    found = errors(problem, 300_000, seed=2, proposal=proposal, moves=MOVES[proposal])
    assert np.max(np.abs(found)) < LARGEST, found


@pytest.mark.parametrize("min_sd", [0.1, 0.2])
def test_a_large_least_deviation(min_sd):
    """The mass that it cuts off differs between numbers of inputs."""
    found = errors(small("gaussian", min_sd=min_sd), 300_000, moves=2)
    assert np.max(np.abs(found)) < LARGEST, found


def test_other_hyperparameters():
    prior = {"alpha": 1.3, "g": 0.7, "h": 3.0, "kappa0": 0.5, "nu0": 1.7, "psi0": 0.08}
    found = errors(small("gaussian", **prior), 300_000, moves=2)
    assert np.max(np.abs(found)) < LARGEST, found


# --- the parts of the oracle ------------------------------------------------------------------------------


@pytest.mark.parametrize("surplus", [2.0, 0.3])
def test_null_evidence_is_a_product_of_student_densities(surplus):
    """Row after row, given those before it."""
    rng = np.random.default_rng(3)
    z, prior = rng.standard_normal((7, 3)) * 0.3, MixturePrior(kappa0=0.3, psi0=0.2)
    value, mean, kappa, nu, scatter = 0.0, np.zeros(3), prior.kappa0, surplus + 3, prior.psi0 * np.eye(3)
    for row in z:
        degrees = nu - 2
        value += multivariate_t.logpdf(row, mean, scatter * (kappa + 1) / (kappa * degrees), df=degrees)
        step = row - mean
        scatter = scatter + kappa / (kappa + 1) * np.outer(step, step)
        mean, kappa, nu = mean + step / (kappa + 1), kappa + 1, nu + 1
    np.testing.assert_allclose(normal_evidence(z, prior, surplus), value, rtol=1e-12)
    z[2:4, 1] = np.nan
    found = single_evidence(z, prior, surplus)
    for i in range(3):
        column = z[~np.isnan(z[:, i]), i : i + 1]
        np.testing.assert_allclose(found[i], normal_evidence(column, prior, surplus), rtol=1e-12)


def test_null_evidence_of_a_subset_is_a_margin():
    """Integrated over one input of one row."""
    rng = np.random.default_rng(4)
    z, prior = rng.standard_normal((1, 2)) * 0.3, MixturePrior(psi0=0.03)
    step = 1e-3
    grid = np.arange(-60, 60, step)
    values = [normal_evidence(np.array([[z[0, 0], x]]), prior, 2.0) for x in grid[::40]]
    # Tails of a Student distribution of three degrees of freedom beyond some hundred scales.
    np.testing.assert_allclose(
        np.exp(values).sum() * step * 40, np.exp(normal_evidence(z[:, :1], prior, 2.0)), rtol=1e-5
    )


@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize(
    "prior", [MixturePrior(), MixturePrior(alpha=1, g=1, h=1, min_sd=0.1), MixturePrior(alpha=0.5, g=0.1)]
)
def test_the_mass_below_the_largest_precision(prior, components):
    rng = np.random.default_rng(5)
    beta = rng.standard_gamma(prior.g, size=400_000) / prior.h
    precision = rng.standard_gamma(prior.alpha, size=(components, 400_000)) / beta
    share = np.mean(np.all(precision <= prior.max_precision, axis=0))
    error = np.sqrt(share * (1 - share) / 400_000)
    # Six tests of one normal deviate each: a false alarm has probability 3e-6.
    assert abs(np.exp(prior.log_mass(components)) - share) < 5 * error


def test_numerical_integration_has_converged():
    z = kit.to_range_units(np.random.default_rng(6).standard_normal((5, 1)))[0][:, 0]
    for prior in (MixturePrior(), MixturePrior(alpha=1.3, g=2.0, h=20.0, min_sd=0.2)):
        coarse, fine = oracle.log_inputs(z, prior), oracle.log_inputs(z, prior, nodes=300)
        np.testing.assert_allclose(coarse, fine, atol=1e-4)
