"""Student-t errors with unknown degrees of freedom, against quadrature, known ones and enumeration."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from fit_checks import assert_long_chains_agree
from grids import by_grid, student_density
from scipy import optimize, stats
from scipy.special import logsumexp
from turns import every

import pyrjsel as rj
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import make_chain

N = 40
FORMULA = "y ~ a + b + C(level)"
PRIOR = stats.gamma(2, scale=10)


def with_errors(df, seed=3):
    """Rows with an effect, two related columns, a factor and an offset; normal errors if `df` is None."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((N, 2))
    frame = pd.DataFrame({"a": 2 + x[:, 0], "b": 3 * (x[:, 0] + x[:, 1])})
    frame["level"] = rng.choice(["p", "q", "r"], N)
    frame["shift"] = rng.normal(0, 0.5, N)
    mean = 5 + 0.6 * frame["a"] + 0.9 * (frame["level"] == "q") + frame["shift"]
    errors = rng.standard_normal(N) if df is None else rng.standard_t(df, N)
    return frame.assign(y=mean + 1.5 * errors)


TABLES = {"heavy": with_errors(3), "normal": with_errors(None), "Cauchy": with_errors(1)}


def model_of(table, formula=FORMULA, **options):
    options = {"df": "estimate", "offset": "shift", **options}
    return rj.linear(formula, TABLES[table], errors="student", **options)


@pytest.fixture(scope="module")
def enumerated():
    return model_of("heavy").fit(rng=1, pairs=1024)


def log_prior(u):
    """Log density of log(df - 1/2) for the gamma distribution above 1/2."""
    return PRIOR.logpdf(0.5 + np.exp(u)) - PRIOR.logsf(0.5) + u


def by_quadrature(x, y):
    """Log marginal likelihood, and mean and deviation of the two last coordinates, by a sum over a grid.

    Of log(df - 1/2) for itself, with a rotated grid for the others given it.
    """
    values, means, squares = [], [], []
    start = np.concatenate([[np.median(y)], np.zeros(x.shape[1]), [np.log(y.std())]])
    u = np.arange(-9.0, 5.6, 0.5)
    for df in 0.5 + np.exp(u):
        given = by_grid(partial(student_density, x=x, y=y, df=df, prior=rj.GPrior("n")), start, 0.9, 8)
        values.append(given[0])
        means.append(given[1][-1])
        squares.append(given[1][-1] ** 2 + given[2][-1] ** 2)
    values += log_prior(u) + np.log(0.5)
    share = np.exp(values - logsumexp(values))
    mean = share @ np.column_stack([means, u])
    return logsumexp(values), mean, np.sqrt(share @ np.column_stack([squares, u**2]) - mean**2)


@pytest.mark.parametrize(
    ("table", "terms"),
    [
        ("heavy", ["a"]),
        pytest.param("Cauchy", [], marks=pytest.mark.statistical),
        pytest.param("normal", ["a"], marks=pytest.mark.statistical),
        pytest.param("Cauchy", ["b"], marks=pytest.mark.statistical),
    ],
)
def test_integrals_agree_with_quadrature(table, terms):
    """Marginal likelihoods, and the posteriors of log sigma and log(df - 1/2)."""
    fit = model_of(table, "y ~ a + b").fit(rng=3)
    gamma = np.array([name in terms for name in ("a", "b")], dtype=np.uint8)
    found = fit._marginal.integrate(gamma, pairs=2**16)
    frame = TABLES[table]
    want, mean, sd = by_quadrature(frame[terms].to_numpy(), (frame["y"] - frame["shift"]).to_numpy())
    # Six standard errors: 8e-9 in four cases. The quadrature has an error below 1e-4, with the tail below -9.
    assert found.variance < 2e-6
    assert abs(found.log_marginal - want) < 6 * np.sqrt(found.variance) + 1e-4
    drawn = fit._marginal.sample(gamma, 4000, np.random.default_rng(4))[1]
    both = np.column_stack([np.log(drawn["sigma"]), np.log(drawn["df"] - 0.5)])
    # 4,000 draws, of which systematic resampling leaves most of the effective number.
    assert np.all(np.abs(both.mean(axis=0) - mean) < 6 * sd / np.sqrt(2000))
    np.testing.assert_allclose(both.std(axis=0), sd, rtol=0.12)


