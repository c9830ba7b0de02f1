"""Families and trades: the loop against its twin, and detailed balance over all paths of tiny spaces."""

from itertools import permutations, product

import numpy as np
import pytest
import reference_blocks
import reference_jumps as reference
from balance_oracle import Oracle, models, random_b
from turns import every

from pyrjsel.model_space import Bernoulli, Uniform, term_blocks, unpack
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import full_model_proposal, make_chain

TREE = ["a", "b", "c", "a:b", "b:c"]
DEAR = {"a": 3, "b": 1, "c": 1, "d": 2, "f3": 1}
# Spaces with all kinds of bounds, where a term may cost as much as three others.
SPACES = {
    "budget": (["a", "b", "c", "d", "f3"], {"costs": DEAR, "budget": 3}),
    "budget, always": (["a", "b", "c", "d", "f3"], {"costs": DEAR, "budget": 4, "always": ["b"]}),
    "largest size": (["a", "b", "f3", "c"], {"max_size": 2}),
    "strong": (TREE, {"heredity": "strong", "costs": {"a": 2, "b": 1, "c": 1}, "budget": 2}),
    "strong, size": (["a", "b", "c", "d", "a:b"], {"heredity": "strong", "max_size": 3}),
    "strong, always": (TREE, {"heredity": "strong", "max_size": 3, "always": ["b"]}),
    "weak": (TREE, {"heredity": "weak", "costs": {"a": 2, "b": 1, "c": 1}, "budget": 3, "max_size": 3}),
    "dependent": (["a", "a+b", "b", "d"], {"costs": {"a": 1, "a+b": 1, "b": 1, "d": 2}, "budget": 3}),
}
# Half of the spaces with each family, some with both.
PAIRS = [(space, ("binomial", "poisson")[k % 2]) for k, space in enumerate(SPACES)]
PAIRS += [("budget", "poisson"), ("strong", "binomial"), ("weak", "poisson")]
# Both sides are sums of some hundred terms of size one; matrices have condition numbers up to 1e4.
TOLERANCE = 1e-8


def blocks_of(case, fixed=None, trades=0, family_moves=0, entry=None):
    transition = reference.Transition(case.regression, case.space, 1, fixed)
    return reference_blocks.Blocks(transition, term_blocks(case.space), trades, family_moves, entry)


def loop_of(case, state, fixed=None, t=1.0, trades=0, family_moves=0, swaps=1, entry=None):
    mean, factor = fixed or (None, None)
    loop = make_chain(
        case.regression,
        case.space, state.gamma, state.b, max_columns=case.regression.widest(case.space.max_size),
        raw_shift=case.regression.raw_shift, n_swaps=swaps, fixed_mean=mean, fixed_factor=factor,
        n_trades=trades, n_family_moves=family_moves, families=term_blocks(case.space), entry=entry,
    )  # fmt: skip
    loop.set_temperature(t)
    return loop


def pattern_of(unit, gamma):
    return int(sum(int(gamma[i]) << at for at, i in enumerate(unit)))


def paths(blocks, gamma, j, model, inward):
    """All paths of a trade, from the definition of the bounds alone."""
    space, unit = blocks.space, blocks.unit(j)
    moved = gamma ^ model
    begin = gamma if inward else gamma & ~moved  # without the moved terms of the unit
    beside = [i for i in np.flatnonzero((space.free == 1) & (begin == inward)) if i not in unit]
    for length in range(1, len(beside) + 1):
        for path in permutations(beside, length):
            steps = [begin.copy()]
            for i in path:
                steps.append(steps[-1].copy())
                steps[-1][i] ^= 1
            order = steps if inward else steps[::-1]  # from the larger model to the smaller one
            if not all(space.feasible(step) for step in steps):
                continue
            # Beside the unit each of these breaks a bound but for the last.
            if all(blocks.breaks(step | moved) for step in order[:-1]) and space.feasible(order[-1] | moved):
                yield list(path)


