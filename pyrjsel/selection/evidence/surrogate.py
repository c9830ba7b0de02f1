"""A quadratic surrogate of the log-likelihood of a generalised linear model, for chains over models.

Around the linear predictor eta* of fixed coefficients b*, with r the score of the rows in eta and W minus the
second derivative,

    log-likelihood(b) = const + c'b - b'H b / 2 + O(|eta - eta*|**3),
    H = X'WX,  c = X'(r + W (eta* - offset)).

With a prior exp(-b'K b / 2 + shift'b), the marginal likelihood of every model is then that of a gaussian
model with known variance: a function of H + K and c + shift on the columns of the model, which a chain
updates flip by flip. Its error is corrected by Metropolis-Hastings (``corrected_chain.py``): the surrogate
affects the efficiency of chains, not their stationary distribution.

The expansion point is the average linear predictor of the visited models. The remaining error is mostly
additive over terms, and is learned as a correction of the log prior odds of each term.
"""

from dataclasses import dataclass, replace

import numpy as np

from pyrjsel._typing import ByteArray, FloatArray
from pyrjsel.model_space import ModelSpace, Space
from pyrjsel.selection.evidence._conjugate import ConjugateEvidence
from pyrjsel.selection.priors._score import GaussianScore
from pyrjsel.selection.regression._gram import FullGram
from pyrjsel.selection.regression.glm import Regression

# Residual variance of log m - log m~ divided by the variance of the corrections, on the cohort and on
# simulated data: 0.15**2 / 0.3**2. Corrections of rarely visited terms stay near 0.
RIDGE = 0.25
# Largest number of models for learning corrections: the latest ones.
MOST_LESSONS = 5000


@dataclass(frozen=True)
class Surrogate:
    """The expansion point of a surrogate, as plain data.

    Attributes
    ----------
    at : ndarray (D + 1,)
        Internal coefficients b* of the expansion point.
    correction : ndarray (J,)
        Added to the log prior odds of each term.
    """

    at: FloatArray
    correction: FloatArray

    def evidences(self, regression: Regression, count: int) -> list[ConjugateEvidence]:
        """Return `count` evidences, each with its own state."""
        columns, prior, family = regression.columns, regression.prior, regression.family
        w = np.ones(regression.y.size) if regression.weights is None else regression.weights
        linear = self.at @ columns
        mean = family.mean(regression.offset + linear)
        curvature = w * family.curvature(mean)
        precision = np.ascontiguousarray(prior.precision)
        gram = FullGram(np.ascontiguousarray((columns * curvature) @ columns.T + precision))
        cross = columns @ (w * family.score(regression.y, mean) + curvature * linear) + prior.shift
        # For independent coefficients, log det of the precision is a sum.
        known = prior.log_weights is not None
        return [
            ConjugateEvidence(
                GaussianScore.known(),
                gram,
                np.ascontiguousarray(cross),
                np.ascontiguousarray(regression.term_start),
                penalty=np.ascontiguousarray(prior.penalty),
                rank_tol=prior.rank_tol,
                log_weights=prior.log_weights,
                prior=None if known else FullGram(precision),
                flat=0 if known else int(prior.flat),
            )
            for _ in range(count)
        ]

    def space(self, space: ModelSpace) -> Space:
        """Return the compiled space with the corrected prior over models."""
        return Space(replace(space, log_odds=space.log_odds + self.correction * space.free))


def learn_correction(gamma: ByteArray, log_ratio: FloatArray) -> FloatArray:
    """Return the correction (J,): a ridge regression of log m - log m~ on the terms of models.

    Parameters
    ----------
    gamma : ndarray (m, J)
        Visited models.
    log_ratio : ndarray (m,)
        Log ratio of the marginal likelihood to that of the surrogate without correction.

    Returns
    -------
    ndarray (J,)
    """
    gamma, log_ratio = gamma[-MOST_LESSONS:], log_ratio[-MOST_LESSONS:]
    if len(gamma) == 0:
        return np.zeros(gamma.shape[1])
    x = gamma - gamma.mean(axis=0)
    y = log_ratio - log_ratio.mean()
    m, size = x.shape
    if size <= m:
        return np.asarray(np.linalg.solve(x.T @ x + RIDGE * np.eye(size), x.T @ y))
    return np.asarray(x.T @ np.linalg.solve(x @ x.T + RIDGE * np.eye(m), y))
