"""Warnings of chains that have not converged, and the notes that keep them."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.report.mixing import poor_mixing
from pyrjsel.selection import collect, rjmcmc
from pyrjsel.selection._moves import MOVES
from pyrjsel.selection.collect import ChainDraws, Manner, _stuck_chains


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
        ((1.2001, 1.0), "1.20 for the model size"),
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
        ((99.9, 500.0, np.nan), 1000, "99 effective draws of the model size, fewer than 100: their"),
        ((np.nan, 500.0, 7.2), 1000, "7 effective draws of the inclusion of x, fewer than 100: their"),
        (
            (50.0, 20.0, 30.0),
            1000,
            "20 effective draws of the log posterior and fewer than 100 of 2 more: their",
        ),
        ((np.nan, np.nan, np.nan), 2, "2 draws, fewer than 100: its"),
        ((500.0, np.inf, np.nan), 99, "99 draws, fewer than 100: its"),
    ],
)
def test_few_effective_draws(ess, draws, what):
    assert texts_of(ess=ess, draws=draws) == [
        f"The run has {what} figures are not to be trusted; run longer."
    ]


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
        assert any("figures are not to be trusted" in text or "R-hat" in text for text in texts)


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
    summarise = rjmcmc.summarise

    def with_stuck_chain(drawn, **others):
        drawn.results[2].counts[1, MOVES.index("coefficients")] = 3
        return summarise(drawn, **others)

    monkeypatch.setattr(rjmcmc, "summarise", with_stuck_chain)
    results, texts = fit(model, draws=2000, rng=1)
    assert len(texts) == 1
    assert "chain 2 (3 of 2," in texts[0]
    assert results.posterior.notes == texts
    # The summary breaks its lines.
    assert "these chains are stuck; run longer." in " ".join(str(results.summary()).split())
