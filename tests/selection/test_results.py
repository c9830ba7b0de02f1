"""Results: tables and draws that agree with one another and with what is computed another way."""

import copy
import pickle
import warnings
from itertools import permutations

import joblib
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import log_expit

import pyrjsel as rj

FORMULA = "low ~ age + lwt + race + smoke"
COLUMNS = ["Intercept", "race[T.black]", "race[T.other]", "age", "lwt", "smoke"]
COSTS = {"age": 1.0, "lwt": 2.0, "race": 0.5, "smoke": 0.5}
INCLUSION = ["prior", "posterior", "mcse", "ess", "r_hat", "bayes_factor", "cost"]
MODELS = ["terms", "size", "cost", "posterior", "mcse", "odds", "odds_mcse", "log_marginal", "deviance"]
COEFFICIENTS = ["mean", "sd", "ci_lower", "ci_upper", "prob_positive", "mean_included", "sd_included"]


@pytest.fixture(scope="module")
def births():
    return rj.datasets.birthwt().data


@pytest.fixture(scope="module")
def model(births):
    return rj.logit(FORMULA, births, costs=COSTS)


@pytest.fixture(scope="module")
def enumerated(model):
    return model.fit(rng=1, progress=False)


@pytest.fixture(scope="module")
def walked(model):
    return model.fit(sampler="rjmcmc", draws=2000, chains=3, rng=2, progress=False)


@pytest.fixture(params=["enumerated", "walked"])
def results(request):
    return request.getfixturevalue(request.param)


