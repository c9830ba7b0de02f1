"""Linear models with Student-t errors, against quadrature, scipy's maxima and the normal model."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from fit_checks import assert_long_chains_agree, assert_saved_alike, inclusion_z
from scipy import optimize, stats
from scipy.special import logsumexp

import pyrjsel as rj
from pyrjsel.families._binary import evaluated
from pyrjsel.families._student import STUDENT
from pyrjsel.selection.comparable import same_data
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

N = 40
FORMULA = "y ~ a + b + C(level)"


@pytest.fixture(scope="module")
def table():
    """Forty rows with heavy-tailed errors: an effect, two related columns, a factor, an offset."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((N, 2))
    frame = pd.DataFrame({"a": 2 + x[:, 0], "b": 3 * (x[:, 0] + x[:, 1])})
    frame["level"] = rng.choice(["p", "q", "r"], N)
    frame["shift"] = rng.normal(0, 0.5, N)
    mean = 5 + 0.6 * frame["a"] + 0.9 * (frame["level"] == "q") + frame["shift"]
    return frame.assign(y=mean + 1.5 * rng.standard_t(3, N))


@pytest.fixture(scope="module")
def model(table):
    return rj.linear(FORMULA, table, offset="shift", errors="student")


@pytest.fixture(scope="module")
def enumerated(model):
    return model.fit(rng=1, pairs=1024)


@pytest.fixture(scope="module")
def walked(model):
    return model.fit(sampler="rjmcmc", draws=2000, burn_in=300, chains=2, rng=2)


PRIORS = {
    "g": rj.GPrior("n"),
    "normal": rj.Normal(0.6, mean=0.2),
    "standardised": rj.Normal(0.8, standardize=True, scaled=True),
}


def log_posterior(point, x, y, df, prior):
    """Log density of (intercept, coefficients, log sigma) in the last axis, with 1 / sigma^2 for sigma^2."""
    b, t, d = point[..., 1:-1], point[..., -1], x.shape[1]
    eta = point[..., :1] + b @ x.T
    value = stats.t.logpdf(y, df, eta, np.exp(t)[..., None]).sum(axis=-1) + np.log(2.0)
    centred = x - x.mean(axis=0)
    if isinstance(prior, rj.GPrior):
        g = len(y) if prior.g == "n" else prior.g
        mean, precision = np.zeros(d), centred.T @ centred / g
    else:
        sd = prior.scale / (x.std(axis=0) if prior.standardize else np.ones(d))
        mean, precision = np.full(d, prior.mean), np.diag(sd**-2.0)
    away = b - mean
    form = np.sum((away @ precision) * away, axis=-1) * np.exp(-2.0 * t)
    log_det = np.linalg.slogdet(precision)[1] if d else 0.0
    return value + 0.5 * (log_det - form) - d * (0.5 * np.log(2 * np.pi) + t)


