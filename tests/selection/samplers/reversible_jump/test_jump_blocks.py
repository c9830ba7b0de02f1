"""Trades and families of `rjmcmc` and `population`: against enumeration, and across a bound."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from turns import by_turns

import pyrjsel as rj
from pyrjsel.selection.regression.gaussian_rows import GaussianRows
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import entry_weights

MAKE = {"linear": rj.linear, "logit": rj.logit, "poisson": rj.poisson}
# Seeds and effects of the dear variable where both modes, with it and without, have mass.
TWO_MODES = {"linear": (4, 0.6), "logit": (4, 0.3), "poisson": (3, 0.4)}


def frame(kind, seed, n=120, p=7, dear=0.5, cheap=0.3, factor=False):
    """The response depends on x0 and on x1 to x3, all of them independent."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    if factor:
        data["f"] = rng.choice(list("uvw"), n)
    eta = dear * data["x0"] + cheap * data[["x1", "x2", "x3"]].sum(axis=1)
    if kind == "linear":
        data["y"] = eta + rng.normal(size=n)
    elif kind == "logit":
        data["y"] = (rng.random(n) < 1 / (1 + np.exp(-2 * eta))).astype(int)
    else:
        data["y"] = rng.poisson(np.exp(eta))
    return data


def quiet(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(progress=False, n_jobs=1, **options)


def priced(kind, data, dear=6.0, **options):
    columns = [name for name in data if name != "y"]
    costs = {name: dear if name == "x0" else 2.0 for name in columns}
    return MAKE[kind]("y ~ .", data, costs=costs, budget=6.0, **options)


@pytest.mark.parametrize(("sampler", "kind"), by_turns(["rjmcmc", "population"], list(MAKE)))
def test_under_a_budget_the_posterior_is_that_of_enumeration(kind, sampler):
    seed, dear = TWO_MODES[kind]
    model = priced(kind, frame(kind, seed, dear=dear, factor=True))
    exact = model.fit(sampler="enumerate").inclusion["posterior"]
    found = quiet(model, sampler=sampler, draws=3000, burn_in=300, chains=4, rng=2, trades=4)
    table = found.inclusion
    # Seven Monte Carlo errors, themselves known to a fifth, of eight terms: 1e-7. What 12,000 draws have
    # never met has a mass below 1.4e-3 but for a chance of 1e-7.
    assert np.all(np.abs(table["posterior"] - exact) < 7 * table["mcse"].fillna(0) + 1.4e-3)
    assert exact.between(0.03, 0.97).sum() >= 3
    assert 0.1 < exact["x0"] < 0.9
    assert found.diagnostics["acceptance_trade"]["all"] > 0


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_a_mode_behind_a_budget_is_found(sampler):
    """x0 alone is better than the three cheap variables, between which and it flips and swaps do not lead."""
    data = frame("linear", 5, n=600, p=24, dear=1.2, cheap=0.5)
    model = priced("linear", data)
    start = ["x1", "x2", "x3"]
    found = quiet(model, sampler=sampler, draws=200, burn_in=400, chains=2, rng=1, start=start)
    assert found.inclusion["posterior"]["x0"] > 0.999
    if sampler == "rjmcmc":
        stuck = quiet(model, sampler=sampler, draws=200, burn_in=400, chains=2, rng=1, start=start, trades=0)
        assert stuck.inclusion["posterior"]["x0"] == 0


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_an_interaction_behind_a_budget_is_found(sampler):
    """It needs two main effects that say nothing, and the place of the two terms that are there."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde"))
    data["y"] = data["a"] * data["b"] + 0.4 * (data["c"] + data["d"]) + rng.normal(size=200)
    model = rj.linear("y ~ (a + b + c)**2 + d + e", data, heredity="strong", max_size=3)
    exact = model.fit(sampler="enumerate").inclusion["posterior"]
    found = quiet(model, sampler=sampler, draws=500, burn_in=300, chains=2, rng=1, start=["c", "d", "e"])
    assert exact["a:b"] > 0.999
    assert found.inclusion["posterior"]["a:b"] > 0.999


@pytest.mark.parametrize("options", [{}, {"max_size": 3}, {"costs": dict.fromkeys("abc", 2), "budget": 4}])
@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_where_there_is_nothing_to_do_draws_are_what_they_were(sampler, options):
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    data["y"] = data["a"] + rng.normal(size=60)
    model = rj.linear("y ~ a + b + c", data, **options)
    fit = {"sampler": sampler, "draws": 40, "burn_in": 20, "chains": 1, "rng": 1}
    found, without = quiet(model, **fit), quiet(model, **fit, trades=0, blocks=0)
    np.testing.assert_array_equal(found.draws.log_posterior, without.draws.log_posterior)
    assert not {"acceptance_trade", "acceptance_block"} & set(found.diagnostics)


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_runs_with_trades_go_on_where_they_ended(sampler, tmp_path):
    model = priced("poisson", frame("poisson", 4))
    fit = {"sampler": sampler, "burn_in": 70, "chains": 2, "rng": 5}
    once = quiet(model, draws=120, **fit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        longer = quiet(model, draws=60, **fit).extend(60, progress=False)
    stored = quiet(model, draws=120, checkpoint=tmp_path / "run", **fit)
    moves = [name for name in once.diagnostics if name.startswith("acceptance")]
    assert "acceptance_trade" in moves
    for other in (longer, stored):
        np.testing.assert_array_equal(other.draws.model, once.draws.model)
        np.testing.assert_array_equal(other.draws.log_posterior, once.draws.log_posterior)
        pd.testing.assert_frame_equal(other.diagnostics[moves], once.diagnostics[moves], check_exact=True)


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_uniform_entries_have_the_same_posterior(sampler):
    model = priced("linear", frame("linear", 4, dear=0.6, factor=True))
    exact = model.fit(sampler="enumerate").inclusion["posterior"]
    found = quiet(model, sampler=sampler, draws=1500, burn_in=200, chains=2, rng=2, entry="uniform")
    other = quiet(model, sampler=sampler, draws=1500, burn_in=200, chains=2, rng=2)
    assert (found.draws.model != other.draws.model).any()
    # As above, for 3,000 draws: what these have not met has a mass below 5.4e-3 but for a chance of 1e-7.
    table = found.inclusion
    assert np.all(np.abs(table["posterior"] - exact) < 7 * table["mcse"].fillna(0) + 5.4e-3)


@pytest.mark.parametrize("kind", MAKE)
def test_scores_are_those_of_one_column_beside_the_intercept(kind):
    data = frame(kind, 4, factor=True)
    rng, n = np.random.default_rng(1), len(data)
    options = {"offset": rng.normal(size=n) / 3, "weights": rng.integers(1, 4, n).astype(float)}
    model = priced(kind, data, **options)
    rows = GaussianRows.of(model.regression) if kind == "linear" else model.regression
    x, y, w = model.data.X, data["y"].to_numpy(float), options["weights"]
    a = brentq(lambda a: w @ (y - mean(kind, a + options["offset"])), -20, 20, xtol=1e-14)
    mu = mean(kind, a + options["offset"])
    curvature = {"linear": np.ones(n), "logit": mu * (1 - mu), "poisson": mu}[kind] * w
    scale = n / (w @ (y - mu) ** 2) if kind == "linear" else 1.0
    wanted = []
    for column in x.T:
        both = np.column_stack([np.ones(n), column])
        information = both.T @ (curvature[:, None] * both)
        score = both.T @ (w * (y - mu))
        wanted.append(score @ np.linalg.lstsq(information, score, rcond=1e-12)[0] * scale)
    # Sums of 120 products, and cancellation in the information of columns of the order of one.
    np.testing.assert_allclose(rows.scores(), wanted, rtol=1e-9, atol=1e-12)
    weights = entry_weights(rows, model.space)
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert np.all(weights >= 0.5 / weights.size)
    assert np.argmax(weights) == np.argmax([np.mean(rows.scores()[a - 1 : b - 1]) for a, b in pairs(rows)])


def mean(kind, eta):
    return {"linear": eta, "logit": 1 / (1 + np.exp(-eta)), "poisson": np.exp(eta)}[kind]


def pairs(rows):
    return zip(rows.term_start[:-1], rows.term_start[1:], strict=True)


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_entries_that_are_unknown(sampler):
    with pytest.raises(rj.ParameterError, match="'entry'"):
        priced("linear", frame("linear", 3)).fit(sampler=sampler, entry="best")


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
@pytest.mark.parametrize("name", ["trades", "blocks"])
@pytest.mark.parametrize("value", [-1, 1.5, "many"])
def test_numbers_that_make_no_sense(sampler, name, value):
    model = priced("linear", frame("linear", 3))
    with pytest.raises(rj.ParameterError, match=f"'{name}'"):
        model.fit(sampler=sampler, **{name: value})
