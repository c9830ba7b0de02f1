"""Ctrl-C: sampling returns what it has, enumeration raises, and the process goes on as before."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from interrupts import interrupt_when

import pyrjsel as rj
from pyrjsel.selection.samplers.collapsed.chain import CollapsedChain
from pyrjsel.selection.samplers.enumeration.glm import Values
from pyrjsel.selection.samplers.reversible_jump.population import PopulationChain
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import RJMCMCChain

if os.name != "posix":
    pytest.skip("signals are sent as POSIX systems send them", allow_module_level=True)


@pytest.fixture(autouse=True)
def handler_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def make_model(terms=6, n=200):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(n, terms))
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    return rj.LogitSelection(y, pd.DataFrame(x).add_prefix("x"))


RUNNERS = {"rjmcmc": RJMCMCChain, "population": PopulationChain, "collapsed": CollapsedChain}


@pytest.mark.filterwarnings("ignore:The run has:pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("sampler", RUNNERS)
def test_sampling_returns_the_draws_so_far(monkeypatch, sampler):
    interrupt_when(monkeypatch, RUNNERS[sampler], lambda chain: chain.done > 300)
    model = make_model()
    begin = time.perf_counter()
    with pytest.warns(
        rj.ConvergenceWarning, match=r"Interrupted: \d of 3 chains with [\d,]+ of 1,000,000 "
    ) as caught:
        results = model.fit(
            sampler=sampler, draws=1_000_000, burn_in=100, chains=3, n_jobs=3, rng=1, progress=False
        )
    # A million iterations take a minute and more; the interrupt comes after 300 of them.
    assert time.perf_counter() - begin < 20
    assert caught[0].filename == __file__
    chains, draws = results.draws.model.shape
    assert 1 <= chains <= 3
    assert 1 <= draws < 900_000
    assert results.draws.coefficients.shape[0] == chains
    assert results.inclusion["posterior"].between(0, 1).all()
    assert results.inclusion.loc["x0", "posterior"] > 0.5
    text = " ".join(str(results.summary()).split())
    assert f"Interrupted: {chains} of 3 chains with {draws:,} of 1,000,000 draws each." in text
    assert f"Chains x draws: {chains} x {draws:,}" in text
    assert results.predict().notna().all()


# There may be as few as forty draws, which has a warning of its own.
@pytest.mark.filterwarnings("ignore:The run has .* effective draws:pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("sampler", RUNNERS)
def test_the_draws_so_far_are_those_of_a_whole_run(monkeypatch, sampler):
    """An interrupted chain has taken the same way as one that was left alone."""
    model = make_model()
    options = {"sampler": sampler, "burn_in": 60, "chains": 1, "rng": 4, "progress": False}
    with monkeypatch.context() as patch:
        interrupt_when(patch, RUNNERS[sampler], lambda chain: chain.done > 100)
        with pytest.warns(rj.ConvergenceWarning, match="Interrupted"):
            part = model.fit(draws=1_000_000, **options)
    draws = min(part.draws.model.shape[1], part.draws.coefficients.shape[1] * part.draws.coefficients_every)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        whole = model.fit(draws=draws, **options)
    np.testing.assert_array_equal(part.draws.log_posterior[:, :draws], whole.draws.log_posterior)


@pytest.mark.parametrize("sampler", RUNNERS)
def test_before_the_first_draw_there_is_nothing_to_return(monkeypatch, sampler):
    interrupt_when(monkeypatch, RUNNERS[sampler], lambda chain: chain.done > 0)
    with pytest.raises(KeyboardInterrupt, match="before the first draw"):
        make_model().fit(sampler=sampler, draws=100, burn_in=10**9, chains=2, rng=1, progress=False)


def test_enumeration_raises(monkeypatch):
    """A part of the models do not give a posterior."""
    interrupt_when(monkeypatch, Values, lambda worker: True)
    with pytest.raises(KeyboardInterrupt, match="do not give a posterior"):
        make_model(terms=14).fit(sampler="enumerate", rng=1, progress=False)


def test_from_a_timer():
    """Nothing patched: the signal comes from outside, in the midst of a long run."""
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    model = make_model()
    timer.start()
    try:
        with pytest.warns(rj.ConvergenceWarning, match="Interrupted"):
            results = model.fit(
                sampler="rjmcmc", draws=10**8, burn_in=0, chains=2, rng=1, thin=10, progress=False
            )
    finally:
        timer.join()
    assert results.draws.model.size > 0
    # The model can be fitted again.
    assert not model.fit(rng=1, progress=False).models.empty