def by_quadrature(x, y, df, prior, step=0.7):
    """Log marginal likelihood, and mean and deviation of log sigma, by a sum over a rotated grid."""
    d = x.shape[1] + 2
    start = np.concatenate([[y.mean()], np.zeros(x.shape[1]), [np.log(y.std())]])
    best = optimize.minimize(lambda v: -log_posterior(v, x, y, df, prior), start, method="BFGS")
    factor = np.linalg.cholesky(best.hess_inv)
    # Nine standard deviations; sums with steps of 0.7 of one have an error of exp(-2 pi^2 / 0.7^2).
    reach = 13 if d < 4 else 10
    steps = 0.7 * np.arange(-reach, reach + 1) if step == 0.7 else step * np.arange(-7, 8)
    grid = np.array(list(itertools.product(steps, repeat=d)))
    points = best.x + grid @ factor.T
    heights = np.concatenate(
        [log_posterior(part, x, y, df, prior) for part in np.array_split(points, 1 + len(points) // 20_000)]
    )
    total, t = logsumexp(heights), points[:, -1]
    share = np.exp(heights - total)
    mean = share @ t
    log_cell = d * np.log(step) + np.log(np.diag(factor)).sum()
    return total + log_cell, mean, np.sqrt(share @ (t - mean) ** 2)


@pytest.mark.parametrize(
    ("kind", "terms", "df"),
    [
        ("g", [], 4.0),
        ("g", ["a"], 4.0),
        ("normal", ["b"], 1.5),
        ("standardised", ["a"], 8.0),
        pytest.param("g", ["a", "b"], 4.0, marks=pytest.mark.statistical),
        pytest.param("normal", ["a", "b"], 3.0, marks=pytest.mark.statistical),
    ],
)
def test_integrals_agree_with_quadrature(table, kind, terms, df):
    """Marginal likelihoods, and the posterior of log sigma."""
    prior = PRIORS[kind]
    fit = rj.linear("y ~ a + b", table, offset="shift", errors="student", df=df, coef_prior=prior).fit(rng=3)
    gamma = np.array([name in terms for name in ("a", "b")], dtype=np.uint8)
    found = fit._marginal.integrate(gamma, pairs=16384)
    y = (table["y"] - table["shift"]).to_numpy()
    want, mean, sd = by_quadrature(table[terms].to_numpy(), y, df, prior)
    # Six standard errors: 2e-9; the quadrature has an error below 1e-4.
    assert found.variance < 3e-6
    assert abs(found.log_marginal - want) < 6 * np.sqrt(found.variance) + 1e-4
    drawn = np.log(fit._marginal.sample(gamma, 4000, np.random.default_rng(4))[1]["sigma"])
    # 4,000 draws, of which systematic resampling leaves most of the effective number.
    assert abs(drawn.mean() - mean) < 6 * sd / np.sqrt(2000)
    assert drawn.std() == pytest.approx(sd, rel=0.12)


MIXTURES = [rj.HyperG(3), rj.ZellnerSiow(), rj.HyperGN(4), rj.Robust(), rj.CCH(1.0, 20.0, 1.0)]


@pytest.mark.parametrize(
    ("terms", "prior"),
    [
        (["a"], MIXTURES[0]),
        *(pytest.param(["a", "b"], prior, marks=pytest.mark.statistical) for prior in MIXTURES[1:]),
    ],
    ids=repr,
)
def test_mixtures_agree_with_sums_of_quadrature(table, terms, prior):
    """Over a grid of log g, or log(g - least), beyond which there is 1e-5 of the mass."""
    fit = rj.linear("y ~ a + b", table, offset="shift", errors="student", coef_prior=prior).fit(rng=3)
    gamma = np.array([name in terms for name in ("a", "b")], dtype=np.uint8)
    found = fit._marginal.integrate(gamma, pairs=16384)
    y, x = (table["y"] - table["shift"]).to_numpy(), table[terms].to_numpy()
    t = np.arange(-11.0, 17.0 if len(terms) == 1 else 22.0)
    log_g = prior.log_g_at(t, N, len(terms))
    heights = [by_quadrature(x, y, 4.0, rj.GPrior(g), step=1.0)[0] for g in np.exp(log_g)]
    want = logsumexp(heights + prior.density_at(t, N, len(terms)))
    # Six standard errors: 2e-9; sums over g have an error of 5e-5, those over coefficients of 3e-4.
    assert found.variance < 3e-6
    assert abs(found.log_marginal - want) < 6 * np.sqrt(found.variance) + 4e-4
    # The formula before importance sampling is the sum of those given g. With the largest steps of its nodes,
    # densities like that of the logarithm of a gamma variate have an error of 1e-4.
    t = np.arange(-16.0, 27.0, 0.5)
    heights = []
    for g in np.exp(prior.log_g_at(t, N, len(terms))):
        known = rj.linear("y ~ a + b", table, offset="shift", errors="student", coef_prior=rj.GPrior(g))
        finder = MarginalLikelihood(known.regression, bytes(16), 2, 3).finder
        heights.append(finder.laplace_values(gamma[None])[0][0])
    laplace = logsumexp(heights + prior.density_at(t, N, len(terms))) + np.log(0.5)
    assert fit._marginal.approximate(gamma).log_marginal == pytest.approx(laplace, abs=3e-4)


@pytest.mark.parametrize("prior", [rj.HyperGN(3), rj.Robust()], ids=repr)
def test_mixtures_with_many_degrees_of_freedom_are_those_of_normal_errors(table, prior):
    """By other code: closed forms in sigma and interpolated integrals over g."""
    student = rj.linear(FORMULA, table, errors="student", df=1e5, coef_prior=prior).fit(rng=1, pairs=1024)
    normal = rj.linear(FORMULA, table, coef_prior=prior).fit()
    # Six standard errors of integrals with a variance of 2e-5, and 1e-4 for the degrees of freedom.
    want = normal.inclusion["posterior"]
    np.testing.assert_allclose(student.inclusion["posterior"], want, atol=6 * 2e-5**0.5 * 0.25 + 1e-4)


@pytest.mark.parametrize("sampler", ["rjmcmc", "population", "collapsed"])
def test_chains_with_an_unknown_g_agree_with_enumeration(table, sampler):
    prior = {"rjmcmc": rj.ZellnerSiow(), "population": rj.HyperG(3), "collapsed": rj.Robust()}[sampler]
    model = rj.linear(FORMULA, table, offset="shift", errors="student", coef_prior=prior)
    exact = model.fit(rng=1, pairs=1024)
    draws = {"rjmcmc": 5000, "population": 1500, "collapsed": 800}[sampler]
    found = model.fit(sampler=sampler, draws=draws, rng=3)
    # |z| < 5.5 in 3 comparisons of 3 samplers: 3e-7.
    assert inclusion_z(found, exact).max() < 5.5
    assert found.nuisance.loc["sigma", "mean"] == pytest.approx(exact.nuisance.loc["sigma", "mean"], rel=0.05)


@pytest.mark.statistical
@pytest.mark.parametrize("prior", MIXTURES[:3], ids=repr)
@pytest.mark.parametrize("sampler", ["rjmcmc", "population"])
def test_long_chains_with_an_unknown_g_agree_with_enumeration(table, sampler, prior):
    model = rj.linear(FORMULA, table, offset="shift", errors="student", coef_prior=prior)
    exact = model.fit(rng=1, pairs=8192)
    found = model.fit(sampler=sampler, draws=60_000 if sampler == "rjmcmc" else 15_000, rng=2)
    # 3 comparisons of 6 cases: 4e-8.
    assert_long_chains_agree(found, exact)


def test_one_g_for_all_models(table):
    model = rj.linear("y ~ a + b", table, errors="student", coef_prior=rj.EmpiricalBayes("global"))
    known = rj.linear("y ~ a + b", table, errors="student", coef_prior=rj.GPrior(model.g))
    assert model.g > 0
    ours, theirs = (kind.fit(rng=1).posterior.inclusion for kind in (model, known))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("df", [1.0, 4.0, 30.0])
def test_maxima_are_those_of_scipy(table, df):
    """Log-likelihood, coefficients and sigma at the maximum; the deviance is -2 times the first."""
    model = rj.linear(FORMULA, table, offset="shift", errors="student", df=df)
    single = model.fit(rng=1)._marginal
    x = np.column_stack([np.ones(N), table["a"], table["b"]])
    y = (table["y"] - table["shift"]).to_numpy()

    def loss(v):
        return -stats.t.logpdf(y, df, x @ v[:-1], np.exp(v[-1])).sum()

    # From the middle of many starts, since the likelihood can have several maxima.
    starts = [np.append(np.linalg.lstsq(x, y, rcond=None)[0], s) for s in (0.0, 0.5, 1.0)]
    best = min((optimize.minimize(loss, s, tol=1e-10) for s in starts), key=lambda fit: fit.fun)
    gamma = np.array([1, 1, 0], dtype=np.uint8)
    assert single.deviance(gamma) == pytest.approx(2 * best.fun, abs=1e-6)
    finder = single.finder
    point = finder.at
    v = np.zeros(model.regression.n_columns)
    v[finder.columns] = point[:-1]
    # The maximum is found to the root of the error of the log-likelihood, 1e-9.
    np.testing.assert_allclose(model.regression.to_raw(v[None])[0][[0, 1, 2]], best.x[:-1], atol=2e-4)
    assert point[-1] == pytest.approx(best.x[-1], abs=1e-4)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 50.0])
