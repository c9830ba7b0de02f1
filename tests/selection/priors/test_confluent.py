"""Mixtures of g-priors by densities of u = 1 / (1 + g), against the printed densities in 30 digits."""

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from turns import by_turns

import pyrjsel as rj
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.priors.shrinkage import Shrinkage
from pyrjsel.selection.regression._problem import grid_of_g

PRIORS = [rj.Robust(), rj.Intrinsic(), rj.BetaPrime(), rj.CCH(0.5, 40), rj.CCH(1, 3, 2), rj.CCH(0.2, 1)]
# As narrow as priors of g can be.
NARROW = rj.CCH(100, 2000)


def printed(prior, n, d):
    """Return the density of u up to a constant and the largest u, as Li and Clyde (2018) print them."""
    half = mp.mpf(1) / 2
    if isinstance(prior, rj.Robust):
        return lambda u: u**-half, mp.mpf(d + 1) / (n + 1)
    if isinstance(prior, rj.Intrinsic):
        v, k = mp.mpf(n + d + 1) / (d + 1), mp.mpf(n + d + 1) / n
        return lambda u: u**-half * (1 - v * u) ** -half / (k + (1 - k) * v * u), 1 / v
    if isinstance(prior, rj.BetaPrime):
        return lambda u: u ** (-3 * half / 2) * (1 - u) ** (half * (n - d - mp.mpf("1.5")) - 1), mp.mpf(1)
    a, b, s = mp.mpf(prior.a), mp.mpf(prior.b), mp.mpf(prior.s)
    return lambda u: u ** (a / 2 - 1) * (1 - u) ** (b / 2 - 1) * mp.exp(-s * u / 2), mp.mpf(1)


def expectation(prior, n, d, of):
    """Return E[of(u)] under the prior; the rule of Takahasi and Mori bears singular ends."""
    density, top = printed(prior, n, d)
    ends = [top * mp.mpf(10) ** -k for k in (300, 30, 12, 6, 3, 2, 1.6, 1.4, 1.3, 1.2, 1)]
    ends += [top * (1 - mp.mpf(10) ** -k) for k in (1, 3, 8, 16, 27)]
    total = mp.quad(density, ends)
    return mp.quad(lambda u: density(u) * of(u), ends) / total


@pytest.mark.parametrize(
    ("setting", "prior"),
    by_turns([(30, 1, 0.0), (30, 3, 0.4), (200, 12, 0.9)], [*PRIORS, NARROW]),
    ids=repr,
)
def test_bayes_factors_of_linear_models(prior, setting):
    n, d, r2 = setting
    with mp.workdps(30):
        r2 = mp.mpf(r2)

        def factor(u):
            """(1 + g)^(-d/2) (1 - R^2 g / (1 + g))^(-nu/2) with g / (1 + g) = 1 - u."""
            return u ** (mp.mpf(d) / 2) * (1 - r2 * (1 - u)) ** (-mp.mpf(n - 1) / 2)

        total = expectation(prior, n, d, factor)
        shrunk = expectation(prior, n, d, lambda u: factor(u) * (1 - u)) / total
    shrinkage = Shrinkage(prior, n, n - 1.0)
    found = float(shrinkage.log_factor(d, float(r2)))
    # Singular ends and narrow peaks cost the reference digits: 30 leave 8, 6 with a narrow prior, and 4 where
    # the density has the power -.9 of u.
    tolerance = {rj.CCH(0.2, 1): 1e-3, NARROW: 1e-6}.get(prior, 1e-8)
    assert found == pytest.approx(float(mp.log(total)), abs=tolerance, rel=1e-9)
    assert float(shrinkage.factors(d, float(r2))[0]) == pytest.approx(float(shrunk), abs=tolerance)
    score = GaussianScore.mixture(n - 1.0, 1.0, shrinkage, most=d)
    assert score.value(d, 0.0, float(r2)) == pytest.approx(found, abs=1e-10, rel=1e-12)


