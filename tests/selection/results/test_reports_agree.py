"""What the results say in one place agrees with what they say in another, and with other software."""

import numpy as np
import pytest
import statsmodels.api as sm
from selection_cases import COEFFICIENT_PRIORS, load
from selection_checks import (
    Scenario,
    build,
    coefficient_prior,
    far_away,
    fit,
    model_names,
    probabilities,
)
from selection_oracle import coordinates, log_joint, log_model_prior, mean

import pyrjsel as rj
from pyrjsel.report import indicator_stats

COSTS = {"stage": 2.0, "age": 1.0, "bp": 1.5, "smoke": 1.0}
SCENARIOS = [
    Scenario("ward", "4n joint", ("betabinomial", 1.0, 1.0), {"costs": COSTS, "budget": 3.0}),
    Scenario("ward", "raw", ("bernoulli", 0.4), {"heredity": "strong"}),
    Scenario("ward offset", "n joint", ("uniform",), {"always": ("age",)}),
    Scenario("cells", "standard", ("poisson", 1.5)),
    Scenario("visits offset", "n joint", ("betabinomial", 1.0, 1.0)),
    Scenario("sheets", "standard", ("uniform",), {"heredity": "weak"}),
]
SAMPLERS = ["enumerate", "rjmcmc"]
BOTH = [(scenario, sampler) for scenario in SCENARIOS for sampler in SAMPLERS]
IDS = [f"{scenario}-{sampler}" for scenario, sampler in BOTH]


@pytest.fixture(scope="module")
def fitted():
    known = {}

    def get(scenario, sampler):
        key = (str(scenario), sampler)
        if key not in known:
            known[key] = fit(build(scenario), sampler=sampler, draws=3000, rng=41)
        return known[key]

    return get


@pytest.mark.parametrize(("scenario", "sampler"), BOTH, ids=IDS)
def test_inclusion_is_the_sum_over_models(fitted, scenario, sampler):
    results = fitted(scenario, sampler)
    models = results.models
    assert models["posterior"].is_monotonic_decreasing
    assert models.index.tolist() == [*range(1, len(models) + 1)]
    assert results.covered == pytest.approx(models["posterior"].sum(), abs=1e-12)
    for name, row in results.inclusion.iterrows():
        share = sum(p for p, terms in zip(models["posterior"], models["terms"], strict=True) if name in terms)
        # All models are in the table: the same numbers, added up in another order.
        assert row["posterior"] == pytest.approx(share, abs=1e-10)
        if 0 < row["prior"] < 1:
            odds = row["posterior"] / (1 - row["posterior"]) / (row["prior"] / (1 - row["prior"]))
            assert row["bayes_factor"] == pytest.approx(odds, rel=1e-9)


@pytest.mark.parametrize(("scenario", "sampler"), BOTH, ids=IDS)
def test_odds_are_ratios_of_probabilities(fitted, scenario, sampler):
    models = fitted(scenario, sampler).models
    assert models["odds"].iloc[0] == 1.0
    assert models["odds_mcse"].iloc[0] == 0.0
    assert np.allclose(models["odds"], models["posterior"].iloc[0] / models["posterior"], rtol=1e-9)


def test_enumerated_odds_are_marginal_likelihoods_times_priors(fitted):
    for scenario in SCENARIOS:
        results, problem = fitted(scenario, "enumerate"), load(scenario.problem)[0]
        always = scenario.constraints.get("always", ())
        names = model_names(results, scenario.problem)
        log_prior = np.array(
            [
                log_model_prior(problem, m, scenario.models, always, scenario.constraints.get("heredity"))
                for m in names
            ]
        )
        mass = results.models["log_marginal"].to_numpy() + log_prior
        assert np.allclose(np.exp(mass[0] - mass), results.models["odds"], rtol=1e-9)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_log_marginal_likelihoods_of_visited_models_are_those_of_enumeration(fitted, scenario):
    """Integrated after the fact, one model at a time: the two runs differ by integration errors."""
    exact = probabilities(fitted(scenario, "enumerate"), scenario.problem, "log_marginal")
    found = probabilities(fitted(scenario, "rjmcmc"), scenario.problem, "log_marginal")
    visited = found != 0
    # 64 pairs of draws leave up to a few percent in models of seven columns and 48 rows.
    assert np.abs(found - exact)[visited].max() < 0.2
    assert np.median(np.abs(found - exact)[visited]) < 0.03


