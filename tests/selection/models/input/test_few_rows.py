"""Rows and weights too few or too small for figures to exist: refused, or said."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

MODELS = {"linear": rj.linear, "logit": rj.logit, "poisson": rj.poisson}
QUIET = {"rng": 1, "progress": False}


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    return frame.assign(linear=rng.normal(size=n), logit=np.arange(n) % 2, poisson=1 + np.arange(n) % 3)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("weight", [5e-324, 5e-320, 1e-300, 9e-146])
def test_weights_that_are_all_tiny_are_refused(kind, weight):
    with pytest.raises(rj.DataError, match=r"between 1e-145 and 1e\+145 .*; rescale weights"):
        MODELS[kind](f"{kind} ~ x + z", rows(12), weights=np.full(12, weight))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("prior", [None, rj.Normal(1.0)])
def test_weights_that_are_just_large_enough_give_finite_figures(kind, prior):
    model = MODELS[kind](f"{kind} ~ x + z", rows(12), weights=np.full(12, 2e-145), coef_prior=prior)
    results = model.fit(
        sampler="enumerate", **({} if kind == "linear" else {"integration": "laplace"}), **QUIET
    )
    assert np.isfinite(results.models["posterior"]).all()
    assert np.isfinite(results.coefficients["mean"]).all()


def test_tiny_weights_beside_others_count_as_good_as_nothing():
    weights = np.where(np.arange(12) < 6, 1.0, 1e-310)
    some = rj.linear("linear ~ x + z", rows(12), weights=weights, coef_prior=rj.Normal(1.0)).fit(**QUIET)
    assert np.isfinite(some.coefficients["sd"]).all()


FEW = {2: "mean", 3: "standard deviation"}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", FEW)
@pytest.mark.parametrize("sampler", ["enumerate", "gibbs", "collapsed"])
@pytest.mark.filterwarnings("ignore::pyrjsel.ConvergenceWarning", "ignore::pyrjsel.RankWarning")
def test_few_rows_are_said(n, weighted, sampler):
    data, options = rows(n), {}
    if weighted:
        data = pd.concat([data, rows(5, 1)], ignore_index=True)
        options["weights"] = np.where(np.arange(n + 5) < n, 2.0, 0.0)
    with pytest.warns(rj.PyrjselWarning, match=f"{n} rows of positive weight, .* no posterior {FEW[n]}"):
        model = rj.linear("linear ~ x + z", data, coef_prior=rj.Normal(1.0), **options)
    size = {} if sampler == "enumerate" else {"draws": 50, "chains": 2}
    results = model.fit(sampler=sampler, **size, **QUIET)
    assert f"Coefficients have no posterior {FEW[n]}" in " ".join(str(results.summary()).split())


@pytest.mark.parametrize(("n", "options"), [(4, {}), (2, {"sigma_prior": rj.InverseGamma(2, 1)})])
def test_enough_rows_or_a_prior_are_not_warned_of(n, options):
    results = rj.linear("linear ~ x", rows(n), coef_prior=rj.Normal(1.0), **options).fit(**QUIET)
    assert np.isfinite(results.coefficients[["mean", "sd"]]).all(axis=None)
    assert "no posterior" not in str(results.summary())


def test_one_row_is_refused():
    with pytest.raises(rj.DataError, match="at least 2 rows of positive weight"):
        rj.linear("linear ~ x", rows(3), weights=[1.0, 0.0, 0.0])
