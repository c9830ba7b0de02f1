"""Warnings of chains that have not converged, and the notes that keep them."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel._validate import beyond
from pyrjsel.report.errors import IndicatorStats
from pyrjsel.report.mixing import PRECISE, poor_mixing, selection_notes
from pyrjsel.selection.samplers import base
from pyrjsel.selection.samplers.recording import rao_blackwell as averages
from pyrjsel.selection.samplers.recording import recorder as collect
from pyrjsel.selection.samplers.recording.model_average import _stuck_chains
from pyrjsel.selection.samplers.recording.recorder import ChainDraws, Manner
from pyrjsel.selection.samplers.reversible_jump._moves import MOVES


@pytest.fixture(scope="module")
def model():
    return rj.logit("low ~ age + lwt + race + smoke", rj.datasets.birthwt().data)


def fit(model, **options):
    """Return the results and the texts of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = model.fit(sampler="rjmcmc", chains=3, progress=False, **options)
    assert {warning.category for warning in caught} <= {rj.ConvergenceWarning}
    return results, [str(warning.message) for warning in caught]


def chain(proposed, accepted):
    """Return a chain of which only the counts of coefficient updates matter."""
    counts = np.zeros((2, len(MOVES)), dtype=np.int64)
    counts[:, MOVES.index("coefficients")] = proposed, accepted
    nothing = np.zeros(0)
    return ChainDraws(nothing.astype(np.uint64), nothing, nothing, nothing, nothing, counts)


NAMES = ["the model size", "the log posterior", "the inclusion of x"]


def texts_of(r_hat=(1.0, 1.0), ess=(500.0, 500.0, 500.0), draws=1000):
    return poor_mixing(pd.Series(r_hat, NAMES[:2]), pd.Series(ess, NAMES), draws)


def test_a_healthy_run_is_silent(model):
    results, texts = fit(model, draws=2000, rng=1)
    assert texts == []
    assert results.posterior.notes == []


@pytest.mark.parametrize(
    ("r_hats", "where"),
    [
        ((1.2001, 1.0), "1.2001 for the model size"),
        ((1.21, 1.0), "1.21 for the model size"),
        ((1.0, 3.456), "3.46 for the log posterior"),
        ((np.nan, 1.5), "1.50 for the log posterior"),
        ((1.25, 1.3), "1.30 for the log posterior and above 1.2 for 1 more"),
    ],
)
def test_large_r_hat(r_hats, where):
    (text,) = texts_of(r_hats, ess=(3.0, 3.0, 3.0))  # of which nothing is said then
    start, end = f"R-hat over all chains is {where}", ": they have not converged; run longer."
    assert text in (f"{start}{end}", f"{start}, above 1.2{end}")
    assert ("more" in where) == (", above" not in text)


@pytest.mark.parametrize("r_hats", [(1.2, 1.0), (np.nan, np.nan), (1.0, 1.19)])
def test_small_r_hat(r_hats):
    assert texts_of(r_hats) == []


@pytest.mark.parametrize(
    ("ess", "draws", "what"),
    [
        ((99.9, 500.0, np.nan), 1000, "99 effective draws of the model size, fewer than 100: these"),
        ((np.nan, 500.0, 7.2), 1000, "7 effective draws of the inclusion of x, fewer than 100: these"),
        (
            (50.0, 20.0, 30.0),
            1000,
            "20 effective draws of the log posterior and fewer than 100 of 2 more: these",
        ),
        ((np.nan, np.nan, np.nan), 2, "2 draws, fewer than 100: its"),
        ((500.0, np.inf, np.nan), 99, "99 draws, fewer than 100: its"),
    ],
)
def test_few_effective_draws(ess, draws, what):
    assert texts_of(ess=ess, draws=draws) == [f"The run has {what} estimates are unreliable; run longer."]


@pytest.mark.parametrize("ess", [(100.0, 100.0, 100.0), (np.nan, np.nan, np.nan)])
def test_enough_effective_draws(ess):
    """What never moved has no effective sample size, which is no fault of the run."""
    assert texts_of(ess=ess, draws=100) == []


