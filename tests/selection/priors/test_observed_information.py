"""Expansions at maxima: g-priors with the observed information, empirical Bayes, BIC and AIC.

References are statsmodels' maxima with sums and integrals of scipy, by the formulas of Li and Clyde (2018),
and log Bayes factors of R's BAS 2.0.2 (``data/bas_glm.csv``, made by ``data/bas_glm.R`` from data sets of R's
MASS).
"""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from g_kit import data, enumerated, maximum
from scipy import special, stats
from scipy.integrate import quad

import pyrjsel as rj
from pyrjsel.selection.evidence.laplace import MarginalLikelihood

DATA = Path(__file__).parents[1] / "data"
OBSERVED = {"information": "observed"}
MIXTURES = [
    rj.HyperG(3, **OBSERVED),
    rj.HyperGN(4, **OBSERVED),
    rj.ZellnerSiow(**OBSERVED),
    rj.Robust(**OBSERVED),
    rj.Intrinsic(**OBSERVED),
    rj.BetaPrime(**OBSERVED),
    rj.CCH(0.5, 12, 1.5, **OBSERVED),
]
RULES = [rj.GPrior(7, **OBSERVED), rj.EmpiricalBayes(), rj.BIC(), rj.AIC()]
MAKE = {"logit": rj.logit, "poisson": rj.poisson}


def log_sum(prior, n, d, q):
    """Return the log of the integral of (1 + g)^(-d/2) exp(-Q / 2 / (1 + g)) p(g) dg."""

    def density(t):
        log_g = float(prior.log_g_at(np.array([t]), n, d)[0])
        left = np.logaddexp(0.0, log_g)
        return np.exp(
            float(prior.density_at(np.array([t]), n, d)[0]) - 0.5 * d * left - 0.5 * q * np.exp(-left)
        )

    parts = [quad(density, low, low + 10, epsabs=0, epsrel=1e-10, limit=200)[0] for low in range(-40, 80, 10)]
    return np.log(np.sum(parts))


def expected(prior, table, family):
    """Return the log marginal likelihood of each set of columns, minus that of the null model."""
    columns = {"a": [table["a"]], "b": [table["b"]]}
    columns["C(level)"] = [(table["level"] == level).astype(float) for level in ("q", "r")]
    n = float(table["n"].sum())
    found, null = {}, None
    for inside in product([0, 1], repeat=3):
        chosen = [name for name, one in zip(columns, inside, strict=True) if one]
        likelihood, j, s, slopes = maximum(table, family, [x for name in chosen for x in columns[name]])
        d, q = len(slopes), slopes @ s @ slopes
        if isinstance(prior, (rj.BIC, rj.AIC)):
            value = likelihood - d * (0.5 * np.log(n) if isinstance(prior, rj.BIC) else 1.0)
        else:
            value = likelihood - 0.5 * np.log(j)
            if d and isinstance(prior, rj.EmpiricalBayes):
                g = max(q / d - 1, 0)
                value -= 0.5 * d * np.log1p(g) + 0.5 * q / (1 + g)
            elif d and isinstance(prior, rj.GPrior):
                value -= 0.5 * d * np.log1p(prior.g) + 0.5 * q / (1 + prior.g)
            elif d:
                value += log_sum(prior, n, d, q)
        null = value if null is None else null
        found[frozenset(chosen)] = value - null
    return found


@pytest.mark.parametrize("family", MAKE)
@pytest.mark.parametrize("prior", [*MIXTURES, *RULES], ids=repr)
def test_bayes_factors(prior, family):
    table, options = data(family)
    results, found = enumerated(MAKE[family]("y ~ a + b + C(level)", table, coef_prior=prior, **options))
    want = expected(prior, table, family)
    assert found.keys() == want.keys()
    for terms, value in want.items():
        # The grid of log g has steps of 1/4, with an error of 1e-9; statsmodels' maxima have errors of 1e-8.
        assert found[terms] == pytest.approx(value, abs=1e-6)
    # They define the posterior, without an error of their own.
    assert np.nanmax(results.posterior.inclusion_mcse) == 0.0