def test_passes(sigma):
    """Sums over rows by both passes, also where a product of rows would overflow, and the score."""
    rng = np.random.default_rng(2)
    y, eta, df = 1e4 * rng.standard_t(1, 300), rng.standard_normal(300), 2.5
    y[5] = 1e90
    numbers = np.append(np.ones(300), [df, df * sigma**2])
    shifted, value, residual, weight = evaluated(STUDENT, eta, y, numbers)
    # With x = eta and delta = 0 the first is at eta; densities but for their constants.
    want = stats.t.logpdf(y, df, eta, sigma) - stats.t.logpdf(0, df, 0, sigma)
    assert shifted == pytest.approx(want.sum(), rel=1e-12)
    assert value == pytest.approx(want.sum(), rel=1e-12)
    np.testing.assert_allclose(residual, (df + 1) * (y - eta) / (df * sigma**2 + (y - eta) ** 2), rtol=1e-12)
    assert np.all(weight >= 0)


def test_deviances_without_a_lower_bound(table):
    """Two rows are fitted perfectly: the likelihood is sigma^(df (n - 2) - 2), with df = 0.2 and n = 9."""
    few = rj.linear("y ~ a", table.head(9), errors="student", df=0.2).fit(rng=1)
    deviance = few.models.set_index("terms")["deviance"]
    assert deviance[("a",)] == -np.inf
    assert np.isfinite(deviance[()])