def trades_of(blocks, gamma):
    """All trades from a model: direction, term, model with or without it, path."""
    for inward in (True, False):
        for j in np.flatnonzero((blocks.space.free == 1) & (gamma != inward)):
            for model in blocks.sets(gamma, int(j), inward):
                yield inward, int(j), model, list(paths(blocks, gamma, int(j), model, inward))


def states(case, rng):
    oracle = Oracle(case)
    for gamma in models(case):
        b = random_b(oracle, gamma, rng)
        if oracle.log_target(gamma, b) > -np.inf:
            yield reference.State(gamma, b)


def check_trades(case, rng, fixed=None, t=1.0, entry=None):
    """Check every trade from every model; how many there are."""
    blocks, oracle, seen = blocks_of(case, fixed, entry=entry), Oracle(case), 0
    for state in states(case, rng):
        loop = loop_of(case, state, fixed, t, entry=entry)
        for inward, j, model, found in trades_of(blocks, state.gamma):
            moved, unit = model ^ state.gamma, blocks.unit(j)
            for path in found:
                enter = [int(i) for i in unit if moved[i]] if inward else path
                gamma = model.copy()
                gamma[path] ^= 1
                if not blocks.transition.has_prior(gamma):
                    continue
                values = random_b(oracle, gamma, rng)[blocks.columns(enter)]
                terms = np.array(path, dtype=np.intc)
                forth = loop.block_ratio("in" if inward else "out", j, pattern_of(unit, model), terms, values)
                if t == 1.0:
                    propose = blocks.trade_in if inward else blocks.trade_out
                    choose = reference_blocks.Given(path)
                    _, want = propose(state, j, model, choose, reference_blocks.Fixed(values))
                    assert forth == pytest.approx(want, abs=TOLERANCE, rel=1e-10)
                new = blocks.with_terms(
                    blocks.without(state, np.flatnonzero(state.gamma > gamma)), enter, values
                )
                np.testing.assert_array_equal(new.gamma, gamma)
                left = [int(i) for i in unit if moved[i]] if not inward else path[::-1]
                back = loop_of(case, new, fixed, t, entry=entry).block_ratio(
                    "out" if inward else "in", j, pattern_of(unit, gamma ^ moved),
                    terms[::-1].copy(), state.b[blocks.columns(left)],
                )  # fmt: skip
                assert back == pytest.approx(-forth, abs=TOLERANCE, rel=1e-10), (state.gamma, j, path)
                seen += 1
    return seen


@pytest.mark.parametrize(("space", "likelihood"), every(2, PAIRS))
def test_trades_have_detailed_balance(kit, space, likelihood):
    names, options = SPACES[space]
    prior = GPrior("n") if len(space) % 2 or space == "dependent" else Normal(0.8)
    case = kit.case(names, n=25, seed=8, coef_prior=prior, weighted=True, family=likelihood, **options)
    assert check_trades(case, np.random.default_rng(9)) >= 10


def weights_of(case):
    """Weights of the terms that trades bring in, far from all the same."""
    return np.random.default_rng(6).gamma(0.5, size=case.space.n_terms) + 0.05


@pytest.mark.parametrize("space", ["budget, always", "strong", "weak"])
def test_trades_by_weights_have_detailed_balance(kit, space):
    names, options = SPACES[space]
    case = kit.case(names, n=25, seed=8, coef_prior=Normal(0.8), **options)
    assert check_trades(case, np.random.default_rng(9), entry=weights_of(case)) >= 10


@pytest.mark.parametrize("t", [0.4, 1.7])
def test_tempered_trades_have_detailed_balance(kit, t):
    names, options = SPACES["strong"]
    case = kit.case(names, n=25, seed=8, coef_prior=Normal(0.8), **options)
    assert check_trades(case, np.random.default_rng(9), t=t) >= 10


