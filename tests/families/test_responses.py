"""Simulated responses, log densities with their constants, and statistics of responses, by family."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

import pyrjsel as rj
from pyrjsel._errors import DataError
from pyrjsel.families import Binomial, Gaussian, Poisson
from pyrjsel.families.statistics import (
    average,
    brier,
    calibration,
    deviation,
    dispersion_index,
    groups,
    largest,
    pearson,
    share_of_zeros,
    skewness,
    smallest,
)

ETA = np.linspace(-3, 2, 12).reshape(4, 3)
TRIALS = np.array([1.0, 3.0, 10.0, 200.0])


def chi_square(counts, probabilities):
    """The p-value of counts under a law; cells of few expected counts are pooled with the last."""
    expected = probabilities * counts.sum()
    few = expected < 10
    seen = np.append(counts[~few], counts[few].sum())
    wanted = np.append(expected[~few], expected[few].sum())
    keep = wanted > 0
    return stats.chisquare(seen[keep], wanted[keep] * seen.sum() / wanted[keep].sum()).pvalue


# --- densities --------------------------------------------------------------------------------------


def test_density_of_trials_is_that_of_the_number_of_successes():
    k = np.array([1.0, 0.0, 4.0, 150.0])
    found = Binomial().log_density(k / TRIALS, ETA, TRIALS, {})
    np.testing.assert_allclose(found, stats.binom.logpmf(k[:, None], TRIALS[:, None], expit(ETA)), rtol=1e-11)


def test_density_of_counts_is_that_of_their_sum():
    k = np.array([0.0, 2.0, 31.0, 90.0])
    found = Poisson().log_density(k / TRIALS, ETA, TRIALS, {})
    wanted = stats.poisson.logpmf(k[:, None], TRIALS[:, None] * np.exp(ETA))
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_density_of_numbers_is_normal():
    """Error variances belong to columns, weights to rows; without variances these are 1."""
    y, variance = np.array([0.3, -2.0, 1e3, 0.0]), np.array([0.01, 1.0, 25.0])
    scale = np.sqrt(variance / TRIALS[:, None])
    found = Gaussian().log_density(y, ETA, TRIALS, {"variance": variance})
    np.testing.assert_allclose(found, stats.norm.logpdf(y[:, None], ETA, scale), rtol=1e-12)
    found = Gaussian().log_density(y, ETA, TRIALS, {})
    wanted = stats.norm.logpdf(y[:, None], ETA, 1 / np.sqrt(TRIALS[:, None]))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("family", [Binomial(), Gaussian(), Poisson()], ids=lambda family: family.name)
def test_densities_and_likelihoods_differ_by_constants(family):
    y = np.array([1.0, 2.0 / 3.0, 0.3, 0.41])
    density = family.log_density(y, ETA, TRIALS, {}).sum(axis=0)
    likelihood = [family.log_likelihood(y, eta, TRIALS) for eta in ETA.T]
    np.testing.assert_allclose(density - likelihood, (density - likelihood)[0], rtol=1e-12)


def test_an_infinite_mean_has_density_zero():
    found = Poisson().log_density(np.array([3.0]), np.array([[800.0, 709.5, 1.0]]), np.array([2.0]), {})
    assert np.isneginf(found[0, :2]).all()
    assert found[0, 2] == pytest.approx(stats.poisson.logpmf(6, 2 * np.e))


# --- simulated responses ----------------------------------------------------------------------------


def test_simulated_trials():
    """Chi-square against the binomial law, false alarms 1e-6 a row, seed fixed."""
    p = np.array([0.1, 0.3, 0.55, 0.8])
    trials = np.array([1.0, 3.0, 10.0, 20.0])
    mean = np.repeat(p[:, None], 20_000, axis=1)
    found = Binomial().simulate(mean, trials, {}, np.random.default_rng(1)) * trials[:, None]
    np.testing.assert_allclose(found, np.round(found), atol=1e-12)  # k / w * w
    for row, (n, chance) in enumerate(zip(trials.astype(int), p, strict=True)):
        counts = np.bincount(np.round(found[row]).astype(int), minlength=n + 1)
        assert chi_square(counts, stats.binom.pmf(np.arange(n + 1), n, chance)) > 1e-6


def test_simulated_single_outcomes():
    """Trials of one are 0 or 1 as often as binomial ones; false alarms 1e-6 a row, seed fixed."""
    p = np.array([0.0, 0.1, 0.5, 0.97, 1.0])
    mean = np.repeat(p[:, None], 20_000, axis=1)
    found = Binomial().simulate(mean, np.ones(5), {}, np.random.default_rng(1))
    assert set(np.unique(found)) == {0.0, 1.0}
    gap = found.mean(axis=1) - p
    assert np.all(np.abs(gap) <= stats.norm.isf(5e-7) * np.sqrt(p * (1 - p) / 20_000))


def test_simulated_counts():
    """Chi-square against the Poisson law of the sum, false alarms 1e-6 a row, seed fixed."""
    mean = np.repeat(np.array([[0.2], [3.0], [7.5]]), 20_000, axis=1)
    weights = np.array([1.0, 1.0, 4.0])
    found = Poisson().simulate(mean, weights, {}, np.random.default_rng(2)) * weights[:, None]
    for row, rate in enumerate([0.2, 3.0, 30.0]):
        counts = np.bincount(found[row].astype(int), minlength=100)
        assert chi_square(counts, stats.poisson.pmf(np.arange(counts.size), rate)) > 1e-6


def test_simulated_numbers():
    """Kolmogorov-Smirnov against normal laws, false alarms 1e-6 a cell, seed fixed."""
    variance, weights = np.array([0.25, 4.0]), np.array([1.0, 16.0])
    mean = np.array([[0.0, 3.0], [-1.0, 1e3]])
    found = Gaussian().simulate(
        np.repeat(mean, 20_000, axis=1),
        weights,
        {"variance": np.repeat(variance, 20_000)},
        np.random.default_rng(5),
    )
    for row, column in np.ndindex(2, 2):
        law = stats.norm(mean[row, column], np.sqrt(variance[column] / weights[row]))
        drawn = found[row, 20_000 * column : 20_000 * (column + 1)]
        assert stats.kstest(drawn, law.cdf).pvalue > 1e-6
    plain = Gaussian().simulate(np.zeros((1, 20_000)), np.array([4.0]), {}, np.random.default_rng(6))
    assert stats.kstest(plain[0], stats.norm(0, 0.5).cdf).pvalue > 1e-6


def test_counts_beyond_whole_floats():
    mean = np.array([[1e17, 1e200, np.inf, 1e308, 5.0]])
    found = Poisson().simulate(mean, np.array([4.0]), {}, np.random.default_rng(3))[0]
    assert abs(found[0] - 1e17) < 10 * np.sqrt(1e17)
    assert found[0] != 1e17
    assert found[1] == pytest.approx(1e200)
    assert np.isinf(found[2:4]).all()
    assert found[4] < 50


def test_trials_must_be_whole_to_be_simulated():
    with pytest.raises(DataError, match=r"whole numbers of trials.*Got 2.5 \(1 weight"):
        Binomial().simulate(np.full((2, 1), 0.5), np.array([2.0, 2.5]), {}, np.random.default_rng(1))


# --- statistics -------------------------------------------------------------------------------------

Y = np.array([0.0, 1.0, 3.0, 0.0, 6.0])
ONES = np.ones(5)


def test_statistics_of_counts():
    assert average(Y, Y, ONES) == 2.0
    assert dispersion_index(Y, Y, ONES) == pytest.approx(np.var(Y, ddof=1) / 2.0)
    assert share_of_zeros(Y, Y, ONES) == 0.4
    assert largest(Y, Y, ONES) == 6.0


def test_statistics_of_numbers():
    assert deviation(Y, Y, ONES) == pytest.approx(np.std(Y))
    assert skewness(Y, Y, ONES) == pytest.approx(stats.skew(Y))
    assert smallest(-Y, Y, ONES) == -6.0
    # Weights that are whole numbers count rows.
    times = np.array([1, 3, 2, 1, 4])
    assert deviation(Y, Y, times.astype(float)) == pytest.approx(np.std(np.repeat(Y, times)))
    assert skewness(Y, Y, times.astype(float)) == pytest.approx(stats.skew(np.repeat(Y, times)))


@pytest.mark.parametrize("y", [np.full(3, 0.1), np.array([7.0])])
def test_responses_that_are_all_the_same_are_not_skewed(y):
    assert skewness(y, y, np.full(y.size, 0.3)) == 0
    assert deviation(y, y, np.full(y.size, 0.3)) == pytest.approx(0, abs=1e-15)


def test_mean_counts_have_the_dispersion_of_counts():
    """Means of w counts vary by 1/w of what counts do: the index is 1 in the long run all the same."""
    rng = np.random.default_rng(4)
    weights = rng.integers(1, 30, 20_000).astype(float)
    y = rng.poisson(2.5 * weights) / weights
    # The index has standard deviation sqrt(2 / n) = 0.01 and a little more for small weights.
    assert dispersion_index(y, y, weights) == pytest.approx(1.0, abs=0.06)
    assert dispersion_index(y, y, np.ones(20_000)) < 0.5


@pytest.mark.parametrize("y", [np.zeros(4), np.array([0.0, 0.0, 1.0, 0.0]), np.array([7.0])])
def test_dispersion_where_there_is_next_to_nothing(y):
    assert dispersion_index(y, y, np.ones(y.size)) == pytest.approx(1.0)


def test_brier_score_of_trials_is_that_of_single_outcomes():
    p = np.array([0.2, 0.7])
    trials = np.array([5.0, 2.0])
    y = np.array([0.4, 0.5])
    outcomes = np.array([1, 1, 0, 0, 0, 1, 0])
    wanted = np.mean((outcomes - np.repeat(p, [5, 2])) ** 2)
    assert brier(y, p, trials) == pytest.approx(wanted)
    assert Binomial().error(y, p, trials) == pytest.approx(wanted)
    assert Poisson().error(y, p, trials) == pytest.approx(np.sqrt((5 * 0.2**2 + 2 * 0.2**2) / 7))


def test_calibration_in_ten_equal_groups():
    rng = np.random.default_rng(5)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(float)
    groups = np.array_split(np.argsort(p), 10)
    wanted = sum((y[g] - p[g]).sum() ** 2 / (p[g] * (1 - p[g])).sum() for g in groups)
    assert calibration(y, p, np.ones(200)) == pytest.approx(wanted)


def by_sorting(mean, weights):
    """Groups of calibration, from the ranks of all observations."""
    _, place = np.unique(mean, return_inverse=True)
    tied = np.bincount(place, weights)
    return np.floor(10 * (np.cumsum(tied) - 0.5 * tied) / weights.sum()).astype(int)[place]


def test_groups_are_those_of_sorted_observations():
    """Of evenly spread, crowded and tied probabilities, and weights of one or whole numbers, exactly."""
    rng = np.random.default_rng(3)
    for k in range(300):
        n = int(rng.integers(1, 300))
        mean = rng.random(n) ** (1, 30)[k % 2] * (1, 1e-3, 1e-300)[k % 3]
        mean = np.round(mean, k % 4) if k % 5 == 0 else mean
        weights = np.ones(n) if k % 7 < 4 else rng.integers(1, 9, n).astype(float)
        np.testing.assert_array_equal(groups(mean, weights), by_sorting(mean, weights))


def test_calibration_does_not_know_the_order_of_rows():
    """Rows of equal probability are in one group: sorted responses are no lack of fit."""
    y = np.repeat([0.0, 1.0], 50)
    assert calibration(y, np.full(100, 0.5), np.ones(100)) == 0.0
    p = np.repeat([0.2, 0.6, 0.7], [40, 40, 20])
    order = np.random.default_rng(6).permutation(100)
    assert calibration(y, p, np.ones(100)) == pytest.approx(calibration(y[order], p[order], np.ones(100)))


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(7)
    p, trials = rng.random(30), rng.integers(1, 6, 30)
    successes = rng.binomial(trials, p)
    y = successes / trials
    single = np.concatenate([np.arange(n) < k for k, n in zip(successes, trials, strict=True)]).astype(float)
    spread, ones = np.repeat(p, trials), np.ones(trials.sum())
    for statistic in (average, brier, calibration):
        grouped = statistic(y, p, trials.astype(float))
        assert grouped == pytest.approx(statistic(single, spread, ones)), statistic.__name__


def test_pearson():
    p, trials = np.array([0.2, 0.5]), np.array([10.0, 4.0])
    y = np.array([0.4, 0.25])
    assert pearson(y, p, trials) == pytest.approx((2**2 / 1.6 + 1**2 / 1.0) / 2)


def test_probabilities_that_round_to_one():
    p, y = np.array([1.0, 1.0, 0.5]), np.array([1.0, 1.0, 0.0])
    assert np.isfinite(calibration(y, p, np.ones(3)))
    assert pearson(y, p, np.full(3, 2.0)) == pytest.approx((1.0 / 0.5) / 3)


def test_families_choose():
    assert list(Binomial().statistics(np.ones(3))) == ["mean", "brier", "calibration"]
    assert list(Binomial().statistics(np.array([1.0, 2.0]))) == ["mean", "brier", "calibration", "pearson"]
    assert list(Poisson().statistics(np.ones(3))) == ["mean", "dispersion_index", "zeros", "max"]


@pytest.mark.parametrize("family", [rj.logit, rj.probit, rj.cloglog, rj.poisson, rj.negbin])
def test_means_of_counts_are_counts(family):
    """One rule for proportions and mean counts: whole numbers of the trials or rows, if these are whole."""
    rows = pd.DataFrame({"x": [0.0, 1, 2, 3, 4], "y": [0.5, 1, 0.25, 1 / 3, 0], "n": [2, 5, 8, 3, 4]})
    chunks = [rows[:3], rows[3:]]
    for data in (rows, chunks):
        family("y ~ x", data, weights="n")
    if family not in (rj.poisson, rj.negbin):  # a weight that is not whole is no number of trials
        family("y ~ x", rows.assign(n=rows["n"] + 0.5), weights="n")
    family("y ~ x", rows.assign(y=rows["y"].astype(np.float32)), weights="n")
    odd = rows.assign(y=[0.5, 1, 0.25, 0.33, 0])
    for data in (odd, [odd[:3], odd[3:]]):
        with pytest.raises(rj.DataError, match=r"'y' must be .*whole number.*weights=.* Got 0.33.*like this"):
            family("y ~ x", data, weights="n")