def test_the_family_contains_the_hyper_g_priors():
    log_g = np.linspace(-8.0, 12.0, 41)
    for n, d in ((20.0, 1), (500.0, 7)):
        np.testing.assert_allclose(
            rj.CCH(1.2, 2).log_density(log_g, n, d), rj.HyperG(3.2).log_density(log_g, n), atol=1e-9
        )


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_densities_integrate_to_one_and_end_where_g_does(prior):
    for n, d in ((40.0, 2), (40.0, 9)):
        low = prior.least(n, d)
        t = np.linspace(-90.0, 300.0, 20_001)
        g = low + np.exp(t)
        density = np.exp(np.asarray(prior.logpdf(g, n, d)) + t)
        # Closer to the smallest g than rounding the density of g has no digits; that of t has.
        assert np.sum(np.exp(prior.density_at(t, n, d))) * (t[1] - t[0]) == pytest.approx(1.0, abs=1e-8)
        far = t > np.log(max(low, 1e-8)) - 15.0
        np.testing.assert_allclose(density[far], np.exp(prior.density_at(t, n, d))[far], rtol=1e-5)
        if low > 0:
            assert prior.logpdf(0.99 * low, n, d) == -np.inf


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_draws_of_g_have_the_posterior(prior):
    shrinkage = Shrinkage(prior, 50, 49.0)
    draws = shrinkage.sample(3, 0.3 / 0.7, 4000, np.random.default_rng(2))
    t = np.linspace(-60.0, 120.0, 40_001)
    weight = np.exp(shrinkage.log_weight(t, 3, np.array([0.3 / 0.7])) - 5.0)
    cdf = np.cumsum(weight) / weight.sum()
    low = prior.least(50, 3)
    # Independent draws: a false alarm in a million.
    assert stats.kstest(np.log(draws - low), lambda at: np.interp(at, t, cdf)).pvalue > 1e-6


@pytest.mark.parametrize(("family", "prior"), by_turns(["linear", "logit", "poisson"], PRIORS[:5]), ids=repr)
def test_collapsed_chains_agree_with_enumeration(prior, family):
    rng = np.random.default_rng(4)
    x = pd.DataFrame(rng.normal(size=(70, 5)), columns=list("abcde"))
    mean = 0.3 * x["a"].to_numpy()
    kind, y = {
        "linear": (rj.LinearSelection, mean + rng.normal(size=70)),
        "logit": (rj.LogitSelection, (rng.random(70) < 1 / (1 + np.exp(-3 * mean))).astype(int)),
        "poisson": (rj.PoissonSelection, rng.poisson(np.exp(mean))),
    }[family]
    model = kind(y, x, coef_prior=prior, model_prior=rj.BetaBinomial(1, 1))
    wanted = model.fit(rng=1)
    found = model.fit(sampler="collapsed", draws=2000, chains=2, rng=2)
    z = (found.inclusion["posterior"] - wanted.inclusion["posterior"]) / found.inclusion["mcse"]
    # 75 values in all; beyond 5.5 once in a million runs, if errors are normal.
    assert np.nanmax(np.abs(z)) < 5.5
    new = model.fit(rng=1).predict(x.head(3))
    assert np.isfinite(new).all()
    with pytest.raises(rj.NotAvailableError, match=r"full conditional.*sampler='collapsed'"):
        model.fit(sampler="rjmcmc", draws=10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rj.CCH(0.1, 1), "'a' parameter of CCH"),
        (lambda: rj.CCH(101, 1), "'a' parameter of CCH"),
        (lambda: rj.CCH(1, 0), "'b' parameter of CCH"),
        (lambda: rj.CCH(1, 1, -1), "'s' parameter of CCH"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(rj.ParameterError, match=message):
        make()


def test_the_beta_prime_prior_needs_rows():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(6, 5)), columns=list("abcde"))
    for kind, y in ((rj.LinearSelection, rng.normal(size=6)), (rj.LogitSelection, [0, 1, 0, 1, 1, 0])):
        with pytest.raises(rj.ParameterError, match=r"6 rows and 5 columns"):
            kind(y, x, coef_prior=rj.BetaPrime())


def test_priors_that_depend_on_the_size_count_slopes():
    """Of three classes each column has two: the prior of g in a model, and the rows that are needed."""
    rng = np.random.default_rng(1)
    x = pd.DataFrame(rng.normal(size=(17, 6)), columns=list("abcdef"))
    y = np.array(list("uvw"))[np.arange(17) % 3]
    prior = rj.Robust()
    regression = rj.MultinomialSelection(y, x, coef_prior=prior).regression
    log_g, density = regression._grid_of_g()["log_g"], regression._grid_of_g()["log_prior_g"]
    assert len(log_g) == 14  # by number of slopes, up to twelve and two intercepts
    assert np.exp(log_g[4].min()) == pytest.approx(prior.least(17.0, 4), rel=1e-6)
    np.testing.assert_array_equal(density[4], prior.density_at(grid_of_g(), 17.0, 4))
    rj.MultinomialSelection(y[:16], x[:16], coef_prior=rj.BetaPrime())
    with pytest.raises(rj.ParameterError, match="15 rows and 6 columns, of 2 linear predictors each"):
        rj.MultinomialSelection(y[:15], x[:15], coef_prior=rj.BetaPrime())
