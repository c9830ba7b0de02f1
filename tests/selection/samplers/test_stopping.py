"""The rule by which runs over models stop, and the errors of runs that did."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj


def groups(n=150):
    """Nine columns in three groups of neighbours, so that many inclusion probabilities are uncertain."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=(n, 3)).repeat(3, axis=1)
    x = pd.DataFrame(z + 0.6 * rng.normal(size=(n, 9))).add_prefix("x")
    return x, 0.25 * (x["x0"] + x["x4"]).to_numpy(), rng


def linear():
    x, eta, rng = groups()
    return rj.LinearSelection(eta + rng.normal(size=len(x)), x)


def logit():
    x, eta, rng = groups()
    return rj.LogitSelection((rng.random(len(x)) < 1 / (1 + np.exp(-2 * eta))).astype(int), x)


@pytest.fixture(scope="module")
def found():
    return linear().fit(sampler="collapsed", rng=1, progress=False)


def test_figures_that_are_shown_are_accurate(found):
    everyone = found.diagnostics.loc["all"]
    assert found.settings.accuracy.mcse == 0.005
    assert found.inclusion["mcse"].max() <= 0.005
    assert everyone[["r_hat_size", "r_hat_log_posterior"]].max() <= 1.05
    assert everyone[["ess_size", "ess_log_posterior"]].min() >= 100
    assert not any("ended at" in note for note in found.posterior.notes)


def test_models_are_ranked_by_masses_that_are_known(found):
    """Odds of visited models are ratios of their masses, which enumeration has too."""
    exact = linear().fit(sampler="enumerate")
    known = {
        frozenset(terms): odds for terms, odds in zip(exact.models.terms, exact.models.odds, strict=True)
    }
    table = found.models.head(50)
    best = known[frozenset(table.terms.iloc[0])]
    wanted = np.array([known[frozenset(terms)] for terms in table.terms]) / best
    np.testing.assert_allclose(table.odds, wanted, rtol=1e-9)  # rounding of log masses of some hundreds
    assert best == 1.0  # the best model is found
    assert (np.diff(found.models.odds) >= 0).all()
    assert (found.models.odds_mcse == 0).all()


def test_odds_that_are_counted_are_accurate():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        jumps = linear().fit(sampler="rjmcmc", mcse=0.05, max_draws=12_800, rng=2, progress=False)
    top = jumps.models.iloc[1:4]
    limit = np.where(top.posterior < 0.01, 0.5, 0.05)
    good = (top.odds_mcse / top.odds <= limit).all()
    assert good == (jumps.settings.draws < 12_800)
    assert jumps.settings.draws > 200


def nearly_dependent(share):
    """One column of 20 is nearly the sum of three others; `share` of its standard deviation is its own."""
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(200, 20))).add_prefix("x")
    x["x0"] = x[["x1", "x2", "x3"]].sum(axis=1) / np.sqrt(3) + share * rng.normal(size=200)
    return rj.LinearSelection((x["x0"] + rng.normal(size=200)).to_numpy(), x)


def test_runs_among_nearly_dependent_columns_are_not_short():
    made = {"sampler": "collapsed", "rng": 2, "progress": False}
    assert nearly_dependent(0.15).fit(**made).settings.draws >= 1600
    assert nearly_dependent(1.0).fit(**made).settings.draws < 1600
    with pytest.warns(rj.ConvergenceWarning, match="below the 1,600 that nearly dependent columns require"):
        nearly_dependent(0.15).fit(max_draws=400, **made)
    # A draw of two proposals of each term is worth two.
    assert nearly_dependent(0.15).fit(sweeps=2, **made).settings.draws in (800, 1600)


def test_accuracy_that_is_asked_for():
    loose = linear().fit(sampler="collapsed", mcse=0.02, rng=1, progress=False)
    tight = linear().fit(sampler="collapsed", mcse=0.002, rng=1, progress=False)
    assert loose.settings.draws < tight.settings.draws
    assert tight.inclusion["mcse"].max() <= 0.002


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("make", "options", "fits"),
    [
        (linear, {"sampler": "collapsed"}, 200),
        (linear, {"sampler": "gibbs"}, 200),
        (logit, {"mcse": 0.01}, 60),
    ],
)
def test_errors_of_runs_that_stopped(make, options, fits):
    """A rule that stops where errors look small makes them look too small: not by much.

    Of estimates with known normal errors 4.6 % are further away than two of them. Of 1,800 such, nine in each
    fit with correlations of at most 1/2 in groups of three, more than 7 % have a probability below 1e-4 (the
    share has a standard deviation of 0.7 % then); 540 have one of 1.2 %, so that 9 % is asked for there.
    """
    model = make()
    truth = model.fit(sampler="enumerate", **({} if make is linear else {"pairs": 4096}))
    far, warned = [], 0
    for seed in range(fits):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            one = model.fit(**{"sampler": "collapsed", **options}, rng=seed, n_jobs=1, progress=False)
        away = np.abs(one.inclusion["posterior"] - truth.inclusion["posterior"])
        far.append((away > 2 * one.inclusion["mcse"]).to_numpy())
        # Chains that disagree are told at a level at which a few of so many right fits do.
        assert all("Chains disagree on 1 of" in str(message.message) for message in caught)
        warned += bool(caught)
    assert np.mean(far) <= (0.07 if fits == 200 else 0.09)
    assert warned <= 0.05 * fits
