"""The batch sampler of kernel regression against enumeration, and the filter against it."""

from itertools import combinations

import numpy as np
import pytest
from reference_kernel import design, enumerate_posterior
from scipy.special import gammaln

from pyrjsel.kernel.samplers.filter import FilterJob, run_passes
from pyrjsel.kernel.samplers.mcmc import run_mcmc
from pyrjsel.kernel.samplers.tempering import Path
from pyrjsel.kernel.state import KernelSettings
from pyrjsel.runtime import FitSettings


def gaussian(rows, centres):
    return np.exp(-0.5 * ((rows[:, None] - centres[None]) ** 2).sum(axis=2))


def toy(t, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=2.0, size=(t, 1))
    return x, 1.2 * np.sinc(x[:, 0]) + 0.4 * rng.normal(size=t)


def fit(draws, chains, seed=1, thin=1):
    return FitSettings(draws, 200, thin, chains, np.random.default_rng(seed), 1, False)


@pytest.mark.parametrize(("all_rows", "trend"), [(1024, 0), (3, 0), (1024, 1), (3, 1)])
def test_sets_against_enumeration(all_rows, trend, monkeypatch):
    monkeypatch.setattr("pyrjsel.kernel.samplers.mcmc.ALL_ROWS", all_rows)
    settings = KernelSettings(
        gaussian,
        mean_kernels=1.5,
        max_kernels=4,
        noise_variance=0.3,
        coef_variance=0.5,
        rejuvenate=6,
        trend=trend,
    )
    x, y = toy(6)
    exact, _ = enumerate_posterior(settings, x, y)
    draws, drawn = run_mcmc(settings, x, y, fit(4000, 2))
    assert not drawn.notes
    assert len(drawn.seconds) == 2
    found = {}
    for k, centres in zip(draws.k.ravel(), draws.centres.reshape(-1, 4), strict=True):
        key = tuple(int(c) for c in centres[:k])
        found[key] = found.get(key, 0.0) + 1.0 / draws.k.size
    assert found.keys() <= exact.keys()
    # Seeds are fixed; 8,000 independent draws of 57 sets would be about 0.03 away.
    assert 0.5 * sum(abs(exact[key] - found.get(key, 0.0)) for key in exact) < 0.06
    sizes = np.bincount([len(key) for key in exact], weights=list(exact.values()))
    np.testing.assert_allclose(np.bincount(draws.k.ravel(), minlength=5) / draws.k.size, sizes, atol=0.03)


def on_a_grid(settings, x, y):
    """Weights (sets, noise, coef) of sets of centres and logs of variances, with the axes.

    At equal steps of the logarithms sums over them converge exponentially.
    """
    t, axes, prior = len(y), [], np.zeros((1, 1))
    for at, (fixed, a, b) in enumerate(
        (
            (settings.noise_variance, settings.a_y, settings.b_y),
            (settings.coef_variance, settings.a_beta, settings.b_beta),
        )
    ):
        axes.append(np.arange(-12.0, 24.0, 0.25) if fixed is None else np.log([fixed]))
        density = -a * axes[at] - b * np.exp(-axes[at]) if fixed is None else np.zeros(1)
        prior = prior + density.reshape((-1, 1) if at == 0 else (1, -1))
    noise, coef = np.exp(axes[0])[:, None, None], np.exp(axes[1])[:, None]
    sets, found = [], []
    for k in range(settings.max_kernels + 1):
        for chosen in combinations(range(t), k):
            columns = design(settings, x, chosen)
            values, vectors = np.linalg.eigh(columns @ columns.T)
            variance = noise + coef * np.maximum(values, 0.0)
            log_rows = -0.5 * (np.log(variance) + (vectors.T @ y) ** 2 / variance).sum(axis=2)
            sets.append(chosen)
            found.append(k * np.log(settings.mean_kernels) + gammaln(t - k + 1.0) + log_rows + prior)
    weight = np.exp(np.array(found) - np.max(found))
    return sets, axes, weight / weight.sum()


