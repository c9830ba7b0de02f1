"""Negative binomial models with known and with unknown theta, as users meet them.

Jumps, temperatures, modes and integrals at a known theta are tested with those of the other families, in
``samplers/reversible_jump`` and ``evidence``; its likelihood in ``tests/families``.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import special, stats
from turns import every

import pyrjsel as rj
from pyrjsel.selection.comparable import same_data, same_space

N = 90
FORMULA = "y ~ a + b + C(level)"
PRIOR = rj.Normal(1.0, intercept=rj.Normal(2.0))


@pytest.fixture(scope="module")
def table():
    """Ninety overdispersed counts: an effect, two related columns, a factor, an offset."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((N, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 0] + x[:, 1]})
    frame["level"] = rng.choice(["p", "q", "r"], N)
    frame["shift"] = rng.normal(0, 0.3, N)
    rate = np.exp(0.7 + 0.4 * frame["a"] - 0.3 * (frame["level"] == "q") + frame["shift"])
    return frame.assign(y=rng.poisson(rate * rng.gamma(1.5, 1 / 1.5, N)))


@pytest.fixture(scope="module")
def even():
    """Poisson counts, whose theta has no upper limit."""
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"a": rng.standard_normal(60), "b": rng.standard_normal(60), "shift": 0.0})
    return frame.assign(y=rng.poisson(np.exp(0.5 + 0.3 * frame["a"])))


@pytest.fixture(scope="module", params=["known", "unknown"])
def model(request, table):
    theta = 1.5 if request.param == "known" else None
    return rj.negbin(FORMULA, table, offset="shift", theta=theta)


@pytest.fixture(scope="module")
def enumerated(model):
    return model.fit(rng=1)


@pytest.fixture(scope="module")
def unknown(table):
    return rj.negbin(FORMULA, table, offset="shift")


@pytest.fixture(scope="module")
def walked(unknown):
    return unknown.fit(sampler="collapsed", draws=1500, burn_in=300, chains=2, rng=2)


def by_quadrature(frame, terms, prior):
    """Log marginal likelihood, and mean and deviation of log theta, by sums over a grid."""
    x = np.column_stack([np.ones(len(frame)), *(frame[name] for name in terms)])
    y, offset = frame["y"].to_numpy(), frame["shift"].to_numpy()
    sd = np.array([2.0] + [1.0] * len(terms))
    fit = sm.GLM(y, x, family=sm.families.NegativeBinomial(alpha=0.9), offset=offset).fit()
    # Six standard deviations, of which the sum has an error of 1e-8 for steps of a third of one.
    reach = np.linspace(-6, 6, 37)
    grids = np.meshgrid(*(b + s * reach for b, s in zip(fit.params, fit.bse, strict=True)), indexing="ij")
    b = np.stack([grid.reshape(-1) for grid in grids], axis=1)
    eta = b @ x.T + offset
    of_b = stats.norm.logpdf(b, 0, sd).sum(axis=1) + y @ eta.T
    t = np.linspace(prior.w - 5 * prior.s, prior.w + 5 * prior.s, 121)
    heights = np.empty((t.size, len(b)))
    for k, theta in enumerate(np.exp(t)):
        constant = special.gammaln(y + theta) - special.gammaln(theta) - special.gammaln(y + 1)
        rest = np.log(theta + np.exp(eta)) @ (y + theta)
        heights[k] = of_b + constant.sum() + y.size * theta * np.log(theta) - rest
        heights[k] += stats.norm.logpdf(t[k], prior.w, prior.s)
    total = special.logsumexp(heights)
    share = np.exp(special.logsumexp(heights, axis=1) - total)
    mean = share @ t
    step = np.log(t[1] - t[0]) + np.sum(np.log(fit.bse / 3))
    return total + step, mean, np.sqrt(share @ (t - mean) ** 2)


