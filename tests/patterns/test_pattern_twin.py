"""The compiled updates of pattern models against their twin on the same random numbers."""

import numpy as np
import pattern_kit as kit
import pytest

from pyrjsel.distributions import LogNormal
from pyrjsel.patterns.groups import PatternProblem
from pyrjsel.patterns.priors import PatternPrior

UPDATES = ("steps", "turns", "paths", "centred", "scaled")
CASES = [
    (update, kind, family, n_classes)
    for update in UPDATES
    for kind in ("sequence", "interactions")
    for family in ("cauchy", "gaussian")
    for n_classes in (2, 3)
    if not (update == "paths" and kind == "interactions")
]


def assert_same(problem, plan, seed, iterations=2, **options):
    rng = np.random.default_rng(seed)
    start = np.zeros((problem.n_free, problem.n_groups))
    s, log_sigma = kit.draw_prior(kit.twin_of(problem, (), start, start[0]), rng)
    s = np.clip(s, -20, 20)
    chain = kit.chain_of(problem, plan, s, log_sigma, **options)
    twin = kit.twin_of(problem, plan, s, log_sigma, **options)
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(iterations):
        chain.run(ours, 1)
        twin.iterate(theirs)
        found_s, found_sigma = chain.state()
        # Both add up some dozen terms; turns near the end of the circle enlarge relative errors of 1e-15.
        np.testing.assert_allclose(found_s, twin.s, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found_sigma, twin.log_sigma, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(chain.log_density(), twin.log_density(), rtol=1e-10)
        # The same number of random numbers was drawn.
        assert ours.bit_generator.state == theirs.bit_generator.state
    assert not np.allclose(found_s, s) or not np.allclose(found_sigma, log_sigma)


@pytest.mark.parametrize(("update", "kind", "family", "n_classes"), CASES)
def test_each_update(update, kind, family, n_classes):
    for hyper in kit.HYPERPRIORS if update in ("centred", "scaled") else ("log-normal",):
        problem = kit.problem_of(kind, family, hyper, n_classes, n=14, p=3, order=2)
        assert_same(problem, ((update, 1),), seed=3)


@pytest.mark.parametrize("kind", ["sequence", "interactions"])
@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
def test_rows_of_one_case_and_of_several(kind, family):
    """Without weights, and with them."""
    problem = kit.problem_of(kind, family, n=9, p=5, order=5, levels=4)
    assert np.all(problem.cases.sum(axis=0) == 1)
    assert_same(problem, (("steps", 1), ("turns", 2), ("scaled", 1)), seed=4)
    problem = kit.problem_of(kind, family, n=40, p=3, order=2)
    assert problem.cases.sum(axis=0).max() > 2
    assert_same(problem, (("steps", 1), ("turns", 2), ("scaled", 1)), seed=5)
    # More than eight rows of both kinds in one group, which is then in two parts.
    problem = kit.problem_of(kind, family, n=40, p=5, order=5, levels=2)
    assert np.unique(problem.cases.sum(axis=0) == 1, return_counts=True)[1].min() > 4
    assert_same(problem, (("steps", 1), ("turns", 2), ("scaled", 1)), seed=5)


def test_narrow_steps_that_run_out():
    """The interval ends before the slice does."""
    problem = kit.problem_of(n=14, p=3, order=2)
    assert_same(problem, (("steps", 1), ("centred", 2)), seed=6, width=0.1, steps=3, sigma_width=0.02)


@pytest.mark.parametrize("compress", [True, False])
def test_whole_iterations(compress):
    for kind in ("sequence", "interactions"):
        groups = kit.groups_of(kind, n=12, p=3, order=3, compress=compress)
        problem = kit.problem_of(groups=groups)
        assert_same(problem, kit.INTERWEAVING[kind], seed=7)
        assert_same(problem, kit.SLICE, seed=8, sigma_width=0.5)


@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
@pytest.mark.parametrize("kind", ["sequence", "interactions"])
def test_scales_of_very_different_sizes(kind, family):
    """What the others add to the spread of a group is not lost below that of one order."""
    groups = kit.groups_of(kind, n=5, p=3, order=3)
    prior = PatternPrior.of(3, family, LogNormal(0.0, 25.0), sigma_0=1.2)
    problem = PatternProblem.of(groups, np.arange(5) % 2, 2, prior)
    with_first = groups.counts[:, 1] > 0
    alone = with_first & (groups.counts[:, 1] == groups.counts.sum(axis=1))
    assert np.any(with_first & ~alone)
    log_sigma = np.array([0.0, 40.0, 0.0, -2.0])
    for seed in range(8):
        # The scale of order 1 may fall far, down to where the others are all there is of a spread.
        s = np.random.default_rng(seed).standard_normal((1, problem.n_groups)) * np.where(alone, 1e-12, 1.0)
        chain = kit.chain_of(problem, (("centred", 3),), s, log_sigma)
        twin = kit.twin_of(problem, (("centred", 3),), s, log_sigma)
        chain.run(np.random.default_rng(seed), 1)
        twin.iterate(np.random.default_rng(seed))
        # The slices of both have the same ends; within them spreads of ten digits only decide what is in.
        np.testing.assert_allclose(chain.state()[1], twin.log_sigma, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", ["cauchy", "gaussian"])
def test_paths_keep_small_sums_beside_large_ones(family):
    """A sum far below the last digit of the predictors has the size that its scale gives it."""
    groups = kit.groups_of(n=12, p=3, order=3)
    prior = PatternPrior.of(3, family, LogNormal(0.0, 25.0), sigma_0=1.2)
    problem = PatternProblem.of(groups, np.arange(12) % 2, 2, prior)
    small = np.array([0.0, -60.0, 0.0, -60.0])
    twin = kit.twin_of(problem, (), np.zeros((1, problem.n_groups)), small)
    rng = np.random.default_rng(1)
    s = twin.scale(small) * rng.standard_normal((1, problem.n_groups))
    chain = kit.chain_of(problem, (("paths", 50),), s, small)
    chain.run(rng, 1)
    found = chain.state()[0]
    assert np.all(found[:, twin.scale(small) < 1.0] != s[:, twin.scale(small) < 1.0])
    # Cauchy sums of a dozen groups are within 1e8 scales, and beyond 1e-8 of them (1e-7 each).
    size = np.abs(found) / twin.scale(small)
    assert np.all((size > 1e-8) & (size < 1e8))
    np.testing.assert_allclose(found @ twin.member.T, s @ twin.member.T, rtol=1e-12, atol=1e-12)
