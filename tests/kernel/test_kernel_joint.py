"""Joint-distribution test (Geweke 2004): kernels, variances and coefficients from the prior, responses
given them, then invariant moves given the responses. The prior must come out again after any number of moves.

Replicates are independent. What is tested has a known distribution under the joint one: each variance, the
number of kernels, whether a row is a centre, coefficients over delta, and residuals over sigma.
"""

from dataclasses import replace

import numpy as np
import pytest
from reference_kernel import design
from scipy.stats import binomtest, chi2, chisquare, invgamma, kstest

from pyrjsel.kernel.samplers.columns import Columns
from pyrjsel.kernel.samplers.particles import loop_of, refresh, start
from pyrjsel.kernel.state import KernelSettings

ROWS, MOST = 7, 4


def gaussian(rows, centres):
    return np.exp(-0.5 * ((rows[:, None] - centres[None]) ** 2).sum(axis=2))


SETTINGS = KernelSettings(
    gaussian, mean_kernels=1.6, max_kernels=MOST, a_y=3.0, b_y=1.0, a_beta=2.5, b_beta=4.0
)
SIZES = np.cumprod([1.0, *(1.6 / j for j in range(1, MOST + 1))])
SIZES = SIZES / SIZES.sum()


def p_values(replicates, sweeps, seed, trend=0):
    """Return the p-values of what is tested, after so many sweeps of five moves."""
    rng = np.random.default_rng(seed)
    settings, fixed = replace(SETTINGS, trend=trend), 1 + trend
    x = rng.normal(scale=1.5, size=(ROWS, max(trend, 1)))
    loop, counts = loop_of(settings), (np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))
    particle, _ = start(settings, 1, 0.0, rng)
    found = np.empty((replicates, 6))
    for i in range(replicates):
        k = rng.choice(MOST + 1, p=SIZES)
        centres = np.sort(rng.choice(ROWS, size=k, replace=False))
        sigma2, delta2 = (invgamma.rvs(a, scale=b, random_state=rng) for a, b in ((3.0, 1.0), (2.5, 4.0)))
        beta = np.sqrt(delta2) * rng.normal(size=k + fixed)
        y = design(settings, x, tuple(centres)) @ beta + np.sqrt(sigma2) * rng.normal(size=ROWS)
        columns = Columns(settings, x, y)
        columns.see_all()
        columns.ensure(np.arange(ROWS, dtype=np.int32))
        particle.k[0], particle.sigma2[0], particle.delta2[0] = k, sigma2, delta2
        particle.centres[0] = -1
        particle.centres[0, :k] = centres
        for _ in range(sweeps):
            refresh(loop, columns, particle, 5, rng.integers(ROWS, size=5, dtype=np.int32), rng, counts)
        size = particle.k[0]
        after = particle.centres[0, :size]
        sigma2, delta2, beta = particle.sigma2[0], particle.delta2[0], particle.beta[0, : size + fixed]
        residual = y - design(settings, x, tuple(after)) @ beta
        found[i] = (
            invgamma.cdf(sigma2, 3.0, scale=1.0),
            invgamma.cdf(delta2, 2.5, scale=4.0),
            chi2.cdf(residual @ residual / sigma2, ROWS),
            chi2.cdf(beta @ beta / delta2, size + fixed),
            size,
            0 in after,
        )
    assert counts[1].min() > 0.05 * counts[0].min()
    tallies = np.bincount(found[:, 4].astype(int), minlength=MOST + 1)
    # The share of sets that hold a given row is E[k] / ROWS.
    share = SIZES @ np.arange(MOST + 1) / ROWS
    return [
        *(kstest(found[:, j], "uniform").pvalue for j in range(4)),
        chisquare(tallies, replicates * SIZES).pvalue,
        binomtest(int(found[:, 5].sum()), replicates, share).pvalue,
    ]


@pytest.mark.parametrize("trend", [0, 2])
def test_moves_leave_the_joint_distribution(trend):
    """Six p-values of 1,500 replicates at 1e-6 each; the statistical test below has twenty times as many."""
    assert min(p_values(1500, 3, 1, trend)) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("trend", [0, 2])
@pytest.mark.parametrize("sweeps", [1, 10])
def test_moves_leave_the_joint_distribution_of_many(sweeps, trend):
    """False-alarm rate 6e-6 each."""
    assert min(p_values(30_000, sweeps, 2, trend)) > 1e-6
