"""Expected responses of linear models: the columns times the means of the coefficients, without draws."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj

CRIME = rj.datasets.uscrime().data.rename(columns=str.lower)[["m", "ed", "po1", "ineq", "prob", "y"]]
CRIME = CRIME.assign(o=np.linspace(-300, 300, len(CRIME)), w=1.0 + np.arange(len(CRIME)) % 3)
SHORT = {"draws": 300, "chains": 2}
RUNS = {
    "enumerate": ({}, {}),
    "enumerate, mixture": ({"coef_prior": rj.ZellnerSiow()}, {}),
    "enumerate, unscaled": ({"coef_prior": rj.Normal(10.0)}, {}),
    "collapsed": ({}, {"sampler": "collapsed", **SHORT}),
    "gibbs": ({}, {"sampler": "gibbs", **SHORT}),
    "spikes": ({"coef_prior": rj.SpikeSlab(1.0, 50)}, {"sampler": "gibbs", **SHORT}),
    "rjmcmc": ({}, {"sampler": "rjmcmc", **SHORT}),
    "population": ({}, {"sampler": "population", **SHORT}),
}


def fit(choices, options, data=CRIME, seed=1):
    model = rj.linear("y ~ m + ed + po1 + ineq + prob", data, offset="o", weights="w", **choices)
    return model.fit(rng=seed, progress=False, **options)


@pytest.fixture(scope="module", params=RUNS)
def results(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)  # the runs are short
        return fit(*RUNS[request.param])


def test_means_are_those_of_the_coefficients(results):
    new = CRIME.drop(columns="y").sample(n=12, random_state=1)
    new.iloc[4, new.columns.get_loc("ed")] = np.nan
    found = results.predict(new)
    means = results.coefficients["mean"]
    want = new["o"] + means["Intercept"] + sum(new[name] * means[name] for name in means.index[1:])
    # Rounding of sums of six numbers, none of which is larger than 1e4.
    pd.testing.assert_series_equal(found, want, rtol=0, atol=1e-10, check_names=False)
    assert found.isna().tolist() == [place == 4 for place in range(12)]
    frame = results.get_prediction(new).summary_frame()
    pd.testing.assert_series_equal(frame["mean"], found, check_exact=True, check_names=False)
    assert frame.isna().any(axis=1).tolist() == found.isna().tolist()
    few = results.get_prediction(new, draws=30).summary_frame()
    pd.testing.assert_series_equal(few["mean"], found, check_exact=True, check_names=False)
    assert not np.allclose(few["mean_se"].dropna(), frame["mean_se"].dropna(), rtol=1e-6)


@pytest.mark.parametrize("which", ["bma", "hpm", "mpm"])
def test_seeds_make_no_difference_after_enumeration(which):
    one, other = (fit({}, {}, seed=seed) for seed in (1, 2))
    pd.testing.assert_series_equal(one.predict(which=which), other.predict(which=which), check_exact=True)
    frames = [run.get_prediction(which=which).summary_frame() for run in (one, other)]
    pd.testing.assert_series_equal(frames[0]["mean"], frames[1]["mean"], check_exact=True)
    assert not np.allclose(frames[0]["mean_se"], frames[1]["mean_se"], rtol=1e-6)


def test_no_draws_are_made(monkeypatch):
    run = fit({}, {})
    wanted = {which: run.predict(which=which) for which in ("bma", "hpm")}
    monkeypatch.setattr("pyrjsel.selection.evidence.gaussian.SingleModels.sample_own", None)
    again = fit({}, {})
    for which, want in wanted.items():
        pd.testing.assert_series_equal(again.predict(which=which), want, check_exact=True)


def test_means_that_do_not_exist():
    """Two rows leave one degree of freedom: the coefficients are Cauchy, and have no mean."""
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0], "z": [1.0, 0.5]})
    with pytest.warns(rj.PyrjselWarning, match="no posterior mean"):
        model = rj.linear("y ~ x", frame, coef_prior=rj.GPrior(2.0))
    run = model.fit(rng=1, progress=False)
    assert run.coefficients["mean"].isna().all()
    assert run.predict().isna().all()
    assert run.get_prediction().summary_frame()["mean_ci_lower"].notna().all()
