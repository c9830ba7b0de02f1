"""Simulation-based calibration of classifiers given inputs: ranks of true values among their draws."""

import warnings

import numpy as np
import pytest
from scipy.stats import chisquare

import pyrjsel as rj
from pyrjsel.mixture.sampler import first_replica
from pyrjsel.model_space import Bernoulli

DATA_SETS, DRAWS, THIN, ROWS, INPUTS = 1000, 19, 100, 24, 3
LEVEL = 1e-6


def probability(mean, variance, weight, prior, z):
    """Probability of the last class at a row z (p,), by draw; arrays as posteriors keep them."""
    known = ~np.isnan(mean)
    gap = np.where(known, (z - mean) ** 2 / variance + np.log(variance), 0.0)
    log_kernel = -0.5 * gap.sum(axis=-1)
    density = np.exp(log_kernel - log_kernel.max(axis=-1, keepdims=True))
    of_class = prior * (weight @ density[..., None])[..., 0]
    return of_class[..., -1] / of_class.sum(axis=-1)


def quantities(mean, variance, weight, prior, z):
    """Functions of draws (S, ...) that do not depend on the order of kernels, by name."""
    lowest = np.where(np.isnan(mean[:, :, 0]), 0.0, mean[:, :, 0]).min(axis=1)
    widest = np.where(np.isnan(variance[:, :, 1]), 0.0, variance[:, :, 1]).max(axis=1)
    return {
        "size": (~np.isnan(mean[:, 0])).sum(axis=1),
        "lowest mean": lowest,
        "largest variance": widest,
        "largest weight": weight[:, 0].max(axis=1),
        "class probability": prior[:, 0],
        "prediction": probability(mean, variance, weight, prior, z),
    }


def drawn_model(rng, *, components, missing, proposal, **prior):
    """Return a model of labels drawn from the prior, and the truth as draws (1, ...)."""
    X = rng.standard_normal((ROWS, INPUTS)) @ rng.standard_normal((INPUTS, INPUTS))
    X[:, :2][rng.random((ROWS, 2)) < missing] = np.nan  # every row keeps an input

    def made(labels):
        return rj.MixtureClassifier(
            labels,
            X,
            components=components,
            classes=["a", "b"],
            model_prior=Bernoulli(0.5),
            proposal=proposal,
            **prior,
        )

    problem = made(["a", "b"] * (ROWS // 2))._problem(components)
    gamma = (rng.random(INPUTS) < 0.5).astype(np.uint8)
    state = first_replica(problem, gamma, rng)
    outside = gamma == 0
    mean, variance = state.mean.T.copy(), 1.0 / state.precision.T
    mean[:, outside] = variance[:, outside] = np.nan
    truth = mean[None], variance[None], state.weight[None], state.prior[None]
    # A missing input is left out of the densities of its row.
    chances = []
    for z in problem.z:
        gaps = np.isnan(z)
        seen = [np.where(gaps, np.nan, part) for part in truth[:2]]
        chances.append(probability(*seen, *truth[2:], np.where(gaps, 0.0, z))[0])
    labels = np.where(rng.random(ROWS) < chances, "b", "a")
    likelihood = np.log(np.where(labels == "b", chances, 1.0 - np.array(chances))).sum()
    return made(labels), truth, likelihood


def ranks(seed, **options):
    """Ranks of the true values of one data set among `DRAWS` draws, ties broken at random, by name."""
    rng = np.random.default_rng(seed)
    model, truth, likelihood = drawn_model(
        rng,
        components=(2, 3)[seed % 2],
        missing=(0.0, 0.15)[seed // 2 % 2],
        proposal=("conditional", "prior")[seed // 4 % 2],
        prior=rj.KernelPrior(g=1.0, h=0.5),
        weight_prior=(0.5, 1.0)[seed // 8 % 2],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rj.ConvergenceWarning)  # of few draws
        posterior = model.fit(
            draws=DRAWS, thin=THIN, burn_in=400, chains=1, rng=seed, n_jobs=1, progress=False, **options
        ).posterior
    z = rng.uniform(-0.5, 0.5, size=INPUTS)
    draws = [getattr(posterior, name)[0] for name in ("mean", "variance", "weight", "prior")]
    assert len(draws[0]) == DRAWS
    true, found = quantities(*truth, z), quantities(*draws, z)
    true["log likelihood"], found["log likelihood"] = np.array([likelihood]), posterior.log_likelihood[0]
    return {
        name: int((found[name] < true[name][0]).sum())
        + int(rng.integers(1 + (found[name] == true[name][0]).sum()))
        for name in true
    }


@pytest.mark.statistical
def test_ranks_of_true_values_are_uniform():
    """1,000 data sets from the prior. Seven chi-square tests: they reject a right sampler with LEVEL in all.

    Draws are 100 sweeps apart, about independent.
    """
    found = [ranks(seed) for seed in range(DATA_SETS)]
    p = {}
    for name in found[0]:
        counts = np.bincount([each[name] for each in found], minlength=DRAWS + 1)
        p[name] = float(chisquare(counts).pvalue)
    print({name: round(value, 3) for name, value in p.items()})
    assert min(p.values()) > LEVEL / len(p), p
