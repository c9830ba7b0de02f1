"""Posteriors of small pattern models against numerical integration."""

import numpy as np
import pattern_kit as kit
import pytest
from scipy.special import expit, logsumexp, ndtri
from scipy.stats import invgamma

from pyrjsel.distributions import InverseGamma, LogNormal
from pyrjsel.patterns import Features, find_groups
from pyrjsel.patterns.groups import PatternProblem
from pyrjsel.patterns.priors import PatternPrior
from pyrjsel.report import scalar_stats

ONE = np.array([0, 0, 0, 0, 0, 1, 1, 1], dtype=np.int32)[:, None]  # one feature
CLASSES = np.array([0, 1, 1, 1, 1, 0, 0, 1])
# Of sums, and of sigma, whose tails matter more.
NODES, SIGMA_NODES = 100, 1500
DRAWS = 20_000
# Batch means of 30 batches of 666 draws, with chains that remember some tens: a Student variable with 29
# degrees of freedom is beyond 8 with probability 8e-9.
ERRORS = 8.0


def one_feature(family, hyper, classes, n_classes, kind="sequence"):
    groups = find_groups(Features(ONE, ("x",), ((0, 1),), kind, 1))
    assert groups.n_groups == 3
    prior = PatternPrior.of(1, family, hyper, sigma_0=1.5)
    return PatternProblem.of(groups, classes, n_classes, prior)


def exact(problem):
    """Means of log sigma, its square, and the probabilities of class 1, from a grid of prior quantiles."""
    family, scale = problem.prior.family, problem.prior.scales[0]
    middle, fine = ((np.arange(nodes) + 0.5) / nodes for nodes in (NODES, SIGMA_NODES))
    standard = np.tan(np.pi * (middle - 0.5)) if family == "cauchy" else ndtri(middle)
    if isinstance(scale, LogNormal):
        log_sigma = scale.w + scale.s * ndtri(fine)
    else:
        log_sigma = np.log(invgamma.ppf(fine, scale.a, scale=scale.b))
    root = np.exp(problem.prior.log_sigma_0) * standard
    first, second = problem.cases[:, :1], problem.cases[:, 1:]
    weight, out = 0.0, np.zeros(4)
    for t in log_sigma:
        own = np.exp(t) * standard
        eta = root[:, None] + own  # (root, own)
        # Given the root the two branches are independent.
        p = [expit(eta), 1 - expit(eta)]
        like = [p[0] ** rows[1] * p[1] ** rows[0] for rows in (first, second)]
        sums = [each.sum(axis=1) for each in like]
        mass = (sums[0] * sums[1]).sum()
        chance = [(like[k] * p[0]).sum(axis=1) @ sums[1 - k] for k in (0, 1)]
        weight += mass
        out += np.array([t * mass, t * t * mass, *chance])
    return out / weight


def chain_means(problem, plan, seed, **options):
    start = np.zeros((problem.n_free, problem.n_groups))
    log_sigma = np.concatenate([[problem.prior.log_sigma_0], problem.prior.centre()])
    chain = kit.chain_of(problem, plan, start, log_sigma, **options)
    rng = np.random.default_rng(seed)
    chain.run(rng, 500)
    s = np.empty((DRAWS, problem.n_free, problem.n_groups))
    scales, density = np.empty((DRAWS, problem.order)), np.empty(DRAWS)
    chain.run(rng, DRAWS, s=s, log_sigma=scales, log_posterior=density)
    return s, scales, density


def probabilities(problem, s):
    """Of each class at each row, shape (draws, K, n)."""
    twin = kit.twin_of(problem, (), s[0], np.zeros(problem.order + 1))
    eta = s @ twin.member.T
    if problem.n_free == 1:
        eta = np.concatenate([np.zeros_like(eta), eta], axis=1)
    return np.exp(eta - logsumexp(eta, axis=1, keepdims=True))


def assert_means(columns, truth, tolerance=0.0):
    for column, value in zip(columns, truth, strict=True):
        stats = scalar_stats(np.asarray(column)[None])
        assert abs(stats.mean - value) < ERRORS * stats.mcse + tolerance


@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
@pytest.mark.parametrize("hyper", [LogNormal(-0.3, 0.7), InverseGamma(3.0, 2.0)], ids=["ln", "ig"])
def test_one_feature(family, hyper):
    problem = one_feature(family, hyper, CLASSES, 2)
    truth = exact(problem)
    for plan in (kit.SLICE, kit.INTERWEAVING["sequence"]):
        s, scales, _ = chain_means(problem, plan, 11)
        p = probabilities(problem, s)[:, 1]
        # Grids with twice as many nodes differ by less than 4e-4.
        assert_means([scales[:, 0], scales[:, 0] ** 2, p[:, 0], p[:, 1]], truth, tolerance=4e-4)


@pytest.mark.statistical
@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["sequence", "interactions"])
def test_compression_leaves_the_posterior(kind, n_classes, family):
    """8 posteriors of 6 quantities, from two chains each: false alarms below 1e-6 together."""
    found = []
    classes = np.random.default_rng(5).integers(n_classes, size=6)
    for seed, compress in enumerate((True, False)):
        groups = kit.groups_of(kind, n=6, p=3, order=3, compress=compress)
        prior = PatternPrior.of(3, family, LogNormal(-0.5, 0.7))
        problem = PatternProblem.of(groups, classes, n_classes, prior)
        s, scales, _ = chain_means(problem, kit.INTERWEAVING[kind], seed)
        p = probabilities(problem, s)[:, 1]
        found.append([*scales.T, *p.T[:3]])
    assert problem.n_groups > kit.groups_of(kind, n=6, p=3, order=3).n_groups
    for compressed, separate in zip(*found, strict=True):
        one, two = scalar_stats(compressed[None]), scalar_stats(separate[None])
        assert abs(one.mean - two.mean) < ERRORS * np.hypot(one.mcse, two.mcse)


@pytest.mark.statistical
@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_both_samplers_agree(n_classes, family):
    """4 posteriors of 8 quantities: false alarms below 1e-6 together."""
    problem = kit.problem_of("sequence", family, "log-normal", n_classes, n=20, p=4, order=4)
    found = []
    for plan in (kit.SLICE, kit.INTERWEAVING["sequence"]):
        s, scales, density = chain_means(problem, plan, 3)
        found.append([*scales.T, density, *probabilities(problem, s)[:, 1].T[:3]])
    for one, two in zip(*found, strict=True):
        one, two = scalar_stats(one[None]), scalar_stats(two[None])
        assert abs(one.mean - two.mean) < ERRORS * np.hypot(one.mcse, two.mcse)