def test_trades_with_fixed_proposals_have_detailed_balance(kit):
    names, options = SPACES["budget"]
    case = kit.case(names, n=60, seed=8, coef_prior=GPrior("n"), **options)
    assert check_trades(case, np.random.default_rng(9), full_model_proposal(case.regression)) >= 10


@pytest.mark.parametrize("space", SPACES)
def test_probabilities_of_paths_sum_to_one(kit, space):
    names, options = SPACES[space]
    case = kit.case(names, n=25, seed=8, coef_prior=Normal(0.8), **options)
    blocks, sums = blocks_of(case), []
    for state in states(case, np.random.default_rng(3)):
        for inward, j, model, found in trades_of(blocks, state.gamma):
            moved = model ^ state.gamma
            total = 0.0
            for path in found:
                choose = reference_blocks.Given(path)
                if inward:
                    taken = blocks.leave_path(state, j, moved, choose)
                else:
                    middle = blocks.without(state, np.flatnonzero(moved))
                    taken = blocks.enter_path(middle, j, moved, choose)
                total += np.exp(taken[0])
            sums.append(total)
    # With a path there is one to the end from everywhere on the way; without one there is none.
    assert np.all((np.abs(np.array(sums) - 1) < 1e-10) | (np.array(sums) == 0))
    assert np.sum(sums) > 5


@pytest.mark.parametrize(
    ("heredity", "bound", "likelihood"),
    [
        ("strong", {}, "binomial"),
        ("strong", {"always": ["b"]}, "poisson"),
        ("weak", {"max_size": 3}, "poisson"),
    ],
)
def test_families_have_detailed_balance(kit, heredity, bound, likelihood):
    case = kit.case(TREE, n=25, seed=8, coef_prior=GPrior("n"), heredity=heredity, family=likelihood, **bound)
    blocks, oracle, rng, seen = blocks_of(case), Oracle(case), np.random.default_rng(4), 0
    for state, t in product(states(case, rng), (1.0, 0.5)):
        for f, unit in enumerate(sorted(blocks.families, key=lambda terms: terms[-1])):
            for model in blocks.parts(state.gamma, unit):
                if (model == state.gamma).all() or not case.space.feasible(model):
                    continue
                enter = [int(i) for i in unit if model[i] > state.gamma[i]]
                leave = [int(i) for i in unit if model[i] < state.gamma[i]]
                values = random_b(oracle, model, rng)[blocks.columns(enter)]
                new, want = blocks.family(state, model, reference_blocks.Fixed(values))
                forth = loop_of(case, state, t=t).block_ratio(
                    "family", f, pattern_of(unit, model), block=values
                )
                back = loop_of(case, new, t=t).block_ratio(
                    "family", f, pattern_of(unit, state.gamma), block=state.b[blocks.columns(leave)]
                )
                if t == 1.0:
                    assert forth == pytest.approx(want, abs=TOLERANCE, rel=1e-10)
                assert back == pytest.approx(-forth, abs=TOLERANCE, rel=1e-10)
                seen += 1
    assert seen >= 10


def run_both(case, seed, iterations, fixed=None, trades=4, family_moves=3, entry=None):
    """Draws of the loop and of its twin from the same seed, with counts of moves and states of generators."""
    gamma = case.space.empty_model()
    state = reference.State(
        gamma, MarginalLikelihood(case.regression, b"", 2, case.regression.n_columns).mode(gamma)
    )
    loop = loop_of(case, state, fixed, trades=trades, family_moves=family_moves, entry=entry)
    words, rng = np.zeros((iterations, 1), dtype=np.uint64), np.random.default_rng(seed)
    draws = np.empty((iterations, case.regression.n_columns))
    loop.run(
        rng, iterations, words=words, log_posterior=np.empty(iterations), coefficients=draws,
        sums=np.zeros((4, case.regression.n_columns)),
    )  # fmt: skip
    blocks, twin_rng = blocks_of(case, fixed, trades, family_moves, entry), np.random.default_rng(seed)
    kept, moves = [], []
    for _ in range(iterations):
        state, made = reference_blocks.step(blocks, state, twin_rng)
        kept.append(state)
        moves.extend(made)
    np.testing.assert_array_equal(unpack(words, case.space.n_terms), [state.gamma for state in kept])
    # Newton steps of several columns lose a digit more than those of a flip.
    np.testing.assert_allclose(draws, [state.b for state in kept], rtol=0, atol=1e-8)
    assert rng.bit_generator.state == twin_rng.bit_generator.state
    return loop.counts(), moves


