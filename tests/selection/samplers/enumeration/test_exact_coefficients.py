"""Model-averaged coefficients and predictions of both samplers against numerical integration.

Reversible jumps: every quantity is the mean of something over the draws, compared in units of its error
by batch means (Holm, level 1e-6 a test). Enumeration: bounds from the number of importance draws.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit
from selection_cases import AVERAGED, averaged, load, table
from selection_checks import CHAINS, FACTOR, LEVEL, Scenario, batch_error, build, far_away, fit
from selection_oracle import Table, mean
from turns import every

COSTS = {"stage": 2.0, "age": 1.0, "bp": 1.5, "smoke": 1.0}
SCENARIOS = [
    Scenario(*AVERAGED),
    Scenario("ward", "g joint", ("betabinomial", 1.0, 1.0), {"heredity": "strong"}),
    Scenario("ward", "n flat", ("poisson", 1.5), {"max_size": 3}),
    Scenario("ward", "n normal", ("uniform",), {"always": ("age",)}),
    Scenario("ward", "raw", ("uniform",), {"costs": COSTS, "budget": 3.0}),
    Scenario("ward", "raw flat", ("bernoulli", 0.5)),
    Scenario("ward", "standard", ("uniform",), {"heredity": "weak"}),
    Scenario("ward", "standard shifted"),
    Scenario("ward offset", "n joint"),
    Scenario("ward offset", "raw", ("betabinomial", 1.0, 1.0)),
    Scenario("cells", "standard", ("uniform",), {"heredity": "strong"}),
    Scenario("wall", "wide"),
    Scenario("wall", "4n joint"),
    Scenario("visits", "4n joint", ("betabinomial", 1.0, 1.0)),
    Scenario("visits", "raw", ("uniform",), {"heredity": "strong"}),
    Scenario("visits offset", "n joint"),
    Scenario("sheets", "standard"),
    Scenario("drought", "wide"),
]
WITH_NEW_ROWS = [scenario for scenario in SCENARIOS if load(scenario.problem)[0].new]


class Truth:
    """The oracle's model-averaged coefficients, in the order of the design's columns."""

    def __init__(self, scenario):
        problem = load(scenario.problem)[0]
        found, weight = table(scenario.problem, scenario.coefficients), scenario.posterior()
        self.names = list(problem.column_names)
        inside = np.array([[k in problem.places(m) for k in range(len(self.names))] for m in problem.models])
        self.inside = weight @ inside
        self.first = Table.average(weight, found.first)
        self.second = Table.average(weight, found.second)
        self.positive = Table.average(weight, found.positive)
        self.sd = np.sqrt(self.second - self.first**2)
        self.mean_included = self.first / self.inside
        self.sd_included = np.sqrt(self.second / self.inside - self.mean_included**2)
        self.mean, self.square = Table.average(weight, found.mean), Table.average(weight, found.square)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_enumeration_averages_coefficients(scenario):
    truth = Truth(scenario)
    found = fit(build(scenario), sampler="enumerate", pairs=2000, rng=1).coefficients.loc[truth.names]
    # 4,000 draws a model know a mean to sd / sqrt(4000) = 0.016 sd, and an average over models no worse;
    # the model probabilities add up to 0.003 of a mean. Separated models under the wide prior have
    # weights that vary: a fifth as many draws count. Four to five times that error is allowed.
    loose = 3.0 if scenario.coefficients == "wide" else 1.0
    assert np.all(np.abs(found["mean"] - truth.first) < loose * 0.07 * truth.sd)
    assert np.all(np.abs(found["sd"] / truth.sd - 1) < loose * 0.07)
    assert np.all(np.abs(found["prob_positive"] - truth.positive) < loose * 0.02)
    assert np.all(np.abs(found["mean_included"] - truth.mean_included) < loose * 0.07 * truth.sd_included)
    assert np.all(np.abs(found["sd_included"] / truth.sd_included - 1) < loose * 0.07)


def sampled_faults(results, scenario):
    """Return the moments of coefficients that the draws miss by more than their errors."""
    truth = Truth(scenario)
    order = [list(results.params.index).index(name) for name in truth.names]
    b = results.draws.coefficients[:, :, order]
    inside = b != 0
    quantities = {
        "mean": (b, truth.first),
        "square": (b**2, truth.second),
        "positive": (b > 0, truth.positive),
        # What is left of a coefficient in its models after the mean given inclusion has mean zero.
        "mean_included": (b - truth.mean_included * inside, np.zeros(b.shape[2])),
    }
    problem = load(scenario.problem)[0]
    if problem.new:
        X = np.column_stack([np.ones(len(problem.new_offset)), *problem.new])
        p = mean(problem, problem.new_offset + b @ X.T)
        quantities |= {"p": (p, truth.mean), "p square": (p**2, truth.square)}
    estimates, exact, errors, names = [], [], [], []
    for name, (values, right) in quantities.items():
        estimates.append(values.mean(axis=(0, 1)))
        exact.append(right)
        # The oracle's own errors are below 1e-3 of a standard deviation.
        error = FACTOR * batch_error(values.astype(float))
        errors.append(np.hypot(error, 1e-3 * values.std(axis=(0, 1))))
        names += [f"{name} {k}" for k in range(right.size)]
    estimates, exact, errors = (np.concatenate(part) for part in (estimates, exact, errors))
    # A sign of which next to all draws agree has no normal error.
    known = [
        not name.startswith("positive") or 0.005 < x < 0.995 for name, x in zip(names, exact, strict=True)
    ]
    kept = [name for name, use in zip(names, known, strict=True) if use]
    return far_away(estimates[known], exact[known], errors[known], kept)


@pytest.mark.parametrize("scenario", every(2, SCENARIOS), ids=str)
def test_draws_average_coefficients_and_predictions(scenario):
    results = fit(build(scenario), sampler="rjmcmc", draws=4000, burn_in=500, rng=21)
    assert results.draws.coefficients_every == 1
    assert sampled_faults(results, scenario) == {}


@pytest.mark.statistical
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_long_runs_average_coefficients_and_predictions(scenario):
    """Ten times the draws; level 1e-6 each."""
    results = fit(build(scenario), sampler="rjmcmc", draws=40_000, rng=22)
    assert sampled_faults(results, scenario) == {}


@pytest.mark.parametrize("scenario", WITH_NEW_ROWS, ids=str)
def test_enumeration_averages_predictions(scenario):
    truth = Truth(scenario)
    results = fit(build(scenario), sampler="enumerate", pairs=1000, rng=1)
    found = results.get_prediction(load(scenario.problem)[1].new).summary_frame()
    sd = np.sqrt(truth.square - truth.mean**2)
    # Of 4,000 draws resampled from eight times as many: 1.1 sd / sqrt(4000) = 0.018 sd; five times that.
    assert np.all(np.abs(found["mean"] - truth.mean) < 0.09 * sd)
    # The spread of 4,000 draws of a bounded quantity is known to about 1.2 percent; five times that.
    assert np.all(np.abs(found["mean_se"] / sd - 1) < 0.06)
    predicted = results.predict(load(scenario.problem)[1].new)
    # Sums over draws in another order.
    np.testing.assert_allclose(predicted, found["mean"], rtol=1e-12)


# ---------------------------------------------------------------------- intervals


def distribution(kind, place, value):
    """Return the oracle's P(x < value) and P(x <= value) for a coefficient or a new row's predictor."""
    line = averaged()[kind][place]
    grid = line["start"] + line["step"] * np.arange(len(line["below"]))
    below = float(np.interp(value, grid, line["below"]))
    if kind == "predictors":
        return below, below
    out = 1.0 - line["below"][-1]
    return below + out * (value > 0), below + out * (value >= 0)


def is_quantile(kind, place, value, level, draws):
    """Whether `value` can be the quantile at `level` that `draws` independent draws suggest."""
    # The share of draws below the true quantile is off by at most this with probability LEVEL / 100; a
    # grid of 0.03 standard deviations moves the distribution function by less than 5e-4.
    slack = stats.norm.isf(LEVEL / 200) * np.sqrt(level * (1 - level) / draws) + 5e-4
    low, high = distribution(kind, place, value)
    return low - slack <= level <= high + slack


def least_ess(results, levels=(0.025, 0.1)):
    """Return the least effective sample size for tail shares of the coefficients."""
    b = results.draws.coefficients
    sizes = []
    for k in range(b.shape[2]):
        for level in (*levels, *(1 - level for level in levels)):
            below = (b[:, :, k] <= np.quantile(b[:, :, k], level)).astype(float)
            p = below.mean()
            if 0 < p < 1:
                sizes.append(p * (1 - p) / batch_error(below[:, :, None])[0] ** 2)
    return min(sizes)


@pytest.mark.parametrize("sampler", ["enumerate", "rjmcmc"])
def test_intervals_hold_the_probability_that_they_say(sampler):
    scenario = Scenario(*AVERAGED)
    options = {"draws": 8000} if sampler == "rjmcmc" else {"pairs": 1000}
    results = fit(build(scenario), sampler=sampler, rng=31, **options)
    # What intervals rest on: 4,000 resampled draws (from 8 times as many: 15 % more variance), or every
    # eighth of 32,000 draws that are not independent.
    draws = 4000 / 1.3 if sampler == "enumerate" else min(4000, least_ess(results)) / 1.5
    problem = load("ward")[0]
    for alpha in (0.05, 0.2, 0.5):
        interval = results.conf_int(alpha)
        for place, name in enumerate(problem.column_names):
            for side, level in enumerate((alpha / 2, 1 - alpha / 2)):
                value = interval.loc[name, side]
                assert is_quantile("coefficients", place, value, level, draws), (alpha, name, side)
    frame = results.get_prediction(load("ward")[1].new).summary_frame(alpha=0.1)
    for row in range(len(frame)):
        for side, level in (("mean_ci_lower", 0.05), ("mean_ci_upper", 0.95)):
            value = float(logit(frame[side].iloc[row]))
            assert is_quantile("predictors", row, value, level, draws), (row, side)
    table_of_95 = results.coefficients
    assert np.array_equal(table_of_95["ci_lower"], results.conf_int()[0])
    assert np.array_equal(table_of_95["ci_upper"], results.conf_int()[1])


def test_interval_of_a_new_observation():
    """A new 0/1 observation has 0 as its lower end unless failures are rarer than alpha / 2."""
    results = fit(build(Scenario(*AVERAGED)), sampler="enumerate", rng=1)
    frame = results.get_prediction(load("ward")[1].new).summary_frame(alpha=0.3)
    p = frame["mean"]
    assert frame["obs_ci_lower"].tolist() == [float(q > 0.85) for q in p]
    assert frame["obs_ci_upper"].tolist() == [float(q > 0.15) for q in p]


def test_the_thresholds_catch_wrong_coefficients():
    """The intercept's prior three times too narrow: no model's odds move much, its coefficients do."""
    scenario = Scenario("ward", "n normal", ("uniform",), {"always": ("age",)})
    model = copy.copy(build(scenario))
    prior = model.regression.prior
    precision, shift = prior.precision.copy(), prior.shift.copy()
    precision[0, 0] *= 9
    shift[0] *= 9
    model.regression = replace(model.regression, prior=replace(prior, precision=precision, shift=shift))
    results = fit(model, sampler="rjmcmc", draws=4000, burn_in=500, rng=21)
    assert results.draws.model.shape[0] == CHAINS
    faults = sampled_faults(results, scenario)
    assert any(name.endswith(" 0") for name in faults)


def test_the_quantile_check_has_teeth():
    """Intervals of 94 instead of 95 percent are refused with the draws of the test above."""
    results = fit(build(Scenario(*AVERAGED)), sampler="enumerate", pairs=1000, rng=31)
    interval = results.conf_int(0.08)
    names = load("ward")[0].column_names
    kept = [
        is_quantile("coefficients", k, interval.loc[name, side], level, 4000 / 1.3)
        for k, name in enumerate(names)
        for side, level in enumerate((0.025, 0.975))
    ]
    assert not all(kept)
