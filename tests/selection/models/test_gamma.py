"""Gamma models with known and with unknown shape, as users meet them.

Jumps, temperatures, modes and integrals at a known shape are tested with those of the other families, in
``samplers/reversible_jump`` and ``evidence``; the likelihood in ``tests/families``.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import optimize, special, stats

import pyrjsel as rj
from pyrjsel.selection.comparable import same_data

N = 90
FORMULA = "y ~ a + b + C(level)"
PRIOR = rj.Normal(1.0, intercept=rj.Normal(2.0))
LOG = sm.families.Gamma(sm.families.links.Log())


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


@pytest.fixture(scope="module")
def walked(unknown):
    return unknown.fit(sampler="collapsed", draws=400, burn_in=100, chains=2, rng=2)


def by_quadrature(frame, terms, prior):
    """Log marginal likelihood, and mean and deviation of the log shape, by sums over a grid."""
    x = np.column_stack([np.ones(len(frame)), *(frame[name] for name in terms)])
    y, offset, w = (frame[name].to_numpy(dtype=float) for name in ("y", "shift", "number"))
    sd = np.array([2.0] + [1.0] * len(terms))
    fit = sm.GLM(y, x, family=LOG, offset=offset, var_weights=w).fit(scale=1 / 1.4)
    # Six standard deviations, of which the sum has an error below 1e-7 for steps of a third of one.
    reach = np.linspace(-6, 6, 37)
    grids = np.meshgrid(*(b + s * reach for b, s in zip(fit.params, fit.bse, strict=True)), indexing="ij")
    b = np.stack([grid.reshape(-1) for grid in grids], axis=1)
    eta = b @ x.T + offset
    of_b, linear, ratio = stats.norm.logpdf(b, 0, sd).sum(axis=1), eta @ w, np.exp(-eta) @ (w * y)
    t = np.linspace(-0.6, 1.6, 67)
    heights = np.empty((t.size, len(b)))
    for k, shape in enumerate(np.exp(t)):
        own = w * shape
        constant = own @ np.log(own) + (own - 1) @ np.log(y) - special.gammaln(own).sum()
        heights[k] = of_b + constant - shape * (linear + ratio)
        heights[k] += stats.norm.logpdf(t[k], prior.w, prior.s)
    total = special.logsumexp(heights)
    share = np.exp(special.logsumexp(heights, axis=1) - total)
    mean = share @ t
    step = np.log(t[1] - t[0]) + np.sum(np.log(fit.bse / 3))
    return total + step, mean, np.sqrt(share @ (t - mean) ** 2)


def test_enumeration_agrees_with_quadrature(table):
    """Marginal likelihoods and the posterior of the log shape."""
    prior = rj.LogNormal(0.5, 1.5)
    model = rj.gamma(
        "y ~ a + b", table, offset="shift", weights="number", coef_prior=PRIOR, shape_prior=prior
    )
    results = model.fit(rng=3, pairs=8192)
    single = results._marginal
    for gamma, terms in zip([[0, 0], [1, 0], [1, 1]], [[], ["a"], ["a", "b"]], strict=True):
        which = np.array(gamma, dtype=np.uint8)
        found = single.integrate(which)
        want, mean, sd = by_quadrature(table, terms, prior)
        # Six standard errors in three comparisons: 1e-8; and less than 1e-6 of the quadrature.
        assert abs(found.log_marginal - want) < 6 * np.sqrt(found.variance) + 1e-6
        # Of importance sampling with 16,384 draws: six of them are below 0.01.
        assert found.variance < 1e-6
        # Laplace's method is known to be within 1 / N or so.
        assert abs(single.approximate(which).log_marginal - want) < 0.05
        drawn = np.log(single.sample(which, 4000, np.random.default_rng(4))[1]["shape"])
        # A standard error of 4,000 draws, of which systematic resampling leaves at least half; six of them
        # for the mean, and six of 1 / sqrt(2 m) for the deviation: 12 comparisons at 2e-9.
        assert abs(drawn.mean() - mean) < 6 * sd / np.sqrt(2000)
        assert drawn.std() == pytest.approx(sd, rel=6 / np.sqrt(2 * 2000))


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


def statsmodels_fit(table, terms):
    """Their maximum, its log-likelihood at the best shape, the shape, and standard errors of coefficients."""
    x = sm.add_constant(table[terms]) if terms else np.ones((N, 1))
    w = table["number"].to_numpy(dtype=float)
    fit = sm.GLM(table["y"], x, family=LOG, offset=table["shift"], var_weights=w).fit(tol=1e-14, maxiter=300)
    mu, y = np.asarray(fit.fittedvalues), table["y"].to_numpy()

    def loss(t):
        return -stats.gamma.logpdf(y, w * np.exp(t), scale=mu / (w * np.exp(t))).sum()

    best = optimize.minimize_scalar(loss, bounds=(-2, 3), method="bounded", options={"xatol": 1e-12})
    information = -fit.model.hessian(fit.params, scale=np.exp(-best.x), observed=True)
    error = np.sqrt(np.diag(np.linalg.inv(information)))
    return np.asarray(fit.params), -best.fun, float(np.exp(best.x)), error


def test_maxima_are_those_of_statsmodels(unknown, table):
    """Coefficients, shape, their information, and deviances."""
    single = unknown.fit(rng=1)._marginal
    for gamma, terms in (([1, 1, 0], ["a", "b"]), ([0, 0, 0], [])):
        which, finder = np.array(gamma, dtype=np.uint8), single.finder
        best = finder.maximum_likelihood(which)[0]
        params, value, shape, bse = statsmodels_fit(table, terms)
        assert best == pytest.approx(value, abs=1e-8)
        v, point = np.zeros(unknown.regression.n_columns), finder.at
        v[finder.columns] = point[:-1]
        raw = unknown.regression.to_raw(v[None])[0][finder.columns]
        # The search of the maximum ends where a step gains less than 1e-9 of the log-likelihood.
        np.testing.assert_allclose(raw, params, rtol=1e-6, atol=1e-6)
        assert np.exp(point[-1]) == pytest.approx(shape, rel=1e-5)
        covariance = np.linalg.inv(finder.factor @ finder.factor.T)
        scale = unknown.regression.scale[finder.columns[1:] - 1]
        error = np.sqrt(np.diag(covariance))[1:-1] / scale
        np.testing.assert_allclose(error, bse[1:], rtol=2e-6)
        # Minus twice the log-likelihood: no saturated model has a finite one.
        assert single.deviance(which) == pytest.approx(-2 * value, abs=1e-7)


def test_maxima_at_a_known_shape(table):
    """Deviance, maximum and observed information of a model, through BIC, which has these alone."""
    model = rj.gamma(
        "y ~ a + b",
        table,
        offset="shift",
        weights="number",
        shape=0.8,
        coef_prior=rj.BIC(),
        always=["a", "b"],
    )
    results = model.fit()
    x = sm.add_constant(table[["a", "b"]])
    fit = sm.GLM(table["y"], x, family=LOG, offset=table["shift"], var_weights=table["number"])
    fit = fit.fit(tol=1e-14, maxiter=200)
    np.testing.assert_allclose(results.coefficients["mean"], fit.params, rtol=1e-6, atol=1e-9)
    information = -fit.model.hessian(fit.params, scale=1 / 0.8, observed=True)
    want = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(results.coefficients["sd"], want, rtol=1e-6)
    row, own = results.models.iloc[0], 0.8 * table["number"]
    assert row["deviance"] == pytest.approx(0.8 * fit.deviance, abs=1e-8)
    value = stats.gamma.logpdf(table["y"], own, scale=fit.fittedvalues / own).sum()
    # The n of BIC is the number of observations, the sum of weights.
    assert row["log_marginal"] == pytest.approx(value - 1.5 * np.log(table["number"].sum()), abs=1e-7)


@pytest.mark.parametrize("sampler", ["collapsed", "rjmcmc", "population"])
def test_samplers_agree_with_enumeration(model, enumerated, sampler):
    """Inclusion, and moments of coefficients and of the shape."""
    found = model.fit(sampler=sampler, draws=2500, rng=5)
    away = np.abs(found.posterior.inclusion - enumerated.posterior.inclusion)
    # |z| < 6 in 2 x 3 x 3 comparisons with errors from 50 batches: 2e-6 in all.
    assert np.max(away / np.maximum(found.posterior.inclusion_mcse, 1e-4)) < 6
    # Four chains of 2,500 draws against 4,000 weighted ones: at least a tenth and a quarter of them count.
    error = np.sqrt(1 / 1000 + 1 / 1000)
    one, other = found.coefficients, enumerated.coefficients
    assert np.max(np.abs(one["mean"] - other["mean"]) / other["sd"]) < 6 * error
    if model.regression.nuisance.names:
        one, other = found.nuisance.loc["shape"], enumerated.nuisance.loc["shape"]
        assert abs(one["mean"] - other["mean"]) < 6 * other["sd"] * error
        # The relative error of a deviation is 1 / sqrt(2 m).
        assert one["sd"] == pytest.approx(other["sd"], rel=6 * error / np.sqrt(2))


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


def test_held_out_scores_prefer_it_to_a_linear_model(model, table):
    found = model.cross_validate(4, rng=1).scores["log_score"]
    linear = rj.linear(FORMULA, table, weights="number").cross_validate(4, rng=1).scores["log_score"]
    assert np.all(found > linear + 0.1)


def test_checks(enumerated):
    """A model that is true passes its own checks: p-values below 1e-3 of five statistics are a fault."""
    found = enumerated.check(rng=2)["p_value"]
    assert set(found.index) == {"mean", "sd", "min", "max", "skewness"}
    assert np.all(found > 1e-3)


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


def test_the_shape_is_reported(walked, enumerated):
    text = str(walked.summary())
    mean, low, high = walked.nuisance.loc["shape", ["mean", "ci_lower", "ci_upper"]]
    assert low < mean < high
    assert f"{mean:.4g} ({low:.4g}, {high:.4g})" in text
    assert "LogNormal(w=0.0, s=2.0)" in text
    if enumerated.model.regression.nuisance.names:
        assert "estimated" in str(enumerated.summary())
    else:
        with pytest.raises(rj.NotAvailableError, match="gamma model has no unknown parameters"):
            _ = enumerated.nuisance
        assert "Shape:" in str(enumerated.summary())


def test_the_pseudo_r_squared_needs_a_saturated_model(model, enumerated):
    one = enumerated.single_model("hpm")
    if model.regression.family.expanded:
        assert np.isnan(one.prsquared)
    else:
        null = enumerated._marginal.deviance(np.zeros(model.space.n_terms, dtype=np.uint8))
        assert one.prsquared == pytest.approx(1 - one.deviance / null, rel=1e-12)
    assert "Pseudo R-squared" in str(one.summary())


def test_saved_results_and_longer_runs(enumerated, unknown, walked, table, tmp_path):
    enumerated.save(tmp_path / "fit.zip")
    for loaded in (rj.load(tmp_path / "fit.zip"), rj.load(tmp_path / "fit.zip", data=table)):
        pd.testing.assert_frame_equal(loaded.coefficients, enumerated.coefficients)
        pd.testing.assert_frame_equal(
            loaded.get_prediction(table[:5]).summary_frame(),
            enumerated.get_prediction(table[:5]).summary_frame(),
        )
        assert loaded.model._family == enumerated.model._family
        assert str(loaded.summary()) == str(enumerated.summary())
    walked.save(tmp_path / "walk.zip")
    longer = rj.load(tmp_path / "walk.zip", data=table).extend(100)
    whole = unknown.fit(sampler="collapsed", draws=500, burn_in=100, chains=2, rng=2)
    np.testing.assert_array_equal(longer.draws.model, whole.draws.model)
    np.testing.assert_array_equal(longer.draws.nuisance["shape"], whole.draws.nuisance["shape"])


def test_models_with_other_shapes_or_priors_are_not_compared(table):
    """They have other likelihoods; so have counts with a theta of the same value."""
    counts = table.assign(y=np.ceil(table["y"]))
    of = [{"shape": 1.0}, {"shape": 2.0}, {}, {"shape_prior": rj.LogNormal(1, 1)}]
    models = [rj.gamma(FORMULA, counts, **options) for options in of]
    models.append(rj.negbin(FORMULA, counts, theta=1.0))
    for k, one in enumerate(models):
        for other in models[k + 1 :]:
            assert same_data(one, other) == "another family"


BAD = {
    "shape of 0": ({"shape": 0}, rj.ParameterError, r"'shape' .* in \(0, inf\)"),
    "negative shape": ({"shape": -1.0}, rj.ParameterError, r"'shape' .* in \(0, inf\)"),
    "shape NaN": ({"shape": float("nan")}, rj.ParameterError, r"'shape'"),
    "infinite shape": ({"shape": float("inf")}, rj.ParameterError, r"'shape'"),
    "shape as text": ({"shape": "two"}, rj.ParameterError, r"'shape'"),
    "a prior of theta": ({"theta_prior": rj.LogNormal(0, 1)}, TypeError, "theta_prior"),
    "another prior": (
        {"shape_prior": rj.InverseGamma(1, 1)},
        rj.ParameterError,
        "'shape_prior' .* LogNormal",
    ),
    "both": ({"shape": 2, "shape_prior": rj.LogNormal(0, 1)}, rj.ParameterError, r"'shape_prior'.* known"),
    "negative weights": ({"weights": -np.ones(N)}, rj.DataError, "'weights' must be non-negative"),
    "no weights": ({"weights": np.zeros(N)}, rj.DataError, "'weights' must have a positive value"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_parameters_are_errors(table, case):
    options, error, message = BAD[case]
    with pytest.raises(error, match=message):
        rj.gamma(FORMULA, table, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y - y.min(), r"'y' must be above 0\. Got 0 \(1 value"),
        (lambda y: -y, r"must be above 0.* \(90 value"),
        (lambda y: 0 * y + 3.5, r"two different values .*give 'shape'.*only 3\.5"),
        (lambda y: y.map("{:.3f} EUR".format), "'y'"),
        (lambda y: y.where(y < 5, np.inf), "'y'"),
    ],
    ids=["zero", "negative", "equal", "text", "infinite"],
)
def test_bad_responses_are_errors(table, change, message):
    with pytest.raises(rj.DataError, match=message):
        rj.gamma(FORMULA, table.assign(y=change(table["y"])))


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


def test_surrogate_jumps_need_a_known_shape(unknown):
    with pytest.raises(rj.ParameterError, match=r"'surrogate' .* if theta, shape or sigma is unknown"):
        unknown.fit(sampler="rjmcmc", surrogate=1)


@pytest.mark.statistical
def test_posteriors_of_draws_from_the_prior_are_calibrated():
    """Models, coefficients and the shape drawn from their priors have uniform ranks among posterior draws.

    600 data sets: three Kolmogorov-Smirnov tests at 3e-7 each, with ranks among 400 draws, and mean inclusion
    against the share of data sets with the term, within five standard errors: 1e-6 in all.
    """
    rng, found = np.random.default_rng(11), []
    frame = pd.DataFrame({"a": np.linspace(-1.5, 1.5, 24)})
    prior = {"coef_prior": rj.Normal(1.0, intercept=rj.Normal(0.7)), "shape_prior": rj.LogNormal(0.5, 0.8)}
    for seed in range(600):
        inside, shape = rng.random() < 0.5, np.exp(rng.normal(0.5, 0.8))
        b, slope = rng.normal(0, 0.7), rng.normal(0, 1) * inside
        y = np.exp(b + slope * frame["a"]) * rng.gamma(shape, 1 / shape, 24)
        results = rj.gamma("y ~ a", frame.assign(y=y), **prior).fit(rng=seed)
        coefficients, values = results._averaged
        pick = rng.permutation(len(coefficients))[:400]
        ranks = [np.mean(values["shape"][pick] < shape), np.mean(coefficients[pick, 0] < b), np.nan]
        within = coefficients[coefficients[:, 1] != 0, 1]
        if inside and within.size > 200:
            ranks[2] = np.mean(within < slope)
        found.append((results.inclusion["posterior"].iloc[0], inside, *ranks))
    p, inside, *ranks = np.array(found, dtype=float).T
    for each in ranks:
        assert stats.kstest(each[np.isfinite(each)], "uniform").pvalue > 3e-7
    assert abs(np.mean(p - inside)) < 5 * np.std(p - inside) / np.sqrt(p.size)
