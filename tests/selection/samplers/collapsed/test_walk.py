"""The walk over models: its rates, its transitions and its long run against the exact ones."""

import numpy as np
import pytest
import reference_walk
from scipy import stats
from scipy.linalg import expm

from pyrjsel.model_space import Bernoulli, Space, TruncatedPoisson, Uniform, term_blocks
from pyrjsel.selection.evidence._table_evidence import TableEvidence
from pyrjsel.selection.priors.coefficients import GPrior
from pyrjsel.selection.samplers._walk import Walk

LEVEL = 1e-6  # false-alarm rate of each statistical test
NAMES = ["a", "b", "c", "a:b"]
COSTS = {"a": 1.0, "b": 1.0, "c": 2.0}

SPACES = {
    "free": {"model_prior": Bernoulli(0.3)},
    "budget": {"costs": COSTS, "budget": 3.0, "model_prior": Uniform()},
    "strong heredity": {"heredity": "strong"},
    "weak heredity, size": {"heredity": "weak", "max_size": 2, "model_prior": TruncatedPoisson(1.5)},
    "always": {"always": ("b",), "max_size": 3},
}
# Rates of slot moves; the last is so high that hardly anything else happens.
SLOTS = (0.0, 1.5, 60.0)
# Constraints with families, and the terms.
INHERITING = {
    "strong": ({"heredity": "strong"}, NAMES),
    "strong, three variables": ({"heredity": "strong"}, ["a", "b", "c", "a:b", "b:c", "a:c", "a:b:c"]),
    "weak, size": ({"heredity": "weak", "max_size": 2}, ["a", "b", "c", "a:b", "b:c"]),
    "strong, budget": (
        {"heredity": "strong", "costs": COSTS, "budget": 3.0, "always": ("c",)},
        [*NAMES, "b:c"],
    ),
}


class World:
    """A small space with marginal likelihoods at random."""

    def __init__(self, kit, which="free", names=NAMES, seed=3, spread=1.5, holes=0):
        constraints = SPACES.get(which, {})
        if which in INHERITING:
            constraints, names = INHERITING[which]
        self.space = kit.case(names, coef_prior=GPrior("n"), **constraints).space
        self.families = term_blocks(self.space)
        self.n_terms = len(names)
        self.models = np.arange(2**self.n_terms)
        self.gamma = (self.models[:, None] >> np.arange(self.n_terms) & 1).astype(np.uint8)
        rng = np.random.default_rng(seed)
        self.values = spread * rng.normal(size=self.models.size)
        # Models without a coefficient prior: those with all terms, as when columns are dependent.
        self.values[self.models.size - holes :] = -np.inf
        self.log_mass = self.values + np.asarray(self.space.log_prior(self.gamma), dtype=float)
        mass = np.exp(self.log_mass - self.log_mass.max())
        self.probability = mass / mass.sum()
        self.possible = np.flatnonzero(mass > 0)

    def walk(self, start=None, powers=(1.0,), slots=0.0, exchanges=1.0, rate=0.0):
        start = self.possible[0] if start is None else start
        gamma = self.gamma[np.broadcast_to(start, len(powers))]
        tables = [TableEvidence(self.values) for _ in powers]
        options = {"slots": slots, "exchanges": exchanges, "families": self.families, "family_rate": rate}
        return Walk(tables, Space(self.space), gamma, powers, **options)

    def number(self, gamma):
        return int(np.asarray(gamma, dtype=np.int64) @ (1 << np.arange(self.n_terms)))


def run(walk, n, time=1.0, seed=1, n_terms=4, **options):
    """Models and log masses of n periods, and the sums of the conditional probabilities."""
    words, log_mass, sums = np.zeros((n, 1), dtype=np.uint64), np.zeros(n), np.zeros((2, n_terms))
    kept = walk.run(
        np.random.default_rng(seed), n, time, words=words, log_mass=log_mass, sums=sums, **options
    )
    return words[:kept, 0].astype(np.int64), log_mass[:kept], sums


def check_transitions(found, before, matrix):
    """Chi-square of transitions counted from each state, cells of fewer than 10 expected put together."""
    statistic, freedom = 0.0, 0
    for state in np.unique(before):
        counts = np.bincount(found[before == state], minlength=len(matrix))
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


