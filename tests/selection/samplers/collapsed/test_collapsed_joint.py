"""One exact test of walks over gaussian models: they leave the joint law of parameters and data alone.

Draw a model, sigma^2, g, coefficients and a response from the prior; walk over models for a few periods
given the response, draw coefficients and sigma^2 given the model that the walk ends at. If all of that is
right, what comes out has with the response the law of what went in. The intercept is 0: the posterior sees
centred responses alone. Levels are 1e-6 a test.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from selection_checks import LEVEL, holm

from pyrjsel.distributions import InverseGamma
from pyrjsel.model_space import Space, term_blocks
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.priors.g_mixtures import HyperG, ZellnerSiow
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed import chain as collapsed
from pyrjsel.selection.samplers.collapsed.chain import CollapsedChain, CollapsedMoves
from pyrjsel.selection.samplers.options import CollapsedOptions

pytestmark = pytest.mark.statistical
SIZES, NAMES, N = (1, 2, 1, 1), ["a", "b", "c", "a:c"], 15
SIGMA = InverseGamma(3.0, 2.0)
PRIORS = {
    "g": GPrior(8.0),
    "hyper-g": HyperG(3.0),
    "Zellner-Siow": ZellnerSiow(),
    "normal": Normal(0.6),
    "normal, shifted": Normal(0.5, mean=0.3),
}
SPACES = {
    "free": {},
    "budget, heredity": {
        "costs": {"a": 1.0, "b": 2.0, "c": 1.0}, "budget": 3.0, "heredity": "weak",
    },
}  # fmt: skip
# Mixtures are made anew for each response, which takes ten times as long as the rest.
COUNT, OF_MIXTURES, PERIODS = 4000, 1500, 2


def draw_g(prior, rng):
    """A factor g of the covariance, from its prior."""
    if isinstance(prior, HyperG):
        return 1.0 / rng.beta(0.5 * prior.a - 1.0, 1.0) - 1.0
    return 0.5 * N / rng.standard_gamma(0.5) if isinstance(prior, ZellnerSiow) else 8.0


def draw_coefficients(prior, x, variance, rng):
    """Coefficients of centred columns (n, d) given sigma^2."""
    noise = rng.standard_normal(x.shape[1])
    if isinstance(prior, Normal):
        return prior.mean + prior.scale * np.sqrt(variance) * noise
    root = np.linalg.cholesky(np.linalg.inv(x.T @ x)) if x.shape[1] else np.empty((0, 0))
    return np.sqrt(draw_g(prior, rng) * variance) * root @ noise


def summaries(gamma, b, variance, x, y):
    """Functions of state and response; bounded where the prior has heavy tails."""
    share = (x @ b) @ y / (y @ y)
    return np.concatenate(
        [gamma, [gamma.sum(), np.log(variance), np.arctan(share)], gamma * np.log(variance), np.arctan(b),
         np.arctan(b) ** 2, np.arctan(b / np.sqrt(variance)) * np.tanh(x.T @ y)]
    )  # fmt: skip


def faults(linear_kit, prior, space):
    """Return what the walk moves."""
    case = linear_kit.case(SIZES, prior, n=N, seed=3, names=NAMES, sigma=SIGMA, **space)
    x = case.x - case.x.mean(axis=0)
    x /= x.std(axis=0)
    models = case.models[np.isfinite(np.asarray(case.space.log_prior(case.models)))]
    chances = np.exp(np.asarray(case.space.log_prior(models)))
    chances /= chances.sum()
    options, rng = CollapsedOptions(), np.random.default_rng(12)
    count = OF_MIXTURES if isinstance(prior, HyperG | ZellnerSiow) else COUNT
    differences, after = [], np.zeros(len(models))
    for _ in range(count):
        gamma = models[rng.choice(len(models), p=chances)]
        variance = float(SIGMA.b) / rng.standard_gamma(float(SIGMA.a))
        inside = np.repeat(gamma, SIZES).astype(bool)
        b = np.zeros(x.shape[1])
        b[inside] = draw_coefficients(prior, x[:, inside], variance, rng)
        y = x @ b + np.sqrt(variance) * rng.standard_normal(N)
        regression = GaussianRegression.build(x, y, list(SIZES), prior, sigma_prior=SIGMA)
        moves = CollapsedMoves(
            options.time,
            options.swap_rate(case.space),
            np.ones(1),
            False,
            term_blocks(case.space),
            (1.0, 1.0),
            1.0,
        )
        job = Job(CollapsedChain, moves, regression, case.space, PERIODS, 0, 1, gamma[None], PERIODS)
        runner = job.start(np.random.SeedSequence(int(rng.integers(2**60))), 0)
        runner.advance(PERIODS)
        new = runner.walk.gamma()[0]
        drawn, nuisance = job.single().sample(new, 1, rng)
        new_variance = nuisance["variance"]
        new_b = drawn[0, 1:] / regression.scale
        differences.append(
            summaries(new, new_b, float(new_variance[0]), x, y) - summaries(gamma, b, variance, x, y)
        )
        after[np.flatnonzero((models == new).all(axis=1))[0]] += 1
    differences = np.array(differences)
    z = differences.mean(axis=0) / (differences.std(axis=0, ddof=1) / np.sqrt(count))
    expected = count * chances
    assert expected.min() >= 5
    p = [
        *(2 * stats.norm.sf(np.abs(z))),
        stats.chi2.sf(((after - expected) ** 2 / expected).sum(), after.size - 1),
    ]
    return holm(np.array(p), [*(f"mean {k}" for k in range(z.size)), "models"], LEVEL)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("prior", PRIORS)
def test_walks_leave_the_joint_law_alone(linear_kit, prior, space):
    assert faults(linear_kit, PRIORS[prior], SPACES[space]) == {}


def test_a_wrong_walk_is_seen(linear_kit, monkeypatch):
    """Odds of one more term too large by a factor of 1.35 in the compiled loop."""

    def wrong(space):
        sizes = space.log_size + 0.3 * np.arange(space.log_size.size)
        return Space(replace(space, log_size=sizes))

    monkeypatch.setattr(collapsed, "Space", wrong)
    assert faults(linear_kit, PRIORS["normal"], SPACES["free"]) != {}
