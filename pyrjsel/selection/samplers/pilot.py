"""A short pilot run on the posterior of a generalised linear model.

It runs a chain on the surrogate, corrected by Laplace values, always with the same random numbers: its
findings depend only on data, priors and constraints. They determine the choice of ``sampler="auto"``.
"""

from dataclasses import dataclass, replace

import numpy as np

from pyrjsel.selection.evidence.laplace import Surrogate, learn_correction
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed.corrected_chain import first_lessons, marginal_of
from pyrjsel.selection.samplers.surrogate_chain import SurrogateChain

# Steps of the pilot: on the surrogate alone, after which it is expanded again; corrected ones for learning
# the corrections of terms; and those that are counted.
LED, LEARNT, COUNTED = 30, 40, 40
# Number of the last distinct models for which integrals are tried.
TRIED = 24


@dataclass(frozen=True)
class Pilot:
    """The findings of a pilot.

    Attributes
    ----------
    acceptance : float
        Acceptance rate on the surrogate.
    uneven : float
        Proportion of tried models with uneven importance weights at the mode.
    width : float
        Average number of columns, including the intercept, of the models of the last steps.
    """

    acceptance: float
    uneven: float
    width: float


class _PilotChain(SurrogateChain):
    """The chain of a pilot."""

    def __init__(self, job: Job) -> None:
        # The same integrals for every seed of a fit.
        self.job = replace(job, setup=replace(job.setup, entropy=bytes(16)))
        super().__init__(marginal_of(self.job), job.space, self.job.setup.walk, job.setup.time)

    def uneven(self) -> float:
        """Return the proportion of the last models with uneven importance weights."""
        last = {np.packbits(gamma).tobytes(): gamma for gamma in reversed(self.models)}
        return float(np.mean([self.marginal.is_uneven(gamma) for gamma in list(last.values())[:TRIED]]))

    def width(self) -> float:
        """Return the average number of columns of the models of the last steps."""
        regression = self.job.regression
        return regression.leading + float(np.mean(np.array(self.models) @ np.diff(regression.term_start)))


def explore(job: Job) -> Pilot:
    """Return the findings of a pilot for the chains of `job`.

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
    correction = nothing
    if one.lessons:
        learnt, ratios = zip(*one.lessons, strict=True)
        correction = learn_correction(np.array(learnt), np.array(ratios))
    gamma, accepted = one.walk(Surrogate(at, correction), gamma, COUNTED, corrected=True)
    uneven, width = (one.uneven(), one.width()) if one.models else (0.0, 1.0)
    return Pilot(accepted / COUNTED, uneven, width)