@pytest.mark.parametrize(("space", "likelihood"), every(2, PAIRS, 1))
def test_same_draws(kit, space, likelihood):
    names, options = SPACES[space]
    case = kit.case(names, n=30, seed=3, signal=0.4, coef_prior=GPrior("n"), family=likelihood, **options)
    counts, moves = run_both(case, 17, 40)
    for at, name in ((4, "trade"), (5, "block")):
        made = [move for move in moves if move.name == name]
        np.testing.assert_array_equal(counts[:, at], [len(made), sum(move.accepted for move in made)])
    assert counts[1, 4] > 0


@pytest.mark.parametrize("space", ["budget", "strong", "weak"])
def test_same_draws_by_weights(kit, space):
    names, options = SPACES[space]
    case = kit.case(names, n=30, seed=3, signal=0.4, coef_prior=GPrior("n"), **options)
    counts, _ = run_both(case, 17, 40, entry=weights_of(case))
    assert counts[1, 4] > 0


def test_chances_of_what_comes_in_sum_to_one(kit):
    names, options = SPACES["budget"]
    case = kit.case(names, n=25, seed=8, coef_prior=Normal(0.8), **options)
    blocks = blocks_of(case, entry=weights_of(case))
    for state in states(case, np.random.default_rng(3)):
        outside = np.flatnonzero(state.gamma == 0)
        total = sum(np.exp(blocks.log_entry(state.gamma, j)) for j in outside)
        assert not outside.size or total == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("entry", [[1.0], [1.0, 0.0, 1.0, 1.0, 1.0], [1.0, np.nan, 1.0, 1.0, 1.0]])
def test_weights_that_make_no_sense(kit, entry):
    names, options = SPACES["budget"]
    case = kit.case(names, n=25, seed=8, coef_prior=Normal(0.8), **options)
    state = next(states(case, np.random.default_rng(3)))
    with pytest.raises(ValueError, match="entry must be"):
        loop_of(case, state, entry=np.array(entry))


def test_same_draws_with_fixed_proposals(kit):
    names, options = SPACES["budget"]
    case = kit.case(names, n=80, seed=3, signal=0.2, coef_prior=Normal(0.8), **options)
    counts, _ = run_both(case, 17, 60, full_model_proposal(case.regression))
    assert counts[1, 4] > 0


EDGES = {
    "one term": (["a"], {"costs": {"a": 1}, "budget": 1}),
    "no term": ([], {"max_size": 0}),
    "none affordable": (["a", "b"], {"costs": {"a": 2, "b": 3}, "budget": 1}),
    "nothing binds": (["a", "b", "c"], {"costs": {"a": 1, "b": 2, "c": 3}, "budget": 10}),
    "all always": (["a", "b"], {"always": ["a", "b"]}),
    "one dear, one size": (["a", "f3"], {"costs": {"a": 1, "f3": 2}, "budget": 2, "max_size": 1}),
}


@pytest.mark.parametrize("edge", EDGES)
def test_edges(kit, edge):
    names, options = EDGES[edge]
    options = {"model_prior": Uniform() if len(names) < 2 else Bernoulli(0.6), **options}
    case = kit.case(names, n=30, seed=3, coef_prior=Normal(0.8), **options)
    counts, _ = run_both(case, 5, 30)
    assert counts[0, 4] == 120
