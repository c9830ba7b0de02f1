"""The compiled space against the plain one, over all states of small spaces."""

import numpy as np
import pytest

from pyrjsel.model_space import Bernoulli, ModelSpace, Space, Uniform
from pyrjsel.model_space._space import debug_changes, debug_feasible, debug_flips


def test_what_is_derived_follows_the_oracle(kit, prior_kind, constraint):
    case = kit.case(prior_kind, constraint, 11)
    space, compiled = case.space, Space(case.space)
    rng = np.random.default_rng(1)
    flips = rng.integers(0, space.n_terms, size=200).astype(np.int32)
    # From the model with every term, so that refreshing it sees terms that are always in, and from any other.
    for start in (np.ones(space.n_terms, dtype=np.uint8), rng.integers(0, 2, space.n_terms).astype(np.uint8)):
        states = [start]
        for j in flips:
            states.append(states[-1].copy())
            states[-1][j] ^= 1
        gamma = np.array(states)
        end, trace = debug_flips(compiled, start, flips)
        np.testing.assert_array_equal(end, gamma[-1])
        inside = gamma * space.free
        np.testing.assert_array_equal(trace[:, 0], gamma.sum(axis=1))
        np.testing.assert_array_equal(trace[:, 1], inside.sum(axis=1))
        # Sums of at most 12 numbers in another order: a few ulp of the largest.
        np.testing.assert_allclose(trace[:, 2], space.cost(gamma), rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(trace[:, 3], inside @ space.log_odds, rtol=1e-13, atol=1e-13)
        plain = space.log_size[inside.sum(axis=1)] + inside @ space.log_odds + space.log_open(gamma)
        np.testing.assert_allclose(trace[:, 4], plain, rtol=1e-13, atol=1e-13)


def test_feasibility_of_flips_and_swaps_follows_the_oracle(kit, constraint):
    # Which prior is in force plays no part.
    for seed in (3, 4):
        case = kit.case("uniform", constraint, seed)
        space, compiled = case.space, Space(case.space)
        models = case.gamma([m for m in case.subsets() if case.allowed(m)])
        moves = [[j] for j in range(space.n_terms)]
        moves += [[i, j] for i in range(space.n_terms) for j in range(i)]
        for model in models[:: max(1, len(models) // 40)]:
            for move in moves:
                proposed = model.copy()
                proposed[move] ^= 1
                assert debug_feasible(compiled, model, move) == bool(space.feasible(proposed)), (model, move)


def test_changes_of_all_terms_follow_flips_one_by_one(kit, prior_kind, constraint):
    for seed in (11, 12):
        case = kit.case(prior_kind, constraint, seed)
        space, compiled = case.space, Space(case.space)
        models = case.gamma([m for m in case.subsets() if case.allowed(m)])
        for model in models:
            neighbours = model ^ np.eye(space.n_terms, dtype=np.uint8)
            plain = space.log_prior(neighbours) - space.log_prior(model)
            # Differences of sums of at most ten numbers of size ten; -inf must be met exactly.
            np.testing.assert_allclose(debug_changes(compiled, model), plain, rtol=0, atol=1e-12)


def test_changes_at_the_edges(kit):
    alone = ModelSpace.build(kit.plain(1), prior=Bernoulli(0.2), n_observations=9)
    for gamma, change in (([0], np.log(0.25)), ([1], -np.log(0.25))):
        assert debug_changes(Space(alone), gamma) == pytest.approx(change)
    fixed = ModelSpace.build(kit.plain(2), prior=Uniform(), always=("x0", "x1"), n_observations=9)
    assert debug_changes(Space(fixed), [1, 1]).tolist() == [-np.inf, -np.inf]
    empty = ModelSpace.build([], prior=Uniform(), n_observations=9)
    assert debug_changes(Space(empty), []).size == 0


def test_a_flip_and_its_reversal_leave_no_trace(kit):
    n = 200
    rng = np.random.default_rng(2)
    odds = {f"x{j}": float(p) for j, p in enumerate(rng.uniform(0.01, 0.99, n))}
    costs = {f"x{j}": float(c) for j, c in enumerate(rng.uniform(0, 1, n))}
    space = ModelSpace.build(kit.plain(n), prior=Bernoulli(odds), costs=costs, n_observations=9)
    flips = np.repeat(rng.integers(0, n, size=2000), 2).astype(np.int32)
    _, trace = debug_flips(Space(space), rng.integers(0, 2, size=n).astype(np.uint8), flips)
    np.testing.assert_array_equal(trace[::2], np.broadcast_to(trace[0], trace[::2].shape))


def test_long_models_are_followed_step_by_step(kit):
    n = 700
    rng = np.random.default_rng(3)
    odds = {f"x{j}": float(p) for j, p in enumerate(rng.uniform(0.01, 0.99, n))}
    costs = {f"x{j}": float(c) for j, c in enumerate(rng.uniform(0, 1, n))}
    space = ModelSpace.build(kit.plain(n), prior=Bernoulli(odds), costs=costs, n_observations=9)
    flips = rng.integers(0, n, size=5000).astype(np.int32)
    end, trace = debug_flips(Space(space), np.zeros(n, dtype=np.uint8), flips)
    # 5,000 additions of numbers below 5 to sums below 1,000: at most 5000 * 1e-13 apart, usually far less.
    assert trace[-1, 2] == pytest.approx(space.cost(end), abs=5e-10)
    assert trace[-1, 4] == pytest.approx(space.log_prior(end), abs=5e-10)


def test_a_space_that_does_not_fit_together_is_refused(kit):
    space = ModelSpace.build(kit.plain(3), prior=Uniform(), n_observations=9)

    class Broken:
        def __getattr__(self, name):
            return getattr(space, name)

    for name, value in (
        ("log_size", np.zeros(2)),
        ("item_start", np.zeros(2, dtype=np.int32)),
        ("free", [1, 1]),
    ):
        broken = Broken()
        setattr(broken, name, np.asarray(value))
        with pytest.raises(ValueError, match="model space"):
            Space(broken)
    with pytest.raises(ValueError, match="3 entries"):
        debug_flips(Space(space), np.zeros(2, dtype=np.uint8), np.zeros(0, dtype=np.int32))
    with pytest.raises(IndexError, match="no term 3"):
        debug_flips(Space(space), np.zeros(3, dtype=np.uint8), np.array([3], dtype=np.int32))
