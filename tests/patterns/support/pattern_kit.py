"""Small pattern models for the tests of samplers."""

import numpy as np
from reference_chain import PatternTwin

from pyrjsel.distributions import InverseGamma, LogNormal
from pyrjsel.patterns import Features, find_groups
from pyrjsel.patterns._slice import UPDATES, PatternChain
from pyrjsel.patterns.groups import PatternProblem
from pyrjsel.patterns.priors import PatternPrior

HYPERPRIORS = {"log-normal": LogNormal(-0.5, 0.8), "inverse gamma": InverseGamma(3.0, 2.0)}
SLICE = (("steps", 1), ("centred", 3))
INTERWEAVING = {
    "sequence": (("turns", 1), ("paths", 1), ("centred", 1), ("scaled", 1)),
    "interactions": (("turns", 1), ("centred", 1), ("scaled", 1)),
}


def groups_of(kind="sequence", n=24, p=4, order=3, seed=1, levels=2, compress=True):
    rng = np.random.default_rng(seed)
    codes = rng.integers(levels, size=(n, p)).astype(np.int32)
    names, values = tuple(f"x{j}" for j in range(p)), tuple(tuple(range(levels)) for _ in range(p))
    return find_groups(Features(codes, names, values, kind, order), compress)


def problem_of(kind="sequence", family="cauchy", hyper="log-normal", n_classes=2, *, groups=None, **options):
    groups = groups_of(kind, **options) if groups is None else groups
    classes = np.random.default_rng(5).integers(n_classes, size=groups.n_cases)
    prior = PatternPrior.of(groups.order, family, HYPERPRIORS[hyper], sigma_0=1.2)
    return PatternProblem.of(groups, classes, n_classes, prior)


def arrays_of(problem, plan, s, log_sigma, sigma_width):
    steps = np.array([(UPDATES.index(update), times) for update, times in plan], dtype=np.int32)
    return (
        problem.prior.family == "cauchy", problem.indptr, problem.rows, problem.cases, problem.order_ptr,
        problem.order_group, problem.order_count, problem.parent, problem.prior.table(sigma_width), s,
        log_sigma, steps,
    )  # fmt: skip


def chain_of(problem, plan, s, log_sigma, *, sigma_width=None, **options):
    return PatternChain(*arrays_of(problem, plan, s, log_sigma, sigma_width), **options)


def twin_of(problem, plan, s, log_sigma, **options):
    return PatternTwin(problem, s.copy(), log_sigma.copy(), plan, **options)


def draw_prior(twin, rng):
    """Sums and log sigma from the prior."""
    prior = twin.problem.prior
    log_sigma = np.concatenate([[prior.log_sigma_0], prior.sample(rng)])
    standard = rng.standard_cauchy if prior.family == "cauchy" else rng.standard_normal
    return twin.scale(log_sigma) * standard(twin.s.shape), log_sigma
