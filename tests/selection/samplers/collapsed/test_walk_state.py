"""States of walks: written down and read back they go on to the same draws, bit for bit."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from state_files import read, write

from pyrjsel.model_space import Uniform
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.regression.gaussian import GaussianRegression
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed.chain import EVERY, CollapsedChain, CollapsedMoves
from pyrjsel.selection.samplers.collapsed.corrected_chain import CorrectedChain, CorrectedMoves

NAMES = ["a", "f3", "b", "c", "d"]
DRAWS, BURN_IN, THIN, EVERY_COEFFICIENT = 60, 130, 2, 5

KINDS = ("gaussian", "gaussian, dependent columns", "logit", "logit, budget")
SCHEMES = {"one": (np.ones(1), False), "three": (np.array([1.0, 0.6, 0.3]), True)}


def make_job(kit, kind="gaussian", scheme="one", draws=DRAWS, **more):
    moves = {
        "time": 1.3,
        "swaps": 1.0,
        "temperatures": SCHEMES[scheme][0],
        "adaptive": SCHEMES[scheme][1],
        **more,
    }
    sizes = (draws, BURN_IN, THIN)
    if kind.startswith("gaussian"):
        names = [*NAMES, "a+b"] if "dependent" in kind else NAMES
        case = kit.case(names, coef_prior=GPrior("n"), seed=21, signal=0.3)
        y = case.x[:, 0] + np.random.default_rng(1).normal(size=len(case.y))
        regression = GaussianRegression.build(case.x, y, case.sizes, GPrior("n"))
        setup = CollapsedMoves(**moves)
        return Job(CollapsedChain, setup, regression, case.space, *sizes, None, EVERY_COEFFICIENT)
    rules = {"costs": {"a": 1, "f3": 1, "b": 2, "c": 2, "d": 1}, "budget": 4, "model_prior": Uniform()}
    prior = Normal(0.8) if kind.endswith("budget") else GPrior("n")
    case = kit.case(
        NAMES, coef_prior=prior, seed=21, signal=0.3, **(rules if kind.endswith("budget") else {})
    )
    setup = CorrectedMoves(**moves, entropy=b"s" * 16, pairs=8, exact=True)
    return Job(CorrectedChain, setup, case.regression, case.space, *sizes, None, EVERY_COEFFICIENT)


def start(job, chain=1):
    return job.start(np.random.SeedSequence(5), chain)


def advance(runner, blocks):
    for n in blocks:
        runner.advance(n)
    return runner


def outcome(runner):
    found = runner.finish(True)
    return {
        "words": found.words[found.index],
        "log_posterior": found.log_posterior,
        "coefficients": found.coefficients.toarray(),
        **found.averages.kept.arrays(len(found.index)),
        "counts": found.counts,
        **found.described,
        "sums": found.sums,
    }


def check_equal(one, other):
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], err_msg=name)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_do_not_matter(kit, kind, scheme):
    job = make_job(kit, kind, scheme)
    whole = outcome(advance(start(job), [job.total]))
    assert len(whole["words"]) == DRAWS
    assert len(np.unique(whole["words"])) > 3
    for blocks in ([1] * job.total, [17, 60, 53, 1, job.total - 131]):
        check_equal(outcome(advance(start(job), blocks)), whole)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_state_written_down_goes_on_to_the_same_draws(kit, kind, scheme, tmp_path):
    job = make_job(kit, kind, scheme)
    whole = outcome(advance(start(job), [job.total]))
    # In burn-in between marks, at a mark, at its end, and within recording, between marks and segments.
    for cut in (7, EVERY, EVERY + 31, BURN_IN, BURN_IN + 1, BURN_IN + 2 * EVERY - 3):
        runner = advance(start(job), [cut])
        write(tmp_path, runner.state())
        state = read(tmp_path)
        assert state.done % EVERY == 0 or state.done == BURN_IN
        assert 0 <= state.values["since"] < EVERY
        resumed = type(runner)(job, state, runner.collector)
        assert resumed.done == cut
        check_equal(outcome(advance(resumed, [job.total - cut])), whole)


def test_states_are_plain_and_jobs_can_be_sent(kit):
    for kind in KINDS:
        job = pickle.loads(pickle.dumps(make_job(kit, kind)))
        runner = advance(start(job), [90])
        state = pickle.loads(pickle.dumps(runner.state()))
        again = type(runner)(job, state)
        np.testing.assert_array_equal(again.walk.gamma(), runner.walk.gamma())
        assert again.rng.bit_generator.state == runner.rng.bit_generator.state


def test_finishing_leaves_the_chain_as_it_was(kit):
    job = make_job(kit, "logit")
    whole = outcome(advance(start(job), [job.total]))
    runner = advance(start(job), [BURN_IN + 40])
    early = runner.finish(False)
    assert len(early.index) == 20
    check_equal(outcome(advance(runner, [job.total - BURN_IN - 40])), whole)


def test_rounding_does_not_build_up(kit):
    """Long after the last flip that made things anew, masses are those of a fresh walk."""
    job = make_job(kit, "gaussian")
    runner = start(replace(job, draws=2000))
    runner.advance(BURN_IN + 2 * 1999)
    before = runner.walk.log_mass()
    runner.walk.reload()
    # The engine itself promises 1e-9.
    np.testing.assert_allclose(runner.walk.log_mass(), before, rtol=0, atol=1e-9)


def test_nothing_is_recorded_in_burn_in(kit):
    for kind in ("gaussian", "logit"):
        job = make_job(kit, kind)
        runner = advance(start(job), [BURN_IN])
        assert not runner.collector.averages.sums.any()
        assert len(runner.finish(False).index) == 0
        assert not runner.tallies()[0].any()


def test_powers_are_adapted_in_burn_in_and_fixed_afterwards(kit):
    for kind in ("gaussian", "logit"):
        job = make_job(kit, kind, "three")
        runner = start(job)
        seen = []
        for _ in range(job.total):
            runner.advance(1)
            seen.append(tuple(runner.walk.powers()))
        assert len(set(seen[:BURN_IN])) > 1
        assert len(set(seen[BURN_IN - 1 :])) == 1
        assert seen[-1][0] == 1.0
        assert np.all(np.diff(seen[-1]) < 0)


def test_arrays_of_the_problem_are_not_written(kit):
    job = make_job(kit, "logit")
    kept = {name: getattr(job.regression, name).copy() for name in ("columns", "y", "offset")}
    advance(start(job), [job.total])
    for name, values in kept.items():
        np.testing.assert_array_equal(getattr(job.regression, name), values)


@pytest.mark.parametrize("kind", ["gaussian", "logit"])
def test_blocks_are_drawn_more_often_in_burn_in(kit, kind):
    """Poisson counts, of 20 and of 1.5 a unit of time: within six standard deviations, 2e-9 each."""
    job = make_job(kit, kind, draws=400, blocks=[np.arange(2)], block_rates=(20.0, 1.5))
    for since in (0, 3):  # a walk that is made anew in burn-in, and after it, has the rate of its time
        runner = start(job)
        runner.advance(BURN_IN - 1)
        drawn = runner.counts()[0, 2]
        expected = 20.0 * job.setup.time * (BURN_IN - 1)
        assert abs(drawn - expected) < 6 * np.sqrt(expected)
        runner.advance(1 + since)
        runner = job.kind(job, runner.state())
        before = runner.counts()[0, 2]
        runner.advance(200 - since)
        drawn, expected = runner.counts()[0, 2] - before, 1.5 * job.setup.time * (200 - since)
        assert abs(drawn - expected) < 6 * np.sqrt(expected)