@pytest.mark.parametrize("data", every(2, ["even", "table"]))
def test_enumeration_agrees_with_quadrature(data, request):
    """Marginal likelihoods and the posterior of log theta; for Poisson counts theta has its prior's tail."""
    frame, prior = request.getfixturevalue(data), rj.LogNormal(0.5, 1.5)
    model = rj.negbin("y ~ a + b", frame, offset="shift", coef_prior=PRIOR, theta_prior=prior)
    results = model.fit(rng=3, pairs=4096)
    single = results._marginal
    for gamma, terms in zip([[0, 0], [1, 0], [1, 1]], [[], ["a"], ["a", "b"]], strict=True):
        found = single.integrate(np.array(gamma, dtype=np.uint8))
        want, mean, sd = by_quadrature(frame, terms, prior)
        # Six standard errors in six comparisons, and the error of the quadrature: 1e-8.
        assert abs(found.log_marginal - want) < 6 * np.sqrt(found.variance) + 1e-4
        assert found.variance < 3e-5
        row = results.models.set_index("terms").loc[[tuple(terms)]]
        assert abs(row["log_marginal"].iloc[0] - want) < 0.03
        drawn = np.log(
            single.sample(np.array(gamma, dtype=np.uint8), 4000, np.random.default_rng(4))[1]["theta"]
        )
        # Of 4,000 draws systematic resampling leaves an effective number of more than 2,000: the standard
        # error of the mean is sd / sqrt(2000), that of the deviation 1 / sqrt(2 * 2000) of it, 1.6 %. Six of
        # each, in 12 comparisons: 2e-8.
        assert abs(drawn.mean() - mean) < 6 * sd / np.sqrt(2000)
        assert drawn.std() == pytest.approx(sd, rel=6 / np.sqrt(2 * 2000))


def test_maxima_are_those_of_statsmodels(unknown, table):
    """Coefficients, theta, their information, and deviances."""
    single, deviance = unknown.fit(rng=1)._marginal, {}
    for gamma, terms in (([1, 1, 0], ["a", "b"]), ([0, 0, 0], [])):
        which = np.array(gamma, dtype=np.uint8)
        best = single.finder.maximum_likelihood(which)[0]
        finder, x = single.finder, sm.add_constant(table[terms]) if terms else np.ones((N, 1))
        theirs = sm.NegativeBinomial(table["y"], x, offset=table["shift"])
        fit = theirs.fit(method="newton", disp=0, maxiter=200, tol=1e-13)
        assert best == pytest.approx(fit.llf, abs=1e-8)
        params = np.asarray(fit.params)
        v, point = np.zeros(unknown.regression.n_columns), finder.at
        v[finder.columns] = point[:-1]
        raw = unknown.regression.to_raw(v[None])[0][finder.columns]
        np.testing.assert_allclose(raw, params[:-1], rtol=1e-6, atol=1e-7)
        assert np.exp(-point[-1]) == pytest.approx(params[-1], rel=1e-6)
        covariance = np.linalg.inv(finder.factor @ finder.factor.T)
        scale = np.append(unknown.regression.scale[finder.columns[1:] - 1], 1 / params[-1])
        error = np.sqrt(np.diag(covariance))[1:] / scale
        np.testing.assert_allclose(error, np.asarray(fit.bse)[1:], rtol=2e-6)
        deviance[len(terms)] = (single.deviance(which), fit.llf)
    change = deviance[0][0] - deviance[2][0]
    assert change == pytest.approx(2 * (deviance[2][1] - deviance[0][1]), abs=1e-7)


def test_maxima_at_a_known_theta(table):
    """Deviance, maximum and observed information of a model, through BIC, which has these alone."""
    model = rj.negbin("y ~ a + b", table, offset="shift", theta=0.8, coef_prior=rj.BIC(), always=["a", "b"])
    results = model.fit()
    x = sm.add_constant(table[["a", "b"]])
    family = sm.families.NegativeBinomial(alpha=1 / 0.8)
    fit = sm.GLM(table["y"], x, family=family, offset=table["shift"]).fit(tol=1e-14, maxiter=200)
    np.testing.assert_allclose(results.coefficients["mean"], fit.params, rtol=1e-6, atol=1e-9)
    information = -fit.model.hessian(fit.params, observed=True)
    want = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(results.coefficients["sd"], want, rtol=1e-6)
    row = results.models.iloc[0]
    assert row["deviance"] == pytest.approx(fit.deviance, abs=1e-8)
    assert row["log_marginal"] == pytest.approx(fit.llf - 1.5 * np.log(N), abs=1e-7)


@pytest.mark.parametrize("sampler", ["collapsed", "rjmcmc", "population"])
def test_samplers_agree_with_enumeration(table, sampler):
    model = rj.negbin(FORMULA, table, offset="shift", theta=1.5)
    found, exact = model.fit(sampler=sampler, draws=2500, rng=4).posterior, model.fit(rng=1).posterior
    # |z| < 6 in 3 x 3 comparisons with errors from 50 batches: 1e-6.
    away = np.abs(found.inclusion - exact.inclusion)
    assert np.max(away / np.maximum(found.inclusion_mcse, 1e-4)) < 6


