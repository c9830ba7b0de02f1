"""Summaries: that they say what was fitted, how, and what is special about it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from births_fits import FORMULA, fit

import pyrjsel as rj


def test_summary_text(results):
    text = str(results.summary())
    for part in (
        "Logistic model selection",
        "low",
        "189",
        "59 (31.2 %)",
        "GPrior(g='n', information='null')",
    ):
        assert part in text
    assert "BetaBinomial" in text
    assert f"{results.sampler}" in text
    assert "Feasible models" in text
    assert ("Chains x draws" in text) == (results.sampler == "rjmcmc")
    for name in results.model.term_names:
        assert f"\n{name} " in text
    assert " + ".join(results.models["terms"].iloc[2]) in text
    assert max(len(line) for line in text.splitlines()) <= 110
    short = str(results.summary(top=2))
    assert "the best 2 of 16" in short
    assert "\n3 " not in short


def test_summary_in_other_formats(results):
    summary = results.summary()
    page = summary._repr_html_()
    assert page.count("<table") == page.count("</table>") == 3
    assert "GPrior(g=&#x27;n&#x27;, information=&#x27;null&#x27;)" in page
    tex = summary.as_latex()
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == 3
    assert r"59 (31.2 \%)" in tex
    rows = summary.as_csv()
    assert "race" in rows
    assert "posterior" in rows


def test_summary_says_what_is_special(births):
    data = births.drop(columns="bwt").assign(trials=2.0, shift=0.1)
    data.loc[data.index[:3], "lwt"] = np.nan
    data.loc[data.index[2], "age"] = np.nan
    with pytest.warns(rj.MissingDataWarning, match="3 of 189 rows"):
        model = rj.logit(
            "low ~ . + age:smoke",
            data,
            weights="trials",
            offset="shift",
            always="age",
            heredity="strong",
            max_size=4,
            costs=dict.fromkeys(data.columns, 1.0),
            budget=3,
        )
    text = str(fit(model).summary())
    for label, value in {
        "Observations": r"186 \(3 dropped\)",
        "Trials": "372",
        "Successes": r"\d+ \(\d\d\.\d %\)",
        "Weights": "trials",
        "Offset": "shift",
        "Always in": "age",
        "Heredity": "strong",
        "Largest size": "4",
        "Budget": "3",
    }.items():
        assert pd.Series([text]).str.contains(rf"{label}: +{value}").all(), label
    assert "3 of 186" not in text
    assert "3 of 189 rows were dropped for missing values (by column: lwt 3, age 1)" in " ".join(text.split())


def test_summary_of_many_terms_lists_the_best_first(births):
    rng = np.random.default_rng(3)
    noise = pd.DataFrame(rng.normal(size=(len(births), 20)), index=births.index).add_prefix("noise")
    data = pd.concat([noise, births[["low", "lwt", "smoke"]]], axis=1)
    results = fit(rj.logit("low ~ .", data), sampler="rjmcmc", draws=100)
    lines = str(results.summary(1)).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("Inclusion, highest first"))
    shown = [line.split()[0] for line in lines[first:] if line.startswith(("noise", "lwt", "smoke"))]
    expected = results.inclusion["posterior"].sort_values(ascending=False, kind="stable").index
    assert shown[:22] == list(expected)
    assert list(results.inclusion.index) == list(results.model.term_names)  # the table itself stays


def test_summary_of_thousands_of_terms():
    """There are more than 2^1024 models, which no float counts, and more terms than anybody reads."""
    rng = np.random.default_rng(4)
    x = pd.DataFrame(rng.normal(size=(30, 1100))).add_prefix("x")
    y = pd.Series(4 * x["x7"] + rng.normal(size=30), name="y")
    model = rj.LinearSelection(y, x, coef_prior=rj.Normal(1.0), model_prior=rj.Bernoulli(0.001))
    results = fit(model, sampler="collapsed", draws=50)
    lines = str(results.summary(1)).splitlines()
    assert any("1.36e+331" in line for line in lines)  # 2^1100
    highest = results.inclusion["posterior"].sort_values(ascending=False, kind="stable")
    caption = f"Inclusion, highest first: 100 of 1,100 (the others: at most {highest.iloc[100]:.2g} each)"
    assert caption in lines
    shown = [line.split()[0] for line in lines if line.startswith("x")]
    assert shown == list(highest.index[:100])
    assert len(results.inclusion) == 1100


def test_reprs(model, enumerated):
    assert repr(model) == f"<LogitSelection {FORMULA!r}: 189 rows, 4 terms>"
    assert repr(enumerated).startswith("<SelectionResults of enumerate: best model (no terms), posterior 0.4")


def test_table_of_models_is_bounded(births, monkeypatch):
    """Beyond its bound the table holds the best models, and `covered` says how much that is."""
    monkeypatch.setattr("pyrjsel.results.model_space.TABLE_ROWS", 5)
    results = fit(rj.logit(FORMULA, births))
    assert len(results.models) == 5
    assert results.covered == pytest.approx(results.models["posterior"].sum())
    assert results.covered < 0.9


def test_warnings_point_to_the_line_of_the_user(births):
    data = births.assign(twice=2 * births["age"])
    data.loc[data.index[0], "age"] = np.nan
    for call in (
        lambda: rj.logit("low ~ age + twice", data),
        lambda: rj.LogitSelection.from_formula("low ~ age + twice", data),
        lambda: rj.LogitSelection(data["low"], data[["age", "twice"]]),
    ):
        with pytest.warns((rj.RankWarning, rj.MissingDataWarning)) as caught:
            call()
        assert {warning.category for warning in caught} == {rj.RankWarning, rj.MissingDataWarning}
        assert [warning.filename for warning in caught] == [__file__] * 2
        assert {warning.lineno for warning in caught} == {call.__code__.co_firstlineno}


def test_convergence_warning_points_to_the_line_of_the_user(model):
    """Chains that start apart and are not run for long disagree, have not converged, or are too short."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(20):
            model.fit(sampler="rjmcmc", draws=12, burn_in=0, rng=seed, progress=False)
    assert {warning.category for warning in caught} == {rj.ConvergenceWarning}
    assert {warning.filename for warning in caught} == {__file__}
    begin = ("Chains disagree on ", "R-hat over ", "The run has ")
    assert all(str(warning.message).startswith(begin) for warning in caught)
