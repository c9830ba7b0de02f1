"""Runs of the compiled reversible-jump loop and of its reference on the same random numbers."""

import numpy as np
import reference_jumps as reference

from pyrjsel.model_space import Space, unpack
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.samplers.reversible_jump._moves import MOVES
from pyrjsel.selection.samplers.reversible_jump._rjmcmc import ReversibleJump
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import full_model_proposal


def run_both(case, seed, iterations, *, n_swaps, full=False):
    """Draws of the compiled loop and of its twin from the same seed."""
    regression, space = case.regression, case.space
    fixed = full_model_proposal(regression) if full else None
    gamma = space.empty_model()
    b = MarginalLikelihood(regression, b"", 2, regression.n_columns).mode(gamma)
    mean, factor = fixed or (None, None)
    loop = ReversibleJump(
        regression.compiled,
        Space(space),
        gamma,
        b,
        max_columns=regression.widest(space.max_size),
        raw_shift=regression.raw_shift,
        n_swaps=n_swaps,
        fixed_mean=mean,
        fixed_factor=factor,
    )
    rng = np.random.default_rng(seed)
    words = np.zeros((iterations, 1), dtype=np.uint64)
    log_posterior, draws = np.empty(iterations), np.empty((iterations, regression.n_columns))
    loop.run(
        rng,
        iterations,
        words=words,
        log_posterior=log_posterior,
        coefficients=draws,
        sums=np.zeros((4, regression.n_columns)),
    )

    transition = reference.Transition(regression, space, n_swaps, fixed)
    state, twin_rng = reference.State(gamma, b), np.random.default_rng(seed)
    states, moves = [], []
    for _ in range(iterations):
        state, made = reference.step(transition, state, twin_rng)
        states.append(state)
        moves.extend(made)
    twin = {
        "gamma": np.array([s.gamma for s in states]),
        "b": np.array([s.b for s in states]),
        "log_posterior": np.array([transition.log_target(s) for s in states]),
        "moves": moves,
        "rng": twin_rng.bit_generator.state,
    }
    compiled = {
        "gamma": unpack(words, space.n_terms),
        "b": draws,
        "log_posterior": log_posterior,
        "counts": loop.counts(),
        "rng": rng.bit_generator.state,
    }
    return compiled, twin


def check_same(compiled, twin):
    np.testing.assert_array_equal(compiled["gamma"], twin["gamma"])
    # Rounding errors of a step are about 1e-13 (matrices with condition numbers up to 1e3) and are forgotten
    # rather than amplified: a new block or vector depends on the old ones through a mean only.
    np.testing.assert_allclose(compiled["b"], twin["b"], rtol=0, atol=1e-9)
    # Sums of 40 to 80 terms of size one, at coefficients that differ as above.
    np.testing.assert_allclose(compiled["log_posterior"], twin["log_posterior"], rtol=0, atol=1e-8)
    moves = twin["moves"]
    counts = [
        [sum(move.name == name for move in moves) for name in MOVES],
        [sum(move.name == name and move.accepted for move in moves) for name in MOVES],
    ]
    np.testing.assert_array_equal(compiled["counts"], counts)
    # Not one random number more or less.
    assert compiled["rng"] == twin["rng"]
