"""Runs of pattern models: blocks, states, seeds, workers, interrupts, diagnostics."""

import os
import pickle

import numpy as np
import pattern_kit as kit
import pytest
from interrupts import ctrl_c, interrupt_when

import pyrjsel as rj
from pyrjsel.patterns.options import InterweavingOptions, choose
from pyrjsel.patterns.sampler import PatternJob, PatternRunner
from pyrjsel.patterns.sampler import run as run_sampler
from pyrjsel.runtime import FitSettings

SAMPLERS = ("slice", "interweaving")
# Most runs are as short as tests want them.
pytestmark = pytest.mark.filterwarnings("ignore:The run has .* effective draws")


def settings_of(**changes):
    options = {"draws": 30, "burn_in": 20, "thin": 3, "chains": 2, "rng": 1, "n_jobs": 1, "progress": False}
    return FitSettings.check(**{**options, **changes})


def run(problem, sampler="auto", options=None, **changes):
    name, chosen = choose(sampler, options or {}, rj.PatternLogit.fit)
    return run_sampler(problem, name, chosen, settings_of(**changes))


def job_of(problem, sampler, draws=10, burn_in=5, thin=2):
    return PatternJob(problem, choose(sampler, {}, rj.PatternLogit.fit)[1], draws, burn_in, thin)


