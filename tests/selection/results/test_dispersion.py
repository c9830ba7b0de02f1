"""Pearson's chi-square of the best model: against statsmodels, its false alarms, and what is said."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import pyrjsel as rj
from pyrjsel.families import Binomial, Poisson
from pyrjsel.selection.results.checks.dispersion import Dispersion
from pyrjsel.sklearn import SelectionClassifier, SelectionRegressor

N = 120
RNG = np.random.default_rng(21)
FRAME = pd.DataFrame({"x": RNG.normal(size=N), "z": RNG.normal(size=N), "o": RNG.normal(0, 0.3, N)})
RATE = np.exp(1.5 + 0.8 * FRAME["x"] + FRAME["o"])
FRAME["even"] = RNG.poisson(RATE)
FRAME["wild"] = RNG.poisson(RATE * RNG.gamma(1.0, 1.0, N))
FRAME["trials"] = RNG.integers(5, 20, N)
SHARE = 1 / (1 + np.exp(-0.7 * FRAME["x"]))
FRAME["fair"] = RNG.binomial(FRAME["trials"], SHARE) / FRAME["trials"]
FRAME["odd"] = RNG.binomial(FRAME["trials"], RNG.beta(2 * SHARE, 2 * (1 - SHARE))) / FRAME["trials"]


def test_counts_that_are_poisson():
    results = rj.poisson("even ~ x + z", FRAME, offset="o").fit(rng=1)
    formula = f"even ~ {' + '.join(results.best())}"
    fitted = smf.glm(formula, FRAME, family=sm.families.Poisson(), offset=FRAME["o"]).fit()
    assert results.dispersion.df == fitted.df_resid
    # The posterior mode under a prior of one observation is not the maximum of the likelihood.
    assert results.dispersion.statistic == pytest.approx(fitted.pearson_chi2, rel=0.01)
    text = str(results.summary())
    assert f"{results.dispersion.ratio:.2f} ({results.dispersion.df} df, best model)" in text
    assert "overdispersed" not in text


def test_counts_that_are_not():
    with pytest.warns(rj.DispersionWarning, match="overdispersed.* times its 11[78] degrees") as caught:
        results = rj.poisson("wild ~ x + z", FRAME, offset="o").fit(rng=1)
    assert caught[0].filename == __file__
    assert "negbin" in str(caught[0].message)
    fitted = smf.glm(f"wild ~ {' + '.join(results.best())}", FRAME, family=sm.families.Poisson())
    fitted = sm.GLM(fitted.endog, fitted.exog, family=sm.families.Poisson(), offset=FRAME["o"]).fit()
    assert results.dispersion.ratio == pytest.approx(fitted.pearson_chi2 / fitted.df_resid, rel=0.05)
    assert "overdispersed" in str(results.summary())


def test_trials(tmp_path):
    results = rj.logit("fair ~ x + z", FRAME, weights="trials").fit(rng=1)
    fitted = smf.glm("fair ~ x", FRAME, family=sm.families.Binomial(), var_weights=FRAME["trials"]).fit()
    assert results.best() == ("x",)
    assert results.dispersion.statistic == pytest.approx(fitted.pearson_chi2, rel=0.01)
    with pytest.warns(rj.DispersionWarning):
        wild = rj.logit("odd ~ x + z", FRAME, weights="trials").fit(rng=1)
    assert wild.dispersion.ratio > 2
    wild.save(tmp_path / "wild.rjs")
    again = rj.load(tmp_path / "wild.rjs")  # says nothing: it was said after the fit
    assert again.dispersion == wild.dispersion
    assert str(again.summary()) == str(wild.summary())


def test_where_it_says_nothing():
    births = rj.datasets.birthwt().data
    assert rj.logit("low ~ age", births).fit(rng=1).dispersion is None
    assert rj.linear("bwt ~ age", births).fit(rng=1).dispersion is None
    # Weights that are no numbers of trials.
    part = FRAME.assign(w=RNG.uniform(0.5, 2.0, N), y=(FRAME["fair"] > 0.5).astype(int))
    assert rj.logit("y ~ x", part, weights="w").fit(rng=1).dispersion is None
    # As many columns as rows leave no degree of freedom.
    assert Dispersion.of(np.ones(2), np.zeros(2), 2) is None


@pytest.mark.parametrize("family", ["sparse", "small", "many", "pairs", "rare"])
def test_false_alarms(family):
    """Of 4,000 right models with 80 rows at most 20 have a warning: of a level of 0.001, 4 are expected.

    Poisson(4) exceeds 20 with a probability below 1e-8. Where events are rare the law of the statistic is
    far from a chi-square, by which one in ten of the "sparse" ones would be called overdispersed.
    """
    rng = np.random.default_rng(9)
    alarms = 0
    for _ in range(4000):
        if family in ("sparse", "small", "many"):
            rate, weights = {"sparse": 0.05, "small": 1.0, "many": 30.0}[family], np.ones(80)
            y, kind = rng.poisson(rate, 80).astype(float), Poisson()
        else:
            p, weights = (0.5 if family == "pairs" else 0.03), np.full(80, 2.0)
            y, kind = rng.binomial(2, p, 80) / 2, Binomial()
        if not 0 < y.mean() < (1 if kind.name == "binomial" else np.inf):
            continue
        mean = np.full(80, y.mean())
        squares = weights * (y - mean) ** 2 / kind.curvature(mean)
        alarms += Dispersion.of(squares, kind.excess(mean) / weights, 1).over
    assert alarms <= 20


def test_all_statistics_are_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    results = rj.poisson("even ~ x + z", FRAME, offset="o").fit(rng=1)
    axes = results.plot_check(draws=100, rng=1)
    names = results.check(draws=100, rng=1).index.tolist()
    assert [ax.get_xlabel() for ax in axes] == names
    assert len(axes[0].figure.axes) == len(names) == 4
    table = results.check(draws=100, rng=1)
    for ax, p_value in zip(axes, table["p_value"], strict=True):
        assert f"p = {p_value:.3f}" in " ".join(text.get_text() for text in ax.get_legend().get_texts())
    with pytest.raises(rj.ParameterError, match="'ax' parameter of plot_check must be None where all"):
        results.plot_check(ax=axes[0], draws=10)
    plt.close(axes[0].figure)


@pytest.fixture(scope="module")
def people():
    """Binary responses and counts of single observations, whose columns have few values."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 3, 3000), "c": rng.integers(0, 2, 3000)})
    rows["y"] = (rng.random(3000) < 1 / (1 + np.exp(0.5 - 0.4 * rows["a"]))).astype(int)
    rows["k"] = rng.poisson(np.exp(0.2 + 0.1 * rows["a"]))
    rows["wild"] = rng.poisson(np.exp(0.2 + 0.1 * rows["a"]) * rng.gamma(0.5, 2.0, 3000))
    return rows


