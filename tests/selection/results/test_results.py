"""Tables and draws that agree with one another and with what is computed another way."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from births_fits import COSTS, FORMULA, fit
from scipy import stats
from scipy.special import log_expit

import pyrjsel as rj
from pyrjsel.selection.samplers.listing import inclusion_error

COLUMNS = ["Intercept", "age", "lwt", "race[T.black]", "race[T.other]", "smoke"]
INCLUSION = [
    "prior",
    "posterior",
    "mcse",
    "ess",
    "r_hat",
    "bayes_factor",
    "cost",
    "columns",
]
MODELS = ["terms", "size", "cost", "posterior", "mcse", "odds", "odds_mcse", "log_marginal", "deviance"]
MODELS += ["integration"]
COEFFICIENTS = ["mean", "sd", "ci_lower", "ci_upper", "prob_positive", "mean_included", "sd_included"]


def test_inclusion(results):
    table = results.inclusion
    assert list(table.columns) == INCLUSION
    assert table.index.name == "term"
    assert list(table.index) == ["age", "lwt", "race", "smoke"] == list(results.model.term_names)
    assert table.drop(columns="columns").dtypes.eq(float).all()
    assert table["columns"].to_list() == [1, 1, 2, 1]
    np.testing.assert_allclose(table["prior"], 0.5)  # beta-binomial(1, 1), without constraints
    odds = table["posterior"] / (1 - table["posterior"])
    np.testing.assert_allclose(table["bayes_factor"], odds)  # prior odds are one
    assert table["cost"].to_dict() == COSTS
    assert (table["mcse"] > 0).all()
    assert (table["mcse"] < 0.05).all()
    unknown = table[["ess", "r_hat"]].isna()
    assert unknown.all(axis=None) if results.sampler == "enumerate" else not unknown.any(axis=None)


def test_models(results):
    table = results.models
    assert list(table.columns) == MODELS
    assert list(table.index) == list(range(1, 17)) if results.sampler == "enumerate" else len(table) <= 16
    assert table.index.name == "rank"
    assert all(isinstance(terms, tuple) for terms in table["terms"])
    assert list(table["size"]) == [len(terms) for terms in table["terms"]]
    assert list(table["cost"]) == [sum(COSTS[name] for name in terms) for terms in table["terms"]]
    assert (table["posterior"].diff().dropna() <= 0).all()
    assert table["odds"].iloc[0] == 1
    assert table["odds_mcse"].iloc[0] == 0
    np.testing.assert_allclose(table["odds"], table["posterior"].iloc[0] / table["posterior"])
    assert results.best() == table["terms"].iloc[0]
    assert results.covered == pytest.approx(1)


def test_probabilities_agree(results):
    """What is said of terms follows from what is said of models."""
    table = results.models
    for name, row in results.inclusion.iterrows():
        inside = [name in terms for terms in table["terms"]]
        # Every model is in the table; rounding alone.
        assert row["posterior"] == pytest.approx(table["posterior"][inside].sum(), abs=1e-12)
    assert table["posterior"].sum() == pytest.approx(1, abs=1e-12)


def test_posterior_follows_from_marginal_likelihoods(enumerated):
    table = enumerated.models
    log_prior = -np.log(5) - np.log([1, 4, 6, 4, 1])[table["size"]]  # beta-binomial(1, 1) on 4 terms
    log_mass = table["log_marginal"] + log_prior
    # Exactly so; rounding alone.
    np.testing.assert_allclose(
        table["posterior"], np.exp(log_mass - np.logaddexp.reduce(log_mass)), rtol=1e-10
    )


def test_error_of_a_term_that_is_next_to_certain():
    """Relative errors of what is left of 1, which a difference from 1 would not know: in exact fractions."""
    gamma = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=np.uint8)
    share = [Fraction(1), Fraction(1, 3), Fraction(1, 10**20), Fraction(1, 10**24)]
    variance = [Fraction(1, 10**4), Fraction(1, 400), Fraction(1, 900), Fraction(1, 100)]
    total = sum(share)
    p = [value / total for value in share]
    square = []
    for column in gamma.T.tolist():
        inclusion = sum(q for q, inside in zip(p, column, strict=True) if inside)
        parts = zip(p, column, variance, strict=True)
        square.append(sum((q * (inside - inclusion)) ** 2 * v for q, inside, v in parts))
    probability = np.array([float(q) for q in p])
    found = inclusion_error(gamma, probability, probability @ gamma, np.array([float(v) for v in variance]))
    np.testing.assert_allclose(found, np.sqrt([float(value) for value in square]), rtol=1e-12)  # rounding


def test_bayes_factor_of_a_term_that_is_next_to_certain():
    """The odds of inclusion are not made of rounding errors of one minus a probability."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 2))
    y = (rng.random(400) < 1 / (1 + np.exp(-4 * x[:, 0]))).astype(int)
    results = fit(rj.LogitSelection(y, x, model_prior=rj.Uniform()))
    out = ["x1" not in terms for terms in results.models["terms"]]
    log_marginal = results.models["log_marginal"]
    expected = np.logaddexp.reduce(log_marginal[np.invert(out)]) - np.logaddexp.reduce(log_marginal[out])
    assert expected > 50  # far beyond what 1 - p can hold
    assert np.log(results.inclusion.loc["x1", "bayes_factor"]) == pytest.approx(expected, abs=1e-9)