def check_pairs(world, walk, time, joint):
    """Check transitions of two replicas in so much time against the generator `joint`."""
    matrix = expm(time * joint)
    rng = np.random.default_rng(8)
    states = np.empty(60_000, dtype=np.int64)
    for i in range(states.size):
        walk.run(rng, 1, time)
        first, second = walk.gamma()
        states[i] = world.number(first) * world.models.size + world.number(second)
    check_transitions(states[1:], states[:-1], np.where(matrix > 1e-14, matrix, 0.0))


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("which", SPACES)
def test_the_process_has_detailed_balance(kit, which, slots):
    world = World(kit, which)
    free = world.space.free == 1
    for power in (1.0, 0.4):
        mass = np.where(world.probability > 0, world.probability, 0.0) ** power
        flow = mass[:, None] * reference_walk.generator(world.log_mass, free, slots, power)
        # Sums of products of numbers of order one.
        np.testing.assert_allclose(flow, flow.T, rtol=0, atol=1e-13)
        draw = mass[:, None] * expm(reference_walk.generator(world.log_mass, free, slots, power) * 0.7)
        np.testing.assert_allclose(draw, draw.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("which", INHERITING)
def test_families_have_detailed_balance(kit, which):
    world = World(kit, which)
    for power in (1.0, 0.4):
        mass = np.where(world.probability > 0, world.probability, 0.0) ** power
        flow = mass[:, None] * reference_walk.families(world.log_mass, world.families, power)
        np.testing.assert_allclose(flow, flow.T, rtol=0, atol=1e-13)
        assert np.count_nonzero(flow) > 2 * world.possible.size


@pytest.mark.parametrize("rate", [0.6, 60.0])
@pytest.mark.parametrize("which", INHERITING)
def test_transitions_of_families(kit, which, rate):
    """At the higher rate hardly anything else happens."""
    world = World(kit, which, holes=1)
    time = 0.7 if rate < 10 else 0.02
    matrix = expm(
        time * reference_walk.generator(world.log_mass, world.space.free == 1, 0.4, 1.0, world.families, rate)
    )
    walk = world.walk(slots=0.4, rate=rate)
    models, log_mass, _ = run(walk, 100_000, time, n_terms=world.n_terms)
    np.testing.assert_allclose(log_mass, world.log_mass[models], rtol=1e-13)
    check_transitions(models[1:], models[:-1], np.where(matrix > 1e-14, matrix, 0.0))
    proposed, moved = walk.counts()[0][:, 2]
    # A Poisson count of this mean: six standard deviations, 2e-9.
    assert abs(proposed - 100_000 * time * rate) < 6 * np.sqrt(100_000 * time * rate)
    assert 0 < moved < proposed


def test_transitions_of_two_replicas_with_families(kit):
    world = World(kit, "strong", holes=1)
    powers, time = (1.0, 0.4), 0.5
    joint = reference_walk.joint_generator(
        world.log_mass, world.space.free == 1, 0.3, powers, 0.6, world.families, 2.0
    )
    walk = world.walk(powers=powers, slots=0.3, exchanges=0.6, rate=2.0)
    check_pairs(world, walk, time, joint)


def test_families_of_a_space(kit):
    names = ["a", "b", "c", "d", "a:b", "a:b:c", "b:c", "a:c", "a:b:c:d"]

    def found(**constraints):
        space = kit.case(names, coef_prior=GPrior("n"), **constraints).space
        return {names[family[-1]]: [names[term] for term in family[:-1]] for family in term_blocks(space)}

    strong = found(heredity="strong")
    assert list(strong) == ["a:b", "b:c", "a:c", "a:b:c"]  # the last has 8 terms, of four variables
    assert strong["b:c"] == ["b", "c"]
    assert strong["a:b:c"] == ["a", "b", "c", "a:b", "b:c", "a:c"]
    assert found(heredity="weak")["a:b:c"] == strong["a:b:c"]
    assert found(heredity="strong", always=("a", "b"))["b:c"] == ["c"]
    assert "a:b" not in found(heredity="strong", always=("a", "b"))  # flips do
    assert found() == {}


def test_a_family_that_flips_do_not_find(kit):
    """Main effects that cost fifteen units of log mass each, and an interaction that is worth 60."""
    world = World(kit, "strong", names=NAMES)
    entering = np.array([-15.0, -15.0, -15.0, 90.0])
    world.values = world.gamma @ entering
    for rate, met in ((0.0, False), (0.5, True)):
        models, _, _ = run(world.walk(start=0, rate=rate), 200, n_terms=4)
        assert (world.number([1, 1, 0, 1]) in models) == met


def test_two_replicas_have_detailed_balance(kit):
    world = World(kit, "budget", names=["a", "b", "c"])
    powers = (1.0, 0.4)
    joint = reference_walk.joint_generator(world.log_mass, world.space.free == 1, 0.8, powers, 2.0)
    mass = np.kron(*(np.where(world.probability > 0, world.probability, 0.0) ** t for t in powers))
    draw = mass[:, None] * expm(0.7 * joint)
    np.testing.assert_allclose(draw, draw.T, rtol=0, atol=1e-12)
    assert np.ptp(draw[mass > 0][:, mass > 0]) > 0.01


@pytest.mark.parametrize("holes", [0, 3])
@pytest.mark.parametrize("which", SPACES)
def test_rates_and_conditional_probabilities_at_every_model(kit, which, holes):
    world = World(kit, which, holes=holes)
    bits = 1 << np.arange(world.n_terms)
    for power in (1.0, 0.35):
        rates = reference_walk.flips(world.log_mass, power)
        for model in world.possible:
            # The first replica is the cold one; the second has the power.
            walk = world.walk(model, powers=(1.0, power))
            np.testing.assert_allclose(walk.rates(1), rates[model, model ^ bits], rtol=1e-13, atol=1e-300)
            both = world.probability[model | bits] + world.probability[model & ~bits]
            for found, one in zip(walk.conditionals(), (model | bits, model & ~bits), strict=True):
                np.testing.assert_allclose(found, world.probability[one] / both, rtol=1e-12, atol=1e-300)
            np.testing.assert_allclose(walk.log_mass(), world.log_mass[model], rtol=1e-13)


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("which", SPACES)
def test_transitions_of_a_draw(kit, which, slots):
    world = World(kit, which, holes=1)
    time = 0.7 if slots < 10 else 0.02
    matrix = expm(time * reference_walk.generator(world.log_mass, world.space.free == 1, slots))
    models, log_mass, _ = run(world.walk(slots=slots), 200_000, time)
    np.testing.assert_allclose(log_mass, world.log_mass[models], rtol=1e-13)
    check_transitions(models[1:], models[:-1], np.where(matrix > 1e-14, matrix, 0.0))


@pytest.mark.parametrize(("slots", "exchanges"), [(0.0, 1.0), (1.2, 0.6), (0.0, 40.0)])
def test_transitions_of_two_replicas(kit, slots, exchanges):
    world = World(kit, "budget", names=["a", "b", "c"], holes=1)
    powers, time = (1.0, 0.4), 0.5 if exchanges < 10 else 0.05
    free = world.space.free == 1
    joint = reference_walk.joint_generator(world.log_mass, free, slots, powers, exchanges)
    walk = world.walk(powers=powers, slots=slots, exchanges=exchanges)
    check_pairs(world, walk, time, joint)
    assert walk.powers().tolist() == [1.0, 0.4]


def far(estimates, truth, draws, batches=60):
    """p-value of the largest z-score of means over (draws, k), by batch means; Bonferroni."""
    means = estimates[draws % batches :].reshape(batches, -1, estimates.shape[1]).mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(batches)
    assert np.all(error > 0)
    z = np.abs(means.mean(axis=0) - truth) / error
    return estimates.shape[1] * 2 * stats.t.sf(z.max(), batches - 1)


@pytest.mark.parametrize("powers", [(1.0,), (1.0, 0.5, 0.2)])
@pytest.mark.parametrize("which", SPACES)
def test_the_long_run_is_the_posterior(kit, which, powers):
    names = ["a", "b", "c", "d", "a:b", "b:c"] if "heredity" in which else ["a", "b", "c", "d", "e", "g"]
    world = World(kit, which, names=names, spread=1.2, seed=5) if which != "budget" else World(kit, which)
    n, j = 60_000, world.n_terms
    walk = world.walk(powers=powers, slots=0.5)
    rng = np.random.default_rng(4)
    words, log_mass, sums = np.zeros((n, 1), dtype=np.uint64), np.zeros(n), np.zeros((60, 2, j))
    length = n // 60
    for batch in range(60):
        part = slice(batch * length, (batch + 1) * length)
        walk.run(rng, length, 1.5, words=words[part], log_mass=log_mass[part], sums=sums[batch])
    models = words[:, 0].astype(np.int64)
    assert world.possible.size > 4
    assert set(models) == set(world.possible)
    some = np.argsort(-world.probability)[: min(12, world.possible.size)]
    seen = (models[:, None] == some).astype(float)
    assert far(seen, world.probability[some], n) > LEVEL
    # Averages of conditional probabilities have the inclusion probabilities as their means, and beat visits.
    inclusion = world.probability @ world.gamma
    free = (world.space.free == 1) & (inclusion > 1e-9)
    np.testing.assert_allclose(sums.sum(axis=1), 1.5 * length, rtol=1e-9)
    averages = sums[:, 0] / (1.5 * length)
    assert far(averages[:, free], inclusion[free], 60) > LEVEL
    np.testing.assert_allclose(averages[:, ~(world.space.free == 1)], 1.0, rtol=1e-9)
    visits = world.gamma[models].reshape(60, length, j).mean(axis=1)
    assert np.all(averages[:, free].std(axis=0) < visits[:, free].std(axis=0))


def test_an_embedded_chain_would_be_seen(kit):
    """The law of the models just after events is not the posterior; these tests would tell."""
    world = World(kit, "free")
    rates = reference_walk.flips(world.log_mass).sum(axis=1)
    embedded = world.probability * rates
    embedded /= embedded.sum()
    assert np.abs(embedded - world.probability).max() > 0.02


def test_blocks_and_written_states_do_not_matter(kit):
    world = World(kit, "budget")
    options = {"powers": (1.0, 0.6, 0.3), "slots": 1.0}
    whole = run(world.walk(**options), 90)[0]
    walk, rng, parts = world.walk(**options), np.random.default_rng(1), []
    for n in (1, 40, 9, 40):
        words, log_mass = np.zeros((n, 1), dtype=np.uint64), np.zeros(n)
        walk.run(rng, n, 1.0, words=words, log_mass=log_mass)
        parts.append(words[:, 0].astype(np.int64))
        # A walk made of the written state, and the generator's, goes on to the same draws.
        moves, exchanged = walk.counts()
        walk = Walk(
            [TableEvidence(world.values) for _ in range(3)],
            Space(world.space),
            walk.gamma(),
            walk.powers(),
            slots=1.0,
        )
        walk.set_counts(moves, exchanged)
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    other = world.walk(**options)
    run(other, 90)
    for one, two in zip(walk.counts(), other.counts(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert other.counts()[1][0].sum() > 100
    assert np.all(other.counts()[1][1] <= other.counts()[1][0])


def test_thinning_keeps_every_nth(kit):
    world = World(kit)
    whole = run(world.walk(), 50)[0]
    thinned = run(world.walk(), 50, thin=4, done=3)[0]
    np.testing.assert_array_equal(thinned, whole[0::4])


def test_spaces_at_the_edge(kit):
    # No term at all, one term, and none that is free.
    empty = World(kit, names=[])
    models, log_mass, sums = run(empty.walk(slots=2.0, powers=(1.0, 0.5)), 5, n_terms=0)
    assert models.tolist() == [0] * 5
    assert log_mass.tolist() == [empty.log_mass[0]] * 5
    one = World(kit, names=["a"])
    models, _, sums = run(one.walk(slots=1.0), 40_000, n_terms=1)
    assert far((models[:, None] == 1).astype(float), one.probability[1:], 40_000) > LEVEL
    assert sums[0, 0] / 40_000 == pytest.approx(one.probability[1], rel=1e-9)  # whatever the state is
    fixed = kit.case(["a", "b"], coef_prior=GPrior("n"), always=("a", "b")).space
    walk = Walk([TableEvidence(np.zeros(4))], Space(fixed), np.ones((1, 2)), [1.0], slots=3.0)
    assert set(run(walk, 20, n_terms=2)[0]) == {3}
    assert walk.rates().tolist() == [0.0, 0.0]


def test_what_does_not_fit_is_refused(kit):
    world = World(kit, holes=1)
    space, table = Space(world.space), TableEvidence(world.values)
    start = np.zeros((1, 4), dtype=np.uint8)
    for faulty in (
        lambda: Walk([], space, start, [1.0]),
        lambda: Walk([table, table], space, np.zeros((2, 4)), [1.0, 0.5]),
        lambda: Walk([TableEvidence(np.zeros(8))], space, start, [1.0]),
        lambda: Walk([table], space, np.zeros((1, 3)), [1.0]),
        lambda: Walk([table], space, start, [0.5]),
        lambda: Walk([table], space, start, [1.0], slots=-1.0),
        lambda: Walk([table], space, start, [1.0], families=[np.arange(2)], family_rate=-1.0),
        lambda: Walk([table], space, start, [1.0], families=[np.arange(0)]),
        lambda: Walk([table], space, start, [1.0], families=[np.zeros(8, dtype=int)]),
        lambda: Walk([table], space, np.ones((1, 4)), [1.0]),
        lambda: TableEvidence(np.zeros(3)),
        lambda: world.walk().run(np.random.default_rng(1), 1, 0.0),
        lambda: world.walk().run(np.random.default_rng(1), 1, 1.0, sums=np.zeros(3)),
    ):
        with pytest.raises(ValueError, match=r".+"):
            faulty()
