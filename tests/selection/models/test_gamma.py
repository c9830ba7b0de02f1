"""Gamma models with known and with unknown shape, as users meet them.

Jumps, temperatures, modes and integrals at a known shape are tested with those of the other families, in
``samplers/reversible_jump`` and ``evidence``; the likelihood in ``tests/families``.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats

import pyrjsel as rj

N = 90
FORMULA = "y ~ a + b + C(level)"


@pytest.fixture(scope="module")
def table():
    """Ninety skewed responses: an effect, two related columns, a factor, an offset, numbers of responses."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((N, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 0] + x[:, 1]})
    frame["level"] = rng.choice(["p", "q", "r"], N)
    frame["shift"] = rng.normal(0, 0.3, N)
    frame["number"] = rng.integers(1, 4, N)
    mean = np.exp(0.7 + 0.2 * frame["a"] - 0.3 * (frame["level"] == "q") + frame["shift"])
    shape = 1.5 * frame["number"]
    return frame.assign(y=mean * rng.gamma(shape) / shape)


@pytest.fixture(scope="module", params=["known", "unknown"])
def model(request, table):
    shape = 1.5 if request.param == "known" else None
    return rj.gamma(FORMULA, table, offset="shift", weights="number", shape=shape)


@pytest.fixture(scope="module")
def enumerated(model):
    return model.fit(rng=1)


@pytest.fixture(scope="module")
def unknown(table):
    return rj.gamma(FORMULA, table, offset="shift", weights="number")


def test_marginal_likelihoods_without_monte_carlo_error(table):
    """Of the null model, against adaptive quadrature of both dimensions, by the closed form in one of them.

    Under a prior that is flat in the intercept (a g-prior of the null model), the intercept integrates to a
    ratio of gamma functions.
    """
    flat = rj.GPrior("n", information="null", intercept="flat")
    model = rj.gamma("y ~ a", table, offset="shift", weights="number", coef_prior=flat)
    found = model.fit(rng=2, pairs=30_000)._marginal.integrate(np.zeros(1, dtype=np.uint8))
    y, shift, w = (table[name].to_numpy(dtype=float) for name in ("y", "shift", "number"))

    def height(t):
        own, total = w * np.exp(t), w.sum() * np.exp(t)
        value = own @ np.log(own / np.exp(shift)) + (own - 1) @ np.log(y) - special.gammaln(own).sum()
        value += special.gammaln(total) - total * np.log(np.exp(t) * (w * y) @ np.exp(-shift))
        return value + stats.norm.logpdf(t, 0, 2)

    top = optimize.minimize_scalar(lambda t: -height(t), bounds=(-2, 3), method="bounded")
    area = np.sum(np.exp([height(t) + top.fun for t in np.linspace(-3, 4, 4001)])) * 7 / 4000
    # Six standard errors of 60,000 draws, some 1e-4, and 1e-9 of the sum.
    assert abs(found.log_marginal - np.log(area) + top.fun) < 6 * np.sqrt(found.variance) + 1e-8
    assert found.variance < 1e-7


def test_repeated_rows_are_combined(table):
    """The constants of the shape are those of the rows as they were."""
    narrow = table[["level", "y", "number"]].reset_index(drop=True)
    model = rj.gamma("y ~ C(level)", narrow, weights="number")
    regression = model.regression
    assert regression.y.size == 3
    eta, t = np.array([0.3, -0.2, 0.9]), 0.4
    value = regression.family.joint(regression.y, regression.row_weights, eta, np.array([t]))[0]
    near = np.abs(regression.y[:, None] - mean_of_level(narrow)[None]).argmin(axis=0)
    own = narrow["number"] * np.exp(t)
    want = stats.gamma.logpdf(narrow["y"], own, scale=np.exp(eta[near]) / own).sum()
    assert value == pytest.approx(want, rel=1e-12)
    # Draws have the same, with the prior of the shape; and derivatives are those of the value.
    family, rows = regression.family, (regression.y, regression.row_weights)
    drawn = family.joint_pairs(*rows, eta, np.zeros((1, 3)), np.zeros(1), np.full((2, 1), t))
    np.testing.assert_allclose(drawn, want + family.log_prior(np.array([t]))[0], rtol=1e-12)
    step = 1e-4
    low, mid, high = (family.joint(*rows, eta, np.array([t + by])) for by in (-step, 0.0, step))
    assert mid[3][0] == pytest.approx((high[0] - low[0]) / (2 * step), rel=1e-6)
    assert mid[4][0, 0] == pytest.approx(-(high[3] - low[3])[0] / (2 * step), rel=1e-6)