def test_deviance_is_that_of_the_maximum_likelihood_fit(results, births):
    coded = pd.get_dummies(births["race"], drop_first=True).astype(float)
    columns = {"race": coded, **{name: births[[name]] for name in ("age", "lwt", "smoke")}}
    for terms, deviance in zip(results.models["terms"], results.models["deviance"], strict=True):
        x = pd.concat([pd.Series(1.0, births.index), *[columns[name] for name in terms]], axis=1)
        found = sm.GLM(births["low"], x, family=sm.families.Binomial()).fit()
        assert deviance == pytest.approx(found.deviance, abs=1e-6)  # both searches stop before 1e-8


def test_frequencies_are_those_of_the_draws(walked):
    draws = walked.draws
    counts = np.bincount(draws.model.ravel())
    np.testing.assert_allclose(walked.models["posterior"], counts / counts.sum(), rtol=1e-12)
    np.testing.assert_allclose(walked.inclusion["posterior"], draws.included.mean(axis=(0, 1)), rtol=1e-12)
    names = np.array(walked.model.term_names)
    assert [tuple(names[row == 1]) for row in draws.models] == list(walked.models["terms"])


def test_samplers_agree(enumerated, walked):
    """Both find the same posterior.

    z-tests of 4 inclusion probabilities and 2 x 6 moments of coefficients at 7 standard errors; with the
    errors known to a tenth, a false alarm has a probability below 1e-7, and the seed is fixed.
    """
    gap = walked.inclusion["posterior"] - enumerated.inclusion["posterior"]
    assert (gap.abs() < 7 * np.hypot(walked.inclusion["mcse"], enumerated.inclusion["mcse"])).all()
    ess = walked.inclusion["ess"].min() / 2  # coefficients mix more slowly than the model does
    error = enumerated.bse / np.sqrt(ess)
    assert ((walked.params - enumerated.params).abs() < 7 * error).all()
    assert ((walked.bse / enumerated.bse - 1).abs() < 7 / np.sqrt(ess)).all()


def test_coefficients(results):
    table = results.coefficients
    assert list(table.columns) == COEFFICIENTS
    assert table.index.name == "column"
    assert list(table.index) == COLUMNS
    pd.testing.assert_series_equal(results.params, table["mean"], check_names=False)
    pd.testing.assert_series_equal(results.bse, table["sd"], check_names=False)
    ends = results.conf_int()
    assert list(ends.columns) == [0, 1]
    np.testing.assert_array_equal(ends, table[["ci_lower", "ci_upper"]])
    assert (ends[0] <= ends[1]).all()
    tighter = results.conf_int(alpha=0.5)
    assert (tighter[0] >= ends[0]).all()
    assert (tighter[1] <= ends[1]).all()
    share = results.inclusion["posterior"]
    for column, term in zip(COLUMNS[1:], ["age", "lwt", "race", "race", "smoke"], strict=True):
        row = table.loc[column]
        # Zero outside the models that hold the column.
        assert row["mean"] == pytest.approx(share[term] * row["mean_included"])
        second = share[term] * (row["sd_included"] ** 2 + row["mean_included"] ** 2)
        assert row["sd"] ** 2 + row["mean"] ** 2 == pytest.approx(second)
        assert 0 <= row["prob_positive"] <= share[term] + 1e-12


