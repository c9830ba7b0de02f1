"""The compiled loop of labels given inputs against its reference in plain numpy, and detailed balance."""

import numpy as np
import pytest
from mixture_kit import job_of, labels_problem, toy
from reference_labels import LabelsTwin

from pyrjsel.mixture.sampler import first_replica

NAMES = ("gamma", "beta", "precision", "mean", "weight", "prior")
CASES = {
    "free": {},
    "always": {"always": ["x1"]},
    "max size": {"max_size": 1},
    "budget": {"costs": {"x0": 1.0, "x1": 2.0, "x2": 1.0}, "budget": 2.0},
}


def start(problem, rng, gamma=None):
    return first_replica(problem, problem.space.empty_model() if gamma is None else np.uint8(gamma), rng)


def made(*, classes=2, missing=0.0, seed=1, components=2, weight_prior=1.0, **space):
    x, label = toy(n=15, p=3, seed=seed, classes=classes, missing=missing)
    return labels_problem(x, label, components=components, weight_prior=weight_prior, **space)


@pytest.mark.parametrize("conditional", [True, False], ids=["conditional", "prior"])
@pytest.mark.parametrize(
    ("case", "missing", "power", "classes", "components", "weight_prior"),
    [
        ("free", 0.0, 1.0, 2, 2, 1.0),
        ("free", 0.2, 0.3, 3, 3, 0.5),
        ("always", 0.0, 1.0, 2, 1, 1.0),
        ("max size", 0.2, 1.0, 2, 2, 2.0),
        ("budget", 0.0, 0.6, 2, 3, 1.0),
    ],
)
def test_sweeps_are_those_of_the_reference(
    case, missing, power, classes, components, weight_prior, conditional
):
    problem = made(
        classes=classes, missing=missing, components=components, weight_prior=weight_prior, **CASES[case]
    )
    job = job_of(problem, proposal="conditional" if conditional else "prior")
    replica = start(problem, np.random.default_rng(2))
    twin = LabelsTwin(problem, replica, conditional=conditional, power=power)
    chain = job.loop(replica, power)
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    visited = set()
    for sweep in range(25):
        chain.sweeps(one, 1, moves=4, adapt=sweep < 20)
        twin.sweep(4, other, adapt=sweep < 20)
        found = job.replica(chain.state())
        inside = found.gamma.astype(bool)
        visited.add(tuple(found.gamma.tolist()))
        # Sums in another order; small differences grow from sweep to sweep, by a factor of a few.
        for name in NAMES:
            ours, theirs = getattr(found, name), getattr(twin, "share" if name == "prior" else name)
            kept = inside if name in ("beta", "precision", "mean") else slice(None)
            np.testing.assert_allclose(ours[kept], theirs[kept], rtol=1e-7, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(found.steps, twin.steps, rtol=1e-10)
        value = twin.log_likelihood() + twin.log_parameters()
        assert chain.log_density() == pytest.approx(value, rel=1e-9, abs=1e-7)
    np.testing.assert_array_equal(chain.counts(), twin.counts)
    assert len(visited) > 1
    assert one.random() == other.random()


@pytest.mark.parametrize("power", [1.0, 0.4])
@pytest.mark.parametrize("conditional", [True, False], ids=["conditional", "prior"])
@pytest.mark.parametrize("case", CASES)
def test_detailed_balance(case, conditional, power):
    """Ratios from the compiled loop are those of the target and of the proposals, in both directions."""
    problem = made(missing=0.15, **CASES[case])
    rng, space = np.random.default_rng(5), problem.space
    models = [np.array([a, b, c], dtype=np.uint8) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    models = [model for model in models if space.why_infeasible(model) is None]
    job, pairs = job_of(problem, proposal="conditional" if conditional else "prior"), 0
    for before in models:
        replica = start(problem, rng, before)
        twin = LabelsTwin(problem, replica, conditional=conditional, power=power)
        for after in models:
            out, into = np.flatnonzero(before > after), np.flatnonzero(after > before)
            if len(out) > 1 or len(into) > 1 or len(out) + len(into) == 0:
                continue
            o, i = (int(places[0]) if len(places) else -1 for places in (out, into))
            kernels = twin.draw(i, None, rng) if i >= 0 else (1.0, np.ones(2), np.zeros(2))
            new = twin.changed(o, i, kernels)
            there = job.loop(replica, power).log_ratio(o, i, *kernels)
            # Logarithms of about a hundred, from sums of 15 rows.
            assert there == pytest.approx(twin.log_ratio(o, i, new), abs=1e-8)
            arrived = start(problem, rng, after)
            for name in ("beta", "precision", "mean", "weight", "share"):
                setattr(arrived, "prior" if name == "share" else name, getattr(new, name))
            gone = (twin.beta[o], twin.precision[o], twin.mean[o])
            back = job.loop(arrived, power).log_ratio(i, o, *gone)
            assert there == pytest.approx(-back, abs=1e-8)
            pairs += 1
    assert pairs >= 4


def test_log_likelihoods_of_kernels_that_moved_far_are_those_of_the_state():
    """Densities are relative to those at the start of a sweep, and narrow kernels move far from these."""
    problem = made(components=3)
    job, rng = job_of(problem), np.random.default_rng(1)
    for _ in range(100):
        replica = start(problem, rng, [1, 1, 1])
        replica.precision[:] = 10.0 ** rng.uniform(4, 6, size=replica.precision.shape)
        replica.steps[:6] = 1.0
        # So hot that labels do not keep kernels where they are.
        chain = job.loop(replica, 0.02)
        chain.sweeps(rng, 1)
        twin = LabelsTwin(problem, job.replica(chain.state()), conditional=True)
        # Log densities of up to about 1e6, with their rounding, in 15 rows.
        assert chain.log_density() == pytest.approx(twin.log_likelihood() + twin.log_parameters(), abs=1e-6)


def test_log_likelihoods_of_narrow_kernels_are_probabilities():
    """With a density of rates near 0 kernels are so narrow that log densities lose all digits of a weight."""
    problem = made(components=3, g=0.1, h=0.01)
    job = job_of(problem)
    rng = np.random.default_rng(1)
    replica = start(problem, rng, [1, 1, 1])
    replica.precision[:] = 10.0 ** rng.uniform(10, 18, size=replica.precision.shape)
    chain = job.loop(replica)
    twin = LabelsTwin(problem, replica, conditional=True)
    assert chain.log_density() - twin.log_parameters() <= 0.0
    for _ in range(100):
        chain.sweeps(rng, 1, moves=3)
        twin = LabelsTwin(problem, job.replica(chain.state()), conditional=True)
        assert chain.log_density() - twin.log_parameters() <= 1e-8
