"""The compiled loop against its twin on the same random numbers."""

import mixture_kit as kit
import numpy as np
import pytest
from reference_mixture import LadderTwin
from turns import by_turns

from pyrjsel.mixture.sampler import MixtureRunner, first_replica, gaps
from pyrjsel.model_space import Bernoulli

BACKGROUNDS = ("gaussian", "independent", None)
# One under which the kernels that the prior proposes are taken now and then.
PRIOR = {"conditional": {}, "prior": {"g": 2.0, "h": 20.0}}


def assert_same(problem, options, seed, sweeps=12, gamma=None):
    job = kit.job_of(problem, draws=sweeps, burn_in=0, **options)
    gamma = problem.space.empty_model() if gamma is None else np.array(gamma, dtype=np.uint8)
    rng = np.random.Generator(np.random.PCG64(seed))
    replicas = [first_replica(problem, gamma, rng) for _ in job.options.powers()[0]]
    state = job.state_of(replicas, rng)
    runner = MixtureRunner(job, state)
    ladder = LadderTwin(problem, job.options, state)
    subsets = set()
    for sweep in range(sweeps):
        runner.advance(1)
        ladder.sweep(rng)
        for found, twin in zip(runner.state().replicas, ladder.replicas, strict=True):
            assert_same_replica(found, twin)
        twin = ladder.replicas[0]
        # Sums of some hundred terms in another order, over a dozen sweeps.
        for ours, theirs in (
            (runner.found.log_likelihood[sweep], twin.log_likelihood()),
            (runner.found.log_posterior[sweep], twin.log_posterior()),
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-8)
        # The same number of random numbers was drawn.
        assert runner.rng.bit_generator.state == rng.bit_generator.state
        subsets.add(tuple(twin.gamma))
    return subsets, np.concatenate(runner.loop.counts(), axis=1)


def assert_same_replica(found, twin):
    np.testing.assert_array_equal(found.gamma, twin.gamma)
    np.testing.assert_array_equal(found.kernel, twin.kernel)
    np.testing.assert_array_equal(found.klass, twin.klass)
    inside = found.gamma == 1
    # Sums of some dozen terms in another order, over a dozen sweeps.
    for ours, theirs in (
        (found.beta[inside], twin.beta[inside]),
        (found.precision[inside], twin.precision[inside]),
        (found.mean[inside], twin.mean[inside]),
        (found.weight, twin.weight),
        (found.prior, twin.class_prior),
        (found.imputed, twin.z.T[gaps(twin.problem)]),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize(("missing", "proposal"), by_turns([0.0, 0.2], ["conditional", "prior"]))
def test_whole_sweeps(background, proposal, missing):
    x, label = kit.toy(20 if proposal == "conditional" else 6, 4, missing=missing, unlabelled=missing)
    # Units in which densities with and without an input are about as large.
    x *= 0.25 if background is None else 1.0
    space = kit.space_of(4, Bernoulli(0.5))
    problem = kit.problem_of(
        x, label, background=background, space=space, components=3, n_classes=2, **PRIOR[proposal]
    )
    options = {"proposal": proposal, "moves": 12 if proposal == "conditional" else 60}
    subsets, counts = assert_same(problem, options, seed=3, gamma=[1, 0, 1, 0])
    assert len(subsets) > 1
    assert np.all(counts[0] > 0)
    assert counts[1].sum() > 1


@pytest.mark.parametrize(
    ("proposal", "constraint"),
    by_turns(
        ["conditional", "prior"],
        [{"max_size": 2}, {"always": ["x1"]}, {"costs": "prices", "budget": 3.0}, {"max_size": 0}],
    ),
    ids=str,
)
def test_constraints(proposal, constraint):
    """With priors that depend on the inputs, at the largest size, and with an input that is always in."""
    if "costs" in constraint:
        constraint = {**constraint, "costs": {"x0": 1.0, "x1": 2.0, "x2": 2.0, "x3": 0.5}}
    x, label = kit.toy(6, 4)
    space = kit.space_of(4, Bernoulli([0.3, 0.5, 0.6, 0.5]), **constraint)
    problem = kit.problem_of(x, label, space=space, **PRIOR[proposal])
    subsets, _ = assert_same(problem, {"proposal": proposal, "moves": 60}, seed=4, sweeps=10)
    assert np.all(space.feasible(np.array(list(subsets))))
    assert len(subsets) > (proposal == "conditional") or space.max_size == 0


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_replicas(background, missing):
    """All of them, and their exchanges."""
    x, label = kit.toy(12, 4, missing=missing, unlabelled=missing)
    x *= 0.25 if background is None else 1.0
    problem = kit.problem_of(x, label, background=background, components=3, n_classes=2)
    options = {"temperatures": (1.0, 0.7, 0.2), "moves": 4}
    subsets, counts = assert_same(problem, options, seed=7, gamma=[1, 0, 1, 0])
    assert len(subsets) > 1
    assert np.all(counts[0, 3:] == 12)
    assert counts[1, 3:].sum() > 0


def test_repeated_values():
    """Kernels that sit on equal values have precisions just below the largest one."""
    x, label = kit.toy(30, 3)
    x[4:, 0] = 0.0
    problem = kit.problem_of(x, label)
    state = kit.settled(problem, [1, 1, 1], sweeps=100)
    assert np.any(state.precision[state.gamma == 1] > 0.9 * problem.prior.max_precision)
    assert_same(problem, {"moves": 10}, seed=5, sweeps=30, gamma=[1, 1, 1])


def test_without_a_least_deviation():
    x, label = kit.toy(12, 3, missing=0.1)
    assert_same(kit.problem_of(x, label, min_sd=0.0), {"moves": 10}, seed=6)


def test_a_state_goes_on_to_the_same_draws():
    """Bit for bit, with missing labels and inputs."""
    x, label = kit.toy(30, 5, missing=0.1, unlabelled=0.2)
    problem = kit.problem_of(x, label, n_classes=2)
    job = kit.job_of(problem, draws=40, burn_in=10, temperatures=3)
    one = job.start(np.random.SeedSequence(1), 0)
    one.advance(25)
    other = MixtureRunner(job, one.state())
    one.advance(25)
    other.advance(25)
    ours, theirs = one.finish(True), other.finish(False)
    for name in ("log_posterior", "mean", "variance", "weight", "prior"):
        np.testing.assert_array_equal(getattr(ours, name)[-25:], getattr(theirs, name))
    np.testing.assert_array_equal(ours.words[ours.index[-25:]], theirs.words[theirs.index])
    np.testing.assert_array_equal(ours.counts, theirs.counts)