# Columns of BAS's table, and where BAS itself is exact: by scipy's quadrature in 15 digits it is off by up to
# .05 in hyper-g priors of models with an odd number of columns and small Q, .05 in CCH priors with large Q,
# and .025 in the intrinsic prior of three columns or more. Its empirical Bayes leaves out exp(-Q / 2) if g
# is 0.
BAS = {
    "g.prior_n": (rj.GPrior("n", **OBSERVED), 1.0),
    "robust": (rj.Robust(**OBSERVED), 1.0),
    "bic": (rj.BIC(), 1.0),
    "aic": (rj.AIC(), 1.0),
    "EB_local": (rj.EmpiricalBayes(), 0.99),
    "hyper_g_n": (rj.HyperGN(3, **OBSERVED), 0.98),
    "CCH_.5_n_0": (None, 0.7),
    "beta_prime": (rj.BetaPrime(**OBSERVED), 0.7),
    "hyper_g_3": (rj.HyperG(3, **OBSERVED), 0.6),
    "intrinsic": (rj.Intrinsic(**OBSERVED), 0.2),
}


@pytest.mark.parametrize("name", BAS)
@pytest.mark.parametrize(("source", "make"), [("birthwt", rj.logit), ("quine", rj.poisson)])
@pytest.mark.filterwarnings("ignore::pyrjsel.DispersionWarning")
def test_bayes_factors_of_bas(source, make, name):
    table = pd.read_csv(DATA / f"bas_{source}.csv")
    prior, least = BAS[name]
    if prior is None:
        prior = rj.CCH(0.5, len(table), **OBSERVED)
    terms = [column for column in table if column != "y"]
    _, found = enumerated(make(f"y ~ {' + '.join(terms)}", table, coef_prior=prior))
    want = pd.read_csv(DATA / "bas_glm.csv", keep_default_na=False)
    want = want[want["data"] == source]
    error = np.array(
        [
            abs(found[frozenset(model.split("+")) - {""}] - value)
            for model, value in zip(want["model"], want[name], strict=True)
        ]
    )
    assert error.size == 2 ** len(terms)
    # Nine digits are stored, and BAS's maxima have errors of up to 1e-8.
    assert np.mean(error < 1e-5) >= least
    assert error.max() < (1e-5 if least == 1.0 else 0.4 if name == "EB_local" else 0.06)


@pytest.mark.parametrize("prior", [rj.HyperGN(3, **OBSERVED), *RULES], ids=repr)
def test_coefficients(prior):
    """Moments and draws of the full model are those of the mixture of normal distributions over g."""
    table, options = data("logit")
    model = rj.logit("y ~ a + b", table, coef_prior=prior, always=["a", "b"], **options)
    results = model.fit(sampler="enumerate")
    _, _, s, slopes = maximum(table, "logit", [table["a"], table["b"]])
    q, n = slopes @ s @ slopes, float(table["n"].sum())
    if isinstance(prior, rj.HyperGN):
        t = np.linspace(-40, 80, 24_001)
        left = np.logaddexp(0.0, t)
        weight = np.exp(prior.density_at(t, n, 2) - left - 0.5 * q * np.exp(-left))
        shrink = 1.0 / (1.0 + np.exp(-t))
    else:
        g = {rj.GPrior: 7.0, rj.EmpiricalBayes: q / 2 - 1}.get(type(prior), np.inf)
        weight, shrink = np.ones(1), np.array([1.0 / (1.0 + 1.0 / g)])
    weight = weight / weight.sum()
    mean = weight @ shrink * slopes
    inverse = np.linalg.inv(s)
    variance = weight @ shrink * np.diag(inverse) + (weight @ shrink**2) * slopes**2 - mean**2
    shown = results.coefficients.loc[["a", "b"]]
    # Nodes of a relative weight below e^-13 are left out of the moments.
    np.testing.assert_allclose(shown["mean"], mean, rtol=1e-4)
    np.testing.assert_allclose(shown["sd"], np.sqrt(variance), rtol=1e-4)
    draws, nuisance = results._marginal.sample(np.ones(2, dtype=np.uint8), 4000, np.random.default_rng(3))
    assert nuisance == {}
    raw = draws[:, 1:] / model.regression.scale
    # |z| < 5.3 in each of 5 x 4 comparisons: 2e-6 in all.
    z = (raw.mean(axis=0) - mean) / np.sqrt(variance / 4000)
    assert np.abs(z).max() < 5.3
    assert np.abs(raw.var(axis=0) / variance - 1).max() < 5.3 * np.sqrt(2.5 / 4000)


