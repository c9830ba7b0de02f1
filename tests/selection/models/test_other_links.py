"""Probit and complementary log-log models from formulas: posteriors, maxima, predictions, files, warnings.

Jumps, temperatures, modes and integrals of these links are tested with those of the logit link, in
``samplers/reversible_jump`` and ``evidence``.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import pyrjsel as rj

MAKE = {"probit": rj.probit, "cloglog": rj.cloglog}
LINK = {"probit": sm.families.links.Probit(), "cloglog": sm.families.links.CLogLog()}
FORMULA = "y ~ a + b + C(level)"


@pytest.fixture(scope="module", params=MAKE)
def link(request):
    return request.param


@pytest.fixture(scope="module")
def table():
    """Eighty rows of one to four trials: an effect, two related columns, a factor, an offset."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((80, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 0] + x[:, 1]})
    frame["level"] = rng.choice(["p", "q", "r"], 80)
    frame["n"] = rng.integers(1, 5, 80)
    frame["shift"] = rng.normal(0, 0.2, 80)
    chance = stats.norm.cdf(-0.3 + 0.45 * frame["a"] - 0.3 * (frame["level"] == "q") + frame["shift"])
    frame["y"] = rng.binomial(frame["n"], chance) / frame["n"]
    return frame


@pytest.fixture(scope="module")
def model(link, table):
    return MAKE[link](FORMULA, table, weights="n", offset="shift")


@pytest.fixture(scope="module")
def enumerated(model):
    return model.fit(sampler="enumerate", rng=1)


def theirs(link, table, columns):
    """Statsmodels' fit of the columns."""
    x = sm.add_constant(table[columns].astype(float))
    response = np.column_stack([table["y"] * table["n"], (1 - table["y"]) * table["n"]])
    family = sm.families.Binomial(LINK[link])
    return sm.GLM(response, x, family=family, offset=table["shift"]).fit(tol=1e-14, maxiter=200)


def test_the_prior_has_the_information_of_the_null_model(link, table):
    """Its precision is X'WX with the expected information of one trial at statsmodels' null model."""
    model = MAKE[link]("y ~ a + b", table, weights="n", offset="shift")
    null = theirs(link, table, [])
    mean = np.asarray(null.fittedvalues)
    slope = LINK[link].inverse_deriv(np.asarray(null.params)[0] + table["shift"])
    w = table["n"] * slope**2 / (mean * (1 - mean))
    x = table[["a", "b"]].to_numpy()
    centred = x - np.average(x, axis=0, weights=w)
    want = (centred * w.to_numpy()[:, None]).T @ centred / table["n"].sum()
    scale = model.regression.scale
    np.testing.assert_allclose(
        model.regression.prior.precision[1:, 1:], want / np.outer(scale, scale), rtol=1e-6
    )


def test_predictions_average_the_models(link, enumerated, table):
    """Means lie between 0 and 1 and are those of draws; a single model's are its link of its predictor."""
    found = enumerated.predict(table)
    draws = enumerated.get_prediction(table).summary_frame()
    assert np.all((found > 0) & (found < 1))
    # A thousand draws or more of probabilities with standard deviations of 0.05 to 0.1.
    assert np.abs(draws["mean"] - found).max() < 0.03
    model = MAKE[link]("y ~ a", table, weights="n", offset="shift", coef_prior=rj.GPrior(1e9), always=["a"])
    fit = theirs(link, table, ["a"])
    # Averages over a posterior of standard deviations of 0.1 to 0.3 at the ends differ from values at its
    # centre by up to 0.3**2 / 2 times the second derivative of the link, which is below a half.
    assert np.abs(model.fit().predict(table) - fit.fittedvalues).max() < 0.022


def test_grouped_trials_are_single_ones(link, table):
    """A row of n trials has the likelihood of n rows with the same columns."""
    repeated = table.loc[table.index.repeat(table["n"])].reset_index(drop=True)
    order = table.index.repeat(table["n"])
    rank = pd.Series(order).groupby(order).cumcount().to_numpy()
    repeated["y"] = (rank < np.round(repeated["y"] * repeated["n"])).astype(int)
    one = MAKE[link](FORMULA, repeated, offset="shift").fit(sampler="enumerate", rng=1, pairs=1024)
    other = MAKE[link](FORMULA, table, weights="n", offset="shift").fit(
        sampler="enumerate", rng=1, pairs=1024
    )
    # Integrals have errors of 1e-3 or less.
    np.testing.assert_allclose(one.posterior.inclusion, other.posterior.inclusion, atol=5e-3)


def test_separated_classes_are_named(link):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.standard_normal(60), "b": rng.standard_normal(60)})
    frame["y"] = (frame["a"] > 0.2).astype(int)
    with pytest.warns(rj.SeparationWarning, match="classes are separated.* by a in"):
        results = MAKE[link]("y ~ a + b", frame).fit(rng=1)
    assert results.inclusion.loc["a", "posterior"] > 0.99
