"""The compiled reversible jumps of gaussian models against their plain twin, on the same random numbers."""

import jump_kit
import numpy as np
import pytest
from reference_gaussian import GaussianTwin, State
from turns import by_turns

from pyrjsel.distributions import InverseGamma
from pyrjsel.model_space import Bernoulli, term_blocks, unpack
from pyrjsel.selection.regression.gaussian_rows import GaussianRows
from pyrjsel.selection.samplers.reversible_jump._moves import MOVES
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import full_model_proposal

NAMES, SIZES = ["a", "b", "c", "a:c", "d"], (1, 2, 1, 1, 1)
PLAIN = {"n": 25, "signal": 0.4, "names": NAMES}
SIGMA = InverseGamma(2.0, 1.5)
# What the problem is, and what the loop is told.
CASES = {
    "plain": ({}, {}),
    "weights, offset": ({"weighted": True, "with_offset": True, "sigma": SIGMA}, {}),
    "budget": ({"costs": {"a": 1, "b": 1, "c": 2, "d": 1.5}, "budget": 3.5}, {"n_swaps": 4}),
    "strong heredity": ({"heredity": "strong"}, {}),
    "always": ({"always": ("d",), "model_prior": Bernoulli(0.3)}, {"n_swaps": 0}),
    "full proposal": ({"n": 40}, {"full": True}),
    "trades": (
        {"costs": {"a": 1, "b": 1, "c": 2, "d": 2.5}, "budget": 3.5},
        {"n_swaps": 1, "trades": 4},
    ),
    "trades, families": (
        {"heredity": "strong", "max_size": 3},
        {"n_swaps": 1, "trades": 4, "family_moves": 3},
    ),
    "few rows": ({"n": 6, "sigma": SIGMA}, {}),
    "dependent": ({"dependent": True}, {}),
}


def run_both(case, iterations, *, n_swaps=3, full=False, trades=0, family_moves=0):
    """Draws of the compiled loop and of its twin from the same seed."""
    rows, space = GaussianRows.of(case.regression), case.space
    at, scales = rows.first()
    fixed = full_model_proposal(at) if full else None
    gamma, b = space.empty_model(), np.zeros(rows.n_columns)
    loop = jump_kit.loop_at(
        rows, space, gamma, np.concatenate([b, scales]), 1.0, n_swaps, fixed,
        n_trades=trades, n_family_moves=family_moves, families=term_blocks(space),
    )  # fmt: skip
    rng, twin_rng = np.random.default_rng(17), np.random.default_rng(17)
    words, log_posterior = np.zeros((iterations, 1), dtype=np.uint64), np.empty(iterations)
    vectors, sums = np.empty((iterations, rows.n_columns + 2)), np.zeros((4, rows.n_columns))
    loop.run(
        rng, iterations, words=words, log_posterior=log_posterior, coefficients=vectors, sums=sums
    )  # fmt: skip
    twin = GaussianTwin(rows, space, n_swaps, fixed, term_blocks(space), trades, family_moves)
    state = State(gamma, b, *scales)
    states, moves = [], []
    for _ in range(iterations):
        state, made = twin.step(state, twin_rng)
        states.append(state)
        moves.extend(made)
    assert rng.bit_generator.state == twin_rng.bit_generator.state
    np.testing.assert_array_equal(unpack(words, space.n_terms), [s.gamma for s in states])
    # Rounding errors of a step are about 1e-12 (the rows come from products of columns) and are forgotten.
    found = np.array([[*s.b, s.variance, s.log_g] for s in states])
    np.testing.assert_allclose(vectors, found, rtol=1e-8, atol=1e-8)
    # The densities lack the same constant: what the weights of the rows add.
    np.testing.assert_allclose(log_posterior, [twin.log_target(s) for s in states], rtol=0, atol=1e-7)
    counts = [
        [sum(move.name == name for move in moves) for name in MOVES],
        [sum(move.name == name and move.accepted for move in moves) for name in MOVES],
    ]
    np.testing.assert_array_equal(loop.counts(), counts)
    own = vectors[:, :-2] * (vectors[:, :-2] != 0)
    own[:, 0] -= own[:, 1:] @ (rows.mean / rows.scale)
    np.testing.assert_allclose(sums[0], own.sum(axis=0), rtol=1e-9, atol=1e-9)
    return np.array(counts)


@pytest.mark.parametrize(("prior", "name"), by_turns(list(jump_kit.PRIORS), list(CASES)))
def test_same_draws(linear_kit, prior, name):
    problem, options = CASES[name]
    case = linear_kit.case(SIZES, jump_kit.PRIORS[prior], **{**PLAIN, "seed": 3, **problem})
    proposed, accepted = run_both(case, 60, **options)
    # The comparison would be idle if no kind of move were ever taken.
    assert np.all((accepted > 0) | (proposed == 0))
    assert np.all(accepted[:3] <= proposed[:3])


def test_no_term_at_all(linear_kit):
    case = linear_kit.case((), jump_kit.PRIORS["g"], n=10)
    proposed, _ = run_both(case, 20)
    assert proposed.tolist() == [0, 0, 0, 20, 0, 0]


@pytest.mark.parametrize("t", [0.4, 1.0, 1.7])
@pytest.mark.parametrize("prior", jump_kit.PRIORS)
def test_scales_at_a_temperature(linear_kit, prior, t):
    case = linear_kit.case(
        SIZES, jump_kit.PRIORS[prior], n=25, seed=4, names=NAMES, weighted=True, with_offset=True, sigma=SIGMA
    )
    rows, rng = GaussianRows.of(case.regression), np.random.default_rng(5)
    twin = GaussianTwin(rows, case.space, 0)
    for gamma in case.models[::5]:
        b, columns = np.zeros(rows.n_columns), rows.model_columns(gamma)
        b[columns] = rng.normal(size=columns.size)
        log_g = 1.3 if rows.whole.prior.conditional(1.0) is not None else 0.0
        state = State(gamma, b, 0.7, log_g)
        loop = jump_kit.loop_at(rows, case.space, gamma, [*b, 0.7, log_g], t)
        first, second = np.random.default_rng(6), np.random.default_rng(6)
        for _ in range(3):
            loop.draw(first)
            state = twin.draw_scales(state, second, t)
            np.testing.assert_allclose(
                loop.state()[1], [*b, state.variance, state.log_g], rtol=1e-9, atol=1e-12
            )
