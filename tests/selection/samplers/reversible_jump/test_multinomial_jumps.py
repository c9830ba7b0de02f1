"""Reversible jumps of models of classes: the reference loop, and the joint law of states and responses."""

from types import SimpleNamespace

import numpy as np
import pytest
from glm_kit import columns_of, terms_of
from selection_checks import mean_faults
from twin_kit import check_same, run_both

from pyrjsel.families import Multinomial
from pyrjsel.model_space import BetaBinomial, ModelSpace
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

NAMES = ["a", "f3", "b", "c"]


def make_case(prior, classes, *, n=40, seed=4, weighted=False, **space):
    """A problem whose classes depend on some of the columns."""
    rng = np.random.default_rng(seed)
    parts = columns_of(NAMES, n, rng)
    sizes = [parts[name].shape[1] for name in NAMES]
    x = np.hstack([parts[name] for name in NAMES])
    unit = (x - x.mean(axis=0)) / x.std(axis=0)
    eta = 0.5 * unit @ rng.standard_normal((x.shape[1], classes)) + rng.gumbel(size=(n, classes))
    y = eta.argmax(axis=1).astype(float)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    family = Multinomial(tuple("uvwx"[:classes]))
    space = ModelSpace.build(
        terms_of(NAMES, sizes), prior=BetaBinomial(1, 1), n_observations=float(n), **space
    )
    regression = Regression.build(x, y, sizes, prior, weights=weights, family=family)
    return SimpleNamespace(regression=regression, space=space)


CASES = {
    "null": (GPrior("n", information="null"), 3, {}),
    "null, weights": (GPrior("n", information="null"), 3, {"weighted": True}),
    "unit, four classes": (GPrior("4n"), 4, {}),
    "null, own intercept": (GPrior(9.0, information="null", intercept=Normal(2.0, 0.5)), 3, {"max_size": 2}),
    "normal, raw": (Normal(0.8, mean=0.3, intercept=Normal(1.5, -0.4)), 3, {"weighted": True}),
    "normal, standardised": (Normal(0.9, standardize=True, intercept="flat"), 4, {"always": ["b"]}),
    "two classes": (GPrior("n", information="null"), 2, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_same_draws_as_the_reference_loop(name):
    prior, classes, options = CASES[name]
    compiled, twin = run_both(make_case(prior, classes, **options), 17, 60, n_swaps=2)
    check_same(compiled, twin)
    # Births, deaths and updates are taken and refused.
    proposed, accepted = compiled["counts"]
    assert np.all(accepted[[0, 1, 3]] > 0)
    assert np.all(accepted[[0, 1]] < proposed[[0, 1]])


def test_same_draws_with_the_proposal_of_the_full_model():
    case = make_case(GPrior("n", information="null"), 3, n=80)
    check_same(*run_both(case, 5, 60, n_swaps=2, full=True))


# ---------------------------------------------------------------------- the joint law

SD, INTERCEPT = 0.5, 0.7
ROWS, SIZES, CLASSES = 16, [1, 2, 1], 3
DRAWS, ITERATIONS = 6000, 4


class World:
    """Draws of model, coefficients and classes by plain numpy, and chains from them (Geweke 2004).

    States after some iterations given the response have with it the joint law of those before.
    """

    def __init__(self):
        rng = np.random.default_rng(2)
        parts = columns_of(["a", "f3", "b"], ROWS, rng)
        x = np.hstack([parts[name] for name in ("a", "f3", "b")])
        self.x = (x - x.mean(axis=0)) / x.std(axis=0) + 0.3
        self.prior = Normal(SD, intercept=Normal(INTERCEPT))
        terms = terms_of(["a", "f3", "b"], SIZES)
        self.space = ModelSpace.build(terms, prior=BetaBinomial(1, 1), n_observations=float(ROWS))
        self.term = np.repeat(np.arange(3), SIZES)

    def draw(self, rng):
        """Return a model, raw coefficients (1 + D, 2) and classes."""
        gamma = np.zeros(3, dtype=np.uint8)
        gamma[rng.permutation(3)[: rng.integers(4)]] = 1
        beta = SD * rng.standard_normal((4, CLASSES - 1)) * gamma[self.term][:, None]
        beta = np.vstack([INTERCEPT * rng.standard_normal(CLASSES - 1), beta])
        eta = np.column_stack([np.zeros(ROWS), beta[0] + self.x @ beta[1:]])
        return gamma, beta, (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)

    def functions(self, gamma, beta, y):
        """Statistics of a state with its response."""
        counts = np.bincount(y, minlength=CLASSES) / ROWS
        slopes = [np.mean(self.x[:, 0] * (y == k)) for k in (1, 2)]
        flat = beta.ravel()
        return np.concatenate(
            [
                gamma,
                [gamma[0] * gamma[1]],
                flat,
                flat**2,
                beta[0] * counts[1:],
                beta[1] * slopes,
                gamma * counts[1],
            ]
        )

    def moved(self, gamma, beta, y, rng):
        """The state of a chain after some iterations given the response."""
        regression = Regression.build(
            self.x, y.astype(float), SIZES, self.prior, family=Multinomial(("u", "v", "w"))
        )
        size = CLASSES - 1
        internal = beta * np.concatenate([[1.0], regression.scale[::size]])[:, None]
        internal[0] += regression.mean[::size] @ beta[1:]
        loop = make_chain(
            regression,
            self.space,
            gamma,
            internal.ravel(),
            max_columns=regression.n_columns,
            raw_shift=regression.raw_shift,
            n_swaps=1,
        )
        loop.run(rng, ITERATIONS)
        gamma, b = loop.state()
        return gamma, regression.to_raw(b).reshape(beta.shape)


def faults(world, draws, seed, told=lambda y: y):
    """Return the functions whose means differ before and after; chains are told ``told(y)``."""
    rng = np.random.default_rng(seed)
    gaps = []
    for _ in range(draws):
        gamma, beta, y = world.draw(rng)
        # Every class occurs, as the model demands: this selects responses, whatever the state.
        if np.bincount(y, minlength=CLASSES).min() > 0:
            after = world.moved(gamma, beta, told(y), rng)
            gaps.append(world.functions(*after, y) - world.functions(gamma, beta, y))
    return mean_faults(np.array(gaps))


@pytest.mark.statistical
def test_jumps_leave_the_joint_law_alone():
    """The level is that of `mean_faults`, 1e-6."""
    assert faults(World(), DRAWS, 71) == {}


@pytest.mark.statistical
def test_a_wrong_response_is_caught():
    """Chains that take the second class for the third."""
    assert faults(World(), DRAWS // 4, 72, lambda y: np.where(y > 0, 3 - y, 0)) != {}
