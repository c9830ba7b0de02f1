"""Joint-distribution tests (Geweke 2004) of gaussian reversible jumps, alone and in a population.

Draws of (data, parameters) from the prior, and by iterations between new data given the parameters and new
parameters given the data, have the same law. The other chains of a population have laws of their own given
the data, the powers of the posterior: they are drawn from these, which are known where g is, before each
iteration.
"""

import jump_kit
import numpy as np
import pytest

from pyrjsel.distributions import InverseGamma
from pyrjsel.selection.priors.g_mixtures import UnknownG
from pyrjsel.selection.priors.gaussian import FixedG
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.regression.gaussian_rows import GaussianRows
from pyrjsel.selection.samplers.reversible_jump._population import TEMPERATURES, Population

pytestmark = pytest.mark.statistical
SIZES, NAMES, SIGMA = (1, 2, 1), ["a", "b", "a:b"], InverseGamma(5.0, 4.0)
STEPS, FEWER, BATCHES, ERRORS = 15_000, 6_000, 60, 7.0
# Batch means of 60 batches of 250 (or 100): beyond 7 standard errors of a Student with 59 degrees of freedom
# is 3e-9, for some 30 numbers in 9 tests; the batches are 10 times as long as the chains remember.
# The intercept, whose prior is flat, of all data: models see what is left of them without it.
FLAT = 1.7


def summaries(gamma, b, variance, log_g):
    """Numbers of which both simulators have the same mean; coefficients in units of what g gives them."""
    b = np.arcsinh(b)
    return np.concatenate(
        [
            gamma,
            [gamma[0] * gamma[1], np.log(variance), np.log(variance) ** 2],
            [np.tanh(log_g - 2.0), np.tanh(log_g - 4.0), np.tanh(log_g - 2.0) * gamma[0]],
            b,
            b**2,
            b[0] * gamma,
            [b[0] * b[1]],
        ]
    )


class World:
    """Columns, a prior over models, and draws from the prior of the parameters."""

    def __init__(self, kit, prior):
        self.prior = prior
        self.case = kit.case(SIZES, prior, n=12, seed=3, names=NAMES, sigma=SIGMA, heredity="weak")
        self.x = self.case.regression.rooted.T
        self.raw = self.x * self.case.regression.scale + self.case.regression.mean
        self.models = self.case.models[np.isfinite(np.asarray(self.case.space.log_prior(self.case.models)))]
        chances = np.exp(np.asarray(self.case.space.log_prior(self.models)))
        self.chances = chances / chances.sum()

    def parameters(self, rng):
        """Model, internal coefficients, sigma^2 and log g from the prior."""
        compiled, n = self.case.regression.prior, len(self.x)
        gamma = self.models[rng.choice(len(self.models), p=self.chances)]
        variance = 4.0 / rng.standard_gamma(5.0)
        columns = self.case.regression.model_columns(gamma)[1:] - 1
        b, log_g = np.zeros(self.x.shape[1]), 0.0
        if isinstance(compiled, UnknownG):
            log_g = log_g_of(self.prior, n, rng)
        if compiled.rank_tol > 0 and columns.size:
            g = np.exp(log_g) * (compiled.g if isinstance(compiled, FixedG) else 1.0)
            part = self.x[:, columns]
            root = np.linalg.cholesky(g * variance * np.linalg.inv(part.T @ part))
            b[columns] = root @ rng.standard_normal(columns.size)
        elif columns.size:
            spread = np.sqrt((variance if compiled.scaled else 1.0) / compiled.precision[columns])
            b[columns] = compiled.mean[columns] + spread * rng.standard_normal(columns.size)
        return gamma, b, variance, log_g

    def rows(self, gamma, b, variance, rng):
        """The regression of new data; their mean is the intercept's estimate, and has a law of its own."""
        y = FLAT + self.x @ b + np.sqrt(variance) * rng.standard_normal(len(self.x))
        return GaussianRegression.build(self.raw, y, list(SIZES), self.prior, sigma_prior=SIGMA)


def log_g_of(prior, n, rng):
    """A draw of log g by inversion, or of an inverse gamma variate."""
    name = type(prior).__name__
    if name == "ZellnerSiow":
        return float(np.log(0.5 * n / rng.standard_gamma(0.5)))
    # g (or g / n) has the distribution function 1 - (1 + g)^(1 - a / 2).
    g = rng.random() ** (-1.0 / (0.5 * prior.a - 1.0)) - 1.0
    return float(np.log(g * (n if name == "HyperGN" else 1.0)))


def both_simulators(world, iterate, steps=STEPS):
    """Draws from the prior, and those of a chain; `iterate` moves parameters given a regression."""
    rng = np.random.default_rng(11)
    independent = np.array([summaries(*world.parameters(rng)) for _ in range(steps)])
    chained = np.empty_like(independent)
    gamma, b, variance, log_g = world.parameters(rng)
    for i in range(steps):
        regression = world.rows(gamma, b, variance, rng)
        # The intercept given the rest, which is what a flat prior leaves of it.
        centre = regression.centre + np.sqrt(variance / len(world.x)) * rng.standard_normal()
        gamma, vector = iterate(regression, gamma, np.concatenate([[centre], b, [variance, log_g]]), rng)
        b, variance, log_g = vector[1:-2], vector[-2], vector[-1]
        chained[i] = summaries(gamma, b, variance, log_g)
    return independent, chained


def check(independent, chained):
    means, error = [], 0.0
    for draws in (independent, chained):
        batches = draws.reshape(BATCHES, -1, draws.shape[1]).mean(axis=1)
        means.append(batches.mean(axis=0))
        error = np.hypot(error, batches.std(axis=0, ddof=1) / np.sqrt(BATCHES))
    assert np.all(np.abs(means[0] - means[1]) < ERRORS * error + 1e-12)
    assert np.all(error[:3] > 0)


@pytest.mark.parametrize("prior", jump_kit.PRIORS)
def test_reversible_jumps(linear_kit, prior):
    world = World(linear_kit, jump_kit.PRIORS[prior])

    def iterate(regression, gamma, vector, rng):
        loop = jump_kit.loop_at(GaussianRows.of(regression), world.case.space, gamma, vector)
        loop.run(rng, 1)
        return loop.state()

    check(*both_simulators(world, iterate))


@pytest.mark.parametrize("prior", ["g", "normal, mean"])
def test_populations(linear_kit, prior):
    world = World(linear_kit, jump_kit.PRIORS[prior])
    powers = (1.8, 0.6)

    def iterate(regression, gamma, vector, rng):
        case, rows = world.case, GaussianRows.of(regression)
        y = regression.y
        here = type(case)(regression, case.space, world.raw, y, None, None, case.prior)
        states = [(gamma, vector)]
        states += [jump_kit.Tempered(here, t).draw(world.models, rng) for t in powers]
        chains = [jump_kit.loop_at(rows, case.space, *state) for state in states]
        loop = Population(
            chains, np.array(powers)[:, None], np.zeros(len(powers), dtype=np.intc), TEMPERATURES["fixed"]
        )
        loop.run(rng, 1, np.zeros((len(powers), 1)))
        gammas, vectors = loop.states()
        return gammas[0], vectors[0]

    check(*both_simulators(world, iterate, FEWER))