@pytest.mark.parametrize(("scenario", "sampler"), BOTH, ids=IDS)
def test_deviances_are_those_of_maximum_likelihood(fitted, scenario, sampler):
    results, problem = fitted(scenario, sampler), load(scenario.problem)[0]
    names = model_names(results, scenario.problem)[:12]
    for name, deviance in zip(names, results.models["deviance"], strict=False):
        columns = [problem.terms[j].columns for j in problem.inside(name)]
        X = np.column_stack([np.ones(problem.y.size), *columns])
        family = {"binomial": sm.families.Binomial, "poisson": sm.families.Poisson}[problem.family]()
        glm = sm.GLM(problem.y, X, family=family, offset=problem.o, freq_weights=problem.w).fit(tol=1e-12)
        # Maximum likelihood stops within 1e-9 of the largest log-likelihood.
        assert deviance == pytest.approx(glm.deviance, abs=1e-6)


@pytest.mark.parametrize(("scenario", "sampler"), BOTH, ids=IDS)
def test_best_models(fitted, scenario, sampler):
    results = fitted(scenario, sampler)
    assert results.best() == results.models["terms"].iloc[0]
    median = tuple(results.inclusion.index[results.inclusion["posterior"] >= 0.5])
    if results.model.space.why_infeasible([int(name in median) for name in results.model.term_names]) is None:
        assert results.best("mpm") == median
    else:
        with pytest.warns(rj.PyrjselWarning, match="not feasible"):
            nearest = results.best("mpm")
        assert nearest in set(results.models["terms"])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_tables_are_averages_of_the_draws(fitted, scenario):
    results = fitted(scenario, "rjmcmc")
    draws = results.draws
    included, b = draws.included, draws.coefficients
    assert np.allclose(included.mean(axis=(0, 1)), results.inclusion["posterior"], atol=1e-12)
    assert np.array_equal(draws.size, included.sum(axis=2))
    if results.model._priced:
        prices = results.models.set_index("terms")["cost"]
        best = tuple(np.array(results.model.term_names)[included[0, 0]])
        assert draws.cost[0, 0] == prices[best]
    # A coefficient is 0 exactly where its term is out.
    columns = results.coefficients
    starts = results.model.regression.term_start - 1
    for j in range(len(results.model.term_names)):
        inside = b[:, :, 1 + starts[j] : 1 + starts[j + 1]] != 0
        assert np.array_equal(inside.all(axis=2), included[:, :, j])
        assert np.array_equal(inside.any(axis=2), included[:, :, j])
    inside = b != 0
    # Sums over 12,000 draws in another order.
    assert np.allclose(b.mean(axis=(0, 1)), columns["mean"], rtol=1e-9, atol=1e-12)
    assert np.allclose(b.std(axis=(0, 1)), columns["sd"], rtol=1e-6)
    assert np.allclose((b > 0).mean(axis=(0, 1)), columns["prob_positive"], atol=1e-12)
    assert np.allclose(
        b.sum(axis=(0, 1)) / inside.sum(axis=(0, 1)), columns["mean_included"], rtol=1e-9, atol=1e-12
    )
    assert np.array_equal(results.params, columns["mean"])
    assert np.array_equal(results.bse, columns["sd"])
    stats = indicator_stats(draws.model, draws.models)
    moving = results.inclusion["prior"].to_numpy() < 1
    assert np.allclose(stats.mcse[moving], results.inclusion["mcse"][moving])
    assert np.allclose(stats.ess[moving], results.inclusion["ess"][moving])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_recorded_log_posteriors_are_the_density_at_the_draws(fitted, scenario):
    """Likelihood, coefficient prior, model prior and Jacobian of every twentieth draw, by the oracle.

    Up to one constant for all of them: that of the prior over models.
    """
    results, problem = fitted(scenario, "rjmcmc"), load(scenario.problem)[0]
    draws = results.draws
    always = scenario.constraints.get("always", ())
    prior = {m: coordinates(problem, m, COEFFICIENT_PRIORS[scenario.coefficients]) for m in problem.models}
    gaps = []
    for chain in range(4):
        for k in range(0, 3000, 20):
            m = "".join(str(digit) for digit in draws.models[draws.model[chain, k]])
            at = prior[m]
            beta = draws.coefficients[chain, k, problem.places(m)]
            c = np.linalg.solve(at.A, beta)
            value = log_joint(problem, at, c[None])[0] - np.linalg.slogdet(at.A)[1]
            value += log_model_prior(
                problem, m, scenario.models, always, scenario.constraints.get("heredity")
            )
            gaps.append(draws.log_posterior[chain, k] - value)
    # Sums over at most 48 rows of numbers near 1, on two scales of the columns.
    assert np.ptp(gaps) < 1e-8


