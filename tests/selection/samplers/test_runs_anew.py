"""Runs that stop by themselves begin anew at models that their audit finds."""

import os
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from interrupts import interrupt_when

import pyrjsel as rj
from pyrjsel.runtime import checkpoint as checkpoints
from pyrjsel.runtime.checkpoint import ChainFile
from pyrjsel.selection.samplers import runs
from pyrjsel.selection.samplers.collapsed.chain import CollapsedChain
from pyrjsel.selection.samplers.collapsed.sampler import Collapsed
from pyrjsel.selection.samplers.mode_search.search import starts_anew
from pyrjsel.selection.samplers.runs import audit_of

CHEAP = ("x1", "x2", "x3", "x4", "x5")
NOTE = "The run was restarted from a model that the audit found: x0."


def two_modes(family="linear", p=14):
    """x0, for all of the budget, or five cheap columns: of about the same posterior probability."""
    rng = np.random.default_rng(1)
    x = pd.DataFrame(rng.normal(size=(200, p))).add_prefix("x")
    noise, u = rng.normal(size=200), rng.random(200)
    costs = {name: 10.0 if name == "x0" else 2.0 for name in x}
    eta = {"linear": 1.107 * x["x0"] + 0.45 * x[list(CHEAP)].sum(axis=1)}
    eta["logit"] = 1.94 * x["x0"] + 0.9 * x[list(CHEAP)].sum(axis=1)
    y = eta["linear"] + noise if family == "linear" else u < 1 / (1 + np.exp(-eta["logit"]))
    make = {"linear": rj.LinearSelection, "logit": rj.LogitSelection}[family]
    return make(y.to_numpy(), x, costs=costs, budget=10.0)


@pytest.fixture(scope="module")
def linear():
    return two_modes()


# What moves between the modes is switched off.
STAY = {"collapsed": {"trades": 0, "temperatures": 1}, "gibbs": {"trades": 0}, "rjmcmc": {"trades": 0}}
STAY["population"] = {"trades": 0, "hot": (), "cold": (2.0, 4.0)}