@pytest.mark.parametrize("sampler", ["collapsed", "rjmcmc", "population"])
def test_samplers_of_theta_agree_with_enumeration(unknown, sampler):
    """Inclusion, and moments of coefficients and of theta."""
    exact, found = unknown.fit(rng=1), unknown.fit(sampler=sampler, draws=2500, rng=5)
    away = np.abs(found.posterior.inclusion - exact.posterior.inclusion)
    assert np.max(away / np.maximum(found.posterior.inclusion_mcse, 1e-4)) < 6
    # Of 10,000 draws of chains a tenth or more are effective, of 4,000 weighted ones most: the standard error
    # of a difference of means is sqrt(1 / 1000 + 1 / 4000), 3.5 % of the deviation, and that of a ratio of
    # deviations 1 / sqrt(2) of this, 2.5 %. Six of each, in three samplers and eight comparisons: 5e-8.
    error = np.sqrt(1 / 1000 + 1 / 4000)
    mean, want = found.nuisance.loc["theta"], exact.nuisance.loc["theta"]
    assert abs(mean["mean"] - want["mean"]) < 6 * want["sd"] * error
    assert mean["sd"] == pytest.approx(want["sd"], rel=6 * error / np.sqrt(2))
    one, other = found.coefficients, exact.coefficients
    assert np.max(np.abs(one["mean"] - other["mean"]) / other["sd"]) < 6 * error


def test_a_large_theta_is_the_poisson_model(even):
    known = rj.negbin("y ~ a + b", even, theta=1e8).fit(rng=1, pairs=1024)
    poisson = rj.poisson("y ~ a + b", even).fit(rng=1, pairs=1024)
    # Log-likelihoods differ by some 60 y^2 / theta, and integrals by as little: draws are the same.
    np.testing.assert_allclose(known.posterior.inclusion, poisson.posterior.inclusion, atol=1e-4)
    for name in ("log_marginal", "deviance"):
        np.testing.assert_allclose(known.models[name], poisson.models[name], atol=1e-3)


def test_repeated_rows_are_combined(table):
    """The constants of theta are those of the rows as they were."""
    narrow = table[["level", "y"]].reset_index(drop=True)
    model = rj.negbin("y ~ C(level)", narrow)
    assert model.regression.y.size == 3
    single = model.fit(rng=1)._marginal
    single.mode(np.ones(1, dtype=np.uint8))
    point = single.finder.at
    t, b = point[-1], point[:-1]
    eta = model.regression.offset + b @ model.regression.columns[single.finder.columns]
    value = model.regression.family.joint(model.regression.y, model.regression.row_weights, eta, point[-1:])[
        0
    ]
    means = dict(zip(model.regression.y, np.exp(eta), strict=True))
    mean = (
        narrow.groupby("level")["y"]
        .transform("mean")
        .map(lambda y: means[min(means, key=lambda m: abs(m - y))])
    )
    want = stats.nbinom.logpmf(narrow["y"], np.exp(t), 1 / (1 + mean / np.exp(t))).sum()
    assert value == pytest.approx(want, rel=1e-12)


def test_predictions_have_the_variance_of_the_family(enumerated, table):
    frame = enumerated.get_prediction(table).summary_frame()
    found = enumerated.predict(table)
    assert np.abs(frame["mean"] / found - 1).max() < 0.1
    inside = (table["y"] >= frame["obs_ci_lower"]) & (table["y"] <= frame["obs_ci_upper"])
    # Of 90 independent intervals of 95 % or more, 14 or more miss their count with a chance below 1e-4.
    assert inside.sum() > N - 14
    poisson = rj.poisson(FORMULA, table, offset="shift").fit(rng=1)
    narrow = poisson.get_prediction(table).summary_frame()
    width = (frame["obs_ci_upper"] - frame["obs_ci_lower"]) / (
        narrow["obs_ci_upper"] - narrow["obs_ci_lower"]
    )
    assert width.mean() > 1.3


@pytest.mark.filterwarnings("ignore::pyrjsel.DispersionWarning")
def test_held_out_scores_prefer_it_to_poisson(model, table):
    found = model.cross_validate(4, rng=1).scores["log_score"]
    poisson = rj.poisson(FORMULA, table, offset="shift").cross_validate(4, rng=1).scores["log_score"]
    assert np.all(found > poisson + 0.1)


