"""Marginal likelihoods of models: Laplace's approximation and its importance-sampling correction."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import fdtri, ndtr

from pyrjsel._errors import DataError
from pyrjsel._typing import FloatArray
from pyrjsel.selection._laplace import ModeFinder
from pyrjsel.selection.problem import Regression
from pyrjsel.space import pack

# Degrees of freedom of the Student proposal: heavier tails than any logistic posterior under a
# proper prior, light enough that few draws fall where the posterior has no mass.
PROPOSAL_DF = 8.0


@dataclass(frozen=True)
class Integral:
    """The marginal likelihood of one model by importance sampling.

    Attributes
    ----------
    log_marginal : float
        Log marginal likelihood, binomial coefficients left out; -inf where the prior does not exist.
    variance : float
        Relative variance of the marginal likelihood.
    columns : ndarray (d,)
        Columns of the model, the intercept (0) first.
    moments : ndarray (3, d)
        Posterior mean and mean square of each internal coefficient (the intercept: that of the
        design's own columns), and the probability that it is positive.
    samples, weights : ndarray (m, d) and (m,), or None
        Draws of internal coefficients and their importance weights.
    """

    log_marginal: float
    variance: float
    columns: np.ndarray
    moments: FloatArray
    samples: FloatArray | None
    weights: FloatArray | None


class MarginalLikelihood:
    """Marginal likelihoods of the models of one regression problem.

    The random numbers of a model come from a stream that is a function of `entropy` and of the model
    alone: every chain, thread and process gets the same value for the same model.

    Parameters
    ----------
    regression : Regression
    entropy : bytes
        Seed of the fit.
    pairs : int
        Pairs of antithetic importance draws a model, an even number.
    max_columns : int
        Most columns of a model, intercept included.
    """

    def __init__(self, regression: Regression, entropy: bytes, pairs: int, max_columns: int) -> None:
        self.regression = regression
        self.entropy = entropy
        self.pairs = pairs
        self.max_columns = max_columns

    @cached_property
    def finder(self) -> ModeFinder:
        """The compiled search for modes; it owns scratch space and must not be shared by threads."""
        return ModeFinder(self.regression.compiled, self.max_columns, self.regression.raw_shift)

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        state.pop("finder", None)  # raw pointers; made again where it is needed
        return state

    def stream(self, gamma: np.ndarray) -> np.random.Generator:
        """Return the random stream of model `gamma` (J,)."""
        digest = blake2b(self.entropy + pack(gamma).tobytes(), digest_size=16).digest()
        return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))

    def mode(self, gamma: np.ndarray) -> FloatArray:
        """Return the posterior mode of a model on the internal scale, (D + 1,), zero outside it."""
        return self.finder.mode(np.ascontiguousarray(gamma, dtype=np.uint8))

    def integrate(self, gamma: np.ndarray, *, pairs: int | None = None, draws: bool = False) -> Integral:
        """Integrate the likelihood of model `gamma` (J,) against its coefficient prior.

        Importance sampling from a Student distribution at the mode, with the inverse Hessian as its
        scale. Radii are stratified and every direction is used with both signs, which cuts the error
        of the plain estimate several times.
        """
        gamma = np.ascontiguousarray(gamma, dtype=np.uint8)
        rng = self.stream(gamma)
        count = pairs or self.pairs
        d = 1 + int(gamma @ np.diff(self.regression.term_start))
        strata = (np.arange(count) + rng.random(count)) / count
        radius = np.sqrt(d * fdtri(d, PROPOSAL_DF, strata))
        direction = rng.standard_normal((count, d))
        finder = self.finder
        log_ratio, variance, moments, samples = finder.integrate(
            gamma, radius, direction, PROPOSAL_DF, draws=draws
        )
        self.check_mode()
        assert moments is not None
        points, weights = samples if samples is not None else (None, None)
        return Integral(finder.log_marginal + log_ratio, variance, finder.columns, moments, points, weights)

    def check_mode(self) -> None:
        """Raise :class:`DataError` unless the last search found a mode."""
        if self.finder.status == 1:
            raise DataError("The columns of a model are linearly dependent: its g-prior does not exist.")
        if self.finder.status == 2:
            raise DataError(
                "The posterior mode of a model was not found: rescale its columns, or give its intercept a "
                "proper prior."
            )

    def approximate(self, gamma: np.ndarray) -> Integral:
        """Return Laplace's approximation: a normal posterior at the mode."""
        self.mode(gamma)
        self.check_mode()
        finder, columns = self.finder, self.finder.columns
        half = solve_triangular(finder.factor, np.eye(columns.size), lower=True)
        to_raw = np.eye(columns.size)
        to_raw[0] -= self.regression.raw_shift[columns]
        mean = to_raw @ finder.at
        variance = np.sum((half @ to_raw.T) ** 2, axis=0)
        moments = np.stack([mean, mean**2 + variance, ndtr(mean / np.sqrt(variance))])
        return Integral(finder.log_marginal, 0.0, columns, moments, None, None)

    def sample(self, gamma: np.ndarray, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw internal coefficients of model `gamma` given the data, shape (size, D + 1).

        Systematic resampling of a weighted sample at least eight times as large.
        """
        pairs = max(self.pairs, 4 * size + size % 2)
        found = self.integrate(gamma, pairs=pairs + pairs % 2, draws=True)
        assert found.samples is not None
        assert found.weights is not None
        out = np.zeros((size, self.regression.n_columns))
        out[:, found.columns] = found.samples[resample(found.weights, size, rng)]
        return out


def resample(weights: FloatArray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return `size` indices drawn systematically with the given weights, in random order."""
    edges = np.cumsum(weights)
    points = (np.arange(size) + rng.random()) / size * edges[-1]
    picked = np.minimum(np.searchsorted(edges, points, side="right"), weights.size - 1)
    return rng.permutation(picked)
