"""The sweep over models as a transition matrix: invariance, and the compiled loop held against it."""

from itertools import product

import numpy as np
import pytest
import reference_walk
from scipy import stats

from pyrjsel.model_space import Bernoulli, CostAdjusted, Space, TruncatedPoisson, Uniform
from pyrjsel.selection.evidence._table_evidence import TableEvidence
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.samplers.gibbs._gibbs import Gibbs

LEVEL = 1e-6  # false-alarm rate of each statistical test
NAMES = ["a", "b", "c", "a:b"]
COSTS = {"a": 1.0, "b": 1.0, "c": 2.0}
SPACES = {
    "free": {"model_prior": Bernoulli(0.3)},
    "budget": {"costs": COSTS, "budget": 3.0, "model_prior": Uniform()},
    "costs": {"model_prior": CostAdjusted({"a": 1.0, "b": 1.2, "c": 1.1, "a:b": 1.0})},
    "strong heredity": {"heredity": "strong"},
    "weak heredity, size": {
        "heredity": "weak",
        "max_size": 2,
        "model_prior": TruncatedPoisson(1.5, by="size"),
    },
    "always": {"always": ("b",), "max_size": 3},
}


class World:
    """A small space with marginal likelihoods at random; bit j of a model's number is term j."""

    def __init__(self, linear_kit, which, holes=0):
        space = linear_kit.case((1, 1, 1, 1), GPrior("n"), names=NAMES, **SPACES[which]).space
        self.space, self.free = space, space.free == 1
        self.gamma = np.array([row[::-1] for row in product((0, 1), repeat=4)], dtype=np.uint8)
        self.values = 1.5 * np.random.default_rng(3).normal(size=16)
        # Models without a coefficient prior: those with all terms, as when columns are dependent.
        self.values[16 - holes :] = -np.inf
        self.log_mass = self.values + np.asarray(space.log_prior(self.gamma), dtype=float)
        mass = np.exp(self.log_mass - self.log_mass.max())
        self.probability = mass / mass.sum()
        self.possible = np.flatnonzero(mass > 0)

    def update(self, j):
        """The matrix of drawing term j from its full conditional."""
        matrix, models = np.zeros((16, 16)), np.arange(16)
        for model in self.possible:
            pair = self.probability[[model, model ^ (1 << j)]]
            matrix[model, [model, model ^ (1 << j)]] = pair / pair.sum() if self.free[j] else (1.0, 0.0)
        assert np.all(matrix[models[self.probability == 0]] == 0)
        return matrix

    def sweep(self, slots):
        matrix = np.eye(16)
        for j in range(4):
            matrix = matrix @ self.update(j)
        return matrix @ np.linalg.matrix_power(reference_walk.slots(self.log_mass, self.free), slots)

    def chain(self, start, slots):
        return Gibbs(TableEvidence(self.values), Space(self.space), self.gamma[start], 1.0, slots=slots)


def run(chain, n, seed):
    words, log_posterior = np.zeros((n, 1), dtype=np.uint64), np.zeros(n)
    averages = np.zeros((2, 4))
    chain.run(np.random.default_rng(seed), n, words=words, log_posterior=log_posterior, averages=averages)
    return words[:, 0].astype(np.int64), log_posterior, averages


@pytest.mark.parametrize("holes", [0, 3])
@pytest.mark.parametrize("which", SPACES)
def test_updates_are_reversible_and_sweeps_leave_the_posterior_alone(linear_kit, which, holes):
    world = World(linear_kit, which, holes)
    slot = reference_walk.slots(world.log_mass, world.free)
    for matrix in [*(world.update(j) for j in range(4)), slot]:
        flow = world.probability[:, None] * matrix
        # Sums of products of numbers of order one.
        np.testing.assert_allclose(flow, flow.T, rtol=0, atol=1e-15)
    for slots in (0, 2):
        np.testing.assert_allclose(world.probability @ world.sweep(slots), world.probability, atol=1e-14)


