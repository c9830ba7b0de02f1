"""States of populations: written down and read back they go on to the same draws, bit for bit."""

import json
import pickle
from dataclasses import asdict

import numpy as np
import pytest
from chain_kit import advance, check_equal, draws_of, start
from state_files import read, write

from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.reversible_jump.population import (
    ADAPT_EVERY,
    PopulationChain,
    PopulationMoves,
)
from pyrjsel.selection.samplers.reversible_jump.temperatures import Law

NAMES = ["a", "f3", "b", "c"]
DRAWS, BURN_IN, THIN, EVERY = 25, 170, 2, 2
LAWS = [Law("cold", 2.0, 4.0), Law("hot", 7.0, 3.0)]

PROBLEMS = {
    "g": {"coef_prior": GPrior("n")},
    "raw, weights, budget": {
        "coef_prior": Normal(0.8),
        "weighted": True,
        "costs": {"a": 1, "f3": 1, "b": 2, "c": 2},
        "budget": 3,
    },
}
# Temperatures, whether they are tuned, laws.
SCHEMES = {
    "exact": ("exact", True, LAWS),
    "exact, not tuned": ("exact", False, LAWS),
    "fixed": ("fixed", True, LAWS),
    "paper": ("paper", True, LAWS),
    "two hot": ("exact", True, [Law("hot", 9.0, 1.0), Law("hot", 7.0, 3.0)]),
}


def job_of(case, swaps, sizes, every, laws, scheme, tune):
    moves = PopulationMoves(swaps=swaps, laws=tuple(laws), scheme=scheme, tune=tune)
    return Job(PopulationChain, moves, case.regression, case.space, *sizes, None, every)


def make_job(kit, problem="g", scheme="exact"):
    case = kit.case(NAMES, seed=21, signal=0.3, **PROBLEMS[problem])
    temperatures, tune, laws = SCHEMES[scheme]
    return job_of(case, 2, (DRAWS, BURN_IN, THIN), EVERY, laws, temperatures, tune)


