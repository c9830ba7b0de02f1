"""Single gaussian models against the covariance of the rows: marginal likelihood, moments, draws."""

import numpy as np
import pytest
import statsmodels.api as sm
from linear_kit import PRIORS
from linear_oracle import Rows, answer
from scipy import stats
from turns import by_turns

from pyrjsel.selection.evidence.gaussian import SingleModels
from pyrjsel.selection.priors.coefficients import GPrior, Normal
from pyrjsel.selection.regression.gaussian import GaussianRegression

SIZES = (1, 2, 1)
SETTINGS = {
    "plain": {},
    "weights and offset": {"weighted": True, "with_offset": True},
    "inverse gamma": {"sigma": (2.0, 1.5)},
}


def oracle_of(case):
    return Rows(case.x, case.y, case.weights, case.offset, case.regression.a, case.regression.b)


def columns_of(case, gamma):
    return case.regression.model_columns(gamma)[1:] - 1


def made(linear_kit, prior, setting):
    given = dict(SETTINGS[setting])
    if "sigma" in given:
        given["sigma"] = linear_kit.inverse_gamma(*given["sigma"])
    return linear_kit.case(SIZES, prior, n=15, **given)


@pytest.mark.parametrize(("setting", "name"), by_turns(list(SETTINGS), list(PRIORS)))
def test_marginal_likelihoods_and_moments(linear_kit, name, setting):
    any_prior = PRIORS[name]
    case = made(linear_kit, any_prior, setting)
    single, rows = SingleModels(case.regression), oracle_of(case)
    for gamma in case.models[[0, 2, 5, 7]]:
        want, found = answer(rows, any_prior, columns_of(case, gamma)), single.moments(gamma)
        assert single.log_marginal(gamma) == pytest.approx(want.log_marginal, abs=1e-9)
        np.testing.assert_allclose(found.mean, want.mean, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found.square, want.square, rtol=1e-8)
        np.testing.assert_allclose(found.positive, want.positive, rtol=0, atol=1e-9)
        assert found.variance == pytest.approx(want.variance, rel=1e-8)


def test_draws_have_the_moments(linear_kit, any_prior):
    """Nine priors with 13 z-tests each at 6.5 standard errors: false alarms 1e-8 in all."""
    case = made(linear_kit, any_prior, "weights and offset")
    single = SingleModels(case.regression)
    gamma = np.array([1, 1, 0])
    drawn, nuisance = single.sample(gamma, 40_000, np.random.default_rng(7))
    variance = nuisance["variance"]
    assert drawn.shape == (40_000, 5)
    assert not drawn[:, 4].any()
    raw, want = case.regression.to_raw(drawn), single.moments(gamma)
    for values, mean in ((raw[:, :4], want.mean), (raw[:, :4] ** 2, want.square), (variance, want.variance)):
        error = values.std(axis=0) / 200
        assert np.all(np.abs(values.mean(axis=0) - mean) < 6.5 * error)
    share = (raw[:, :4] > 0).mean(axis=0)
    error = np.sqrt(want.positive * (1 - want.positive) / 40_000)
    assert np.all(np.abs(share - want.positive) < 6.5 * error + 1e-9)
    np.testing.assert_array_equal(single.sample(gamma, 10, np.random.default_rng(7))[0].shape, (10, 5))


def test_draws_have_the_distribution(linear_kit):
    """Student marginals and an inverse gamma variance: three Kolmogorov-Smirnov tests at 1e-7."""
    case = made(linear_kit, GPrior("n"), "plain")
    single, gamma = SingleModels(case.regression), np.array([1, 0, 1])
    drawn, nuisance = single.sample(gamma, 20_000, np.random.default_rng(3))
    variance = nuisance["variance"]
    rows, nu = oracle_of(case), case.regression.nu
    want = answer(rows, GPrior("n"), columns_of(case, gamma))
    scale = np.sqrt((want.square - want.mean**2) * (nu - 2) / nu)
    raw = case.regression.to_raw(drawn)
    for column, at in ((0, 0), (4, 2)):
        z = (raw[:, column] - want.mean[at]) / scale[at]
        assert stats.kstest(z, stats.t(nu).cdf).pvalue > 1e-7
    inverse = stats.invgamma(nu / 2, scale=want.variance * (nu / 2 - 1))
    assert stats.kstest(variance, inverse.cdf).pvalue > 1e-7