def test_gradients_and_hessians():
    """Derivatives of the joint log posterior in coefficients and log sigma, by central differences."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.standard_normal(12), "y": rng.standard_t(2, 12)})
    fit = rj.linear("y ~ a", frame, errors="student", coef_prior=rj.Normal(1.0, mean=0.5)).fit(rng=1)
    finder, gamma = fit._marginal.finder, np.ones(1, dtype=np.uint8)
    finder.mode(gamma)
    at, step = np.array([0.4, 1.5, -0.3]), 1e-5
    value, gradient, hessian = finder._expand(at, True)
    for k, e in enumerate(step * np.eye(3)):
        up, down = finder._expand(at + e, True), finder._expand(at - e, True)
        # Errors of the differences are of the order of step^2 and of rounding / step.
        assert (up[0] - down[0]) / (2 * step) == pytest.approx(gradient[k], rel=1e-6)
        np.testing.assert_allclose(-(up[1] - down[1]) / (2 * step), hessian[k], rtol=1e-5, atol=1e-7)
    points, values = finder._log_targets(at, np.eye(3)[:1], np.zeros(1))
    np.testing.assert_array_equal(points, [at, at])
    assert values[0] == pytest.approx(value, rel=1e-12)


def test_many_degrees_of_freedom_are_normal_errors(table):
    """Integrals, inclusion, sigma and predictions; log-likelihoods differ by some n / df."""
    one = rj.linear(FORMULA, table, offset="shift", errors="student", df=1e6).fit(rng=1, pairs=8192)
    other = rj.linear(FORMULA, table, offset="shift").fit()
    pair = [fit.models.set_index("terms")["log_marginal"] for fit in (one, other)]
    # Eight integrals with a standard error below 1e-3.
    assert (pair[0] - pair[1]).iloc[:6].abs().max() < 6e-3
    np.testing.assert_allclose(one.posterior.inclusion, other.posterior.inclusion, atol=2e-3)
    # Each has 4,000 draws; standard deviations have a relative error of about 1.5 %.
    sigma, want = one.nuisance.loc["sigma"], other.sigma.loc["sigma"]
    assert sigma["mean"] == pytest.approx(want["mean"], abs=6 * want["sd"] / np.sqrt(2000))
    frames = [fit.get_prediction(table).summary_frame() for fit in (one, other)]
    for name in ("obs_ci_lower", "obs_ci_upper"):
        assert np.abs(frames[0][name] - frames[1][name]).max() < 0.25 * want["mean"]


@pytest.mark.parametrize("sampler", ["collapsed", "rjmcmc", "population"])
def test_samplers_agree_with_enumeration(model, enumerated, sampler):
    """Inclusion, and moments of coefficients and of sigma."""
    found = model.fit(sampler=sampler, draws=2500, rng=5)
    away = np.abs(found.posterior.inclusion - enumerated.posterior.inclusion)
    # |z| < 6 in 3 x 3 comparisons with errors from 50 batches: 1e-6.
    assert np.max(away / np.maximum(found.posterior.inclusion_mcse, 1e-4)) < 6
    mean, want = found.nuisance.loc["sigma"], enumerated.nuisance.loc["sigma"]
    # Ten thousand draws or four thousand, of which a quarter or more count.
    assert abs(mean["mean"] - want["mean"]) < 6 * want["sd"] * np.sqrt(1 / 1000 + 1 / 4000)
    assert mean["sd"] == pytest.approx(want["sd"], rel=0.15)
    one, other = found.coefficients, enumerated.coefficients
    assert np.max(np.abs(one["mean"] - other["mean"]) / other["sd"]) < 6 * np.sqrt(1 / 1000 + 1 / 4000)


def test_an_outlier_does_not_decide():
    """A response of 1e6 has the influence of one of 1e9, and nearly that of none."""
    rng = np.random.default_rng(6)
    x = pd.DataFrame(rng.standard_normal((50, 3)), columns=["a", "b", "c"])
    frame = x.assign(y=1 + 0.9 * x["a"] + 0.35 * x["b"] + rng.standard_normal(50))

    def fit(data, **options):
        prior = rj.GPrior(50.0)
        return rj.linear("y ~ a + b + c", data, coef_prior=prior, **options).fit(rng=1).inclusion["posterior"]

    spoilt = [frame.assign(y=frame["y"].where(frame.index != 7, value)) for value in (1e6, 1e9)]
    far, further = (fit(data, errors="student") for data in spoilt)
    without = fit(frame.drop(index=7), errors="student")
    # Integrals have errors of half a percent; in the limit, the row has the likelihood sigma^df.
    np.testing.assert_allclose(far, further, atol=0.01)
    np.testing.assert_allclose(far, without, atol=0.05)
    assert without["a"] > 0.99
    assert fit(spoilt[0])["a"] < 0.5


@pytest.mark.parametrize(("seed", "gap", "n"), [(12, 3.0, 60), (37, 3.0, 60)])
def test_modes_of_two_clusters_are_found(seed, gap, n):
    """Two modes of nearly the same height, with a saddle point between them where searches start."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=[*"xzw"])
    frame["y"] = np.where(np.arange(n) % 2, gap, 0) + rng.normal(scale=0.1, size=n) + 0.1 * frame["x"]
    model = rj.linear("y ~ x + z + w", frame, errors="student", df=1)
    results = model.fit(integration="laplace", rng=1)
    assert np.isfinite(results.models["log_marginal"]).all()
    for gamma in np.ndindex(2, 2, 2):
        finder = results._marginal.finder
        finder.mode(np.array(gamma, dtype=np.uint8))
        _, gradient, hessian = finder._expand(finder.at, True)
        assert np.linalg.eigvalsh(hessian)[0] > 0
        # The searches' criterion is 1e-10 before the last step.
        assert gradient @ np.linalg.solve(hessian, gradient) < 1e-10