@pytest.mark.parametrize("draws", [2, 20])
def test_a_handful_of_draws_is_no_posterior(draws):
    """Of so few, inclusion probabilities are 0 or 1 and everything may have stood still."""
    model = rj.linear("y ~ x1 + x2 + x3 + x4", rj.datasets.hald().data)
    for sampler in ("rjmcmc", "collapsed", "gibbs"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(sampler=sampler, draws=draws, chains=1, rng=1, progress=False)
        assert all(issubclass(warning.category, rj.ConvergenceWarning) for warning in caught)
        texts = [str(warning.message) for warning in caught]
        # The audit may name models beside it that so few draws have missed.
        assert any("estimates are unreliable" in text or "R-hat" in text for text in texts)


def test_enumeration_has_no_draws_to_be_few(model):
    assert model.fit(sampler="enumerate", rng=1, progress=False).posterior.notes == []


def test_r_hat_of_a_run_that_is_too_short(model):
    found = [fit(model, draws=12, burn_in=0, rng=seed) for seed in range(10)]
    warned = 0
    for results, texts in found:
        row = results.diagnostics.loc["all"]
        bad = max(row["r_hat_size"], row["r_hat_log_posterior"]) > 1.2
        assert any(text.startswith("R-hat over all chains is ") for text in texts) == bad
        assert results.posterior.notes == texts
        for text in texts:
            assert text[:40] in " ".join(str(results.summary()).split())
        warned += bad
    assert warned >= 1


def test_chains_whose_coefficients_are_stuck():
    chains = [chain(200, 2), chain(200, 1), chain(199, 0), chain(5000, 49), chain(0, 0)]
    (text,) = _stuck_chains(chains, Manner("rjmcmc", MOVES))
    assert text == (
        "Less than 1% of the coefficient updates were accepted in chain 1 (1 of 200), "
        "chain 3 (49 of 5,000): these chains are stuck; run longer."
    )
    assert _stuck_chains([chain(200, 2), chain(199, 0)], Manner("rjmcmc", MOVES)) == []
    walks = Manner("collapsed", MOVES, words="walks on the surrogate", least=0.1)
    assert _stuck_chains([chain(200, 20)], walks) == []
    (text,) = _stuck_chains([chain(200, 20), chain(200, 19)], walks)
    assert text.startswith("Less than 10% of the walks on the surrogate were accepted in chain 1 (19 of 200)")


def test_disagreement_is_reported(model, monkeypatch):
    indicator_stats = collect.indicator_stats

    def disagreeing(*arrays):
        return replace(indicator_stats(*arrays), disagree=np.array([False, True, False, True]))

    monkeypatch.setattr(collect, "indicator_stats", disagreeing)
    results, texts = fit(model, draws=2000, rng=1)
    text = (
        "Chains disagree on 2 of 4 inclusion probabilities by more than the Monte Carlo errors within each: "
        f"{model.term_names[1]}, {model.term_names[3]}. Their errors allow for the spread of the chains; "
        "run longer."
    )
    assert texts == results.posterior.notes == [text]


def test_a_stuck_chain_is_reported(model, monkeypatch):
    """Counts as a chain far out in a flat tail leaves them."""
    summarise = base.summarise

    def with_stuck_chain(drawn, **others):
        drawn.results[2].counts[1, MOVES.index("coefficients")] = 3
        return summarise(drawn, **others)

    monkeypatch.setattr(base, "summarise", with_stuck_chain)
    results, texts = fit(model, draws=2000, rng=1)
    assert len(texts) == 1
    assert "chain 2 (3 of 2," in texts[0]
    assert results.posterior.notes == texts
    # The summary breaks its lines.
    assert "these chains are stuck; run longer." in " ".join(str(results.summary()).split())


# --- averages of conditional probabilities are judged by their errors --------------------------------


def notes_of(mcse, averaged, disagree=False):
    """Return the notes on one term of probability 1 - 1e-8 whose average has an error."""
    p = np.array([1.0 - 1e-8])
    terms = IndicatorStats(
        mean=p,
        mcse=np.array([mcse]),
        ess=p * (1.0 - p) / mcse**2,
        r_hat=np.array([1.0]),
        stuck=np.array([False]),
        disagree=np.array([disagree]),
    )
    row = {"r_hat_size": 1.0, "r_hat_log_posterior": 1.0, "ess_size": 900.0, "ess_log_posterior": 900.0}
    return selection_notes(terms, ["u"], pd.DataFrame([{**row, "draws": 4000}], index=["all"]), averaged)


def test_averages_near_one_are_not_short_of_draws():
    assert notes_of(1e-4, averaged=True) == []
    (text,) = notes_of(1e-4, averaged=False)
    assert "0 effective draws of the inclusion of u" in text
    (text,) = notes_of(1.01 * PRECISE, averaged=True)
    assert "0 effective draws of the inclusion of u" in text


def test_averages_that_are_accurate_with_their_spread_do_not_disagree():
    """Where one visit in a thousand decides, batches are far from normal, and tests give false alarms."""
    assert not notes_of(PRECISE, averaged=True, disagree=True)
    for mcse, averaged in ((1.01 * PRECISE, True), (1e-4, False)):
        assert any("Chains disagree on 1 of 1" in text for text in notes_of(mcse, averaged, disagree=True))


def test_strong_effects_give_no_alarm():
    """P(u) is 1 - 1e-8 or so: runs are right and say nothing (warnings are errors here)."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(60, 6)), columns=list("uabcde"))
    frame["y"] = 1.05 * frame["u"] + 0.3 * frame["a"] + rng.normal(size=60)
    model = rj.linear("y ~ .", frame)
    exact = model.fit(sampler="enumerate").inclusion["posterior"]
    assert 1e-11 < 1 - exact["u"] < 1e-6
    for seed in range(20):
        results = model.fit(sampler="collapsed", draws=1000, rng=seed, progress=False)
        # Eight errors, known to about 100 degrees of freedom: below 1e-9 for the 120 comparisons.
        gap = (results.inclusion["posterior"] - exact).abs()
        assert (gap < 8 * results.inclusion["mcse"].fillna(0.0) + 1e-6).all()


def test_a_conditional_probability_that_never_changes_has_no_error():
    """Of one term alone it is the same in every draw: exact here, but no chain can know that."""
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"x": rng.normal(size=40)})
    frame["y"] = 0.3 * frame["x"] + rng.normal(size=40)
    model = rj.linear("y ~ x", frame)
    exact = model.fit(sampler="enumerate").inclusion.loc["x", "posterior"]
    results = model.fit(sampler="collapsed", draws=3000, rng=1, progress=False)
    row = results.inclusion.loc["x"]
    assert row["posterior"] == pytest.approx(exact, rel=1e-9)
    assert np.isnan(row["mcse"])
    assert not results.posterior.stuck.any()
    assert "of all chains, so" not in " ".join(str(results.summary()).split())


def test_errors_at_the_level_of_rounding_are_unknown():
    visits = IndicatorStats(*(np.full(3, 0.5) for _ in range(4)), np.zeros(3, bool), np.zeros(3, bool))
    found = (np.array([0.5, 0.5, 0.5]), np.array([2e-16, 1e-9, 0.01]), np.zeros(3, bool))
    described = averages._described(found, visits)
    np.testing.assert_array_equal(described.mcse, [np.nan, 1e-9, 0.01])
    assert np.isnan(described.ess[0])
    assert not described.stuck.any()


# --- rounded figures do not contradict the message --------------------------------------------------


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (1.204, 1.2, "1.204"),
        (1.2 + 1e-9, 1.2, "1.200000001"),
        (1.2, 1.2, "1.20"),
        (1.26, 1.2, "1.26"),
        (1.196, 1.2, "1.196"),
        (1.19, 1.2, "1.19"),
        (np.inf, 1.2, "inf"),
    ],
)
def test_numbers_beyond_a_limit(value, limit, text):
    assert beyond(value, limit) == text


def test_percentages_beyond_a_limit():
    assert beyond(0.0519, 0.05, 0, percent=True) == "5.2%"
    assert beyond(0.2, 0.05, 0, percent=True) == "20%"


def test_kernel_chains_warn_by_the_same_rule():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": np.linspace(-2, 2, 40)})
    frame["y"] = np.sin(3 * frame["x"]) + 0.1 * rng.normal(size=40)
    model = rj.kernel_regression("y ~ x", frame, width=0.5)
    with pytest.warns(rj.ConvergenceWarning, match=r"R-hat over all chains is|effective draws|The run has"):
        results = model.fit(sampler="mcmc", draws=60, chains=2, rng=1, progress=False)
    assert "run longer" in " ".join(str(results.summary()).split())
    stats = results.diagnostics
    assert stats["r_hat"].max() > 1.05 or stats["ess"].min() < 100
