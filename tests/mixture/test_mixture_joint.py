"""Joint-distribution tests (Geweke 2004) of whole sweeps.

Subset, kernels, weights, kernels of rows, labels and inputs are drawn from their joint distribution, some
labels and inputs are hidden, and sweeps are made given the rest: the joint distribution must come out again.
Replicates are independent, so that each quantity before and after is a pair of dependent draws of one law.
"""

from dataclasses import replace

import mixture_kit as kit
import numpy as np
import pytest
from scipy.stats import chisquare, ttest_rel
from turns import every

from pyrjsel.mixture.priors import MixturePrior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.mixture.sampler import Replica, gaps
from pyrjsel.model_space import Bernoulli, enumerate_models, unpack

N, P, D, K = 8, 3, 2, 3
PRIORS = {
    "wide": MixturePrior(alpha=1.5, g=1.5, h=5.0, min_sd=0.15, kappa0=0.5, psi0=0.3),
    "default": MixturePrior(),
}


def draw_null(z, inside, j, prior, surplus, rng):
    """Draw column j given the columns `inside` under the null model.

    Its density is (1 + x' H x / psi)^-(nu + N) / 2 with nu = surplus + s + 1: a Student distribution.
    """
    centre = np.eye(N) - 1.0 / (prior.kappa0 + N)
    x = z[:, inside]
    scatter = prior.psi0 * np.eye(len(inside)) + x.T @ centre @ x
    form = centre - centre @ x @ np.linalg.solve(scatter, x.T @ centre)
    lower = np.linalg.cholesky(form)
    degrees = surplus + len(inside) + 1
    normal = np.linalg.solve(lower.T, rng.standard_normal(N))
    return np.sqrt(prior.psi0) * normal / np.sqrt(2.0 * rng.standard_gamma(0.5 * degrees))


def draw_joint(problem, subsets, share, rng):
    """A state and the complete inputs (N, p) and labels (N,)."""
    prior = problem.prior
    gamma = subsets[rng.choice(len(subsets), p=share)]
    beta, precision, mean = np.ones(P), np.ones((P, D)), np.zeros((P, D))
    weight, class_prior = rng.dirichlet(np.ones(D), size=K), rng.dirichlet(np.ones(K))
    klass = rng.choice(K, size=N, p=class_prior)
    kernel = (rng.random(N) > weight[klass, 0]).astype(np.int32)
    z = np.zeros((N, P))
    for i in np.flatnonzero(gamma):
        beta[i], precision[i], mean[i] = prior.sample_kernels(D, rng)
        z[:, i] = mean[i, kernel] + rng.standard_normal(N) / np.sqrt(precision[i, kernel])
    inside = np.flatnonzero(gamma).tolist()
    for j in np.flatnonzero(gamma == 0).tolist():
        given = inside if problem.background == "gaussian" else []
        z[:, j] = draw_null(z, given, j, prior, prior.surplus(P), rng)
        inside = [*inside, j]
    state = Replica(
        gamma.copy(),
        beta,
        precision,
        mean,
        weight,
        class_prior,
        kernel,
        klass.astype(np.int32),
        np.zeros(0),
        np.zeros(0),
    )
    return state, z, klass.astype(np.int32)


def quantities(state, hidden_label):
    """Bounded functions of a state: all have means whatever the tails."""
    inside = state.gamma.astype(float)
    log_u = np.where(inside[:, None] > 0, np.tanh(0.3 * (np.log(np.abs(state.precision)) - 2.0)), 0.0)
    mean = np.where(inside[:, None] > 0, np.tanh(state.mean), 0.0)
    log_beta = np.where(inside > 0, np.tanh(0.3 * (np.log(state.beta) + 1.0)), 0.0)
    held = np.bincount(state.kernel, minlength=D)[0] / N
    z = np.tanh(state.imputed)
    first = log_u.sum(axis=1)
    return np.concatenate(
        [
            inside, [inside[0] * inside[1], inside[1] * inside[2], inside.prod(), inside.sum() ** 2],
            log_u[:, 0], log_u[:, 0] * log_u[:, 1], first * inside.sum(), mean[:, 0], mean[:, 0] ** 2,
            mean[:, 0] * mean[:, 1], log_beta, log_beta * first, log_beta**2,
            state.weight[:, 0], [state.weight[0, 0] * state.weight[1, 0]], state.weight[:, 0] ** 2,
            state.prior, state.prior**2, [held, held**2, held * inside.sum()],
            state.klass[hidden_label] == 0, z, z**2, z * inside.sum(), z * mean[:, 0].sum(),
            [z.prod(), (state.klass == 0).mean() * state.prior[0]],
        ]
    )  # fmt: skip


def simulate(background, proposal, missing, prior, replicates, sweeps, seed):
    """Quantities before and after (replicates, m), and subsets after with their prior."""
    rng = np.random.default_rng(seed)
    space = kit.space_of(P, Bernoulli([0.3, 0.5, 0.6]))
    subsets = unpack(enumerate_models(space, 100), P)
    share = np.exp(space.log_prior(subsets))
    share /= share.sum()
    hidden_z, hidden_label = np.zeros((N, P), dtype=bool), np.zeros(N, dtype=bool)
    if missing:
        hidden_label[[0, 3]] = True
        hidden_z[[0, 1, 1, 5], [0, 1, 2, 2]] = True
    before, after, index = [], [], []
    moves = 4 if proposal == "conditional" else 12
    blank = MixtureProblem(
        np.zeros((N, P)), np.zeros(N, dtype=np.int32), K, np.zeros(P), PRIORS[prior], D, background, space
    )
    for _ in range(replicates):
        state, z, label = draw_joint(blank, subsets, share, rng)
        problem = replace(blank, z=np.where(hidden_z, np.nan, z), label=np.where(hidden_label, -1, label))
        # Missing inputs are part of the state where the null model ties inputs together.
        state.imputed = z.T[gaps(problem)]
        before.append(quantities(state, hidden_label))
        job = kit.job_of(problem, proposal=proposal)
        chain = job.loop(state)
        chain.sweeps(rng, sweeps, moves=moves)
        state = job.replica(chain.state())
        after.append(quantities(state, hidden_label))
        index.append(int(np.flatnonzero((subsets == state.gamma).all(axis=1))[0]))
    return np.array(before), np.array(after), np.bincount(index, minlength=len(subsets)), share


def assert_joint(before, after, visits, share, level):
    """All tests together reject a right sampler with probability `level` at most."""
    moved = np.any(before != after, axis=0)
    assert moved.sum() > 30
    p = [*ttest_rel(before[:, moved], after[:, moved]).pvalue, chisquare(visits, share * visits.sum()).pvalue]
    assert np.min(p) > level / len(p), (np.argmin(p), np.min(p))


CASES = [
    (background, proposal, missing)
    for background in ("gaussian", "independent")
    for proposal in ("conditional", "prior")
    for missing in (False, True)
]


@pytest.mark.parametrize(("background", "proposal", "missing"), every(3, CASES))
def test_sweeps_leave_the_joint_distribution(background, proposal, missing):
    """Eight tests with a false-alarm rate of 1e-6 each; the statistical tests below have more replicates."""
    assert_joint(*simulate(background, proposal, missing, "wide", 1500, 3, 1), level=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("background", "proposal", "missing"), CASES)
def test_the_joint_distribution_comes_out(background, proposal, missing, prior):
    """16 tests with a false-alarm rate of 1e-6 each."""
    assert_joint(*simulate(background, proposal, missing, prior, 12_000, 4, 2), level=1e-6)