def table_of(rows, *names):
    return rows.groupby([*names]).size().rename("n").reset_index()


@pytest.mark.parametrize("family", [rj.logit, rj.probit, rj.cloglog])
def test_tables_of_binary_frequencies_are_cells(people, family):
    """The warning was "499.94 times its 10 degrees of freedom"; the posterior is that of the rows."""
    cells = people.groupby(["a", "c"])["y"].agg(["mean", "size"]).reset_index()
    want = family("mean ~ a + c", cells, weights="size").fit(rng=1)
    found = family("y ~ a + c", table_of(people, "a", "c", "y"), weights="n").fit(rng=1)
    assert want.dispersion.df == 6 - 1 - len(want.best())
    assert found.dispersion.df == want.dispersion.df
    assert found.dispersion.statistic == pytest.approx(want.dispersion.statistic, rel=1e-6)
    # An offset that differs between rows is part of the cells.
    shifted = table_of(people.assign(o=0.01 * people["a"]), "o", "c", "y")
    assert family("y ~ c", shifted, weights="n", offset="o").fit(rng=1).dispersion.df == 5
    # The rows of a table with zero weight are no rows.
    none = pd.concat([table_of(people, "a", "c", "y"), pd.DataFrame({"a": [9], "c": 0, "y": 1, "n": 0})])
    assert family("y ~ a + c", none, weights="n").fit(rng=1).dispersion.df == found.dispersion.df


def test_cells_that_differ_too_much(people):
    rng = np.random.default_rng(5)
    site = np.repeat(np.arange(40), 100)
    y = (rng.random(4000) < rng.beta(2, 2, 40)[site]).astype(int)
    table = table_of(pd.DataFrame({"x": site / 40.0, "y": y}), "x", "y")
    with pytest.warns(rj.DispersionWarning, match="times its 3[89] degrees"):
        rj.logit("y ~ x", table, weights="n").fit(rng=1)


def test_tables_of_counts_are_their_rows(people):
    for name, over in (("k", False), ("wild", True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if over else "error")
            want = rj.poisson(f"{name} ~ a", people).fit(rng=1).dispersion
            found = rj.poisson(f"{name} ~ a", table_of(people, "a", name), weights="n").fit(rng=1).dispersion
        assert found.over == want.over == over
        assert found.df == want.df == 2998
        assert found.statistic == pytest.approx(want.statistic, rel=1e-6)
        assert found.p_value == pytest.approx(want.p_value, rel=1e-4, abs=1e-12)
    # Means of several counts keep a degree of freedom for each.
    means = people.groupby(["a", "c"])["k"].agg(["mean", "size"]).reset_index()
    assert rj.poisson("mean ~ a", means, weights="size").fit(rng=1).dispersion.df <= 5


@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("seed", range(3))
def test_weights_of_a_bootstrap_say_nothing(digits, seed):
    """Of columns with few values, some equal ones, and none: no false alarm, in estimators either."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({"x": rng.normal(size=150).round(digits), "z": rng.normal(size=150).round(digits)})
    y = (rng.random(150) < 1 / (1 + np.exp(-x["x"]))).astype(int).rename("y")
    counts = pd.Series(rng.poisson(np.exp(0.5 + 0.3 * x["x"])), name="k")
    weights = rng.multinomial(150, np.full(150, 1 / 150)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        binary = rj.LogitSelection(y, x, weights=weights).fit(rng=1)
        rj.PoissonSelection(counts, x, weights=weights).fit(rng=1)
        SelectionClassifier(random_state=1).fit(x, y, sample_weight=weights)
        SelectionRegressor(family="poisson", random_state=1).fit(x, counts, sample_weight=weights)
    assert binary.dispersion is None