@pytest.mark.parametrize("columns", [0, 1])
def test_least_powers(columns):
    """Powers t of the posterior of n rows and d columns are integrable if t (n + d) > d + 1.

    Sums over intercept and slope in units of a large sigma fall by the factor of a larger one to the power of
    d + 1 - t (n + d), up to the square of the ratio of the response to it.
    """
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.standard_normal(6), "y": rng.standard_normal(6)})
    formula = "y ~ a" if columns else "y ~ 1"
    model = rj.linear(formula, frame, errors="student", coef_prior=rj.Normal(1.0))
    least = model.regression.least_power(columns)
    steps = np.arange(-60, 60.1, 0.5)
    unit = np.array(list(itertools.product(steps, repeat=1 + columns)))
    x, heights = frame[["a"]].to_numpy()[:, :columns], []
    for sigma in (1e5, 1e6):
        points = np.column_stack([sigma * unit, np.full(len(unit), np.log(sigma))])
        value = log_posterior(points, x, frame["y"].to_numpy(), 4.0, rj.Normal(1.0))
        heights.append(logsumexp(least * value) + (1 + columns) * np.log(sigma))
    # At the least power itself the integrand in log sigma is level.
    assert heights[1] - heights[0] == pytest.approx(0.0, abs=1e-6)


def a_loop(model, *scales, **rest):
    regression = model.regression
    gamma, b = np.array([1, 0, 1], dtype=np.uint8), np.zeros(regression.n_columns)
    b[[0, 1, 3]] = 8.0, 0.8, 0.3
    state = np.array([*b, *scales])
    more = {"max_columns": regression.n_columns, "raw_shift": regression.raw_shift, "n_swaps": 1, **rest}
    return make_chain(regression, model.space, gamma, state, **more), b


