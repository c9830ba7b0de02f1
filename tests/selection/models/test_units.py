"""Columns in units that are powers of ten apart, and responses far from zero."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import pyrjsel as rj
from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.evidence.spike_slab import SpikeModels
from pyrjsel.selection.priors.coefficients import Normal
from pyrjsel.selection.priors.spike_slab import SpikeSlab
from pyrjsel.selection.regression.gaussian import GaussianRegression


@pytest.mark.parametrize(
    ("prior", "single"), [(Normal(10.0, scaled=False), SingleModels), (SpikeSlab(0.1, 1e4), SpikeModels)]
)
def test_the_order_of_columns_is_no_matter(prior, single):
    """Eigenvalues found in the order of the columns, 1e18 apart, moved log marginal likelihoods by 0.004."""
    rng = np.random.default_rng(4)
    units = np.array([1e6, 1.0, 1e-3])
    x = (rng.normal(size=(100, 3)) + 0.5 * rng.normal(size=(100, 1))) * units
    y = x @ (0.4 / units) + rng.normal(size=100)
    found = []
    for order in permutations(range(3)):
        regression = GaussianRegression.build(x[:, order], y, [1, 1, 1], prior)
        inside = np.isin(order, (0, 2)).astype(np.uint8)
        both = single(regression)
        found.append([both.log_marginal(np.ones(3, dtype=np.uint8)), both.log_marginal(inside)])
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (6, 2)), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "prior",
    [rj.GPrior("n"), rj.ZellnerSiow(), rj.Normal(1.0), rj.Normal(1.0, scaled=False), rj.SpikeSlab(0.1, 50)],
    ids=repr,
)
@pytest.mark.parametrize("sampler", ["enumerate", "gibbs"])
def test_a_response_far_from_zero(prior, sampler):
    """The intercept's sd is the same wherever zero is; squares of 1e7 know it to 0.1 at best."""
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    y = pd.Series(np.round(0.3 * x["a"] + 0.1 * rng.normal(size=40), 6), name="y")

    def moments(response):
        model = rj.LinearSelection(response, x, coef_prior=prior)
        return model.fit(sampler=sampler, draws=200, rng=1, n_jobs=1, progress=False).coefficients

    near, far = moments(y), moments(y + 1e7)
    # Responses are rounded to 2e-9, which is 2e-8 of their errors.
    for name in ("sd", "sd_included"):
        np.testing.assert_allclose(far[name], near[name], rtol=1e-5)
    np.testing.assert_allclose(far["mean_included"] - [1e7, 0, 0], near["mean_included"], atol=1e-7)


def test_every_sampler_knows_the_spread_of_a_distant_intercept():
    """Squares of 1e6 know the sd of 0.014 to 0.01 at best.

    Over 40 seeds, sds of 5,000 draws, or the 2,500 that are kept, have errors of 1.5 % at most (reversible
    jumps), and means of 1.2 standard errors of so many independent draws: 5 of each are allowed.
    """
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    y = pd.Series(1e6 + 0.1 * rng.normal(size=40), name="y")
    model = rj.LinearSelection(y, x)
    want = model.fit(sampler="enumerate").coefficients.loc["Intercept"]
    near = rj.LinearSelection(y - 1e6, x).fit(sampler="enumerate").coefficients.loc["Intercept"]
    # Responses are rounded to 1e-10, which is 1e-9 of their errors.
    assert want["sd"] == pytest.approx(near["sd"], rel=1e-8)
    for sampler in ("gibbs", "collapsed", "rjmcmc", "population"):
        fit = model.fit(sampler=sampler, draws=5000, burn_in=100, chains=1, rng=2, n_jobs=1, progress=False)
        found = fit.coefficients.loc["Intercept"]
        assert found["sd"] == pytest.approx(want["sd"], rel=0.075), sampler
        assert found["mean"] == pytest.approx(want["mean"], abs=6 * want["sd"] / np.sqrt(5000)), sampler
        assert found["prob_positive"] == 1.0
        assert np.std(fit.posterior.draws.coefficients[0, :, 0]) == pytest.approx(want["sd"], rel=0.075)


@pytest.mark.filterwarnings("ignore:The run has:pyrjsel.ConvergenceWarning")
@pytest.mark.parametrize("unit", [1e-120, 1e120])
@pytest.mark.parametrize("sampler", ["gibbs", "collapsed", "rjmcmc", "population"])
def test_samplers_do_not_know_the_unit_of_the_response(sampler, unit):
    """Error variances of 1e240 are no further out than others, and temperatures do not see them either."""
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.normal(size=(15, 2)), columns=["a", "b"])
    y = pd.Series(0.4 * x["a"] + rng.normal(size=15), name="y")
    fits = [
        rj.LinearSelection(response, x, coef_prior=rj.HyperG(3)).fit(
            sampler=sampler, draws=200, chains=1, rng=2, n_jobs=1, progress=False
        )
        for response in (y, y * unit)
    ]
    # The same random numbers: rounding alone is between the draws.
    near, far = (each.draws.variance for each in fits)
    np.testing.assert_allclose(far / unit**2, near, rtol=1e-6)
    np.testing.assert_array_equal(fits[1].draws.size, fits[0].draws.size)


def test_the_unit_of_the_weights():
    """Twice the weights are twice sigma^2: no matter to g-priors, and twice the variances of scaled ones."""
    rng = np.random.default_rng(6)
    x = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    y, w = 0.3 * x["a"].to_numpy() + rng.normal(size=30), rng.uniform(0.5, 2.0, 30)

    def inclusion(prior, weights):
        return rj.LinearSelection(y, x, coef_prior=prior, weights=weights).fit().inclusion["posterior"]

    for prior in (rj.GPrior("n"), rj.ZellnerSiow(), rj.Normal(0.5, scaled=False), rj.SpikeSlab(0.1, 50)):
        np.testing.assert_allclose(inclusion(prior, 2 * w), inclusion(prior, w), rtol=1e-9)
    doubled = inclusion(rj.Normal(0.5), 2 * w)
    np.testing.assert_allclose(doubled, inclusion(rj.Normal(0.5 * np.sqrt(2)), w), rtol=1e-9)
    assert np.max(np.abs(doubled - inclusion(rj.Normal(0.5), w))) > 0.01
