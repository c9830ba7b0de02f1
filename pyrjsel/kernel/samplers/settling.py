"""Sweeps of the batch sampler after the last row of a pass: the particles that a result consists of."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyrjsel._core import special
from pyrjsel._typing import FloatArray
from pyrjsel.kernel.samplers.columns import Columns
from pyrjsel.kernel.samplers.resampling import resample
from pyrjsel.kernel.samplers.tempering import Path, TemperingJob, tempered_runs
from pyrjsel.kernel.state import FilterState, KernelSettings, Particles
from pyrjsel.runtime import one_blas_thread

# With at most so many rows the particles come from tempered runs, whose modes have their weights however few
# of the particles of a pass had variances that later rows asked for; with more, from the pass.
TEMPERED_ROWS, TEMPERED_RUNS = 40, 5
# Sweeps over all rows.
SWEEPS = 100
# Change of the mean log likelihood by which a pass has missed the posterior, beside so many standard errors.
MISSED, ERRORS = 2.0, 4.0


@dataclass(frozen=True, eq=False)
class Settled:
    """The particles of a result.

    Attributes
    ----------
    particles : Particles
    weight : ndarray (N,)
        Of sum 1.
    rise : float
        By how much the mean log likelihood is above that of the pass.
    missed : bool
        Whether that is so much that the pass has missed the posterior.
    """

    particles: Particles
    weight: FloatArray
    rise: float = 0.0
    missed: bool = False


def weights_of(state: FilterState) -> FloatArray:
    """Return the weights of a pass, of sum 1."""
    weight: FloatArray = np.exp(state.log_weights - special.logsumexp(state.log_weights))
    return weight


def as_passed(state: FilterState) -> Settled:
    """Return the particles of a pass as they are."""
    return Settled(Particles(*state.in_order()), weights_of(state))


def settle(settings: KernelSettings, state: FilterState) -> Settled:
    """Return particles of equal weight after sweeps of invariant moves over all rows of a pass.

    They depend on the state alone, which does not change: passes in parts have those of one pass. Particles
    that are never rejuvenated, or have the weights of the paper, remain as they are.
    """
    if not settings.rejuvenate or settings.importance == "paper":
        return as_passed(state)
    bits: Any = np.random.PCG64()
    bits.state = dict(state.bit_generator)
    # Far from the random numbers of the rows to come.
    rng = np.random.Generator(bits.jumped())
    weight, n = weights_of(state), len(state.k)
    with one_blas_thread:
        path = Path(settings, state.x, state.y)
        if len(state.y) <= TEMPERED_ROWS:
            particles = _tempered(settings, state, rng)
        else:
            particles = state.take(resample("systematic", weight, rng))
        path.move(particles, 1.0, SWEEPS, rng)
    change = float(particles.log_marginal.mean() - weight @ state.log_marginal)
    error = float(particles.log_marginal.std() * np.sqrt(1.0 / n + weight @ weight))
    equal = np.full(n, 1.0 / n)
    return Settled(particles, equal, change, abs(change) > MISSED + ERRORS * error)


def _tempered(settings: KernelSettings, state: FilterState, rng: np.random.Generator) -> Particles:
    """Return particles of tempered runs, drawn by the evidences of the runs."""
    job = TemperingJob(settings, state.x, state.y, len(state.k))
    seeds = np.random.SeedSequence(int(rng.integers(2**63))).spawn(TEMPERED_RUNS)
    runs = tempered_runs(job, seeds)
    log_evidence = np.repeat([run.log_evidence for run in runs], len(state.k))
    weight = np.exp(log_evidence - special.logsumexp(log_evidence))
    # Every fifth of five times as many.
    chosen = resample("systematic", weight, rng)[int(rng.integers(TEMPERED_RUNS)) :: TEMPERED_RUNS]
    parts = [run.particles.in_order() for run in runs]
    return Particles(*(np.concatenate(each) for each in zip(*parts, strict=True))).take(chosen)


def continued(settings: KernelSettings, state: FilterState, settled: Settled) -> FilterState:
    """Return the state of a pass with the settled particles, from which rows to come are taken."""
    parts = (state.owners, state.columns, state.gram, state.moments)
    columns = Columns.restore(settings, state.x, state.y, len(state.y), parts)
    held, n = settled.particles.held(), len(settled.weight)
    columns.ensure(held)
    columns.retain(held)
    changed: dict[str, Any] = {
        **settled.particles.copies().arrays(),
        **dict(zip(("owners", "columns", "gram", "moments"), columns.parts(), strict=True)),
        "log_weights": np.full(n, -np.log(n)),
    }
    return replace(state, **changed)