def fit(model, sampler="collapsed", **options):
    """Results, and the texts of their warnings."""
    usual = {"start": CHEAP, "max_draws": 100, "burn_in": 20, "rng": 1, "n_jobs": 1, "progress": False}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = model.fit(sampler=sampler, **{**usual, **STAY[sampler], **options})
    assert all(warning.category is rj.ConvergenceWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return results, [str(warning.message) for warning in caught]


def same(one, two):
    """The draws, probabilities and audits are the same to the last bit."""
    for result in (one, two):
        assert result.settings.anew is not None
    gamma = [result.posterior.packed[result.draws.model.ravel()] for result in (one, two)]
    np.testing.assert_array_equal(*gamma)
    np.testing.assert_array_equal(one.draws.log_posterior, two.draws.log_posterior)
    pd.testing.assert_frame_equal(one.inclusion, two.inclusion)
    pd.testing.assert_frame_equal(one.audit, two.audit)
    for name in ("found", "starts"):
        np.testing.assert_array_equal(*(getattr(result.settings.anew, name) for result in (one, two)))


def starts_of(results):
    return [results.model.space.terms_of(gamma) for gamma in results.settings.anew.starts]


@pytest.mark.parametrize("sampler", STAY)
def test_a_run_begins_anew_at_what_it_has_missed(linear, sampler):
    results, texts = fit(linear, sampler)
    assert ("x0",) in starts_of(results)
    assert any(set(CHEAP[:4]) <= set(start) for start in starts_of(results))
    assert results.audit.loc["x0", "visited"]
    assert results.posterior.audit.clean
    assert results.settings.draws == results.draws.model.shape[1] == 100
    # Chains that cannot move between the modes: there are some at each.
    has = {bool(results.posterior.packed[rows][:, 0].any()) for rows in results.draws.model}
    assert has == {True, False}
    assert not any(text.startswith("No chain visited") for text in texts)
    assert NOTE in " ".join(str(results.summary()).split())


def test_so_do_runs_of_other_families():
    model = two_modes("logit")
    results, _ = fit(model, pairs=8, max_draws=40, burn_in=0)
    assert ("x0",) in starts_of(results)
    assert results.audit.loc["x0", "visited"]


def test_a_number_of_draws_is_just_so_many(linear):
    results, texts = fit(linear, draws=100, max_draws=100_000)
    assert results.settings.anew is None
    assert any(text.startswith("No chain visited the model x0.") for text in texts)


def test_what_was_drawn_before_is_let_go(linear):
    """Draws are those of a run of its own seeds that was told where to start, and of nothing else.

    The first run takes the first children of the seed, one for each of four chains.
    """
    results, _ = fit(linear)
    seed = np.random.SeedSequence(1)
    first, second = seed.spawn(4), seed.spawn(4)
    assert first[0].spawn_key != second[0].spawn_key
    settings = results.settings
    starts = settings.anew.starts
    job = Collapsed().job(linear.regression, linear.space, settings, results.options, b"")
    np.testing.assert_array_equal(job.starts, starts)
    for chain, child in enumerate(second):
        runner = job.start(child, chain)
        runner.advance(job.total)
        drawn = runner.look()
        np.testing.assert_array_equal(drawn.log_posterior, results.draws.log_posterior[chain])


def test_right_where_chains_move_between_modes(linear):
    """An error of five times the Monte Carlo error that was asked for has a probability of 6e-7."""
    exact = linear.fit(sampler="enumerate").inclusion["posterior"]
    assert 0.2 < exact["x0"] < 0.8
    began = 0
    for seed in range(4):
        # A first run of 200 draws, whose chains seldom move.
        options = {"trades": 0.3, "mcse": 0.02, "max_draws": 100_000, "chains": 2}
        results, texts = fit(linear, rng=seed, **options)
        assert texts == []
        began += results.settings.anew is not None
        assert abs(results.inclusion["posterior"] - exact).max() < 5 * 0.02
        assert results.inclusion["mcse"].max() <= 0.02
    assert began <= 4


@pytest.mark.parametrize("sampler", STAY)
def test_workers_checkpoints_and_files(linear, sampler, tmp_path):
    one, _ = fit(linear, sampler)
    two, _ = fit(linear, sampler, n_jobs=2, checkpoint=tmp_path / "run")
    same(one, two)
    names = {file.name for file in (tmp_path / "run").iterdir()}
    assert {f"{sampler}-0.rjs", f"{sampler} run 2-0.rjs"} <= names
    again, _ = fit(linear, sampler, checkpoint=tmp_path / "run", rng=None)
    same(one, again)
    longer, _ = fit(linear, sampler, max_draws=150)
    one.save(tmp_path / "one.rj", data=True)
    loaded = rj.load(tmp_path / "one.rj")
    assert NOTE in " ".join(str(loaded.summary()).split())
    for part in (one, loaded):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rj.ConvergenceWarning)
            extended = part.extend(50, n_jobs=1, progress=False)
        same(extended, longer)
        assert NOTE in " ".join(str(extended.summary()).split())


class Stop(Exception):
    pass


@pytest.mark.parametrize("family", ["linear", "logit"])
def test_killed_runs_go_on(family, monkeypatch, tmp_path):
    """Crashes right after a write, in the first and in the second run, leave no trace."""
    model = two_modes(family)
    # A chain that learns in burn-in finds both modes of a logistic model.
    options = {"max_draws": 40, **({"pairs": 8, "burn_in": 0} if family == "logit" else {})}
    wanted, _ = fit(model, **options)
    chance, save, crashes = np.random.default_rng(4), ChainFile.save, []

    def saved(self, done, seconds, runner):
        save(self, done, seconds, runner)
        again = "run 2" in self._state.name
        if crashes.count(again) < 4 and chance.random() < 0.4:
            crashes.append(again)
            raise Stop

    monkeypatch.setattr("pyrjsel.runtime.chains.BLOCK_SECONDS", 0.002)
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    monkeypatch.setattr(ChainFile, "save", saved)
    results = None
    while results is None:
        try:
            results, _ = fit(model, checkpoint=tmp_path / "run", **options)
        except Stop:
            continue
    assert crashes.count(True) == crashes.count(False) == 4
    same(wanted, results)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