def mean_of_level(frame):
    """The mean response of the level of each row."""
    sums = frame.assign(y=frame["y"] * frame["number"]).groupby("level")[["y", "number"]].transform("sum")
    return (sums["y"] / sums["number"]).to_numpy()


def test_predictions_have_the_variance_of_the_family(enumerated, table):
    frame = enumerated.get_prediction(table).summary_frame()
    assert np.abs(frame["mean"] / enumerated.predict(table) - 1).max() < 0.1
    single = table["number"] == 1
    inside = (table["y"] >= frame["obs_ci_lower"]) & (table["y"] <= frame["obs_ci_upper"])
    # Intervals are of single responses. Of some 30 of 95 %, 9 or more miss theirs with a chance below 1e-4.
    assert single.sum() - inside[single].sum() < 9
    # The interval of a gamma response with shape 1.5 has a length of 3 times its mean; that varies by row.
    length = (frame["obs_ci_upper"] - frame["obs_ci_lower"]) / frame["mean"]
    law = stats.gamma(1.5, scale=1 / 1.5)
    assert np.median(length) == pytest.approx(law.ppf(0.975) - law.ppf(0.025), rel=0.25)
    assert np.all(frame["obs_ci_lower"] > 0)


def test_nothing_is_separated():
    """A column that tells the large responses from the others: with it too maxima are finite."""
    frame = pd.DataFrame({"x": [0.0] * 10 + [1.0] * 10})
    frame["y"] = np.where(frame["x"] > 0, 1e6, 1e-6) * (1 + 0.1 * np.arange(20) / 20)
    results = rj.gamma("y ~ x", frame, shape=2.0, coef_prior=rj.BIC(), always="x").fit()
    assert results.separated == {}
    want = np.log(frame.groupby("x")["y"].mean())
    np.testing.assert_allclose(results.coefficients["mean"], [want[0], want[1] - want[0]], rtol=1e-6)


def test_the_dispersion_is_tested_if_the_shape_is_known(table):
    assert rj.gamma(FORMULA, table, shape=1.5, weights="number").fit(rng=1).dispersion.ratio < 1.5
    assert rj.gamma(FORMULA, table).fit(rng=1).dispersion is None
    with pytest.warns(rj.DispersionWarning, match=r"overdispersed.*Leave out shape"):
        rj.gamma(FORMULA, table, shape=50).fit(rng=1)


def test_the_pseudo_r_squared_needs_a_saturated_model(model, enumerated):
    one = enumerated.single_model("hpm")
    if model.regression.family.expanded:
        assert np.isnan(one.prsquared)
    else:
        null = enumerated._marginal.deviance(np.zeros(model.space.n_terms, dtype=np.uint8))
        assert one.prsquared == pytest.approx(1 - one.deviance / null, rel=1e-12)
    assert "Pseudo R-squared" in str(one.summary())


def test_equal_responses_have_a_posterior_if_the_shape_is_known(table):
    found = rj.gamma("y ~ a + b", table.assign(y=3.5), shape=2.0).fit(rng=1)
    assert np.all(found.inclusion["posterior"] < 0.2)
    assert found.predict(table).to_numpy() == pytest.approx(np.full(N, 3.5), rel=0.1)


def test_nearly_perfect_fits(table):
    """Log normal responses of small deviations: their shape is 1 / sd^2, up to its posterior deviation."""
    noise = np.random.default_rng(3).standard_normal(len(table))
    sd = 1e-4
    results = rj.gamma("y ~ a + b", table.assign(y=np.exp(1 + table["a"] / 2 + sd * noise))).fit(rng=1)
    assert results.best() == ("a",)
    assert results.coefficients.loc["a", "mean"] == pytest.approx(0.5, abs=6 * sd)
    found = results.nuisance.loc["shape"]
    assert abs(found["mean"] - 1 / (sd**2 * noise.var())) < 3 * found["sd"]
    with pytest.raises(rj.DataError, match=r"fit the response perfectly.*Leave out columns"):
        rj.gamma("y ~ a + b", table.assign(y=np.exp(1 + table["a"] / 2))).fit(rng=1)
    with pytest.raises(rj.ParameterError, match=r"'shape' .* in \(0, 1e\+12\]"):
        rj.gamma("y ~ a", table, shape=1e13)
