"""Modes behind a bound: an expensive variable against several cheap ones."""

import warnings

import numpy as np
import pandas as pd
import pytest
from turns import by_turns

import pyrjsel as rj
from pyrjsel.selection.samplers.options import GibbsOptions
from pyrjsel.selection.samplers.registry import samplers_of


def problem(p, effect, kind=rj.linear, seed=0, n=150, **options):
    """x0 costs as much as five others, and y depends on x0 or on five others together."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, p))).add_prefix("x")
    eta = effect * data["x0"] + 0.45 * data[[f"x{j}" for j in range(1, 6)]].sum(axis=1)
    if kind is rj.linear:
        data["y"] = eta + rng.normal(size=n)
    elif kind is rj.logit:
        data["y"] = (rng.random(n) < 1 / (1 + np.exp(-2 * eta))).astype(int)
    else:
        data["y"] = rng.poisson(np.exp(0.5 * eta))
    costs = {f"x{j}": 2.0 if j else 10.0 for j in range(p)}
    return kind("y ~ .", data, costs=costs, budget=10, **options)


def quiet(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(progress=False, n_jobs=1, **options)


def assert_agree(found, exact):
    """Six Monte Carlo errors: 2e-9 a term. Mass of 1e-3 is missed by 8,000 draws with a chance of 1e-3."""
    table = found.inclusion
    assert np.all(np.abs(table["posterior"] - exact) < 6 * table["mcse"].fillna(0) + 2e-3)


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs"])
def test_both_modes_are_found(sampler):
    model = problem(20, 0.88125, seed=2, n=400)
    exact = quiet(model, sampler="enumerate").inclusion["posterior"]
    assert 0.05 < exact["x0"] < 0.95
    options = {"sampler": sampler, "draws": 2000, "chains": 4, "rng": 1}
    found = quiet(model, **options)
    assert_agree(found, exact)
    assert found.diagnostics["r_hat_size"]["all"] < 1.05
    assert 0 < found.diagnostics["acceptance_trade"]["all"] < 1
    stuck = quiet(model, **options, trades=0)
    # Each chain stays in the mode where it began.
    share = stuck.posterior.gamma[stuck.draws.model][:, :, 0].mean(axis=1)
    assert np.all((share == 0) | (share == 1))
    assert "acceptance_trade" not in stuck.diagnostics


@pytest.mark.parametrize(("kind", "effect", "seed"), [(rj.logit, 1.0, 0), (rj.poisson, 0.55, 1)])
def test_both_modes_are_found_on_a_surrogate(kind, effect, seed):
    model = problem(10, effect, kind, seed)
    exact = quiet(model, sampler="enumerate", rng=1).inclusion
    assert 0.02 < exact["posterior"]["x0"] < 0.98
    found = quiet(model, sampler="collapsed", draws=800, chains=2, rng=2)
    assert_agree(found, exact["posterior"])
    assert 0 < found.diagnostics["acceptance_trade"]["all"] < 1


@pytest.mark.parametrize(("heredity", "sampler"), by_turns(["strong", "weak"], ["collapsed", "gibbs"]))
def test_with_trades_the_posterior_is_that_of_enumeration(sampler, heredity):
    """Bounds bind, prices are shared by interactions, and one term is always in."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abcd"))
    data["y"] = 0.45 * data["a"] * data["b"] + 0.4 * data["c"] + 0.4 * data["a"] + rng.normal(size=50)
    costs = {"a": 3.0, "b": 1.0, "c": 2.0, "d": 1.0}
    options = {"costs": costs, "budget": 5, "always": "d", "max_size": 5, "heredity": heredity}
    model = rj.linear("y ~ (a + b + c)**2 + d", data, **options)
    exact = model.fit(sampler="enumerate").inclusion["posterior"]
    found = quiet(model, sampler=sampler, draws=4000, chains=2, rng=2, trades=3)
    assert_agree(found, exact)
    assert exact.between(0.02, 0.98).sum() >= 4
    assert found.diagnostics["acceptance_trade"]["all"] > 0


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs"])
def test_trades_go_on_where_they_ended(sampler):
    """With and without families, which have a place of their own among the counts."""
    for formula, heredity in (("y ~ .", None), ("y ~ (x0 + x1 + x2)**2", "strong")):
        rng = np.random.default_rng(4)
        data = pd.DataFrame(rng.normal(size=(80, 6))).add_prefix("x")
        data["y"] = data.sum(axis=1) / 3 + rng.normal(size=80)
        model = rj.linear(formula, data, heredity=heredity, max_size=3)
        options = {"sampler": sampler, "burn_in": 70, "chains": 2, "rng": 5}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rj.ConvergenceWarning)
            longer = quiet(model, draws=60, **options).extend(60, progress=False)
        once = quiet(model, draws=120, **options)
        np.testing.assert_array_equal(longer.draws.model, once.draws.model)
        moves = [name for name in once.diagnostics if name.startswith("acceptance")]
        assert ("acceptance_block" in moves) == (heredity is not None)
        assert "acceptance_trade" in moves
        pd.testing.assert_frame_equal(longer.diagnostics[moves], once.diagnostics[moves], check_exact=True)


def test_rates_of_trades():
    """Without bounds they fall with the number of free terms: where there are many, they cost little."""
    x = pd.DataFrame(np.random.default_rng(4).normal(size=(60, 40))).add_prefix("x")
    y = x["x0"].to_numpy() + np.random.default_rng(5).normal(size=60)

    def rates(terms, make=rj.LinearSelection, **constraints):
        response = y if make is rj.LinearSelection else (y > 0).astype(int)
        model = make(response, x.iloc[:, :terms], **constraints)
        kind = samplers_of(model.regression)["collapsed"].options
        gibbs = GibbsOptions().proposed_trades(model.space)
        return kind().trade_rate(model.space), kind(trades=2.0).trade_rate(model.space), gibbs

    assert rates(5) == rates(20) == (0.5, 2.0, 0)
    assert rates(40) == (0.25, 2.0, 0)
    assert rates(40, always=[f"x{j}" for j in range(15)]) == (0.4, 2.0, 0)
    assert rates(40, max_size=9) == (3.0, 2.0, 3)
    np.testing.assert_allclose(rates(40, rj.LogitSelection)[0], 0.25 / 3, rtol=1e-15)


def test_a_fit_without_bounds_has_trades():
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.normal(size=(60, 5))).add_prefix("x")
    data["y"] = data["x0"] + rng.normal(size=60)
    model, options = rj.linear("y ~ .", data), {"sampler": "collapsed", "draws": 50, "rng": 1}
    without, zero, asked = (quiet(model, **options, **more) for more in ({}, {"trades": 0}, {"trades": 2}))
    assert "acceptance_trade" not in zero.diagnostics
    for results in (without, asked):
        assert results.diagnostics["acceptance_trade"]["all"] > 0


@pytest.mark.parametrize(("sampler", "wrong"), [("collapsed", -1), ("collapsed", np.nan), ("gibbs", 0.5)])
def test_a_number_of_trades_that_makes_no_sense(sampler, wrong):
    with pytest.raises(rj.ParameterError, match="'trades'"):
        problem(8, 0.9).fit(sampler=sampler, trades=wrong)