@pytest.mark.parametrize(
    ("table", "prior"),
    [
        ("heavy", rj.GPrior("n")),
        pytest.param("normal", rj.Normal(0.6, mean=0.2), marks=pytest.mark.statistical),
        pytest.param("Cauchy", rj.HyperGN(3), marks=pytest.mark.statistical),
    ],
)
def test_integrals_are_averages_of_those_given_df(table, prior):
    """Marginal likelihoods of all models, and probabilities of the terms."""
    formula, options = "y ~ a + C(level)", {"coef_prior": prior}
    exact = model_of(table, formula, **options).fit(rng=1, pairs=4096)
    u = np.arange(-8.0, 5.6, 0.5)
    fits = [model_of(table, formula, df=0.5 + np.exp(each), **options).fit(rng=2, pairs=512) for each in u]
    rows = [fit.models.set_index("terms")["log_marginal"] for fit in (exact, *fits)]
    given = np.array([row.loc[rows[0].index] for row in rows[1:]])
    want = logsumexp(given + log_prior(u)[:, None] + np.log(0.5), axis=0)
    # Errors of 4,096 pairs are below 6e-3, those of 512 smaller after averaging: six of both.
    np.testing.assert_allclose(rows[0].to_numpy(), want, rtol=0, atol=0.04)


@pytest.mark.statistical
@pytest.mark.parametrize("table", TABLES)
def test_long_chains_agree_with_enumeration(table):
    for prior in (rj.GPrior("n"), rj.ZellnerSiow()):
        model = model_of(table, coef_prior=prior)
        exact = model.fit(rng=1, pairs=8192)
        for sampler, draws in (("rjmcmc", 60_000), ("population", 15_000)):
            found = model.fit(sampler=sampler, draws=draws, rng=2)
            # 3 comparisons of 12 cases: 7e-8.
            assert_long_chains_agree(found, exact)
            assert np.abs(found.posterior.inclusion - exact.posterior.inclusion).max() < 6 * 3e-3
            near = (found.nuisance["mean"] - exact.nuisance["mean"]) / exact.nuisance["sd"]
            assert near.abs().max() < 6 * np.sqrt(1 / 2000 + 1 / 3000)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_sigma_and_df_given_the_rest(power):
    """3,000 draws, each after eight updates, against sums over a grid: four tests at 1e-7 each.

    The power is that of likelihood and prior of coefficients in units of sigma; df have their prior.
    """
    model, frame = model_of("heavy"), TABLES["heavy"]
    regression, gamma = model.regression, np.array([1, 0, 1], dtype=np.uint8)
    b = np.zeros(regression.n_columns)
    b[[0, 1, 3]] = 8.0, 0.8, 0.3
    more = {"max_columns": b.size, "raw_shift": regression.raw_shift, "n_swaps": 1}
    loop = make_chain(regression, model.space, gamma, np.array([*b, 1.3, 4.0]), **more)
    likelihood = loop.log_density()[0]
    r = (frame["y"] - frame["shift"]).to_numpy() - b @ regression.columns
    assert likelihood == pytest.approx(stats.t.logpdf(r, 4, scale=1.3).sum() + np.log(2), rel=1e-12)
    loop.set_temperature(power)
    rng, found = np.random.default_rng(6), []
    for _ in range(3000):
        for _ in range(8):
            loop.draw(rng)
        found.append(loop.state()[1][-2:])
    own = regression.columns[[1, 3, 4]]
    form = b[[1, 3, 4]] @ own @ own.T @ b[[1, 3, 4]] / N
    t, u = np.linspace(-3, 3, 301)[:, None], np.linspace(-20, 7, 541)
    height = sum(stats.t.logpdf(each, 0.5 + np.exp(u), scale=np.exp(t)) for each in r)
    height = power * (height - 0.5 * form * np.exp(-2 * t) - 3 * t) + log_prior(u)
    density = np.exp(height - height.max())
    drawn = np.log(np.array(found) - [0, 0.5])
    for k, at in enumerate((t[:, 0], u)):
        law = np.cumsum(density.sum(axis=1 - k)) / density.sum()
        assert stats.kstest(drawn[:, k], lambda v, at=at, law=law: np.interp(v, at, law)).pvalue > 1e-7
    np.testing.assert_array_equal(loop.state()[1][:-2], b)
    lowest = np.array([*b, 1.3, 0.5])
    with pytest.raises(ValueError, match=r"df must be above 0\.5"):
        make_chain(regression, model.space, gamma, lowest, **more)