def check_same_state(one, other):
    assert json.dumps(one.bit_generator) == json.dumps(other.bit_generator)
    assert one.done == other.done
    check_equal(one.values, other.values)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_interrupted_population_goes_on_to_the_same_draws(kit, problem, scheme, tmp_path):
    job = make_job(kit, problem, scheme)
    whole = advance(start(job), [job.total])
    expected = draws_of(whole)
    assert len(expected["log_posterior"]) == DRAWS
    assert len(expected["coefficients"]) == -(-DRAWS // EVERY)
    assert len(np.unique(expected["words"], axis=0)) > 2
    # A population whose chains never changed places would show little.
    assert np.all(whole.loop.counts()[1][1] > 0)
    # Within burn-in, around a step of adaptation, at the end of burn-in, at and between kept draws.
    step = ADAPT_EVERY
    for stop in (0, 7, step - 1, step, step + 1, 2 * step - 13, BURN_IN - 1, BURN_IN, BURN_IN + 1, 199):
        first = advance(start(job), [stop])
        write(tmp_path, first.state())
        second = PopulationChain(job, read(tmp_path))
        assert second.done == stop
        advance(second, [job.total - stop])
        check_equal(draws_of(first, second), expected)
        check_same_state(second.state(), whole.state())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_how_blocks_are_cut_does_not_matter(kit, scheme):
    job = make_job(kit, scheme=scheme)
    whole = advance(start(job), [job.total])
    for blocks in ([1] * job.total, [13, 0, 37, 2, 51, job.total - 103]):
        cut = advance(start(job), blocks)
        check_equal(draws_of(cut), draws_of(whole))
        check_same_state(cut.state(), whole.state())
        np.testing.assert_array_equal(cut.collector.sums, whole.collector.sums)
        np.testing.assert_array_equal(cut.finish(True).counts, whole.finish(True).counts)


def test_a_state_is_a_copy(kit):
    runner = advance(start(make_job(kit)), [60])
    state = runner.state()
    before = pickle.loads(pickle.dumps(state))
    runner.advance(60)
    check_same_state(state, before)
    assert not np.array_equal(runner.state().values["b"], state.values["b"])
    assert not np.array_equal(runner.state().values["log_law"], state.values["log_law"])


def test_a_job_survives_pickling(kit):
    job = make_job(kit)
    copy = pickle.loads(pickle.dumps(job))
    check_equal(draws_of(advance(start(copy), [job.total])), draws_of(advance(start(job), [job.total])))


def test_adaptation_ends_with_burn_in(kit):
    for scheme in SCHEMES:
        runner = advance(start(make_job(kit, scheme=scheme)), [BURN_IN])
        before = runner.state().values
        after = advance(runner, [120]).state().values
        assert after["laws"] == before["laws"]
        for name in ("grid", "log_law", "sums", "visits"):
            np.testing.assert_array_equal(after[name], before[name])
        assert after["exchanges"][0].tolist() == [120, 120]


def test_what_is_tuned(kit):
    def after_burn_in(scheme):
        return advance(start(make_job(kit, scheme=scheme)), [BURN_IN]).state().values

    laws = [asdict(law) for law in LAWS]
    assert after_burn_in("exact")["laws"] != laws
    assert after_burn_in("exact, not tuned")["laws"] == laws
    # The value itself moves where it is fixed; elsewhere the weights of the values do.
    fixed = after_burn_in("fixed")
    assert fixed["grid"].shape == (2, 1)
    cold, hot = (Law(**law) for law in fixed["laws"])
    np.testing.assert_allclose(fixed["grid"][:, 0], [1 + cold.mean, hot.mean], rtol=1e-15)
    assert fixed["laws"] != laws
    first, later = start(make_job(kit)).state().values, after_burn_in("exact")
    np.testing.assert_array_equal(first["grid"], later["grid"])
    assert not np.allclose(first["log_law"], later["log_law"])


def test_tuning_stays_on_the_grid(kit):
    """Where there is one coefficient most exchanges are accepted: a law moves to where its grid ends."""
    case = kit.case([], seed=21, signal=0.3, coef_prior=GPrior("n"))
    means = {}
    for temperatures in ("exact", "fixed"):
        job = job_of(case, 0, (10, 1000, 1), 1, [Law("cold", 2.0, 4.0)], temperatures, True)
        chain = advance(start(job), [job.burn_in])
        means[temperatures] = chain.laws[0].mean
    assert means["exact"] == pytest.approx(5.0, rel=1e-12)  # ten times the first
    assert means["fixed"] > 6


def test_counts_are_those_of_a_temperature(kit):
    """Exchanges move states between the chains of a population, not what has been counted of them."""
    case = kit.case(NAMES, seed=21, signal=0.3, coef_prior=GPrior("n"))
    job = job_of(case, 0, (400, 0, 1), 1, [Law("hot", 5.0, 5.0)], "fixed", False)
    runner = start(job)
    exchanged, grown = 0, 0
    for _ in range(400):
        before, (counts, exchanges) = runner.state(), runner.loop.counts()
        runner.advance(1)
        after, (new_counts, new_exchanges) = runner.state(), runner.loop.counts()
        assert new_exchanges[0, 0] == exchanges[0, 0] + 1
        # Births less deaths that were accepted in this iteration, by chain.
        growth = (new_counts - counts)[:, 1] @ [1, -1, 0, 0, 0, 0]
        sizes = before.values["gamma"].sum(axis=1) + growth
        accepted = new_exchanges[1, 0] > exchanges[1, 0]
        np.testing.assert_array_equal(after.values["gamma"].sum(axis=1), sizes[::-1] if accepted else sizes)
        exchanged += accepted
        grown += bool(accepted and growth[0] != growth[1])
    # It is of exchanges after different growth that something is seen.
    assert 40 < exchanged < 360
    assert grown > 10


def test_temperatures_spread_like_their_laws(kit):
    """With the constants that burn-in has found; whatever they are, chain 0 is right."""
    case = kit.case(["a"], seed=21, signal=0.3, coef_prior=GPrior("n"))
    job = job_of(case, 0, (4000, 4000, 1), 1, [Law("cold", 2.0, 4.0), Law("hot", 3.0, 3.0)], "exact", False)
    runner = advance(start(job), [job.burn_in])
    found = np.empty((4000, 2))
    for i in range(len(found)):
        runner.advance(1)
        found[i] = runner.grid[[0, 1], runner.loop.levels()]
    # Draws of t have an autocorrelation time of some 5: six errors of sqrt(5 / 4000) = 0.035 standard
    # deviations each, and as much again for the error of the constants.
    for k, law in enumerate(job.setup.laws):
        weights = np.exp(law.logpdf(runner.grid[k]))
        weights /= weights.sum()
        mean = weights @ runner.grid[k]
        sd = np.sqrt(weights @ (runner.grid[k] - mean) ** 2)
        assert abs(found[:, k].mean() - mean) < 0.4 * sd
        assert found[:, k].std() == pytest.approx(sd, rel=0.3)
