"""The marginal likelihoods that a chain on a surrogate knows."""

from dataclasses import dataclass

import numpy as np

from pyrjsel._errors import DataError
from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, pack
from pyrjsel.model_space.bits import n_words
from pyrjsel.selection.evidence.importance import Integral
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.regression.glm import Regression
from pyrjsel.selection.samplers.base import Job
from pyrjsel.selection.samplers.collapsed._corrected import KnownModels

# Number of integrals that a chain keeps before it forgets all; they are recomputed when needed. About 1 kB
# each.
KEPT_INTEGRALS = 2**15
# Target relative variance of one integral: errors of 2 % in single models are far below the Monte Carlo
# error of a chain that visits many, and are reported.
VARIANCE = 5e-4


def marginal_of(job: Job) -> MarginalLikelihood:
    """Return an integrator of single models; each chain needs its own."""
    regression, setup = job.regression, job.setup
    widest = regression.widest(job.space.max_size)
    return MarginalLikelihood(regression, setup.entropy, setup.pairs, widest, VARIANCE, setup.shared)


@dataclass(frozen=True, slots=True)
class Known:
    """Log posterior mass of a model, and its integral without draws."""

    log_mass: float
    integral: Integral


class Integrals:
    """Cached marginal likelihoods of models.

    Parameters
    ----------
    marginal : MarginalLikelihood
    space : ModelSpace
    exact : bool
        Whether Laplace values are corrected by importance sampling.
    whole : float, optional
        Log posterior mass of all models, about: improbable models then have less precise integrals.

    Attributes
    ----------
    models : KnownModels
        What the compiled loop reads.
    known : list of Known
        By number of the model in the loop.
    """

    def __init__(
        self, marginal: MarginalLikelihood, space: ModelSpace, exact: bool, whole: float | None = None
    ) -> None:
        self.marginal, self.space, self.exact, self.whole = marginal, space, exact, whole
        self.models = KnownModels(n_words(space.n_terms), marginal.regression.n_columns)
        self.known: list[Known] = []

    def of(self, gamma: ByteArray) -> Known:
        """Return the mass and the integral of a model (J,); its mass is 0 if it has no coefficient prior."""
        words = pack(gamma)[0]
        row = self.models.find(words)
        if row < 0:
            known = self._make(gamma)
            integral, moments = known.integral, np.ascontiguousarray(known.integral.moments)
            row = self.models.add(words, known.log_mass, integral.columns, moments)
            self.known.append(known)
        return self.known[row]

    @property
    def regression(self) -> Regression:
        """The regression of the models."""
        return self.marginal.regression

    def sample(
        self, gamma: ByteArray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw coefficients and nuisance parameters of a model as its integral does."""
        return self.marginal.sample(gamma, size, rng, self._whole(float(self.space.log_prior(gamma))))

    def _whole(self, log_prior: float) -> float | None:
        """Return the log mass of all models divided by the prior of one."""
        return None if self.whole is None or not self.exact else self.whole - log_prior

    def make_room(self) -> None:
        """Forget all models if there are too many."""
        if len(self.known) > KEPT_INTEGRALS:
            self.models.clear()
            self.known.clear()

    def _make(self, gamma: ByteArray) -> Known:
        log_prior = float(self.space.log_prior(gamma))
        try:
            if self.exact:
                found = self.marginal.integrate(gamma, whole=self._whole(log_prior))
            else:
                found = self.marginal.approximate(gamma)
        except DataError:
            if self.marginal.finder.status != 1:
                raise
            nothing = Integral(-np.inf, 0.0, np.empty(0, dtype=np.intp), np.empty((3, 0)), None, None)
            return Known(-np.inf, nothing)
        return Known(found.log_marginal + log_prior, found)
