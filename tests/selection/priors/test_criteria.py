"""Linear models under BIC and AIC: least squares, with the residual degrees of freedom of each model."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import t as student

import pyrjsel as rj

RNG = np.random.default_rng(34)
FRAME = pd.DataFrame(RNG.normal(size=(15, 4)), columns=list("abcd"))
FRAME["y"] = FRAME["a"] + RNG.normal(size=15)
RULES = (rj.BIC(), rj.AIC())


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_single_model_has_the_intervals_of_least_squares(rule):
    fit = rj.linear("y ~ a + b + c + d", FRAME, coef_prior=rule, always=list("abcd")).fit(draws=40_000, rng=1)
    ols = smf.ols("y ~ a + b + c + d", FRAME).fit()
    table, df = fit.coefficients, ols.df_resid
    np.testing.assert_allclose(table["mean"], ols.params, rtol=1e-10)
    np.testing.assert_allclose(table["sd"], ols.bse * np.sqrt(df / (df - 2)), rtol=1e-10)
    np.testing.assert_allclose(table["prob_positive"], student.cdf(ols.tvalues, df), rtol=0, atol=1e-9)
    # Ends of intervals are quantiles of draws, with errors of at most .03 standard errors of OLS.
    away = (fit.conf_int().to_numpy() - ols.conf_int().to_numpy()) / ols.bse.to_numpy()[:, None]
    assert np.abs(away).max() < 0.15


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_averages_are_over_student_distributions_of_each_model(rule):
    fit = rj.linear("y ~ a + b", FRAME, coef_prior=rule, model_prior=rj.Uniform()).fit(rng=1)
    weight, mean, square, positive = [], np.zeros(3), np.zeros(3), np.zeros(3)
    for names in ((), ("a",), ("b",), ("a", "b")):
        ols = smf.ols("y ~ " + (" + ".join(names) or "1"), FRAME).fit()
        df, own = ols.df_resid, [["Intercept", "a", "b"].index(name) for name in ols.params.index]
        penalty = 0.5 * np.log(15) if isinstance(rule, rj.BIC) else 1.0
        weight.append(np.exp(ols.llf - penalty * len(names)))
        mean[own] += weight[-1] * ols.params
        square[own] += weight[-1] * (ols.params**2 + ols.bse**2 * df / (df - 2))
        positive[own] += weight[-1] * student.cdf(ols.tvalues, df)
        single = fit.single_model(list(names)).coefficients.loc[ols.params.index]
        np.testing.assert_allclose(single["sd"], ols.bse * np.sqrt(df / (df - 2)), rtol=1e-10)
    table, total = fit.coefficients, sum(weight)
    np.testing.assert_allclose(table["mean"], mean / total, rtol=1e-9)
    np.testing.assert_allclose(table["sd"], np.sqrt(square / total - (mean / total) ** 2), rtol=1e-9)
    np.testing.assert_allclose(table["prob_positive"], positive / total, rtol=0, atol=1e-9)


def test_a_mean_that_does_not_exist_is_missing_with_a_warning():
    short = FRAME.iloc[:6]
    with pytest.warns(rj.PyrjselWarning, match=r"leave 1 degrees of freedom .* in models of 4 columns"):
        full = rj.linear("y ~ a + b + c + d", short, coef_prior=rj.BIC())
    assert full.fit(rng=1).coefficients["mean"].isna().all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = rj.linear("y ~ a + b + c + d", short, coef_prior=rj.BIC(), max_size=2)
    assert np.isfinite(small.fit(rng=1).coefficients["sd"]).all()
