"""One exact test of the whole transition: it must leave the joint law of parameters and data alone.

Draw a model, coefficients and a response from the prior, start the chain there, let it run for a few
iterations given that response. If the transition leaves every posterior invariant, the state afterwards is
distributed with the response as the one before, whatever the number of iterations: there is no burn-in, no
convergence and no autocorrelation. Every function of state and response has the same mean before and after;
the state alone follows the prior. Levels are 1e-6 a test.
"""

import numpy as np
import pytest
from scipy import stats
from selection_checks import LEVEL, Scenario, holm
from selection_world import World, bad_surrogate, without_correction
from turns import every

from pyrjsel.selection.samplers.reversible_jump.surrogate_jumps import SurrogateJumps

COSTS = {"stage": 2.0, "age": 1.0, "bp": 1.5, "smoke": 1.0}
SCENARIOS = [
    Scenario("ward", "g joint", ("betabinomial", 1.0, 1.0), {"costs": COSTS, "budget": 3.0}),
    Scenario("ward", "n normal", ("poisson", 1.5), {"heredity": "weak"}),
    Scenario("ward", "raw", ("uniform",), {"heredity": "strong", "max_size": 4}),
    Scenario("ward offset", "standard shifted", ("bernoulli", 0.4), {"always": ("bp",)}),
    Scenario("cells", "n joint", ("uniform",)),
    Scenario("short", "standard", ("betabinomial", 2.0, 3.0)),
    Scenario("visits", "g joint", ("betabinomial", 1.0, 1.0), {"costs": COSTS, "budget": 3.0}),
    Scenario("visits offset", "standard shifted", ("bernoulli", 0.4), {"always": ("bp",)}),
    Scenario("sheets", "n joint", ("uniform",)),
]
FAST, LONG, ITERATIONS = 800, 12_000, 6


def faults(world, count, seed, iterations=ITERATIONS, walk=World.walk):
    """Return what the transition moves: differences in mean, frequencies of models, radii."""
    rng = np.random.default_rng(seed)
    differences, after, radius = [], [], []
    for _ in range(count):
        row, beta, y = world.simulate(rng)
        new_row, new_beta = walk(world, row, beta, y, rng, iterations)
        differences.append(world.statistics(new_row, new_beta, y) - world.statistics(row, beta, y))
        after.append(new_row)
        radius.append(world.white(new_row, new_beta))
    differences = np.array(differences)
    moved = differences.std(axis=0, ddof=1) > 0
    z = differences.mean(axis=0)[moved] / (differences.std(axis=0, ddof=1)[moved] / np.sqrt(count))
    p = list(2 * stats.norm.sf(np.abs(z)))
    names = [f"mean {k}" for k in np.flatnonzero(moved)]
    # Models of less than ten expected draws are put together.
    visits = np.bincount(after, minlength=world.probability.size).astype(float)
    expected = count * world.probability
    common = expected >= 10
    cells = np.column_stack([visits[common], expected[common]])
    rest = [visits[~common].sum(), expected[~common].sum()]
    if rest[1] >= 10:
        cells = np.vstack([cells, rest])
    p.append(stats.chi2.sf(((cells[:, 0] - cells[:, 1]) ** 2 / cells[:, 1]).sum(), len(cells) - 1))
    p.append(stats.kstest(radius, "uniform").pvalue)
    return holm(np.array(p), [*names, "models", "radius"], LEVEL)


@pytest.mark.parametrize("scenario", every(3, SCENARIOS), ids=str)
def test_the_transition_leaves_the_joint_law_alone(scenario):
    assert faults(World(scenario), FAST, seed=51) == {}


@pytest.mark.parametrize("scenario", every(2, [SCENARIOS[0], SCENARIOS[3]], 1), ids=str)
def test_so_it_does_with_fixed_proposals(scenario):
    assert faults(World(scenario, proposal="full"), FAST, seed=52) == {}