@pytest.mark.parametrize("changes", [{}, {"noise_variance": 0.05}, {"coef_variance": 0.7}, {"trend": 1}])
def test_variances_and_sets_against_sums_over_a_grid(changes, monkeypatch):
    """Of independent particles, so that standard errors are known; 5.2 of them at most, for these seeds."""
    particles, rows = 8000, 4
    # Each particle proposes rows of its own.
    monkeypatch.setattr("pyrjsel.kernel.samplers.tempering.PROPOSED", 100 * particles)
    usual = {"mean_kernels": 1.5, "max_kernels": 3, "a_y": 0.5, "b_y": 0.05, "a_beta": 0.3, "b_beta": 0.1}
    settings = KernelSettings(gaussian, rejuvenate=5, **usual | changes)
    x, y = toy(rows)
    sets, axes, weight = on_a_grid(settings, x, y)
    path, rng = Path(settings, x, y), np.random.default_rng(2)
    found = path.start(particles, rng)
    path.move(found, 1.0, 40, rng)
    for values, axis, over in ((found.sigma2, axes[0], (0, 2)), (found.delta2, axes[1], (0, 1))):
        if len(axis) > 1:
            share = weight.sum(axis=over)
            mean, square = share @ axis, share @ axis**2
            error = np.sqrt((square - mean**2) / particles)
            assert abs(np.log(values).mean() - mean) < 5.2 * error
            # A square of a normal deviate has a variance of 2; tails are heavier here.
            assert (np.log(values) ** 2).mean() == pytest.approx(square, rel=0.1)
        else:
            np.testing.assert_allclose(values, np.exp(axis[0]))
    share = weight.sum(axis=(1, 2))
    held = [tuple(row[:k].tolist()) for k, row in zip(found.k, found.centres, strict=True)]
    number = np.array([held.count(each) for each in sets])
    assert number.sum() == particles
    deviate = (number - particles * share) / np.sqrt(particles * share * (1.0 - share) + 1.0)
    assert np.abs(deviate).max() < 5.2


def test_filter_against_chain_with_random_variances():
    settings = KernelSettings(
        gaussian, mean_kernels=1.5, max_kernels=5, a_y=2, b_y=0.5, a_beta=2, b_beta=1, particles=32_000
    )
    x, y = toy(12)
    draws, _ = run_mcmc(settings, x, y, fit(12_000, 2))
    (state,) = run_passes([FilterJob(settings, x, y)], np.random.default_rng(2), progress=False)
    weights = np.exp(state.log_weights)
    sizes = np.bincount(state.k, weights=weights, minlength=6)
    # Over 8 seeds each, differences of the two have standard deviations of 0.005 for sizes, 0.006 for means
    # and 0.018 for the logarithms of variances, at most. 5 of these are allowed.
    np.testing.assert_allclose(np.bincount(draws.k.ravel(), minlength=6) / draws.k.size, sizes, atol=0.025)
    for name in ("sigma2", "delta2"):
        one, other = np.log(getattr(draws, name)).ravel(), np.log(getattr(state, name))
        assert weights @ other == pytest.approx(one.mean(), abs=0.03)
        assert weights @ other**2 - (weights @ other) ** 2 == pytest.approx(one.var(), rel=0.09)


def test_draws_are_thinned_and_the_same_again():
    settings = KernelSettings(gaussian, rejuvenate=3)
    x, y = toy(10)
    every, _ = run_mcmc(settings, x, y, fit(40, 1))
    third, _ = run_mcmc(settings, x, y, fit(10, 1, thin=4))
    np.testing.assert_array_equal(every.sigma2[:, 3::4], third.sigma2)
    np.testing.assert_array_equal(every.centres[:, 3::4], third.centres)
    assert every.beta.shape == (1, 40, 51)
