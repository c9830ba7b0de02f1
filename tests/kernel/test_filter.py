"""The particle filter of kernel regression against enumeration, against its twin, and in two parts."""

from copy import deepcopy
from dataclasses import fields, replace
from itertools import combinations, product

import numpy as np
import pytest
from reference_kernel import draw, enumerate_posterior, log_marginal, predecessors, propose, rejuvenate, weigh
from scipy.stats import invgamma
from turns import every

from pyrjsel.kernel.samplers.columns import Columns
from pyrjsel.kernel.samplers.filter import FilterJob, run_passes
from pyrjsel.kernel.samplers.particles import loop_of, refresh, start
from pyrjsel.kernel.samplers.tempering import pool_evidence
from pyrjsel.kernel.state import KernelSettings


def gaussian(rows, centres):
    return np.exp(-0.5 * ((rows[:, None] - centres[None]) ** 2).sum(axis=2))


def toy(t, seed=5, d=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=2.0, size=(t, d))
    return x, 1.2 * np.sinc(x[:, 0]) + 0.4 * rng.normal(size=t)


FIXED = KernelSettings(
    gaussian, mean_kernels=1.5, max_kernels=10, noise_variance=0.3, coef_variance=0.5, particles=20_000
)
RANDOM = KernelSettings(gaussian, mean_kernels=2.0, max_kernels=6, particles=30)


def after(settings, x, y, *, seed=0, state=None):
    """Return the filter after one pass; with a `state`, that goes on with its own random numbers."""
    (found,) = run_passes([FilterJob(settings, x, y, state)], np.random.default_rng(seed), progress=False)
    return found


def occupancy(state):
    """Return the probabilities of sets of centres in a state."""
    found = {}
    for k, centres, weight in zip(state.k, state.centres, np.exp(state.log_weights), strict=True):
        key = tuple(int(c) for c in centres[:k])
        found[key] = found.get(key, 0.0) + weight
    return found


def distance(p, q):
    """Return the total variation distance."""
    return 0.5 * sum(abs(p.get(key, 0.0) - q.get(key, 0.0)) for key in p.keys() | q.keys())


@pytest.mark.parametrize(
    ("t", "changes"),
    [
        # Resampled after the last row: otherwise unequal weights are worth fewer than 20,000 particles.
        (6, {"ess_threshold": 1.0}),
        (6, {"ess_threshold": 1.0, "trend": 1}),
        (5, {"ess_threshold": 1.0, "trend": 2}),
        (4, {"rejuvenate": 0, "particles": 100_000, "trend": 1}),
        (4, {"rejuvenate": 2, "mean_kernels": 0.5}),
        (5, {"rejuvenate": 3, "move_fraction": 0.3, "ess_threshold": 1.0}),
        # Without rejuvenation, the weights alone: particles repeat, so that there must be more of them.
        (5, {"rejuvenate": 0, "particles": 100_000}),
        (5, {"rejuvenate": 0, "particles": 100_000, "max_kernels": 2, "resampling": "stratified"}),
        (4, {"rejuvenate": 0, "particles": 100_000, "mean_kernels": 4.0, "resampling": "residual"}),
        (4, {"rejuvenate": 0, "particles": 40_000, "move_fraction": 0.45, "resampling": "multinomial"}),
    ],
)
def test_weights_are_exact(t, changes):
    settings = replace(FIXED, **changes)
    x, y = toy(t, d=max(settings.trend, 1))
    exact, log_evidence = enumerate_posterior(settings, x, y)
    state = after(settings, x, y, seed=1)
    # 20,000 independent draws of these 57 sets are 0.018 away, give or take 0.0015: four of these.
    assert distance(occupancy(state), exact) < 0.024
    # Two per cent: some four standard deviations of each of these passes.
    assert state.log_evidence == pytest.approx(log_evidence, abs=0.02)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