@pytest.mark.parametrize("weighted", [False, True])
def test_deviance_is_that_of_statsmodels(linear_kit, weighted):
    case = linear_kit.case(SIZES, GPrior("n"), weighted=weighted, with_offset=True)
    w = np.ones(len(case.y)) if case.weights is None else case.weights
    single = SingleModels(case.regression)
    for gamma in case.models:
        x = sm.add_constant(case.x[:, columns_of(case, gamma)], has_constant="add")
        fitted = sm.WLS(case.y - case.offset, x, weights=w).fit()
        assert single.deviance(gamma) == pytest.approx(-2 * fitted.llf, rel=1e-12)
    twice = linear_kit.case((1, 1, 1), Normal(1.0), dependent=True)
    both = SingleModels(twice.regression)
    assert both.deviance(np.array([1, 1, 1])) == pytest.approx(both.deviance(np.array([1, 1, 0])))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("apart", "noise"), [(1e-6, 0.3), (1.0, 1e-8), (1e-5, 1e-7)])
def test_deviance_where_sums_lose_digits(weighted, apart, noise):
    """Columns that are `apart` relative to themselves, errors of `noise` relative to the response."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(25, 3))
    x[:, 1] = x[:, 0] + apart * x[:, 1]
    w = rng.uniform(0.5, 2.0, 25) if weighted else np.ones(25)
    y = 5.0 + x @ [1.0, 0.0, -1.0] + noise * rng.normal(size=25)
    single = SingleModels(GaussianRegression.build(x, y, [1, 1, 1], Normal(1.0), weights=w))
    for gamma in np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=np.uint8):
        design = np.column_stack([np.ones(25), x[:, gamma == 1] - w @ x[:, gamma == 1] / w.sum()])
        q = np.linalg.qr(design * np.sqrt(w)[:, None])[0]
        left = (y - w @ y / w.sum()) * np.sqrt(w)
        left -= q @ (q.T @ left)
        llf = -12.5 * np.log(2 * np.pi * (left @ left) / 25) - 12.5 + 0.5 * np.log(w).sum()
        # Responses are rounded to 1e-15, which is up to 1e-7 of their errors, of 25 rows.
        assert single.deviance(gamma) == pytest.approx(-2 * llf, abs=2e-5)


@pytest.mark.parametrize(("rows", "columns"), [(5, 4), (5, 7), (40, 39), (30, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_deviance_of_a_perfect_fit(rows, columns, weighted):
    """Rounding is no bound to it: of as many columns as rows, or of a response that columns made."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(rows, columns))
    y = 1e4 + x[:, 0] + (rng.normal(size=rows) if columns > 2 else 0.0)
    w = rng.uniform(0.5, 2.0, rows) if weighted else None
    single = SingleModels(GaussianRegression.build(x, y, [1] * columns, Normal(1.0), weights=w))
    assert single.deviance(np.ones(columns, dtype=np.uint8)) == -np.inf
    # An error of 1e-9 of the response is not rounding.
    y[0] += 1e-5
    few = np.zeros(columns, dtype=np.uint8)
    few[0] = 1
    noisy = SingleModels(GaussianRegression.build(x, y, [1] * columns, Normal(1.0), weights=w))
    assert np.isfinite(noisy.deviance(few))


def test_models_without_a_prior(linear_kit):
    case = linear_kit.case((1, 1, 1), GPrior("n"), dependent=True)
    single = SingleModels(case.regression)
    assert not single.exists(np.array([1, 1, 1]))
    assert single.log_marginal(np.array([1, 1, 1])) == -np.inf
    assert single.exists(np.array([1, 0, 1]))
    assert SingleModels(linear_kit.case((1, 1, 1), Normal(1.0), dependent=True).regression).exists(
        np.ones(3, int)
    )


def test_two_rows_have_no_posterior_mean(linear_kit):
    """One degree of freedom: a Cauchy distribution; two: no variance."""
    for n in (2, 3):
        case = linear_kit.case((1,), Normal(1.0), n=n)
        found = SingleModels(case.regression).moments(np.array([1]))
        assert np.isnan(found.mean).all() == (n == 2)
        assert np.isinf(found.square).all()
        assert found.variance == np.inf
        assert ((found.positive > 0) & (found.positive < 1)).all()
