"""The same analysis under several priors."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from interrupts import interrupt_when
from scipy.special import logsumexp
from selection_cases import load, table
from selection_checks import Scenario, build, coefficient_prior
from selection_oracle import model_prior

import pyrjsel as rj
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import RJMCMCChain

plt = pytest.importorskip("matplotlib.pyplot")

FORMULA = "low ~ age + lwt + smoke + age:smoke"
PRIORS = {"unit": rj.GPrior("n"), "weak": rj.GPrior(5000.0), "normal": rj.Normal(1.0, standardize=True)}


@pytest.fixture(scope="module")
def births():
    return rj.datasets.birthwt().data


@pytest.fixture(scope="module")
def model(births):
    return rj.logit(FORMULA, births)


@pytest.fixture(scope="module")
def study(model):
    return model.sensitivity(PRIORS, rng=1, progress=False)


@pytest.fixture(scope="module")
def grid(model):
    return model.sensitivity(PRIORS, model_priors=[rj.Uniform(), rj.Bernoulli(0.2)], rng=1, progress=False)


# --- the numbers ------------------------------------------------------------------------------------


def test_each_is_a_fit_with_that_prior(study, births):
    """With the stream that it had, a model built afresh gives the same numbers."""
    assert list(study.inclusion.columns) == list(PRIORS)
    assert study.inclusion.columns.name == "prior"
    for (name, prior), stream in zip(PRIORS.items(), np.random.default_rng(1).spawn(3), strict=True):
        alone = rj.logit(FORMULA, births, coef_prior=prior).fit(rng=stream, progress=False)
        pd.testing.assert_series_equal(study.inclusion[name], alone.inclusion["posterior"], check_names=False)
        row = study.analyses.loc[name]
        assert row["terms"] == alone.best()
        assert row["posterior"] == alone.models["posterior"].iloc[0]
        assert row["expected_size"] == pytest.approx(alone.inclusion["posterior"].sum())
        assert study.results[name].model.coef_prior is prior


# Weights and offsets are made up here.
@pytest.mark.filterwarnings("ignore:.*overdispersed:pyrjsel.DispersionWarning")
def test_rows_and_constraints_stay(births):
    """All that was chosen, and the rows that were left with missing values and weights."""
    rng = np.random.default_rng(5)
    frame = births.assign(w=rng.integers(1, 4, len(births)), o=rng.normal(size=len(births)) / 5)
    frame["age"] = frame["age"].astype(float)
    frame.loc[frame.index[:10], "age"] = np.nan
    costs = {"age": 1.0, "lwt": 2.0, "smoke": 1.0}
    options = {
        "weights": "w", "offset": "o", "costs": costs, "budget": 4.0, "heredity": "strong", "always": "smoke",
        "max_size": 3,
    }  # fmt: skip
    with pytest.warns(rj.MissingDataWarning):
        model = rj.logit(FORMULA, frame, **options)
    found = model.sensitivity(g=[20, "n"], rng=1, progress=False)
    for (name, g), stream in zip(
        {"g=20": 20, "g=n": "n"}.items(), np.random.default_rng(1).spawn(2), strict=True
    ):
        with pytest.warns(rj.MissingDataWarning):
            fresh = rj.logit(FORMULA, frame, coef_prior=rj.GPrior(g, "null"), **options)
        assert found.results[name].model.count_models() == fresh.count_models() < 16
        alone = fresh.fit(rng=stream, progress=False)
        pd.testing.assert_frame_equal(found.results[name].models, alone.models)
        assert found.results[name].model.nobs == 179


@pytest.mark.parametrize(
    ("problem", "names", "prior"),
    [
        ("ward", ["4n joint", "n flat", "raw"], ("betabinomial", 1.0, 1.0)),
        ("visits", ["4n joint", "n flat", "raw"], ("bernoulli", 0.3)),
    ],
)
def test_log_marginal_of_the_analysis(problem, names, prior):
    """Against integrals by quasi-Monte Carlo: the mean of marginal likelihoods under the prior of models.

    Relative errors of the integrals are below 1e-2 (variance at most 2e-5 of each, or 256 pairs), which is
    allowed seven times.
    """
    scenario = Scenario(problem, names[0], prior)
    model = build(scenario)
    study = model.sensitivity({name: coefficient_prior(name) for name in names}, rng=1, progress=False)
    prior = model_prior(load(problem)[0], scenario.models, {})
    wanted = [np.log(prior @ np.exp(table(problem, name).log_m)) for name in names]
    # The oracle leaves factorials of counts out.
    found = study.analyses["log_marginal"] - model.regression.log_constant
    np.testing.assert_allclose(found, wanted, atol=0.07)
    assert np.ptp(wanted) > 1


def test_log_marginal_is_that_of_models_with_a_prior(births):
    """Models with linearly dependent columns have no g-prior: neither likelihood nor prior probability."""
    frame = births.assign(twice=2.0 * births["lwt"])
    with pytest.warns(rj.RankWarning):
        model = rj.logit("low ~ lwt + twice", frame, model_prior=rj.Uniform())
    with pytest.warns(rj.RankWarning, match="^Prior g=10: Columns are linearly dependent"):
        study = model.sensitivity(g=[10], rng=1, progress=False)
    values = study.results["g=10"].models["log_marginal"].to_numpy()
    assert np.isneginf(values).sum() == 1
    known = values[np.isfinite(values)]
    assert study.analyses.loc["g=10", "log_marginal"] == pytest.approx(logsumexp(known) - np.log(3))


def test_log_marginal_is_unknown_after_sampling(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        study = model.sensitivity(g=["n", "4n"], rng=1, sampler="rjmcmc", draws=200, chains=2, progress=False)
    assert study.analyses["log_marginal"].isna().all()
    assert {found.sampler for found in study.results.values()} == {"rjmcmc"}
    assert study.results["g=n"].draws.model.shape == (2, 200)
    streams = [found.posterior.entropy for found in study.results.values()]
    assert streams[0] != streams[1]


# --- what is varied ---------------------------------------------------------------------------------


def test_g_and_scale_change_nothing_else(births):
    flat = rj.GPrior(3.0, intercept="flat")
    study = rj.logit("low ~ age", births, coef_prior=flat).sensitivity(g=[1, "4n"], rng=1, progress=False)
    chosen = [found.model.coef_prior for found in study.results.values()]
    assert chosen == [rj.GPrior(1, intercept="flat"), rj.GPrior("4n", intercept="flat")]
    normal = rj.Normal(3.0, mean=0.5, standardize=True)
    study = rj.logit("low ~ age", births, coef_prior=normal).sensitivity(
        scale=np.array([0.5, 2.0]), rng=1, progress=False
    )
    assert list(study.results) == ["scale=0.5", "scale=2"]
    chosen = [found.model.coef_prior for found in study.results.values()]
    assert chosen == [rj.Normal(s, mean=0.5, standardize=True) for s in (0.5, 2.0)]


def test_g_and_scale_of_a_model_with_another_prior(births):
    normal = rj.logit("low ~ age", births, coef_prior=rj.Normal(2.0))
    study = normal.sensitivity(g=[7], rng=1, progress=False)
    assert study.results["g=7"].model.coef_prior == rj.GPrior(7, information="null")
    study = rj.logit("low ~ age", births).sensitivity(scale=[7], rng=1, progress=False)
    assert study.results["scale=7"].model.coef_prior == rj.Normal(7)


def test_priors_in_a_sequence_are_named_by_what_they_are(model):
    study = model.sensitivity([rj.GPrior(10.0), rj.Normal(2.0)], rng=1, progress=False)
    assert list(study.results) == [
        "GPrior(g=10.0)",
        "Normal(scale=2.0, mean=0.0, standardize=False, scaled=None)",
    ]


def test_grid(grid, births):
    assert grid.inclusion.columns.names == ["coef_prior", "model_prior"]
    assert list(grid.results) == [
        (name, prior) for name in PRIORS for prior in ("Uniform()", "Bernoulli(p=0.2)")
    ]
    stream = np.random.default_rng(1).spawn(6)[3]
    alone = rj.logit(FORMULA, births, coef_prior=PRIORS["weak"], model_prior=rj.Bernoulli(0.2)).fit(
        rng=stream, progress=False
    )
    key = ("weak", "Bernoulli(p=0.2)")
    pd.testing.assert_series_equal(grid.inclusion[key], alone.inclusion["posterior"], check_names=False)
    assert grid.analyses.loc[key, "expected_size"] == pytest.approx(alone.inclusion["posterior"].sum())


def test_model_priors_alone(model):
    study = model.sensitivity(model_priors={"even": rj.Uniform()}, rng=1, progress=False)
    assert list(study.inclusion.columns) == ["even"]
    assert study.results["even"].model.coef_prior == model.coef_prior


# --- errors and warnings ----------------------------------------------------------------------------

BAD = {
    "nothing": ({}, rj.ParameterError, "One of coef_priors, g, scale and model_priors.*none"),
    "two ways": ({"g": [1], "scale": [1]}, rj.ParameterError, "Only one of.*Got g and scale"),
    "three ways": (
        {"coef_priors": PRIORS, "g": [1], "scale": [1]},
        rj.ParameterError,
        "Got coef_priors and g and scale",
    ),
    "no priors": (
        {"coef_priors": []},
        rj.ParameterError,
        "'coef_priors' parameter of LogitSelection.sensitivity",
    ),
    "no named priors": ({"coef_priors": {}}, rj.ParameterError, "'coef_priors'.*mapping of names"),
    "names not text": ({"coef_priors": {1: PRIORS["unit"]}}, rj.ParameterError, "'coef_priors'.*mapping"),
    "a prior": ({"coef_priors": PRIORS["unit"]}, rj.ParameterError, "'coef_priors'.*sequence of priors"),
    "a number": (
        {"g": 10},
        rj.ParameterError,
        "'g' parameter of LogitSelection.sensitivity.*sequence of values. Got 10",
    ),
    "a word": ({"g": "4n"}, rj.ParameterError, "'g'.*sequence of values. Got '4n'"),
    "twice": ({"g": [10, 10.0]}, rj.ParameterError, "'g'.*g=10 occurs twice"),
    "bad g": ({"g": [10, -1]}, rj.ParameterError, "'g' parameter of GPrior.*Got -1"),
    "bad scale": ({"scale": [0]}, rj.ParameterError, "'scale' parameter of Normal.*Got 0"),
    "no prior": ({"coef_priors": {"a": 3}}, rj.ParameterError, "^Prior a: The 'coef_prior'.*Got 3"),
    "no model prior": ({"model_priors": [3]}, rj.ParameterError, "^Prior 3: "),
    "model priors not a list": (
        {"model_priors": rj.Uniform()},
        rj.ParameterError,
        "'model_priors'.*sequence",
    ),
    "option": ({"g": [1], "pears": 2}, rj.UnknownNameError, "^Prior g=1: .*'pears'.*'pairs'"),
    "rng": ({"g": [1], "rng": -1}, rj.ParameterError, "'rng' parameter of LogitSelection.sensitivity"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_calls(case, model):
    options, kind, pattern = BAD[case]
    with pytest.raises(kind, match=pattern) as caught:
        model.sensitivity(**options)
    assert str(caught.value).endswith((".", "?"))


def test_a_fit_that_fails_names_the_prior(births):
    model = rj.logit("low ~ age", births)
    scaled = {"good": rj.Normal(1.0), "scaled": rj.Normal(1.0, scaled=True)}
    with pytest.raises(rj.ParameterError, match=r"^Prior scaled: The 'scaled' parameter of Normal"):
        model.sensitivity(scaled, rng=1, progress=False)


def test_warnings_are_given_once_with_the_priors(births):
    frame = births.assign(apart=births["low"] * 2.0 + births["age"] / 100)
    model = rj.logit("low ~ apart", frame)
    with pytest.warns(rj.SeparationWarning, match="^Priors g=10, g=20: The classes are separated") as caught:
        model.sensitivity(g=[10, 20], rng=1, progress=False)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX systems send them")
def test_an_interrupt_ends_all_fits(model, monkeypatch):
    sent = interrupt_when(monkeypatch, RJMCMCChain, lambda chain: chain.done > 300)
    with pytest.raises(KeyboardInterrupt, match="one of several fits"):
        model.sensitivity(
            g=[1, 2], rng=1, sampler="rjmcmc", draws=10**6, burn_in=0, thin=1, chains=2, progress=False
        )
    assert sent


# --- what people look at ----------------------------------------------------------------------------


def test_summary(study, grid):
    text = study.summary().as_text()
    assert text.startswith(
        "Logistic model selection: sensitivity to the prior".center(len(text.split("\n")[1])).rstrip()
    )
    for name in (*PRIORS, *study.inclusion.index, "enumerate", "log marg."):
        assert name in text
    assert f"{study.inclusion.loc['lwt', 'weak']:.3f}" in text
    text = grid.summary().as_text()
    assert "[4] weak, Bernoulli(p=0.2)" in text
    assert "[6]" in text
    assert "<table" in grid.summary().as_html()


def test_repr(study):
    assert repr(study) == "<SensitivityResults: 3 priors (unit; weak; normal)>"


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def test_plot_against_g(births):
    study = rj.logit(FORMULA, births).sensitivity(g=["n", 10, "4n"], rng=1, progress=False)
    ax = study.plot_inclusion()
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "g (logarithmic)"
    drawn = lines(ax)
    assert set(drawn) == {"age", "lwt", "smoke", "age:smoke"}
    for term, points in drawn.items():
        np.testing.assert_allclose(points[:, 0], [10, 189, 756])
        np.testing.assert_allclose(points[:, 1], study.inclusion.loc[term, ["g=10", "g=n", "g=4n"]])
    plt.close(ax.figure)


def test_plot_by_name(study):
    fig, axes = plt.subplots()
    ax = study.plot_inclusion(axes, top=2)
    assert ax is axes
    assert [label.get_text() for label in ax.get_xticklabels()] == list(PRIORS)
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    highest = study.inclusion.max(axis=1).sort_values(ascending=False).index[:2]
    assert set(entries[:2]) == set(highest)
    assert entries[2] == "2 more"
    assert len(ax.lines) == 4
    plt.close(fig)


def test_bad_plots(study):
    with pytest.raises(rj.ParameterError, match="'top' parameter of plot_inclusion"):
        study.plot_inclusion(top=0)
    with pytest.raises(rj.ParameterError, match="'ax' parameter of plot_inclusion"):
        study.plot_inclusion(ax=3)


def test_no_terms(births):
    study = rj.logit("low ~ 1", births).sensitivity(g=[1, 10], rng=1, progress=False)
    assert study.inclusion.shape == (0, 2)
    assert study.analyses["terms"].tolist() == [(), ()]
    ax = study.plot_inclusion()
    assert not ax.lines
    plt.close(ax.figure)