def test_coefficients_of_wide_models():
    """More columns need a finer grid of log g, with more nodes than are kept."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((1500, 50))
    y = rng.binomial(1, special.expit(x[:, :30] @ np.full(30, 0.3)))
    model = rj.LogitSelection(y, pd.DataFrame(x).add_prefix("x"), coef_prior=rj.HyperG(3, **OBSERVED))
    for size in (10, 11, 42, 43, 50):
        gamma = np.zeros(50, dtype=np.uint8)
        gamma[:size] = 1
        found = MarginalLikelihood(model.regression, bytes(16), 64, 51).approximate(gamma)
        fit = sm.GLM(y, sm.add_constant(x[:, :size]), family=sm.families.Binomial()).fit(tol=1e-14)
        slopes, inverse = fit.params[1:], fit.cov_params()[1:, 1:]
        t = np.linspace(-40, 80, 48_001)
        left = np.logaddexp(0.0, t)
        q = slopes @ np.linalg.solve(inverse, slopes)
        weight = np.exp(
            rj.HyperG(3).density_at(t, 1500.0, size) - 0.5 * size * left - 0.5 * q * np.exp(-left)
        )
        mean = weight @ (1.0 / (1.0 + np.exp(-t))) / weight.sum() * slopes
        # Nodes of a relative weight below e^-13 are left out of the moments.
        np.testing.assert_allclose(found.moments[0][1:] / model.regression.scale[:size], mean, rtol=1e-4)


def test_the_intercept_of_draws_is_that_of_the_expansion():
    """At g = inf (BIC) coefficients are normal at the maximum likelihood estimate, with its covariance."""
    table, options = data("logit")
    model = rj.logit("y ~ a + b", table, coef_prior=rj.BIC(), always=["a", "b"], **options)
    results = model.fit(sampler="enumerate")
    x = sm.add_constant(table[["a", "b"]])
    response = np.column_stack([table["n"] * table["y"], table["n"] * (1 - table["y"])])
    fit = sm.GLM(response, x, family=sm.families.Binomial(), offset=table["shift"]).fit(tol=1e-14)
    shown = results.coefficients
    np.testing.assert_allclose(shown["mean"], fit.params, rtol=1e-6)
    np.testing.assert_allclose(shown["sd"], fit.bse, rtol=1e-6)


@pytest.mark.parametrize("prior", [rj.HyperG(3, **OBSERVED), rj.EmpiricalBayes(), rj.BIC()], ids=repr)
def test_chains_agree_with_enumeration(prior):
    table, options = data("logit")
    model = rj.logit("y ~ a + b + C(level)", table, coef_prior=prior, **options)
    exact = model.fit(sampler="enumerate").posterior.inclusion
    found = model.fit(sampler="collapsed", draws=2000, rng=5).posterior
    # |z| < 5.5 in 3 x 3 comparisons: 4e-7.
    assert np.abs((found.inclusion - exact) / np.maximum(found.inclusion_mcse, 1e-4)).max() < 5.5


def test_the_default_sampler_of_many_terms_is_collapsed():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.standard_normal((80, 24)), columns=[f"x{k}" for k in range(24)])
    table["y"] = (table["x0"] + rng.standard_normal(80) > 0).astype(int)
    model = rj.logit("y ~ " + " + ".join(table.columns[:24]), table, coef_prior=rj.BIC())
    assert model.fit(draws=1000, rng=1).posterior.sampler == "collapsed"


@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_reversible_jumps_are_not_available(sampler):
    table, options = data("logit")
    for prior in (rj.HyperG(3, **OBSERVED), rj.EmpiricalBayes()):
        model = rj.logit("y ~ a + b", table, coef_prior=prior, **options)
        with pytest.raises(rj.NotAvailableError, match="sampler='collapsed'"):
            model.fit(sampler=sampler)
    with pytest.raises(rj.NotAvailableError, match="sampler='collapsed'"):
        rj.linear("y ~ a + b", table, coef_prior=rj.AIC()).fit(sampler="rjmcmc")


@pytest.mark.parametrize("options", [{"sampler": "enumerate"}, {"sampler": "collapsed"}], ids=str)
def test_separation_is_an_error(options):
    table, _ = data("logit")
    table["apart"] = (table["y"] > 0).astype(float)
    table["y"] = table["apart"]
    for prior in (rj.GPrior("n", **OBSERVED), rj.BIC()):
        with pytest.raises(rj.DataError, match="no finite maximum"):
            rj.logit("y ~ a + apart", table, coef_prior=prior, always=["apart"]).fit(**options)


def test_saved_results_know_the_rule(tmp_path):
    table, options = data("logit")
    for prior in (rj.HyperG(3, **OBSERVED), rj.EmpiricalBayes(), rj.AIC()):
        results = rj.logit("y ~ a + b + C(level)", table, coef_prior=prior, **options).fit()
        results.save(tmp_path / "fit.zip")
        loaded = rj.load(tmp_path / "fit.zip")
        assert loaded.model.coef_prior == prior
        pd.testing.assert_frame_equal(loaded.coefficients, results.coefficients)


# ---------------------------------------------------------------------- linear models


@pytest.mark.parametrize("prior", [rj.EmpiricalBayes(), rj.BIC(), rj.AIC()], ids=repr)
def test_linear_models(prior):
    """Bayes factors by statsmodels' F, bic and aic, and coefficients by the shrinkage factor."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((30, 3))
    table = pd.DataFrame(x, columns=["a", "b", "c"])
    table["y"] = 0.5 * table["a"] + rng.standard_normal(30)
    results, found = enumerated(rj.linear("y ~ a + b + c", table, coef_prior=prior))
    null = sm.OLS(table["y"], np.ones(30)).fit()
    for terms, value in found.items():
        if not terms:
            continue
        fit = sm.OLS(table["y"], sm.add_constant(table[sorted(terms)])).fit()
        d, f = len(terms), float(fit.fvalue)
        if isinstance(prior, rj.EmpiricalBayes):
            g = max(f - 1, 0)
            want = 0.5 * (29 - d) * np.log1p(g) - 14.5 * np.log1p(g * (1 - fit.rsquared))
        else:
            want = 0.5 * (null.bic - fit.bic if isinstance(prior, rj.BIC) else null.aic - fit.aic)
        # Closed forms, up to rounding.
        assert value == pytest.approx(want, abs=1e-10)
    full = rj.linear("y ~ a + b + c", table, coef_prior=prior, always=["a", "b", "c"]).fit()
    fit = sm.OLS(table["y"], sm.add_constant(table[["a", "b", "c"]])).fit()
    shrink = 1 - 1 / fit.fvalue if isinstance(prior, rj.EmpiricalBayes) else 1.0
    shown = full.coefficients.loc[["a", "b", "c"], "mean"]
    np.testing.assert_allclose(shown, shrink * fit.params[1:], rtol=1e-10)
    chain = rj.linear("y ~ a + b + c", table, coef_prior=prior).fit(sampler="gibbs", draws=2000, rng=3)
    error = chain.posterior.inclusion - results.posterior.inclusion
    # |z| < 5.5 in 3 x 3 comparisons: 4e-7.
    assert np.abs(error / np.maximum(chain.posterior.inclusion_mcse, 1e-6)).max() < 5.5


