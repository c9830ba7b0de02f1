"""Averages and draws of coefficients of wide models, whose importance weights are uneven."""

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel._errors import ConvergenceWarning
from pyrjsel.selection.evidence import importance_quality as effective
from pyrjsel.selection.evidence import laplace
from pyrjsel.selection.evidence.laplace import MarginalLikelihood

OPTIONS = {
    "enumerate": {},
    "collapsed": {"draws": 300, "burn_in": 20, "chains": 1},
}


@pytest.fixture(scope="module")
def wide():
    """40 columns, all in the only model, and few events: 64 pairs have some ten effective draws."""
    rng = np.random.default_rng(4)
    x = pd.DataFrame(rng.normal(size=(400, 40)), columns=[f"x{k}" for k in range(40)])
    y = rng.random(400) < 1 / (1 + np.exp(2.5 - x["x0"] + 0.5 * x["x1"]))
    return rj.logit(f"y ~ {' + '.join(x)}", x.assign(y=y * 1.0), always=list(x))


def fit(model, sampler, **more):
    return model.fit(sampler=sampler, rng=1, n_jobs=1, progress=False, **{**OPTIONS[sampler], **more})


@pytest.mark.parametrize("sampler", OPTIONS)
@pytest.mark.filterwarnings("ignore:The marginal likelihoods:pyrjsel.ConvergenceWarning")
def test_standard_deviations_of_a_wide_model(wide, sampler):
    regression, inside = wide.regression, np.ones(40, dtype=np.uint8)
    marginal = MarginalLikelihood(regression, b"truth", 2**16, regression.n_columns)
    truth = marginal.with_effective(inside, marginal.integrate(inside), 1900)
    assert truth.effective > 1900
    want = np.sqrt(truth.moments[1] - truth.moments[0] ** 2) / np.append(1.0, regression.scale)
    found = fit(wide, sampler)
    # From 200 effective draws each sd has an error of 5 % at most, and their mean, of 41 that hardly depend
    # on each other, one of 1 %.
    samples = [found.coefficients["sd"].to_numpy()]
    if sampler == "collapsed":
        samples.append(found.posterior.draws.coefficients[0].std(axis=0))  # 300: 4 % each
    for each in samples:
        away = np.log(each / want)
        assert abs(np.mean(away)) < 0.05
        assert np.max(np.abs(away)) < 0.3


@pytest.mark.parametrize("sampler", OPTIONS)
def test_too_few_draws_are_reported(wide, sampler, monkeypatch):
    monkeypatch.setattr(laplace, "MOST_MORE", 0)
    with pytest.warns(ConvergenceWarning) as caught:
        found = fit(wide, sampler, pairs=4)
    texts = [str(each.message) for each in caught]
    assert [each.filename for each in caught] == [__file__] * len(caught)
    (text,) = (text for text in texts if "Models holding 100% of the posterior have too few" in text)
    assert text in found.posterior.notes
    assert "sampler='rjmcmc'" in found.summary().as_text()


@pytest.mark.parametrize("sampler", OPTIONS)
def test_laplace_has_no_draws_to_report(wide, sampler):
    assert not any("too few" in text for text in fit(wide, sampler, integration="laplace").posterior.notes)


def test_what_models_need():
    np.testing.assert_array_equal(laplace.needed(np.array([1.0, 0.5, 0.05])), [200.0, 100.0, 20.0])
    probability = np.array([0.6, 0.3, 0.06, 0.04])
    enough = laplace.needed(probability)
    assert effective.few_effective(probability, enough) == []
    assert effective.few_effective(probability, np.where(probability == 0.04, 1.0, enough)) == []
    (text,) = effective.few_effective(probability, np.where(probability == 0.06, 5.0, enough))
    assert "holding 6% of the posterior have too few effective importance draws (minimum 5)" in text
