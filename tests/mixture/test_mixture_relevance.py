"""Which inputs are found to matter: units, noise, copies, and what has nothing to do with the classes."""

import mixture_kit as kit
import numpy as np
import pytest

from pyrjsel.model_space import merge_visits
from pyrjsel.report import indicator_stats

sklearn_datasets = pytest.importorskip("sklearn.datasets")


def inclusion(problem, *, draws=3000, burn_in=500, chains=2, seed=1, **options):
    """Share of the draws with each input, over chains that must agree on it."""
    job = kit.job_of(problem, draws=draws, burn_in=burn_in, every=draws, **options)
    found = []
    for chain, child in enumerate(np.random.SeedSequence(seed).spawn(chains)):
        runner = job.start(child, chain)
        runner.advance(job.total)
        result = runner.finish(True)
        found.append((result.words, result.index))
    return indicator_stats(*merge_visits(found, draws, problem.n_inputs)).mean


def wine(rows, noise, seed):
    """Rows of the wine data drawn at random, with columns of normal noise at the end."""
    x, label = sklearn_datasets.load_wine(return_X_y=True)
    rng = np.random.default_rng(seed)
    kept = rng.permutation(len(label))[:rows]
    return np.column_stack([x[kept], rng.standard_normal((rows, noise))]), label[kept]


@pytest.mark.parametrize("background", ["gaussian", "independent"])
def test_units_do_not_matter(background):
    """A power of two leaves range units as they are, bit for bit; a thousand leaves the subsets."""
    x, label = kit.toy(60, 4, missing=0.05, unlabelled=0.1)
    draws = []
    for factor in (1.0, 1024.0, 1000.0):
        problem = kit.problem_of(x * np.array([1, factor, 1, 1]), label, background=background, n_classes=2)
        job = kit.job_of(problem, draws=500, burn_in=0)
        runner = job.start(np.random.SeedSequence(1), 0)
        runner.advance(job.total)
        draws.append(runner.finish(True))
    for name in ("log_posterior", "log_likelihood", "mean", "words", "index"):
        np.testing.assert_array_equal(getattr(draws[0], name), getattr(draws[1], name))
    np.testing.assert_array_equal(draws[0].words[draws[0].index], draws[2].words[draws[2].index])
    np.testing.assert_allclose(draws[0].log_posterior, draws[2].log_posterior, rtol=1e-9)


def test_units_matter_without_a_background():
    x, label = kit.toy(60, 4)
    found = [
        inclusion(kit.problem_of(x * factor, label, background=None), draws=1000) for factor in (0.01, 1.0)
    ]
    np.testing.assert_allclose(found[0], 1.0)
    np.testing.assert_allclose(found[1], 0.0)


def test_a_near_copy_is_left_out():
    rng = np.random.default_rng(1)
    label = np.arange(200) % 2
    x = rng.standard_normal((200, 3))
    x[:, 0] += 3.0 * label
    x[:, 1] = x[:, 0] + 0.05 * x[:, 1]
    found = inclusion(kit.problem_of(x, label))
    # One of the two stands for both; independent inputs look relevant twice. Of 36,000 draws (six seeds) none
    # had both or neither; here are 6,000, of which 30 may.
    np.testing.assert_allclose(found[:2].sum(), 1.0, atol=0.005)
    assert found[2] < 0.1
    assert np.all(inclusion(kit.problem_of(x, label, background="independent"))[:2] > 0.99)


def test_a_factor_that_says_nothing_of_the_classes_is_left_out():
    """With seven noisy copies, which it predicts: that is no reason to select it."""
    rng = np.random.default_rng(2)
    label = np.arange(200) % 2
    factor = rng.standard_normal((200, 1))
    copies = factor + 0.3 * rng.standard_normal((200, 7))
    x = np.column_stack([factor, copies, rng.standard_normal(200) + 3.0 * label])
    found = inclusion(kit.problem_of(x, label))
    assert found[-1] > 0.99
    assert np.all(found[:-1] < 0.1)


@pytest.mark.parametrize("rows", [62, 178])
def test_noise_beside_wine(rows):
    x, label = wine(rows, 1, seed=1)
    found = inclusion(kit.problem_of(x, label, components=3))
    assert found[-1] < 0.2
    assert np.sum(found[:-1] > 0.9) >= 3


@pytest.mark.statistical
@pytest.mark.parametrize("rows", [62, 125, 178])
@pytest.mark.parametrize("seed", range(6))
def test_noise_beside_wine_again(rows, seed):
    """A property of these draws of noise, not of chance: seeds are fixed, and chains agree."""
    x, label = wine(rows, 1, seed=seed)
    found = inclusion(kit.problem_of(x, label, components=3), draws=10_000)
    assert found[-1] < 0.2
