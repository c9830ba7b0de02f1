"""States are plain data: written down and read back, a chain goes on to the same draws, bit for bit."""

import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from chain_kit import advance, check_equal, draws_of, start
from state_files import read, write

import pyrjsel as rj
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import JumpMoves, RJMCMCChain, full_model_proposal

NAMES = ["a", "f3", "b", "f4", "c"]
DRAWS, BURN_IN, THIN, EVERY = 60, 20, 3, 2

PROBLEMS = {
    "g": {"coef_prior": GPrior("n")},
    "raw, weights, offset": {"coef_prior": Normal(0.8), "weighted": True, "with_offset": True},
    "budget": {
        "coef_prior": GPrior("n"),
        "costs": {"a": 1, "f3": 1, "b": 2, "f4": 1, "c": 2},
        "budget": 3,
    },
    "full proposal": {"coef_prior": GPrior(30.0, intercept="flat"), "n": 80},
}


def make_job(kit, name):
    case = kit.case(NAMES, seed=21, signal=0.4, **PROBLEMS[name])
    fixed = full_model_proposal(case.regression) if name == "full proposal" else None
    moves = JumpMoves(swaps=2, fixed=fixed)
    return Job(RJMCMCChain, moves, case.regression, case.space, DRAWS, BURN_IN, THIN, None, EVERY)


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_interrupted_chain_goes_on_to_the_same_draws(kit, name, tmp_path):
    job = make_job(kit, name)
    whole = advance(start(job), [job.total])
    expected = draws_of(whole)
    assert len(expected["log_posterior"]) == DRAWS
    assert len(expected["coefficients"]) == DRAWS // EVERY
    assert len(np.unique(expected["words"], axis=0)) > 3
    # Before the first iteration, within burn-in, at its end, between and at kept draws, near the end.
    for stop in (0, 7, BURN_IN, BURN_IN + 1, BURN_IN + 3, BURN_IN + 98, job.total - 1):
        first = advance(start(job), [stop])
        write(tmp_path, first.state())
        second = RJMCMCChain(job, read(tmp_path), number=first.number)
        assert second.done == stop
        advance(second, [job.total - stop])
        check_equal(draws_of(first, second), expected)
        # Acceptances after burn-in, the state at the end, and the next random numbers.
        np.testing.assert_array_equal(second.loop.counts(), whole.loop.counts())
        for mine, theirs in zip(second.loop.state(), whole.loop.state(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert second.rng.bit_generator.state == whole.rng.bit_generator.state


def test_a_collector_that_is_carried_on_has_the_same_sums(kit):
    job = make_job(kit, "g")
    whole = advance(start(job), [job.total]).finish(True)
    first = advance(start(job), [BURN_IN + 50])
    second = advance(RJMCMCChain(job, first.state(), first.collector), [job.total - BURN_IN - 50])
    found = second.finish(True)
    for name in ("words", "index", "log_posterior", "coefficients", "sums", "counts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name), err_msg=name)


@pytest.mark.parametrize("name", PROBLEMS)
def test_how_blocks_are_cut_does_not_matter(kit, name):
    job = make_job(kit, name)
    whole = advance(start(job), [job.total])
    ones = advance(start(job), [1] * job.total)
    mixed = advance(start(job), [13, 0, 7, 2, 51, job.total - 73])
    for cut in (ones, mixed):
        check_equal(draws_of(cut), draws_of(whole))
        np.testing.assert_array_equal(cut.collector.sums, whole.collector.sums)
        np.testing.assert_array_equal(cut.loop.counts(), whole.loop.counts())


def test_a_state_is_a_copy(kit):
    runner = advance(start(make_job(kit, "g")), [30])
    state = runner.state()
    gamma, b = (state.values[name].copy() for name in ("gamma", "b"))
    generator = json.dumps(state.bit_generator)
    runner.advance(30)
    np.testing.assert_array_equal(state.values["gamma"], gamma)
    np.testing.assert_array_equal(state.values["b"], b)
    assert json.dumps(state.bit_generator) == generator
    assert not np.array_equal(runner.state().values["b"], b)


def test_the_states_of_a_chain_are_valid(kit):
    job = make_job(kit, "budget")
    runner, outside = start(job), np.ones(job.regression.n_columns, dtype=bool)
    for _ in range(40):
        runner.advance(1)
        gamma, b = (runner.state().values[name] for name in ("gamma", "b"))
        assert job.space.feasible(gamma)
        outside[:] = True
        outside[job.regression.model_columns(gamma)] = False
        assert np.all(b[outside] == 0)
        assert np.all(b[~outside] != 0)


def test_a_job_survives_pickling(kit):
    job = make_job(kit, "budget")
    copy = pickle.loads(pickle.dumps(job))
    check_equal(draws_of(advance(start(copy), [job.total])), draws_of(advance(start(job), [job.total])))


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=[*"abcd"])
    frame["f"] = rng.choice([*"xyz"], size=60)
    frame["y"] = (frame["a"] + rng.normal(size=60) > 0).astype(int)
    return rj.logit("y ~ a*b + c + d + f", frame)


def fit(model, seed=7, **options):
    return model.fit(sampler="rjmcmc", draws=60, burn_in=10, chains=3, rng=seed, progress=False, **options)


def tables(result):
    draws = result.draws
    return {
        "model": draws.model,
        "included": draws.included,
        "log_posterior": draws.log_posterior,
        "coefficients": draws.coefficients,
    }


# 60 draws of three chains disagree as often as not; that is no matter here.
@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning")
class TestFit:
    def test_workers_do_not_matter(self, model):
        alone = tables(fit(model, n_jobs=1))
        for n_jobs in (2, 4, -1, None):
            check_equal(tables(fit(model, n_jobs=n_jobs)), alone)

    def test_processes_do_not_matter(self, model):
        with joblib.parallel_config(backend="loky", n_jobs=2):
            apart = tables(fit(model))
        check_equal(apart, tables(fit(model, n_jobs=1)))

    def test_the_seed_decides(self, model):
        seven = tables(fit(model, 7))
        check_equal(tables(fit(model, np.random.default_rng(7))), seven)
        check_equal(tables(fit(model, np.random.SeedSequence(7))), seven)
        assert not np.array_equal(tables(fit(model, 8))["log_posterior"], seven["log_posterior"])

    def test_chains_differ(self, model):
        log_posterior = fit(model).draws.log_posterior
        for one, other in ((0, 1), (0, 2), (1, 2)):
            assert not np.any(log_posterior[one] == log_posterior[other])

    def test_more_chains_leave_the_first_as_they_are(self, model):
        few = model.fit(sampler="rjmcmc", draws=40, chains=2, rng=1, progress=False)
        many = model.fit(sampler="rjmcmc", draws=40, chains=4, rng=1, progress=False)
        np.testing.assert_array_equal(many.draws.log_posterior[:2], few.draws.log_posterior)
