"""Linear models with Student-t errors, against quadrature, scipy's maxima and the normal model."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from fit_checks import assert_long_chains_agree
from grids import by_grid, student_density
from scipy import stats
from scipy.special import logsumexp

import pyrjsel as rj
from pyrjsel.families._binary import evaluated
from pyrjsel.families._student import STUDENT
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
    start, heights = np.array([y.mean(), *np.zeros(len(terms)), np.log(y.std())]), []
    for g in np.exp(log_g):
        heights.append(
            by_grid(partial(student_density, x=x, y=y, df=4.0, prior=rj.GPrior(g)), start, 1.0, 7)[0]
        )
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
        value = student_density(points, x, frame["y"].to_numpy(), 4.0, rj.Normal(1.0))
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


def test_ties_that_leave_sigma_without_a_posterior_are_errors(table):
    """With s of n equal responses it exists if s - 1 < df (n - s)."""
    tied = table.assign(y=table["y"].where(table.index >= 33, 1.0))
    with pytest.raises(rj.DataError, match="fewer equal values: with 33 of 40 and df=4"):
        rj.linear("y ~ a", tied, errors="student")
    assert rj.linear("y ~ a", tied, errors="student", df=5).count_models() == 2


def test_stackloss():
    """Rows 1, 3, 4 and 21 are the known outliers [Daniel and Wood 1980]."""
    data = sm.datasets.stackloss.load_pandas().data
    names = ["AIRFLOW", "WATERTEMP", "ACIDCONC"]
    results = rj.LinearSelection(data["STACKLOSS"], data[names], errors="student").fit(rng=1)
    residual = np.abs(data["STACKLOSS"] - results.get_prediction().summary_frame()["mean"])
    assert set(residual.nlargest(3).index) <= {0, 2, 3, 20}