@pytest.mark.parametrize("slots", [0, 2])
@pytest.mark.parametrize("which", SPACES)
def test_transitions_are_those_of_the_matrix(linear_kit, which, slots):
    """Chi-square of transitions counted from each state, cells of fewer than 10 expected put together."""
    world = World(linear_kit, which)
    matrix, start = world.sweep(slots), world.possible[0]
    found, log_posterior, averages = run(world.chain(start, slots), 60_000, seed=5)
    before = np.concatenate([[start], found[:-1]])
    statistic, freedom = 0.0, 0
    for state in np.unique(before):
        counts = np.bincount(found[before == state], minlength=16)
        assert np.all(counts[matrix[state] == 0] == 0)
        expected = counts.sum() * matrix[state]
        small = expected < 10
        cells = [*zip(counts[~small], expected[~small], strict=True)]
        if expected[small].sum() >= 10:
            cells.append((counts[small].sum(), expected[small].sum()))
        statistic += sum((n - e) ** 2 / e for n, e in cells)
        freedom += len(cells) - 1
    assert freedom > 5
    assert stats.chi2.sf(statistic, freedom) > LEVEL
    np.testing.assert_allclose(log_posterior, world.log_mass[found], rtol=1e-12)
    # Probabilities given the others, those of presence and absence.
    inclusion = world.probability @ world.gamma
    for mean, want in zip(averages / len(found), (inclusion, 1 - inclusion), strict=True):
        # Correlations of conditional probabilities along the chain are below 0.9: errors below
        # sqrt(19 / 60,000) / 2 = 0.009, and 5.5 of them happen with a chance of 4e-8.
        np.testing.assert_allclose(mean, want, atol=0.05)


def test_a_binding_budget_does_not_freeze_the_chain(linear_kit):
    """At a budget for one term, sweeps pass through the empty model, which has next to no mass."""
    case = linear_kit.case(
        (1, 1, 1), GPrior("n"), names=["a", "b", "c"], costs={"a": 1, "b": 1, "c": 1}, budget=1.0
    )
    values = np.full(8, -40.0)
    values[[1, 2, 4]] = (0.0, 0.5, 1.0)
    mass = np.exp(values[[1, 2, 4]])
    start = np.array([1, 0, 0], dtype=np.uint8)
    for slots, moves in ((0, False), (1, True)):
        chain = Gibbs(TableEvidence(values), Space(case.space), start, 1.0, slots=slots)
        words, log_posterior = np.zeros((20_000, 1), dtype=np.uint64), np.zeros(20_000)
        chain.run(np.random.default_rng(1), 20_000, words=words, log_posterior=log_posterior)
        shares = np.bincount(words[:, 0].astype(np.int64), minlength=8)[[1, 2, 4]] / 20_000
        if moves:
            # Slots are drawn independently: 5 standard errors of a share of 20,000, 6e-7 each.
            np.testing.assert_allclose(shares, mass / mass.sum(), atol=5 * 0.5 / np.sqrt(20_000))
        else:
            np.testing.assert_array_equal(shares, [1.0, 0.0, 0.0])


@pytest.mark.parametrize("bad", [{"variance": 0.0}, {"variance": np.inf}, {"slots": -1}])
def test_states_that_cannot_be(linear_kit, bad):
    world = World(linear_kit, "free")
    arguments = {"variance": 1.0, "slots": 0, **bad}
    with pytest.raises(ValueError, match="variance must be positive"):
        Gibbs(
            TableEvidence(world.values), Space(world.space), world.gamma[0], arguments["variance"],
            slots=arguments["slots"],
        )  # fmt: skip


def test_models_without_a_prior_are_no_start(linear_kit):
    world = World(linear_kit, "free", holes=3)
    with pytest.raises(ValueError, match="no coefficient prior"):
        world.chain(15, 0)