def fit(model, **options):
    """Fit with warnings of chains that are too short for the purpose left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)
        return model.fit(**{"rng": 1, "progress": False, **options})


# --- tables -----------------------------------------------------------------------------------------


def test_inclusion(results):
    table = results.inclusion
    assert list(table.columns) == INCLUSION
    assert table.index.name == "term"
    assert list(table.index) == ["race", "age", "lwt", "smoke"] == list(results.model.term_names)
    assert table.dtypes.eq(float).all()
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
    assert list(ends.columns) == ["lower", "upper"]
    np.testing.assert_array_equal(ends, table[["ci_lower", "ci_upper"]])
    assert (ends["lower"] <= ends["upper"]).all()
    tighter = results.conf_int(alpha=0.5)
    assert (tighter["lower"] >= ends["lower"]).all()
    assert (tighter["upper"] <= ends["upper"]).all()
    share = results.inclusion["posterior"]
    for column, term in zip(COLUMNS[1:], ["race", "race", "age", "lwt", "smoke"], strict=True):
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


def test_laplace_has_no_integration_error(model):
    found = fit(model, integration="laplace")
    assert (found.inclusion["mcse"] == 0).all()
    assert "Laplace" in str(found.summary())
    exact = fit(model)
    # Laplace's error on 189 rows is of the order of 1/189.
    np.testing.assert_allclose(found.inclusion["posterior"], exact.inclusion["posterior"], atol=0.02)


# --- draws ------------------------------------------------------------------------------------------


def test_shapes_of_draws(walked):
    draws = walked.draws
    shape = (3, 2000)
    assert draws.model.shape == draws.size.shape == draws.cost.shape == draws.log_posterior.shape == shape
    assert draws.included.shape == (*shape, 4)
    assert draws.included.dtype == bool
    assert draws.coefficients.shape == (*shape, len(COLUMNS))
    np.testing.assert_array_equal(draws.size, draws.included.sum(axis=2))
    np.testing.assert_allclose(draws.cost, draws.included @ [COSTS[name] for name in walked.model.term_names])
    # A coefficient is 0 where, and only where, its term is out.
    owner = [0, 0, 1, 2, 3]
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
    owner = np.array([0, 0, 1, 2, 3])
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
    model = rj.logit(FORMULA, births, model_prior=prior)
    draws = fit(model, sampler="rjmcmc", draws=60, chains=1).draws
    owner = np.array([0, 0, 1, 2, 3])
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


# --- summary ----------------------------------------------------------------------------------------


def test_summary_text(results):
    text = str(results.summary())
    for part in ("Logistic model selection", "low", "189", "59 (31.2 %)", "GPrior(g='4n')", "BetaBinomial"):
        assert part in text
    assert f"{results.sampler}" in text
    assert "Feasible models" in text
    assert ("Chains x draws" in text) == (results.sampler == "rjmcmc")
    for name in results.model.term_names:
        assert f"\n{name} " in text
    assert " + ".join(results.models["terms"].iloc[2]) in text
    assert max(len(line) for line in text.splitlines()) <= 110
    short = str(results.summary(top=2))
    assert "the best 2 of 16" in short
    assert "\n3 " not in short


def test_summary_in_other_formats(results):
    summary = results.summary()
    page = summary._repr_html_()
    assert page.count("<table") == page.count("</table>") == 3
    assert "GPrior(g=&#x27;4n&#x27;)" in page
    tex = summary.as_latex()
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == 3
    assert r"59 (31.2 \%)" in tex
    rows = summary.as_csv()
    assert "race" in rows
    assert "posterior" in rows


def test_summary_says_what_is_special(births):
    data = births.drop(columns="bwt").assign(trials=2.0, shift=0.1)
    data.loc[data.index[:3], "lwt"] = np.nan
    data.loc[data.index[2], "age"] = np.nan
    with pytest.warns(rj.MissingDataWarning, match="3 of 189 rows"):
        model = rj.logit(
            "low ~ . + age:smoke",
            data,
            weights="trials",
            offset="shift",
            always="age",
            heredity="strong",
            max_size=4,
            costs=dict.fromkeys(data.columns, 1.0),
            budget=3,
        )
    text = str(fit(model).summary())
    for label, value in {
        "Observations": r"186 \(3 dropped\)",
        "Trials": "372",
        "Successes": r"\d+ \(\d\d\.\d %\)",
        "Weights": "trials",
        "Offset": "shift",
        "Always in": "age",
        "Heredity": "strong",
        "Largest size": "4",
        "Budget": "3",
    }.items():
        assert pd.Series([text]).str.contains(rf"{label}: +{value}").all(), label
    assert "3 of 186" not in text
    assert "3 of 189 rows were dropped for missing values (by column: lwt 3, age 1)" in " ".join(text.split())


def test_summary_of_many_terms_lists_the_best_first(births):
    rng = np.random.default_rng(3)
    noise = pd.DataFrame(rng.normal(size=(len(births), 20)), index=births.index).add_prefix("noise")
    data = pd.concat([noise, births[["low", "lwt", "smoke"]]], axis=1)
    results = fit(rj.logit("low ~ .", data), sampler="rjmcmc", draws=100)
    lines = str(results.summary(1)).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("Inclusion, highest first"))
    shown = [line.split()[0] for line in lines[first:] if line.startswith(("noise", "lwt", "smoke"))]
    expected = results.inclusion["posterior"].sort_values(ascending=False, kind="stable").index
    assert shown[:22] == list(expected)
    assert list(results.inclusion.index) == list(results.model.term_names)  # the table itself stays


def test_reprs(model, enumerated):
    assert repr(model) == f"<LogitSelection {FORMULA!r}: 189 rows, 4 terms>"
    assert repr(enumerated).startswith("<SelectionResults of enumerate: best model (no terms), posterior 0.3")


def test_table_of_models_is_bounded(births, monkeypatch):
    """Beyond its bound the table holds the best models, and `covered` says how much that is."""
    monkeypatch.setattr("pyrjsel.selection.results.TABLE_ROWS", 5)
    results = fit(rj.logit(FORMULA, births))
    assert len(results.models) == 5
    assert results.covered == pytest.approx(results.models["posterior"].sum())
    assert results.covered < 0.9


# --- data of every kind -----------------------------------------------------------------------------


def variants(births):
    plain = births[["low", "age", "lwt", "race", "smoke"]]
    yield "nullable", plain.convert_dtypes()
    yield "text", plain.assign(race=plain["race"].astype(str).astype(object))
    yield "string dtype", plain.assign(race=plain["race"].astype("string"))
    yield "bool", plain.assign(smoke=plain["smoke"] == 1)
    yield "nullable bool", plain.assign(smoke=(plain["smoke"] == 1).astype("boolean"))
    yield "response bool", plain.assign(low=plain["low"] == 1)
    yield "floats", plain.astype({"low": float, "age": float, "smoke": "float32"})
    yield "small integers", plain.astype({"low": "int8", "age": "uint8", "lwt": "int16"})
    yield "unused category", plain.assign(race=plain["race"].cat.add_categories(["none"]))
    yield "objects", plain.astype({"age": object, "lwt": object})
    yield "lists", {name: list(column) for name, column in plain.items()}
    yield "other index", plain.set_index(np.arange(len(plain)) * 10 + 3)
    yield "labels", plain.set_index(pd.Index([f"r{k}" for k in range(len(plain))]))
    yield "rows by time", plain.set_index(pd.date_range("2020", periods=len(plain)))
    yield "columns turned round", plain[list(plain.columns[::-1])]


@pytest.mark.parametrize("which", range(15))
def test_kinds_of_data(which, births, enumerated):
    """The same rows in another dress give the same posterior, to rounding."""
    name, data = list(variants(births))[which]
    # Without random numbers, whose directions depend on which level of a factor is the reference.
    found = fit(rj.logit(FORMULA, data, costs=COSTS), integration="laplace")
    want = fit(enumerated.model, integration="laplace").inclusion["posterior"]
    np.testing.assert_allclose(found.inclusion["posterior"].to_numpy(), want, rtol=1e-8, err_msg=name)
    assert len(found.params) == len(COLUMNS)


def test_arrays_and_formula_agree(births, enumerated):
    exog = births[["race", "age", "lwt", "smoke"]]
    by_frame = rj.LogitSelection(births["low"], exog)
    assert by_frame.term_names == enumerated.model.term_names
    found = fit(by_frame)
    np.testing.assert_allclose(found.inclusion["posterior"], enumerated.inclusion["posterior"], rtol=1e-12)
    assert "low" in str(found.summary())
    numbers = fit(rj.LogitSelection(births["low"].to_numpy(), exog[["age", "lwt", "smoke"]].to_numpy()))
    assert list(numbers.inclusion.index) == ["x1", "x2", "x3"]
    assert list(numbers.params.index) == ["Intercept", "x1", "x2", "x3"]
    assert repr(numbers.model) == "<LogitSelection y from arrays: 189 rows, 3 terms>"


def test_dot_stands_for_all_other_columns(births):
    data = births.drop(columns="bwt").assign(trials=1.0)
    model = rj.logit("low ~ .", data, weights="trials")
    assert set(model.term_names) == set(data.columns) - {"low", "trials"}
    fewer = rj.logit("low ~ . - ftv", data, weights="trials")
    assert set(fewer.term_names) == set(model.term_names) - {"ftv"}


def test_names_that_are_no_identifiers(births):
    names = {"age": "age (years)", "lwt": "class", "smoke": "1st", "ptl": "größe"}
    data = births[["low", *names]].rename(columns=names)
    by_dot = fit(rj.logit("low ~ .", data, costs=dict.fromkeys(names.values(), 1.0)))
    assert list(by_dot.inclusion.index) == list(names.values())
    quoted = rj.logit("low ~ Q('age (years)') + Q('class') + Q('1st') + größe", data)
    assert quoted.term_names == by_dot.model.term_names
    pd.testing.assert_frame_equal(
        fit(quoted).inclusion.drop(columns="cost"), by_dot.inclusion.drop(columns="cost")
    )
    assert "age (years)" in str(by_dot.summary())
    assert by_dot.predict(data.head()).notna().all()


def test_columns_named_by_numbers(births):
    exog = pd.DataFrame(births[["age", "lwt"]].to_numpy())
    endog = births["low"].reset_index(drop=True)
    for costs in ({0: 1.0, 1: 2.0}, {"0": 1.0, "1": 2.0}, pd.Series([1.0, 2.0], index=exog.columns)):
        model = rj.LogitSelection(endog, exog, costs=costs, budget=2)
        assert fit(model).inclusion["cost"].to_dict() == {"0": 1.0, "1": 2.0}
        assert model.count_models() == 3


def test_weights_and_offset_by_name_and_by_value(births):
    rng = np.random.default_rng(4)
    data = births.assign(w=rng.integers(1, 4, len(births)), o=rng.normal(size=len(births)))
    named = fit(rj.logit("low ~ lwt + smoke", data, weights="w", offset="o"))
    for change in (np.asarray, list, lambda s: s.sample(frac=1, random_state=1)):  # a Series is aligned
        given = fit(rj.logit("low ~ lwt + smoke", data, weights=change(data["w"]), offset=change(data["o"])))
        pd.testing.assert_frame_equal(given.models, named.models)
    without = fit(rj.logit("low ~ lwt + smoke", data, weights="w"))
    assert np.abs(without.params - named.params).max() > 1e-3


def test_grouped_rows_change_nothing(births):
    """Equal rows as one with their number as weight, and proportions: the posterior stays."""
    data = births[["low", "race", "smoke", "ht"]].astype({"race": str})
    groups = data.groupby(["race", "smoke", "ht"])["low"].agg(["mean", "size"]).reset_index()
    assert len(groups) < 12
    single = fit(rj.logit("low ~ race + smoke + ht", data))
    grouped = fit(rj.logit("mean ~ race + smoke + ht", groups, weights="size"))
    ours = single.models.drop(columns="deviance")
    # The same random numbers: rounding, and what is left of Newton's steps. The saturated model differs.
    pd.testing.assert_frame_equal(grouped.models.drop(columns="deviance"), ours, rtol=1e-6, check_exact=False)
    gap = single.models["deviance"] - grouped.models["deviance"]
    np.testing.assert_allclose(gap, gap.iloc[0], atol=1e-6)


def test_missing_rows_are_dropped_counted_and_said(births):
    data = births.copy()
    data.loc[data.index[[0, 5]], "age"] = np.nan
    data.loc[data.index[5], "lwt"] = np.nan
    data["unused"] = np.nan
    with pytest.warns(rj.MissingDataWarning, match=r"2 of 189 rows .*\(age: 2, lwt: 1\)") as caught:
        model = rj.logit("low ~ age + lwt", data)
    assert caught[0].filename == __file__
    assert model.nobs == 187
    complete = fit(rj.logit("low ~ age + lwt", births.drop(index=births.index[[0, 5]])))
    results = fit(model)
    pd.testing.assert_frame_equal(results.models, complete.models)
    assert "187 (2 dropped)" in str(results.summary())
    assert list(results.predict().index) == list(births.index.drop(births.index[[0, 5]]))


# --- elsewhere --------------------------------------------------------------------------------------


def test_pickled_results_are_the_same(results, births):
    results.predict(births, which="hpm")  # compiled scratch space exists now
    again = pickle.loads(pickle.dumps(results))
    assert str(again.summary()) == str(results.summary())
    for which in ("bma", "hpm", "mpm"):
        pd.testing.assert_series_equal(again.predict(births, which), results.predict(births, which))
    pd.testing.assert_frame_equal(copy.deepcopy(results).models, results.models)


def test_pickled_model_fits_the_same(model):
    again = pickle.loads(pickle.dumps(model))
    assert repr(again) == repr(model)
    for sampler in ("enumerate", "rjmcmc"):
        pd.testing.assert_frame_equal(
            fit(again, sampler=sampler, draws=50).inclusion, fit(model, sampler=sampler, draws=50).inclusion
        )


def test_worker_processes(model, enumerated):
    """Processes give what threads give."""
    walked = fit(model, sampler="rjmcmc", draws=50, chains=2)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        pd.testing.assert_frame_equal(fit(model).models, enumerated.models)
        other = fit(model, sampler="rjmcmc", draws=50, chains=2)
    np.testing.assert_array_equal(other.draws.coefficients, walked.draws.coefficients)


# --- the median probability model -------------------------------------------------------------------


def symmetric(effect, n=120):
    """Rows in which the columns a, b and c may change places: every permutation of every row is there."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(-effect(x)))).astype(int)
    rows = [pd.DataFrame(x[:, list(order)], columns=list("abc")) for order in permutations(range(3))]
    return pd.concat([frame.assign(y=y) for frame in rows], ignore_index=True)


