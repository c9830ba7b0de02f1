"""Acceptance ratios of moves: detailed balance between all pairs of subsets of a tiny space."""

import mixture_kit as kit
import numpy as np
import pytest
from reference_mixture import MixtureTwin

from pyrjsel.model_space import Bernoulli, TruncatedPoisson, enumerate_models, unpack

PRICES = {"x0": 1.0, "x1": 2.0, "x2": 1.5}
SPACES = {
    "free": (Bernoulli([0.2, 0.5, 0.7]), {}),
    "size": (TruncatedPoisson(1.3), {"max_size": 2}),
    "always": (Bernoulli([0.2, 0.5, 0.7]), {"always": ["x1"]}),
    "budget": (Bernoulli([0.2, 0.5, 0.7]), {"costs": PRICES, "budget": 3.0}),
}
CASES = [(space, "gaussian") for space in SPACES] + [("free", "independent"), ("free", None)]


def problem_of(space, background, missing):
    x, label = kit.toy(9, 3, missing=missing, unlabelled=missing)
    prior, options = SPACES[space]
    return kit.problem_of(
        x, label, components=3, n_classes=2, background=background, space=kit.space_of(3, prior, **options)
    )


def neighbours(gamma, space):
    """The moves from a subset that lead to feasible ones: what leaves and what enters (-1: nothing)."""
    free = np.flatnonzero(space.free).tolist()
    inside = [j for j in free if gamma[j]]
    outside = [j for j in free if not gamma[j]]
    moves = [(-1, j) for j in outside] + [(k, -1) for k in inside] + [(k, j) for k in inside for j in outside]
    for out, into in moves:
        new = gamma.copy()
        new[[j for j in (out, into) if j >= 0]] ^= 1
        if space.feasible(new):
            yield out, into, new


@pytest.mark.parametrize("power", [1.0, 0.4])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("proposal", ["conditional", "prior"])
@pytest.mark.parametrize(("space", "background"), CASES)
def test_detailed_balance(space, background, proposal, missing, power):
    """log pi(x) q(x, x') a(x, x') is symmetric in x and x', with a the ratio of the compiled loop.

    pi has the kernels of the rows summed out; q is that of the kernels that the rows have in both.
    """
    problem = problem_of(space, background, missing)
    job = kit.job_of(problem, proposal=proposal)
    rng = np.random.default_rng(1)
    pairs = 0
    for gamma in unpack(enumerate_models(problem.space, 100), 3):
        state = kit.settled(problem, gamma, sweeps=5, proposal=proposal)
        chain, twin = job.loop(state, power), MixtureTwin(problem, job.options, state, power)
        size = int(gamma[twin.free].sum())
        for out, into, new in neighbours(gamma, problem.space):
            # What is proposed for an input that enters, near what a chain would have.
            beta, precision, mean = 0.1, 20.0 * rng.gamma(5.0, size=3), 0.2 * rng.standard_normal(3)
            after = MixtureTwin(problem, job.options, state, power)
            after.gamma = new
            forward, back = (
                ("add", "remove") if out < 0 else ("remove", "add") if into < 0 else ("exchange",) * 2
            )
            there = twin.log_target() + twin.log_choice(forward, size)
            if into >= 0:
                there += twin.log_proposal(into, beta, precision, mean)
                after.beta[into], after.precision[into], after.mean[into] = beta, precision, mean
            again = after.log_target()
            if out >= 0:
                again += twin.log_proposal(out, twin.beta[out], twin.precision[out], twin.mean[out])
            again += twin.log_choice(back, int(new[twin.free].sum()))
            found = chain.log_ratio(out, into, precision, mean)
            # Sums of some hundred terms of size 10.
            np.testing.assert_allclose(found, again - there, rtol=1e-9, atol=1e-8)
            # The chain in the new state says the opposite of the way back.
            state_after = kit.settled(problem, gamma, sweeps=5, proposal=proposal)
            state_after.gamma = new
            if into >= 0:
                state_after.beta[into], state_after.precision[into] = beta, precision
                state_after.mean[into] = mean
            other = job.loop(state_after, power)
            kept = (state.precision[out], state.mean[out]) if out >= 0 else ()
            np.testing.assert_allclose(other.log_ratio(into, out, *kept), -found, rtol=1e-9, atol=1e-8)
            pairs += 1
    assert pairs >= 6


@pytest.mark.parametrize("space", SPACES)
def test_moves_are_chosen_with_these_probabilities(space):
    """One move a sweep from the same state, many times: the kinds by how often they are tried."""
    problem = problem_of(space, "gaussian", 0.0)
    job = kit.job_of(problem)
    for gamma in unpack(enumerate_models(problem.space, 100), 3):
        state = kit.settled(problem, gamma)
        twin = MixtureTwin(problem, job.options, state)
        rng = np.random.default_rng(2)
        counts = np.zeros((2, 3), dtype=np.int64)
        for _ in range(2000):
            chain = job.loop(state)
            chain.sweeps(rng, 1, moves=1)
            counts += chain.counts()
        size = int(gamma[twin.free].sum())
        n_in, n_out = size, twin.free.size - size
        ways = {"add": n_out, "remove": n_in, "exchange": n_in * n_out}
        share = [ways[move] and ways[move] * np.exp(twin.log_choice(move, size)) for move in ways]
        np.testing.assert_allclose(sum(share), 1.0, rtol=1e-12)
        error = np.sqrt(np.array(share) * (1 - np.array(share)) / 2000)
        # Some 60 shares of 2,000: a false alarm has probability 60 * 6e-7 for other seeds.
        assert np.all(np.abs(counts[0] / 2000 - share) <= 5 * error + 1e-12)


def test_an_infeasible_subset_is_never_accepted():
    problem = problem_of("budget", "gaussian", 0.0)
    job = kit.job_of(problem)
    chain = job.loop(kit.settled(problem, [0, 1, 0]))
    assert chain.log_ratio(-1, 2, np.full(3, 20.0), np.zeros(3)) == -np.inf