def test_densities_of_chains(model, table):
    """The likelihood with the prior of log sigma; the prior of coefficients in units of a typical sigma."""
    loop, b = a_loop(model, 1.3)
    regression, typical = model.regression, model.regression.family.size
    likelihood, of_b, of_model = loop.log_density()
    eta = b @ regression.columns + table["shift"]
    want = stats.t.logpdf(table["y"], 4, eta, 1.3).sum() + np.log(2)
    assert likelihood == pytest.approx(want, rel=1e-12)
    columns, own = np.array([1, 3, 4]), regression.columns[[1, 3, 4]]
    prior = stats.multivariate_normal(np.zeros(3), N * 1.3**2 * np.linalg.inv(own @ own.T))
    assert of_b == pytest.approx(prior.logpdf(b[columns]) + 3 * np.log(typical), abs=1e-9)
    assert of_model == pytest.approx(model.space.log_prior(np.array([1, 0, 1], dtype=np.uint8)))


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_sigma_given_the_rest(model, table, power):
    """1,000 draws, each after four updates, have the density of the target: two tests at 1e-7 each.

    Successive updates are correlated by about 0.3, so that those kept are by 0.01.
    """
    loop, b = a_loop(model, 1.3)
    loop.set_temperature(power)
    rng, found = np.random.default_rng(6), []
    for _ in range(1000):
        for _ in range(4):
            loop.draw(rng)
        found.append(loop.state()[1][-1])
    r = table["y"].to_numpy() - table["shift"].to_numpy() - b @ model.regression.columns
    own = model.regression.columns[[1, 3, 4]]
    form = b[[1, 3, 4]] @ own @ own.T @ b[[1, 3, 4]] / N
    t = np.linspace(-3, 3, 3001)
    heights = stats.t.logpdf(r, 4, scale=np.exp(t)[:, None]).sum(axis=1) - 0.5 * form * np.exp(-2 * t) - 3 * t
    density = np.exp(power * (heights - heights.max()))
    law = np.cumsum(density) / density.sum()
    assert stats.kstest(np.log(found), lambda v: np.interp(v, t, law)).pvalue > 1e-7
    np.testing.assert_array_equal(loop.state()[1][:-1], b)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_sigma_and_g_given_the_rest(table, power):
    """6,000 draws, each after twelve updates, against sums over a grid: four tests at 1e-7 each.

    The power is that of likelihood and prior of coefficients in units of sqrt(g); g has its prior.
    """
    model = rj.linear(FORMULA, table, offset="shift", errors="student", coef_prior=rj.HyperG(3))
    loop, b = a_loop(model, 1.3, 1.0)
    loop.set_temperature(power)
    rng, found = np.random.default_rng(6), []
    for _ in range(6000):
        for _ in range(12):
            loop.draw(rng)
        found.append(loop.state()[1][-2:])
    r = table["y"].to_numpy() - table["shift"].to_numpy() - b @ model.regression.columns
    own = model.regression.columns[[1, 3, 4]]
    form = b[[1, 3, 4]] @ own @ own.T @ b[[1, 3, 4]]
    t, v = np.linspace(-3, 3, 601)[:, None], np.linspace(-15, 40, 1101)
    likelihood = stats.t.logpdf(r, 4, scale=np.exp(t)).sum(axis=1)[:, None]
    heights = power * (likelihood - 0.5 * form * np.exp(-2 * t - v) - 3 * t)
    heights += -1.5 * v - 1.5 * np.log1p(np.exp(v)) + v
    density = np.exp(heights - heights.max())
    for drawn, at, axis in ((np.log(np.array(found)[:, 0]), t[:, 0], 1), (np.array(found)[:, 1], v, 0)):
        law = np.cumsum(density.sum(axis=axis)) / density.sum()
        assert stats.kstest(drawn, lambda x, at=at, law=law: np.interp(x, at, law)).pvalue > 1e-7
    np.testing.assert_array_equal(loop.state()[1][:-2], b)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.inf, np.nan])
def test_sigma_must_be_positive(model, sigma):
    with pytest.raises(ValueError, match="sigma must be positive"):
        a_loop(model, sigma)


def test_jumps_from_states_in_proportion_to_the_posterior(model):
    """Births and deaths are each other's reverse: their log acceptance ratios add up to 0."""
    loop, b = a_loop(model, 1.3)
    block = np.array([0.4])
    ahead = loop.log_ratio("birth", 1, block=block)
    b[2] = 0.4
    loop.set_state(np.ones(3, dtype=np.uint8), np.append(b, 1.3))
    assert loop.log_ratio("death", 1) == pytest.approx(-ahead, abs=1e-9)


def test_jumps_given_g_are_those_of_a_known_g(table):
    """Acceptance of births and deaths at a state of a mixture against the g-prior with its g."""
    ratios = []
    for prior, scales in ((rj.HyperGN(3), [1.3, 2.0]), (rj.GPrior(np.exp(2.0)), [1.3])):
        model = rj.linear(FORMULA, table, offset="shift", errors="student", coef_prior=prior)
        loop, _ = a_loop(model, *scales)
        ratios.append([loop.log_ratio("birth", 1, block=np.array([0.4])), loop.log_ratio("death", 0)])
    np.testing.assert_allclose(*ratios, rtol=0, atol=1e-9)