@pytest.mark.parametrize("after", [60, 10])
def test_interrupted_runs_go_on(linear, monkeypatch, after):
    """Ctrl-C in the second run, where its chains have draws, or some of them are in burn-in."""
    wanted, _ = fit(linear, burn_in=40, max_draws=100)

    def due(chain):
        enough = chain.done > after if chain.number == 1 else chain.done >= 60
        return "start" not in vars(chain.job) and len(set(map(bytes, chain.job.starts))) > 1 and enough

    with monkeypatch.context() as patch:
        patch.setattr("pyrjsel.runtime.chains.BLOCK_SECONDS", 1e-4)
        sent = interrupt_when(patch, CollapsedChain, due)
        some, texts = fit(linear, burn_in=40, max_draws=100)
    assert sent
    assert any(text.startswith("Interrupted: ") for text in texts)
    assert some.settings.anew is not None
    assert some.draws.model.shape[1] < 100
    have = some.draws.model.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        same(some.extend(100 - have, n_jobs=1, progress=False), wanted)


def test_an_interrupted_run_does_not_begin_anew(linear, monkeypatch):
    find = runs.audit_of

    def interrupted(model, posterior):
        posterior.ends = replace(posterior.ends, complete=False)
        return find(model, posterior)

    monkeypatch.setattr(runs, "audit_of", interrupted)
    results, texts = fit(linear)
    assert results.settings.anew is None
    assert any(text.startswith("No chain visited") for text in texts)


def test_no_run_begins_anew_after_the_seconds_that_it_has(linear):
    results, texts = fit(linear, max_seconds=1e-9)
    assert results.settings.anew is None
    assert any(text.startswith("No chain visited") for text in texts)


def test_twice_at_most(linear, monkeypatch):
    """An audit that finds the same again and again ends in a warning."""
    audits = []

    def never_clean(model, posterior):
        audits.append(audits[0] if audits else audit_of(model, posterior))
        return audits[-1]

    monkeypatch.setattr(runs, "audit_of", never_clean)
    results, texts = fit(linear)
    assert len(audits) == 1 + runs.MOST_ANEW == 3
    assert any(text.startswith("No chain visited the model x0.") for text in texts)
    words = " ".join(str(results.summary()).split())
    assert "The run was restarted twice, from models that the audits found: x0; x0." in words
    assert results.settings.anew.found.shape == (2, linear.space.n_terms)


def test_the_progress_bar_says_which_run(linear, capsys):
    fit(linear, progress=True)
    shown = capsys.readouterr().err
    assert re.search(r"collapsed run 2", shown)
    assert shown.index("collapsed") < shown.index("collapsed run 2")


def test_starts(linear):
    """Every mode that matters has a chain, and the first one has in any case."""
    space = linear.space
    x0, cheap, nearby, empty = (space.empty_model() for _ in range(4))
    x0[0], cheap[1:6], nearby[1:5] = 1, 1, 1

    def chains_at(models, chains):
        found = starts_anew(linear.regression, space, models, chains)
        return [space.terms_of(gamma) for gamma in found]

    four = chains_at([x0, cheap], 4)
    assert set(four) == {("x0",), CHEAP}
    assert chains_at([x0, cheap], 1) == [("x0",)]
    assert chains_at([cheap, x0], 1) == [CHEAP]
    # Those that lead up to a mode that is there do not count again.
    assert chains_at([x0, cheap, nearby], 4) == four
    # Of models that do not matter the first alone has a chain.
    assert chains_at([x0, cheap, empty], 4) == four
    assert starts_anew(linear.regression, space, [cheap, x0], 4).dtype == np.uint8


def test_files_of_a_run_that_began_anew_at_something_else_are_refused(linear, tmp_path):
    results, _ = fit(linear)
    good, settings = results.settings.anew, results.settings
    for bad in (
        replace(good, starts=np.ones_like(good.starts)),
        replace(good, starts=good.starts[:2]),
        replace(good, found=good.found[:0]),
        replace(good, found=3 * good.found),
        replace(good, found=good.found[:, 1:]),
    ):
        results.settings = replace(settings, anew=bad)
        results.save(tmp_path / "bad.rj")
        with pytest.raises(rj.StoreError):
            rj.load(tmp_path / "bad.rj")
    results.settings = settings
    results.save(tmp_path / "good.rj")
    assert rj.load(tmp_path / "good.rj").settings.anew is not None