def distance(results, terms):
    share = results.inclusion["posterior"]
    return sum((share[name] - (name in terms)) ** 2 for name in share.index)


def check_stand_in(results, reason):
    """The median model is refused with a reason, once a call, and the closest possible one stands in."""
    calls = {
        "best": lambda: results.best("mpm"),
        "predict": lambda: results.predict(which="mpm"),
        "get_prediction": lambda: results.get_prediction(which="mpm"),
    }
    for call in calls.values():
        with pytest.warns(rj.PyrjselWarning, match=reason) as caught:
            found = call()
        assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(rj.PyrjselWarning):
        found = results.best("mpm")
    possible = results.models[results.models["posterior"] > 0]
    assert found in set(possible["terms"])
    assert distance(results, found) == pytest.approx(min(distance(results, t) for t in possible["terms"]))
    text = " ".join(str(results.summary()).split())
    assert "The median probability model (" in text
    return found


@pytest.mark.parametrize("sampler", ["enumerate", "rjmcmc"])
def test_median_model_beyond_the_budget(sampler):
    """Any two of three terms fit the budget and share the posterior: each is in two models of three."""
    data = symmetric(lambda x: 0.5 * x.sum(axis=1))
    model = rj.logit("y ~ a + b + c", data, costs=dict.fromkeys("abc", 1.0), budget=2)
    results = fit(model, sampler=sampler, draws=500)
    assert (results.inclusion["posterior"] > 0.55).all()
    found = check_stand_in(results, r"\(a, b, c\) is not allowed: it costs 3, and the budget is 2")
    assert len(found) == 2