def test_predictions(enumerated, table):
    """Intervals of new responses are quantiles of the mixture of t distributions."""
    frame = enumerated.get_prediction(table).summary_frame()
    inside = (table["y"] >= frame["obs_ci_lower"]) & (table["y"] <= frame["obs_ci_upper"])
    # Of 40 independent intervals of 95 %, ten or more miss their response with a chance below 1e-4.
    assert inside.sum() > N - 10
    coefficients, values = enumerated._averaged
    x = np.column_stack([np.ones(N), enumerated.model.data.X])
    ends = frame[["obs_ci_lower", "obs_ci_upper"]].to_numpy()
    for row in (0, 7):
        eta = x[row] @ coefficients.T + table["shift"][row]
        below = [stats.t.cdf(end, 4, eta, values["sigma"]).mean() for end in ends[row]]
        # Quantiles are exact to 1e-9 of sigma; the prediction may thin 4,000 draws.
        np.testing.assert_allclose(below, [0.025, 0.975], atol=0.003)


def test_single_models(enumerated, table):
    """Means of predictions by one model are averages of its draws."""
    single = enumerated.single_model(["a"])
    assert 0 < single.rsquared < 1
    assert "R-squared" in str(single.summary())
    fitted = single.predict(table)
    x = np.column_stack([np.ones(N), table["a"]])
    y = table["y"] - table["shift"]
    want = x @ sm.RLM(y, x).fit().params + table["shift"]
    # Two robust fits of 40 rows.
    assert np.abs(fitted - want).max() < 1.0


def test_held_out_scores_prefer_it_to_normal_errors():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"a": rng.standard_normal(80)})
    frame["y"] = frame["a"] + rng.standard_t(1.5, 80)
    scores = [
        rj.linear("y ~ a", frame, errors=errors).cross_validate(4, rng=1).scores["log_score"]
        for errors in ("student", "normal")
    ]
    assert np.all(scores[0] > scores[1] + 0.1)


def test_checks(enumerated):
    """A model that is nearly true passes its own checks."""
    assert np.all(enumerated.check(rng=2)["p_value"] > 1e-3)


def test_sigma_and_df_are_reported(walked, enumerated):
    text = str(walked.summary())
    mean, low, high = walked.nuisance.loc["sigma", ["mean", "ci_lower", "ci_upper"]]
    assert f"{mean:.4g} ({low:.4g}, {high:.4g})" in text
    for fit in (walked, enumerated):
        assert "Student t, 4 df" in str(fit.summary())
    with pytest.raises(rj.NotAvailableError, match="student model has no error variance"):
        _ = walked.sigma


def test_saved_results(enumerated, walked, table, tmp_path):
    for fit in (enumerated, walked):
        assert_saved_alike(fit, table, tmp_path / "fit.zip")


def test_longer_runs_are_the_same_as_whole_ones(model, walked, table, tmp_path):
    walked.save(tmp_path / "fit.zip")
    longer = rj.load(tmp_path / "fit.zip", data=table).extend(300)
    whole = model.fit(sampler="rjmcmc", draws=2300, burn_in=300, chains=2, rng=2)
    np.testing.assert_array_equal(longer.draws.model, whole.draws.model)
    np.testing.assert_array_equal(longer.draws.nuisance["sigma"], whole.draws.nuisance["sigma"])


def test_many_terms():
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.standard_normal((80, 25)), columns=[f"x{k}" for k in range(25)])
    y = 2 * x["x0"].to_numpy() + rng.standard_t(2, 80)
    results = rj.LinearSelection(y, x, errors="student").fit(draws=1500, burn_in=100, chains=2, rng=1)
    assert results.posterior.sampler in ("collapsed", "rjmcmc")
    assert results.inclusion["posterior"].idxmax() == "x0"


def test_sensitivity(model):
    priors = {"n": rj.GPrior("n"), "100": rj.GPrior(100.0)}
    table = model.sensitivity(coef_priors=priors, rng=1).inclusion
    assert table.notna().all(axis=None)


def test_models_with_other_errors_are_not_compared(table, model):
    others = [rj.linear(FORMULA, table, offset="shift", errors="student", df=3)]
    others.append(rj.linear(FORMULA, table, offset="shift"))
    for other in others:
        assert same_data(model, other) == "another family"


