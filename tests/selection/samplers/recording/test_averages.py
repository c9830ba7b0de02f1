"""Averages by segments, what they say when chains are cut short, and the ladder of temperatures."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from pyrjsel import ParameterError, StoreError
from pyrjsel.model_space import PackedModels
from pyrjsel.report import errors
from pyrjsel.runtime.ladder import EXCHANGE_RATE, HOTTEST, adapted, check_temperatures
from pyrjsel.selection.samplers.recording import averages, rao_blackwell
from pyrjsel.selection.samplers.recording.averages import (
    FEW_SEGMENTS,
    MANY,
    SEGMENTS,
    WALK_ROWS,
    Averages,
)
from pyrjsel.selection.samplers.recording.rao_blackwell import CORRECTED_ROWS, estimate
from pyrjsel.selection.samplers.recording.recorder import VISITS_ALONE
from pyrjsel.storage import Content

GAMMA = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.uint8)


def surrogate_chains(chains, draws, seed, off=0.8):
    """Independent draws of two terms, their surrogate weights, and averages as a corrected walk makes them.

    pi is uniform on four models; pi~ proportional to exp(-off * log_w), log_w a function of the model.
    """
    rng = np.random.default_rng(seed)
    log_w = off * np.array([0.0, 0.5, -0.3, 0.2])
    surrogate = np.exp(-log_w) / np.exp(-log_w).sum()
    mean = surrogate @ GAMMA
    index = rng.integers(0, 4, size=(chains, draws))
    found = []
    for c in range(chains):
        kept = Averages(CORRECTED_ROWS, 2)
        for i in range(draws):
            gamma, weight = GAMMA[index[c, i]], np.exp(-log_w[index[c, i]])
            # An average over a path that has forgotten where it began.
            h = np.clip(mean + 0.05 * rng.normal(size=2), 0, 1)
            kept.at(i)[0][:] += [
                gamma,
                weight * gamma,
                weight**2 * gamma,
                weight * h,
                weight * (1 - h),
                *[[weight] * 2],
                [weight**2] * 2,
            ]
        found.append(SimpleNamespace(averages=kept.of(draws, 1, 1.0)))
    return found, index


@pytest.mark.parametrize(("terms", "most"), [(1, SEGMENTS), (MANY + 1, FEW_SEGMENTS)])
def test_segments_cover_the_draws_in_order(terms, most):
    for draws in (1, 3, 4, 40, 41, 80, 997, 5000 if terms == 1 else 998):
        kept = Averages(1, terms)
        for i in range(draws):
            row, end = kept.at(i)
            row += i + 1
            assert i < end <= i + kept.length
        found = kept.of(draws, 1, 1.0)
        edges = np.arange(kept.full + 1) * kept.length
        upto = edges * (edges + 1) / 2  # of the numbers from 1
        sums = found.batch_means(int(kept.length), int(kept.full))[:, 0, 0] * kept.length
        np.testing.assert_array_equal(sums, np.diff(upto))
        assert found.means(draws)[0, 0] * draws == draws * (draws + 1) / 2
        used = -(-draws // int(kept.length))
        assert used <= most
        assert used > most // 2 or kept.length == 1


def test_a_chain_is_cut_alike_however_far_it_goes():
    """After so many draws all is to the last bit what it is in a chain that ends there."""
    values = np.random.default_rng(4).random(3000)
    going_on = Averages(1, 1)
    for i, value in enumerate(values):
        going_on.at(i)[0][:] += value
        if i + 1 in (39, 40, 41, 1280, 1281, 2999):
            kept = Averages(1, 1)
            for k in range(i + 1):
                kept.at(k)[0][:] += values[k]
            for name, array in kept.arrays(i + 1).items():
                np.testing.assert_array_equal(array, going_on.arrays(i + 1)[name])


def test_control_variates_leave_the_mean_and_cut_the_error():
    """Means of 4 x 2000 draws, |z| below 5.2 each (two of them: level 4e-7)."""
    chains, index = surrogate_chains(4, 2000, seed=1, off=0.3)
    found = estimate(chains, index, GAMMA)
    assert "control variates" in found.words
    plain = np.sqrt(0.25 / 8000)
    assert np.all(found.terms.mcse < 0.5 * plain)
    assert np.all(np.abs(found.terms.mean - 0.5) < 5.2 * found.terms.mcse)
    np.testing.assert_allclose(found.excluded, 1 - found.terms.mean, atol=1e-12)
    assert np.all(found.terms.ess > 4 * 8000)


def test_a_bad_surrogate_is_left_alone():
    chains, index = surrogate_chains(4, 2000, seed=2, off=6.0)
    found = estimate(chains, index, GAMMA)
    assert found.words == VISITS_ALONE
    np.testing.assert_allclose(found.terms.mean, GAMMA[index].mean(axis=(0, 1)), rtol=1e-12)


def test_errors_of_control_variates_are_what_they_say():
    """The variance of 200 runs over the mean of their squared errors: chi-square at level 1e-6."""
    means, errors = [], []
    for seed in range(200):
        chains, index = surrogate_chains(2, 200, seed=100 + seed, off=0.3)
        found = estimate(chains, index, GAMMA)
        means.append(found.terms.mean[0])
        errors.append(found.terms.mcse[0])
    ratio = np.var(means, ddof=1) / np.mean(np.square(errors))
    # Errors from 2 x 14 batches are themselves uncertain by some 13 % in the square; their mean by 1 %.
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], 199) / 199
    assert 0.95 * low < ratio < 1.05 * high


def rare_term(draws, rng, *, share=2e-4, wrong=3.0, chains=4):
    """Chains of a term of small probability, which the surrogates suppose `wrong` times too large or small.

    One surrogate a chain, half of them either way; v is nearly 1 where the term is out.
    """
    found = []
    index = (rng.random((chains, draws)) < share).astype(int)
    for c in range(chains):
        kept, factor = Averages(CORRECTED_ROWS, 1), wrong ** (1 - 2 * (c % 2))
        weight = np.where(index[c] == 1, factor, 1.0 + 0.02 * rng.standard_normal(draws))
        h = share * factor * rng.gamma(4.0, 0.25, draws)
        gamma = index[c]
        rows = [gamma, weight * gamma, weight**2 * gamma, weight * h, weight * (1 - h), weight, weight**2]
        rows, end = np.array(rows), 0
        while end < draws:
            begin = end
            row, end = kept.at(begin)
            row[:, 0] = rows[:, begin:end].sum(axis=1)
        found.append(SimpleNamespace(averages=kept.of(draws, 1, 1.0)))
    return estimate(found, index, np.array([[0], [1]], dtype=np.uint8)).terms


@pytest.mark.parametrize("draws", [500, 4000, 20_000])
def test_errors_of_rare_terms_allow_for_what_was_not_visited(draws):
    """150 runs of 4 chains: the mean square z-score is below 2, and chains do not seem to disagree.

    The expected number of visits is 0.4, 3.2 and 16. Runs without one have no error at all. In those with few
    the error must be told by what another visit might have shown. A square has an expectation of at most 1.2
    and a standard deviation of some 2 here: 2 is three standard errors off for the 49 runs of 500 draws that
    have a visit (with this seed their mean square is 0.75), five for the others. Alarms of level 1e-3 come
    five times in 150 runs with a chance of 5e-7.
    """
    rng = np.random.default_rng(9)
    found = [rare_term(draws, rng) for _ in range(150)]
    never = np.array([bool(one.stuck[0]) for one in found])
    assert np.array_equal(never, [np.isnan(one.mcse[0]) for one in found])
    # Without a visit by the word of the surrogates, (3 + 1/3) / 2 times too much on average, unless these
    # draws would have missed it with a probability of less than one in a hundred, e^-(16,000 3.3e-4).
    guess = np.array([one.mean[0] for one in found])[never]
    assert np.all((guess > 2.5e-4) & (guess < 4e-4) if draws == 500 else guess == 0.0)
    z = np.array([((one.mean - 2e-4) / one.mcse)[0] for one in found])[~never]
    assert np.mean(z**2) < 2.0
    assert sum(bool(one.disagree[0]) for one in found) < 5


def test_a_surrogate_that_says_what_draws_would_not_miss_is_not_believed():
    """2,000 draws without a term, of which surrogates say 0.05: they would miss it once in e^100 times."""
    found = rare_term(500, np.random.default_rng(2), share=1e-5, wrong=1e4)
    assert found.stuck[0]
    assert found.mean[0] == 0.0
    assert np.isnan(found.mcse[0])


def test_chains_that_were_cut_short_count_whole_batches_alone():
    done, thin = 700, 3
    rng = np.random.default_rng(3)
    values = rng.random((3, 2400, 2))
    chains, draws = [], [done, done + 40, 2 * done]
    for c, size in enumerate(draws):
        kept = Averages(WALK_ROWS, 2)
        iterations = size * thin + (1 if c == 0 else 0)  # a draw that did not come to its end
        for i in range(iterations):
            kept.at(i // thin)[0][:] += [values[c, i // thin], 1 - values[c, i // thin]]
        chains.append(SimpleNamespace(averages=kept.of(iterations, thin, 1.0)))
    assert {chain.averages.length for chain in chains} == {32, 64}
    index = rng.integers(0, 4, size=(3, done))
    found = estimate(chains, index, GAMMA)
    last = done // 64 * 64
    np.testing.assert_allclose(found.terms.mean, values[:, :last].mean(axis=(0, 1)), rtol=1e-12)
    np.testing.assert_allclose(found.excluded, 1.0 - values[:, :last].mean(axis=(0, 1)), rtol=1e-12)
    assert np.all(found.terms.mcse > 0)


@pytest.mark.parametrize("over", [0, 1])  # with the last draw cut short, in one chain
def test_terms_in_parts_have_the_same_estimates(over, monkeypatch):
    rng = np.random.default_rng(6)
    values, gamma = rng.random((3, 100, 130)) ** 3, rng.integers(0, 2, size=(9, 130)).astype(np.uint8)
    index = rng.integers(0, 9, size=(3, 100))

    def found():
        chains = []
        for c in range(3):
            kept = Averages(WALK_ROWS, 130)
            for i in range(100):
                kept.at(i)[0][:] += [values[c, i], 1 - values[c, i]]
            chains.append(SimpleNamespace(averages=kept.of(100 + 0.5 * over * (c == 0), 1, 1.0)))
        return estimate(chains, index, PackedModels.of(gamma))

    whole = found()
    for module in (errors, rao_blackwell):
        monkeypatch.setattr(module, "TERMS", 64)
    parts = found()
    np.testing.assert_array_equal(parts.excluded, whole.excluded)
    for name in ("mean", "mcse", "ess", "r_hat", "stuck", "disagree"):
        np.testing.assert_array_equal(getattr(parts.terms, name), getattr(whole.terms, name), err_msg=name)


@pytest.mark.parametrize("last", [4, 29, 64, 100, 128.5])  # one segment a draw, merged ones, one cut short
def test_many_terms_have_the_estimates_of_all_their_sums(last, monkeypatch):
    """Averages are the same to rounding, errors to some digits of single precision; states resume."""
    monkeypatch.setattr(averages, "SEGMENTS", FEW_SEGMENTS)
    rng = np.random.default_rng(8)
    values = rng.random((3, 129, 70)) ** 4
    values[..., 0] = 1.0 - 1e-9 * values[..., 0]  # nearly certain
    values[..., 1] = 0.3  # constant: no error
    values[..., 2] *= 1e-9
    values[:, 0, 2] = 1.0  # far from the first draw
    index, models = rng.integers(0, 9, size=(3, int(last))), PackedModels.of(rng.integers(0, 2, (9, 70)))
    found = []
    for many in (70, 69):
        monkeypatch.setattr(averages, "MANY", many)
        chains = []
        for c in range(3):
            kept = Averages(WALK_ROWS, 70)
            for i in range(-int(-last // 1)):
                if i == 11:  # the state is saved and read
                    saved = Content({name: array.copy() for name, array in kept.arrays(i).items()}, "it")
                    kept = Averages(WALK_ROWS, 70)
                    kept.restore(saved)
                part = min(1.0, last - i) * values[c, i]
                kept.at(i)[0][:] += [part, min(1.0, last - i) - part]
            chains.append(SimpleNamespace(averages=kept.of(last, 1, 1.0)))
        found.append(estimate(chains, index, models))
    (want, many), whole = found, last == int(last)
    error = np.where(np.isnan(want.terms.mcse), 0.0, want.terms.mcse)
    # Differences from the first draw, of half a unit in the last place of single precision.
    if whole:
        assert (np.abs(many.terms.mean - want.terms.mean) <= 1e-6 * error + 1e-14 * want.terms.mean).all()
    np.testing.assert_allclose(many.terms.mean, want.terms.mean, rtol=1e-6)
    # Exclusion is known in total alone, including what is beyond the last full segment.
    np.testing.assert_allclose(many.excluded, want.excluded, rtol=1e-14 if whole else 1e-1)
    np.testing.assert_allclose(many.terms.mcse, want.terms.mcse, rtol=1e-5)
    assert np.isnan(many.terms.mcse[1])
    np.testing.assert_array_equal(many.terms.disagree, want.terms.disagree)


def test_only_averages_of_many_terms_are_kept_in_part():
    for rows, terms, known, kind in (
        (WALK_ROWS, MANY, WALK_ROWS, np.float64),
        (WALK_ROWS, MANY + 1, 1, np.float32),
        (CORRECTED_ROWS, MANY + 1, CORRECTED_ROWS, np.float64),
    ):
        kept = Averages(rows, terms)
        assert (kept.known, kept.differences.dtype) == (known, kind)
    wrong = Averages(1, 1).arrays(0) | {"full": np.array(SEGMENTS + 1)}
    with pytest.raises(StoreError, match="segments are full"):
        Averages(1, 1).restore(Content(wrong, "it"))


def test_few_draws_are_visits_alone():
    rng = np.random.default_rng(5)
    for draws in (1, 3):
        kept = Averages(WALK_ROWS, 2)
        for i in range(draws):
            kept.at(i)[0][:] += 0.5
        index = rng.integers(0, 4, size=(2, draws))
        chains = [SimpleNamespace(averages=kept.of(draws, 1, 1.0)) for _ in range(2)]
        early = estimate(chains, index, GAMMA)
        assert early.excluded is None
        np.testing.assert_allclose(early.terms.mean, GAMMA[index].mean(axis=(0, 1)))


# ---------------------------------------------------------------------- temperatures


def test_temperatures_that_users_give():
    powers, adaptive = check_temperatures((1, 0.5, 0.25), 1)
    assert powers.tolist() == [1.0, 0.5, 0.25]
    assert not adaptive
    assert check_temperatures("auto", 1)[0].tolist() == [1.0]
    for count in (1, 2, 5, 40):
        powers, adaptive = check_temperatures(count, 1)
        assert adaptive
        assert powers.size == count
        assert powers[0] == 1.0
        assert np.all(np.diff(powers) < 0)
        assert powers[-1] >= HOTTEST
    for bad in ("hot", (), (0.9, 0.5), (1.0, 1.0), (1.0, -0.1), 0, True, 2.5, None):
        with pytest.raises(ParameterError, match="temperatures"):
            check_temperatures(bad, 1)


def test_gaps_are_adapted_to_the_rate_that_is_wanted():
    """Exchanges accepted with probability exp(-5 gap): the gap goes to where that is 30 %."""
    rng = np.random.default_rng(1)
    powers = check_temperatures(4, 1)[0]
    for step in range(1, 200):
        gaps = -np.diff(np.log(powers))
        proposed = np.full(3, 100)
        counts = np.stack([proposed, rng.binomial(proposed, np.exp(-5 * gaps))])
        powers, counts = adapted(powers, counts, step)
        assert not counts.any()
        assert powers[0] == 1.0
    rates = np.exp(-5 * -np.diff(np.log(powers)))
    np.testing.assert_allclose(rates, EXCHANGE_RATE, atol=0.05)


def test_few_exchanges_change_nothing():
    powers = check_temperatures(3, 1)[0]
    counts = np.array([[19, 40], [0, 40]])
    moved, left = adapted(powers, counts, 1)
    assert moved[1] == powers[1]
    assert moved[2] < powers[2]
    assert left.tolist() == [[19, 0], [0, 0]]
    alone, none = adapted(np.ones(1), np.zeros((2, 0), dtype=np.int64), 1)
    assert alone.tolist() == [1.0]
    assert none.shape == (2, 0)


def test_the_hottest_is_never_too_hot():
    powers = check_temperatures(6, 1)[0]
    for step in range(1, 50):
        powers, _ = adapted(powers, np.full((2, 5), 100), step)
    assert powers[-1] == pytest.approx(HOTTEST)
    assert np.all(np.diff(powers) < 0)


def test_weights_of_very_different_size_keep_their_batches(monkeypatch):
    """Corrected chains: in single precision the second segment would be 0, and one with e^90 infinite."""
    monkeypatch.setattr(averages, "MANY", 2)
    kept = averages.Averages(4, 3)
    for draw, weight in enumerate([1.0, 1e-9, np.exp(90.0)]):
        kept.at(draw)[0][...] += weight
    arrays = kept.arrays(3)
    found = arrays["differences"] + arrays["segment"] * arrays["first"]
    # Differences from 1 have errors of 1e-16.
    np.testing.assert_allclose(found[1], 1e-9, atol=2e-16)
    np.testing.assert_allclose(found[2], np.exp(90.0))
