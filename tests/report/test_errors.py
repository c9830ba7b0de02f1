"""Monte Carlo errors against chains whose asymptotic variance is known."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import ndtri

from pyrjsel._errors import DataError
from pyrjsel.report import _batches, errors
from pyrjsel.report.errors import indicator_stats, model_stats, scalar_stats


def two_state(rng, up, down, shape):
    """Stationary 0/1 chains along the last axis; `up` is P(0 -> 1), `down` is P(1 -> 0)."""
    x = np.empty(shape, dtype=np.uint8)
    x[..., 0] = rng.random(shape[:-1]) < up / (up + down)
    u = rng.random(shape)
    for t in range(1, shape[-1]):
        x[..., t] = np.where(x[..., t - 1] == 1, u[..., t] >= down, u[..., t] < up)
    return x


def as_models(x):
    """Turn (chains, terms, draws) indicators into a table of models and indexes into it."""
    chains, terms, draws = x.shape
    rows = x.transpose(0, 2, 1).reshape(-1, terms)
    gamma, index = np.unique(rows, axis=0, return_inverse=True)
    return index.reshape(chains, draws), gamma


def plain_r_hat(halves):
    """Split R-hat from its definition, on (2 * chains, n) values."""
    n = halves.shape[1]
    within = np.mean([np.var(row, ddof=1) for row in halves])
    between = n * np.var([np.mean(row) for row in halves], ddof=1)
    return np.sqrt(((n - 1) / n * within + between / n) / within)


@pytest.mark.parametrize("draws", [4, 5, 9, 37, 100, 1013])
@pytest.mark.parametrize("chunk", [7, 2**16])
def test_indicators_against_the_definitions(draws, chunk, monkeypatch):
    monkeypatch.setattr(_batches, "CHUNK", chunk)
    monkeypatch.setattr(errors, "TERMS", 4 if chunk == 7 else 6)
    rng = np.random.default_rng(draws)
    x = two_state(rng, 0.3, 0.4, (3, 6, draws))
    stats = indicator_stats(*as_models(x))
    b = max(int(np.sqrt(draws)), draws // 30)
    a = draws // b
    half = draws // 2
    for j in range(6):
        values = x[:, j, :].astype(float)
        batches = values[:, draws - a * b :].reshape(3, a, b).mean(axis=2)
        within = (b * batches.var(axis=1, ddof=1)).mean() / draws
        assert stats.mean[j] == pytest.approx(values.mean(), rel=1e-13)  # rounding
        if not stats.disagree[j] and not stats.stuck[j]:
            assert stats.mcse[j] == pytest.approx(np.sqrt(within / 3), rel=1e-10)  # rounding
        if not stats.stuck[j]:
            halves = np.concatenate([values[:, :half], values[:, draws - half :]])
            # rounding
            assert stats.r_hat[j] == pytest.approx(plain_r_hat(halves), rel=1e-10, nan_ok=True)


@pytest.mark.parametrize(("up", "down"), [(0.25, 0.25), (0.1, 0.3), (0.5, 0.5), (0.8, 0.8)])
def test_indicator_errors_are_those_of_two_state_chains(up, down):
    chains, terms, draws = 4, 200, 4000
    x = two_state(np.random.default_rng(11), up, down, (chains, terms, draws))
    stats = indicator_stats(*as_models(x))
    p, rho = up / (up + down), 1 - up - down
    truth = p * (1 - p) * (1 + rho) / (1 - rho) / (chains * draws)
    # Batches of 63 miss 2 rho / (1 - rho^2) / 63 of the variance, at most 3 % here, and the mean of 200
    # estimates with 4 * 62 degrees of freedom has a relative sd of 0.64 %: 3 % + 4 sd.
    assert np.mean(stats.mcse**2) == pytest.approx(truth, rel=0.056)
    # ESS is the same statement in other words; as above, and 200 estimates of p(1-p).
    assert np.median(stats.ess) == pytest.approx(chains * draws * (1 - rho) / (1 + rho), rel=0.06)
    covered = np.mean(np.abs(stats.mean - p) < 1.96 * stats.mcse)
    # 200 trials of about 0.945: below 0.88 or above 0.99 in less than 1 of 1000 runs.
    assert 0.88 < covered < 0.99
    assert np.all(stats.r_hat < 1.02)
    # A false alarm of 1 in 1000 for all terms together; two come in less than 1 of a million runs.
    assert np.sum(stats.disagree) < 2


def test_model_errors_and_odds_cover_the_truth():
    # Independent draws from four models: multinomial frequencies, whose covariance is negative.
    p = np.array([0.4, 0.3, 0.2, 0.1])
    chains, draws, runs = 4, 1600, 300
    rng = np.random.default_rng(3)
    index = rng.choice(4, p=p, size=(runs, chains, draws))
    found = [model_stats(part, [0, 1, 3]) for part in index]
    mcse = np.array([stats.mcse for stats in found])
    want = p[[0, 1, 3]]
    # The mean of 300 estimates with 4 * 39 degrees of freedom has a relative sd of 0.65 %: 4 sd.
    np.testing.assert_allclose((mcse**2).mean(axis=0), want * (1 - want) / (chains * draws), rtol=0.026)
    relative = np.array([stats.odds_mcse / stats.odds for stats in found])[:, 1:]
    # var log(p1/pk) = 1/p1 + 1/pk for a multinomial; as above, and 1 % for terms beyond the first.
    np.testing.assert_allclose(
        (relative**2).mean(axis=0), (1 / p[0] + 1 / p[[1, 3]]) / (chains * draws), rtol=0.036
    )
    odds = np.array([stats.odds for stats in found])
    assert np.all(odds[:, 0] == 1)
    assert all(stats.odds_mcse[0] == 0 for stats in found)
    error = np.abs(odds[:, 1:] - p[0] / p[[1, 3]]) / np.array([stats.odds_mcse for stats in found])[:, 1:]
    covered = np.mean(error < 1.96, axis=0)
    # 300 trials of about 0.945: outside in less than 1 of 1000 runs.
    assert np.all((covered > 0.895) & (covered < 0.985))


@pytest.mark.parametrize("chunk", [5, 2**16])
def test_models_are_indicators_too(chunk, monkeypatch):
    monkeypatch.setattr(_batches, "CHUNK", chunk)
    index = np.random.default_rng(6).integers(0, 5, size=(3, 211)) * 3
    models = model_stats(index, [9, 0, 12])
    terms = indicator_stats(index // 3, np.eye(5, dtype=np.uint8)[:, [3, 0, 4]])
    np.testing.assert_allclose(models.probability, terms.mean, rtol=1e-14)  # rounding
    np.testing.assert_allclose(models.mcse, terms.mcse, rtol=1e-12)  # rounding


def test_model_stats_of_models_not_visited():
    stats = model_stats([[5, 5, 9, 5, 9, 9, 5, 5, 9, 5]], [5, 9, 1])
    np.testing.assert_allclose(stats.probability, [0.6, 0.4, 0.0], rtol=1e-15)  # rounding
    np.testing.assert_allclose(stats.odds, [1, 1.5, np.inf], rtol=1e-15)  # rounding
    assert np.isnan(stats.mcse[2])
    assert np.isnan(stats.odds_mcse[2])
    never = model_stats([[5, 5, 5, 5]], [1, 5])
    assert np.isnan(never.odds[0])
    assert never.odds[1] == 0.0
    assert np.isnan(never.mcse).all()


def ar1(rng, rho, shape):
    x = np.empty(shape)
    x[..., 0] = rng.standard_normal(shape[:-1])
    e = np.sqrt(1 - rho**2) * rng.standard_normal(shape)
    for t in range(1, shape[-1]):
        x[..., t] = rho * x[..., t - 1] + e[..., t]
    return x


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.6])
def test_scalar_errors_are_those_of_an_autoregression(rho):
    runs, chains, draws = 200, 4, 2500
    x = 5 + ar1(np.random.default_rng(17), rho, (runs, chains, draws))
    found = [scalar_stats(part) for part in x]
    mcse = np.array([stats.mcse for stats in found])
    mean = np.array([stats.mean for stats in found])
    truth = (1 + rho) / (1 - rho) / (chains * draws)
    # Batches of 50 miss 2 rho / (1 - rho^2) / 50 of the variance (4 % at 0.6, and -3 % at -0.5), and
    # 200 estimates with 4 * 49 degrees of freedom have a mean with a relative sd of 0.7 %.
    assert np.mean(mcse**2) == pytest.approx(truth, rel=0.07)
    # 200 trials of about 0.945: outside in less than 1 of 1000 runs.
    assert 0.88 < np.mean(np.abs(mean - 5) < 1.96 * mcse) < 0.99
    # The sd of 10,000 draws, 2,500 of them effective, is within 1.4 % of 1, times 4.
    assert all(stats.sd == pytest.approx(1, abs=0.06) for stats in found)
    assert np.median([stats.ess for stats in found]) == pytest.approx(1 / truth, rel=0.07)
    assert max(stats.r_hat for stats in found) < 1.02


def test_chains_that_disagree_get_the_error_of_their_spread():
    rng = np.random.default_rng(4)
    x = np.array([0.0, 0.0, 0.0, 1.0])[:, None] + rng.standard_normal((4, 900))
    stats = scalar_stats(x)
    assert stats.disagree
    assert stats.mcse == pytest.approx(x.mean(axis=1).std(ddof=1) / 2, rel=1e-12)  # rounding
    assert stats.r_hat > 1.05
    one = scalar_stats(x[:1])
    assert not one.disagree
    # 29 degrees of freedom: a relative sd of 13 %, three times.
    assert one.mcse == pytest.approx(1 / 30, rel=0.4)


@pytest.mark.parametrize(("k", "low", "high"), [(1, 3, 45), (20, 0, 8)])
def test_disagreement_has_its_false_alarm_rate(k, low, high):
    """1 in 1000 for all k quantities together: outside the bounds in less than 1 of a million runs."""
    # 20 alarms on average in 20,000 tries of one quantity, and 1 in 1,000 tries of twenty (20 at a level
    # of 1 in 1000 for each); Poisson quantiles.
    plan = _batches.Plan.of(144)
    batches = np.random.default_rng(21).standard_normal((20_000 // k, 3, plan.batches, k))
    alarms = sum(_batches.combine(part.mean(axis=1), part, plan)[2].any() for part in batches)
    assert low <= alarms <= high


def test_quantities_that_cannot_disagree_cost_nothing():
    """A term in every draw takes no share of the level."""
    plan = _batches.Plan.of(144)
    batches = np.random.default_rng(8).standard_normal((3, plan.batches, 1))
    still = np.full((3, plan.batches, 50), 0.1)
    # A shift that passes the test of one quantity and would not pass a test of 51.
    shift = np.array([0.0, 0.0, 1.0])[:, None, None]
    ratios = []
    for size in np.linspace(0, 3, 31):
        part = batches + size * shift
        alone = _batches.combine(part.mean(axis=1), part, plan)[2]
        both = np.concatenate([part, still], axis=2)
        among = _batches.combine(both.mean(axis=1), both, plan)[2]
        assert among[0] == alone[0]
        assert not among[1:].any()
        ratios.append(alone[0])
    assert 0 < sum(ratios) < 31


def geyer(batches):
    """Initial monotone positive sequence of one quantity from its definition; None if it does not apply."""
    chains, count = batches.shape
    d = batches - batches.mean()
    lags = [
        sum(d[c, t] * d[c, t + lag] for c in range(chains) for t in range(count - lag))
        for lag in range(count)
    ]
    lags = np.array(lags) / batches.size
    if lags[1] / lags[0] <= 2 / np.sqrt(batches.size):
        return None
    pairs = []
    for lag in range(0, count - 1, 2):
        pair = lags[lag] + lags[lag + 1]
        if pair <= 0:
            break
        pairs.append(min([pair, *pairs]))
    return 2 * sum(pairs) - lags[0]


def test_long_run_variance_by_hand():
    batches = np.tile([0.0, 0, 0, 0, 1, 1, 1, 1], (2, 1))[:, :, None]
    # Autocovariances (8 - 3 lag) / 32 up to lag 4: pairs 13/32, 1/32 and then a negative one.
    assert _batches.slow_variance(batches)[0] == pytest.approx(2 * 14 / 32 - 8 / 32, rel=1e-14)  # rounding
    # One chain of eight batches: a lag-one autocorrelation of 5/8 is below 2 / sqrt(8).
    assert _batches.slow_variance(batches[:1])[0] == 0
    # Numbers whose mean is not exactly they themselves.
    assert _batches.slow_variance(np.full((3, 31, 1), 0.1))[0] == 0


@pytest.mark.parametrize("count", [2, 7, 30])
def test_long_run_variance_against_the_definition(count):
    rng = np.random.default_rng(count)
    # From white noise to a memory of many batches, so that both outcomes occur.
    batches = np.stack([ar1(rng, rho, (3, count)) for rho in np.linspace(0, 0.99, 60)], axis=-1)
    batches += 0.5 * rng.standard_normal((3, 1, 60)) * (np.arange(60) % 4 == 0)
    found = _batches.slow_variance(batches)
    expected = [geyer(batches[:, :, j]) for j in range(60)]
    np.testing.assert_array_equal(found == 0, [value is None for value in expected])
    np.testing.assert_allclose(found, [value or 0 for value in expected], rtol=1e-10)  # rounding
    if count > 2:
        assert 5 < np.count_nonzero(found) < 55


def test_slow_chains_get_the_largest_of_the_errors():
    rng = np.random.default_rng(12)
    used = []
    for rho in np.repeat([0.95, 0.99, 0.998], 20):
        x = 3 + ar1(rng, rho, (4, 1200))
        stats = scalar_stats(x)
        batches = x.reshape(4, 30, 40).mean(axis=2)
        errors = [batches.var(axis=1, ddof=1).mean() / 30, (geyer(batches) or 0) / 30]
        if stats.disagree:
            errors.append(x.mean(axis=1).var(ddof=1))
        used.append((bool(stats.disagree), int(np.argmax(errors))))
        assert stats.mcse == pytest.approx(np.sqrt(max(errors) / 4), rel=1e-10)  # rounding
        assert stats.ess == pytest.approx(x.var(ddof=1) / stats.mcse**2, rel=1e-10)  # rounding
    # From the batches, their long-run variance, or, where chains disagree, their spread if that is largest.
    assert set(used) >= {(False, 0), (False, 1), (True, 1), (True, 2)}


@pytest.mark.parametrize(("memory", "least", "most"), [(1, 0.97, 1.03), (300, 0.9, 1.1), (1000, 0.75, 1.15)])
def test_errors_of_slow_chains(memory, least, most):
    """The errors of chains of any memory below a tenth of their length; false alarm: 1e-5 a case."""
    p, terms, chains, draws = 0.5, 200, 4, 10_000
    rho = (memory - 1) / (memory + 1)
    change = (1 - rho) * p
    x = two_state(np.random.default_rng(memory), change, change, (chains, terms, draws))
    index = np.arange(chains * draws).reshape(chains, draws)
    stats = indicator_stats(index, x.transpose(0, 2, 1).reshape(-1, terms))
    truth = np.sqrt(p * (1 - p) * memory / (chains * draws))
    # Relative sd of one error 7, 20 and 30 %, so of the median of 200 errors 0.6, 1.8 and 2.7 %; it is 1.00,
    # 0.99 and 0.93 of the truth in the long run, and was 0.77 and 0.51 with the variance of batches alone.
    assert least < np.median(stats.mcse) / truth < most
    # 93 to 95 % are covered, with a binomial sd of 1.8 %; 84 and 77 % were.
    assert np.mean(np.abs(stats.mean - p) < 1.96 * stats.mcse) > 0.85


def test_odds_of_slow_chains():
    """The log odds of two models under a memory of 300 draws; false alarm: 1e-5."""
    runs, chains, draws, memory = 200, 4, 10_000, 300
    change = 0.5 * (1 - (memory - 1) / (memory + 1))
    x = two_state(np.random.default_rng(5), change, change, (runs, chains, draws))
    found = [model_stats(part, [0, 1]) for part in x]
    relative = [stats.odds_mcse[1] / stats.odds[1] for stats in found]
    # The log odds of p = 1/2 move four times as far as p; as for the inclusion probabilities above.
    truth = 4 * np.sqrt(0.25 * memory / (chains * draws))
    assert 0.9 < np.median(relative) / truth < 1.15


def test_terms_that_never_moved():
    gamma = np.array([[0, 1, 0, 1], [0, 1, 1, 1], [0, 1, 1, 0]])
    index = np.array([[0, 1, 0, 1, 1, 0, 1, 0, 0], [2, 2, 2, 2, 2, 2, 2, 2, 2]])
    stats = indicator_stats(index, gamma)
    np.testing.assert_array_equal(stats.stuck, [True, True, False, True])
    np.testing.assert_array_equal(stats.mean, [0, 1, (4 / 9 + 1) / 2, 0.5])
    assert np.isnan(stats.ess[[0, 1, 3]]).all()
    assert np.isnan(stats.r_hat[[0, 1, 3]]).all()
    assert np.isnan(stats.mcse[:2]).all()
    # The last term is stuck at 1 in one chain and at 0 in the other: that is known to be uncertain.
    assert stats.disagree[3]
    assert stats.mcse[3] == pytest.approx(0.5)
    assert np.isfinite(stats.mcse[2])


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_short_chains_give_means_only(draws):
    index = np.array([[0, 1, 1][:draws], [1, 0, 0][:draws]])
    stats = indicator_stats(index, [[0], [1]])
    assert stats.mean[0] == pytest.approx(index.mean())
    assert np.isnan([stats.mcse[0], stats.ess[0], stats.r_hat[0]]).all()
    models = model_stats(index, [0, 1])
    assert np.isnan(models.mcse).all()
    assert np.isnan(models.odds_mcse[1])
    scalar = scalar_stats(index)
    assert np.isnan([scalar.mcse, scalar.ess, scalar.r_hat]).all()


def test_rank_normalised_r_hat_by_hand():
    rng = np.random.default_rng(9)
    x = rng.standard_cauchy((2, 41))
    x[1] *= 6  # the same place, another scale: only the folded R-hat sees it

    def ranks_of(values):
        return np.array([[np.sum(values < e) + (np.sum(values == e) + 1) / 2 for e in row] for row in values])

    expected = []
    for values in (x, np.abs(x - np.median(x))):
        halves = np.concatenate([values[:, :20], values[:, 21:]])
        expected.append(plain_r_hat(ndtri((ranks_of(halves) - 3 / 8) / (halves.size + 1 / 4))))
    assert expected[1] > expected[0] + 0.02
    assert scalar_stats(x).r_hat == pytest.approx(max(expected), rel=1e-12)  # rounding
    # A scale changes no rank (a power of two is exact, and so keeps ties).
    assert scalar_stats(4 * x).r_hat == pytest.approx(max(expected), rel=1e-12)  # rounding


def test_constants_have_no_error():
    stats = scalar_stats(np.full((3, 50), 0.1))
    assert stats.mean == 0.1
    assert stats.sd == 0.0
    assert np.isnan([stats.mcse, stats.ess, stats.r_hat]).all()


def test_indicators_of_long_runs_stay_small():
    rng = np.random.default_rng(2)
    gamma = rng.integers(0, 2, size=(50_000, 100), dtype=np.uint8)
    index = rng.integers(0, 50_000, size=(2, 400_000), dtype=np.int32)
    tracemalloc.start()
    stats = indicator_stats(index, gamma)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The inclusion matrix as bytes would be 80 MB and as floats 640 MB; a chunk's is 26 MB as int32.
    assert peak < 70e6
    assert np.all(np.abs(stats.mean - 0.5) < 0.01)


def test_values_must_be_finite():
    with pytest.raises(DataError, match="finite"):
        scalar_stats([[1.0, np.nan]])


# ---------------------------------------------------------------------- long runs


def test_r_hat_of_long_runs_is_that_of_every_so_manyth_draw(monkeypatch):
    x = np.cumsum(np.random.default_rng(1).normal(size=(3, 700)), axis=1)
    whole, thinned = scalar_stats(x), scalar_stats(x[:, ::3])
    assert whole.r_hat != thinned.r_hat
    monkeypatch.setattr(errors, "RANKED", 700)
    found = scalar_stats(x)
    assert found.r_hat == thinned.r_hat
    assert (found.mean, found.sd, found.mcse) == (whole.mean, whole.sd, whole.mcse)


@pytest.mark.parametrize("kind", [np.int32, float])
def test_scalars_of_long_runs_take_little_memory(kind):
    """No copy of the draws: some numbers of a part of a chain, and those that are ranked."""
    x = np.random.default_rng(1).integers(100, size=(2, 2_000_000)).astype(kind)
    tracemalloc.start()
    stats = scalar_stats(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stats.mean == pytest.approx(x.mean(), rel=1e-12)
    assert stats.sd == pytest.approx(x.std(ddof=1), rel=1e-12)
    # 32 MB as floats. RANKED numbers of 8 bytes are 2 MB, of which ranking takes some; the search for a draw
    # that differs takes a byte a draw.
    assert peak < 22e6