def test_empirical_bayes_below_f_of_one():
    """g is 0: all Bayes factors are 1, and coefficients are 0."""
    rng = np.random.default_rng(12)
    table = pd.DataFrame({"a": rng.standard_normal(40), "y": rng.standard_normal(40)})
    table["y"] -= stats.linregress(table["a"], table["y"]).slope * table["a"] * 0.9
    for make, column in ((rj.linear, "y"), (rj.logit, "z")):
        table["z"] = (table["y"] > table["y"].median()).astype(int)
        _, found = enumerated(make(f"{column} ~ a", table, coef_prior=rj.EmpiricalBayes()))
        # The smallest g of other models than linear ones is 1e-9; the expansion is not exact.
        assert abs(found[frozenset({"a"})]) < (1e-12 if make is rj.linear else 0.05)


def test_criteria_need_more_rows_than_columns():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.standard_normal((5, 5)), columns=[*"abcdy"])
    with pytest.raises(rj.ParameterError, match=r"another than BIC\(\).*Got 5 rows and 4 columns"):
        rj.linear("y ~ a + b + c + d", table, coef_prior=rj.BIC())


def test_information_is_named():
    with pytest.raises(rj.ParameterError, match="'information' parameter of HyperG must be one of 'null'"):
        rj.HyperG(3, information="unit")
    assert repr(rj.Robust(information="observed")) == "Robust(information='observed')"
    assert rj.Robust() != rj.Robust(information="observed")
