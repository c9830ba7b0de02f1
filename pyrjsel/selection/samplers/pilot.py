"""A short look at the posterior of a generalised linear model, before any chain begins.

It walks on the surrogate, with Laplace values as corrections, and always draws the same random numbers: what
it finds is a function of data, priors and constraints alone. From it follows which sampler ``sampler="auto"``
takes.
"""

from dataclasses import dataclass, replace

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.selection.evidence.surrogate import Surrogate, learn_correction
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed.corrected_chain import first_lessons, marginal_of

SEED = 0
# Walks of the pilot: on the surrogate alone, after which it is expanded anew; corrected ones that the
# corrections of terms are learnt from; and those that are counted.
LED, LEARNT, COUNTED = 30, 40, 40
# Models, the last ones that differ, of which integrals are tried.
TRIED = 24


@dataclass(frozen=True)
class Pilot:
    """The findings of a pilot.

    Attributes
    ----------
    acceptance : float
        Share of the walks on the surrogate that were accepted.
    uneven : float
        Share of the models that were tried whose importance weights at the mode are uneven.
    width : float
        Average number of columns, intercept included, of the models of the last walks.
    """

    acceptance: float
    uneven: float
    width: float


class _Explorer:
    """The walk of a pilot."""

    def __init__(self, job: Job) -> None:
        # The same integrals for every seed of a fit.
        self.job = replace(job, setup=replace(job.setup, entropy=bytes(16)))
        self.marginal, self.space = marginal_of(self.job), job.space
        self.rng = np.random.Generator(np.random.PCG64(SEED))
        self.masses: dict[bytes, float] = {}
        self.models: list[ByteArray] = []
        self.lessons: list[tuple[ByteArray, float]] = []

    def log_mass(self, gamma: ByteArray) -> float:
        """Return the Laplace value of the log posterior mass of a model (J,); -inf if it has no prior."""
        key = np.packbits(gamma).tobytes()
        if key not in self.masses:
            self.marginal.mode(gamma)
            found = self.marginal.finder.log_marginal if self.marginal.finder.status == 0 else -np.inf
            self.masses[key] = found + float(self.space.log_prior(gamma))
        return self.masses[key]

    def walk(
        self, surrogate: Surrogate, gamma: ByteArray, walks: int, corrected: bool
    ) -> tuple[ByteArray, int]:
        """Walk from a model (J,); return where it ends, and how many walks were accepted.

        Each walk teaches how far off the surrogate is where it began and where it has got to: one that stays
        in a mode where the surrogate has too little mass would else learn about the other modes alone, and
        not that it is they that have too much.
        """
        evidences, accepted = surrogate.evidences(self.job.regression, 1), 0
        walk = self.job.setup.walk(evidences, surrogate.space(self.space), gamma[None], np.ones(1))
        self.models, self.lessons = [], []
        for _ in range(walks):
            before = walk.gamma()
            ratio = self.log_mass(before[0]) - float(walk.log_mass()[0])
            walk.run(self.rng, 1, self.job.setup.time)
            found = walk.gamma()[0]
            mass = self.log_mass(found)
            taken = mass > -np.inf
            if taken:
                proposed = mass - float(walk.log_mass()[0])
                self.models.append(found)
                for model, value in ((before[0], ratio), (found, proposed)):
                    if np.isfinite(value):
                        self.lessons.append((model, value + float(model @ surrogate.correction)))
                taken = not corrected or self.rng.random() < np.exp(min(0.0, proposed - ratio))
            if not taken:
                walk.set_state(before)
            accepted += int(taken)
        return walk.gamma()[0], accepted

    def centre(self) -> FloatArray:
        """Return the mean of the modes of the models of the last walk, the first third left out."""
        return np.mean([self.marginal.mode(gamma) for gamma in self.models[len(self.models) // 3 :]], axis=0)

    def uneven(self) -> float:
        """Return the share of the last models whose importance weights are uneven."""
        last = {np.packbits(gamma).tobytes(): gamma for gamma in reversed(self.models)}
        return float(np.mean([self.marginal.is_uneven(gamma) for gamma in list(last.values())[:TRIED]]))

    def width(self) -> float:
        """Return the average number of columns of the models of the last walk."""
        sizes = np.diff(self.job.regression.term_start)
        return 1.0 + float(np.mean(np.array(self.models) @ sizes))


def explore(job: Job) -> Pilot:
    """Return what a pilot of the chains of `job` finds.

    Raises
    ------
    DataError
        If the posterior mode of a model is not found.
    """
    one, gamma = _Explorer(job), job.space.empty_model()
    nothing = np.zeros(job.space.n_terms)
    at = first_lessons(one.job, one.rng)["at"]
    gamma, _ = one.walk(Surrogate(at, nothing), gamma, LED, corrected=False)
    if one.models:
        at = one.centre()
    gamma, _ = one.walk(Surrogate(at, nothing), gamma, LEARNT, corrected=True)
    correction = nothing
    if one.lessons:
        learnt, ratios = zip(*one.lessons, strict=True)
        correction = learn_correction(np.array(learnt), np.array(ratios))
    gamma, accepted = one.walk(Surrogate(at, correction), gamma, COUNTED, corrected=True)
    uneven, width = (one.uneven(), one.width()) if one.models else (0.0, 1.0)
    return Pilot(accepted / COUNTED, uneven, width)
