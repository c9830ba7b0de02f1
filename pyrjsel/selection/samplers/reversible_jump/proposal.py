"""Fixed proposals for the coefficients of a term, from the posterior of the full model."""

import numpy as np

from pyrjsel._errors import ParameterError
from pyrjsel._typing import FloatArray
from pyrjsel.selection.evidence.laplace import MarginalLikelihood
from pyrjsel.selection.regression.glm import Regression


def full_model_proposal(regression: Regression) -> tuple[FloatArray, FloatArray]:
    """Return the mean (D + 1,) and the precision factors (D + 1, largest term) of every term's block.

    The block of rows of term j in the second array is the lower Cholesky factor of the inverse of its
    posterior covariance in the full model, at the mode.

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