@pytest.mark.parametrize("surprise", [0.7, np.inf])
def test_weights_are_exact_where_few_particles_are_asked(surprise, threshold, monkeypatch):
    """One in t may take the newest row in, and one in t moves, at all rows or at those without surprise.

    Without resampling the last row would be a centre half as often as it should be if the particles that were
    asked were those that move.
    """
    monkeypatch.setattr("pyrjsel.kernel.samplers.filter.GROUPED", 1)
    monkeypatch.setattr("pyrjsel.kernel.samplers.filter.SURPRISE", surprise)
    settings = replace(FIXED, ess_threshold=threshold)
    x, y = toy(6)
    exact, log_evidence = enumerate_posterior(settings, x, y)
    state = after(settings, x, y, seed=1)
    # As above with as many draws as are effective: weights differ more, by what few are asked.
    effective = np.sum(np.exp(state.log_weights)) ** 2 / np.sum(np.exp(2.0 * state.log_weights))
    fewer = np.sqrt(20_000 / effective)
    assert distance(occupancy(state), exact) < 0.024 * fewer + 0.006
    assert state.log_evidence == pytest.approx(log_evidence, abs=0.02 * fewer + 0.01)


def test_ways_back_are_probabilities():
    for t in range(1, 6):
        for k in range(t + 1):
            for new in combinations(range(t), k):
                assert sum(predecessors(FIXED, t, new).values()) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_no_mass_is_lost_without_rejuvenation(seed):
    """Probabilities of the numbers of kernels, after 20,000 particles have been resampled again and again."""
    settings = replace(FIXED, rejuvenate=0)
    x, y = toy(6, seed=seed)
    exact, log_evidence = enumerate_posterior(settings, x, y)
    state = after(settings, x, y, seed=1)
    sizes = np.bincount([len(key) for key in exact], weights=list(exact.values()))
    found = np.bincount(state.k, weights=np.exp(state.log_weights), minlength=7)
    # Over other seeds standard deviations are below 0.004 and 0.005.
    np.testing.assert_allclose(found, sizes, atol=0.015)
    assert state.log_evidence == pytest.approx(log_evidence, abs=0.02)


def test_weights_of_the_paper_are_biased():
    settings = replace(FIXED, importance="paper", rejuvenate=0)
    x, y = toy(4)
    exact, log_evidence = enumerate_posterior(settings, x, y)
    state = after(settings, x, y, seed=1)
    assert distance(occupancy(state), exact) > 0.1
    assert abs(state.log_evidence - log_evidence) > 0.2


def test_blind_births_and_deaths_are_for_filters_without_rejuvenation():
    assert RANDOM.rejuvenate > 0
    assert RANDOM.blind_fraction == 0.0
    assert replace(RANDOM, rejuvenate=0).blind_fraction == 0.25
    assert replace(RANDOM, importance="paper").blind_fraction == 0.25
    assert replace(RANDOM, move_fraction=0.1).blind_fraction == 0.1


@pytest.mark.parametrize(
    ("shift", "changes", "most"),
    every(
        2,
        [
            (0.0, {}, 0.004),
            (0.0, {"rejuvenate": 0}, 0.004),
            (0.0, {"trend": 1}, 0.004),
            # The error of four runs is itself known to two fifths.
            (0.0, {"mean_kernels": 5.0, "max_kernels": 2}, 0.006),
            # The prior hardly allows these responses: fewer particles count.
            (30.0, {}, 0.02),
            (30.0, {"noise_variance": 0.2}, 0.02),
            (30.0, {"coef_variance": 1e3}, 0.02),
        ],
    ),
)
def test_evidence_with_random_variances(shift, changes, most):
    """Sums over sets and a grid of the variances give the evidence too."""
    settings = KernelSettings(
        gaussian, mean_kernels=1.5, a_y=2.0, b_y=0.2, a_beta=1.5, b_beta=0.5, particles=20_000
    )
    settings = replace(settings, **changes)
    x, y = toy(3)
    y = y + shift
    # At equal steps of the logarithms the sum converges exponentially: two thirds of the step give the same
    # to 3e-6, and so does a grid that ends farther out.
    step, axes = 0.5, []
    for fixed, a, b in ((settings.noise_variance, 2.0, 0.2), (settings.coef_variance, 1.5, 0.5)):
        ends = invgamma.ppf(1e-9, a, scale=b), invgamma.isf(1e-4, a, scale=b + y @ y / 2)
        grid = np.exp(np.arange(*np.log(ends), step))
        chances = invgamma.pdf(grid, a, scale=b) * grid * step
        axes.append([(fixed, 1.0)] if fixed else list(zip(grid, chances, strict=True)))
    total = 0.0
    for (sigma2, p), (delta2, q) in product(*axes):
        fixed = replace(settings, noise_variance=sigma2, coef_variance=delta2)
        total += p * q * np.exp(enumerate_posterior(fixed, x, y)[1])
    jobs = [FilterJob(settings, x, y)] * (8 if shift else 4)
    states = run_passes(jobs, np.random.default_rng(8), n_jobs=1, progress=False)
    pooled, error = pool_evidence(np.array([state.log_evidence for state in states]))
    assert error < most
    # Five such errors.
    assert pooled == pytest.approx(np.log(total), abs=5 * most)


