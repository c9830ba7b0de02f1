"""Fixed proposals: distributions of coefficients, weights of terms."""

import numpy as np

from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel.model_space import ModelSpace
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.regression.glm import Regression


def full_model_proposal(regression: Regression) -> tuple[FloatArray, FloatArray]:
    """Return the mean (D + 1,) and the precision factors (D + 1, largest term) of the terms' coefficients.

    The rows of term j in the second array are the lower Cholesky factor of the inverse of its posterior
    covariance in the full model, at the mode.

    Raises
    ------
    ParameterError
        If the full model has no posterior mode (linearly dependent columns under a g-prior).
    """
    full = np.ones(regression.n_terms, dtype=np.uint8)
    marginal = MarginalLikelihood(regression, b"", 2, regression.n_columns)
    mean = marginal.mode(full)
    if marginal.finder.status:
        raise ParameterError(
            "The 'proposal' option of sampler='rjmcmc' must be 'conditional' where the full model has "
            "linearly dependent columns. Got 'full' instead."
        )
    inverse = np.linalg.inv(marginal.finder.factor)
    covariance = inverse.T @ inverse
    sizes = np.diff(regression.term_start)
    factor = np.zeros((regression.n_columns, max(1, int(sizes.max(initial=0)))))
    for start, size in zip(regression.term_start[:-1], sizes, strict=True):
        block = slice(start, start + size)
        factor[block, :size] = np.linalg.cholesky(np.linalg.inv(covariance[block, block]))
    return mean, factor


def entry_weights(regression: Regression, space: ModelSpace) -> FloatArray:
    """Return the weights of the entering term in trades.

    A mixture of equal weights and weights proportional to the score statistics of the terms' columns
    (averaged) in the null model. They depend only on the data, so that chains are reversible.

    Parameters
    ----------
    regression : Regression
    space : ModelSpace

    Returns
    -------
    ndarray (J,)
        Positive weights; those of free terms sum to one.
    """
    free = np.asarray(space.free, dtype=float)
    starts, columns = regression.term_start - regression.leading, np.diff(regression.term_start)
    sums = np.concatenate([[0.0], np.cumsum(regression.scores())])
    score = free * (sums[starts[1:]] - sums[starts[:-1]]) / np.maximum(columns, 1)
    even = np.full(free.size, 1.0 / max(1.0, free.sum()))
    total = float(score.sum())
    return 0.5 * (even + score / total) if 0.0 < total < np.inf else even
