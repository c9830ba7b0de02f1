"""Small mixture problems for the tests of samplers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from pyrjsel.mixture.options import MixtureOptions
from pyrjsel.mixture.priors import KernelPrior, MixturePrior
from pyrjsel.mixture.problem import MixtureProblem
from pyrjsel.mixture.sampler import MixtureJob, first_replica
from pyrjsel.model_space import BetaBinomial, ModelSpace


def space_of(p, prior=None, n=100, **options):
    terms = [
        SimpleNamespace(name=f"x{j}", columns=(f"x{j}",), variables=(f"x{j}",), parents=(), near_parents=())
        for j in range(p)
    ]
    prior = BetaBinomial(1, 1) if prior is None else prior
    return ModelSpace.build(terms, prior=prior, n_observations=n, **options)


def to_range_units(x):
    """Inputs (N, p) less their midpoints over their ranges, and the logs of the ranges."""
    low, high = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
    return (x - 0.5 * (low + high)) / (high - low), np.log(high - low)


def problem_of(x, label, *, components=2, background="gaussian", space=None, n_classes=None, **prior):
    """The problem of raw inputs (N, p) and labels, -1 for those that are missing."""
    z, log_range = to_range_units(np.asarray(x, dtype=float))
    return problem_of_units(
        z,
        label,
        log_range=log_range,
        components=components,
        background=background,
        space=space,
        n_classes=n_classes,
        **prior,
    )


def problem_of_units(
    z, label, *, log_range=None, components=2, background="gaussian", space=None, n_classes=None, **prior
):
    """The problem of inputs in range units."""
    label = np.asarray(label, dtype=np.int32)
    return MixtureProblem(
        z=z,
        label=label,
        n_classes=int(label.max()) + 1 if n_classes is None else n_classes,
        log_range=np.zeros(z.shape[1]) if log_range is None else log_range,
        prior=MixturePrior(**prior),
        components=components,
        background=background,
        space=space_of(z.shape[1]) if space is None else space,
    )


def labels_problem(x, label, *, components=2, weight_prior=1.0, g=2.0, h=1.0, **space):
    """The problem of raw inputs (N, p) and labels whose target is the labels given the inputs."""
    z, log_range = to_range_units(np.asarray(x, dtype=float))
    return MixtureProblem(
        z=z,
        label=np.asarray(label, dtype=np.int32),
        n_classes=int(np.max(label)) + 1,
        log_range=log_range,
        prior=KernelPrior(g=g, h=h),
        components=components,
        background=None,
        space=space_of(z.shape[1], **space),
        target="labels",
        weight_prior=weight_prior,
        rate=h / np.nanvar(z, axis=0),
    )


def toy(n=40, p=3, seed=1, classes=2, missing=0.0, unlabelled=0.0):
    """Inputs whose first column depends on the class, a third one that depends on the second."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % classes
    x = rng.standard_normal((n, p))
    x[:, 0] += 1.5 * label
    if p > 2:
        x[:, 2] = 0.8 * x[:, 1] + 0.6 * x[:, 2]
    x[rng.random((n, p)) < missing] = np.nan
    return x, np.where(rng.random(n) < unlabelled, -1, label).astype(np.int32)


def job_of(problem, *, draws=1000, burn_in=100, thin=1, every=1, starts=None, temperatures=1, **options):
    chosen = MixtureOptions(temperatures=temperatures, **options)
    return MixtureJob(problem, chosen, draws, burn_in, thin, every, starts)


def settled(problem, gamma, *, sweeps=0, seed=1, **options):
    """The state of a chain of one replica after so many sweeps at a subset."""
    job, rng = job_of(problem, **options), np.random.default_rng(seed)
    chain = job.loop(first_replica(problem, np.array(gamma, dtype=np.uint8), rng))
    chain.sweeps(rng, sweeps)
    return job.replica(chain.state())


def changed(replica, **parts):
    """A copy of a state with some parts replaced."""
    return replace(replica, **parts)
