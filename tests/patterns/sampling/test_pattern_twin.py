"""The compiled updates of pattern models against their twin on the same random numbers."""

import numpy as np
import pattern_kit as kit
import pytest

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