@pytest.mark.statistical
@pytest.mark.parametrize("proposal", ["conditional", "full"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_transition_leaves_the_joint_law_alone_at_length(scenario, proposal):
    """Fifteen times the draws; level 1e-6 each."""
    assert faults(World(scenario, proposal), LONG, seed=53) == {}


@pytest.mark.statistical
@pytest.mark.parametrize("scenario", SCENARIOS[:2], ids=str)
def test_many_iterations_change_nothing_either(scenario):
    assert faults(World(scenario), 2000, seed=54, iterations=150) == {}


@pytest.mark.parametrize(("part", "by"), every(3, [("precision", 1.5), ("sizes", 0.5), ("offset", 0.3)]))
def test_a_wrong_transition_is_caught(part, by):
    """A prior variance off by a third, odds of one more term by a factor of 1.65, a shifted predictor."""
    assert faults(World(SCENARIOS[0], fault=(part, by)), 2 * FAST, seed=55) != {}


# ---------------------------------------------------------------------- surrogate jumps


@pytest.mark.parametrize("scenario", every(3, [SCENARIOS[k] for k in (0, 3, 6)], 1), ids=str)
def test_surrogate_jumps_leave_the_joint_law_alone(scenario):
    """Alone, with two pairs of draws and a surrogate far from the posterior; level 1e-6 each."""
    assert faults(World(scenario), FAST, seed=61, iterations=3, walk=World.walk_surrogate) == {}


@pytest.mark.statistical
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_surrogate_jumps_leave_the_joint_law_alone_at_length(scenario):
    """Fifteen times the draws; level 1e-6 each."""
    assert faults(World(scenario), LONG, seed=62, iterations=3, walk=World.walk_surrogate) == {}


def _without_correction(jumps, gamma, place=SurrogateJumps.place):
    return None if place(jumps, gamma) is None else float(jumps.walk.log_evidence()[0])


def _without_surrogate(jumps, gamma, place=SurrogateJumps.place):
    return None if place(jumps, gamma) is None else 0.0


def _with_new_draws_alone(jumps, rng, gamma, mode, b, draws=SurrogateJumps.draws):
    return draws(jumps, rng, gamma, mode, None)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "wrong", "scenario", "iterations"),
    [
        ("place", _without_correction, SCENARIOS[0], 3),
        ("place", _without_surrogate, SCENARIOS[0], 3),
        ("draws", _with_new_draws_alone, SCENARIOS[5], 12),
    ],
    ids=["correction", "surrogate", "draws"],
)
def test_wrong_surrogate_jumps_are_caught(monkeypatch, name, wrong, scenario, iterations):
    """The correction or the surrogate left out of the acceptance probability; the present coefficients not
    among the draws of their model, which moves skewed posteriors alone.
    """
    monkeypatch.setattr(SurrogateJumps, name, wrong)
    moved = faults(World(scenario), 3 * FAST, seed=61, iterations=iterations, walk=World.walk_surrogate)
    assert moved != {}


# ---------------------------------------------------------------------- populations


@pytest.mark.statistical
@pytest.mark.parametrize("scenario", [SCENARIOS[k] for k in (0, 1, 3, 6, 7)], ids=str)
def test_populations_leave_the_joint_law_alone(scenario):
    """Exchanges with chains that follow powers of the posterior: chain 0 does not notice; level 1e-6 each."""
    assert faults(World(scenario), 3000, seed=57, walk=World.walk_population) == {}


# ---------------------------------------------------------------------- walks over models alone


WALKS = [SCENARIOS[k] for k in (0, 1, 4, 6, 7)]


@pytest.mark.statistical
@pytest.mark.parametrize("scenario", WALKS, ids=str)
def test_corrected_walks_leave_the_joint_law_alone(scenario):
    """`collapsed`: periods of the chain, then coefficients given the model; level 1e-6 each."""
    assert faults(World(scenario), 4000, seed=56, iterations=3, walk=World.walk_collapsed) == {}


@pytest.mark.statistical
@pytest.mark.parametrize("corrected", [True, False])
def test_walks_on_a_bad_surrogate_need_the_correction(monkeypatch, corrected):
    bad_surrogate(monkeypatch, 0.3)
    if not corrected:
        without_correction(monkeypatch)
    moved = faults(World(WALKS[0]), 1500, seed=58, iterations=3, walk=World.walk_collapsed)
    assert (moved == {}) == corrected
