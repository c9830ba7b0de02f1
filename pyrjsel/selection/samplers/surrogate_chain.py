"""A short chain on surrogates, corrected by Laplace values, that locates the posterior."""

from collections.abc import Callable, Sequence

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, Space
from pyrjsel.selection.evidence._evidence import Evidence
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.evidence.surrogate import Surrogate, learn_corrections
from pyrjsel.selection.samplers._walk import Walk

SEED = 0

# Creates a chain from evidences, a compiled space, models (K, J) and inverse temperatures (K,).
MakeWalk = Callable[[Sequence[Evidence], Space, ByteArray, FloatArray], Walk]


class SurrogateChain:
    """The chain, which always uses the same random numbers.

    Parameters
    ----------
    marginal : MarginalLikelihood
        Its mode finder must be used only by this object.
    space : ModelSpace
    make_walk : callable
    time : float
        Time of a step.
    """

    def __init__(
        self, marginal: MarginalLikelihood, space: ModelSpace, make_walk: MakeWalk, time: float
    ) -> None:
        self.marginal, self.space, self.make_walk, self.time = marginal, space, make_walk, time
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
        """Run steps from a model (J,); return the last model, and the number of accepted steps.

        Each step gives the error of the surrogate at its first and its proposed model: otherwise a chain that
        stays in a mode where the surrogate has too little mass would never learn that it has too much
        elsewhere.
        """
        evidences, accepted = surrogate.evidences(self.marginal.regression, 1), 0
        walk = self.make_walk(evidences, surrogate.space(self.space), gamma[None], np.ones(1))
        self.models, self.lessons = [], []
        for _ in range(walks):
            before = walk.gamma()
            ratio = self.log_mass(before[0]) - float(walk.log_mass()[0])
            walk.run(self.rng, 1, self.time)
            found = walk.gamma()[0]
            mass = self.log_mass(found)
            taken = mass > -np.inf
            if taken:
                proposed = mass - float(walk.log_mass()[0])
                self.models.append(found)
                for model, value in ((before[0], ratio), (found, proposed)):
                    if np.isfinite(value):
                        self.lessons.append((model, value + surrogate.corrected(model, self.space)))
                taken = not corrected or self.rng.random() < np.exp(min(0.0, proposed - ratio))
            if not taken:
                walk.set_state(before)
            accepted += int(taken)
        return walk.gamma()[0], accepted

    def corrected(self, surrogate: Surrogate) -> Surrogate:
        """Return a surrogate with corrections learnt from the last run."""
        if not self.lessons:
            return surrogate
        models, ratios = map(np.array, zip(*self.lessons, strict=True))
        regression, weight = self.marginal.regression, np.ones(len(models))
        return learn_corrections(surrogate.at, models, ratios, weight, regression, self.space)

    def centre(self) -> FloatArray:
        """Return the mean expansion point of the models of the last run, without the first third."""
        models = self.models[len(self.models) // 3 :]
        return np.mean([self.marginal.expansion(gamma) for gamma in models], axis=0)