@pytest.mark.parametrize("changes", [{}, {"noise_variance": 0.09}, {"coef_variance": 1e6}])
def test_runs_agree_wherever_the_response_is(changes):
    """Far from zero the evidence of 250 particles scatters no more than it does near it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0, 3.0, size=(25, 1))
    y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=25)
    settings = KernelSettings(gaussian, particles=250, **changes)
    for shift in (0.0, 100.0, 1000.0):
        jobs = [FilterJob(settings, x, y + shift)] * 24
        states = run_passes(jobs, np.random.default_rng(1), n_jobs=1, progress=False)
        # 0.4 to 1.2, at all three; with a start that knows nothing of the response up to 1,000.
        assert np.std([state.log_evidence for state in states], ddof=1) < 2.0


def test_variances_that_are_fixed_need_no_start():
    rng = np.random.default_rng(0)
    particles, log_weights = start(FIXED, 5, 1e3, rng)
    np.testing.assert_array_equal(particles.sigma2, 0.3)
    np.testing.assert_array_equal(particles.delta2, 0.5)
    np.testing.assert_array_equal(log_weights, -np.log(5))
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_evidence_is_that_of_each_row():
    x, y = toy(5)
    settings = replace(FIXED, particles=60_000, rejuvenate=2)
    state = after(settings, x, y, seed=2)
    for t in range(1, 6):
        exact = enumerate_posterior(settings, x[:t], y[:t])[1]
        assert state.log_evidence_path[t - 1] == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("importance", ["exact", "paper"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"noise_variance": 0.2},
        {"coef_variance": 0.7},
        {"max_kernels": 2},
        {"move_fraction": 0.4},
        {"trend": 2},
        {"trend": 2, "max_kernels": 1},
    ],
)
def test_particles_are_those_of_the_twin(importance, changes):
    settings = replace(RANDOM, importance=importance, rejuvenate=5, **changes)
    x, y = toy(7, d=2)
    rng, twin_rng = np.random.default_rng(3), np.random.default_rng(3)
    particles, _ = start(settings, 20, y[0], rng)
    start(settings, 20, y[0], twin_rng)
    sets = [()] * 20
    variances = list(zip(particles.sigma2, particles.delta2, strict=True))
    columns, loop = Columns(settings, x, y), loop_of(settings)
    factor, counts = np.empty(20), (np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))
    for t in range(1, 8):
        columns.see_row()
        loop.propose(rng, t, particles.k, particles.centres, factor)
        proposed = [propose(settings, t, old, twin_rng) for old in sets]
        np.testing.assert_allclose(factor, [weight for _, weight in proposed], rtol=1e-12, atol=1e-12)
        if importance == "exact":
            columns.ensure(np.append(particles.held(), np.int32(t - 1)))
            loop.see(columns.slot[:t], columns.gram, columns.moments, columns.yy)
            chance = (1.0, 0.3, 0.0)[t % 3]
            loop.weigh(
                rng,
                np.full(len(particles.k), chance),
                particles.k,
                particles.centres,
                particles.sigma2,
                particles.delta2,
                factor,
            )
            proposed = [
                weigh(settings, x[:t], y[:t], old, *each, twin_rng, chance)
                for (old, _), each in zip(proposed, variances, strict=True)
            ]
            np.testing.assert_allclose(factor, [weight for _, weight in proposed], rtol=1e-6, atol=1e-6)
            for i, (new, _) in enumerate(proposed):
                assert tuple(particles.centres[i, : particles.k[i]]) == new
        pool = rng.integers(t, size=11, dtype=np.int32)
        twin_rng.integers(t, size=11, dtype=np.int32)
        columns.ensure(np.concatenate([particles.held(), pool]))
        refresh(loop, columns, particles, 5, pool, rng, counts)
        columns.retain(particles.held())
        for i, (old, _) in enumerate(proposed):
            sets[i], *given = rejuvenate(settings, x[:t], y[:t], old, *variances[i], pool, twin_rng)
            beta, *drawn = draw(settings, x[:t], y[:t], sets[i], *given, twin_rng)
            variances[i] = tuple(drawn)
            assert tuple(particles.centres[i, : particles.k[i]]) == sets[i]
            assert np.all(particles.centres[i, particles.k[i] :] == -1)
            # Rounding is magnified by the inverse of a matrix whose condition is up to 1e8 here.
            np.testing.assert_allclose(particles.beta[i, : len(beta)], beta, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose((particles.sigma2[i], particles.delta2[i]), drawn, rtol=1e-6)
            twin = log_marginal(settings, x[:t], y[:t], sets[i], *drawn)
            assert particles.log_marginal[i] == pytest.approx(twin, rel=1e-6, abs=1e-6)
        # The twin goes on from the same numbers, or rounding would add up.
        variances = list(zip(particles.sigma2, particles.delta2, strict=True))
    assert counts[1].sum() > 20


def test_weights_where_columns_are_nearly_dependent():
    """Centres within a width of each other, with coefficients of up to a thousand times the noise."""
    rng, twin_rng = np.random.default_rng(3), np.random.default_rng(3)
    made = np.random.default_rng(1)
    x = made.uniform(0.0, 1.0, (50, 1))
    y, t, n = np.sin(4.0 * x[:, 0]) + 0.3 * made.standard_normal(50), 50, 6
    settings = replace(RANDOM, max_kernels=10)
    particles, _ = start(settings, n, y[0], made)
    columns, loop = Columns(settings, x, y), loop_of(settings)
    for _ in range(t):
        columns.see_row()
    particles.k[:], particles.sigma2[:], particles.delta2[:] = 7, 0.09, 10.0 ** np.arange(n)
    for row in particles.centres:
        row[:7] = np.sort(made.choice(t - 1, 7, replace=False))
    sets = [tuple(row[:7].tolist()) for row in particles.centres]
    columns.ensure(np.append(particles.held(), np.int32(t - 1)))
    loop.see(columns.slot[:t], columns.gram, columns.moments, columns.yy)
    given, factor = (particles.k, particles.centres, particles.sigma2, particles.delta2), np.empty(n)
    loop.weigh(rng, np.ones(n), *given, factor)
    twin = [weigh(settings, x, y, old, 0.09, d, twin_rng) for old, d in zip(sets, given[3], strict=True)]
    # Both lose digits: the ratio of delta^2 times the largest eigenvalue to sigma^2 is 1e8.
    np.testing.assert_allclose(factor, [weight for _, weight in twin], rtol=0, atol=1e-5)
    for row, k, (new, _) in zip(particles.centres, particles.k, twin, strict=True):
        assert tuple(row[:k].tolist()) == new


def same(one, other):
    """Assert that two states are the same to the last bit."""
    for field in fields(one):
        first, second = getattr(one, field.name), getattr(other, field.name)
        if field.name == "bit_generator":
            assert first == second
        else:
            np.testing.assert_array_equal(first, second, err_msg=field.name)


@pytest.mark.parametrize(("rejuvenate", "trend", "grouped"), [(0, 0, 5), (3, 0, 512), (3, 0, 5), (3, 1, 8)])
def test_update_is_the_same_as_one_pass(rejuvenate, trend, grouped, monkeypatch):
    # Few rows are kept, so that columns are dropped before, at and after the update.
    monkeypatch.setattr("pyrjsel.kernel.samplers.filter.KEPT", 8)
    monkeypatch.setattr("pyrjsel.kernel.samplers.filter.GROUPED", grouped)
    settings = replace(RANDOM, rejuvenate=rejuvenate, trend=trend)
    x, y = toy(40)
    whole = after(settings, x, y, seed=4)
    parts = after(settings, x[:15], y[:15], seed=4)
    for low, high in ((15, 16), (16, 40)):
        before, known = parts, deepcopy(parts)
        parts = after(settings, x[low:high], y[low:high], state=parts)
        same(before, known)  # what goes on from a state leaves it as it was
    same(whole, parts)
    assert len(whole.owners) < 40


@pytest.mark.parametrize(("trend", "grouped"), [(0, 512), (2, 512), (0, 4), (2, 4)])
def test_cached_columns_are_those_of_their_centres(trend, grouped, monkeypatch):
    monkeypatch.setattr("pyrjsel.kernel.samplers.filter.KEPT", 8)
    monkeypatch.setattr("pyrjsel.kernel.samplers.filter.GROUPED", grouped)
    x, y = toy(40, d=2)
    state = after(replace(RANDOM, trend=trend), x, y, seed=6)
    owners = state.owners[1 + trend :]
    columns = np.column_stack([np.ones(40), x[:, :trend], gaussian(x, x[owners])])
    np.testing.assert_allclose(state.columns, columns.T, rtol=1e-14)
    # Sums of 40 products; those of a trend may cancel.
    products = columns.T @ columns
    if grouped < 40:
        # Those of columns that some particle holds together are valid.
        sets = [np.isin(state.owners, [-1, *row[:k]]) for row, k in zip(state.centres, state.k, strict=True)]
        together = np.any([np.outer(inside, inside) for inside in sets], axis=0)
        assert not together.all()
        products[~together] = state.gram[~together]
    np.testing.assert_allclose(state.gram, products, rtol=1e-13, atol=1e-12 if trend else 0.0)
    np.testing.assert_allclose(state.moments, columns.T @ y, rtol=1e-12, atol=1e-13)
    held = np.unique(state.centres[state.centres >= 0])
    assert set(held) == set(owners)


def test_equal_inputs_are_distinct_points():
    x = np.zeros((8, 1))
    y = np.random.default_rng(0).normal(size=8)
    state = after(replace(RANDOM, mean_kernels=4.0), x, y, seed=7)
    assert np.isfinite(state.log_evidence)
    assert np.isfinite(state.beta).all()
    assert state.k.max() > 1


@pytest.mark.parametrize("rejuvenate", [0, 8])
def test_evidence_of_repeated_runs(rejuvenate):
    settings = replace(FIXED, particles=500, rejuvenate=rejuvenate)
    x, y = toy(6)
    jobs = [FilterJob(settings, x, y)] * 300
    states = run_passes(jobs, np.random.default_rng(11), n_jobs=1, progress=False)
    found = np.array([state.log_evidence for state in states])
    pooled, error = pool_evidence(found)
    assert 0 < error < 0.01
    # The standard error is 0.008: 1.2 % of other seeds would fail, this one is fixed.
    assert pooled == pytest.approx(enumerate_posterior(settings, x, y)[1], abs=0.02)


def test_the_error_of_an_evidence_grows_with_the_spread_of_the_runs():
    """Where passes are far apart, the largest is all of the mean: the delta method would say 1."""
    logs = np.array([-87.0, -56.0, -39.0, -61.0])
    pooled, error = pool_evidence(logs)
    assert pooled == pytest.approx(-39.0 - np.log(4))
    assert error == pytest.approx(logs.std(ddof=1) / 2)
    near = -39.0 + 0.01 * np.array([1.0, 0.0, -1.0, 0.5])
    # To first order in the spread both errors are the same.
    assert pool_evidence(near)[1] == pytest.approx(near.std(ddof=1) / 2, rel=0.02)


def test_one_run_has_no_error_of_its_evidence():
    pooled, error = pool_evidence(np.array([-3.0]))
    assert pooled == -3.0
    assert np.isnan(error)
