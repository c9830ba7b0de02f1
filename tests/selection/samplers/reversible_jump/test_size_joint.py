"""Joint-distribution tests (Geweke 2004) of jumps with an unknown size, alone and in a population.

Draw a model, coefficients, a size and a response from their joint law, start the chain there, let it run for
a few iterations given that response. If the transition leaves every posterior invariant, states afterwards
have with the response the joint law of those before: every function of both has the same mean. The prior of
coefficients is normal, since the information of a g-prior depends on the response. Levels are 1e-6 a test.
"""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from scipy import stats
from selection_checks import LEVEL, holm
from selection_world import exchanged

from pyrjsel.families import Gamma, NegativeBinomial
from pyrjsel.model_space import BetaBinomial
from pyrjsel.selection.priors.coefficients import Normal
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

NAMES, SIZES = ["a", "f3", "b"], [1, 2, 1]
SD, INTERCEPT, LOG_SIZE = 0.4, 0.6, (0.4, 0.7)
DRAWS, ITERATIONS, ROWS = 6000, 5, 16


def counts(rng, w, mean, size):
    return rng.poisson(w * mean * rng.gamma(w * size) / (w * size)) / w


def positive(rng, w, mean, size):
    return mean * rng.gamma(w * size) / (w * size)


FAMILIES = {"negbin": (NegativeBinomial, counts), "gamma": (Gamma, positive)}


class World:
    """Draws from the joint law by plain numpy, and chains of the package from them."""

    def __init__(self, kit, name, prior=LOG_SIZE):
        made, self.respond = FAMILIES[name]
        case = kit.case(
            NAMES,
            coef_prior=Normal(SD, intercept=Normal(INTERCEPT)),
            model_prior=BetaBinomial(1, 1),
            n=ROWS,
            seed=2,
            weighted=True,
            with_offset=True,
            family=name,
        )
        # Columns of size one: responses stay between 1e-3 and 1e3.
        x = (case.x - case.x.mean(axis=0)) / case.x.std(axis=0) + 0.3
        self.space, self.w, self.offset = case.space, case.weights, 0.3 * case.offset
        self.x = np.column_stack([np.ones(ROWS), x])
        self.regression = Regression.build(
            x,
            case.y,
            SIZES,
            case.prior,
            weights=self.w,
            offset=self.offset,
            family=made(None, *prior),
        )
        self.term = np.concatenate([[-1], np.repeat(np.arange(3), SIZES)])

    def draw(self, rng):
        """Return a model, raw coefficients, the log size and a response."""
        size = rng.integers(4)
        gamma = np.zeros(3, dtype=np.uint8)
        gamma[rng.permutation(3)[:size]] = 1
        beta = np.append(INTERCEPT * rng.standard_normal(), SD * rng.standard_normal(4))
        beta *= np.append(True, gamma)[self.term + 1]
        t = LOG_SIZE[0] + LOG_SIZE[1] * rng.standard_normal()
        mean = np.exp(self.offset + self.x @ beta)
        return gamma, beta, t, self.respond(rng, self.w, mean, np.exp(t))

    def chain(self, gamma, beta, t, y):
        """Return a compiled chain in this state, given this response."""
        regression = self.regression
        family = replace(regression.family, table=regression.family.summarise(y, self.w))
        regression = replace(regression, y=y, family=family)
        b = beta.copy()
        b[1:] *= regression.scale
        b[0] += beta[1:] @ regression.mean
        options = {"max_columns": b.size, "raw_shift": regression.raw_shift, "n_swaps": 2}
        return make_chain(regression, self.space, gamma, np.append(b, np.exp(t)), **options)

    def state(self, gamma, vector):
        """Return model, raw coefficients and log size of a state of a chain."""
        return gamma, self.regression.to_raw(vector[None, :-1])[0], np.log(vector[-1])

    def walk(self, gamma, beta, t, y, rng):
        loop = self.chain(gamma, beta, t, y)
        loop.run(rng, ITERATIONS)
        return self.state(*loop.state())

    def exchange(self, gamma, beta, t, y, rng):
        return self.state(*exchanged(lambda: self.chain(gamma, beta, t, y), rng, ITERATIONS))

    def statistics(self, gamma, beta, t, y):
        """Functions of state and response that a wrong transition may move."""
        away = np.log((self.w @ y + 1) / (self.w @ np.exp(self.offset + self.x @ beta)))
        spread = np.log1p(np.var(np.log1p(y)))
        return np.concatenate(
            [gamma, beta, beta**2, [t, t**2, away, away**2, t * away, t * spread, gamma.sum() * t], t * gamma]
        )


def faults(world, move, draws, seed):
    """Return what the transition moves."""
    rng, differences, models, sizes = np.random.default_rng(seed), [], [], []
    for _ in range(draws):
        gamma, beta, t, y = world.draw(rng)
        new = move(world, gamma, beta, t, y, rng)
        differences.append(world.statistics(*new, y) - world.statistics(gamma, beta, t, y))
        models.append(int(new[0] @ [4, 2, 1]))
        sizes.append(new[2])
    differences = np.array(differences)
    z = differences.mean(axis=0) / (differences.std(axis=0, ddof=1) / np.sqrt(draws))
    chances = np.array([1 / (4 * comb(3, bin(k).count("1"))) for k in range(8)])
    p = [
        *2 * stats.norm.sf(np.abs(z)),
        stats.chisquare(np.bincount(models, minlength=8), draws * chances).pvalue,
    ]
    p.append(stats.kstest(sizes, stats.norm(*LOG_SIZE).cdf).pvalue)
    return holm(np.array(p), [*(f"mean {k}" for k in range(z.size)), "models", "size"], LEVEL)


@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES)
def test_jumps_leave_the_joint_law_alone(kit, family):
    assert faults(World(kit, family), World.walk, DRAWS, 71) == {}


@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES)
def test_populations_leave_the_joint_law_alone(kit, family):
    assert faults(World(kit, family), World.exchange, DRAWS // 4, 72) == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_prior_of_the_size_is_caught(kit, family):
    """Its mean is off by a standard deviation; without a fault so few draws find nothing."""
    wrong = (LOG_SIZE[0] + 0.7, LOG_SIZE[1])
    assert faults(World(kit, family, wrong), World.walk, 800, 73) != {}
    assert faults(World(kit, family), World.walk, 800, 73) == {}