BAD = {
    "df of 0": ({"df": 0}, rj.ParameterError, r"'df' .* in \(0, 1e\+06\]"),
    "negative df": ({"df": -2.0}, rj.ParameterError, r"'df' .* in \(0, 1e\+06\]"),
    "df NaN": ({"df": float("nan")}, rj.ParameterError, r"'df'"),
    "df as text": ({"df": "four"}, rj.ParameterError, r"'df'"),
    "many df": ({"df": 1e7}, rj.ParameterError, r"'df'"),
    "df of normal errors": ({"errors": "normal", "df": 4}, rj.ParameterError, "'df' .*None if errors='nor"),
    "other errors": ({"errors": "cauchy"}, rj.ParameterError, r"'errors' .*'normal'.*'student'.*'cauchy'"),
    "weights": ({"weights": "shift"}, rj.NotAvailableError, r"do not support 'weights'"),
    "sigma_prior": ({"sigma_prior": rj.InverseGamma(1, 1)}, rj.ParameterError, "'sigma_prior' .*None if"),
    "a local g": ({"coef_prior": rj.EmpiricalBayes()}, rj.NotAvailableError, r"support GPrior, mixtures"),
    "BIC": ({"coef_prior": rj.BIC()}, rj.NotAvailableError, r"support GPrior, mixtures"),
    "unscaled": ({"coef_prior": rj.Normal(1.0, scaled=False)}, rj.NotAvailableError, "multiple of sigma"),
    "an intercept": ({"coef_prior": rj.GPrior("n", intercept="joint")}, rj.ParameterError, "'intercept'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_parameters_are_errors(table, case):
    options, error, message = BAD[case]
    data = table.assign(shift=table["shift"].abs())
    with pytest.raises(error, match=message):
        rj.linear(FORMULA, data, **{"errors": "student", **options})


def test_ties_that_leave_sigma_without_a_posterior_are_errors(table):
    """With s of n equal responses it exists if s - 1 < df (n - s)."""
    tied = table.assign(y=table["y"].where(table.index >= 33, 1.0))
    with pytest.raises(rj.DataError, match="fewer equal values: with 33 of 40 and df=4"):
        rj.linear("y ~ a", tied, errors="student")
    assert rj.linear("y ~ a", tied, errors="student", df=5).count_models() == 2


def test_surrogate_jumps_need_a_known_sigma(model):
    with pytest.raises(rj.ParameterError, match=r"'surrogate' .* sigma"):
        model.fit(sampler="rjmcmc", surrogate=1)


def test_stackloss():
    """Rows 1, 3, 4 and 21 are the known outliers [Daniel and Wood 1980]."""
    data = sm.datasets.stackloss.load_pandas().data
    names = ["AIRFLOW", "WATERTEMP", "ACIDCONC"]
    results = rj.LinearSelection(data["STACKLOSS"], data[names], errors="student").fit(rng=1)
    residual = np.abs(data["STACKLOSS"] - results.get_prediction().summary_frame()["mean"])
    assert set(residual.nlargest(3).index) <= {0, 2, 3, 20}


@pytest.mark.statistical
def test_posteriors_of_draws_from_the_prior_are_calibrated():
    """Models and slopes drawn given sigma and intercept from their priors have calibrated posteriors.

    Sigma and the intercept have improper priors, so that they are fixed: ranks of sigma are uniform whatever
    its value, since its prior is invariant under changes of scale. 400 data sets: one Kolmogorov-Smirnov test
    at 3e-5 with ranks among 400 draws, and mean inclusion against the share of data sets with the term within
    4.5 standard errors, 7e-6.
    """
    rng, found = np.random.default_rng(11), []
    frame = pd.DataFrame({"a": np.linspace(-1.5, 1.5, 20)})
    for seed in range(400):
        inside = rng.random() < 0.5
        slope = rng.normal() * inside
        y = 3 + 2.5 * (slope * frame["a"] + rng.standard_t(4, 20))
        model = rj.linear("y ~ a", frame.assign(y=y), errors="student", coef_prior=rj.Normal(1.0))
        results = model.fit(rng=seed)
        coefficients, values = results._averaged
        pick = rng.permutation(len(coefficients))[:400]
        rank = np.mean(values["sigma"][pick] < 2.5)
        found.append((results.inclusion["posterior"].iloc[0], inside, rank))
    p, inside, rank = np.array(found, dtype=float).T
    assert stats.kstest(rank, "uniform").pvalue > 3e-5
    assert abs(np.mean(p - inside)) < 4.5 * np.std(p - inside) / np.sqrt(p.size)
