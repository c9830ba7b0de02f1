"""Joint-distribution tests (Geweke 2004).

Sums and scales are drawn from the prior, cases given them, then updates made given the cases: the prior must
come out again, whatever the number of updates.

Replicates are independent. Log scales under their distribution functions, and sums over their scales under
theirs, are independent and uniform; what depends on the cases is compared with its value before the updates.
"""

from dataclasses import replace

import numpy as np
import pattern_kit as kit
import pytest
from scipy.special import logsumexp
from scipy.stats import cauchy, invgamma, kstest, norm, ttest_rel

from pyrjsel.distributions import LogNormal

PLANS = {
    "steps": (("steps", 1),),
    "turns": (("turns", 1),),
    "paths": (("paths", 1),),
    "centred": (("centred", 1),),
    "scaled": (("scaled", 1),),
    "slice": kit.SLICE,
    "interweaving": None,
}


def uniforms(problem, standard, log_sigma):
    """Independent and uniform under the prior: log scales first, then sums by class and group."""
    found = []
    for scale, t in zip(problem.prior.scales, log_sigma[1:], strict=True):
        if isinstance(scale, LogNormal):
            found.append(norm.cdf(t, scale.w, scale.s))
        else:
            found.append(invgamma.cdf(np.exp(t), scale.a, scale=scale.b))
    family = cauchy if problem.prior.family == "cauchy" else norm
    return np.concatenate([found, family.cdf(standard).ravel()])


def simulate(kind, family, hyper, n_classes, plan, replicates, iterations, seed):
    """Uniforms after the updates (replicates, m), and what depends on the cases before and after."""
    rng = np.random.default_rng(seed)
    groups = kit.groups_of(kind, n=12, p=2 if kind == "interactions" else 3, order=2)
    problem = kit.problem_of(family=family, hyper=hyper, n_classes=n_classes, groups=groups)
    twin = kit.twin_of(problem, (), np.zeros((problem.n_free, problem.n_groups)), np.zeros(3))
    # The rows of the cases, each case a row of indicators of classes.
    row_of = groups.row_of
    found, before, after = [], [], []
    for _ in range(replicates):
        s, log_sigma = kit.draw_prior(twin, rng)
        eta = (s @ twin.member.T)[:, row_of]
        if n_classes == 2:
            eta = np.vstack([np.zeros_like(eta), eta])
        share = np.cumsum(np.exp(eta - logsumexp(eta, axis=0)), axis=0)
        classes = (rng.random(len(row_of)) > share[:-1]).sum(axis=0)
        cases = np.zeros_like(problem.cases)
        np.add.at(cases, (classes, row_of), 1.0)
        twin.problem = replace(problem, cases=cases)
        chain = kit.chain_of(twin.problem, plan or kit.INTERWEAVING[kind], s, log_sigma)
        chain.run(rng, iterations)
        new_s, new_log_sigma = chain.state()
        part = cases.sum(axis=1)[-1]
        for out, sums, scales in ((before, s, log_sigma), (after, new_s, new_log_sigma)):
            # Logarithms and signs: Cauchy sums have no mean.
            size, sign = np.log(np.abs(sums)).mean(), np.sign(sums[-1, 0])
            out.append([twin.log_likelihood(sums), size * part, scales[1:].sum() * part, sign * part])
        found.append(uniforms(problem, new_s / twin.scale(new_log_sigma), new_log_sigma))
    return np.array(found), np.array(before), np.array(after)


def assert_prior(found, before, after, level):
    """All tests together reject a right sampler with probability `level` at most."""
    p = [kstest(column, "uniform").pvalue for column in found.T]
    # Independence shows in the product of any two; means of products have standard deviation 1/12.
    product = (found - 0.5).T @ (found - 0.5) / (1 / 12) / np.sqrt(len(found))
    p.extend(2 * norm.sf(np.abs(product[np.triu_indices(len(product), 1)])))
    moved = np.any(before != after, axis=0)
    p.extend(ttest_rel(before[:, moved], after[:, moved]).pvalue)
    assert np.min(p) > level / len(p)
    return p


@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
def test_every_update_leaves_the_joint_distribution(family):
    """300 replicates with a false-alarm rate of 1e-6 each; the statistical tests below have more."""
    for n_classes, kind, hyper in ((2, "sequence", "log-normal"), (3, "interactions", "inverse gamma")):
        assert_prior(*simulate(kind, family, hyper, n_classes, None, 300, 3, 1), level=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("hyper", kit.HYPERPRIORS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
def test_the_prior_comes_out(family, n_classes, hyper, plan):
    """56 tests with a false-alarm rate of 1e-7 each."""
    found = simulate("sequence", family, hyper, n_classes, PLANS[plan], 1500, 5, 2)
    assert_prior(*found, level=1e-7)


@pytest.mark.statistical
@pytest.mark.parametrize("plan", ["slice", "interweaving"])
@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
def test_the_prior_comes_out_of_interactions(family, plan):
    """4 tests with a false-alarm rate of 1e-7 each."""
    found = simulate("interactions", family, "log-normal", 3, PLANS[plan], 1500, 5, 3)
    assert_prior(*found, level=1e-7)