def same_draws(one, two):
    for name in ("s", "log_sigma", "log_posterior"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", ["sequence", "interactions"])
def test_draws_do_not_depend_on_blocks_or_saved_states(sampler, kind):
    job = job_of(kit.problem_of(kind, n_classes=3), sampler)
    seed = np.random.SeedSequence(4)
    whole = job.start(seed, 1)
    whole.advance(job.total)
    parts = job.start(seed, 1)
    for n in (1, 3, 2, 7, 1, 11):
        parts.advance(n)
    same_draws(whole.finish(True), parts.finish(True))
    begun = job.start(seed, 1)
    begun.advance(9)
    state = pickle.loads(pickle.dumps(begun.state()))
    begun.advance(16)
    resumed = PatternRunner(job, state)
    resumed.advance(16)
    np.testing.assert_array_equal(resumed.finish(True).s[-6:], begun.finish(True).s[-6:])
    assert resumed.done == job.total


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_recorded_draws_are_every_thinned_state(sampler):
    job = job_of(kit.problem_of(), sampler)
    recorded = job.start(np.random.SeedSequence(2), 0)
    recorded.advance(job.total)
    found = recorded.finish(True)
    single = job.start(np.random.SeedSequence(2), 0)
    single.advance(5)
    for draw in range(10):
        single.advance(2)
        state = single.state()
        np.testing.assert_array_equal(found.s[draw], state.s)
        np.testing.assert_array_equal(found.log_sigma[draw], state.log_sigma[1:])
        assert found.log_posterior[draw] == single.loop.log_density()
    assert state.log_sigma[0] == job.problem.prior.log_sigma_0


def test_seeds_decide_and_workers_do_not():
    problem = kit.problem_of()
    one, again = run(problem), run(problem, n_jobs=2)
    same_draws(one.draws, again.draws)
    assert not np.array_equal(one.draws.s, run(problem, rng=2).draws.s)
    assert not np.array_equal(one.draws.s[0], one.draws.s[1])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shapes_and_diagnostics(n_classes):
    problem = kit.problem_of("interactions", n_classes=n_classes)
    found = run(problem, "auto", {"sigma_updates": 2}, draws=300, burn_in=200, thin=10)
    free = 1 if n_classes == 2 else 3
    assert found.draws.s.shape == (2, 300, free, problem.n_groups)
    assert found.draws.log_sigma.shape == (2, 300, 3)
    assert list(found.diagnostics.index) == ["log_sigma_1", "log_sigma_2", "log_sigma_3", "log_posterior"]
    assert found.diagnostics["r_hat"].between(0.99, 1.2).all()
    assert found.diagnostics["ess"].between(10, 3000).all()
    np.testing.assert_allclose(found.diagnostics["mean"].iloc[0], found.draws.log_sigma[:, :, 0].mean())
    assert found.sampler == "interweaving"
    assert len(found.seconds) == 2
    assert found.notes == []
    assert "2 chains x 300 draws" in repr(found.draws)


def test_chains_start_apart():
    job = job_of(kit.problem_of(), "interweaving")
    first, second = (job.start(np.random.SeedSequence(1), chain).state() for chain in (0, 1))
    np.testing.assert_array_equal(first.log_sigma[1:], job.problem.prior.centre())
    assert np.all(first.log_sigma[1:] != second.log_sigma[1:])


def test_slow_chains_are_told():
    """Two iterations from starts far apart."""
    problem = kit.problem_of(n=200, p=6, order=6)
    with pytest.warns(rj.ConvergenceWarning, match=r"R-hat over all chains is \d.*not converged"):
        found = run(problem, "slice", {"sigma_updates": 1, "sigma_width": 1e-3}, draws=20, burn_in=0, thin=1)
    assert "not converged" in found.notes[0]


def test_few_effective_draws_are_told():
    """Independent draws are as many effective ones, and 60 of them are too few."""
    problem = kit.problem_of()
    with pytest.warns(
        rj.ConvergenceWarning, match=r"^The run has \d\d effective draws of log_\w+.* run longer"
    ):
        found = run(problem, draws=30, burn_in=200, thin=20)
    few = found.diagnostics["ess"][found.diagnostics["ess"] < 100]
    (note,) = found.notes
    assert note.startswith(f"The run has {int(few.min())} effective draws of {few.idxmin()} and ")
    assert f"fewer than 100 of {len(few) - 1} more: " in note
    enough = run(problem, draws=400, burn_in=200, thin=20)
    assert enough.notes == []
    assert enough.diagnostics["ess"].min() >= 100


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_an_interrupt_leaves_the_draws_so_far(monkeypatch, sampler):
    interrupt_when(monkeypatch, PatternRunner, lambda chain: chain.done > 200)
    with pytest.warns(
        rj.ConvergenceWarning, match=r"Interrupted: \d of 2 chains with [\d,]+ of 1,000,000 "
    ) as caught:
        found = run(kit.problem_of(), sampler, draws=1_000_000, thin=1, n_jobs=2)
    assert caught[0].filename == __file__
    chains, draws = found.draws.log_posterior.shape
    assert 1 <= chains <= 2
    assert 1 <= draws < 900_000
    assert len(found.seconds) == chains
    assert np.all(np.isfinite(found.draws.s))


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
def test_an_interrupt_before_the_first_draw(monkeypatch):
    monkeypatch.setattr(PatternRunner, "advance", lambda self, n: ctrl_c())
    with pytest.raises(KeyboardInterrupt, match="before the first draw"):
        run(kit.problem_of(), draws=1000, chains=1)


def test_samplers_and_options():
    assert choose("auto", {}, rj.PatternLogit.fit) == (
        "interweaving",
        InterweavingOptions(),
    )
    assert choose("slice", {"width": 3}, rj.PatternLogit.fit)[1].width == 3
    with pytest.raises(rj.ParameterError, match=r"'sampler' parameter of choose must be one of 'auto'"):
        choose("gibbs", {}, rj.PatternLogit.fit)
    with pytest.raises(rj.UnknownNameError, match=r"option 'sigma_with'.*Did you mean 'sigma_width'"):
        choose("slice", {"sigma_with": 1}, rj.PatternLogit.fit)
    for name, value in (("width", 0), ("sigma_width", -1), ("steps", 0), ("sigma_updates", 1.5)):
        with pytest.raises(rj.ParameterError, match=f"'{name}' parameter of sampler='slice'"):
            choose("slice", {name: value}, rj.PatternLogit.fit)
    for name in ("steps", "sigma_updates"):
        with pytest.raises(rj.ParameterError, match=f"'{name}' parameter of sampler='interweaving'"):
            choose("auto", {name: 0}, rj.PatternLogit.fit)


def test_the_loop_refuses_arrays_that_do_not_fit():
    problem = kit.problem_of("interactions")
    s, log_sigma = np.zeros((1, problem.n_groups)), np.zeros(problem.order + 1)
    for plan, sums, scales in (
        ((("paths", 1),), s, log_sigma),  # no tree
        (kit.SLICE, s[:, 1:], log_sigma),
        (kit.SLICE, s, log_sigma[1:]),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            kit.chain_of(problem, plan, sums, scales)
    chain = kit.chain_of(problem, kit.SLICE, s, log_sigma)
    with pytest.raises(ValueError, match="do not fit"):
        chain.run(
            np.random.default_rng(1),
            1,
            s=np.zeros((1, 2, 2)),
            log_sigma=np.zeros((1, 3)),
            log_posterior=np.zeros(1),
        )