def test_normal_errors_have_many_degrees_of_freedom(enumerated):
    """Their posterior is nearly the prior, and inclusion nearly that with normal errors."""
    fit = model_of("normal").fit(rng=1, pairs=1024)
    assert 10 < fit.nuisance.loc["df", "mean"] < 25
    assert fit.nuisance.loc["df", "ci_upper"] > 40
    normal = rj.linear(FORMULA, TABLES["normal"], offset="shift").fit()
    # With 30 known degrees of freedom .027 apart, with those of the posterior of 40 rows .055.
    np.testing.assert_allclose(fit.posterior.inclusion, normal.posterior.inclusion, atol=0.06)
    assert enumerated.nuisance.loc["df", "mean"] < 10
    assert model_of("Cauchy").fit(rng=1, pairs=1024).nuisance.loc["df", "mean"] < 2


def test_predictions(enumerated):
    """Intervals of new responses are quantiles of the mixture of t distributions."""
    frame = TABLES["heavy"]
    found = enumerated.get_prediction(frame).summary_frame()
    coefficients, values = enumerated._averaged
    x = np.column_stack([np.ones(N), enumerated.model.data.X])
    ends = found[["obs_ci_lower", "obs_ci_upper"]].to_numpy()
    for row in (0, 7):
        eta = x[row] @ coefficients.T + frame["shift"][row]
        below = [stats.t.cdf(end, values["df"], eta, values["sigma"]).mean() for end in ends[row]]
        # Quantiles are exact to 1e-9 of sigma; the prediction may thin 4,000 draws.
        np.testing.assert_allclose(below, [0.025, 0.975], atol=0.003)
    assert np.all(enumerated.check(rng=2)["p_value"] > 1e-3)


def test_deviances_are_those_of_the_largest_likelihood():
    """Over df above 1/2: with normal errors, that of the normal model, which has no limit of df."""
    fit = model_of("normal").fit(rng=1)
    row = fit.models.set_index("terms")["deviance"]
    frame = TABLES["normal"]
    y = (frame["y"] - frame["shift"]).to_numpy()
    x = np.column_stack([np.ones(N), frame["a"]])

    def loss(v, df):
        return -2 * stats.t.logpdf(y, df, x @ v[:-1], np.exp(v[-1])).sum()

    start = np.append(np.linalg.lstsq(x, y, rcond=None)[0], 0.0)
    want = min(
        optimize.minimize(loss, start, args=(df,), tol=1e-10).fun for df in (3.0, 5.0, 8.0, 12.0, 1e3, 1e6)
    )
    assert row[("a",)] < want + 1e-6
    assert row[("a",)] > want - 0.1


def test_ties_that_leave_sigma_without_a_posterior_are_errors():
    """With s of n equal responses it exists for all df above 1/2 if s - 1 < (n - s) / 2."""
    frame = TABLES["heavy"]
    for ties, error in ((14, True), (13, False)):
        tied = frame.assign(y=frame["y"].where(frame.index >= ties, 1.0))
        if error:
            with pytest.raises(rj.DataError, match=r"fewer equal values: with 14 of 40 and df=0\.5"):
                rj.linear("y ~ a", tied, errors="student", df="estimate")
        else:
            assert rj.linear("y ~ a", tied, errors="student", df="estimate").count_models() == 2


@pytest.mark.parametrize("df", every(2, ["estimate", 1], 1))
def test_ties_within_levels_are_fitted_perfectly(df):
    """Most responses of each level are equal: the likelihood has no maximum, and the posterior has one.

    Under a mixture of g-priors sigma of the models with the level has no posterior either.
    """
    rng = np.random.default_rng(1)
    level = np.repeat([0.0, 1.0], 20)
    frame = pd.DataFrame({"level": level, "y": 1.0 + level, "other": rng.standard_normal(40)})
    frame.loc[[*range(7), *range(20, 27)], "y"] += 1.5 * rng.standard_normal(14)
    results = rj.linear("y ~ level + other", frame, errors="student", df=df).fit(rng=1)
    assert results.inclusion.loc["level", "posterior"] > 0.99
    assert results.nuisance.loc["sigma", "mean"] > 0.01
    assert results.models.set_index("terms").loc[[("level",)], "deviance"].item() == -np.inf
    with pytest.raises(rj.DataError, match="posterior mode of 2 of 4 models was not found"):
        rj.linear("y ~ level + other", frame, errors="student", df=df, coef_prior=rj.HyperG()).fit(rng=1)
