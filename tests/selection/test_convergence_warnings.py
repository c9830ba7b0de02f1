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


def table(size, log_posterior):
    return pd.DataFrame(
        {"r_hat_size": [9.0, size], "r_hat_log_posterior": [9.0, log_posterior]}, index=[0, "all"]
    )


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
        ((1.3, 1.25), "1.30 for the model size and 1.25 for the log posterior"),
    ],
)
def test_large_r_hat(r_hats, where):
    (text,) = poor_mixing(table(*r_hats))
    assert text == f"R-hat over all chains is {where}, above 1.2: they have not converged; run longer."


@pytest.mark.parametrize("r_hats", [(1.2, 1.0), (np.nan, np.nan), (1.0, 1.19)])
def test_small_r_hat(r_hats):
    assert poor_mixing(table(*r_hats)) == []


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