def test_checks(enumerated):
    """A model that is true passes its own checks: p-values below 1e-3 of four statistics are a fault."""
    assert np.all(enumerated.check(rng=2)["p_value"] > 1e-3)


def test_the_dispersion_is_tested_if_theta_is_known(table):
    assert rj.negbin(FORMULA, table, theta=1.5).fit(rng=1).dispersion.ratio < 1.5
    assert rj.negbin(FORMULA, table).fit(rng=1).dispersion is None
    with pytest.warns(rj.DispersionWarning, match=r"overdispersed.*Leave out theta"):
        rj.negbin(FORMULA, table, theta=1e3).fit(rng=1)


def test_theta_is_reported(unknown, enumerated, walked):
    text = str(walked.summary())
    mean, low, high = walked.nuisance.loc["theta", ["mean", "ci_lower", "ci_upper"]]
    assert low < mean < high
    assert f"{mean:.4g} ({low:.4g}, {high:.4g})" in text
    assert "LogNormal(w=0.0, s=2.0)" in text
    if enumerated.model.regression.nuisance.names:
        assert list(walked.nuisance.columns) == list(enumerated.nuisance.columns)
        assert "estimated" in str(enumerated.summary())
    else:
        with pytest.raises(rj.NotAvailableError, match="negbin model has no unknown parameters"):
            _ = enumerated.nuisance
        assert "Theta:" in str(enumerated.summary())


def test_draws_for_arviz(walked):
    pytest.importorskip("arviz")
    posterior = walked.to_arviz(coefficients=True).posterior
    assert posterior["theta"].shape == posterior["coefficients"].shape[:2]
    np.testing.assert_array_equal(posterior["theta"], walked.draws.nuisance["theta"])


def test_saved_results(enumerated, table, tmp_path):
    enumerated.save(tmp_path / "fit.zip")
    for loaded in (rj.load(tmp_path / "fit.zip"), rj.load(tmp_path / "fit.zip", data=table)):
        pd.testing.assert_frame_equal(loaded.coefficients, enumerated.coefficients)
        if enumerated.model.regression.nuisance.names:
            pd.testing.assert_frame_equal(loaded.nuisance, enumerated.nuisance)
        pd.testing.assert_frame_equal(
            loaded.get_prediction(table).summary_frame(), enumerated.get_prediction(table).summary_frame()
        )
        assert loaded.model._family == enumerated.model._family
        assert str(loaded.summary()) == str(enumerated.summary())


def test_longer_runs_are_the_same_as_whole_ones(unknown, walked, table, tmp_path):
    walked.save(tmp_path / "fit.zip")
    longer = rj.load(tmp_path / "fit.zip", data=table).extend(300)
    whole = unknown.fit(sampler="collapsed", draws=1800, burn_in=300, chains=2, rng=2)
    np.testing.assert_array_equal(longer.draws.model, whole.draws.model)
    np.testing.assert_array_equal(longer.draws.nuisance["theta"], whole.draws.nuisance["theta"])


def test_many_terms():
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.standard_normal((60, 22)), columns=[f"x{k}" for k in range(22)])
    y = rng.poisson(np.exp(1 + 0.8 * x["x0"]) * rng.gamma(2, 0.5, 60))
    results = rj.NegbinSelection(y, x).fit(draws=300, burn_in=60, chains=2, rng=1)
    assert results.posterior.sampler == "collapsed"
    assert results.inclusion["posterior"].idxmax() == "x0"


def test_models_with_other_values_or_priors_of_theta_are_not_compared(table):
    """They have other likelihoods."""
    of = [{"theta": 1.0}, {"theta": 2.0}, {}, {"theta_prior": rj.LogNormal(1, 1)}]
    models = [rj.negbin(FORMULA, table, **options) for options in of]
    for k, one in enumerate(models):
        for other in models[k + 1 :]:
            assert same_data(one, other) == "another family"
    again = rj.negbin(FORMULA, table, theta_prior=rj.LogNormal(0, 2))
    assert same_data(models[2], again) is None
    assert same_space(models[2], again) is None


