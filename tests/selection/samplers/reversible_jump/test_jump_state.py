"""Gaussian reversible jumps from call to call: states, rows in chunks, and what results show of them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.regression.gaussian_rows import GaussianRows
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.reversible_jump.population import PopulationChain, PopulationMoves
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import JumpMoves, RJMCMCChain, make_chain
from pyrjsel.selection.samplers.reversible_jump.temperatures import POINTS, Law

NAMES, SIZES = ["a", "b", "c"], (1, 2, 1)
BURN_IN, DRAWS, EVERY = 110, 60, 2


def make_job(linear_kit, sampler, prior):
    case = linear_kit.case(SIZES, linear_kit.priors[prior], names=NAMES, signal=0.3, weighted=True)
    rows = GaussianRows.of(case.regression)
    if sampler == "rjmcmc":
        return Job(RJMCMCChain, JumpMoves(swaps=2), rows, case.space, DRAWS, BURN_IN, 1, None, EVERY)
    laws = (Law("cold", 2.0, 4.0), Law("hot", 7.0, 3.0).above(rows.least_power(3)))
    moves = PopulationMoves(swaps=2, laws=laws, scheme=sampler.split()[1], tune=True)
    return Job(PopulationChain, moves, rows, case.space, DRAWS, BURN_IN, 1, None, EVERY)


@pytest.mark.parametrize("prior", ["g", "hyper-g", "unscaled"])
@pytest.mark.parametrize("sampler", ["rjmcmc", "population exact", "population fixed"])
def test_an_interrupted_chain_goes_on_to_the_same_draws(linear_kit, sampler, prior):
    job = make_job(linear_kit, sampler, prior)
    job = pickle.loads(pickle.dumps(job))
    whole = job.start(np.random.SeedSequence(4), 1)
    whole.advance(job.total)
    expected = whole.finish(True)
    assert expected.coefficients.shape == (DRAWS // EVERY, 5)
    assert np.unique(expected.nuisance["variance"]).size == DRAWS // EVERY
    for stop in (0, 3, BURN_IN, BURN_IN + 7, job.total - 1):
        first = job.start(np.random.SeedSequence(4), 1)
        first.advance(stop)
        second = job.kind(job, pickle.loads(pickle.dumps(first.state())))
        second.advance(job.total - stop)
        parts = [first.finish(True), second.finish(True)]
        for name in ("log_posterior", "coefficients"):
            found = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_array_equal(found, getattr(expected, name), err_msg=name)
        found = np.concatenate([part.nuisance["variance"] for part in parts])
        np.testing.assert_array_equal(found, expected.nuisance["variance"])
        assert second.rng.bit_generator.state == whole.rng.bit_generator.state


@pytest.mark.parametrize("variance", [0.0, -1.0, np.inf, np.nan])
def test_sigma_must_be_positive(linear_kit, variance):
    case = linear_kit.case(SIZES, linear_kit.priors["g"], names=NAMES)
    rows = GaussianRows.of(case.regression)
    for vector in ([0.0] * 5 + [variance, 0.0], [0.0] * 5):
        with pytest.raises(ValueError, match="must"):
            make_chain(rows,
                case.space, np.zeros(3, dtype=np.uint8), np.array(vector), max_columns=5,
                raw_shift=rows.raw_shift, n_swaps=0,
            )  # fmt: skip


def test_laws_of_temperatures_above_the_least():
    law, plain = Law("hot", 7.0, 3.0).above(0.4), Law("hot", 7.0, 3.0)
    assert law.mean == pytest.approx(0.4 + 0.6 * plain.mean)
    np.testing.assert_allclose(law.grid(), 0.4 + 0.6 * plain.grid(), rtol=1e-12)
    assert law.grid().shape == (POINTS,)
    lacks = law.logpdf(law.grid()) - plain.logpdf(plain.grid())
    np.testing.assert_allclose(lacks, lacks[0], rtol=0, atol=1e-10)
    for rate in (0.0, 0.5, 1.0):
        moved, other = (each.moved(rate, 3, each.bounds()) for each in (law, plain))
        assert moved == other.above(0.4)
    assert Law("cold", 2.0, 4.0).above(0.4) == Law("cold", 2.0, 4.0)


@pytest.mark.parametrize("scheme", ["exact", "fixed"])
def test_temperatures_of_a_fit_begin_where_powers_are_proper(linear_kit, scheme):
    case = linear_kit.case(SIZES, linear_kit.priors["hyper-g"], n=8, names=NAMES)
    rows = GaussianRows.of(case.regression)
    least, laws = rows.least_power(3), [Law("hot", 0.5, 9.5), Law("cold", 2.0, 4.0)]
    assert least == pytest.approx(7 / 14)
    laws = tuple(law.above(least) for law in laws)
    moves = PopulationMoves(swaps=2, laws=laws, scheme=scheme, tune=True)
    job = Job(PopulationChain, moves, rows, case.space, 100, 400, 1, None, 1)
    runner = job.start(np.random.SeedSequence(4), 1)
    runner.advance(500)
    grid = runner.grid
    assert np.all(grid[0] > least)
    assert np.all(grid[0] < 1)
    assert np.all(grid[1] > 1)
    vectors = runner.state().values["b"]
    assert np.all(np.isfinite(vectors))
    assert np.all(vectors[:, -2] > 0)


# ---------------------------------------------------------------------- what users see


def data(n=60):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(n, 4)) + 5, columns=["u", "v", "x", "z"])
    frame["f"] = rng.choice(["p", "q", "r"], n)
    frame["y"] = 3 + frame["u"] + 0.5 * frame["x"] * (frame["f"] == "q") + rng.normal(size=n)
    return frame


def fit(model, **options):
    with warnings.catch_warnings():
        # Chains this short may disagree.
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(draws=1500, rng=5, n_jobs=1, progress=False, **options)


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_results(sampler):
    frame = data()
    model = rj.linear("y ~ u + v + f + x", frame, coef_prior=rj.ZellnerSiow())
    results, exact = fit(model, sampler=sampler), fit(model, sampler="enumerate")
    # Errors of 6,000 dependent draws are some 2 % of a standard deviation, and those of the 4,000 independent
    # ones of the enumeration's intervals as much: five of both together, and more in the tails.
    spread = exact.bse.to_numpy()
    assert np.all(np.abs(results.params - exact.params) < 0.12 * spread)
    assert np.all(np.abs(results.conf_int() - exact.conf_int()).to_numpy() < 0.35 * spread[:, None])
    assert results.sigma["mean"].to_numpy() == pytest.approx(exact.sigma["mean"], rel=0.02)
    ends = ["ci_lower", "ci_upper"]
    assert results.sigma[ends].to_numpy() == pytest.approx(exact.sigma[ends].to_numpy(), rel=0.06)
    new = frame.head(7)
    found, want = (run.get_prediction(new).summary_frame() for run in (results, exact))
    scale = float(exact.sigma.loc["sigma", "mean"])
    assert np.all(np.abs(found - want).to_numpy() < 0.15 * scale)
    assert results.posterior_predictive(new, draws=50).shape == (7, 50)
    assert results.draws.variance.shape == results.draws.coefficients.shape[:2]
    assert results.diagnostics.loc["all", "acceptance_coefficients"] > 0.9
    # Exact marginal likelihoods of the visited models.
    logs = exact.models.set_index("terms")["log_marginal"]
    row = results.models.iloc[0]
    assert row["log_marginal"] == pytest.approx(logs[row["terms"]], rel=1e-9)
    text = str(results.summary())
    assert sampler in text
    assert "Sigma, 95 % interval" in text


def test_sigma_of_every_sampler_is_that_of_the_enumeration():
    model = rj.linear("y ~ u + v + f + x", data(), sigma_prior=rj.InverseGamma(2, 1))
    tables = {s: fit(model, sampler=s).sigma for s in ("enumerate", "collapsed", "gibbs", "rjmcmc")}
    for table in tables.values():
        assert list(table.index) == ["sigma", "sigma^2"]
        assert list(table.columns) == ["mean", "sd", "ci_lower", "ci_upper"]
        # Means of 2,000 draws and more: five errors of sd / sqrt(2,000 / 3) and as much for the other.
        error = tables["enumerate"]["sd"].to_numpy() / np.sqrt(660)
        assert np.all(np.abs(table["mean"] - tables["enumerate"]["mean"]).to_numpy() < 7 * error)
        # Sds of so many draws err by 1 / sqrt(2 * 660) = 2.8 %, of skewed ones by up to twice that.
        assert table["sd"].to_numpy() == pytest.approx(tables["enumerate"]["sd"].to_numpy(), rel=0.15)
    births = rj.datasets.birthwt().data
    with pytest.raises(rj.NotAvailableError, match="A binomial model has no error variance"):
        _ = rj.logit("low ~ lwt", births).fit(rng=1).sigma


def test_rows_in_chunks_give_the_same_posterior():
    frame = data(200)
    whole = rj.linear("y ~ u + v + f + x", frame)
    chunked = rj.linear("y ~ u + v + f + x", [frame.iloc[:70], frame.iloc[70:]])
    exact = fit(whole, sampler="enumerate")
    for model in (whole, chunked):
        results = fit(model, sampler="rjmcmc")
        assert np.all(np.abs(results.params - exact.params) < 0.12 * exact.bse.to_numpy())
        away = (results.inclusion["posterior"] - exact.inclusion["posterior"]).abs()
        assert np.all(away < 6 * results.inclusion["mcse"].fillna(1e-3) + 1e-3)


def test_many_columns_and_a_budget():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.normal(size=(20, 30)), columns=[f"x{j}" for j in range(30)])
    frame["y"] = 2 * frame["x0"] - 2 * frame["x7"] + 0.5 * rng.normal(size=20)
    costs = dict.fromkeys(frame.columns[:-1], 1.0)
    model = rj.linear("y ~ .", frame, coef_prior=rj.Normal(1.0), costs=costs, budget=4)
    results = fit(model, sampler="population")
    assert set(results.best()) >= {"x0", "x7"}
    assert results.draws.size.max() <= 4