def test_median_model_against_heredity():
    """The interaction is in every model that matters, and each of its three parents in a third of them."""
    data = symmetric(lambda x: 2 * x.prod(axis=1))
    results = fit(rj.logit("y ~ a + b + c + a:b:c", data, heredity="weak"))
    assert results.inclusion.loc["a:b:c", "posterior"] > 0.99
    assert (results.inclusion.loc[["a", "b", "c"], "posterior"] < 0.45).all()
    found = check_stand_in(results, r"\(a:b:c\) is not allowed: weak heredity asks for one of a, b, c")
    assert len(found) == 2


def test_median_model_with_dependent_columns():
    """Any two of three dependent columns make the same model: all three have no g-prior."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    frame["y"] = (rng.random(200) < 1 / (1 + np.exp(-2 * frame["a"] + 2 * frame["b"]))).astype(int)
    with pytest.warns(rj.RankWarning):
        model = rj.logit("y ~ a + b + c", frame.assign(c=2 * frame["a"] + frame["b"]))
    results = fit(model)
    assert (results.inclusion["posterior"] > 0.6).all()
    found = check_stand_in(results, r"\(a, b, c\) is not allowed: its columns are linearly dependent")
    assert len(found) == 2


# --- where warnings point -----------------------------------------------------------------------------


def test_warnings_point_to_the_line_of_the_user(births):
    data = births.assign(twice=2 * births["age"])
    data.loc[data.index[0], "age"] = np.nan
    for call in (
        lambda: rj.logit("low ~ age + twice", data),
        lambda: rj.LogitSelection.from_formula("low ~ age + twice", data),
        lambda: rj.LogitSelection(data["low"], data[["age", "twice"]]),
    ):
        with pytest.warns((rj.RankWarning, rj.MissingDataWarning)) as caught:
            call()
        assert {warning.category for warning in caught} == {rj.RankWarning, rj.MissingDataWarning}
        assert [warning.filename for warning in caught] == [__file__] * 2
        assert {warning.lineno for warning in caught} == {call.__code__.co_firstlineno}


def test_convergence_warning_points_to_the_line_of_the_user(model):
    """Chains that start apart and are not run for long disagree."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(20):
            model.fit(sampler="rjmcmc", draws=12, burn_in=0, rng=seed, progress=False)
    assert {warning.category for warning in caught} == {rj.ConvergenceWarning}
    assert {warning.filename for warning in caught} == {__file__}
    assert all(str(warning.message).startswith("Chains disagree on ") for warning in caught)
