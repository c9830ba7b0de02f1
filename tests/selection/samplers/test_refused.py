"""Runs whose surrogates do not fit: made again with Laplace values as surrogates, then by another sampler."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.report._batches import Batches
from pyrjsel.selection.samplers.collapsed import sampler as collapsed
from pyrjsel.selection.samplers.recording import rao_blackwell

QUIET = {"n_jobs": 1, "progress": False}


def separating():
    """A level of three rows that separates, under a wide prior: no quadratic fits with and without it."""
    rng = np.random.default_rng(502)
    n = 60
    f = np.array(list("pqrs"))[np.where(np.arange(n) < 3, 3, rng.integers(0, 3, n))]
    x = rng.standard_normal((n, 4))
    b = (rng.random(n) < 0.15).astype(float)
    y = (rng.random(n) < 1 / (1 + np.exp(0.5 - 3.5 * x[:, 0] - 1.5 * x[:, 1] - 2 * b))).astype(float)
    y[:3] = 1
    data = pd.DataFrame(x, columns=list("uvwx")).assign(f=f, b=b, y=y)
    return rj.logit("y ~ u + v + w + x + f + b", data, coef_prior=rj.Normal(25.0), model_prior=rj.Uniform())


@pytest.fixture(scope="module")
def ordinary():
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(120, 5)), columns=[*"abcde"])
    y = rng.random(120) < 1 / (1 + np.exp(-x["a"].to_numpy()))
    return rj.LogitSelection(y.astype(int), x)


@pytest.mark.filterwarnings("ignore::pyrjsel.SeparationWarning")
def test_a_level_that_separates_is_right_by_name():
    """Inclusion of f was .008 with an MCSE of .0045, or 100,000 draws did not converge.

    Six differences at 5 times errors that are known to a tenth: below 1e-5.
    """
    model = separating()
    exact = model.fit(sampler="enumerate", rng=0, **QUIET).inclusion
    results = model.fit(sampler="collapsed", rng=0, **QUIET)
    found = results.inclusion
    assert results.diagnostics["acceptance_surrogate"].min() > 0.8
    error = np.hypot(found["mcse"].fillna(0.0), exact["mcse"]) + 1e-4
    assert np.all(np.abs(found["posterior"] - exact["posterior"]) < 5 * error)


def refused(monkeypatch, rate):
    """Let runs be given up below an acceptance rate, and return the jobs that chains are made for."""
    jobs, setup = [], collapsed.CorrectedCollapsed.setup

    def watched(self, regression, space, settings, options, entropy):
        moves = setup(self, regression, space, settings, options, entropy)
        object.__setattr__(moves, "refused", rate if moves.refused else 0.0)
        jobs.append(moves)
        return moves

    monkeypatch.setattr(collapsed.CorrectedCollapsed, "setup", watched)
    return jobs


def test_who_takes_over(monkeypatch, ordinary):
    jobs = refused(monkeypatch, 1.1)
    monkeypatch.setattr("pyrjsel.selection.samplers.registry.most_enumerated", lambda *given: 1)
    results = ordinary.fit(rng=1, mcse=0.02, **QUIET)
    assert [job.modes for job in jobs] == [False, True]
    assert results.sampler == "rjmcmc"
    assert results.settings.burn_in == 500
    assert results.options.surrogate == 1


def test_what_is_asked_for_by_name_stays(monkeypatch, ordinary):
    jobs = refused(monkeypatch, 1.1)
    results = ordinary.fit(sampler="collapsed", rng=1, mcse=0.02, **QUIET)
    assert [job.modes for job in jobs] == [False, True]
    assert results.sampler == "collapsed"
    longer = results.extend(10, **QUIET)
    assert [job.refused for job in jobs[2:]] == [0.0]
    assert longer.settings.draws == results.settings.draws + 10


@pytest.mark.parametrize("given", [{"draws": 300}, {"burn_in": 50}])
def test_runs_of_a_given_length_are_not_given_up(monkeypatch, ordinary, given):
    jobs = refused(monkeypatch, 1.1)
    options = {"mcse": 0.05} if "burn_in" in given else {}
    results = ordinary.fit(sampler="collapsed", rng=1, **given, **options, **QUIET)
    assert [job.refused for job in jobs] == [0.0]
    if "burn_in" in given:
        assert results.settings.burn_in == 50


def test_given_up_runs_resume(monkeypatch, ordinary, tmp_path):
    refused(monkeypatch, 1.1)
    options = {"sampler": "collapsed", "rng": 1, "mcse": 0.02, **QUIET}
    wanted = ordinary.fit(**options)
    for _ in range(2):
        found = ordinary.fit(checkpoint=tmp_path / "run", **options)
        np.testing.assert_array_equal(found.draws.model, wanted.draws.model)
    assert {path.name.split("-")[0] for path in (tmp_path / "run").glob("*.draws")} == {
        "collapsed",
        "collapsed attempt 2",
    }


def test_stuck_chains_are_said_and_what_to_do(monkeypatch, ordinary):
    monkeypatch.setattr(collapsed, "LEAST_WALKS", 1.1)
    with pytest.warns(rj.ConvergenceWarning, match="leave out 'burn_in', or use sampler='rjmcmc'"):
        ordinary.fit(sampler="collapsed", draws=200, burn_in=50, rng=2, **QUIET)


def test_control_variates_that_are_biased_are_not_used():
    """The surrogate has a term in .37 of its models that no draw has: averages along its paths say so.

    A control variate of the same size whose mean is 0 is used.
    """
    plan, rng = Batches(200, 20, 10), np.random.default_rng(1)
    batches = np.zeros((4, 10, rao_blackwell.CORRECTED_ROWS, 2))
    batches[:, :, rao_blackwell.WEIGHTS] = batches[:, :, rao_blackwell.SQUARES] = 1.0
    visits = 0.5 + 0.1 * rng.normal(size=(4, 10))
    for row in (rao_blackwell.VISITS, rao_blackwell.WEIGHTED_VISITS, rao_blackwell.SQUARED_VISITS):
        batches[:, :, row, 0] = visits
    for hidden, words in ((0.0, "control variates"), (0.37, "visit frequencies")):
        batches[:, :, rao_blackwell.WEIGHTED_H] = np.stack(
            [0.5 + 0.0 * visits, hidden + 0.0 * visits], axis=2
        )
        batches[:, :, rao_blackwell.WEIGHTED_NOT_H] = 1.0 - batches[:, :, rao_blackwell.WEIGHTED_H]
        found, _, said = rao_blackwell._corrected(batches.mean(axis=1), batches, plan)
        assert said.endswith(words)
        assert found[0][1] == 0.0


def test_modes_that_only_the_audit_found_are_in_the_error():
    """One dear variable in place of five cheap ones: .0017 of the posterior, which no chain visits."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.standard_normal((100, 9))).add_prefix("x")
    noise = rng.standard_normal((3, 100))[2]
    y = 0.525 * x[["x1", "x2", "x3", "x4", "x5"]].sum(axis=1) + 1.064 * x["x0"] + noise
    costs = {name: 10.0 if name == "x0" else 2.0 for name in x}
    model = rj.LinearSelection(y, x, costs=costs, budget=10.0)
    exact = model.fit(sampler="enumerate").inclusion.loc["x0", "posterior"]
    start = ["x1", "x2", "x3", "x4", "x5"]
    options = {"sampler": "collapsed", "draws": 200, "burn_in": 0, "trades": 0, "start": start, "rng": 1}
    found = model.fit(**options, **QUIET)
    assert not found.audit.loc["x0", "visited"]
    assert found.inclusion.loc["x0", "posterior"] == 0.0
    assert 0.9 * exact < found.inclusion.loc["x0", "mcse"] < 1.2 * exact
