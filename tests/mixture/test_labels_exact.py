"""Chains of labels given inputs against integrals over the prior, and joint-distribution tests."""

from dataclasses import replace

import mixture_kit as kit
import numpy as np
import pytest
from mixture_kit import labels_problem, toy
from scipy.stats import chisquare, ttest_rel

from pyrjsel.mixture.sampler import first_replica
from pyrjsel.model_space import Bernoulli, enumerate_models, merge_visits, unpack
from pyrjsel.report import indicator_stats

BATCH = 20_000


def subsets_of(problem):
    return unpack(enumerate_models(problem.space, 100), problem.n_inputs)


def evidence(problem, gamma, draws, rng):
    """The mean of the labels' probability over the prior of kernels and weights, and its standard error."""
    prior, D, K = problem.prior, problem.components, problem.n_classes
    rows, values = np.arange(problem.n_rows), []
    for _ in range(draws // BATCH):
        weight = rng.dirichlet(np.full(D, problem.weight_prior), size=(BATCH, K))
        share = rng.dirichlet(np.ones(K), size=BATCH)
        log_kernel = np.zeros((BATCH, problem.n_rows, D))
        for i in np.flatnonzero(gamma):
            beta = rng.gamma(prior.g, size=(BATCH, 1)) / problem.rate[i]
            u = (rng.gamma(prior.alpha, size=(BATCH, D)) / beta)[:, None, :]
            z = problem.z[:, i, None]
            part = 0.5 * np.log(u) - 0.5 * u * (z - rng.standard_normal((BATCH, 1, D))) ** 2
            log_kernel += np.where(np.isnan(z), 0.0, part)
        density = np.exp(log_kernel - log_kernel.max(axis=2, keepdims=True))
        by_class = np.einsum("bnd,bkd->bnk", density, weight) * share[:, None, :]
        values.append(np.prod(by_class[:, rows, problem.label] / by_class.sum(axis=2), axis=1))
    found = np.concatenate(values)
    return found.mean(), found.std() / np.sqrt(found.size)


def posterior_by_integration(problem, draws, seed):
    """Posterior probabilities of the subsets, their standard errors, and the subsets."""
    rng, subsets = np.random.default_rng(seed), subsets_of(problem)
    values = np.array([evidence(problem, gamma, draws, rng) for gamma in subsets])
    mass = np.exp(problem.space.log_prior(subsets))[:, None] * values
    share = mass[:, 0] / mass[:, 0].sum()
    relative = values[:, 1] / values[:, 0]
    # Delta method: d log share_k = e_k - sum share_j e_j.
    gradient = np.eye(len(share)) - share
    return share, share * np.sqrt((gradient**2) @ relative**2), subsets


def gaps(problem, *, draws, sweeps, seed, **options):
    """Differences between the frequencies of a chain and these probabilities, in their joint errors."""
    exact, error, subsets = posterior_by_integration(problem, draws, seed)
    job = kit.job_of(problem, draws=sweeps, burn_in=1000, every=sweeps, **options)
    runner = job.start(np.random.SeedSequence(seed), 0)
    runner.advance(job.total)
    found = runner.finish(True)
    index, visited = merge_visits([(found.words, found.index)], sweeps, problem.n_inputs)
    is_subset = (np.asarray(visited)[:, None, :] == subsets[None, :, :]).all(axis=2)
    stats = indicator_stats(index, is_subset)
    assert np.min(stats.ess) > 100
    return (stats.mean - exact) / np.hypot(stats.mcse, error)


# Student deviates of about 30 batches are beyond 6.5 with probability 4e-7; four a problem.
@pytest.mark.parametrize(
    ("classes", "components", "missing", "options"),
    [(2, 2, 0.0, {}), (3, 3, 0.15, {"temperatures": 3}), (2, 3, 0.15, {"proposal": "prior"})],
)
def test_frequencies_are_posterior_probabilities(classes, components, missing, options):
    x, label = toy(n=8, p=2, seed=3, classes=classes, missing=missing)
    weight_prior = 1.0 if classes == 2 else 0.5
    problem = labels_problem(x, label, components=components, weight_prior=weight_prior)
    assert np.abs(gaps(problem, draws=100_000, sweeps=40_000, seed=1, **options)).max() < 6.5


@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(20))
def test_frequencies_on_random_problems(seed):
    """Twenty times four deviates, each beyond 6.5 with probability 4e-7."""
    rng = np.random.default_rng(seed)
    classes, components = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    x, label = toy(n=12, p=2, seed=seed, classes=classes, missing=float(rng.choice([0.0, 0.2])))
    problem = labels_problem(
        x,
        label,
        components=components,
        weight_prior=float(rng.choice([0.5, 1.0, 2.0])),
        g=float(rng.choice([0.5, 2.0])),
        h=float(rng.choice([0.3, 1.0])),
    )
    proposal = ("conditional", "prior")[seed % 2]
    found = gaps(
        problem,
        draws=1_000_000,
        sweeps=300_000,
        seed=seed,
        proposal=proposal,
        temperatures=1 + 2 * (seed // 2 % 2),
    )
    print(f"largest deviate {np.abs(found).max():.2f}")
    assert np.abs(found).max() < 6.5


# ------------------------------------------------------------------ joint distribution

N, P, D, K = 8, 3, 2, 3


def draw_labels(problem, state, rng):
    """Labels given inputs and a state."""
    log_kernel = np.zeros((N, D))
    for i in np.flatnonzero(state.gamma):
        z, u = problem.z[:, i, None], state.precision[i]
        log_kernel += np.where(np.isnan(z), 0.0, 0.5 * np.log(u) - 0.5 * u * (z - state.mean[i]) ** 2)
    density = np.exp(log_kernel - log_kernel.max(axis=1, keepdims=True))
    share = state.prior * (density @ state.weight.T)
    return np.array([rng.choice(K, p=row / row.sum()) for row in share], dtype=np.int32)


def quantities(state):
    """Bounded functions of a state."""
    inside = state.gamma.astype(float)
    log_u = np.where(inside[:, None] > 0, np.tanh(0.3 * (np.log(state.precision) - 2.0)), 0.0)
    mean = np.where(inside[:, None] > 0, np.tanh(state.mean), 0.0)
    log_beta = np.where(inside > 0, np.tanh(0.3 * (np.log(state.beta) + 1.0)), 0.0)
    first = log_u.sum(axis=1)
    return np.concatenate(
        [
            inside, [inside[0] * inside[1], inside.prod(), inside.sum() ** 2],
            log_u[:, 0], log_u[:, 0] * log_u[:, 1], first * inside.sum(), mean[:, 0], mean[:, 0] ** 2,
            mean[:, 0] * mean[:, 1], log_beta, log_beta * first, log_beta**2,
            state.weight[:, 0], [state.weight[0, 0] * state.weight[1, 0]], state.weight[:, 0] ** 2,
            state.prior, state.prior**2, first * state.prior[0], mean[:, 0] * state.weight[0, 0],
        ]
    )  # fmt: skip


def simulate(proposal, missing, replicates, sweeps, seed):
    """Quantities before and after sweeps, and visits after with the prior of the subsets."""
    rng = np.random.default_rng(seed)
    x, label = toy(n=N, p=P, seed=seed, classes=K, missing=0.2 if missing else 0.0)
    space = {"prior": Bernoulli([0.3, 0.5, 0.6])}
    blank = labels_problem(x, label, components=D, weight_prior=0.7, g=1.0, h=0.5, **space)
    subsets = subsets_of(blank)
    share = np.exp(blank.space.log_prior(subsets))
    share /= share.sum()
    before, after, index = [], [], []
    for _ in range(replicates):
        gamma = subsets[rng.choice(len(subsets), p=share)]
        state = first_replica(blank, gamma, rng)
        problem = replace(blank, label=draw_labels(blank, state, rng))
        before.append(quantities(state))
        job = kit.job_of(problem, proposal=proposal)
        chain = job.loop(state)
        chain.sweeps(rng, sweeps, moves=3)
        state = job.replica(chain.state())
        after.append(quantities(state))
        index.append(int(np.flatnonzero((subsets == state.gamma).all(axis=1))[0]))
    return np.array(before), np.array(after), np.bincount(index, minlength=len(subsets)), share


def assert_joint(before, after, visits, share, level):
    """All tests together reject a right sampler with probability `level` at most."""
    moved = np.any(before != after, axis=0)
    assert moved.sum() > 30
    p = [*ttest_rel(before[:, moved], after[:, moved]).pvalue, chisquare(visits, share * visits.sum()).pvalue]
    assert np.min(p) > level / len(p), (np.argmin(p), np.min(p))


JOINT = [(proposal, missing) for proposal in ("conditional", "prior") for missing in (False, True)]


@pytest.mark.parametrize(("proposal", "missing"), JOINT)
def test_sweeps_leave_the_joint_distribution(proposal, missing):
    """Four tests with a false-alarm rate of 1e-6 each; those below have more replicates."""
    assert_joint(*simulate(proposal, missing, 1500, 5, seed=11), level=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(("proposal", "missing"), JOINT)
def test_many_sweeps_leave_the_joint_distribution(proposal, missing):
    """Four tests with a false-alarm rate of 1e-6 each."""
    assert_joint(*simulate(proposal, missing, 40_000, 10, seed=12), level=1e-6)
