"""A short pilot run on the posterior of a generalised linear model.

It runs a chain on the surrogate, corrected by Laplace values, always with the same random numbers: its
findings depend only on data, priors and constraints. They determine the choice of ``sampler="auto"``.

Where models can have nearly as many columns as rows, the posterior can have a second, wide mode: with g = n,
models of half as many columns as rows separate any responses, and are about as probable as the empty model. A
chain on a surrogate stays in the narrow one, and does not find out; a reversible-jump chain from a wide model
does.
"""

from dataclasses import dataclass, replace

import numpy as np

from pyrjsel.model_space.chains import dispersed_start
from pyrjsel.selection.evidence.surrogate import Surrogate
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed.corrected_chain import first_lessons
from pyrjsel.selection.samplers.collapsed.integrals import marginal_of
from pyrjsel.selection.samplers.reversible_jump.rjmcmc import JumpMoves, RJMCMCChain
from pyrjsel.selection.samplers.surrogate_chain import SurrogateChain

# Steps of the pilot: on the surrogate alone, after which it is expanded again; corrected ones for learning
# the corrections of terms; and those that are counted.
LED, LEARNT, COUNTED = 30, 40, 40
# Number of the last distinct models for which integrals are tried.
TRIED = 24
# Iterations of jumps from a wide model, at most and at least, and rows times terms times iterations between
# them: half a second. The first half, in which they leave the start, is not counted.
MOST_JUMPS, LEAST_JUMPS, JUMP_WORK = 1000, 40, 5e7
# Draws from the prior of which the jumps start at the widest.
WIDE_STARTS = 8


@dataclass(frozen=True)
class Pilot:
    """The findings of a pilot.

    Attributes
    ----------
    acceptance : float
        Acceptance rate on the surrogate.
    uneven, hard : float
        Proportions of tried models with uneven importance weights at the mode, and of those where two scales
        an axis do not help either.
    width : float
        Average number of columns, including the intercept, of the models of the last steps, or of the jumps
        from a wide model if that is more.
    """

    acceptance: float
    uneven: float
    hard: float
    width: float


class _PilotChain(SurrogateChain):
    """The chain of a pilot."""

    def __init__(self, job: Job) -> None:
        # The same integrals for every seed of a fit.
        self.job = replace(job, setup=replace(job.setup, entropy=bytes(16)))
        super().__init__(marginal_of(self.job), job.space, self.job.setup.walk, job.setup.time)

    def uneven(self) -> tuple[float, float]:
        """Return `uneven` and `hard` of the last models."""
        last = {np.packbits(gamma).tobytes(): gamma for gamma in reversed(self.models)}
        found = np.array([self.marginal.unevenness(gamma) for gamma in list(last.values())[:TRIED]])
        return float(np.mean(found > 0)), float(np.mean(found > 1))

    def width(self) -> float:
        """Return the average number of columns of the models of the last steps."""
        regression = self.job.regression
        return regression.leading + float(np.mean(np.array(self.models) @ np.diff(regression.term_start)))


def _jump_width(job: Job, wide: int) -> float:
    """Return the average number of columns of reversible jumps from a model of at most twice `wide` terms."""
    regression, space = job.regression, job.space
    rng, exists = np.random.default_rng(0), job.kind.existence(job)
    starts = [dispersed_start(space, exists, rng, 2 * wide) for _ in range(WIDE_STARTS)]
    start = max(starts, key=np.sum)
    jumps = Job(RJMCMCChain, JumpMoves(), regression, space, 1, 0, 1, start[None], 1)
    chain = jumps.start(np.random.SeedSequence(0), 0)
    count = int(np.clip(JUMP_WORK / (regression.y.size * space.n_terms), LEAST_JUMPS, MOST_JUMPS))
    models = []
    for _ in range(count):
        chain.run(1)
        models.append(chain.position()[0])
    counted = np.array(models[count // 2 :])
    return regression.leading + float(np.mean(counted @ np.diff(regression.term_start)))


def explore(job: Job, wide: int) -> Pilot:
    """Return the findings of a pilot for the chains of `job`.

    Jumps look for a mode of more than `wide` columns, if models can have as many.

    Raises
    ------
    DataError
        If the posterior mode of a model is not found.
    """
    one, gamma = _PilotChain(job), job.space.empty_model()
    nothing = np.zeros(job.space.n_terms)
    at = first_lessons(one.job, one.rng)["at"]
    gamma, _ = one.walk(Surrogate(at, nothing), gamma, LED, corrected=False)
    if one.models:
        at = one.centre()
    gamma, _ = one.walk(Surrogate(at, nothing), gamma, LEARNT, corrected=True)
    surrogate = one.corrected(Surrogate(at, nothing))
    gamma, accepted = one.walk(surrogate, gamma, COUNTED, corrected=True)
    uneven, hard = one.uneven() if one.models else (0.0, 0.0)
    width = one.width() if one.models else 1.0
    if width <= wide < job.regression.widest(job.space.max_size):
        width = max(width, _jump_width(job, wide))
    return Pilot(accepted / COUNTED, uneven, hard, width)