BAD = {
    "theta of 0": ({"theta": 0}, rj.ParameterError, r"'theta' .* in \(0, inf\)"),
    "negative theta": ({"theta": -1.0}, rj.ParameterError, r"'theta' .* in \(0, inf\)"),
    "theta NaN": ({"theta": float("nan")}, rj.ParameterError, r"'theta'"),
    "theta as text": ({"theta": "two"}, rj.ParameterError, r"'theta'"),
    "another prior": (
        {"theta_prior": rj.InverseGamma(1, 1)},
        rj.ParameterError,
        "'theta_prior' .* LogNormal",
    ),
    "both": ({"theta": 2, "theta_prior": rj.LogNormal(0, 1)}, rj.ParameterError, r"'theta_prior'.* known"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_parameters_are_errors(table, case):
    options, error, message = BAD[case]
    with pytest.raises(error, match=message):
        rj.negbin(FORMULA, table, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y - 3, "at least 0"),
        (lambda y: y / 2, "whole numbers"),
        (lambda y: 0 * y, "Got only zeros"),
    ],
    ids=["negative", "fractions", "zeros"],
)
def test_bad_counts_are_errors(table, change, message):
    with pytest.raises(rj.DataError, match=message):
        rj.negbin(FORMULA, table.assign(y=change(table["y"])))


def test_surrogate_jumps_need_a_known_theta(unknown):
    with pytest.raises(rj.ParameterError, match=r"'surrogate' .* if theta, shape or sigma is unknown"):
        unknown.fit(sampler="rjmcmc", surrogate=1)


@pytest.mark.statistical
def test_posteriors_of_draws_from_the_prior_are_calibrated():
    """Models, coefficients and theta drawn from their priors have uniform ranks among posterior draws.

    600 data sets: three Kolmogorov-Smirnov tests at 3e-7 each, with ranks among 400 draws, and mean inclusion
    against the share of data sets with the term, within five standard errors: 1e-6 in all.
    """
    rng, found, theta_prior = np.random.default_rng(11), [], rj.LogNormal(0.5, 0.8)
    frame = pd.DataFrame({"a": np.linspace(-1.5, 1.5, 24)})
    for seed in range(600):
        inside, theta = rng.random() < 0.5, np.exp(rng.normal(0.5, 0.8))
        b, slope = rng.normal(0, 0.7), rng.normal(0, 1) * inside
        y = rng.poisson(np.exp(b + slope * frame["a"]) * rng.gamma(theta, 1 / theta, 24))
        if not y.any():
            # Such data are refused: the chance of a data set does not depend on ranks given the data.
            continue
        prior = rj.Normal(1.0, intercept=rj.Normal(0.7))
        model = rj.negbin("y ~ a", frame.assign(y=y), coef_prior=prior, theta_prior=theta_prior)
        results = model.fit(rng=seed)
        p = results.inclusion["posterior"].iloc[0]
        coefficients, values = results._averaged
        pick = rng.permutation(len(coefficients))[:400]
        ranks = [np.mean(values["theta"][pick] < theta), np.mean(coefficients[pick, 0] < b)]
        if inside:
            within = coefficients[coefficients[:, 1] != 0, 1]
            ranks.append(np.mean(within < slope) if within.size > 200 else np.nan)
        found.append((p, inside, *ranks, *([np.nan] * (not inside))))
    p, inside, *ranks = np.array(found, dtype=float).T
    for each in ranks:
        assert stats.kstest(each[np.isfinite(each)], "uniform").pvalue > 3e-7
    assert abs(np.mean(p - inside)) < 5 * np.std(p - inside) / np.sqrt(p.size)


def test_weights_that_look_like_frequencies():
    """The sum of n counts has n theta, not theta: of 400 equal rows a table of frequencies is no summary."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": np.arange(400) % 2})
    rows["y"] = rng.poisson(np.exp(0.3 + 0.5 * rows["a"]) * rng.gamma(1.5, 1 / 1.5, 400))
    counted = rows.groupby(["a", "y"]).size().rename("n").reset_index()
    with pytest.warns(rj.DataWarning, match=r"'weights' of NegbinSelection .*repeat the rows"):
        rj.negbin("y ~ a", counted, weights="n")
    known = rj.negbin("y ~ a", counted, weights="n", theta=1.5).fit(rng=1)
    every_row = rj.negbin("y ~ a", rows, theta=1.5).fit(rng=1)
    np.testing.assert_allclose(known.inclusion["posterior"], every_row.inclusion["posterior"], rtol=1e-9)
    means = rows.groupby(["a", np.arange(400) // 20])["y"].agg(["mean", "size"]).reset_index()
    rj.negbin("mean ~ a", means, weights="size")
    rj.negbin("y ~ a", rows, weights=np.ones(400))
    rj.negbin("y ~ a", rows, weights=np.where(np.arange(400) < 3, 2.0, 1.0))  # whole by chance
