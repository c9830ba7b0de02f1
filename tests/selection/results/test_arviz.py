"""Draws for ArviZ: InferenceData of ArviZ 0.x and DataTree of arviz-base."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

import pyrjsel as rj

plt = pytest.importorskip("matplotlib.pyplot")
az = pytest.importorskip("arviz")

# What ArviZ 0.x does where an indicator never moves, and to a newer matplotlib.
ARVIZ = (
    "ignore:invalid value encountered in scalar divide:RuntimeWarning",
    "ignore:Passing a dict or None as alias_mapping",
)
COSTS = {"race": 2, "age": 1, "lwt": 1, "smoke": 1}


def fit(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(
            **{"sampler": "rjmcmc", "draws": 300, "chains": 2, "rng": 1, "progress": False, **options}
        )


@pytest.fixture(scope="module")
def births():
    return rj.datasets.birthwt().data


@pytest.fixture(scope="module")
def results(births):
    return fit(rj.logit("low ~ race + age + lwt + smoke", births, costs=COSTS, always=["age"]))


def check(found, results):
    """The container has the draws, by the names of terms and columns."""
    draws, model = results.draws, results.model
    posterior = found["posterior"]
    assert posterior["included"].dims == ("chain", "draw", "term")
    for j, name in enumerate(model.term_names):
        chosen = posterior["included"].sel(term=name)
        np.testing.assert_array_equal(chosen, draws.included[:, :, j])
    for j, name in enumerate(results.coefficients.index):
        np.testing.assert_array_equal(
            posterior["coefficients"].sel(coefficient=name), draws.coefficients[:, :, j]
        )
    np.testing.assert_array_equal(posterior["size"], draws.size)
    np.testing.assert_array_equal(posterior["cost"], draws.cost)
    np.testing.assert_array_equal(found["sample_stats"]["lp"], draws.log_posterior)
    np.testing.assert_array_equal(found["sample_stats"]["model"], draws.model)
    observed = found["observed_data"]["low"]
    assert observed["row"].to_numpy().tolist() == model.data.index.tolist()
    np.testing.assert_array_equal(observed, model.data.y)


@pytest.mark.skipif(int(az.__version__.split(".")[0]) > 0, reason="ArviZ 1.x has no InferenceData")
def test_inference_data(results):
    found = results.to_arviz()
    assert isinstance(found, az.InferenceData)
    assert found.groups() == ["posterior", "sample_stats", "observed_data"]
    check(found, results)


def test_data_tree(results, monkeypatch):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("arviz_base")
    monkeypatch.setitem(sys.modules, "arviz", None)
    found = results.to_arviz()
    assert isinstance(found, xarray.DataTree)
    assert set(found.children) == {"posterior", "sample_stats", "observed_data"}
    check(found, results)


@pytest.mark.filterwarnings(*ARVIZ)
def test_summary_and_traces(results):
    found = results.to_arviz()
    table = az.summary(found, round_to="none")
    rows = [f"included[{name}]" for name in results.inclusion.index]
    np.testing.assert_allclose(table.loc[rows, "mean"], results.draws.included.mean(axis=(0, 1)))
    rows = [f"coefficients[{name}]" for name in results.coefficients.index]
    np.testing.assert_allclose(
        table.loc[rows, "mean"], results.draws.coefficients.mean(axis=(0, 1)), rtol=1e-12
    )
    assert {"size", "cost"} <= set(table.index)
    # Two panels each of the indicators, size, cost and coefficients.
    assert az.plot_trace(found).shape == (4, 2)
    plt.close("all")


def test_coefficients_that_are_thinned(births, monkeypatch):
    """Of long runs only some draws have coefficients, and the other variables are of the same draws."""
    # Room for 43 vectors: of every seventh draw, and the next power of 2 is taken.
    monkeypatch.setattr("pyrjsel.selection.samplers.recording.recorder.COEFFICIENT_BYTES", 8 * 2 * 3 * 43)
    results = fit(rj.linear("bwt ~ lwt + smoke", births))
    draws = results.draws
    every, kept = draws.coefficients_every, draws.coefficients.shape[1]
    assert every == 8
    assert kept == 38
    posterior = results.to_arviz().posterior
    assert posterior.sizes == {"chain": 2, "draw": 38, "term": 2, "coefficient": 3}
    np.testing.assert_array_equal(posterior["sigma"], np.sqrt(draws.variance))
    # A coefficient is not 0 just where its term is in.
    np.testing.assert_array_equal(
        posterior["coefficients"].to_numpy()[:, :, 1:] != 0, posterior["included"] == 1
    )
    every_draw = results.to_arviz(coefficients=False)
    assert every_draw.posterior.sizes == {"chain": 2, "draw": 300, "term": 2}
    assert "cost" not in every_draw.posterior
    np.testing.assert_array_equal(every_draw.posterior["included"], draws.included)


def test_rows_that_were_not_kept(births):
    results = fit(rj.linear("bwt ~ lwt + smoke", [births.iloc[:100], births.iloc[100:]]))
    found = results.to_arviz()
    assert "observed_data" not in found
    assert found["posterior"]["included"].shape == (2, 300, 2)


def test_labels_of_several_levels(births):
    frame = births.set_index(pd.MultiIndex.from_product([["a", "b", "c"], range(63)]))
    found = fit(rj.logit("low ~ lwt", frame)).to_arviz()
    assert found["observed_data"]["row"].to_numpy()[:2].tolist() == [("a", 0), ("a", 1)]


def test_errors(results, monkeypatch):
    with pytest.raises(rj.ParameterError, match="'coefficients' parameter of to_arviz"):
        results.to_arviz(coefficients="no")
    monkeypatch.setitem(sys.modules, "arviz", None)
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(rj.NotAvailableError, match=r"pip install 'pyrjsel\[arviz\]'"):
        results.to_arviz()


# Of the linear model: sigma^2 / w is the variance of a row.
WEIGHTS = 1.0 + np.arange(189) % 3


@pytest.mark.parametrize(
    ("kind", "formula", "density"),
    [
        ("logit", "low ~ age + lwt + smoke", lambda y, eta, s: stats.bernoulli(expit(eta)).logpmf(y)),
        ("poisson", "ftv ~ age + lwt + smoke", lambda y, eta, s: stats.poisson(np.exp(eta)).logpmf(y)),
        (
            "linear",
            "bwt ~ age + lwt + smoke",
            lambda y, eta, s: stats.norm(eta, s / WEIGHTS**0.5).logpdf(y),
        ),
    ],
)
def test_log_densities_of_responses(births, kind, formula, density):
    data = births.assign(o=0.1 * (births["age"] > 20), w=WEIGHTS)
    given = {"offset": "o"} | ({"weights": "w"} if kind == "linear" else {})
    found = fit(getattr(rj, kind)(formula, data, **given), draws=40).to_arviz(log_likelihood=True)
    response = formula.partition(" ")[0]
    values = found["log_likelihood"][response]
    assert values.dims == ("chain", "draw", "row")
    b = found["posterior"]["coefficients"].to_numpy()
    eta = b[..., 0, None] + b[..., 1:] @ data[["age", "lwt", "smoke"]].to_numpy().T + data["o"].to_numpy()
    sigma = found["posterior"]["sigma"].to_numpy()[..., None] if kind == "linear" else None
    np.testing.assert_allclose(values, density(data[response].to_numpy(), eta, sigma), rtol=1e-9)


def test_rows_of_weight_zero_say_nothing(births):
    data = births.assign(w=np.arange(len(births)) % 3)
    found = fit(rj.linear("bwt ~ age", data, weights="w"), draws=20).to_arviz(log_likelihood=True)
    values = found["log_likelihood"]["bwt"].to_numpy()
    assert np.all((values == 0) == (data["w"].to_numpy() == 0))


@pytest.mark.filterwarnings("ignore")
def test_loo_of_arviz(births):
    found = rj.logit("low ~ age + lwt + smoke", births).fit(rng=1).to_arviz(log_likelihood=True)
    scores = rj.logit("low ~ age + lwt + smoke", births).cross_validate(10, rng=1, progress=False).scores
    elpd = az.loo(found).elpd_loo if hasattr(az.loo(found), "elpd_loo") else az.loo(found).elpd
    # Leaving out a row or a tenth of the rows: the mean log scores differ by far less than their error.
    assert elpd / len(births) == pytest.approx(scores.loc["bma", "log_score"], abs=scores.loc["bma", "se"])


def test_enumerated_models_give_independent_draws(births):
    """4,000 independent draws: six standard errors, 2e-9 for each of some 10 numbers."""
    results = rj.linear("bwt ~ race + age + lwt + smoke", births, costs=COSTS).fit(rng=1)
    found = results.to_arviz()
    posterior = found["posterior"]
    assert dict(posterior.sizes) == {"chain": 4, "draw": 1000, "term": 4, "coefficient": 6}
    p = results.inclusion["posterior"].to_numpy()
    gap = posterior["included"].mean(["chain", "draw"]).to_numpy() - p
    assert np.all(np.abs(gap) <= 6 * np.sqrt(p * (1 - p) / 4000) + 1e-12)
    table = results.coefficients
    gap = posterior["coefficients"].mean(["chain", "draw"]).to_numpy() - table["mean"].to_numpy()
    assert np.all(np.abs(gap) < 6 * table["sd"].to_numpy() / np.sqrt(4000))
    included = posterior["included"].to_numpy()
    np.testing.assert_array_equal(posterior["cost"], included @ [2, 1, 1, 1])
    np.testing.assert_array_equal(posterior["size"], included.sum(axis=2))
    np.testing.assert_array_equal(posterior["coefficients"][..., 3:] != 0, included[..., 1:] != 0)
    # In no order: neighbours are as independent as any.
    size = posterior["size"].to_numpy().ravel().astype(float)
    assert abs(np.corrcoef(size[1:], size[:-1])[0, 1]) < 6 / np.sqrt(4000)
    assert "sample_stats" not in (found.children if hasattr(found, "children") else found.groups())
    # Plots of ranks compare chains.
    axes = az.plot_rank(posterior, var_names=["size"])
    assert np.size(axes) == 1
    plt.close("all")


def test_draws_that_cannot_be_had(births, results, monkeypatch):
    spikes = rj.linear("bwt ~ age + lwt", births, coef_prior=rj.SpikeSlab(0.1, 10)).fit(rng=1)
    with pytest.raises(rj.NotAvailableError, match="under a spike and slab"):
        spikes.to_arviz()
    with pytest.raises(rj.ParameterError, match="'coefficients' parameter"):
        results.to_arviz(coefficients=False, log_likelihood=True)
    monkeypatch.setattr("pyrjsel.selection.results.results.MOST_DENSITIES", 1000)
    with pytest.raises(rj.ParameterError, match="189 rows and 600 draws: 1,000 numbers at most"):
        results.to_arviz(log_likelihood=True)