def test_coefficients_are_those_of_the_draws(walked):
    draws = walked.draws
    assert draws.coefficients_every == 1
    flat = draws.coefficients.reshape(-1, len(COLUMNS))
    np.testing.assert_allclose(walked.params, flat.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(walked.bse, flat.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(walked.coefficients["prob_positive"], (flat > 0).mean(axis=0), rtol=1e-12)


def test_diagnostics(enumerated, walked):
    table = walked.diagnostics
    assert list(table.index) == [0, 1, 2, "all"]
    assert table.index.name == "chain"
    rates = table.filter(like="acceptance_")
    assert set(rates.columns) >= {"acceptance_birth", "acceptance_death", "acceptance_swap"}
    assert ((rates > 0) & (rates <= 1)).all(axis=None)
    assert table.loc["all", "draws"] == walked.draws.model.size
    for name in ("size", "cost", "log_posterior"):
        assert table.loc["all", f"r_hat_{name}"] < 1.1
        assert table.loc["all", f"ess_{name}"] > 100
    other = enumerated.diagnostics
    assert other.loc["all", "models"] == 16
    assert 0 < other.loc["all", "integrated"] <= 16


def test_the_error_of_laplace_is_not_known(model):
    found = fit(model, integration="laplace")
    assert found.inclusion["mcse"].isna().all()
    assert found.models[["mcse", "odds_mcse"]].isna().all(axis=None)
    text = str(found.summary())
    assert "The error of Laplace's approximation is not estimated" in " ".join(text.split())
    assert "MCSE" not in text.split("Notes:", maxsplit=1)[0]
    exact = fit(model)
    # Laplace's error on 189 rows is of the order of 1/189.
    np.testing.assert_allclose(found.inclusion["posterior"], exact.inclusion["posterior"], atol=0.02)


def test_shapes_of_draws(walked):
    draws = walked.draws
    shape = (3, 2000)
    assert draws.model.shape == draws.size.shape == draws.cost.shape == draws.log_posterior.shape == shape
    assert draws.included.shape == (*shape, 4)
    assert draws.included.dtype == bool
    assert draws.coefficients.shape == (*shape, len(COLUMNS))
    np.testing.assert_array_equal(draws.size, draws.included.sum(axis=2))
    np.testing.assert_array_equal(
        draws.changes, (draws.included[:, 1:] != draws.included[:, :-1]).sum(axis=2)
    )
    np.testing.assert_allclose(draws.cost, draws.included @ [COSTS[name] for name in walked.model.term_names])
    # A coefficient is 0 where, and only where, its term is out.
    owner = [0, 1, 2, 2, 3]
    np.testing.assert_array_equal(draws.coefficients[..., 1:] != 0, draws.included[..., owner])
    assert repr(draws) == f"<Draws: 3 chains x 2000 draws, {len(draws.models)} models visited>"


def log_coefficient_prior(name, beta, x, weights):
    """Log prior density of raw coefficients `beta`, intercept first, of columns `x`, from its definition."""
    slopes, n = beta[1:], weights.sum()
    mean = weights @ x / n
    centred = x - mean
    centre = beta[0] + mean @ slopes  # the intercept of centred columns
    sd = np.sqrt(weights @ centred**2 / n)
    if name.startswith("g"):
        joint = np.column_stack([np.ones(len(x)), x])
        g, columns, values = {
            "g joint": (4 * n, joint, beta),
            "g flat": (n, centred, slopes),
            "g normal": (25.0, centred, slopes),
        }[name]
        if values.size == 0:
            value = 0.0
        else:
            precision = (columns.T * weights) @ columns / g
            value = stats.multivariate_normal.logpdf(values, cov=np.linalg.inv(precision))
        return value + (stats.norm.logpdf(centre, 1.0, 2.0) if name == "g normal" else 0.0)
    if name == "normal raw":
        return stats.norm.logpdf(slopes, 0.1, 0.5).sum() + stats.norm.logpdf(beta[0], 0, 10)
    if name == "normal flat":
        return stats.norm.logpdf(slopes, 0, 0.5).sum()
    # On standardised columns: slopes times their standard deviations.
    return (stats.norm.logpdf(slopes * sd, 0, 1.5) + np.log(sd)).sum() + stats.norm.logpdf(centre, 0, 10)


PRIORS = {
    "g joint": rj.GPrior("4n"),
    "g flat": rj.GPrior("n", intercept="flat"),
    "g normal": rj.GPrior(25.0, intercept=rj.Normal(2.0, mean=1.0)),
    "normal raw": rj.Normal(0.5, mean=0.1),
    "normal flat": rj.Normal(0.5, intercept="flat"),
    "normal standardised": rj.Normal(1.5, standardize=True),
}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("weighted", [False, True])
def test_log_posterior_of_draws(name, weighted, births):
    """Log-likelihood + log prior of coefficients + log prior of the model, from the raw columns."""
    rng = np.random.default_rng(8)
    births = births.iloc[::2]  # few enough that no model has all the probability
    weights = rng.integers(1, 4, len(births)).astype(float) if weighted else np.ones(len(births))
    offset = rng.normal(size=len(births)) if weighted else np.zeros(len(births))
    options = {"weights": weights, "offset": offset} if weighted else {}
    model = rj.logit(FORMULA, births, coef_prior=PRIORS[name], model_prior=rj.Uniform(), **options)
    draws = fit(model, sampler="rjmcmc", draws=40, chains=2).draws
    owner = np.array([0, 1, 2, 2, 3])
    y, x = births["low"].to_numpy(), model.data.X
    assert len(draws.models) > 4
    for chain, draw in np.ndindex(draws.model.shape):
        beta = draws.coefficients[chain, draw]
        inside = draws.included[chain, draw][owner]
        eta = beta[0] + x @ beta[1:] + offset
        expected = weights @ np.where(y == 1, log_expit(eta), log_expit(-eta))
        expected += log_coefficient_prior(name, np.r_[beta[0], beta[1:][inside]], x[:, inside], weights)
        # The model prior is uniform: 0. Rounding: the intercept of raw columns cancels ten digits at most.
        assert draws.log_posterior[chain, draw] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "prior",
    [rj.BetaBinomial(1, 2), rj.Bernoulli(0.2), rj.TruncatedPoisson(1.5), rj.CostAdjusted(COSTS)],
    ids=repr,
)
def test_log_posterior_counts_the_model_prior(prior, births):
    """Against the same draws under the uniform prior: the log prior probability, up to a constant."""
    model = rj.logit(FORMULA, births, coef_prior=rj.GPrior("4n"), model_prior=prior)
    draws = fit(model, sampler="rjmcmc", draws=60, chains=1).draws
    owner = np.array([0, 1, 2, 2, 3])
    x, ones = model.data.X, np.ones(len(births))
    gap = []
    for draw in range(60):
        beta, inside = draws.coefficients[0, draw], draws.included[0, draw][owner]
        eta = beta[0] + x @ beta[1:]
        value = np.where(births["low"] == 1, log_expit(eta), log_expit(-eta)).sum()
        value += log_coefficient_prior("g joint", np.r_[beta[0], beta[1:][inside]], x[:, inside], ones)
        value += prior.logpmf(draws.included[0, draw].astype(np.uint8), model.space.context)[0]
        gap.append(draws.log_posterior[0, draw] - value)
    assert np.ptp(gap) < 1e-8  # rounding of sums of about 100


def test_burn_in_and_thinning(model):
    """Thinned draws are every third of the others: the same seed walks the same way."""
    options = {"sampler": "rjmcmc", "chains": 2, "rng": 5}
    every = fit(model, draws=90, burn_in=30, thin=1, **options).draws
    third = fit(model, draws=30, burn_in=30, thin=3, **options).draws
    np.testing.assert_array_equal(third.coefficients, every.coefficients[:, 2::3])
    later = fit(model, draws=60, burn_in=60, thin=1, **options).draws
    np.testing.assert_array_equal(later.log_posterior, every.log_posterior[:, 30:])
    default = fit(model, draws=100, **options)
    assert default.settings.burn_in == 20


def test_same_seed_same_draws(model):
    options = {"sampler": "rjmcmc", "draws": 50}
    one = fit(model, rng=7, n_jobs=1, **options)
    two = fit(model, rng=np.random.default_rng(7), n_jobs=2, **options)
    np.testing.assert_array_equal(one.draws.coefficients, two.draws.coefficients)
    pd.testing.assert_frame_equal(one.inclusion, two.inclusion)
    other = fit(model, rng=8, **options)
    assert not np.array_equal(one.draws.coefficients, other.draws.coefficients)
    rng = np.random.default_rng(7)
    assert not np.array_equal(
        fit(model, rng=rng, **options).draws.coefficients, fit(model, rng=rng, **options).draws.coefficients
    )


def test_enumeration_is_the_same_for_every_number_of_workers(model, enumerated):
    for workers in (1, 2):
        pd.testing.assert_frame_equal(fit(model, n_jobs=workers).models, enumerated.models)
