"""Joint-distribution tests (Geweke 2004) of jumps of Cox models, alone and in a population.

Without ties, and with censoring after the last event alone, the partial likelihood is that of the order of
events (Kalbfleisch and Prentice 1973). Draw a model, coefficients and an order from their joint law, start a
chain there, let it run for a few iterations given that order: states afterwards have with it the joint law of
those before. The prior of coefficients is normal, since the information of a g-prior depends on the order.
"""

import numpy as np
import pytest
from glm_kit import columns_of, terms_of
from selection_world import exchanged, joint_faults

from pyrjsel.families import Cox
from pyrjsel.model_space import BetaBinomial, ModelSpace
from pyrjsel.selection.priors.coefficients import Normal
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

pytestmark = pytest.mark.statistical
NAMES, SIZES, ROWS, EVENTS, SD = ["a", "f3", "b"], [1, 2, 1], 16, 12, 0.6
DRAWS, ITERATIONS = 6000, 4


class World:
    """Draws from the joint law by plain numpy, and chains of the package from them."""

    def __init__(self, *, precise=1.0):
        parts = columns_of(NAMES, ROWS, np.random.default_rng(2))
        x = np.hstack([parts[name] for name in NAMES])
        self.x = (x - x.mean(axis=0)) / x.std(axis=0) + 0.3
        self.prior = Normal(SD / np.sqrt(precise))
        terms = terms_of(NAMES, SIZES)
        self.space = ModelSpace.build(terms, prior=BetaBinomial(1, 1), n_observations=float(ROWS))
        self.term = np.repeat(np.arange(3), SIZES)

    def draw(self, rng):
        """Return a model, raw coefficients (D,), and ranks of times, of censored rows below zero."""
        gamma = np.zeros(3, dtype=np.uint8)
        gamma[rng.permutation(3)[: rng.integers(4)]] = 1
        beta = SD * rng.standard_normal(4) * gamma[self.term]
        rank = 1.0 + np.argsort(np.argsort(rng.standard_exponential(ROWS) / np.exp(self.x @ beta)))
        return gamma, beta, np.where(rank <= EVENTS, rank, -EVENTS - 1.0)

    def statistics(self, gamma, beta, y):
        """Statistics of a state with its response."""
        early = self.x.T @ (ROWS / 2 - np.abs(y)) / ROWS
        last = self.x.T @ (y < 0) / ROWS
        both = [gamma[0] * gamma[1], beta[0] * beta[3]]
        return np.concatenate(
            [gamma, beta, beta**2, both, beta * early, beta * last, gamma * early[[0, 1, 3]] ** 2]
        )

    def chain(self, regression, gamma, beta):
        internal = np.append(0.0, beta * regression.scale)
        options = {"max_columns": regression.n_columns, "raw_shift": regression.raw_shift, "n_swaps": 1}
        return make_chain(regression, self.space, gamma, internal, **options)

    def walk(self, gamma, beta, y, rng):
        """The state of a chain after some iterations given the response."""
        regression = Regression.build(self.x, y, SIZES, self.prior, family=Cox())
        loop = self.chain(regression, gamma, beta)
        loop.run(rng, ITERATIONS)
        gamma, b = loop.state()
        return gamma, regression.to_raw(b[None])[0, 1:]

    def exchange(self, gamma, beta, y, rng):
        """That of one which exchanges with others."""
        regression = Regression.build(self.x, y, SIZES, self.prior, family=Cox())
        gamma, b = exchanged(lambda: self.chain(regression, gamma, beta), rng, ITERATIONS)
        return gamma, regression.to_raw(b[None])[0, 1:]


def test_jumps_leave_the_joint_law_alone():
    assert joint_faults(World(), World.walk, DRAWS, 71) == {}


def test_populations_leave_the_joint_law_alone():
    assert joint_faults(World(), World.exchange, DRAWS // 4, 72) == {}


def test_a_wrong_precision_is_caught():
    assert joint_faults(World(precise=2.0), World.walk, DRAWS // 2, 73) != {}
