"""Joint-distribution tests (Geweke 2004) of jumps with Student-t errors, alone and in a population.

As those with an unknown size. Two additional rows with fixed responses, whose columns are zero, make the flat
prior of intercept and log sigma a proper one: if e and f are draws from the law of errors, e < f, with the
responses -1 and 1, sigma is 2 / (f - e) and the intercept 1 - sigma f.
"""

from dataclasses import replace

import numpy as np
import pytest
from selection_world import exchanged, joint_faults

from pyrjsel.families import Student
from pyrjsel.model_space import BetaBinomial
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.priors.g_mixtures import HyperGN
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

pytestmark = pytest.mark.statistical
NAMES, SIZES, ROWS = ["a", "f3", "b"], [1, 2, 1], 14
PRIORS = {"g": GPrior(5.0, intercept="flat"), "hyper-g/n": HyperGN(4.0)}
# Laws are those given that all responses are smaller.
MOST = 1e6


class World:
    """Draws from the joint law by plain numpy, and chains of the package from them.

    With a `fault` the package has a precision that many times too large.
    """

    def __init__(self, kit, prior, df, fault=1.0):
        case = kit.case(NAMES, coef_prior=PRIORS[prior], model_prior=BetaBinomial(1, 1), n=ROWS, seed=2)
        self.space, self.df, self.prior = case.space, df, PRIORS[prior]
        x = np.vstack([case.x, np.tile(case.x.mean(axis=0), (2, 1))])
        y = np.append(np.random.default_rng(3).standard_normal(ROWS), [-1.0, 1.0])
        family = Student(df=df).for_rows(y, None, None)
        whole = Regression.build(x, y, SIZES, self.prior, family=family)
        assert np.abs(whole.columns[1:, -2:]).max() < 1e-12
        self.information, self.typical = whole.prior.precision[1:, 1:], whole.family.size
        self.n = whole.prior.total_weight
        compiled = replace(whole.prior, precision=fault * whole.prior.precision)
        self.regression = replace(whole, prior=compiled)
        self.inside = np.repeat(np.arange(3), SIZES)

    def draw(self, rng):
        """Return a model, the state of a chain, and a response below the limit."""
        while True:
            gamma = np.zeros(3, dtype=np.uint8)
            gamma[rng.permutation(3)[: rng.integers(4)]] = 1
            columns, df, log_g = np.flatnonzero(gamma[self.inside]), self.df, []
            while df is None or (self.df is None and df <= 0.5):
                df = rng.gamma(2.0, 10.0)
            g = 1.0
            if isinstance(self.prior, HyperGN):
                g = self.n * (rng.random() ** (-1.0 / (0.5 * self.prior.a - 1.0)) - 1.0)
                log_g = [np.log(g)]
            low, high = np.sort(rng.standard_t(df, 2))
            sigma = 2.0 / (high - low)
            b = np.append(1.0 - sigma * high, np.zeros(4))
            if columns.size:
                root = np.linalg.cholesky(np.linalg.inv(self.information[np.ix_(columns, columns)]))
                b[1 + columns] = np.sqrt(g) * sigma / self.typical * root @ rng.standard_normal(columns.size)
            y = b @ self.regression.columns[:, :-2] + sigma * rng.standard_t(df, ROWS)
            if np.abs(y).max() < MOST:
                return gamma, np.array([*b, sigma, *([df] if self.df is None else []), *log_g]), y

    def loop(self, gamma, state, y):
        regression = replace(self.regression, y=np.append(y, [-1.0, 1.0]))
        options = {"max_columns": 5, "raw_shift": regression.raw_shift, "n_swaps": 2}
        return make_chain(regression, self.space, gamma, state, **options)

    def jump(self, gamma, state, y, rng):
        loop = self.loop(gamma, state, y)
        loop.run(rng, 5)
        return loop.state()

    def exchange(self, gamma, state, y, rng):
        return exchanged(lambda: self.loop(gamma, state, y), rng, 5)

    def statistics(self, gamma, state, y):
        """Bounded functions of state and response that a wrong transition may move."""
        b, rest = np.tanh(state[:5]), state[5:].copy()
        if isinstance(self.prior, HyperGN):
            rest[-1] = np.exp(rest[-1])
        scales = np.concatenate([np.tanh(np.log(rest) - shift) for shift in (-1.0, 1.0, 3.0)])
        away = np.tanh(self.regression.columns[1:, :-2] @ y / ROWS)
        spread = np.tanh(np.log(np.median(np.abs(y - np.median(y)))) - 0.5)
        tail = np.tanh(np.log(np.abs(y).max()) - 3.0)
        size = gamma.sum()
        parts = [gamma, [size, gamma[0] * gamma[2], size * spread], b, b**2, b[1:] * away]
        parts += [scales, scales * size, scales * spread, scales * tail, gamma * scales[0]]
        return np.concatenate(parts)


@pytest.mark.parametrize("move", [World.jump, World.exchange])
@pytest.mark.parametrize(("prior", "df"), [("g", 4.0), ("g", None), ("hyper-g/n", None)])
def test_jumps_leave_the_joint_law_alone(kit, prior, df, move):
    assert joint_faults(World(kit, prior, df), move, 8000 if move is World.jump else 2000, 91) == {}


@pytest.mark.parametrize("df", [4.0, None])
def test_a_wrong_precision_is_caught(kit, df):
    assert joint_faults(World(kit, "g", df, 2.0), World.jump, 8000, 92) != {}