@pytest.mark.parametrize(("scenario", "sampler"), BOTH, ids=IDS)
def test_predictions_are_averages_over_coefficients(fitted, scenario, sampler):
    results = fitted(scenario, sampler)
    prediction = results.get_prediction()
    frame = prediction.summary_frame(alpha=0.1)
    data = results.model.data
    eta = data.X @ prediction.coefficients[:, 1:].T + prediction.coefficients[:, 0]
    p = mean(load(scenario.problem)[0], eta + results.model.regression.offset[:, None])
    assert np.allclose(frame["mean"], p.mean(axis=1), rtol=1e-12)
    assert np.allclose(frame["mean_se"], p.std(axis=1, ddof=1), rtol=1e-9)
    assert np.allclose(frame["mean_ci_lower"], np.quantile(p, 0.05, axis=1), rtol=1e-12)
    assert np.allclose(frame["mean_ci_upper"], np.quantile(p, 0.95, axis=1), rtol=1e-12)
    # A posterior with an unpenalised or weakly penalised intercept predicts as many events as
    # there were: the mean of the predictions lies near that of the response.
    w = np.ones(data.y.size) if results.model.regression.weights is None else results.model.regression.weights
    assert abs(np.average(frame["mean"], weights=w) - np.average(data.y, weights=w)) < 0.03
    alone = results.predict(which="hpm")
    assert not np.allclose(alone, frame["mean"], atol=1e-3)


def test_predictions_of_single_models_are_those_of_a_space_of_that_model():
    scenario = SCENARIOS[1]
    case = load("ward")[1]
    results = fit(build(scenario), sampler="enumerate", rng=1)
    best = results.best()
    alone = rj.logit(
        case.formula, case.frame, coef_prior=coefficient_prior("raw"), always=best, max_size=len(best)
    )
    only = fit(alone, sampler="enumerate", pairs=2000, rng=2)
    first, second = results.predict(case.new, which="hpm"), only.predict(case.new)
    sd = only.get_prediction(case.new).summary_frame()["mean_se"]
    # Twice 4,000 draws: a difference of 0.022 sd is one standard error; five of them.
    assert np.all(np.abs(first - second) < 0.11 * sd)


@pytest.mark.parametrize(("scenario", "sampler"), BOTH, ids=IDS)
def test_the_summary_prints_the_tables(fitted, scenario, sampler):
    results = fitted(scenario, sampler)
    text = str(results.summary(top=3))
    for name in results.model.term_names:
        assert name in text
    assert sampler in text
    best = results.models.iloc[0]
    assert f"{best['deviance']:.2f}" in text
    row = next(line for line in text.splitlines() if line.startswith("1 "))
    # As many digits as the Monte Carlo error leaves.
    assert any(f"{best['posterior']:.{digits}f}" in row for digits in (2, 3, 4))
    assert all(name in row for name in best["terms"])


def test_both_samplers_agree_on_real_data():
    """Low birth weight: seven terms, 189 rows; Holm at level 1e-6 over inclusion and coefficients."""
    births = rj.datasets.birthwt().data
    model = rj.logit("low ~ age + lwt + C(race) + smoke + ht + ui + ptl", births)
    exact = fit(model, sampler="enumerate", pairs=500, rng=1)
    walked = fit(model, sampler="rjmcmc", draws=5000, rng=1)
    table = walked.inclusion
    # The integration error of the enumeration is below 5e-4.
    assert exact.inclusion["mcse"].max() < 5e-4
    error = np.hypot(table["mcse"], 5e-4)
    assert far_away(table["posterior"], exact.inclusion["posterior"], error, list(table.index)) == {}
    assert np.array_equal(exact.inclusion["prior"], table["prior"])
    # Odds of the model that was visited most against the others of some mass.
    true = exact.models.set_index("terms")["posterior"]
    some = walked.models.iloc[1:][walked.models["posterior"].iloc[1:] >= 0.02]
    odds = true[[walked.best()] * len(some)].to_numpy() / true[list(some["terms"])].to_numpy()
    assert len(some) >= 5
    names = [str(terms) for terms in some["terms"]]
    # On the log scale, where the error of an odds is nearest to normal.
    assert far_away(np.log(some["odds"]), np.log(odds), some["odds_mcse"] / some["odds"], names) == {}
